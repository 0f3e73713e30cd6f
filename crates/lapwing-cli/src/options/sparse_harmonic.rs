//! Parameters of harmonic propagation on a sparsified graph.

use clap::Args;
use lapwing::models::SparseHarmonicParams;

use super::SparsifyOptions;
use super::number::count;

/// The sparsifier, and how its solution is refined.
#[derive(Args)]
#[command(next_help_heading = "Sparsifier")]
pub struct SparseHarmonicOptions {
    #[command(flatten)]
    pub sparsify: SparsifyOptions,

    /// sparse-harmonic: passes over the edges that refine the labels on the whole graph [default: 3, 0 for a pipe]
    #[arg(long, value_name = "N", value_parser = count)]
    pub refinements: Option<usize>,
}

impl SparseHarmonicOptions {
    pub fn params(&self) -> SparseHarmonicParams {
        SparseHarmonicParams {
            sparsify: self.sparsify.params(),
            refinements: self.refinements,
            ..SparseHarmonicParams::default()
        }
    }
}
