//! Choices among the methods by labels that are held out.

pub(crate) mod auto;
mod clock;
pub(crate) mod compare;
