//! Tests of graphs through their public items. They are one test program, because linking one for each file would take longer.

mod glnp;
mod sparsify;
#[path = "../../../../tests/testkit/mod.rs"]
mod testkit;
