//! Long calls: the work runs on a thread of its own. The calling thread holds the interpreter lock only between slices, in which
//! it checks for Ctrl-C and reports progress.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use lapwing::data::{CancelToken, Error, Progress, Result, Run};
use lapwing_core::lock;
use pyo3::prelude::*;

use crate::arrays::py_dict;
use crate::error::to_py;

/// Longest sleep of the calling thread between two checks for signals and progress.
const SLICE: Duration = Duration::from_millis(50);

/// Threads, seed and progress callback of a call.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Control {
    threads: Option<usize>,
    seed: u64,
    callback: Option<Py<PyAny>>,
}

/// Messages from the working threads to the waiting one.
enum Event {
    Start { phase: String, total: u64 },
    Expect { total: u64 },
    Update { done: u64, note: String },
    Finish,
    Over,
}

/// Sends progress to the waiting thread.
struct Channel(Mutex<Sender<Event>>);

/// Sends the message that the work has ended, also when it panics.
struct OverGuard(Sender<Event>);

/// Phase and progress of a run, from the messages so far.
#[derive(Default)]
struct State {
    phase: String,
    done: u64,
    total: u64,
    note: String,
    is_over: bool,
}

impl Control {
    /// Runs `work` with the interpreter lock released. A signal handler or callback that raises stops the work first.
    pub fn run<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&Run) -> Result<T> + Send) -> PyResult<T> {
        let cancel = CancelToken::default();
        let (sender, events) = channel();
        let mut run = Run::new(self.threads, self.seed).map_err(to_py)?.with_cancel(cancel.clone());
        if self.callback.is_some() {
            run = run.with_progress(Arc::new(Channel(Mutex::new(sender.clone()))));
        }
        let events = Mutex::new(events);
        thread::scope(|scope| {
            let worker = scope.spawn(move || {
                let _over = OverGuard(sender);
                let result = work(&run);
                // Whatever was made of a file of which a part was gone is wrong, also an error about its values.
                run.check_files().and(result)
            });
            let heard = self.listen(py, &events);
            if heard.is_err() {
                cancel.cancel();
            }
            let result = py.detach(|| worker.join());
            heard?;
            result.unwrap_or_else(|panic| Err(Error::Internal { reason: panic_text(&*panic) })).map_err(to_py)
        })
    }

    /// Waits until the work has ended, and checks for signals after every slice.
    fn listen(&self, py: Python<'_>, events: &Mutex<Receiver<Event>>) -> PyResult<()> {
        let mut state = State::default();
        loop {
            let batch = py.detach(|| next_batch(&lock(events)));
            py.check_signals()?;
            let Some(batch) = batch else { return Ok(()) };
            let last = batch.len().saturating_sub(1);
            for (at, event) in batch.into_iter().enumerate() {
                let is_update = matches!(event, Event::Update { .. });
                if matches!(event, Event::Over) {
                    return Ok(());
                }
                state.take(event);
                // Of several updates in one slice only the last is reported.
                if !is_update || at == last {
                    self.tell(py, &state)?;
                }
            }
        }
    }

    fn tell(&self, py: Python<'_>, state: &State) -> PyResult<()> {
        let Some(callback) = &self.callback else { return Ok(()) };
        let State { phase, done, total, note, is_over } = state;
        let event = py_dict!(py, "phase": phase, "done": done, "total": total, "note": note, "finished": is_over);
        callback.call1(py, (event,)).map(drop)
    }
}

/// Events of one slice, at least one unless the time is up; `None` if all senders are gone.
fn next_batch(events: &Receiver<Event>) -> Option<Vec<Event>> {
    match events.recv_timeout(SLICE) {
        Ok(first) => Some(std::iter::once(first).chain(events.try_iter()).collect()),
        Err(RecvTimeoutError::Timeout) => Some(Vec::new()),
        Err(RecvTimeoutError::Disconnected) => None,
    }
}

impl State {
    fn take(&mut self, event: Event) {
        match event {
            Event::Start { phase, total } => *self = Self { phase, total, ..Self::default() },
            // Counting begins anew.
            Event::Expect { total } => (self.done, self.total) = (0, total),
            Event::Update { done, note } => (self.done, self.note) = (done, note),
            // A finished phase has done all of its steps; an unknown number of steps becomes known here.
            Event::Finish => {
                self.done = self.total.max(self.done).max(1);
                self.total = self.done;
                self.is_over = true;
            }
            Event::Over => {}
        }
    }
}

impl Channel {
    /// If the waiting thread is gone, the message is dropped.
    fn send(&self, event: Event) {
        let _ = lock(&self.0).send(event);
    }
}

impl Progress for Channel {
    fn start(&self, phase: &str, total: u64) {
        self.send(Event::Start { phase: phase.into(), total });
    }

    fn expect(&self, total: u64) {
        self.send(Event::Expect { total });
    }

    fn update(&self, done: u64, note: &str) {
        self.send(Event::Update { done, note: note.into() });
    }

    fn finish(&self) {
        self.send(Event::Finish);
    }
}

impl Drop for OverGuard {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Over);
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a thread panicked".into())
}
