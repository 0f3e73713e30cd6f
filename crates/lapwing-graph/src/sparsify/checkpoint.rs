//! A sparsifier in the middle of its stream, kept in a file, from which another process goes on to the same bytes.
//!
//! Pickles are the same in memory. The container is that of model files (`lapwing-data/src/model_file.rs`), of the kind
//! `sparsifier`. It is written through a temporary name: whenever the process is killed, the file is whole, of this
//! checkpoint or the one before.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lapwing_data::model_file::ModelFile;
use lapwing_data::{Error, Matrix, Result, Run};
use serde::{Deserialize, Serialize};

use super::held::Held;
use super::probes::Probes;
use super::resistance::Embedding;
use super::shares::{Gate, Kind, Rule};
use super::stream::Counts;
use super::{Sparsifier, SparsifyParams};

const KIND: &str = "sparsifier";

/// Share of the time that writing checkpoints may take.
const SHARE: u32 = 20;

/// Takes the smallest subnormal number to 1.
const MOST_EXPONENT: i32 = 1074;

/// Everything but the arrays.
#[derive(Serialize, Deserialize)]
struct Meta {
    params: SparsifyParams,
    n_nodes: usize,
    seed: u64,
    counts: Counts,
    n_old: usize,
    n_merged: usize,
    is_due: bool,
    /// Weights are multiplied by 2^`exponent`.
    #[serde(default)]
    exponent: i32,
    worst: Option<(usize, f64)>,
    has_weak_cut: bool,
    /// Of the rule for edges to come: what it goes by, the importance of all edges, the unit of its resistances.
    gate: Option<(Kind, f64, f64)>,
}

impl Meta {
    fn of(file: &ModelFile) -> Result<Self> {
        file.expect_kind(&[KIND])?;
        Self::deserialize(&file.meta)
            .map_err(|e| file.error(format!("the settings of the sparsifier cannot be read ({e})")))
    }
}

/// Where a sparsifier is kept while it reads.
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

    /// Goes on from the file if it is there. Whether the edges are the same as before is seen when they are
    /// [read](Sparsifier::read) again.
    ///
    /// # Errors
    /// [`Error::Format`] for a file that is no checkpoint or damaged, or one of other parameters, nodes or seed;
    /// [`Error::Io`].
    pub fn resume(&self, n_nodes: usize, params: &SparsifyParams, run: &Run) -> Result<Option<Sparsifier>> {
        if !self.path.try_exists().map_err(|e| Error::Io { path: self.path.clone(), source: e })? {
            return Ok(None);
        }
        let file = ModelFile::load(&self.path)?;
        let meta = Meta::of(&file)?;
        let differs = if meta.n_nodes != n_nodes {
            "another number of nodes"
        } else if meta.params != *params {
            "other parameters"
        } else if meta.seed != run.seed {
            "another seed"
        } else {
            return restored(&file, meta).map(Some);
        };
        Err(file.error(format!("a checkpoint of {differs}; remove it, or go on with what it was made of")))
    }

    /// Writes the file, unless that would take more than a twentieth of the time since it was last written.
    ///
    /// # Errors
    /// [`Error::Io`]; the file of before is left as it was.
    pub fn keep(&mut self, sparsifier: &Sparsifier) -> Result<()> {
        if let Some((when, took)) = self.written
            && when.elapsed() < took * SHARE
        {
            return Ok(());
        }
        let start = Instant::now();
        sparsifier.to_file()?.save(&self.path)?;
        self.written = Some((Instant::now(), start.elapsed()));
        Ok(())
    }

    /// Removes the file: the stream has come to its end.
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
    /// The sparsifier that `checkpoint` kept, or a new one where nothing is kept: [`n_rows`](Self::n_rows) tells them apart.
    ///
    /// # Errors
    /// As [`Sparsifier::new`] and [`Checkpoint::resume`].
    pub fn start(n_nodes: usize, params: SparsifyParams, checkpoint: Option<&Checkpoint>, run: &Run) -> Result<Self> {
        let kept = checkpoint.map(|checkpoint| checkpoint.resume(n_nodes, &params, run)).transpose()?.flatten();
        kept.map_or_else(|| Self::new(n_nodes, params, run), Ok)
    }

    /// The sparsifier as bytes, from which [`from_bytes`](Self::from_bytes) makes one that goes on alike.
    ///
    /// # Errors
    /// None for a sparsifier in order.
    ///
    /// # Complexity
    /// Three copies of what is held for a moment: 24 bytes an edge, and what is known of edges to come, some 200 a node.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.to_file().map(|file| file.to_bytes())
    }

    /// A sparsifier from the bytes of another.
    ///
    /// # Errors
    /// [`Error::Format`] for bytes that [`to_bytes`](Self::to_bytes) has not made.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let file = ModelFile::from_bytes(bytes, "the bytes of a sparsifier")?;
        restored(&file, Meta::of(&file)?)
    }

    fn to_file(&self) -> Result<ModelFile> {
        let meta = Meta {
            params: self.params.clone(),
            n_nodes: self.n,
            seed: self.seed,
            counts: Counts { seconds_before: self.seconds(), ..self.counts },
            n_old: self.n_old,
            n_merged: self.n_merged,
            is_due: self.is_due,
            exponent: self.exponent,
            worst: self.worst,
            has_weak_cut: self.has_weak_cut,
            gate: self.gate.as_ref().map(|Gate { rule, .. }| {
                (rule.kind, rule.total, rule.embedding.as_ref().map_or(1.0, |embedding| embedding.unit))
            }),
        };
        let fault = |e| Error::Internal { reason: format!("the settings cannot be written: {e}") };
        let mut file = ModelFile::new(KIND, serde_json::to_value(meta).map_err(fault)?);
        let sizes: Vec<u64> = self.levels.iter().map(|level| level.len() as u64).collect();
        let all = || self.levels.iter().flatten().chain(&self.held);
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
        if let Some(Gate { rule, component }) = &self.gate {
            file.insert("component", &[self.n], component.clone())?;
            file.insert("inverse_degrees", &[rule.inverse_degrees.len()], rule.inverse_degrees.clone())?;
            if let Some(Embedding { values, width, .. }) = &rule.embedding {
                file.insert("embedding", &[self.n, *width], values.clone())?;
            }
        }
        Ok(file)
    }
}

