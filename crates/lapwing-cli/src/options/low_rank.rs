//! Parameters of low-rank propagation.

use clap::Args;
use lapwing::graph::low_rank::{GlnpSolver, GlnpStart, LandmarkBandwidth, LandmarkRule};
use lapwing::models::LowRankParams;
use lapwing::models::low_rank::{Balance, DegreePolicy, FactorKind, Head, PropagationSolver, Select};

use super::HarmonicOptions;
use super::choice::choice;
use super::number::{count, real};

/// Parameters of low-rank propagation.
#[derive(Args)]
#[command(next_help_heading = "Low-rank propagation")]
pub struct LowRankOptions {
    /// low-rank: what stands for the affinity; the methods anchor, nystrom and glnp are low-rank with that factor
    #[arg(long, default_value = "anchor", value_parser = choice(&["anchor", "nystrom", "glnp"], FactorKind::parse))]
    pub factor: FactorKind,

    /// Landmarks: more are more accurate, and take longer
    #[arg(long, value_name = "K", default_value_t = LowRankParams::default().n_landmarks, value_parser = count)]
    pub n_landmarks: usize,

    /// Centers of k-means among a sample of the rows, or rows drawn at random
    #[arg(long, default_value = "kmeans", value_parser = choice(&["kmeans", "uniform"], LandmarkRule::parse))]
    pub landmarks: LandmarkRule,

    /// anchor: nearest landmarks that a row is a mixture of; 0 for all
    #[arg(long, value_name = "S", default_value_t = LowRankParams::default().n_nearest, value_parser = count)]
    pub n_nearest: usize,

    /// Width of the kernel: auto (by the distances of rows to landmarks), median (distance), knn:K, or a number
    #[arg(long, value_name = "SIGMA", default_value = "auto", value_parser = bandwidth)]
    pub landmark_bandwidth: LandmarkBandwidth,

    /// Share that a row takes from the others, at least 0 and below 1
    #[arg(long, default_value_t = LowRankParams::default().alpha, value_parser = real)]
    pub alpha: f64,

    /// Weight of a class against the others: none gains by more labels (balanced), raw, or by --class-prior
    #[arg(long, default_value = "balanced", value_parser = choice(&["balanced", "raw", "prior"], Balance::parse))]
    pub balance: Balance,

    /// From landmarks to scores: propagation, or regression (anchor; for many labels)
    #[arg(long, default_value = "propagation", value_parser = choice(&["propagation", "regression"], Head::parse))]
    pub head: Head,

    /// Whether cross-validation may change n-nearest, width, alpha and head
    #[arg(long, default_value = "auto", value_parser = choice(&["auto", "off"], Select::parse))]
    pub select: Select,

    /// How the propagation is solved; both agree
    #[arg(long, default_value = "closed", value_parser = choice(&["closed", "iterative"], PropagationSolver::parse))]
    pub propagation: PropagationSolver,

    /// nystrom: share of the largest eigenvalue below which others are left out
    #[arg(long, value_name = "SHARE", default_value = "1e-6", value_parser = real)]
    pub rcond: f64,

    /// nystrom: degrees of 0 or less are raised, or an error
    #[arg(long, default_value = "floor", value_parser = choice(&["floor", "error"], DegreePolicy::parse))]
    pub degree_policy: DegreePolicy,

    /// glnp: how the factor is learned; the last two are for comparison
    #[arg(long, value_name = "SOLVER", default_value = "apgd", value_parser = choice(&["apgd", "mu", "apgd-paper"], GlnpSolver::parse))]
    pub glnp_solver: GlnpSolver,

    /// glnp: where the factor starts, at the clusters of k-means or uniform
    #[arg(long, value_name = "START", default_value = "kmeans", value_parser = choice(&["kmeans", "uniform"], GlnpStart::parse))]
    pub glnp_start: GlnpStart,

    /// glnp: most iterations, each of which reads all rows
    #[arg(long, value_name = "N", default_value_t = LowRankParams::default().glnp_max_iter, value_parser = count)]
    pub glnp_max_iter: usize,

    /// glnp: end where five iterations lower the objective by less than this share of the rows' squared norm
    #[arg(long, value_name = "SHARE", default_value = "1e-5", value_parser = real)]
    pub glnp_tol: f64,

    /// Fit on so many rows, drawn at random, and those with labels [default: all]
    #[arg(long, value_name = "N", value_parser = count)]
    pub fit_rows: Option<usize>,
}

impl LowRankOptions {
    /// As the library takes them; the class prior is that of `harmonic`.
    pub fn params(&self, harmonic: &HarmonicOptions) -> LowRankParams {
        LowRankParams {
            n_landmarks: self.n_landmarks,
            factor: self.factor,
            landmarks: self.landmarks,
            n_nearest: self.n_nearest,
            bandwidth: self.landmark_bandwidth,
            alpha: self.alpha,
            balance: self.balance,
            class_prior: harmonic.class_prior.clone(),
            head: self.head,
            select: self.select,
            solver: self.propagation,
            rcond: self.rcond,
            degree_policy: self.degree_policy,
            glnp_solver: self.glnp_solver,
            glnp_start: self.glnp_start,
            glnp_max_iter: self.glnp_max_iter,
            glnp_tol: self.glnp_tol,
            fit_rows: self.fit_rows,
            ..LowRankParams::default()
        }
    }
}

fn bandwidth(text: &str) -> Result<LandmarkBandwidth, String> {
    LandmarkBandwidth::parse(text).map_err(|_| "expected auto, median, knn:K or a positive number".into())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        low_rank: LowRankOptions,
        #[command(flatten)]
        harmonic: HarmonicOptions,
    }

    #[test]
    fn defaults_are_those_of_the_library() {
        let options = Options::parse_from(["lapwing"]);
        assert_eq!(options.low_rank.params(&options.harmonic), LowRankParams::default());
    }
}
