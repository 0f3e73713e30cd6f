//! Progress of a run: phases, their steps, and shares of phases whose steps are unknown or differ.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::lock;

/// Receives the progress of a run. Called from worker threads, some hundred times per phase at most, by one thread at a time.
///
/// `done` never falls within a phase and never exceeds its total, unless `expect` changes the total: then counting begins anew.
pub trait Progress: Send + Sync {
    /// A phase begins; `total` is its number of steps, 0 if unknown.
    fn start(&self, phase: &str, total: u64);
    /// The current phase turns out to have `total` steps. By default this is ignored.
    fn expect(&self, _total: u64) {}
    /// The current phase has done `done` steps; `note` is a short remark such as a residual.
    fn update(&self, done: u64, note: &str);
    /// The current phase is over.
    fn finish(&self);
}

/// Ignores progress: the default of library calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn start(&self, _: &str, _: u64) {}
    fn update(&self, _: u64, _: &str) {}
    fn finish(&self) {}
}

/// Steps of a phase that is counted by its share: thousandths of the phase.
const SHARES: u64 = 1000;
/// Most reports of a [`Counter`].
const REPORTS: u64 = 200;

/// Counts steps that threads do side by side, and reports them at most some hundred times.
pub struct Counter<'r> {
    progress: &'r dyn Progress,
    note: &'r str,
    total: u64,
    done: AtomicU64,
}

impl<'r> Counter<'r> {
    /// Of the `total` steps of the current phase.
    pub(crate) fn new(progress: &'r dyn Progress, total: usize, note: &'r str) -> Self {
        let total = total as u64;
        progress.expect(total);
        Self { progress, note, total, done: AtomicU64::new(0) }
    }

    /// Some more steps are done.
    pub fn add(&self, steps: usize) {
        let before = self.done.fetch_add(steps as u64, Ordering::Relaxed);
        let now = before + steps as u64;
        let reports = |done: u64| (u128::from(done) * u128::from(REPORTS)).checked_div(u128::from(self.total));
        if reports(now) > reports(before) {
            self.progress.update(now, self.note);
        }
    }
}

/// How far a quantity has fallen from `from` to `to`, in logarithms, when it is `now`: a share, for [`Run::share`](crate::Run::share).
pub fn fallen(from: f64, to: f64, now: f64) -> f64 {
    ((from / now).ln() / (from / to).ln()).clamp(0.0, 1.0)
}

/// Says that a share of the current phase, between 0 and 1, is done.
pub(crate) fn say_share(progress: &dyn Progress, share: f64, note: &str) {
    progress.expect(SHARES);
    progress.update((share.clamp(0.0, 1.0) * SHARES as f64).round() as u64, note);
}

/// Passes the progress of a part on as that of the whole.
pub(crate) struct Part {
    whole: Arc<dyn Progress>,
    name: String,
    state: Mutex<PartState>,
}

struct PartState {
    /// Where the current phase of the part begins and ends in the whole, and where the part ends.
    phase: Range<f64>,
    end: f64,
    /// Steps of that phase, 0 if unknown.
    total: u64,
    /// The place in the whole that is reached.
    reached: f64,
}

impl PartState {
    fn new(range: Range<f64>) -> Self {
        Self { reached: range.start, end: range.end, phase: range, total: 0 }
    }
}

impl Part {
    /// The part of `whole` within `range`, whose notes are preceded by `name`.
    pub fn new(whole: Arc<dyn Progress>, range: Range<f64>, name: &str) -> Self {
        Self { whole, name: name.into(), state: Mutex::new(PartState::new(range)) }
    }
}

impl Progress for Part {
    fn start(&self, _: &str, total: u64) {
        let mut state = lock(&self.state);
        state.phase = state.reached..0.5 * (state.reached + state.end);
        state.total = total;
    }

    fn expect(&self, total: u64) {
        lock(&self.state).total = total;
    }

    fn update(&self, done: u64, note: &str) {
        let place = {
            let mut state = lock(&self.state);
            let share = if state.total > 0 { (done as f64 / state.total as f64).min(1.0) } else { 0.0 };
            let place = state.phase.start + share * (state.phase.end - state.phase.start);
            state.reached = state.reached.max(place);
            state.reached
        };
        let note = match (self.name.as_str(), note) {
            ("", note) => note.into(),
            (name, "") => name.into(),
            (name, note) => format!("{name}, {note}"),
        };
        say_share(&*self.whole, place, &note);
    }

