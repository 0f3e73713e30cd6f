//! Parameters of the graph and of the methods.

use clap::Args;
use lapwing::graph::{GraphParams, KnnMethod, Metric, Symmetrize, Weighting, ZeroRows};
use lapwing::models::harmonic::ClassPrior;
use lapwing::models::{
    Certify, Clamp, Decision, Form, HarmonicParams, LabelsDrawn, MethodOptions, SizeOptions, SizeParams,
};

use super::choice::choice;
use super::number::{count, real};
use super::{BaselineOptions, LapSvmOptions, LowRankOptions, SparseHarmonicOptions, UnfoldedOptions};

/// How the graph is built from features; a graph that is given leaves nothing to choose.
#[derive(Args)]
#[command(next_help_heading = "Graph")]
pub struct GraphOptions {
    /// Neighbours of each row
    #[arg(short = 'k', long, value_name = "K", default_value_t = 15, conflicts_with = "graph", value_parser = count)]
    pub neighbors: usize,

    /// Distance between rows
    #[arg(long, default_value = "euclidean", value_parser = choice(&["euclidean", "cosine", "inner-product"], Metric::parse), conflicts_with = "graph")]
    pub metric: Metric,

    /// How a distance becomes a weight; learned and learned-l2 find weights under which the features are smooth
    #[arg(
        long,
        default_value = "self-tuning",
        value_parser = choice(&["self-tuning", "gaussian", "cosine", "binary", "learned", "learned-l2"], Weighting::parse),
        conflicts_with = "graph"
    )]
    pub weights: Weighting,

    /// Width of gaussian weights [default: the median distance to the last neighbour]; for self-tuning weights, the
    /// factor on each row's own width [default: 0.5]
    #[arg(long, value_name = "SIGMA", value_parser = real, conflicts_with = "graph")]
    pub bandwidth: Option<f64>,

    /// An edge that one row names: as if both did (union), at half its weight (mean), or dropped (mutual)
    #[arg(long, default_value = "mean", value_parser = choice(&["union", "mean", "mutual"], Symmetrize::parse), conflicts_with = "graph")]
    pub symmetrize: Symmetrize,

    /// Neighbour search; auto takes the faster one
    #[arg(long, default_value = "auto", value_parser = choice(&["auto", "exact", "partitions"], KnnMethod::parse), conflicts_with = "graph")]
    pub knn: KnnMethod,

    /// Share of true neighbours that an approximate search must find
    #[arg(long, value_name = "SHARE", default_value_t = 0.95, value_parser = real, conflicts_with = "graph")]
    pub recall_target: f64,

    /// Rows of zeros under the cosine metric: an error, or at distance 1 from every row
    #[arg(long, default_value = "error", value_parser = choice(&["error", "allow"], ZeroRows::parse), conflicts_with = "graph")]
    pub zero_rows: ZeroRows,
}

/// Parameters of harmonic propagation.
#[derive(Args)]
#[command(next_help_heading = "Harmonic propagation")]
pub struct HarmonicOptions {
    /// Weight of smoothness over the graph against the given labels: a number, inf, or auto
    #[arg(long, value_name = "G", default_value = "auto", value_parser = parse_auto)]
    pub graph_reg: Auto,

    /// auto: smoothed by how many labels there are and how they were drawn; stable: scores of zero mean; plain: for many
    /// labels, or to keep them exactly
    #[arg(long, default_value = "auto", value_parser = choice(&["stable", "plain", "auto"], Form::parse))]
    pub form: Form,

    /// soft: given labels may be overruled; hard: they are kept exactly (with --form plain)
    #[arg(long, default_value = "soft", value_parser = choice(&["soft", "hard"], Clamp::parse))]
    pub clamp: Clamp,

    /// From scores to a class: largest above the mean of the labels (centered) or of all rows (row-mean), largest (argmax),
    /// scaled to the class prior (mass), or so that every class gets its size (sizes, for every method)
    #[arg(
        long,
        default_value = "auto",
        value_parser = choice(&["auto", "centered", "row-mean", "argmax", "mass", "sizes"], Decision::parse)
    )]
    pub decision: Decision,

    /// Shares of the classes: labeled (those of the given labels), or one number per class in the order of their names,
    /// which add up to 1
    #[arg(long, value_name = "P1,P2,…", default_value = "labeled", value_parser = parse_prior, allow_hyphen_values = true)]
    pub class_prior: ClassPrior,

    /// With --decision sizes: how far a size may be from its share, as a share of the rows
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = real)]
    pub size_slack: f64,

    /// Whether labeled rows were drawn at random, so that they tell the sizes of classes, or about as many of every class
    #[arg(long, default_value = "auto", value_parser = choice(&["auto", "random", "balanced"], LabelsDrawn::parse))]
    pub labels_drawn: LabelsDrawn,

    /// Relative residual at which the solver stops
    #[arg(long, default_value = "1e-6", value_parser = real)]
    pub tol: f64,

    /// Most iterations of the solver
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = count)]
    pub max_iter: usize,

    /// auto: go on until every label is certain to be that of the exact solution of this graph; first: stop as soon as it is; off: neither
    #[arg(long, default_value = "auto", value_parser = choice(&["auto", "first", "off"], Certify::parse))]
    pub certify: Certify,
}

