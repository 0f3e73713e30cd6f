//! Collectives of several processes that work on one problem.
//!
//! Every process ("rank") runs the same program on its own part of the rows, and all ranks call the same collectives in
//! the same order. Messages are small: sums, models, and labels in pieces, but never arrays of the length of the data.

use crate::{Error, Result};

/// The processes of one run. All ranks call the same collectives, from the thread that started the fit.
pub trait Communicator {
    /// Number of this process, from 0.
    fn rank(&self) -> usize;

    /// Number of processes, at least 1.
    fn size(&self) -> usize;

    /// At rank 0, returns the bytes of every rank, in the order of ranks; elsewhere nothing.
    ///
    /// # Errors
    /// [`Error::Comm`].
    fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>>;

    /// Returns the bytes of rank 0 at every rank; the bytes of other ranks are ignored.
    ///
    /// # Errors
    /// [`Error::Comm`].
    fn broadcast(&self, bytes: Vec<u8>) -> Result<Vec<u8>>;

    /// Ends a rank's work, after success or failure: returns when all ranks have ended theirs. Until then, every other
    /// collective fails with [`Error::Comm`], so that no rank waits for one that has ended. Afterwards, ranks may call
    /// collectives again, to exchange their results.
    ///
    /// # Errors
    /// [`Error::Comm`].
    fn leave(&self) -> Result<()> {
        Ok(())
    }

    /// Whether this is rank 0, which prints the output.
    fn is_root(&self) -> bool {
        self.rank() == 0
    }
}

/// A run of a single process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Communicator for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        Ok(vec![bytes.to_vec()])
    }

    fn broadcast(&self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        Ok(bytes)
    }
}

/// Returns the result of this rank after all ranks have succeeded, so that no rank waits in a collective that another
/// rank never calls.
///
/// # Errors
/// The error of this rank; else [`Error::Comm`] naming the first rank that failed, with its text.
pub fn agree<T>(communicator: &dyn Communicator, done: Result<T>) -> Result<T> {
    if communicator.size() == 1 {
        return done;
    }
    let text = match &done {
        Ok(_) => String::new(),
        // An empty text means success; the space makes the text of every error non-empty.
        Err(error) => format!("{error} "),
    };
    let all = communicator.gather(text.as_bytes())?;
    let first = all.iter().enumerate().find(|(_, text)| !text.is_empty());
    let told = first.map_or(String::new(), |(rank, text)| format!("{rank} {}", String::from_utf8_lossy(text)));
    let told = communicator.broadcast(told.into_bytes())?;
    let told = String::from_utf8_lossy(&told);
    match (done, told.split_once(' ')) {
        (Err(error), _) => Err(error),
        (Ok(_), Some((rank, text))) => {
            Err(Error::Comm { rank: rank.parse().unwrap_or(0), reason: text.trim_end().to_owned() })
        }
        (Ok(done), None) => Ok(done),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rank 0 of two, of which the other failed.
    struct Second(&'static str);

    impl Communicator for Second {
        fn rank(&self) -> usize {
            0
        }
        fn size(&self) -> usize {
            2
        }
        fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
            Ok(vec![bytes.to_vec(), self.0.as_bytes().to_vec()])
        }
        fn broadcast(&self, bytes: Vec<u8>) -> Result<Vec<u8>> {
            Ok(bytes)
        }
    }

    #[test]
    fn all_ranks_hear_of_the_first_that_failed() {
        assert_eq!(agree(&Second(""), Ok(5)).unwrap(), 5);
        let text = agree(&Second("disk full "), Ok(5)).unwrap_err().to_string();
        assert_eq!(text, "rank 1: disk full");
        assert!(matches!(agree::<()>(&Second("x"), Err(Error::Interrupted)), Err(Error::Interrupted)));
        assert!(matches!(agree::<()>(&Alone, Err(Error::Interrupted)), Err(Error::Interrupted)));
    }
}