fn restored(file: &ModelFile, meta: Meta) -> Result<Sparsifier> {
    let n = meta.n_nodes;
    let mut sparsifier = Sparsifier::of_seed(n, meta.params, meta.seed)?;
    let u = file.array::<u32>("u", &[None])?.1.as_slice();
    let m = [Some(u.len())];
    let v = file.array::<u32>("v", &m)?.1.as_slice();
    let weight = file.array::<f64>("weight", &m)?.1.as_slice();
    let probability = file.array::<f32>("probability", &m)?.1.as_slice();
    let copies = file.array::<u32>("copies", &m)?.1.as_slice();
    let mut all: Vec<Held> = (0..u.len())
        .map(|at| Held { u: u[at], v: v[at], weight: weight[at], probability: probability[at], copies: copies[at] })
        .collect();
    let is_sound = |e: &Held| {
        e.u < e.v
            && (e.v as usize) < n
            && e.weight > 0.0
            && e.weight.is_finite()
            && e.probability > 0.0
            && e.probability <= 1.0
            && e.copies > 0
    };
    let sizes = file.array::<u64>("levels", &[None])?.1.as_slice();
    let in_levels = sizes.iter().try_fold(0u64, |sum, &size| sum.checked_add(size)).unwrap_or(u64::MAX);
    let n_held = (all.len() as u64).checked_sub(in_levels);
    let counted = meta.counts.rows.checked_sub(meta.counts.dropped);
    // Edges the probes have not seen are part of what was counted; without probes, none were seen.
    let is_counted = (meta.n_old == 0 || file.contains("probes"))
        && n_held.is_some_and(|held| {
            let new = held.checked_sub(meta.n_old as u64);
            new.is_some_and(|new| counted.is_some_and(|counted| new <= counted))
        });
    if !all.iter().all(is_sound) || !is_counted || meta.n_merged > sizes.len() {
        return Err(file.error("the edges of the checkpoint are damaged"));
    }
    for &size in sizes {
        let rest = all.split_off(size as usize);
        sparsifier.levels.push(std::mem::replace(&mut all, rest));
    }
    if meta.exponent.abs() > MOST_EXPONENT {
        return Err(file.error("the unit of the weights is damaged"));
    }
    sparsifier.exponent = meta.exponent;
    sparsifier.held = all;
    (sparsifier.n_old, sparsifier.n_merged, sparsifier.is_due) = (meta.n_old, meta.n_merged, meta.is_due);
    sparsifier.counts = meta.counts;
    (sparsifier.worst, sparsifier.has_weak_cut) = (meta.worst, meta.has_weak_cut);
    if file.contains("probes") {
        let (shape, values) = file.array::<f64>("probes", &[Some(n), None])?;
        let vectors = Matrix::new(n, shape[1], values.as_slice().to_vec())?;
        let forms = file.array::<f64>("forms", &[Some(shape[1])])?.1.as_slice().to_vec();
        sparsifier.probes = Some(Probes { vectors, forms });
    }
    if let Some((kind, total, unit)) = meta.gate {
        let component = file.array::<u32>("component", &[Some(n)])?.1.as_slice().to_vec();
        let degrees = if kind == Kind::Uniform { 0 } else { n };
        let inverse_degrees = file.array::<f64>("inverse_degrees", &[Some(degrees)])?.1.as_slice().to_vec();
        let mut embedding = None;
        if file.contains("embedding") {
            let width = sparsifier.params.n_projections;
            let values = file.array::<f32>("embedding", &[Some(n), Some(width)])?.1.as_slice().to_vec();
            embedding = Some(Embedding { values, width, unit });
        }
        let is_sound = total > 0.0 && unit > 0.0 && sparsifier.params.has_gate();
        if !is_sound {
            return Err(file.error("what the checkpoint knows of edges to come is damaged"));
        }
        sparsifier.gate = Some(Gate { rule: Rule { kind, total, inverse_degrees, embedding }, component });
    }
    Ok(sparsifier)
}
