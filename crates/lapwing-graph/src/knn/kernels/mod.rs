//! The search kernels: rows as words, sixteen pairs at a time, and the sorted lists their distances go into.
//!
//! [`element`] says what a kernel is made of, [`tile`] makes loops of it, [`points`] the rows they run over, [`lists`] what
//! they leave.

pub(crate) mod element;
pub(crate) mod lists;
pub(crate) mod points;
pub(crate) mod tile;
