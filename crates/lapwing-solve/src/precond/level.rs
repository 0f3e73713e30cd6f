//! How strong preconditioners are: the order in which a solve that stagnates takes them.

/// Largest number of rows for which the complete factor is the last level: some seconds and 16 MB if every entry fills.
const MOST_EXACT_ROWS: usize = 2048;

/// A preconditioner of a solve, in ascending order of strength.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FallbackLevel {
    /// None.
    None,
    /// The diagonal.
    Jacobi,
    /// The diagonal and a coarse system.
    TwoLevel,
    /// The cheapest random factor.
    ApproxCholesky,
    /// A random factor with trees on two copies of each edge.
    ApproxCholesky2,
    /// A random factor with trees on four copies of each edge.
    ApproxCholesky4,
    /// The complete factor.
    Cholesky,
}

impl FallbackLevel {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Jacobi => "jacobi",
            Self::TwoLevel => "two-level",
            Self::ApproxCholesky => "approx-cholesky",
            Self::ApproxCholesky2 => "approx-cholesky-2",
            Self::ApproxCholesky4 => "approx-cholesky-4",
            Self::Cholesky => "cholesky",
        }
    }

    /// The next level for a system of n rows.
    pub(crate) fn next(self, n: usize) -> Option<Self> {
        match self {
            Self::None | Self::Jacobi | Self::TwoLevel => Some(Self::ApproxCholesky),
            Self::ApproxCholesky => Some(Self::ApproxCholesky2),
            Self::ApproxCholesky2 => Some(Self::ApproxCholesky4),
            Self::ApproxCholesky4 => Some(Self::Cholesky).filter(|_| n <= MOST_EXACT_ROWS),
            Self::Cholesky => None,
        }
    }
}
