//! The processes that run the program together.

use lapwing::data::{Alone, Communicator};

use crate::failure::Failure;

/// The processes that run the program together, as one of them sees them.
pub struct Ranks<'c> {
    /// How they meet.
    pub communicator: &'c dyn Communicator,
    /// Worker threads of this one, where the user does not say; `None` stands for every processor it may use.
    pub threads: Option<usize>,
}

impl Ranks<'static> {
    /// A process on its own.
    pub fn alone() -> Self {
        Self::new(&Alone, None)
    }
}

impl<'c> Ranks<'c> {
    /// This process among the ranks of `communicator`.
    pub fn new(communicator: &'c dyn Communicator, threads: Option<usize>) -> Self {
        Self { communicator, threads }
    }

    /// Refuses more than one rank for `what`, which needs all rows in one process; `instead` says what does not.
    pub fn refuse_many(&self, what: &str, instead: &str) -> Result<(), Failure> {
        match self.communicator.size() {
            1 => Ok(()),
            n => Err(Failure::usage(format!("{what} runs in one process, not in {n} ranks; {instead}"))),
        }
    }
}
