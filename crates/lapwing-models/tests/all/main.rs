//! Tests of the methods through their public items. They are one test program, because linking one for each file would take longer.

mod certificate;
mod low_rank;
mod sparse_harmonic;