/// A number, or left to the method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Auto {
    Auto,
    Value(f64),
}

impl Auto {
    /// The number; none where the method chooses.
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Auto => None,
            Self::Value(value) => Some(value),
        }
    }
}

impl GraphOptions {
    pub fn params(&self) -> GraphParams {
        GraphParams {
            n_neighbors: self.neighbors,
            metric: self.metric,
            weights: self.weights,
            symmetrize: self.symmetrize,
            bandwidth: self.bandwidth,
            builder: self.knn,
            recall_target: self.recall_target,
            zero_rows: self.zero_rows,
            ..GraphParams::default()
        }
    }
}

impl HarmonicOptions {
    /// What class sizes are held to, if the decision asks for it.
    pub fn sizes(&self) -> Option<SizeParams> {
        let params = self.params();
        (params.decision == Decision::Sizes)
            .then_some(SizeParams { class_prior: params.class_prior, options: params.sizes })
    }

    pub fn params(&self) -> HarmonicParams {
        HarmonicParams {
            graph_reg: self.graph_reg.value(),
            form: self.form,
            clamp: self.clamp,
            decision: self.decision,
            class_prior: self.class_prior.clone(),
            sizes: SizeOptions { slack: self.size_slack, labels_drawn: self.labels_drawn },
            tol: self.tol,
            max_iter: self.max_iter,
            certify: self.certify,
        }
    }
}

/// Parameters of every method.
#[derive(Args)]
pub struct MethodChoices {
    #[command(flatten)]
    pub graph: GraphOptions,

    #[command(flatten)]
    pub harmonic: HarmonicOptions,

    #[command(flatten)]
    pub sparse: SparseHarmonicOptions,

    #[command(flatten)]
    pub low_rank: LowRankOptions,

    #[command(flatten)]
    pub lapsvm: LapSvmOptions,

    #[command(flatten)]
    pub unfolded: UnfoldedOptions,

    #[command(flatten)]
    pub baselines: BaselineOptions,
}

impl MethodChoices {
    /// What every method is given to choose its parameters from.
    pub fn options(&self) -> MethodOptions {
        let Self { graph, harmonic, sparse, low_rank, lapsvm, unfolded, baselines } = self;
        let mut options = MethodOptions {
            graph: graph.params(),
            harmonic: harmonic.params(),
            sparse: sparse.params(),
            low_rank: low_rank.params(harmonic),
            lapsvm: lapsvm.params(harmonic),
            unfolded: unfolded.params(harmonic),
            ..MethodOptions::default()
        };
        baselines.add_to(&mut options);
        options
    }
}

pub fn parse_auto(text: &str) -> Result<Auto, String> {
    if text == "auto" {
        return Ok(Auto::Auto);
    }
    real(text).map(Auto::Value).map_err(|_| "expected a number, inf, or auto".into())
}

fn parse_prior(text: &str) -> Result<ClassPrior, String> {
    if text == "labeled" {
        return Ok(ClassPrior::Labeled);
    }
    let shares: Result<Vec<f64>, String> = text.split(',').map(real).collect();
    shares.map(ClassPrior::Given).map_err(|_| "expected labeled, or numbers separated by commas".into())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use lapwing::graph::SELF_TUNING_BANDWIDTH;

    use super::*;

    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        graph: GraphOptions,
        #[command(flatten)]
        harmonic: HarmonicOptions,
        /// Given in place of features.
        #[arg(long = "graph")]
        given: Option<String>,
    }

    #[test]
    fn defaults_are_those_of_the_library() {
        let options = Options::parse_from(["lapwing"]);
        assert_eq!(options.graph.params(), GraphParams::default());
        assert_eq!(options.harmonic.params(), HarmonicParams::default());
        let help = <Options as clap::CommandFactory>::command().render_help().to_string();
        assert!(help.contains(&format!("[default: {SELF_TUNING_BANDWIDTH}]")), "{help}");
    }

    #[test]
    fn numbers_and_words_share_an_option() {
        assert_eq!(parse_auto("auto"), Ok(Auto::Auto));
        assert_eq!(parse_auto("inf"), Ok(Auto::Value(f64::INFINITY)));
        assert!(parse_auto("automatic").unwrap_err().contains("auto"));
        assert_eq!(parse_prior("labeled"), Ok(ClassPrior::Labeled));
        assert_eq!(parse_prior("0.2, 0.8"), Ok(ClassPrior::Given(vec![0.2, 0.8])));
        assert!(parse_prior("0.2;0.8").is_err() && parse_prior("nan,1").is_err());
    }
}
