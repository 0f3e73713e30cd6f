//! Rows of the scaled factor, and the sums over them that propagation needs.
//!
//! Every row i is a vector aᵢ (k) such that the scaled affinity is S = D^(−1/2)·W̃·D^(−1/2) = A·N·Aᵀ for a small matrix N:
//!
//! - Nyström: aᵢ = Cᵢ/√dᵢ with dᵢ = max(Cᵢ·v, floor);
//! - anchor graph (Liu, He & Chang 2010): aᵢ = Zᵢ, the shares of the s nearest landmarks or of all: similarities divided by their
//!   sum. All degrees are 1.
//!
//! A pass returns AᵀA, Aᵀ1, and Aᵀ·f0 over the labeled rows: nothing that grows with n. If rows have shares of all landmarks, sums
//! over 1,024 rows are in single precision; all other sums are in double precision.

use std::ops::Range;

use lapwing_core::{Matrix, Result, Targets};

use super::blocks::BlockSums;
use super::kernel::{
    RowKernel, STRIP, add_gram, add_weighted, combine, degrees, nearest, packed, packed_len, scale_by, soften,
};
use super::passes::Chunk;

/// Computes rows of the scaled factor from the exponents of similarities.
#[derive(Clone, Debug, PartialEq)]
pub enum RowFactor {
    /// Similarities C themselves, for the pass that sums them.
    Similarities,
    /// Similarities over the root of the degree.
    Nystrom {
        /// v (k): degrees are C·v.
        weights: Vec<f64>,
        /// Least degree; smaller ones are raised to it.
        floor: f64,
    },
    /// Shares of the `n_nearest` nearest landmarks.
    Anchor {
        /// s; 0 or k and more for all landmarks.
        n_nearest: usize,
    },
}

/// The layout of the sums of a pass within [`BlockSums::added`].
#[derive(Clone, Copy, Debug)]
pub struct FactorSums {
    n_landmarks: usize,
    n_classes: usize,
    has_labeled_gram: bool,
}

/// The sums of [`FactorSums`], each by its name in [`Statistics`]; the triangles are packed.
struct FactorSlices<'s> {
    gram: &'s mut [f64],
    /// Empty if not wanted.
    labeled_gram: &'s mut [f64],
    sums: &'s mut [f64],
    cross: &'s mut [f64],
    mass: &'s mut [f64],
    /// Rows of degree 0 or less, rows whose degree was raised, the sum of all degrees.
    degrees: &'s mut [f64],
}

/// Sums of a pass over the rows, for k landmarks and c classes.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// AᵀA (k, k).
    pub gram: Matrix,
    /// Aᵀ1 (k).
    pub sums: Vec<f64>,
    /// Σ over labeled rows of t·a·y (k, c), t the trust in the label.
    pub cross: Matrix,
    /// Σ over labeled rows of t·y·√d (c).
    pub mass: Vec<f64>,
    /// Σ over labeled rows of t·a·aᵀ (k, k), if wanted.
    pub labeled_gram: Option<Matrix>,
    /// Counts of the degrees.
    pub degrees: DegreeCounts,
}

/// Degrees before any was raised.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DegreeCounts {
    /// Rows of degree 0 or less.
    pub n_nonpositive: u64,
    /// Rows whose degree was raised.
    pub n_floored: u64,
    /// Sum of all.
    pub sum: f64,
    /// The least.
    pub least: f64,
}

/// One thread's work space.
#[derive(Debug)]
pub struct FactorSpace {
    factors: Vec<f32>,
    degrees: Box<[f64; STRIP]>,
    roots: Vec<f64>,
    values: Vec<f32>,
    numbers: Vec<f32>,
}

impl Default for FactorSpace {
    fn default() -> Self {
        Self {
            factors: vec![0.0; STRIP],
            degrees: Box::new([0.0; STRIP]),
            roots: vec![1.0; STRIP],
            values: Vec::new(),
            numbers: Vec::new(),
        }
    }
}

