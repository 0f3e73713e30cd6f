//! Parameters of the kernel machines on a graph.

use clap::Args;
use lapwing::models::LapSvmParams;
use lapwing::models::lapsvm::{GramPrecision, KernelKind, KernelLandmarks, KernelSolver, LaplacianKind, Stopping};

use super::HarmonicOptions;
use super::choice::choice;
use super::method::{Auto, parse_auto};
use super::number::{byte_count, count, real};

/// Parameters of Laplacian SVM and least squares.
#[derive(Args)]
#[command(next_help_heading = "Laplacian SVM and least squares (lapsvm, laprls)")]
pub struct LapSvmOptions {
    /// Similarity of rows; precomputed: the data are the Gram matrix (with --graph-reg 0), low-rank: rbf by landmarks
    #[arg(long, default_value = "rbf", value_parser = choice(&["rbf", "poly", "linear", "precomputed", "low-rank"], KernelKind::parse))]
    pub kernel: KernelKind,

    /// rbf: width of the kernel [default: half the median distance of two rows]
    #[arg(long, value_name = "SIGMA", value_parser = positive)]
    pub kernel_bandwidth: Option<f64>,

    /// poly: degree
    #[arg(long, value_name = "D", default_value_t = LapSvmParams::default().degree, value_parser = degree)]
    pub degree: u32,

    /// Landmarks that stand for the kernel: a number, none, or auto (none up to 30,000 rows, 500 beyond)
    #[arg(long, value_name = "K", default_value = "auto", value_parser = landmarks)]
    pub kernel_landmarks: KernelLandmarks,

    /// Weight of the norm in the space of the kernel: a number, or auto (by leaving out one label)
    #[arg(long, value_name = "A", default_value = "auto", value_parser = parse_auto)]
    pub ambient_reg: Auto,

    /// Laplacian of the graph
    #[arg(long, default_value = "normalized", value_parser = choice(&["normalized", "combinatorial"], LaplacianKind::parse))]
    pub laplacian: LaplacianKind,

    /// Power of the Laplacian
    #[arg(long, value_name = "P", default_value_t = LapSvmParams::default().laplacian_power, value_parser = count)]
    pub laplacian_power: usize,

    /// Fit a bias
    #[arg(long)]
    pub bias: bool,

    /// newton: one factorisation; cg: conjugate gradients; dual: the hinge instead of its square (lapsvm)
    #[arg(long, default_value = "auto", value_parser = choice(&["auto", "newton", "cg", "dual"], KernelSolver::parse))]
    pub kernel_solver: KernelSolver,

    /// What stops conjugate gradients: labels that no longer change and an objective that hardly falls, labels held back, both, or the gradient
    #[arg(long, default_value = "stability", value_parser = choice(&["stability", "validation", "mixed", "gradient"], Stopping::parse))]
    pub stopping: Stopping,

    /// Share of the rows that may change sides between checks of stable labels
    #[arg(long, value_name = "SHARE", default_value_t = LapSvmParams::default().stability_tol, value_parser = real)]
    pub stability_tol: f64,

    /// Iterations between checks [default: half the root of the number of rows]
    #[arg(long, value_name = "N", value_parser = count)]
    pub check_every: Option<usize>,

    /// Share of the labels that is held back to stop by
    #[arg(long, value_name = "SHARE", default_value_t = LapSvmParams::default().validation_share, value_parser = real)]
    pub validation_share: f64,

    /// Gradient, relative to the start, that ends any iteration
    #[arg(long, value_name = "TOL", default_value = "1e-8", value_parser = real)]
    pub gradient_tol: f64,

    /// Numbers that the Gram matrix is stored in
    #[arg(long, default_value = "auto", value_parser = choice(&["auto", "single", "double"], GramPrecision::parse))]
    pub precision: GramPrecision,

    /// Most bytes for the Gram matrix; above, it is made anew in every iteration [default: half of the free memory]
    #[arg(long, value_name = "BYTES", value_parser = byte_count)]
    pub gram_memory: Option<u64>,
}

impl LapSvmOptions {
    /// As the library takes them; the weight of smoothness and the iterations are those of `harmonic`.
    pub fn params(&self, harmonic: &HarmonicOptions) -> LapSvmParams {
        LapSvmParams {
            kernel: self.kernel,
            bandwidth: self.kernel_bandwidth,
            degree: self.degree,
            n_landmarks: self.kernel_landmarks,
            ambient_reg: self.ambient_reg.value(),
            graph_reg: harmonic.graph_reg.value(),
            laplacian: self.laplacian,
            laplacian_power: self.laplacian_power,
            bias: self.bias,
            solver: self.kernel_solver,
            stopping: self.stopping,
            stability_tol: self.stability_tol,
            check_every: self.check_every,
            validation_share: self.validation_share,
            tol: self.gradient_tol,
            max_iter: harmonic.max_iter,
            precision: self.precision,
            memory: self.gram_memory,
        }
    }
}

fn positive(text: &str) -> Result<f64, String> {
    real(text).ok().filter(|x| *x > 0.0 && x.is_finite()).ok_or_else(|| "expected a positive number".into())
}

fn degree(text: &str) -> Result<u32, String> {
    count(text)?.try_into().map_err(|_| "expected a whole number from 1 to 100".into())
}

fn landmarks(text: &str) -> Result<KernelLandmarks, String> {
    match text {
        "auto" => Ok(KernelLandmarks::Auto),
        "none" => Ok(KernelLandmarks::All),
        number => count(number).map(KernelLandmarks::Count).map_err(|_| "expected auto, none or a whole number".into()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use lapwing::models::lapsvm::{EXACT_ROWS, TYPICAL_LANDMARKS};

    use super::*;

    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        lapsvm: LapSvmOptions,
        #[command(flatten)]
        harmonic: HarmonicOptions,
    }

    #[test]
    fn defaults_are_those_of_the_library() {
        let options = Options::parse_from(["lapwing"]);
        assert_eq!(options.lapsvm.params(&options.harmonic), LapSvmParams::default());
        assert_eq!((EXACT_ROWS, TYPICAL_LANDMARKS), (30_000, 500), "the help says so");
    }

    #[test]
    fn words_and_numbers_share_an_option() {
        assert_eq!(landmarks("none"), Ok(KernelLandmarks::All));
        assert_eq!(landmarks("70"), Ok(KernelLandmarks::Count(70)));
        assert!(landmarks("all").is_err() && positive("0").is_err() && positive("inf").is_err());
    }
}
