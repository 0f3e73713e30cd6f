//! Parameters of global linear neighborhoods.

use lapwing_core::{Error, Result, check_memory, choices};

use super::rows::{BLOCK_ROWS, n_slots, tile_rows};

choices! {
    /// How the objective Q of a learned factor is minimized.
    pub enum GlnpSolver("glnp_solver", default AcceleratedGradient) {
        /// Accelerated projected gradient with a quadratic upper bound and restarts: lowest Q for the passes spent.
        AcceleratedGradient = "apgd",
        /// Multiplicative updates: a third of the memory and no step size, but slow after the first few. The minimum of negative
        /// data is subtracted first, which changes the problem.
        Multiplicative = "mu",
        /// The published accelerated gradient (Petegrosso et al. 2017) with its errors corrected, for comparison.
        PaperGradient = "apgd-paper",
    }

    /// Start of a learned factor F.
    pub enum GlnpStart("glnp_start", default KMeans) {
        /// The clusters of k-means: Q starts at their inertia.
        KMeans = "kmeans",
        /// Uniform in (0, 1], scaled: close to a saddle with equal columns, which takes tens of iterations to leave. With a large
        /// tolerance the iteration ends there.
        Uniform = "uniform",
    }
}

/// Parameters of global linear neighborhoods. Those that callers set are declared, with their ranges, by the methods that learn a
/// factor.
#[derive(Clone, Debug)]
pub struct GlnpParams {
    /// Number of columns k of the factor F, from 1 to the number of rows; default 100.
    pub rank: usize,
    /// How the objective is minimized.
    pub solver: GlnpSolver,
    /// Start of the factor.
    pub start: GlnpStart,
    /// Most iterations; default 1000: the tolerance ends most fits within 500. 0 leaves the factor at its start.
    pub max_iter: usize,
    /// The iteration ends once the last five iterations together lower the objective by less than this share of ‖X‖², in [0, 1), or
    /// one iteration of the published algorithm changes it by less; default 1e-5.
    pub tol: f64,
}

impl Default for GlnpParams {
    fn default() -> Self {
        let (solver, start) = (GlnpSolver::default(), GlnpStart::default());
        Self { rank: 100, solver, start, max_iter: 1000, tol: 1e-5 }
    }
}

impl GlnpParams {
    /// Most bytes allocated at a time for features (n, d) on so many threads, besides the features themselves: 8·n·k for
    /// each of 3 arrays with accelerated gradients, 1 with multiplicative updates, 4 with the published algorithm, and
    /// 8·(d·k + 2k²) for each of up to 64 partial sums.
    pub fn plan_bytes(&self, n_samples: usize, n_features: usize, threads: usize) -> u64 {
        let [n, d, k, threads] = [n_samples, n_features, self.rank, threads].map(|size| size as u64);
        let arrays = match self.solver {
            GlnpSolver::AcceleratedGradient => 3,
            GlnpSolver::Multiplicative => 1,
            GlnpSolver::PaperGradient => 4,
        };
        let clusters = if self.start == GlnpStart::KMeans { 4 * n } else { 0 };
        let sums = d.saturating_mul(k).saturating_add(2 * k.saturating_mul(k));
        let slots = n_slots(n_samples, n_features, self.rank) as u64;
        let tile = n.min(tile_rows(n_features) as u64) * (12 * d + 16 * k);
        // Of sources that are not seekable, one block for each thread is read ahead.
        let ahead = (4 * d).saturating_mul(n.min(BLOCK_ROWS as u64));
        let held = (arrays * 8 * n).saturating_mul(k).max(clusters + (8 * n).saturating_mul(k));
        let working = threads.min(n.div_ceil(BLOCK_ROWS as u64));
        held.saturating_add((8 * sums).saturating_mul(slots + 8)).saturating_add(working * (tile + ahead))
    }

    /// Checks the parameters against the number of rows and columns.
    pub(super) fn fit_to(&self, n: usize, d: usize, threads: usize) -> Result<()> {
        if n == 0 || d == 0 {
            return Err(Error::shape("features", "at least one row and one column", format!("{n} × {d}")));
        }
        if !(1..=n).contains(&self.rank) {
            return Err(Error::param("rank", self.rank, format!("from 1 to {n}, the number of rows")));
        }
        let what = format!("a factor of {n} rows and rank {}", self.rank);
        let advice = "lower the rank, or fit a sample of the rows and extend it to the others";
        check_memory(&what, self.plan_bytes(n, d, threads), advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files() {
        for name in GlnpSolver::NAMES.iter().copied() {
            let solver = GlnpSolver::parse(name).unwrap();
            assert_eq!((solver.name(), serde_json::to_value(solver).unwrap().as_str()), (name, Some(name)));
        }
        for name in GlnpStart::NAMES.iter().copied() {
            let start = GlnpStart::parse(name).unwrap();
            assert_eq!((start.name(), serde_json::to_value(start).unwrap().as_str()), (name, Some(name)));
        }
        assert!(GlnpSolver::parse("newton").unwrap_err().to_string().contains("apgd, mu, apgd-paper"));
        assert!(GlnpStart::parse("zeros").unwrap_err().to_string().contains("kmeans, uniform"));
    }

    #[test]
    fn parameters_outside_their_range_are_named() {
        let text = |params: GlnpParams| params.fit_to(50, 3, 2).unwrap_err().to_string();
        let default = || GlnpParams { rank: 5, ..GlnpParams::default() };
        for rank in [0, 51] {
            let expected = format!("rank is {rank}; expected from 1 to 50, the number of rows");
            assert_eq!(text(GlnpParams { rank, ..default() }), expected);
        }
        let huge = GlnpParams { rank: 1 << 10, ..default() }.fit_to(1 << 40, 3, 2).unwrap_err().to_string();
        assert!(huge.contains("a factor of") && huge.contains("sample"), "{huge}");
        assert!(default().fit_to(50, 0, 1).unwrap_err().to_string().contains("50 × 0"));
        assert!(default().fit_to(50, 3, 2).is_ok());
    }

    #[test]
    fn three_arrays_are_what_counts() {
        let params = GlnpParams { rank: 20, ..GlnpParams::default() };
        let bytes = params.plan_bytes(10_000_000, 100, 2);
        assert!((4_800_000_000..4_900_000_000).contains(&bytes), "{bytes}");
        let bytes = GlnpParams { solver: GlnpSolver::Multiplicative, ..params }.plan_bytes(10_000_000, 100, 2);
        assert!((1_600_000_000..1_700_000_000).contains(&bytes), "{bytes}");
    }
}
