//! Additional columns of a solve.

use lapwing_core::Result;

use super::Solution;
use crate::probes::Probes;

/// Additional columns that iterate together with those of a solve, and decide when it may end.
pub(crate) trait ExtraColumns: Send {
    /// The probes, one for each of the m additional columns; they record the steps.
    fn probes(&mut self) -> &mut Probes;

    /// The initial residuals of the additional columns (n, m).
    fn residuals(&mut self) -> Result<Vec<f64>>;

    /// Whether the solve may end.
    fn is_satisfied(&mut self, view: &View<'_>) -> bool;

    /// Rows that are open, as far as counted, and how far their number has fallen from that of all rows to 1, in logarithms: a share.
    fn open_rows(&self) -> Option<(usize, f64)>;
}

/// The state of a solve between two steps.
pub(crate) struct View<'a> {
    pub solution: &'a dyn Solution,
    pub open: &'a [usize],
    /// rᵀM⁻¹r of the columns `open`.
    pub squares: &'a [f64],
    /// Whether the residuals are within the tolerance.
    pub is_solved: bool,
    pub iteration: usize,
}
