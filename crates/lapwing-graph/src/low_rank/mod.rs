//! Low-rank affinities W̃ = F·Fᵀ with a factor F (n, r), r far below n: from similarities to landmarks, which are never held, or
//! learned as global linear neighborhoods. Propagation needs only F.

mod blocks;
mod factor;
mod glnp;
mod held;
mod kernel;
mod landmarks;
mod nystrom;
mod passes;

pub use blocks::{BlockSums, Blocks, SumTree};
pub use factor::{Coefficients, DegreeCounts, FactorSpace, FactorSums, RowFactor, Statistics, labeled_within};
pub use glnp::{GlnpCenters, GlnpExtension, GlnpFactor, GlnpParams, GlnpSolver, GlnpStart, glnp};
pub use held::HeldRows;
pub use kernel::RowKernel;
pub use landmarks::{LandmarkBandwidth, LandmarkRule, Landmarks, RowSample};
pub use nystrom::NystromMap;
pub use passes::{Chunk, RowPass};
