//! The labeled rows by columns, in f32: those with more than one value.

use lapwing_core::{Dense, Features, Result};

/// Columns of the labeled rows.
pub(super) struct Columns {
    /// Number of rows.
    pub n_rows: usize,
    /// Number of each column among those of the features, ascending.
    pub ids: Vec<u32>,
    /// What is subtracted from each column of the features before single precision rounds it (d); empty where nothing is.
    pub centers: Vec<f64>,
    /// Whether the rows are held as sparse ones, and are.
    pub are_sparse: bool,
    values: Values,
}

/// Most values other than 0, as a share, of sparse rows: those of texts have fewer.
const SPARSE: f64 = 0.1;

enum Values {
    /// A column after the other.
    Dense(Vec<f32>),
    /// Entries of column j: those from `starts[j]` to `starts[j + 1]`. Others are 0.
    Sparse { starts: Vec<usize>, rows: Vec<u32>, values: Vec<f32> },
}

impl Columns {
    /// The columns of `labeled` that have more than one value.
    ///
    /// # Errors
    /// [`Error::TooLarge`](lapwing_core::Error::TooLarge) for sparse rows of too many entries.
    pub fn new(labeled: &Features<'_>) -> Result<Self> {
        let n_rows = labeled.n_rows();
        let centers = if let Features::Dense(dense) = labeled { centers(dense) } else { Vec::new() };
        let (ids, values, are_sparse) = match labeled {
            Features::Dense(dense) => {
                let (ids, values) = of_dense(dense, &centers);
                (ids, values, false)
            }
            Features::Sparse(sparse) => {
                let n_given = sparse.values().iter().filter(|x| **x != 0.0).count() as f64;
                let are_sparse = n_given < SPARSE * n_rows as f64 * sparse.n_cols() as f64;
                let by_columns = sparse.transpose()?;
                let (mut ids, mut starts, mut rows, mut values) = (Vec::new(), vec![0], Vec::new(), Vec::new());
                for column in 0..by_columns.n_rows() {
                    let (own, entries) = by_columns.row(column);
                    // The value of rows without an entry is 0.
                    let first = if entries.len() < n_rows { 0.0 } else { entries.first().copied().unwrap_or(0.0) };
                    if entries.iter().any(|x| *x != first) {
                        ids.push(column as u32);
                        rows.extend_from_slice(own);
                        values.extend_from_slice(entries);
                        starts.push(rows.len());
                    }
                }
                (ids, Values::Sparse { starts, rows, values }, are_sparse)
            }
        };
        Ok(Self { n_rows, ids, centers, are_sparse, values })
    }

    /// Whether [`gather`](Self::gather) reads the places of rows.
    pub fn is_sparse(&self) -> bool {
        matches!(self.values, Values::Sparse { .. })
    }

    /// The values of column `at` in the rows `order`, which are at `first` and after by `places`.
    pub fn gather(&self, at: usize, order: &[u32], first: usize, places: &[u32], out: &mut [f32]) {
        match &self.values {
            Values::Dense(values) => {
                let column = &values[at * self.n_rows..][..self.n_rows];
                out.iter_mut().zip(order).for_each(|(out, &row)| *out = column[row as usize]);
            }
            Values::Sparse { starts, rows, values } => {
                out.fill(0.0);
                let range = starts[at]..starts[at + 1];
                for (&row, &x) in rows[range.clone()].iter().zip(&values[range]) {
                    // Rows before `first` wrap to a large number.
                    if let Some(out) = out.get_mut((places[row as usize] as usize).wrapping_sub(first)) {
                        *out = x;
                    }
                }
            }
        }
    }
}

/// Columns of a block that is transposed at a time.
const BLOCK: usize = 64;

/// Least values of the columns so far from 0 that single precision would merge values less than a thousandth of their range apart, such
/// as time stamps; 0 for the others. Empty if there are no such columns.
fn centers(dense: &Dense<'_>) -> Vec<f64> {
    const RANGE: f64 = 1e-3 / f32::EPSILON as f64;
    let mut wide = vec![0.0; dense.n_cols()];
    let mut bounds = vec![(f64::INFINITY, f64::NEG_INFINITY); dense.n_cols()];
    for row in 0..dense.n_rows() {
        dense.copy_row_f64(row, &mut wide);
        bounds.iter_mut().zip(&wide).for_each(|(bounds, x)| *bounds = (bounds.0.min(*x), bounds.1.max(*x)));
    }
    let is_far = |(least, most): (f64, f64)| most > least && least.abs().max(most.abs()) > RANGE * (most - least);
    match bounds.iter().any(|&bounds| is_far(bounds)) {
        true => bounds.into_iter().map(|bounds| if is_far(bounds) { bounds.0 } else { 0.0 }).collect(),
        false => Vec::new(),
    }
}

/// The columns of more than one value, by columns.
fn of_dense(dense: &Dense<'_>, centers: &[f64]) -> (Vec<u32>, Values) {
    let (l, d) = (dense.n_rows(), dense.n_cols());
    let (mut ids, mut values) = (Vec::new(), Vec::new());
    let mut wide = [0.0; BLOCK];
    let mut block = vec![0f32; BLOCK * l];
    for first in (0..d).step_by(BLOCK) {
        let columns = first..d.min(first + BLOCK);
        let wide = &mut wide[..columns.len()];
        for row in 0..l {
            dense.copy_part_f64(row, columns.clone(), wide);
            let center = |at: usize| centers.get(first + at).copied().unwrap_or(0.0);
            wide.iter().enumerate().for_each(|(at, &x)| block[at * l + row] = (x - center(at)) as f32);
        }
        for (column, own) in columns.zip(block.chunks_exact(l.max(1))) {
            if own.iter().any(|x| *x != own[0]) {
                ids.push(column as u32);
                values.extend_from_slice(own);
            }
        }
    }
    (ids, Values::Dense(values))
}
