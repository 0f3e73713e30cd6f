//! Labels for millions of rows from a handful of labelled ones.

pub use lapwing_data as data;
pub use lapwing_graph as graph;
pub use lapwing_models as models;
pub use lapwing_solve as solve;
