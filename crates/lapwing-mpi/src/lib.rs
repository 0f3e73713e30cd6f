//! The ranks of MPI as the [`Communicator`](lapwing::data::Communicator) of lapwing, behind the feature `mpi`.
//!
//! No other crate uses MPI. Its program `lapwing-mpi` is the program `lapwing` with this communicator.

#[cfg(feature = "mpi")]
mod communicator;
#[cfg(any(feature = "mpi", test))]
mod share;

#[cfg(feature = "mpi")]
pub use communicator::MpiCommunicator;
