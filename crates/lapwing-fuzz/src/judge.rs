//! The result of an input: refused, accepted, or a defect.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use crate::{Bench, Target, lock};

/// The result of an input without a defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The reader returned an error, as it should for a damaged file.
    Refused,
    /// The reader accepted the file, and all conditions hold.
    Accepted,
}

/// A defect.
#[derive(Clone, Debug)]
pub struct Defect {
    /// Identifies the defect: a place in the code, or the condition that failed.
    pub place: String,
    /// What happened, as a sentence.
    pub words: String,
}

/// The result of a target; the error is a sentence about the condition that failed on an accepted input.
pub type Verdict = Result<Answer, String>;

/// Reads `bytes` with a target; panics are defects.
pub fn judge(bench: &Bench, target: &Target, bytes: &[u8]) -> Result<Answer, Defect> {
    let read = || (target.read)(bench, &bench.file(target.file, bytes), bytes);
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(verdict) => verdict.map_err(|words| Defect { place: without_numbers(&words), words }),
        Err(payload) => Err(panicked(&*payload)),
    }
}

/// The place of the last panic.
static PLACE: Mutex<Option<String>> = Mutex::new(None);

/// Notes the places of panics and prints nothing: readers catch some panics, and [`judge`] returns the others.
pub fn note_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!("{}:{}", at.file(), at.line()));
        *lock(&PLACE) = place;
    }));
}

fn panicked(payload: &dyn Any) -> Defect {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let words = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
    let place = lock(&PLACE).take();
    let place = place.unwrap_or_else(|| without_numbers(&words));
    Defect { words: format!("panic at {place}: {words}"), place }
}

/// The part of a sentence that is equal for different inputs.
fn without_numbers(words: &str) -> String {
    words.split(|c: char| c.is_ascii_digit() || c == '\'').next().unwrap_or_default().trim().to_owned()
}
