//! Parameters of the eigenfunctions.

use lapwing_core::parameters;
use lapwing_core::params::{above, at_least};

parameters! {
    /// Parameters of the eigenfunctions. The default numbers of functions and axes are ours, not the paper's.
    pub struct EigenfunctionParams {
        /// Number of functions q. If there are fewer, all are used.
        n_eigenfunctions: usize = 64, in at_least(1.0);
        /// Number of principal axes r, at most that of columns. Auto is 64, or the number of columns if there are fewer.
        n_components: Option<usize> = None, or "auto", in at_least(1.0);
        /// Bins b of the histogram along an axis.
        n_bins: usize = 50, in at_least(2.0);
        /// Width σ of the kernel between bins, in units of their mean distance.
        relative_bandwidth: f64 = 0.2, in above(0.0);
        /// Share ε that is added to every bin.
        density_floor: f64 = 0.1, in above(0.0);
        /// Percent of the rows that are clipped at each end of an axis.
        clip: f64 = 2.5, in at_least(0.0).below(50.0);
        /// Weight w of the given labels against smoothness.
        fit_weight: f64 = 100.0, in above(0.0);
        /// Whether a constant is fitted too.
        constant: bool = true;
    }
}
