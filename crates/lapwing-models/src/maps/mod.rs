//! Linear maps of rows, and the fit of their weights by conjugate gradients, L-BFGS or descent. Logistic regression and unfolded networks
//! are such fits.

pub(crate) mod coordinates;
pub(crate) mod layers;
pub(crate) mod loss;
pub(crate) mod map;
pub(crate) mod optimize;
pub(crate) mod precondition;
pub(crate) mod rows;

pub(crate) use coordinates::{Coordinates, coordinates, gram};
pub use layers::Layers;
pub(crate) use loss::Loss;
pub use loss::NodeLoss;
pub(crate) use map::{Accuracy, Map, Stored, StoredRows, StoredValues};
pub(crate) use optimize::{State, Task, Trace, lbfgs};
pub(crate) use precondition::Preconditioner;
pub(crate) use rows::Inputs;
