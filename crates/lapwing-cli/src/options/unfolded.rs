//! Parameters of unfolded graph networks.

use clap::Args;
use lapwing::models::UnfoldedParams;
use lapwing::models::unfolded::{LayerOptimizer, LayerSolver, NodeLoss, SketchSize};

use super::HarmonicOptions;
use super::choice::choice;
use super::method::{Auto, parse_auto};
use super::number::{count, real};

/// Parameters of unfolded graph networks; the weight of smoothness is --graph-reg (auto: by cross-validation).
#[derive(Args)]
#[command(next_help_heading = "Unfolded graph networks (unfolded-gnn)")]
pub struct UnfoldedOptions {
    /// What is minimised over the labelled rows
    #[arg(long, default_value = "cross-entropy", value_parser = choice(&["cross-entropy", "mse"], NodeLoss::parse))]
    pub loss: NodeLoss,

    /// Weight of the squared norm of the layer: a number, or auto
    #[arg(long, value_name = "R", default_value = "auto", value_parser = parse_auto)]
    pub l2_reg: Auto,

    /// How the layer is found; auto takes what is estimated to be fastest
    #[arg(
        long,
        default_value = "auto",
        value_parser = choice(&["auto", "direct", "rough-pcg", "herta", "herta-mixed", "matrix-free", "gd", "adam"], LayerSolver::parse)
    )]
    pub layer_solver: LayerSolver,

    /// What iterates in solvers with a preconditioner
    #[arg(long, default_value = "auto", value_parser = choice(&["auto", "cg", "l-bfgs", "gd", "adam"], LayerOptimizer::parse))]
    pub layer_optimizer: LayerOptimizer,

    /// Steps of the unfolding, or exact
    #[arg(long, value_name = "T", default_value = "exact", value_parser = steps)]
    pub unfolding: Unfolding,

    /// Step size of the unfolding [default: 1/(1 + graph-reg)]
    #[arg(long, value_name = "A", value_parser = real)]
    pub step_size: Option<f64>,

    /// What is added to every degree
    #[arg(long, value_name = "W", default_value_t = UnfoldedParams::default().self_loop, value_parser = real)]
    pub self_loop: f64,

    /// Units of a hidden layer [default: none, the features are weighed themselves]
    #[arg(long, value_name = "UNITS", value_parser = count)]
    pub hidden: Option<usize>,

    /// Reweight edges by how far their ends come apart, to this power in (0, 2) [default: not]
    #[arg(long, value_name = "P", value_parser = real)]
    pub attention: Option<f64>,

    /// Leave out the constant beside the features
    #[arg(long)]
    pub no_layer_bias: bool,

    /// Step of gd and adam [default: by rule]
    #[arg(long, value_name = "RATE", value_parser = real)]
    pub learning_rate: Option<f64>,

    /// herta: share of the edges that are kept [default: by rule]
    #[arg(long, value_name = "SHARE", value_parser = real)]
    pub kept_edges: Option<f64>,

    /// herta: rows of the sketch, none, or auto
    #[arg(long, value_name = "ROWS", default_value = "auto", value_parser = sketch)]
    pub sketch_size: SketchSize,

    /// Relative suboptimality at which training stops
    #[arg(long, value_name = "TOL", default_value = "1e-6", value_parser = real)]
    pub train_tol: f64,

    /// Most iterations of the training
    #[arg(long, value_name = "N", default_value_t = UnfoldedParams::default().max_iter, value_parser = count)]
    pub train_max_iter: usize,
}

/// Steps of an unfolding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unfolding {
    Exact,
    Steps(usize),
}

impl UnfoldedOptions {
    /// As the library takes them; the weight of smoothness is that of `harmonic`.
    pub fn params(&self, harmonic: &HarmonicOptions) -> UnfoldedParams {
        UnfoldedParams {
            graph_reg: harmonic.graph_reg.value(),
            self_loop: self.self_loop,
            loss: self.loss,
            l2_reg: self.l2_reg.value(),
            solver: self.layer_solver,
            optimizer: self.layer_optimizer,
            steps: if let Unfolding::Steps(steps) = self.unfolding { Some(steps) } else { None },
            step_size: self.step_size,
            hidden: self.hidden,
            attention: self.attention,
            bias: !self.no_layer_bias,
            learning_rate: self.learning_rate,
            edges: self.kept_edges,
            sketch_size: self.sketch_size,
            tol: self.train_tol,
            max_iter: self.train_max_iter,
        }
    }
}

fn steps(text: &str) -> Result<Unfolding, String> {
    match text {
        "exact" => Ok(Unfolding::Exact),
        number => count(number).map(Unfolding::Steps).map_err(|_| "expected exact or a whole number".into()),
    }
}

fn sketch(text: &str) -> Result<SketchSize, String> {
    match text {
        "auto" => Ok(SketchSize::Auto),
        "none" => Ok(SketchSize::None),
        rows => count(rows).map(SketchSize::Rows).map_err(|_| "expected auto, none or a whole number".into()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        unfolded: UnfoldedOptions,
        #[command(flatten)]
        harmonic: HarmonicOptions,
    }

    #[test]
    fn defaults_are_those_of_the_library() {
        let options = Options::parse_from(["lapwing"]);
        assert_eq!(options.unfolded.params(&options.harmonic), UnfoldedParams::default());
    }

    #[test]
    fn words_and_numbers_share_an_option() {
        assert_eq!(steps("exact"), Ok(Unfolding::Exact));
        assert_eq!(steps("12"), Ok(Unfolding::Steps(12)));
        assert_eq!(sketch("none"), Ok(SketchSize::None));
        assert!(steps("many").is_err() && sketch("-1").is_err());
    }
}
