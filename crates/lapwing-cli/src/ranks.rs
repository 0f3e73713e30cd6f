//! The ranks: processes that run the program together.

use lapwing::data::Communicator;

use crate::failure::Failure;

/// The ranks, from the view of one of them.
pub struct Ranks<'c> {
    /// The collectives.
    pub communicator: &'c dyn Communicator,
    /// Default number of worker threads; `None` stands for all processors of this process.
    pub threads: Option<usize>,
}

impl<'c> Ranks<'c> {
    /// The ranks of `communicator`.
    pub fn new(communicator: &'c dyn Communicator, threads: Option<usize>) -> Self {
        Self { communicator, threads }
    }

    /// Refuses several ranks for `what`, which needs all rows in one process; `instead` names what runs in several.
    pub fn refuse_many(&self, what: &str, instead: &str) -> Result<(), Failure> {
        match self.communicator.size() {
            1 => Ok(()),
            n => Err(Failure::usage(format!("{what} runs in one process, not in {n} ranks; {instead}"))),
        }
    }
}
