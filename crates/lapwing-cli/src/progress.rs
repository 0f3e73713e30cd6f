//! Progress on standard error: a bar on a terminal, JSON lines for programs, or one line per phase.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use lapwing::data::Progress;
use lapwing_core::lock;
use serde_json::json;

use crate::stderr::say;
use crate::text::{count, plain, plain_json};

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
    pace: Arc<Mutex<Pace>>,
}

/// From when on, and from which share on, the time that is left is estimated.
struct Pace {
    since: Instant,
    share: f64,
}

/// What is done before that, after the start of a phase, is taken for known: a solve may begin near its end.
const SETTLED: Duration = Duration::from_millis(200);
/// Least share that is done before the time that is left is estimated.
const LEAST_SHARE: f64 = 0.02;

impl Pace {
    fn new() -> Self {
        Self { since: Instant::now(), share: 0.0 }
    }

    fn see(&mut self, share: f64) {
        if self.since.elapsed() < SETTLED {
            self.share = share;
        }
    }

    /// The time that is left, once it can be estimated.
    fn left(&self, share: f64) -> Option<Duration> {
        let done = share - self.share;
        (done > LEAST_SHARE * (1.0 - self.share) && share < 1.0)
            .then(|| self.since.elapsed().mul_f64((1.0 - share) / done))
    }
}

impl Console {
    /// Progress in the chosen forms.
    pub fn new(bar: bool, json: bool, lines: bool) -> Self {
        Self { bar, json, lines, phase: Mutex::new(None) }
    }
}

impl Progress for Console {
    fn start(&self, phase: &str, total: u64) {
        if lock(&self.phase).as_ref().is_some_and(|running| running.name == phase) {
            // A phase that is started again has learned its number of steps.
            return self.expect(total);
        }
        let before = lock(&self.phase).take();
        before.iter().for_each(|before| self.end(before));
        let pace = Arc::new(Mutex::new(Pace::new()));
        let bar = self.bar.then(|| bar(phase, total, &pace));
        *lock(&self.phase) = Some(Phase { name: phase.into(), total, start: Instant::now(), bar, pace });
        if self.json {
            say(&json!({"event": "start", "phase": phase, "total": total}).to_string());
        }
    }

    fn expect(&self, steps: u64) {
        let mut phase = lock(&self.phase);
        let Some(Phase { total, bar, pace, .. }) = &mut *phase else { return };
        *total = steps;
        if let Some(bar) = bar {
            *lock(pace) = Pace::new();
            bar.set_position(0);
            show_steps(bar, steps, pace);
        }
    }

    fn update(&self, done: u64, note: &str) {
        let phase = lock(&self.phase);
        let Some(Phase { name, total, bar, pace, start }) = &*phase else { return };
        if let Some(bar) = bar {
            let taken = start.elapsed();
            let rate = (note == "rows" && taken > SETTLED).then(|| (done as f64 / taken.as_secs_f64()) as usize);
            let shown = rate.map(|rate| format!("rows, {} a second", count(rate)));
            if *total > 0 {
                lock(pace).see(done as f64 / *total as f64);
            }
            bar.set_position(done);
            // A spinner shows the number of steps so far, as it has no length.
            let note = plain(shown.as_deref().unwrap_or(note));
            bar.set_message(if *total > 0 { note.into_owned() } else { format!("{} {note}", count(done as usize)) });
        }
        if self.json {
            let event = json!({"event": "update", "phase": name, "done": done, "total": total, "note": note});
            say(&plain_json(&event.to_string()));
        }
    }

    fn finish(&self) {
        let ended = lock(&self.phase).take();
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

fn bar(phase: &str, total: u64, pace: &Arc<Mutex<Pace>>) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    show_steps(&bar, total, pace);
    bar.set_prefix(phase.to_owned());
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

/// Gives a bar its number of steps; it is a spinner if that is 0.
fn show_steps(bar: &ProgressBar, total: u64, pace: &Arc<Mutex<Pace>>) {
    let template = match total {
        0 => "{spinner} {prefix:12} {elapsed:>4} {msg}",
        _ => "{spinner} {prefix:12} {elapsed:>4} [{bar:30}] {percent:>3} %{left}  {msg}",
    };
    if total > 0 {
        bar.set_length(total);
    }
    if let Ok(style) = ProgressStyle::with_template(template) {
        let pace = pace.clone();
        let time_left = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            if let Some(left) = lock(&pace).left(state.fraction().into()) {
                let _ = write!(out, ", {:#} left", HumanDuration(left));
            }
        };
        bar.set_style(style.progress_chars("=> ").with_key("left", time_left));
    }
}
