//! Rows prepared for the kernels: words in one array, with norms.
//!
//! Cost: one pass over the rows; 4 bytes a value as f32, one as bytes, and 8 a row.

use bytemuck::Zeroable;
use lapwing_core::parallel::*;
use lapwing_core::{Dense, DenseValues, Result, Run};
use lapwing_simd::{LANES, prefetch_lines};

use crate::knn::Metric;
use crate::knn::kernels::element::{Bytes, Element, Floats};
use crate::knn::rows::{FAR, Frame};

/// Rows of a panel: two vectors.
pub(crate) const PANEL: usize = 2 * LANES;
/// Rows that a thread works on at a time.
const BLOCK: usize = 1024;

/// A source of rows.
pub(crate) trait Source: Sync {
    type Element: Element;
    fn n_rows(&self) -> usize;
    /// Words of a row.
    fn width(&self) -> usize;
    /// Writes the words of a row.
    fn copy(&self, row: usize, out: &mut [<Self::Element as Element>::Word]) -> Result<()>;
    /// Norms of a row, given its words, on the left and on the right.
    fn norms(&self, row: &[<Self::Element as Element>::Word]) -> Norms<Self::Element> {
        Self::Element::norms(row)
    }
}

/// Norms of a row on the left and on the right.
pub(crate) type Norms<E> = (<E as Element>::Norm, <E as Element>::Norm);

/// Rows as f32 in a frame.
#[derive(Clone, Copy)]
pub(crate) struct FloatSource<'a> {
    pub dense: &'a Dense<'a>,
    pub frame: &'a Frame,
}

impl Source for FloatSource<'_> {
    type Element = Floats;

    fn n_rows(&self) -> usize {
        self.dense.n_rows()
    }
    fn width(&self) -> usize {
        self.dense.n_cols()
    }
    fn copy(&self, row: usize, out: &mut [f32]) -> Result<()> {
        self.frame.copy_row(self.dense, row, out);
        Ok(())
    }
    /// Such that search distances order rows as the metric does, and are not negative.
    fn norms(&self, row: &[f32]) -> (f32, f32) {
        let (left, right) = Floats::norms(row);
        match self.frame.metric {
            Metric::Euclidean => (left, right),
            Metric::Cosine => (left, if right == 0.0 { FAR } else { right }),
            Metric::InnerProduct => ((2.0 * left).sqrt() * self.frame.longest, 0.0),
        }
    }
}

/// Rows of bytes, not scaled.
pub(crate) struct ByteSource<'a> {
    values: &'a [u8],
    n_cols: usize,
}

impl<'a> ByteSource<'a> {
    /// `None` unless the rows are bytes and have few enough columns.
    pub fn from_dense(dense: &'a Dense<'a>) -> Option<Self> {
        match dense.values() {
            DenseValues::U8(values) if dense.n_cols() <= Bytes::MOST_COLUMNS => {
                Some(Self { values: values.as_slice(), n_cols: dense.n_cols() })
            }
            _ => None,
        }
    }
}

impl Source for ByteSource<'_> {
    type Element = Bytes;

    fn n_rows(&self) -> usize {
        self.values.len() / self.n_cols
    }
    fn width(&self) -> usize {
        self.n_cols.div_ceil(4)
    }
    fn copy(&self, row: usize, out: &mut [i32]) -> Result<()> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(out);
        bytes[..self.n_cols].copy_from_slice(&self.values[row * self.n_cols..(row + 1) * self.n_cols]);
        bytes[self.n_cols..].fill(128);
        Ok(())
    }
}

/// Rows in a frame, rounded to signed bytes.
pub(crate) struct RoundedSource<'a> {
    pub rows: FloatSource<'a>,
    /// Bytes per unit of length.
    pub scale: f32,
}

impl Source for RoundedSource<'_> {
    type Element = Bytes;

    fn n_rows(&self) -> usize {
        self.rows.n_rows()
    }
    fn width(&self) -> usize {
        self.rows.width().div_ceil(4)
    }
    fn copy(&self, row: usize, out: &mut [i32]) -> Result<()> {
        let mut values = vec![0f32; self.rows.width()];
        self.rows.copy(row, &mut values)?;
        round(&values, self.scale, out);
        Ok(())
    }
}

/// Rounds the values of a row to signed bytes, of which `scale` are a unit of length.
pub(crate) fn round(values: &[f32], scale: f32, out: &mut [i32]) {
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(out);
    bytes[values.len()..].fill(128);
    bytes.iter_mut().zip(values).for_each(|(byte, x)| *byte = (x * scale + 128.5) as u8);
}

