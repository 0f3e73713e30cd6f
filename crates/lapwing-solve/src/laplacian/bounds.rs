//! Error bounds of combinations of the columns of a solution, from their residuals.
//!
//! With ‖r‖² = rᵀM⁻¹r, the error of Σ w_c·x_c is at most √vᵢ·‖Σ w_c·r_c‖/λ in row i, and ‖Σ w_c·r_c‖² = wᵀGw with G = RᵀM⁻¹R. G takes
//! O(n·s²) time and O(s²) memory. Beyond [`ErrorBounds::MOST_JOINT`] columns that would be more than the solve takes. There, and while a
//! solve goes on, each column is bounded by itself: ‖Σ w_c·r_c‖ ≤ Σ |w_c|·‖r_c‖, √2 times as much for two columns whose residuals have
//! nothing to do with each other.
//!
//! Classes are compared in pairs, and c classes have c² pairs. [`Differences`] bounds each in O(1).

/// Allowance for the relative error of sums of products in f64.
pub(super) const SUM_SLACK: f64 = 1e-12;
/// Factor of the same purpose for bounds.
pub(super) const BOUND_SLACK: f64 = 1.0 + 1e-9;

/// |wᵀeᵢ| ≤ √vᵢ·slope + constant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowError {
    /// Factor of √vᵢ.
    pub slope: f64,
    /// Added for every row.
    pub constant: f64,
}

impl RowError {
    /// The bound of a row with √vᵢ = `deviation`.
    pub fn at(self, deviation: f64) -> f64 {
        self.constant + if deviation > 0.0 { deviation * self.slope } else { 0.0 }
    }

    /// The bound of a row relative to a mean over rows, with the additional error `rounding`: the constant part counts for both
    /// row and mean.
    pub fn with_mean(self, rounding: f64) -> Self {
        Self { slope: self.slope, constant: 2.0 * self.constant + rounding }
    }

    /// A bound of the sum of two values with these bounds.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { slope: self.slope + other.slope, constant: self.constant + other.constant }
    }

    /// A bound that is at least both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { slope: self.slope.max(other.slope), constant: self.constant.max(other.constant) }
    }
}

/// Error bounds of the columns of a solution, to be multiplied by √vᵢ of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorBounds {
    /// λ, at most the least eigenvalue of M⁻¹A; 0 if unknown.
    pub lambda: f64,
    /// RᵀM⁻¹R (s, s) of the residuals R; empty if each column is bounded by itself.
    pub gram: Vec<f64>,
    /// √(ηᵀM⁻¹η) of the rounding η of R (s); without `gram`, √(rᵀM⁻¹r) of the column is added to it.
    pub rounding: Vec<f64>,
    /// Error that is common to all rows (s).
    pub constant: Vec<f64>,
}

/// Parts of the bound of a combination: wᵀGw, Σ w_c²·G_cc, Σ |w_c|·rounding_c and Σ |w_c|·constant_c.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    square: f64,
    size: f64,
    rounding: f64,
    constant: f64,
}

impl ErrorBounds {
    /// Most columns whose products of residuals are computed.
    pub const MOST_JOINT: usize = 128;

    /// The bounds of `s` columns without errors.
    pub(super) fn exact(s: usize) -> Self {
        Self { lambda: 0.0, gram: Vec::new(), rounding: vec![0.0; s], constant: vec![0.0; s] }
    }

    /// Whether the solution is exact: there was nothing to solve.
    pub fn is_zero(&self) -> bool {
        self.gram.iter().chain(&self.rounding).chain(&self.constant).all(|bound| *bound == 0.0)
    }

    /// Bound on the error of Σ w_c·x_c, for `weights` w of the columns (s).
    ///
    /// # Complexity
    /// O(s²); see [`differences`](Self::differences).
    pub fn of(&self, weights: &[f64]) -> RowError {
        let mut parts = Parts::default();
        for (a, wa) in weights.iter().enumerate() {
            let product: f64 = self.row(a).iter().zip(weights).map(|(g, wb)| wb * g).sum();
            parts.square += wa * product;
            parts.size += wa * wa * self.product(a, a);
            parts.rounding += wa.abs() * self.rounding[a];
            parts.constant += wa.abs() * self.constant[a];
        }
        self.bound(parts)
    }

