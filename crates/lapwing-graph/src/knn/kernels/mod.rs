//! The search kernels: rows as words, sixteen pairs at a time, and the sorted lists their distances go into.
//!
//! [`lanes`] says what a kernel is made of, [`avx2`] and [`avx512`] are the versions for processors that have it, chosen at
//! run time; [`tile`] makes loops of them, [`points`] the rows they run over, [`lists`] what they leave. [`vectored`] is for
//! loops that need no kernel of their own.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(crate) mod lanes;
pub(crate) mod lists;
pub(crate) mod points;
pub(crate) mod tile;