/// All rows, prepared for the kernels.
#[derive(Debug)]
pub(crate) struct Points<E: Element> {
    pub n: usize,
    /// Words of a row.
    pub width: usize,
    /// (n, width).
    pub words: Vec<E::Word>,
    /// Norms on the left and on the right (n).
    pub norms: Vec<Norms<E>>,
}

impl<E: Element> Points<E> {
    /// The rows of `source` in the order `order`, or in their own.
    pub fn prepare(source: &impl Source<Element = E>, order: Option<&[u32]>, run: &Run) -> Result<Self> {
        let n = order.map_or(source.n_rows(), <[u32]>::len);
        let width = source.width();
        let mut words = vec![E::Word::zeroed(); n * width];
        let mut norms = vec![(E::Norm::zeroed(), E::Norm::zeroed()); n];
        let blocks = words.par_chunks_mut(BLOCK * width).zip(norms.par_chunks_mut(BLOCK)).enumerate();
        run.install(|| {
            blocks.try_for_each(|(block, (words, norms))| {
                run.check()?;
                for (at, (words, norms)) in words.chunks_exact_mut(width).zip(norms).enumerate() {
                    let row = block * BLOCK + at;
                    source.copy(order.map_or(row, |order| order[row] as usize), words)?;
                    *norms = source.norms(words);
                }
                Ok(())
            })
        })?;
        Ok(Self { n, width, words, norms })
    }

    #[inline(always)]
    pub fn row(&self, row: usize) -> &[E::Word] {
        &self.words[row * self.width..][..self.width]
    }

    /// Prefetches the first cache lines of a row; the processor's own prefetcher reads the others ahead.
    #[inline(always)]
    pub fn prefetch(&self, row: u32) {
        const LINES: usize = 4;
        prefetch_lines(&self.row(row as usize)[..self.width.min(LINES * LANES)]);
    }
}

/// Rows side by side in panels of [`PANEL`]: word t of the rows of a panel lies together.
#[derive(Clone, Debug)]
pub(crate) struct Panels<E: Element> {
    /// Rows.
    pub len: usize,
    /// (panels, width, PANEL); places without a row hold zeros.
    pub words: Vec<E::Word>,
    pub left: Vec<E::Norm>,
    pub right: Vec<E::Norm>,
}

impl<E: Element> Default for Panels<E> {
    fn default() -> Self {
        Self { len: 0, words: Vec::new(), left: Vec::new(), right: Vec::new() }
    }
}

impl<E: Element> Panels<E> {
    /// Takes the rows `ids`.
    pub fn fill(&mut self, points: &Points<E>, ids: &[u32]) {
        self.clear(ids.len(), points.width);
        for (at, &id) in ids.iter().enumerate() {
            if let Some(&next) = ids.get(at + 8) {
                points.prefetch(next);
            }
            self.put(at, points.row(id as usize), points.norms[id as usize]);
        }
    }

    /// Makes room for `len` rows of `width` words.
    pub fn clear(&mut self, len: usize, width: usize) {
        let places = len.next_multiple_of(PANEL);
        self.len = len;
        self.words.resize(places * width, E::Word::zeroed());
        self.words[len / PANEL * PANEL * width..].fill(E::Word::zeroed());
        for norms in [&mut self.left, &mut self.right] {
            norms.clear();
            norms.resize(places, E::Norm::zeroed());
        }
    }

    /// Prefetches a panel, if there is one.
    pub fn prefetch(&self, panel: usize) {
        let size = self.words.len() / (self.len.div_ceil(PANEL)).max(1);
        prefetch_lines(self.words.get(panel * size..(panel + 1) * size).unwrap_or_default());
    }

    /// The rows, whose numbers are `ids`.
    pub fn block<'a>(&'a self, ids: &'a [u32]) -> Block<'a, E> {
        Block { words: &self.words, right: &self.right, ids }
    }

    /// Puts a row at its place.
    pub fn put(&mut self, at: usize, row: &[E::Word], norms: Norms<E>) {
        put::<E>(&mut self.words, at, row);
        (self.left[at], self.right[at]) = norms;
    }
}

/// Puts a row at its place in panels of words.
pub(crate) fn put<E: Element>(words: &mut [E::Word], at: usize, row: &[E::Word]) {
    let panel = &mut words[at / PANEL * PANEL * row.len()..][..PANEL * row.len()];
    panel.chunks_exact_mut(PANEL).zip(row).for_each(|(places, &word)| places[at % PANEL] = E::to_right(word));
}

/// Rows in panels, with their numbers.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a, E: Element> {
    /// (panels, width, PANEL).
    pub words: &'a [E::Word],
    /// Norms on the right, whole panels of them.
    pub right: &'a [E::Norm],
    /// One for each row: places behind the last hold no row.
    pub ids: &'a [u32],
}
