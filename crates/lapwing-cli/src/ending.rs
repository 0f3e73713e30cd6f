//! The end of the program: all ranks agree on one exit code and one text.

use lapwing::data::{Communicator, Error, Result};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::outcome::{DONE, ERROR, INTERRUPTED, LOOK, Outcome};

/// The end of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// Exit code, the same in all ranks.
    pub code: u8,
    /// The text that rank 0 prints; `None` in other ranks.
    pub text: Option<String>,
}

/// The end of one rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Part {
    kind: Kind,
    code: u8,
    text: Option<String>,
}

/// The cause of an end. If ranks have different causes, the last one in this list counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Kind {
    Done,
    /// Stopped because another rank stopped.
    Followed,
    /// Failed by itself.
    Failed,
}

/// Waits for all ranks and joins their ends.
pub fn join(communicator: &dyn Communicator, result: &Result<Outcome, Failure>) -> Ending {
    let own = Part::new(result);
    // If ranks cannot communicate, this rank ends by itself.
    joined(communicator, &own).unwrap_or_else(|_| Ending { code: own.code.max(ERROR), text: own.text })
}

fn joined(communicator: &dyn Communicator, own: &Part) -> Result<Ending> {
    communicator.leave()?;
    let parts = communicator.gather(&own.bytes())?;
    let ending = together(&parts.iter().map(|part| Part::from_bytes(part)).collect::<Vec<_>>());
    let code = communicator.broadcast(vec![ending.code])?;
    Ok(Ending { code: code.first().copied().unwrap_or(ERROR), text: ending.text })
}

/// The ending by the first rank that failed. Its text names the rank, unless all ranks have the same text.
fn together(parts: &[Part]) -> Ending {
    let cause = parts.iter().map(|part| part.kind).max().unwrap_or(Kind::Done);
    if cause == Kind::Done {
        return Ending { code: parts.iter().map(|part| part.code).max().unwrap_or(DONE), text: None };
    }
    let Some((rank, part)) = parts.iter().enumerate().find(|(_, part)| part.kind == cause) else {
        return Ending { code: ERROR, text: None };
    };
    // An interruption reaches each rank at a moment of its own, and no rank causes it.
    let is_common = parts.iter().all(|other| other == part) || part.code == INTERRUPTED;
    let is_nameless = is_common || cause == Kind::Followed;
    let text = part.text.clone().map(|text| if is_nameless { text } else { format!("rank {rank}: {text}") });
    Ending { code: part.code, text }
}

impl Part {
    fn new(result: &Result<Outcome, Failure>) -> Self {
        let (kind, code) = match result {
            Ok(Outcome::Done) => (Kind::Done, DONE),
            Ok(Outcome::Look) => (Kind::Done, LOOK),
            Err(failure @ Failure::Library(Error::Comm { .. })) => (Kind::Followed, failure.code()),
            // The reader of standard output has closed it: the work is done.
            Err(failure) if failure.code() == DONE => (Kind::Done, DONE),
            Err(failure) => (Kind::Failed, failure.code()),
        };
        Self { kind, code, text: result.as_ref().err().and_then(Failure::text) }
    }

    fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let broken = || Self { kind: Kind::Failed, code: ERROR, text: None };
        serde_json::from_slice(bytes).unwrap_or_else(|_| broken())
    }
}

#[cfg(test)]
mod tests {
    use lapwing::data::Alone;

    use super::*;

    fn part(result: Result<Outcome, Failure>) -> Part {
        Part::new(&result)
    }

    fn failed(text: &str) -> Part {
        part(Err(Failure::usage(text)))
    }

    fn failed_elsewhere() -> Part {
        part(Err(Failure::Library(Error::Comm { rank: 1, reason: "disk full".into() })))
    }

    fn of(parts: &[Part]) -> (u8, Option<String>) {
        let Ending { code, text } = together(parts);
        (code, text)
    }

    #[test]
    fn one_text_for_all_ranks() {
        let done = || part(Ok(Outcome::Done));
        assert_eq!(of(&[done(), done()]), (DONE, None));
        assert_eq!(of(&[done(), part(Ok(Outcome::Look))]), (LOOK, None));
        assert_eq!(of(&[part(Err(Failure::ClosedPipe)), done()]), (DONE, None));
        assert_eq!(of(&[failed("no labels"), failed("no labels")]), (ERROR, Some("no labels".into())));
        assert_eq!(
            of(&[failed_elsewhere(), failed("disk full"), failed_elsewhere()]),
            (ERROR, Some("rank 1: disk full".into()))
        );
        assert_eq!(of(&[done(), failed("a"), failed("b")]), (ERROR, Some("rank 1: a".into())));
        assert_eq!(of(&[failed_elsewhere(), failed_elsewhere()]), (ERROR, Some("rank 1: disk full".into())));
    }

    #[test]
    fn interruptions_have_no_rank() {
        let interrupted = part(Err(Failure::Interrupted));
        assert_eq!(of(&[failed_elsewhere(), interrupted]), (INTERRUPTED, Some("interrupted".into())));
    }

    #[test]
    fn parts_survive_the_journey() {
        for part in [failed("naïve"), failed_elsewhere(), part(Ok(Outcome::Look))] {
            assert_eq!(Part::from_bytes(&part.bytes()), part);
        }
        assert_eq!(Part::from_bytes(&[]).code, ERROR);
    }

    #[test]
    fn alone_it_ends_as_it_ended() {
        let ending = join(&Alone, &Err(Failure::usage("no labels")));
        assert_eq!(ending, Ending { code: ERROR, text: Some("no labels".into()) });
        assert_eq!(join(&Alone, &Ok(Outcome::Done)), Ending { code: DONE, text: None });
    }
}
