//! From a source of edges to a sparsifier: a thread reads ahead while edges are thinned.
//!
//! Cost: up to six portions of 1 MiB wait between the two. The order of the edges is that of the source.

use std::path::Path;
use std::sync::mpsc::sync_channel;

use lapwing_data::{Edge, EdgeSource, Error, Result, Run};

use super::digest;
use super::stream::Counts;
use super::{Checkpoint, Sparsifier, SparsifyParams, SparsifyReport};
use crate::Graph;

/// Edges read at a time, and portions that may wait.
const PORTION: usize = 1 << 16;
const WAITING: usize = 4;
/// Bytes of portions: those that wait, one that is filled and one that is taken.
pub(super) const AHEAD_BYTES: usize = (WAITING + 2) * PORTION * size_of::<Edge>();
/// Words on the progress of a source of known length, about.
const WORDS: u64 = 256;
/// Rows from one word to the next where the length is unknown.
const WORD_ROWS: u64 = 1 << 20;

/// Sparsifies all edges of a source: see the [module](super) for what comes out.
///
/// # Errors
/// Those of [`Sparsifier`], and what the source meets.
///
/// # Complexity
/// That of the [module](super). One thread more reads ahead.
pub fn sparsify(source: &dyn EdgeSource, params: SparsifyParams, run: &Run) -> Result<(Graph, SparsifyReport)> {
    let mut sparsifier = Sparsifier::new(source.n_nodes(), params, run)?;
    sparsifier.read(source, None, run)?;
    sparsifier.finish(run)
}

impl Sparsifier {
    /// Takes the edges of a source, from the first that it has not seen yet; `checkpoint` is kept from the first round on.
    /// Tells the progress of `run` how many rows it has read, some hundred times.
    ///
    /// Those that it has seen are read again and held against what they were: the result is that of the source as it is now.
    /// Rows that follow may have changed meanwhile.
    ///
    /// # Errors
    /// [`Error::Format`] or [`Error::Graph`] for a source that does not begin with the rows it has seen; as
    /// [`Sparsifier::add`]; what the source meets, and [`Checkpoint::keep`].
    pub fn read(&mut self, source: &dyn EdgeSource, mut checkpoint: Option<&mut Checkpoint>, run: &Run) -> Result<()> {
        // The systems that are solved have no say in how far the reading has come.
        let quiet = run.quiet();
        let (step, mut next) = (source.n_edges().map_or(WORD_ROWS, |total| total / WORDS), 0);
        let mut seen = Seen { rows: 0, digest: 0 };
        let kept_in = checkpoint.as_ref().map(|checkpoint| checkpoint.path().to_owned());
        let changed = |sparsifier: &Self| changed(source, kept_in.as_deref(), sparsifier.n_rows());
        for_each_portion(source, run, |edges| {
            let new = seen.pass(edges, &self.counts).ok_or_else(|| changed(self))?;
            self.add(new, &quiet)?;
            let is_behind = new.is_empty();
            if seen.rows >= next {
                next = seen.rows + step;
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
        // A source that ends before is another one.
        if seen.rows < self.n_rows() { Err(changed(self)) } else { Ok(()) }
    }
}

/// The rows of a source that have been read again.
struct Seen {
    rows: u64,
    digest: u64,
}

impl Seen {
    /// Passes the next rows; those of them that are new to a sparsifier that has taken `taken`, and `None` where the rows
    /// before these were others.
    fn pass<'e>(&mut self, edges: &'e [Edge], taken: &Counts) -> Option<&'e [Edge]> {
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

/// Hands over the edges of a source, read ahead by a thread of its own.
///
/// # Errors
/// What the source and `take` meet.
pub fn for_each_portion(source: &dyn EdgeSource, run: &Run, mut take: impl FnMut(&[Edge]) -> Result<()>) -> Result<()> {
    let (sender, receiver) = sync_channel::<Result<Vec<Edge>>>(WAITING);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let read = || -> Result<()> {
                let mut reader = source.open(run)?;
                loop {
                    let mut portion = Vec::with_capacity(PORTION);
                    reader.read(PORTION, &mut portion, run)?;
                    // The end, or nobody listens any more.
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
