//! What a harmonic fit will need, by the sizes of what it allocates.
use super::HarmonicParams;
use crate::{Plan, ProblemSize};
use lapwing_graph::GraphParams;
pub(super) fn plan(_params: &HarmonicParams, _graph: &GraphParams, _size: &ProblemSize) -> Plan {
    todo!()
}
