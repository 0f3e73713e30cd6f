//! How a graph is learned.

use clap::Args;
use lapwing::graph::GraphParams;
use lapwing::graph::learn::{LearnModel, LearnParams, LearnSolver};

use super::choice::choice;
use super::method::{Auto, parse_auto};
use super::number::{count, real};

/// Parameters of a graph that is learned; the number of neighbours wanted is that of the graph.
#[derive(Args)]
#[command(next_help_heading = "Learning")]
pub struct LearnOptions {
    /// Learn which rows are joined, and how: log gives every row a degree, l2 makes degrees alike (rows far off may have
    /// none). The same as --weights learned or learned-l2
    #[arg(long, value_name = "MODEL", value_parser = choice(&["log", "l2"], LearnModel::parse), conflicts_with_all = ["graph", "weights"])]
    pub learn: Option<LearnModel>,

    /// As many pairs of a row as so many times its neighbours may carry weight; inf allows all pairs
    #[arg(long, value_name = "R", default_value = "3", value_parser = real)]
    pub support_factor: f64,

    /// Sparsity of the graph, a number or auto: from the number of neighbours
    #[arg(long, value_name = "THETA", default_value = "auto", value_parser = parse_auto)]
    pub sparsity: Auto,

    /// What all learned weights are multiplied by
    #[arg(long, value_name = "DELTA", default_value_t = 1.0, value_parser = real)]
    pub scale: f64,

    /// How weights are learned: newton (auto) or, for comparison, primal-dual
    #[arg(long, default_value = "auto", value_parser = choice(&["auto", "newton", "primal-dual"], LearnSolver::parse))]
    pub solver: LearnSolver,

    /// Duality gap at which learning stops, relative to the size of the objective
    #[arg(long, value_name = "GAP", default_value = "1e-8", value_parser = real)]
    pub tol: f64,

    /// Most steps of the solver [default: 100 for newton, 10000 for primal-dual]
    #[arg(long, value_name = "N", value_parser = count)]
    pub max_iter: Option<usize>,

    /// Look for pairs that were not allowed but would carry weight, and learn again with them
    #[arg(long)]
    pub repair: bool,
}

impl LearnOptions {
    /// `graph` with these.
    pub fn add_to(&self, graph: GraphParams) -> GraphParams {
        let learn = LearnParams {
            support_factor: (self.support_factor != f64::INFINITY).then_some(self.support_factor),
            sparsity: self.sparsity.value(),
            scale: self.scale,
            solver: self.solver,
            tol: self.tol,
            max_iter: self.max_iter,
            repair: self.repair,
        };
        GraphParams { weights: self.learn.map_or(graph.weights, Into::into), learn, ..graph }
    }

    /// Fields of options that only mean something where weights are learned.
    pub const FIELDS: [&str; 7] = ["support_factor", "sparsity", "scale", "solver", "tol", "max_iter", "repair"];
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        learn: LearnOptions,
        /// What `--learn` conflicts with.
        #[arg(long)]
        graph: Option<String>,
        #[arg(long)]
        weights: Option<String>,
    }

    #[test]
    fn defaults_are_those_of_the_library() {
        let options = Options::parse_from(["lapwing"]).learn;
        assert_eq!(options.add_to(GraphParams::default()), GraphParams::default());
        let options = Options::parse_from(["lapwing", "--learn", "l2", "--support-factor", "inf"]).learn;
        let params = options.add_to(GraphParams::default());
        assert_eq!((params.weights.model(), params.learn.support_factor), (Some(LearnModel::L2), None));
    }
}
