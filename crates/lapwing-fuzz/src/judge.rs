//! What became of an input: refused, accepted, or a defect found.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use crate::{Bench, Target};

/// What a target says of its input when nothing broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// An error, as damaged files deserve.
    Refused,
    /// It was read, and all that must hold does.
    Accepted,
}

/// A defect: where it is or what kind it is, and what happened.
#[derive(Clone, Debug)]
pub struct Defect {
    /// Tells this defect from others: a place in the code, or what did not hold.
    pub place: String,
    /// What happened, in words.
    pub words: String,
}

/// What a target returns: an answer, or a sentence on what does not hold of the input it accepted.
pub type Verdict = Result<Answer, String>;

/// Gives `bytes` to a target; panics come back as defects.
///
/// # Errors
/// The defect that was found.
pub fn judge(bench: &Bench, target: &Target, bytes: &[u8]) -> Result<Answer, Defect> {
    match catch_unwind(AssertUnwindSafe(|| (target.run)(bench, bytes))) {
        Ok(verdict) => verdict.map_err(|words| Defect { place: without_numbers(&words), words }),
        Err(payload) => Err(panicked(&*payload)),
    }
}

/// Where the last panic was.
static PLACE: Mutex<Option<String>> = Mutex::new(None);

/// Panics are noted and not printed: some are caught inside of readers, and the rest come back from [`judge`].
pub fn note_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!("{}:{}", at.file(), at.line()));
        *PLACE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = place;
    }));
}

fn panicked(payload: &dyn Any) -> Defect {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let words = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
    let place = PLACE.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
    let place = place.unwrap_or_else(|| without_numbers(&words));
    Defect { words: format!("panic at {place}: {words}"), place }
}

/// What is the same of equal sentences about different inputs.
fn without_numbers(words: &str) -> String {
    words.split(|c: char| c.is_ascii_digit() || c == '\'').next().unwrap_or_default().trim().to_owned()
}
