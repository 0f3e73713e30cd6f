//! Progress on standard error: a bar on a terminal, JSON lines for programs, or one line per phase.

use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use lapwing::data::Progress;
use serde_json::json;

use crate::text::count;

/// A bar, or a spinner where the number of steps is unknown; gone when its phase is over.
#[derive(Default)]
pub struct Bar(Mutex<Option<ProgressBar>>);

/// One JSON object a line: `start`, `update`, `finish`.
#[derive(Default)]
pub struct JsonLines(Mutex<Current>);

/// The name and the seconds of each phase when it is over.
#[derive(Default)]
pub struct PhaseLines(Mutex<Current>);

/// Two listeners at once.
pub struct Both<A, B>(pub A, pub B);

#[derive(Default)]
struct Current {
    phase: String,
    total: u64,
    since: Option<Instant>,
}

impl Current {
    fn begin(&mut self, phase: &str, total: u64) {
        *self = Self { phase: phase.into(), total, since: Some(Instant::now()) };
    }

    /// Name and seconds of the phase that ends; nothing if none was running.
    fn end(&mut self) -> Option<(String, f64)> {
        let since = self.since.take()?;
        Some((std::mem::take(&mut self.phase), since.elapsed().as_secs_f64()))
    }
}

impl Progress for Bar {
    fn start(&self, phase: &str, total: u64) {
        let bar = if total == 0 { ProgressBar::new_spinner() } else { ProgressBar::new(total) };
        let template = if total == 0 {
            "{spinner} {prefix:12} {elapsed:>4} {msg}"
        } else {
            "{spinner} {prefix:12} {elapsed:>4} [{bar:30}] {percent:>3} % {msg}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(phase.to_owned());
        bar.enable_steady_tick(Duration::from_millis(120));
        if let Some(before) = self.0.lock().expect("no holder of this lock panics").replace(bar) {
            before.finish_and_clear();
        }
    }

    fn update(&self, done: u64, note: &str) {
        if let Some(bar) = &*self.0.lock().expect("no holder of this lock panics") {
            bar.set_position(done);
            // Without a known end there is no bar to show how far it is.
            let is_bar = bar.length().is_some();
            bar.set_message(if is_bar { note.to_owned() } else { format!("{} {note}", count(done as usize)) });
        }
    }

    fn finish(&self) {
        if let Some(bar) = self.0.lock().expect("no holder of this lock panics").take() {
            bar.finish_and_clear();
        }
    }
}

impl Progress for JsonLines {
    fn start(&self, phase: &str, total: u64) {
        self.0.lock().expect("no holder of this lock panics").begin(phase, total);
        say(&json!({"event": "start", "phase": phase, "total": total}).to_string());
    }

    fn update(&self, done: u64, note: &str) {
        let current = self.0.lock().expect("no holder of this lock panics");
        let (phase, total) = (&current.phase, current.total);
        say(&json!({"event": "update", "phase": phase, "done": done, "total": total, "note": note}).to_string());
    }

    fn finish(&self) {
        if let Some((phase, seconds)) = self.0.lock().expect("no holder of this lock panics").end() {
            say(&json!({"event": "finish", "phase": phase, "seconds": seconds}).to_string());
        }
    }
}

impl Progress for PhaseLines {
    fn start(&self, phase: &str, total: u64) {
        self.0.lock().expect("no holder of this lock panics").begin(phase, total);
    }

    fn update(&self, _: u64, _: &str) {}

    fn finish(&self) {
        if let Some((phase, seconds)) = self.0.lock().expect("no holder of this lock panics").end() {
            say(&format!("{phase}: {seconds:.2} s"));
        }
    }
}

impl<A: Progress, B: Progress> Progress for Both<A, B> {
    fn start(&self, phase: &str, total: u64) {
        self.0.start(phase, total);
        self.1.start(phase, total);
    }

    fn update(&self, done: u64, note: &str) {
        self.0.update(done, note);
        self.1.update(done, note);
    }

    fn finish(&self) {
        self.0.finish();
        self.1.finish();
    }
}

/// A line on standard error. A reader that is gone must not end the work, as `eprintln!` would.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
