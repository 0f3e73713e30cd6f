//! Run control: threads, random streams, progress and cancellation of long computations.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::progress::{Counter, Ordered, Part, Progress, Silent, say_share};
use crate::{Error, Result, mapped};

/// A flag that cancels a run; clones share it.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Cancels the run, which stops at its next check, well within a second.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the run is canceled.
    pub fn is_canceled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Purposes of random streams; no two parts of a run share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Stream {
    /// Sampling rows to measure recall.
    Recall = 1,
    /// Leaders of the overlapping partitions.
    Leaders = 2,
    /// Random projections.
    Projection = 3,
    /// The choice of labels to hide; folds of a cross-validation.
    Split = 4,
    /// Start vectors of eigenvector iterations.
    Start = 5,
    /// Synthetic data.
    Synthetic = 6,
    /// The choice of edges that a sparsifier keeps.
    Sampling = 7,
    /// Nodes of a random sample.
    Nodes = 8,
    /// Landmarks, and the rows among which they are chosen.
    Landmarks = 9,
    /// Probe columns that bound the least eigenvalue of a preconditioned system.
    Probes = 10,
    /// Labels that are left out one by one.
    LeftOut = 11,
    /// Columns and thresholds of a decision tree.
    Trees = 12,
    /// Seeds of the cells by which rows are suggested.
    Cells = 13,
    /// Rows that are suggested at random.
    Suggested = 14,
}

/// Threads, seed, progress and cancellation of one run.
///
/// The worker threads belong to the `Run` and live as long as it does; nothing touches a global pool, so a
/// process may fork before or after. Results never depend on the number of threads.
#[derive(Clone)]
pub struct Run {
    pool: Arc<ThreadPool>,
    /// Seed of every random choice in the run.
    pub seed: u64,
    progress: Arc<dyn Progress>,
    cancel: CancelToken,
    /// How often something was lost in mapped files when the run began.
    losses: usize,
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("threads", &self.threads()).field("seed", &self.seed).finish_non_exhaustive()
    }
}

impl Run {
    /// A silent run with `threads` workers; `None` means one for every processor this process may use.
    ///
    /// # Errors
    /// [`Error::Param`] for zero threads or more than 4096, or if the system refuses to start them.
    pub fn new(threads: Option<usize>, seed: u64) -> Result<Self> {
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.unwrap_or_else(available);
        if !(1..=4096).contains(&threads) {
            return Err(Error::param("threads", threads, "between 1 and 4096"));
        }
        let pool =
            ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("lapwing-{i}")).build().map_err(
                |e| Error::param("threads", threads, format!("fewer, or more memory: they cannot be started ({e})")),
            )?;
        Ok(Self {
            pool: Arc::new(pool),
            seed,
            progress: Arc::new(Silent),
            cancel: CancelToken::default(),
            losses: mapped::n_losses(),
        })
    }

    /// The same run, which reports to `progress`.
    #[must_use]
    pub fn with_progress(self, progress: Arc<dyn Progress>) -> Self {
        self.with_receiver(Arc::new(Ordered::new(progress)))
    }

    /// The same run, which `cancel` cancels.
    #[must_use]
    pub fn with_cancel(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// The same run without progress: for steps of a computation that reports its own.
    #[must_use]
    pub fn quiet(&self) -> Self {
        self.with_receiver(Arc::new(Silent))
    }

    /// The same run with another seed.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        Self { seed, ..self.clone() }
    }

    /// Number of worker threads.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Runs `work` with this run's threads as rayon's current pool.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let (mut work, mut out) = (Some(work), None);
        self.call(&mut || out = work.take().map(|work| work()));
        let Some(out) = out else { unreachable!("the pool has run the work or passed its panic on") };
        out
    }

    /// Through a reference, so that rayon's entry to a pool is compiled once and not for each of hundreds of closures.
    fn call(&self, work: &mut (dyn FnMut() + Send)) {
        self.pool.install(work);
    }

    fn with_receiver(&self, progress: Arc<dyn Progress>) -> Self {
        Self { progress, ..self.clone() }
    }

    /// The receiver of progress.
    pub fn progress(&self) -> &dyn Progress {
        &*self.progress
    }

    /// Says that a share of the current phase, between 0 and 1, is done: for phases whose number of steps is unknown.
    pub fn share(&self, share: f64, note: &str) {
        say_share(self.progress(), share, note);
    }

    /// The same run for a part of the current phase: the part from `range.start` to `range.end`, where the phase is from 0 to 1. What the
    /// part counts moves the phase within that range. If it has phases of its own, each is taken for half of what is left. Notes are preceded
    /// by `name`, unless that is empty.
    #[must_use]
    pub fn part(&self, range: Range<f64>, name: &str) -> Self {
        self.share(range.start, name);
        self.with_receiver(Arc::new(Part::new(self.progress.clone(), range, name)))
    }

    /// The part `at` of `count` equal parts of the current phase; see [`part`](Self::part).
    #[must_use]
    pub fn part_of(&self, at: usize, count: usize, name: &str) -> Self {
        let end = |at: usize| at as f64 / count.max(1) as f64;
        self.part(end(at)..end(at + 1), name)
    }

    /// A counter of the `total` steps of the current phase, which threads do side by side.
    pub fn counter<'r>(&'r self, total: usize, note: &'r str) -> Counter<'r> {
        Counter::new(self.progress(), total, note)
    }

    /// Whether the run is canceled; for inner loops that cannot return an error.
    pub fn is_canceled(&self) -> bool {
        self.cancel.is_canceled()
    }

    /// Returns an error if the run is canceled, or a mapped file was cut short while it was read; called at least every few tens of
    /// milliseconds.
    ///
    /// # Errors
    /// [`Error::Interrupted`]; [`Error::Io`] naming the file.
    pub fn check(&self) -> Result<()> {
        if self.is_canceled() { Err(Error::Interrupted) } else { self.check_files() }
    }

    /// Returns an error if a mapped file was cut short, by whatever run it was read, since this one began.
    ///
    /// # Errors
    /// [`Error::Io`] naming the file.
    #[doc(hidden)]
    pub fn check_files(&self) -> Result<()> {
        mapped::check_since(self.losses)
    }

    /// The random stream of (seed, purpose, block): the same for any number of threads.
    #[doc(hidden)]
    pub fn rng(&self, purpose: Stream, block: u64) -> ChaCha8Rng {
        let mut seed = [0u8; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        seed[8..16].copy_from_slice(&(purpose as u64).to_le_bytes());
        seed[16..24].copy_from_slice(&block.to_le_bytes());
        ChaCha8Rng::from_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;

    #[test]
    fn streams_differ_by_purpose_block_and_seed_only() {
        let run = Run::new(Some(1), 7).unwrap();
        let draw = |run: &Run, purpose, block| run.rng(purpose, block).random::<u64>();
        let first = draw(&run, Stream::Recall, 0);
        assert_eq!(first, draw(&Run::new(Some(2), 7).unwrap(), Stream::Recall, 0));
        assert_ne!(first, draw(&run, Stream::Leaders, 0));
        assert_ne!(first, draw(&run, Stream::Recall, 1));
        assert_ne!(first, draw(&run.with_seed(8), Stream::Recall, 0));
    }

    #[test]
    fn cancelling_a_clone_stops_the_run() {
        let cancel = CancelToken::default();
        let run = Run::new(Some(1), 0).unwrap().with_cancel(cancel.clone());
        assert!(run.check().is_ok());
        cancel.cancel();
        assert!(matches!(run.check(), Err(Error::Interrupted)));
    }
}
