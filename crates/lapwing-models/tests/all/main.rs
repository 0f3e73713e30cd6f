//! Tests of the methods through their public items. They are one test program, because linking one for each file would take longer.

mod certificate;
#[path = "../../../../tests/testkit/edges.rs"]
mod edges;
mod low_rank;
mod sparse_harmonic;
