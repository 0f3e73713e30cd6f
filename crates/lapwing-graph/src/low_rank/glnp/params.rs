//! Parameters of global linear neighborhoods.

use lapwing_data::{Error, Result, parse_choice};
use serde::{Deserialize, Serialize};

use super::rows::{BLOCK_ROWS, n_slots, tile_rows};

/// How Q is brought down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum GlnpSolver {
    /// Accelerated projected gradient with a quadratic upper bound and restarts. The default: lowest Q for the passes spent.
    #[default]
    #[serde(rename = "apgd")]
    AcceleratedGradient,
    /// Multiplicative updates: a third of the memory and no step to choose, but slow after the first few. Negative data is
    /// shifted by its minimum, which makes it another problem.
    #[serde(rename = "mu")]
    Multiplicative,
    /// The published accelerated gradient (Petegrosso et al. 2017) with its errors mended, kept for comparison.
    #[serde(rename = "apgd-paper")]
    PaperGradient,
}

/// Where F starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum GlnpStart {
    /// At the clusters of given centers: Q starts at their inertia. The default.
    #[default]
    #[serde(rename = "kmeans")]
    KMeans,
    /// Uniform in (0, 1], scaled: close to a saddle where all columns are alike, which takes tens of iterations to leave;
    /// a large `tol` ends there.
    #[serde(rename = "uniform")]
    Uniform,
}

/// Parameters of global linear neighborhoods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GlnpParams {
    /// k, columns of F, between 1 and n; default 100.
    pub rank: usize,
    /// How Q is brought down; default accelerated gradient.
    pub solver: GlnpSolver,
    /// Where F starts; default at clusters.
    pub start: GlnpStart,
    /// Iterations at most, default 100; 0 leaves F at its start.
    pub max_iter: usize,
    /// Ends where the last five iterations together have lowered Q by no more than this share of ‖X‖², or, in the published
    /// algorithm, where one has changed it by no more; in [0, 1), default 1e-5.
    pub tol: f64,
    /// Bytes that may be allocated; default none, which is no limit.
    pub memory: Option<u64>,
}

impl Default for GlnpParams {
    fn default() -> Self {
        Self {
            rank: 100,
            solver: GlnpSolver::default(),
            start: GlnpStart::default(),
            max_iter: 100,
            tol: 1e-5,
            memory: None,
        }
    }
}

impl GlnpParams {
    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// [`Error::Param`] naming the first one outside.
    pub fn validate(&self) -> Result<()> {
        if self.rank == 0 {
            return Err(Error::param("rank", 0, "at least 1"));
        }
        if !(self.tol >= 0.0 && self.tol < 1.0) {
            return Err(Error::param("tol", self.tol, "at least 0 and below 1"));
        }
        if self.memory == Some(0) {
            return Err(Error::param("memory", 0, "at least 1 byte"));
        }
        Ok(())
    }

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
        // Rows that cannot be sought are read a block for each thread ahead.
        let ahead = (4 * d).saturating_mul(n.min(BLOCK_ROWS as u64));
        let held = (arrays * 8 * n).saturating_mul(k).max(clusters + (8 * n).saturating_mul(k));
        let working = threads.min(n.div_ceil(BLOCK_ROWS as u64));
        held.saturating_add((8 * sums).saturating_mul(slots + 8)).saturating_add(working * (tile + ahead))
    }

    /// Checks the parameters against the rows to be factored.
    pub(super) fn fit_to(&self, n: usize, d: usize, threads: usize) -> Result<()> {
        self.validate()?;
        if n == 0 || d == 0 {
            return Err(Error::shape("features", "at least one row and one column", format!("{n} × {d}")));
        }
        if self.rank > n {
            return Err(Error::param("rank", self.rank, format!("at most {n}, the number of rows")));
        }
        let bytes = self.plan_bytes(n, d, threads);
        match self.memory {
            Some(limit) if bytes > limit => {
                let what = format!("a factor of {n} rows and rank {}", self.rank);
                let advice = "lower the rank, or fit a sample of the rows and extend it to the others";
                Err(Error::too_large(what, bytes, limit, advice))
            }
            _ => Ok(()),
        }
    }
}

impl GlnpSolver {
    const NAMES: [(&str, Self); 3] =
        [("apgd", Self::AcceleratedGradient), ("mu", Self::Multiplicative), ("apgd-paper", Self::PaperGradient)];

    /// Names of all, as on the command line.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().map(|(name, _)| *name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, solver)| *solver == self).map_or("", |(name, _)| name)
    }

    /// From its name.
    ///
    /// # Errors
    /// [`Error::Param`] listing the known names.
    pub fn parse(name: &str) -> Result<Self> {
        parse_choice("glnp solver", name, &Self::NAMES)
    }
}

impl GlnpStart {
    const NAMES: [(&str, Self); 2] = [("kmeans", Self::KMeans), ("uniform", Self::Uniform)];

    /// Names of all, as on the command line.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().map(|(name, _)| *name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, start)| *start == self).map_or("", |(name, _)| name)
    }

    /// From its name.
    ///
    /// # Errors
    /// [`Error::Param`] listing the known names.
    pub fn parse(name: &str) -> Result<Self> {
        parse_choice("glnp start", name, &Self::NAMES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files() {
        for name in GlnpSolver::names() {
            let solver = GlnpSolver::parse(name).unwrap();
            assert_eq!((solver.name(), serde_json::to_value(solver).unwrap().as_str()), (name, Some(name)));
        }
        for name in GlnpStart::names() {
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
        assert_eq!(text(GlnpParams { rank: 0, ..default() }), "rank is 0; expected at least 1");
        assert!(text(GlnpParams { rank: 51, ..default() }).starts_with("rank is 51; expected at most 50"));
        assert!(text(GlnpParams { tol: f64::NAN, ..default() }).starts_with("tol is NaN"));
        assert!(text(GlnpParams { memory: Some(0), ..default() }).starts_with("memory is 0"));
        let refused = text(GlnpParams { memory: Some(500), ..default() });
        assert!(
            refused.contains("50 rows and rank 5")
                && refused.contains("sample")
                && refused.contains("500 B are available")
        );
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
