//! From a source of edges to a sparsifier: a thread reads ahead while edges are thinned.
//!
//! Cost: up to six portions of 1 MiB wait between the two. The order of the edges is that of the source.

use std::sync::mpsc::sync_channel;

use lapwing_data::{Edge, EdgeSource, Result, Run};

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
    /// # Errors
    /// As [`Sparsifier::add`]; what the source meets, and [`Checkpoint::keep`].
    pub fn read(&mut self, source: &dyn EdgeSource, mut checkpoint: Option<&mut Checkpoint>, run: &Run) -> Result<()> {
        let seen = self.n_rows();
        // The systems that are solved have no say in how far the reading has come.
        let quiet = run.quiet();
        let (step, mut next) = (source.n_edges().map_or(WORD_ROWS, |total| total / WORDS), 0);
        for_each_portion(source, seen, run, |edges| {
            self.add(edges, &quiet)?;
            if self.n_rows() >= next {
                next = self.n_rows() + step;
                let note = format!("rows, {} edges kept, {} rounds", self.n_held(), self.n_rounds());
                run.progress().update(self.n_rows(), &note);
            }
            match &mut checkpoint {
                Some(checkpoint) if self.n_rounds() > 0 => checkpoint.keep(self),
                _ => Ok(()),
            }
        })
    }
}

/// Hands over the edges of a source from row `first` on, read ahead by a thread of its own.
///
/// # Errors
/// What the source and `take` meet.
pub fn for_each_portion(
    source: &dyn EdgeSource,
    first: u64,
    run: &Run,
    mut take: impl FnMut(&[Edge]) -> Result<()>,
) -> Result<()> {
    let (sender, receiver) = sync_channel::<Result<Vec<Edge>>>(WAITING);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let read = || -> Result<()> {
                let mut reader = source.open(run)?;
                reader.skip(first, run)?;
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
