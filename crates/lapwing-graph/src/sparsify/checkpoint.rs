//! A sparsifier in the middle of its stream, saved to a file or to bytes, from which another process continues to the same result.
//!
//! The container is that of model files (`lapwing-core/src/model_file.rs`), of the kind `sparsifier`. A file is written under a
//! temporary name and then renamed: if the process is killed, the file holds this checkpoint or the one before.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lapwing_core::model_file::{ModelFile, Must};
use lapwing_core::{Error, Result, Run};
use serde::{Deserialize, Serialize};

use super::edge::SampledEdge;
use super::probes::Probes;
use super::resistance::Embedding;
use super::scores::{RejectionBound, ScoreKind, Scores};
use super::stream::{Counts, Phase, State};
use super::{Sparsifier, SparsifyParams};

const KIND: &str = "sparsifier";

/// Writing checkpoints takes at most one part in so many of the time.
const PART: u32 = 20;

/// Takes the smallest subnormal number to 1.
const MOST_EXPONENT: i32 = 1074;

/// Everything but the arrays, by the names of the format.
#[derive(Serialize, Deserialize)]
struct Meta {
    #[serde(flatten)]
    state: State,
    is_due: bool,
    n_merged: usize,
    /// Kind and total of the scores of the rejection bound, and the unit of its resistances.
    #[serde(rename = "gate")]
    bound: Option<(ScoreKind, f64, f64)>,
}

/// A file in which a sparsifier is saved while it reads.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    path: PathBuf,
    written: Option<(Instant, Duration)>,
}

impl Checkpoint {
    /// A checkpoint at `path`.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), written: None }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The sparsifier in the file; `None` if there is no file. Its edges are compared with those of the source when
    /// [`Sparsifier::read`] reads them again.
    ///
    /// # Errors
    /// [`Error::Format`] for a file that is no checkpoint or damaged, or one of other parameters, nodes or seed;
    /// [`Error::Io`].
    pub fn resume(&self, n_nodes: usize, params: &SparsifyParams, run: &Run) -> Result<Option<Sparsifier>> {
        if !self.path.try_exists().map_err(|e| Error::Io { path: self.path.clone(), source: e })? {
            return Ok(None);
        }
        let file = ModelFile::load(&self.path)?;
        let meta = Meta::from_file(&file)?;
        let differs = if meta.state.n_nodes != n_nodes {
            "another number of nodes"
        } else if meta.state.params != *params {
            "other parameters"
        } else if meta.state.seed != run.seed {
            "another seed"
        } else {
            return meta.restore(&file).map(Some);
        };
        Err(file.error(format!("a checkpoint of {differs}; remove it, or go on with what it was made of")))
    }

    /// Writes the file, unless that would take more than a twentieth of the time since it was last written.
    ///
    /// # Errors
    /// [`Error::Io`]; the earlier file is left as it was.
    pub fn keep(&mut self, sparsifier: &Sparsifier) -> Result<()> {
        if let Some((when, took)) = self.written
            && when.elapsed() < took * PART
        {
            return Ok(());
        }
        let start = Instant::now();
        sparsifier.to_file()?.save(&self.path)?;
        self.written = Some((Instant::now(), start.elapsed()));
        Ok(())
    }

    /// Removes the file, at the end of the stream.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be removed.
    pub fn clear(&self) -> Result<()> {
        Self::remove(&self.path)
    }

    /// Removes the checkpoint at `path` if there is one.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be removed.
    pub fn remove(path: &Path) -> Result<()> {
        match std::fs::remove_file(path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::Io { path: path.to_owned(), source: e }),
            _ => Ok(()),
        }
    }
}

impl Sparsifier {
    /// The sparsifier in the file of `checkpoint`, or a new one if there is no file; a new one has no [`n_rows`](Self::n_rows).
    ///
    /// # Errors
    /// As [`Sparsifier::new`] and [`Checkpoint::resume`].
    pub fn start(n_nodes: usize, params: SparsifyParams, checkpoint: Option<&Checkpoint>, run: &Run) -> Result<Self> {
        let kept = checkpoint.map(|checkpoint| checkpoint.resume(n_nodes, &params, run)).transpose()?.flatten();
        kept.map_or_else(|| Self::new(n_nodes, params, run), Ok)
    }

