//! Several processes that work on one problem: the few collectives that the methods need.
//!
//! Every process ("rank") runs the same program on its own part of the rows and meets the others in collectives, all in
//! the same order. What is exchanged is small: sums and models, never anything of the length of the data.

use crate::{Error, Result};

/// The processes of one run. Collectives are called by all ranks alike, from the thread that started the fit.
pub trait Communicator {
    /// Number of this process, from 0.
    fn rank(&self) -> usize;

    /// Number of processes, at least 1.
    fn size(&self) -> usize;

    /// The bytes of every rank, in the order of ranks, at rank 0; nothing elsewhere.
    ///
    /// # Errors
    /// [`Error::Comm`].
    fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>>;

    /// The bytes of rank 0, everywhere; what other ranks pass is ignored.
    ///
    /// # Errors
    /// [`Error::Comm`].
    fn broadcast(&self, bytes: Vec<u8>) -> Result<Vec<u8>>;

    /// The end of a rank's work, done or failed: returns when all ranks have ended theirs. Until then every other
    /// collective fails with [`Error::Comm`], so that no rank waits for one that has left. Afterwards ranks may meet again,
    /// to tell each other how it ended.
    ///
    /// # Errors
    /// [`Error::Comm`].
    fn leave(&self) -> Result<()> {
        Ok(())
    }

    /// Whether this is rank 0, the one that speaks.
    fn is_root(&self) -> bool {
        self.rank() == 0
    }
}

/// A process on its own.
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

/// What this rank has done, once it is known that all ranks have done theirs: no rank goes on to a collective that another
/// will never reach.
///
/// # Errors
/// The error of this rank; else [`Error::Comm`] naming the first rank that failed, with its text.
pub fn agree<T>(communicator: &dyn Communicator, done: Result<T>) -> Result<T> {
    if communicator.size() == 1 {
        return done;
    }
    let text = match &done {
        Ok(_) => String::new(),
        // Texts of errors are not empty; a space keeps that true of any.
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