impl FactorSums {
    /// The layout for k landmarks and c classes; `has_labeled_gram` adds AᵀA over the labeled rows.
    pub fn new(n_landmarks: usize, n_classes: usize, has_labeled_gram: bool) -> Self {
        Self { n_landmarks, n_classes, has_labeled_gram }
    }

    /// Number of sums.
    pub fn count(&self) -> usize {
        let triangles = 1 + usize::from(self.has_labeled_gram);
        triangles * packed_len(self.n_landmarks) + self.n_landmarks * (1 + self.n_classes) + self.n_classes + 3
    }

    fn split<'s>(&self, added: &'s mut [f64]) -> FactorSlices<'s> {
        let (k, c) = (self.n_landmarks, self.n_classes);
        let (gram, rest) = added.split_at_mut(packed_len(k));
        let (labeled_gram, rest) = rest.split_at_mut(if self.has_labeled_gram { packed_len(k) } else { 0 });
        let (sums, rest) = rest.split_at_mut(k);
        let (cross, rest) = rest.split_at_mut(k * c);
        let (mass, degrees) = rest.split_at_mut(c);
        FactorSlices { gram, labeled_gram, sums, cross, mass, degrees }
    }

    /// The sums of a whole pass by their names.
    pub fn statistics(&self, mut total: BlockSums) -> Result<Statistics> {
        let (k, c) = (self.n_landmarks, self.n_classes);
        let slices = self.split(&mut total.added);
        let full = |triangle: &[f64]| {
            let mut out = Matrix::filled(k, k, 0.0);
            for a in 0..k {
                for b in a..k {
                    out.row_mut(a)[b] = triangle[packed(k, a, b)];
                    out.row_mut(b)[a] = triangle[packed(k, a, b)];
                }
            }
            out
        };
        let degrees = DegreeCounts {
            n_nonpositive: slices.degrees[0] as u64,
            n_floored: slices.degrees[1] as u64,
            sum: slices.degrees[2],
            least: total.least,
        };
        Ok(Statistics {
            gram: full(slices.gram),
            sums: slices.sums.to_vec(),
            cross: Matrix::new(k, c, slices.cross.to_vec())?,
            mass: slices.mass.to_vec(),
            labeled_gram: self.has_labeled_gram.then(|| full(slices.labeled_gram)),
            degrees,
        })
    }

    /// Adds a chunk. If rows have shares of all landmarks, its strips are replaced by rows of the factor.
    pub fn add(
        &self,
        factor: &RowFactor,
        chunk: &mut Chunk<'_>,
        targets: &Targets,
        space: &mut FactorSpace,
        sums: &mut BlockSums,
    ) {
        let k = self.n_landmarks;
        let BlockSums { added, least } = sums;
        let mut slices = self.split(added);
        for (first, n_rows, strip) in chunk.each(k) {
            factor.turn(strip, n_rows, space);
            slices.add_rows(factor, strip, n_rows, space);
            if let RowFactor::Nystrom { floor, .. } = factor {
                slices.add_degrees(&space.degrees[..n_rows], *floor, least);
            }
            if *factor != RowFactor::Similarities {
                slices.add_labels(factor, strip, first..first + n_rows, targets, space);
            }
        }
        if factor.few(k).is_none() && *factor != RowFactor::Similarities {
            add_gram(chunk.strips, k, slices.gram);
        }
    }
}

