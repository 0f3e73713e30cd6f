//! Progress on standard error: a bar on a terminal, JSON lines for programs, or one line per phase.

use std::io::Write;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use lapwing::data::Progress;
use serde_json::json;

use crate::text::count;

/// Progress on standard error, in any of three forms.
pub struct Console {
    /// A bar, or a spinner if the number of steps is unknown; removed at the end of its phase.
    bar: bool,
    /// One JSON object a line: `start`, `update`, `finish`.
    json: bool,
    /// The name and the seconds of each phase at its end.
    lines: bool,
    phase: Mutex<Option<Phase>>,
}

/// The phase that is running.
struct Phase {
    name: String,
    total: u64,
    start: Instant,
    bar: Option<ProgressBar>,
}

impl Console {
    /// Progress in the chosen forms.
    pub fn new(bar: bool, json: bool, lines: bool) -> Self {
        Self { bar, json, lines, phase: Mutex::new(None) }
    }

    fn phase(&self) -> MutexGuard<'_, Option<Phase>> {
        self.phase.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Progress for Console {
    fn start(&self, phase: &str, total: u64) {
        if self.phase().as_ref().is_some_and(|running| running.name == phase) {
            // A phase that is started again has learned its number of steps.
            return self.expect(total);
        }
        let before = self.phase().take();
        before.iter().for_each(|before| self.end(before));
        let bar = self.bar.then(|| bar(phase, total));
        *self.phase() = Some(Phase { name: phase.into(), total, start: Instant::now(), bar });
        if self.json {
            say(&json!({"event": "start", "phase": phase, "total": total}).to_string());
        }
    }

    fn expect(&self, steps: u64) {
        let mut phase = self.phase();
        let Some(Phase { total, bar, .. }) = &mut *phase else { return };
        *total = steps;
        if let Some(bar) = bar {
            show_steps(bar, steps);
        }
    }

    fn update(&self, done: u64, note: &str) {
        let phase = self.phase();
        let Some(Phase { name, total, bar, .. }) = &*phase else { return };
        if let Some(bar) = bar {
            bar.set_position(done);
            // A spinner shows the number of steps so far, as it has no length.
            bar.set_message(if *total > 0 { note.to_owned() } else { format!("{} {note}", count(done as usize)) });
        }
        if self.json {
            say(&json!({"event": "update", "phase": name, "done": done, "total": total, "note": note}).to_string());
        }
    }

    fn finish(&self) {
        let ended = self.phase().take();
        ended.iter().for_each(|phase| self.end(phase));
    }
}

impl Console {
    /// Says that a phase has ended.
    fn end(&self, Phase { name, start, bar, .. }: &Phase) {
        let seconds = start.elapsed().as_secs_f64();
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        if self.lines {
            say(&format!("{name}: {seconds:.2} s"));
        }
        if self.json {
            say(&json!({"event": "finish", "phase": name, "seconds": seconds}).to_string());
        }
    }
}

fn bar(phase: &str, total: u64) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    show_steps(&bar, total);
    bar.set_prefix(phase.to_owned());
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

/// Gives a bar its number of steps; it is a spinner if that is 0.
fn show_steps(bar: &ProgressBar, total: u64) {
    let template = match total {
        0 => "{spinner} {prefix:12} {elapsed:>4} {msg}",
        _ => "{spinner} {prefix:12} {elapsed:>4} [{bar:30}] {percent:>3} %{left}  {msg}",
    };
    if total > 0 {
        bar.set_length(total);
    }
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> ").with_key("left", time_left));
    }
}

/// Writes the time to go, once it can be estimated.
fn time_left(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    let share = f64::from(state.fraction());
    if share > 0.02 && share < 1.0 {
        let left = state.elapsed().mul_f64((1.0 - share) / share);
        let _ = write!(out, ", {:#} left", HumanDuration(left));
    }
}

/// Prints a line on standard error. Unlike `eprintln!`, it does not panic when the reader has closed the stream.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
