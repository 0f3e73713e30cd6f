//! Sparsifying a source of edges: one thread reads ahead while another one thins.
//!
//! Cost: up to six portions of 1 MiB wait between the two threads. Edges keep the order of the source.

use std::path::Path;
use std::sync::mpsc::sync_channel;

use lapwing_core::{Edge, EdgeSource, Error, Result, Run};

use super::sizes::{PORTION, WAITING};
use super::stream::Counts;
use super::{Checkpoint, Sparsifier, SparsifyParams, SparsifyReport, digest};
use crate::Graph;

/// Progress updates over a source of known length, about.
const UPDATES: u64 = 256;
/// Rows between two updates where the length is unknown.
const UPDATE_ROWS: u64 = 1 << 20;

/// Sparsifies all edges of a source, as the [module](super) describes.
///
/// # Errors
/// Those of [`Sparsifier`] and of the source.
///
/// # Complexity
/// That of the [module](super). Another thread reads ahead.
pub fn sparsify(source: &dyn EdgeSource, params: SparsifyParams, run: &Run) -> Result<(Graph, SparsifyReport)> {
    let mut sparsifier = Sparsifier::new(source.n_nodes(), params, run)?;
    sparsifier.read(source, None, run)?;
    sparsifier.finish(run)
}

impl Sparsifier {
    /// Adds the edges of a source that are new, and saves the `checkpoint` from the first round on.
    ///
    /// Rows that were added before are read again and compared by a hash. The rows after them may have changed meanwhile: the
    /// result is that of the source as it is now. The progress of `run` gets the number of rows read, some hundred times.
    ///
    /// # Errors
    /// [`Error::Format`] or [`Error::Graph`] for a source that does not begin with the rows added before; those of
    /// [`Sparsifier::add`], of [`Checkpoint::keep`] and of the source.
    pub fn read(&mut self, source: &dyn EdgeSource, mut checkpoint: Option<&mut Checkpoint>, run: &Run) -> Result<()> {
        // Solvers would report their own progress instead of that of the reading.
        let quiet = run.quiet();
        let (step, mut next_update) = (source.n_edges().map_or(UPDATE_ROWS, |total| total / UPDATES), 0);
        let mut seen = Seen { rows: 0, digest: 0 };
        let kept_in = checkpoint.as_ref().map(|checkpoint| checkpoint.path().to_owned());
        let changed = |sparsifier: &Self| changed(source, kept_in.as_deref(), sparsifier.n_rows());
        for_each_portion(source, run, |edges| {
            let new = seen.new_rows(edges, &self.state.counts).ok_or_else(|| changed(self))?;
            self.add(new, &quiet)?;
            let is_behind = new.is_empty();
            if seen.rows >= next_update {
                next_update = seen.rows + step;
                let note = match is_behind {
                    true => "rows compared with the checkpoint".into(),
                    false => format!("rows, {} edges kept, {} rounds", self.n_held(), self.n_rounds()),
                };
                run.progress().update(seen.rows, &note);
            }
            match &mut checkpoint {
                Some(checkpoint) if !is_behind && self.n_rounds() > 0 => checkpoint.keep(self),
                _ => Ok(()),
            }
        })?;
        // A source that ends earlier than it did is another one.
        if seen.rows < self.n_rows() { Err(changed(self)) } else { Ok(()) }
    }
}

/// The rows of a source that have been read again.
struct Seen {
    rows: u64,
    digest: u64,
}

impl Seen {
    /// Counts the next rows, and returns those that are new to a sparsifier with the counts `taken`; `None` where the rows
    /// added before were others.
    fn new_rows<'e>(&mut self, edges: &'e [Edge], taken: &Counts) -> Option<&'e [Edge]> {
        let behind = taken.rows.saturating_sub(self.rows).min(edges.len() as u64) as usize;
        let (old, new) = edges.split_at(behind);
        self.digest = digest::add(self.digest, self.rows, old);
        self.rows += edges.len() as u64;
        let is_same = old.is_empty() || self.rows < taken.rows || self.digest == taken.digest;
        is_same.then_some(new)
    }
}

fn changed(source: &dyn EdgeSource, checkpoint: Option<&Path>, rows: u64) -> Error {
    let reason = format!("the first {rows} rows are not those that were read before");
    let advice = match checkpoint {
        Some(path) => format!("remove the checkpoint {}, or bring back the edges that it was made of", path.display()),
        None => "go on with the same edges".into(),
    };
    match source.path() {
        Some(path) => Error::format(path, None, format!("{reason}: the file was changed; {advice}")),
        None => Error::graph(format!("{reason}; {advice}")),
    }
}

/// Calls `take` with the edges of a source, portion by portion, while a thread reads ahead.
///
/// # Errors
/// Those of the source and of `take`.
pub fn for_each_portion(source: &dyn EdgeSource, run: &Run, mut take: impl FnMut(&[Edge]) -> Result<()>) -> Result<()> {
    let (sender, receiver) = sync_channel::<Result<Vec<Edge>>>(WAITING);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let read = || -> Result<()> {
                let mut reader = source.open(run)?;
                loop {
                    let mut portion = Vec::with_capacity(PORTION);
                    reader.read(PORTION, &mut portion, run)?;
                    // The source has ended, or the receiver has stopped.
                    if portion.is_empty() || sender.send(Ok(portion)).is_err() {
                        return Ok(());
                    }
                }
            };
            if let Err(error) = read() {
                let _ = sender.send(Err(error));
            }
        });
        receiver.into_iter().try_for_each(|portion| take(&portion?))
    })
}
