//! Tests of the solvers through their public items. They are one test program, because linking one for each file would take longer.

mod certificate;
mod eigen;
mod elimination;
mod laplacian;
mod many_columns;
#[path = "../../../../tests/testkit/graphs.rs"]
mod testkit;
