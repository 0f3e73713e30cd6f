//! Choices among the methods by labels that are held out.

pub(crate) mod auto;
pub(crate) mod compare;
