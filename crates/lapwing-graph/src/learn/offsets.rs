//! Offsets of rows, from which the weight of a pair follows.

/// The offsets of all rows at some multipliers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Offsets {
    /// μ of each row.
    Plain(Vec<f64>),
    /// μ − m and m of each row.
    Based(Vec<[f64; 2]>),
}

impl Offsets {
    /// μᵢ + μⱼ − c of a pair that costs c: its weight, where positive.
    #[inline(always)]
    pub fn margin(&self, i: usize, j: usize, cost: f64) -> f64 {
        match self {
            Self::Plain(offsets) => offsets[i].less(offsets[j], cost),
            Self::Based(offsets) => offsets[i].less(offsets[j], cost),
        }
    }

    /// The weight of a pair that costs `cost`; the same bits for either order of its rows.
    #[inline(always)]
    pub fn weight(&self, i: usize, j: usize, cost: f64) -> f64 {
        match self {
            Self::Plain(offsets) => weight(offsets[i], offsets[j], cost),
            Self::Based(offsets) => weight(offsets[i], offsets[j], cost),
        }
    }
}

/// The offset of one row.
pub(super) trait Offset: Copy + Sync {
    /// The sum of two offsets less a cost.
    fn less(self, other: Self, cost: f64) -> f64;
}

impl Offset for f64 {
    #[inline(always)]
    fn less(self, other: Self, cost: f64) -> f64 {
        (self + other) - cost
    }
}

impl Offset for [f64; 2] {
    #[inline(always)]
    fn less(self, other: Self, cost: f64) -> f64 {
        (self[0] + other[0]) - ((cost - self[1].max(other[1])) - self[1].min(other[1]))
    }
}

/// max(0, μᵢ + μⱼ − c).
#[inline(always)]
pub(super) fn weight<O: Offset>(own: O, other: O, cost: f64) -> f64 {
    let weight = own.less(other, cost);
    if weight > 0.0 { weight } else { 0.0 }
}
