//! The time budget of a choice among methods.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use lapwing_core::{CancelToken, Error, Result, Run};

/// How often a run is checked against the budget.
const EVERY: Duration = Duration::from_millis(20);

/// The time since the start, and the budget in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    start: Instant,
    pub budget: Option<f64>,
}

impl Clock {
    pub fn new(budget: Option<f64>) -> Self {
        Self { start: Instant::now(), budget }
    }

    /// Whether a run of so many seconds would end within the budget.
    pub fn allows(&self, seconds: f64) -> bool {
        self.budget.is_none_or(|budget| self.start.elapsed().as_secs_f64() + seconds < budget)
    }

    /// Does work that is canceled when the budget is spent; then the result is `None`.
    pub fn limited<T>(&self, run: &Run, work: impl FnOnce(&Run) -> Result<T>) -> Result<Option<T>> {
        if self.budget.is_none() {
            return work(run).map(Some);
        }
        let token = CancelToken::default();
        let limited = run.clone().with_cancel(token.clone());
        thread::scope(|scope| {
            let (done, is_done) = mpsc::channel::<()>();
            let watch = move || {
                while let Err(RecvTimeoutError::Timeout) = is_done.recv_timeout(EVERY) {
                    if run.is_canceled() || !self.allows(0.0) {
                        return token.cancel();
                    }
                }
            };
            let watcher = thread::Builder::new().name("lapwing-clock".into()).spawn_scoped(scope, watch);
            watcher.map_err(|e| Error::Internal { reason: format!("cannot start the clock of a budget: {e}") })?;
            let out = work(&limited);
            drop(done);
            match out {
                Err(Error::Interrupted) if !run.is_canceled() => Ok(None),
                out => out.map(Some),
            }
        })
    }
}