    /// The bounds of differences of columns. With `is_last_implied` there is one more column: minus the sum of those solved for.
    pub fn differences(&self, is_last_implied: bool) -> Differences<'_> {
        Differences { errors: self, implied: is_last_implied.then(|| Implied::new(self)) }
    }

    /// Row `a` of G; empty without products.
    fn row(&self, a: usize) -> &[f64] {
        let s = self.rounding.len();
        self.gram.get(a * s..(a + 1) * s).unwrap_or_default()
    }

    /// An entry of G; 0 without products.
    fn product(&self, a: usize, b: usize) -> f64 {
        self.row(a).get(b).copied().unwrap_or(0.0)
    }

    /// The bound with these parts.
    ///
    /// An entry of G is off by no more than SUM_SLACK·√(G_aa·G_bb), so wᵀGw by SUM_SLACK·(Σ |w_c|·√G_cc)² ≤ SUM_SLACK·s·size. The
    /// rounding of wᵀGw itself, which is added up row by row, is far less: 2·s roundings of the same sum, 3e-14 for MOST_JOINT columns.
    fn bound(&self, parts: Parts) -> RowError {
        let s = self.rounding.len() as f64;
        let energy = (parts.square.max(0.0) + SUM_SLACK * s * parts.size).sqrt() + parts.rounding;
        // What is not a number bounds nothing.
        let slope = if energy == 0.0 {
            0.0
        } else if self.lambda > 0.0 && energy.is_finite() {
            energy / self.lambda * BOUND_SLACK
        } else {
            f64::INFINITY
        };
        let constant = if parts.constant.is_nan() { f64::INFINITY } else { parts.constant * BOUND_SLACK };
        RowError { slope, constant }
    }
}

/// Bounds on the errors of multiples and of differences of columns, the same as those of [`ErrorBounds::of`] to a few roundings. Weights
/// are at least 0.
#[derive(Clone, Debug)]
pub struct Differences<'e> {
    errors: &'e ErrorBounds,
    implied: Option<Implied>,
}

/// Sums over all columns, for one that is minus their sum.
#[derive(Clone, Debug, Default)]
struct Implied {
    /// Sum of each row of G (s), and of all of them.
    rows: Vec<f64>,
    all: Parts,
}

impl Implied {
    fn new(errors: &ErrorBounds) -> Self {
        let s = errors.rounding.len();
        let rows: Vec<f64> = (0..s).map(|a| errors.row(a).iter().sum()).collect();
        let all = Parts {
            square: rows.iter().sum(),
            size: (0..s).map(|a| errors.product(a, a)).sum(),
            rounding: errors.rounding.iter().sum(),
            constant: errors.constant.iter().sum(),
        };
        Self { rows, all }
    }
}

impl Differences<'_> {
    /// Bound on the error of `weight`·x_a.
    pub fn one(&self, a: usize, weight: f64) -> RowError {
        self.errors.bound(match &self.implied {
            Some(implied) if a == implied.rows.len() => implied.all.times(weight),
            _ => self.solved(a).times(weight),
        })
    }

    /// Bound on the error of wa·x_a − wb·x_b, for two columns, each given with its weight.
    pub fn of(&self, (a, wa): (usize, f64), (b, wb): (usize, f64)) -> RowError {
        let parts = match &self.implied {
            Some(implied) if b == implied.rows.len() => self.less_implied(implied, (a, wa), wb),
            Some(implied) if a == implied.rows.len() => self.less_implied(implied, (b, wb), wa),
            _ => {
                let mut parts = self.solved(a).times(wa).plus(self.solved(b).times(wb));
                parts.square -= 2.0 * wa * wb * self.errors.product(a, b);
                parts
            }
        };
        self.errors.bound(parts)
    }

    /// wa·x_a − wb·x, with x the implied column: wb·Σ x_c + wa·x_a. Its weights are wb, and wa + wb for column a.
    fn less_implied(&self, implied: &Implied, (a, wa): (usize, f64), wb: f64) -> Parts {
        let mut parts = implied.all.times(wb).plus(self.solved(a).times(wa));
        parts.square += 2.0 * wa * wb * implied.rows[a];
        parts.size += 2.0 * wa * wb * self.errors.product(a, a);
        parts
    }

    /// The parts of column a, of weight 1.
    fn solved(&self, a: usize) -> Parts {
        let square = self.errors.product(a, a);
        Parts { square, size: square, rounding: self.errors.rounding[a], constant: self.errors.constant[a] }
    }
}

impl Parts {
    fn times(self, weight: f64) -> Self {
        let Self { square, size, rounding, constant } = self;
        let squared = weight * weight;
        Self {
            square: squared * square,
            size: squared * size,
            rounding: weight * rounding,
            constant: weight * constant,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            square: self.square + other.square,
            size: self.size + other.size,
            rounding: self.rounding + other.rounding,
            constant: self.constant + other.constant,
        }
    }
}