    /// A phase that is over has done all of its steps; what follows until the next one belongs to none.
    fn finish(&self) {
        let mut state = lock(&self.state);
        state.reached = state.phase.end;
        state.phase = state.reached..state.end;
        state.total = 0;
    }
}

/// Keeps the steps of a phase in order, although threads report them in any order and iterations may go back.
pub(crate) struct Ordered {
    receiver: Arc<dyn Progress>,
    /// Held while the receiver is told, so that it is told in order.
    steps: Mutex<Steps>,
}

#[derive(Default)]
struct Steps {
    done: u64,
    total: u64,
}

impl Ordered {
    pub fn new(receiver: Arc<dyn Progress>) -> Self {
        Self { receiver, steps: Mutex::default() }
    }
}

impl Progress for Ordered {
    fn start(&self, phase: &str, total: u64) {
        let mut steps = lock(&self.steps);
        *steps = Steps { done: 0, total };
        self.receiver.start(phase, total);
    }

    fn expect(&self, total: u64) {
        let mut steps = lock(&self.steps);
        if steps.total != total {
            *steps = Steps { done: 0, total };
            self.receiver.expect(total);
        }
    }

    fn update(&self, done: u64, note: &str) {
        let mut steps = lock(&self.steps);
        let most = if steps.total > 0 { steps.total } else { u64::MAX };
        steps.done = steps.done.max(done.min(most));
        self.receiver.update(steps.done, note);
    }

    fn finish(&self) {
        let _steps = lock(&self.steps);
        self.receiver.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;

    /// Done, total and note.
    type Update = (u64, u64, String);

    /// Keeps the total, and each update.
    #[derive(Default)]
    struct Kept(Mutex<(u64, Vec<Update>)>);

    impl Progress for Kept {
        fn start(&self, _: &str, total: u64) {
            self.expect(total);
        }

        fn expect(&self, total: u64) {
            self.0.lock().unwrap().0 = total;
        }

        fn update(&self, done: u64, note: &str) {
            let mut kept = self.0.lock().unwrap();
            let total = kept.0;
            kept.1.push((done, total, note.into()));
        }

        fn finish(&self) {}
    }

    fn told(work: impl FnOnce(&Run)) -> Vec<Update> {
        let kept = Arc::new(Kept::default());
        let run = Run::new(Some(1), 0).unwrap().with_progress(kept.clone());
        work(&run);
        let kept = kept.0.lock().unwrap();
        kept.1.clone()
    }

    #[test]
    fn steps_neither_fall_nor_exceed_their_total() {
        let told = told(|run| {
            run.progress().start("read", 10);
            [3, 2, 12].into_iter().for_each(|done| run.progress().update(done, ""));
        });
        assert_eq!(told.iter().map(|(done, ..)| *done).collect::<Vec<_>>(), [3, 3, 10]);
    }

    #[test]
    fn logarithms_tell_how_far_residuals_have_fallen() {
        assert_eq!(fallen(1.0, 1e-6, 1e-3), 0.5);
        assert_eq!((fallen(1.0, 1e-6, 3.0), fallen(1.0, 1e-6, 0.0)), (0.0, 1.0));
    }

    #[test]
    fn a_counter_reports_now_and_then() {
        let told = told(|run| {
            let counter = run.counter(100_000, "rows");
            (0..100_000).for_each(|_| counter.add(1));
        });
        assert_eq!((told.len() as u64, told.last().unwrap().0), (REPORTS, 100_000));
    }

    #[test]
    fn phases_of_a_part_take_half_of_what_is_left() {
        let told = told(|run| {
            let part = run.part(0.0..1.0, "");
            for name in ["graph", "solve"] {
                part.progress().start(name, 2);
                part.progress().update(1, name);
                part.progress().finish();
            }
        });
        assert_eq!(told.iter().map(|(done, ..)| *done).collect::<Vec<_>>(), [0, 250, 625]);
    }

    #[test]
    fn parts_move_the_whole() {
        let told = told(|run| {
            run.progress().start("select", 0);
            let second = run.part_of(1, 2, "plain");
            second.progress().expect(4);
            second.progress().update(2, "residual");
            second.part(0.8..1.0, "").share(0.5, "end");
        });
        let expected = [(500, "plain"), (750, "plain, residual"), (900, "plain"), (950, "plain, end")];
        assert_eq!(told, expected.map(|(done, note)| (done, 1000, note.to_string())));
    }
}
