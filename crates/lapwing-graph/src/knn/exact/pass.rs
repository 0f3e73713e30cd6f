//! Finds the few products of a row that are within a limit: sixteen are compared at a time, and mostly skipped.
//!
//! With v = h(y) − xᵀy, a pair is a hit where v is within the limit of x, or h(x) − xᵀy within that of y. Cost: one reading
//! of the products.

use lapwing_simd::dispatch;

/// Limits of both rows of a pair.
pub(crate) struct Limits<'a> {
    /// h of the rows on the right, as many as products.
    pub half_norms: &'a [f32],
    /// Largest v = h(y) − xᵀy that the list of the row on the left would take.
    pub row: f32,
    /// h of the row on the left.
    pub half_norm: f32,
    /// Largest h(x) − xᵀy that the lists of the rows on the right would take; empty if these rows have no lists.
    pub columns: &'a mut [f32],
}

dispatch! {
    /// Calls `hit(at)` for every product within a limit, in order; it returns the new limits of the row and of column `at`.
    pub(crate) fn pass(products: &[f32], limits: Limits<'_>, hit: &mut dyn FnMut(usize) -> (f32, f32)) = pass_plain
}

#[inline(always)]
fn pass_plain(products: &[f32], limits: Limits<'_>, hit: &mut dyn FnMut(usize) -> (f32, f32)) {
    if limits.columns.is_empty() {
        pass_kind::<false>(products, limits, hit);
    } else {
        pass_kind::<true>(products, limits, hit);
    }
}

#[inline(always)]
fn pass_kind<const BOTH: bool>(products: &[f32], limits: Limits<'_>, hit: &mut dyn FnMut(usize) -> (f32, f32)) {
    const LANES: usize = 16;
    let Limits { half_norms, mut row, half_norm, columns } = limits;
    let whole = products.len() / LANES * LANES;
    let mut one = |at: usize, row: &mut f32, columns: &mut [f32]| {
        let product = products[at];
        if half_norms[at] - product <= *row || (BOTH && half_norm - product <= columns[at]) {
            let (new_row, new_column) = hit(at);
            *row = new_row;
            if BOTH {
                columns[at] = new_column;
            }
        }
    };
    for start in (0..whole).step_by(LANES) {
        let (p, h) = (&products[start..start + LANES], &half_norms[start..start + LANES]);
        let mut any = false;
        for lane in 0..LANES {
            any |= h[lane] - p[lane] <= row;
        }
        if BOTH {
            let c = &columns[start..start + LANES];
            for lane in 0..LANES {
                any |= half_norm - p[lane] <= c[lane];
            }
        }
        if any {
            (start..start + LANES).for_each(|at| one(at, &mut row, columns));
        }
    }
    (whole..products.len()).for_each(|at| one(at, &mut row, columns));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_versions_meet_what_is_within_a_limit() {
        let m = 203;
        let products: Vec<f32> = (0..m).map(|i| ((i * 7919) % 211) as f32).collect();
        let half_norms: Vec<f32> = (0..m).map(|i| 100.0 + ((i * 31) % 17) as f32).collect();
        for both in [false, true] {
            let start: Vec<f32> = (0..m).map(|i| if both { -60.0 - (i % 50) as f32 } else { 0.0 }).collect();
            let expected: Vec<usize> = (0..m)
                .filter(|&j| half_norms[j] - products[j] <= -80.0 || (both && 120.0 - products[j] <= start[j]))
                .collect();
            for plain in [false, true] {
                let mut columns = start.clone();
                let columns: &mut [f32] = if both { &mut columns } else { &mut [] };
                let limits = Limits { half_norms: &half_norms, row: -80.0, half_norm: 120.0, columns };
                let mut met = Vec::new();
                let mut hit = |at| {
                    met.push(at);
                    (-80.0, f32::NEG_INFINITY)
                };
                if plain {
                    pass_plain(&products, limits, &mut hit)
                } else {
                    pass(&products, limits, &mut hit)
                }
                assert_eq!(met, expected);
            }
            assert!(!expected.is_empty());
        }
    }
}
