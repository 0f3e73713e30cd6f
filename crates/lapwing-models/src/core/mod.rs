//! What all methods share: the problem, its plan and its result, decision rules, labels that are held out, the confidence that follows
//! from them, sizes of classes, and scores of new rows. Nothing here knows a method.

pub(crate) mod calibration;
pub(crate) mod cells;
pub(crate) mod class_prior;
pub(crate) mod class_sizes;
pub(crate) mod counts;
pub(crate) mod expected;
pub(crate) mod extend;
pub(crate) mod fitted;
pub(crate) mod fitting;
pub(crate) mod held_out;
pub(crate) mod lazy_index;
pub(crate) mod method;
pub mod metrics;
pub(crate) mod neighbors;
pub(crate) mod notes;
pub(crate) mod parts;
pub(crate) mod plan;
pub(crate) mod problem;
pub(crate) mod ranks;
pub(crate) mod row_fit;
pub(crate) mod rule;
pub(crate) mod sampling;
pub(crate) mod scores;
pub(crate) mod smoother;
pub mod split;
pub(crate) mod stored;
pub(crate) mod temperature;
pub(crate) mod uncertainty;
pub(crate) mod venn_abers;
