//! Tests of graphs through their public items. They are one test program, because linking one for each file would take longer.

#[path = "../../../../tests/testkit/edges.rs"]
mod edges;
mod glnp;
mod sparsify;
#[path = "../../../../tests/testkit/mod.rs"]
mod testkit;