impl FactorSlices<'_> {
    /// Adds the rows of a strip to Aᵀ1, and to AᵀA if rows have shares of few landmarks only.
    fn add_rows(&mut self, factor: &RowFactor, strip: &[f32], n_rows: usize, space: &mut FactorSpace) {
        let k = self.sums.len();
        let Some(s) = factor.few(k) else {
            space.factors.fill(0.0);
            space.factors[..n_rows].fill(1.0);
            return add_weighted(strip, &space.factors, self.sums);
        };
        for row in 0..n_rows {
            space.add_row(s, k, row, 1.0, self.gram);
            (0..s).for_each(|at| self.sums[space.number(at, row)] += space.value(at, row));
        }
    }

    /// Counts the degrees; `least` is the least one.
    fn add_degrees(&mut self, degrees: &[f64], floor: f64, least: &mut f64) {
        for degree in degrees {
            self.degrees[0] += f64::from(u8::from(*degree <= 0.0));
            self.degrees[1] += f64::from(u8::from(*degree < floor));
            self.degrees[2] += degree;
            *least = least.min(*degree);
        }
    }

    /// Adds the labeled rows among `rows`, which are those of the strip.
    fn add_labels(
        &mut self,
        factor: &RowFactor,
        strip: &[f32],
        rows: Range<usize>,
        targets: &Targets,
        space: &FactorSpace,
    ) {
        for at in labeled_within(targets, rows.clone()) {
            let row = targets.rows()[at] as usize - rows.start;
            let (y, trust) = (targets.values().row(at), targets.weights()[at]);
            self.mass.iter_mut().zip(y).for_each(|(mass, y)| *mass += trust * y * space.roots[row]);
            factor.each_of_row(strip, row, space, |l, value| {
                let cross = &mut self.cross[l * y.len()..(l + 1) * y.len()];
                cross.iter_mut().zip(y).for_each(|(cross, y)| *cross += trust * value * y);
            });
            if !self.labeled_gram.is_empty() {
                factor.add_labeled(strip, row, trust, space, self.labeled_gram);
            }
        }
    }
}

/// Places among the targets of the labeled rows within `rows`.
pub fn labeled_within(targets: &Targets, rows: Range<usize>) -> Range<usize> {
    let place = |row: usize| targets.rows().partition_point(|&labeled| (labeled as usize) < row);
    place(rows.start)..place(rows.end)
}

impl FactorSpace {
    fn value(&self, at: usize, row: usize) -> f64 {
        f64::from(self.values[at * STRIP + row])
    }

    fn number(&self, at: usize, row: usize) -> usize {
        self.numbers[at * STRIP + row] as usize
    }

    /// Adds `trust`·z·zᵀ of a row with `s` nearest landmarks to a packed triangle.
    #[inline]
    fn add_row(&self, s: usize, k: usize, row: usize, trust: f64, gram: &mut [f64]) {
        for a in 0..s {
            let (l, value) = (self.number(a, row), trust * self.value(a, row));
            gram[packed(k, l, l)] += value * self.value(a, row);
            for b in a + 1..s {
                let m = self.number(b, row);
                gram[packed(k, l.min(m), l.max(m))] += value * self.value(b, row);
            }
        }
    }
}

impl RowFactor {
    /// Number of nearest landmarks; `None` if rows have shares of all.
    fn few(&self, n_landmarks: usize) -> Option<usize> {
        match *self {
            Self::Anchor { n_nearest } => Some(n_nearest).filter(|s| (1..n_landmarks).contains(s)),
            _ => None,
        }
    }

    /// Computes rows of the factor from exponents. If rows have shares of all landmarks this is in place, with zeros after
    /// `n_rows`; otherwise the result is in `space`.
    fn turn(&self, strip: &mut [f32], n_rows: usize, space: &mut FactorSpace) {
        let k = strip.len() / STRIP;
        if let Some(s) = self.few(k) {
            return shares_of_nearest(strip, s, space);
        }
        match self {
            Self::Anchor { .. } => {
                soften(strip);
                if n_rows < STRIP {
                    space.factors.fill(0.0);
                    space.factors[..n_rows].fill(1.0);
                    scale_by(strip, &space.factors);
                }
            }
            Self::Similarities => RowKernel::similarities(strip),
            Self::Nystrom { weights, floor } => {
                RowKernel::similarities(strip);
                degrees(strip, weights, &mut space.degrees);
                for row in 0..STRIP {
                    let root = space.degrees[row].max(*floor).sqrt();
                    space.roots[row] = root;
                    space.factors[row] = if row < n_rows { root.recip() as f32 } else { 0.0 };
                }
                scale_by(strip, &space.factors);
            }
        }
    }

    /// Calls `take` with each landmark of a row and its value.
    fn each_of_row(&self, strip: &[f32], row: usize, space: &FactorSpace, mut take: impl FnMut(usize, f64)) {
        let k = strip.len() / STRIP;
        match self.few(k) {
            Some(s) => (0..s).for_each(|at| take(space.number(at, row), space.value(at, row))),
            None => (0..k).for_each(|l| take(l, f64::from(strip[l * STRIP + row]))),
        }
    }