    /// The sparsifier as bytes, from which [`from_bytes`](Self::from_bytes) makes one that continues to the same result.
    ///
    /// # Errors
    /// None are expected.
    ///
    /// # Complexity
    /// Three copies of the state for a moment: 24 bytes an edge, and some 200 a node for the bound of edges to come.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.to_file().map(|file| file.to_bytes())
    }

    /// A sparsifier from the bytes of another.
    ///
    /// # Errors
    /// [`Error::Format`] for bytes that are not those of [`to_bytes`](Self::to_bytes).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let file = ModelFile::from_bytes(bytes, "the bytes of a sparsifier")?;
        Meta::from_file(&file)?.restore(&file)
    }

    fn to_file(&self) -> Result<ModelFile> {
        let fault = |e| Error::Internal { reason: format!("the settings cannot be written: {e}") };
        let mut file = ModelFile::new(KIND, serde_json::to_value(Meta::from_sparsifier(self)).map_err(fault)?);
        let sizes: Vec<u64> = self.levels.iter().map(|level| level.len() as u64).collect();
        let all = || self.levels.iter().flatten().chain(&self.block);
        let m = all().count();
        file.insert("levels", &[sizes.len()], sizes)?;
        file.insert("u", &[m], all().map(|e| e.u).collect::<Vec<u32>>())?;
        file.insert("v", &[m], all().map(|e| e.v).collect::<Vec<u32>>())?;
        file.insert("weight", &[m], all().map(|e| e.weight).collect::<Vec<f64>>())?;
        file.insert("probability", &[m], all().map(|e| e.probability).collect::<Vec<f32>>())?;
        file.insert("copies", &[m], all().map(|e| e.copies).collect::<Vec<u32>>())?;
        if let Some(Probes { vectors, forms }) = &self.probes {
            file.insert("probes", &[vectors.n_rows(), vectors.n_cols()], vectors.values().to_vec())?;
            file.insert("forms", &[forms.len()], forms.clone())?;
        }
        if let Some(RejectionBound { scores, component }) = self.phase.bound() {
            file.insert("component", &[self.state.n_nodes], component.clone())?;
            file.insert("inverse_degrees", &[scores.inverse_degrees.len()], scores.inverse_degrees.clone())?;
            if let Some(Embedding { values, width, .. }) = &scores.embedding {
                file.insert("embedding", &[self.state.n_nodes, *width], values.clone())?;
            }
        }
        Ok(file)
    }
}

impl Meta {
    fn from_file(file: &ModelFile) -> Result<Self> {
        file.expect_kind(&[KIND])?;
        Self::deserialize(&file.meta)
            .map_err(|e| file.error(format!("the settings of the sparsifier cannot be read ({e})")))
    }

    fn from_sparsifier(sparsifier: &Sparsifier) -> Self {
        let counts = Counts { seconds_before: sparsifier.seconds(), ..sparsifier.state.counts };
        let n_merged = if let Phase::Due { n_merged, .. } = sparsifier.phase { Some(n_merged) } else { None };
        let unit = |scores: &Scores| scores.embedding.as_ref().map_or(1.0, |embedding| embedding.unit);
        Self {
            state: State { counts, ..sparsifier.state.clone() },
            is_due: n_merged.is_some(),
            n_merged: n_merged.unwrap_or(0),
            bound: sparsifier.phase.bound().map(|bound| (bound.scores.kind, bound.scores.total, unit(&bound.scores))),
        }
    }

    /// The sparsifier of `file`, whose settings these are.
    fn restore(self, file: &ModelFile) -> Result<Sparsifier> {
        let empty = Sparsifier::with_seed(self.state.n_nodes, self.state.params.clone(), self.state.seed)?;
        let (levels, block) = self.edges(file)?;
        if self.state.exponent.abs() > MOST_EXPONENT {
            return Err(file.error("the unit of the weights is damaged"));
        }
        let probes = self.probes(file)?;
        let phase = match (self.is_due, self.rejection_bound(file)?) {
            (true, bound) => Phase::Due { n_merged: self.n_merged, bound },
            (false, Some(bound)) => Phase::Rejecting(bound),
            (false, None) => Phase::Collecting,
        };
        Ok(Sparsifier { state: self.state, block, levels, phase, probes, ..empty })
    }

