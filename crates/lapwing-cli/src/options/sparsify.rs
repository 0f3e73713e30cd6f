//! How a graph is made sparser.

use clap::Args;
use lapwing::graph::sparsify::{Budget, Sampler, SparsifyParams};

use super::choice::choice;
use super::number::{byte_count, count, real};

/// How many edges are kept, and how they are drawn.
#[derive(Args)]
#[command(next_help_heading = "Sparsifier")]
pub struct SparsifyOptions {
    /// Keep as many edges as it takes for cuts and resistances within (1 ± E) of what they were [default: 0.5]
    #[arg(long, value_name = "E", value_parser = real, conflicts_with_all = ["edge_budget", "memory"])]
    pub distortion: Option<f64>,

    /// Keep about so many edges
    #[arg(long, value_name = "N", conflicts_with = "memory", value_parser = count)]
    pub edge_budget: Option<usize>,

    /// Keep as many edges as can be worked with in so many bytes; 512M and 2G are binary units
    #[arg(long, value_name = "BYTES", value_parser = byte_count)]
    pub memory: Option<u64>,

    /// How edges are drawn; streaming, by effective resistance, is safe where few edges hold parts together
    #[arg(
        long,
        default_value = "streaming",
        value_parser = choice(&SAMPLERS, Sampler::parse),
        value_name = "NAME"
    )]
    pub sampler: Sampler,

    /// Edges held before they are thinned, at least twice those kept [default: four times]
    #[arg(long, value_name = "N", value_parser = count)]
    pub capacity: Option<usize>,

    /// Random projections that resistances are estimated by
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = count)]
    pub projections: usize,

    /// What the ridge sampler adds to the Laplacian [default: a tenth of the mean degree]
    #[arg(long, value_name = "RHO", value_parser = real)]
    pub ridge: Option<f64>,
}

const SAMPLERS: [&str; 8] = ["streaming", "kelner-levin", "leverage", "uniform", "degree", "bundle", "ridge", "auto"];

impl SparsifyOptions {
    /// Whether edges are drawn by ridge leverage.
    pub fn has_ridge(&self) -> bool {
        self.sampler == Sampler::Ridge
    }

    pub fn params(&self) -> SparsifyParams {
        let default = SparsifyParams::default();
        let budgets = [
            self.distortion.map(Budget::Distortion),
            self.edge_budget.map(Budget::Edges),
            self.memory.map(Budget::Memory),
        ];
        SparsifyParams {
            sampler: self.sampler,
            // At most one is given: they refuse each other.
            budget: budgets.into_iter().flatten().next().unwrap_or(default.budget),
            capacity: self.capacity,
            n_projections: self.projections,
            ridge: self.ridge,
            ..default
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        sparsify: SparsifyOptions,
    }

    fn params(arguments: &str) -> Result<SparsifyParams, clap::Error> {
        Options::try_parse_from(format!("lapwing {arguments}").split_whitespace()).map(|o| o.sparsify.params())
    }

    #[test]
    fn defaults_are_those_of_the_library() {
        let default = SparsifyParams::default();
        assert_eq!(params("").unwrap(), default);
        assert_eq!(SAMPLERS.to_vec(), Sampler::names().collect::<Vec<_>>());
        let Budget::Distortion(distortion) = default.budget else { panic!("{default:?}") };
        let help = Options::command().render_help().to_string();
        assert!(help.contains(&format!("[default: {distortion}]")), "{help}");
    }

    #[test]
    fn budgets_exclude_each_other() {
        assert_eq!(params("--edge-budget 700").unwrap().budget, Budget::Edges(700));
        assert_eq!(params("--memory 512M").unwrap().budget, Budget::Memory(512 << 20));
        assert_eq!(params("--distortion 0.3 --sampler auto").unwrap().budget, Budget::Distortion(0.3));
        for pair in ["--memory 1G --distortion 0.3", "--edge-budget 3 --memory 1G", "--distortion 1 --edge-budget 3"] {
            assert!(params(pair).unwrap_err().to_string().contains("cannot be used with"), "{pair}");
        }
    }
}