    fn add_labeled(&self, strip: &[f32], row: usize, trust: f64, space: &FactorSpace, gram: &mut [f64]) {
        let k = strip.len() / STRIP;
        match self.few(k) {
            Some(s) => space.add_row(s, k, row, trust, gram),
            None => {
                let value = |l: usize| f64::from(strip[l * STRIP + row]);
                for a in 0..k {
                    (a..k).for_each(|b| gram[packed(k, a, b)] += trust * value(a) * value(b));
                }
            }
        }
    }

    /// The rows of a chunk of the factor (rows, k), in double precision, with the roots of their degrees.
    pub fn rows(&self, chunk: &mut Chunk<'_>, n_landmarks: usize, space: &mut FactorSpace) -> (Vec<f64>, Vec<f64>) {
        let (mut rows, mut roots) = (vec![0.0; chunk.n_rows * n_landmarks], Vec::with_capacity(chunk.n_rows));
        let start = chunk.first;
        for (first, n_rows, strip) in chunk.each(n_landmarks) {
            self.turn(strip, n_rows, space);
            for row in 0..n_rows {
                let out = &mut rows[(first - start + row) * n_landmarks..][..n_landmarks];
                self.each_of_row(strip, row, space, |l, value| out[l] = value);
                roots.push(space.roots[row]);
            }
        }
        (rows, roots)
    }

    /// A·P of the rows of a chunk, for coefficients P (k, c): `out` (rows, c).
    pub fn scores(&self, chunk: &mut Chunk<'_>, coefficients: &Coefficients, space: &mut FactorSpace, out: &mut [f64]) {
        let (k, c) = (coefficients.n_landmarks(), coefficients.n_classes);
        let start = chunk.first;
        for (first, n_rows, strip) in chunk.each(k) {
            self.turn(strip, n_rows, space);
            let out = &mut out[(first - start) * c..][..n_rows * c];
            if let Some(s) = self.few(k) {
                for (row, out) in out.chunks_exact_mut(c).enumerate() {
                    out.fill(0.0);
                    for at in 0..s {
                        let value = space.value(at, row);
                        let factors = &coefficients.wide[space.number(at, row) * c..][..c];
                        out.iter_mut().zip(factors).for_each(|(out, factor)| *out += value * factor);
                    }
                }
            } else {
                space.values.resize(c * STRIP, 0.0);
                combine(strip, &coefficients.single, &mut space.values);
                for (row, out) in out.chunks_exact_mut(c).enumerate() {
                    out.iter_mut().enumerate().for_each(|(class, out)| *out = space.value(class, row));
                }
            }
        }
    }
}

/// Writes the shares of the nearest landmarks to `space`.
fn shares_of_nearest(strip: &[f32], s: usize, space: &mut FactorSpace) {
    space.values.resize(s * STRIP, 0.0);
    space.numbers.resize(s * STRIP, 0.0);
    nearest(strip, s, &mut space.values[..s * STRIP], &mut space.numbers[..s * STRIP]);
    soften(&mut space.values[..s * STRIP]);
}

/// Coefficients of the landmarks (k, c) in both precisions.
#[derive(Clone, Debug)]
pub struct Coefficients {
    n_classes: usize,
    single: Vec<f32>,
    wide: Vec<f64>,
}

impl Coefficients {
    /// Takes P (k, c), rounded to single precision, as models hold it.
    pub fn new(values: &Matrix) -> Self {
        let single: Vec<f32> = values.values().iter().map(|x| *x as f32).collect();
        Self { n_classes: values.n_cols(), wide: single.iter().map(|x| f64::from(*x)).collect(), single }
    }

    /// Number of landmarks k.
    pub fn n_landmarks(&self) -> usize {
        self.single.len() / self.n_classes.max(1)
    }

    /// Number of classes c.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// P (k, c) in single precision.
    pub fn values(&self) -> &[f32] {
        &self.single
    }
}