    /// The edges of the merged blocks and of the current block.
    fn edges(&self, file: &ModelFile) -> Result<(Vec<Vec<SampledEdge>>, Vec<SampledEdge>)> {
        let u = file.array::<u32>("u", &[None])?.1.as_slice();
        let m = [Some(u.len())];
        let v = file.array::<u32>("v", &m)?.1.as_slice();
        let weights = file.numbers::<f64>("weight", &m, Must::Positive)?.1.as_slice();
        let probabilities = file.numbers::<f32>("probability", &m, Must::Positive)?.1.as_slice();
        let copies = file.array::<u32>("copies", &m)?.1.as_slice();
        let edges = u.iter().zip(v).zip(weights).zip(probabilities).zip(copies);
        let edge = |((((&u, &v), &weight), &probability), &copies)| SampledEdge { u, v, weight, probability, copies };
        let mut block: Vec<SampledEdge> = edges.map(edge).collect();
        let is_sound = |e: &SampledEdge| {
            let has_ends = e.u < e.v && (e.v as usize) < self.state.n_nodes;
            has_ends && e.probability <= 1.0 && e.copies > 0
        };
        let sizes = file.array::<u64>("levels", &[None])?.1.as_slice();
        let in_levels = sizes.iter().try_fold(0u64, |sum, &size| sum.checked_add(size)).unwrap_or(u64::MAX);
        let in_block = (block.len() as u64).checked_sub(in_levels);
        let is_counted = in_block.is_some_and(|in_block| self.counts_new_edges(in_block, file.contains("probes")));
        if !block.iter().all(is_sound) || !is_counted || self.n_merged > sizes.len() {
            return Err(file.error("the edges of the checkpoint are damaged"));
        }
        let mut levels = Vec::with_capacity(sizes.len());
        for &size in sizes {
            let rest = block.split_off(size as usize);
            levels.push(std::mem::replace(&mut block, rest));
        }
        Ok((levels, block))
    }

    /// Whether the counts include all new edges of a block. Without probes there was no round, and all its edges are new.
    fn counts_new_edges(&self, in_block: u64, has_probes: bool) -> bool {
        let new = in_block.checked_sub(self.state.n_sampled as u64);
        let counted = self.state.counts.rows.checked_sub(self.state.counts.dropped);
        let is_first = self.state.n_sampled == 0 && self.bound.is_none();
        (is_first || has_probes) && new.zip(counted).is_some_and(|(new, counted)| new <= counted)
    }

    fn probes(&self, file: &ModelFile) -> Result<Option<Probes>> {
        if !file.contains("probes") {
            return Ok(None);
        }
        let vectors = file.matrix("probes", [Some(self.state.n_nodes), None], Must::Finite)?;
        let forms = file.vector::<f64>("forms", &[Some(vectors.n_cols())], Must::Finite)?;
        Ok(Some(Probes { vectors, forms }))
    }

    fn rejection_bound(&self, file: &ModelFile) -> Result<Option<RejectionBound>> {
        let Some((kind, total, unit)) = self.bound else { return Ok(None) };
        let n = self.state.n_nodes;
        let component = file.array::<u32>("component", &[Some(n)])?.1.as_slice().to_vec();
        let degrees = if kind == ScoreKind::Uniform { 0 } else { n };
        let inverse_degrees = file.vector::<f64>("inverse_degrees", &[Some(degrees)], Must::Bound)?;
        let mut embedding = None;
        if file.contains("embedding") {
            let width = self.state.params.n_projections;
            let values = file.vector::<f32>("embedding", &[Some(n), Some(width)], Must::Finite)?;
            embedding = Some(Embedding { values, width, unit });
        }
        let is_sound = total > 0.0 && unit > 0.0 && self.state.params.sampler.strategy().bounds_later_edges;
        if !is_sound {
            return Err(file.error("the bound of the checkpoint on edges to come is damaged"));
        }
        Ok(Some(RejectionBound { scores: Scores { kind, total, inverse_degrees, embedding }, component }))
    }
}
