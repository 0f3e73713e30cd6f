//! The search kernels: rows as words, sixteen pairs at a time, and the sorted lists their distances go into.
//!
//! [`element`] has the operations, [`tile`] the loops over them, [`points`] the rows, [`lists`] the results.

pub(crate) mod element;
pub(crate) mod lists;
pub(crate) mod points;
pub(crate) mod tile;
