//! Checks that a matrix is the adjacency of an undirected graph, and drops its self loops and zeros.
//!
//! A hash of (i, j, w) is added for every entry above the diagonal and subtracted for its mirror. The sum is 0 for a symmetric
//! matrix, and for another one only with a probability of 2⁻⁶⁴. Cost: one pass over the entries, parallel over rows.

use lapwing_core::parallel::*;
use lapwing_core::{Csr, Error, Result, hash::mix};

/// Checks that a square matrix is symmetric with finite weights of at least 0; mirrors may differ by 1e-12 relative.
/// Returns it without self loops and zero weights.
///
/// # Errors
/// [`Error::Shape`] unless it is square; [`Error::Graph`] naming the first offending entry.
///
/// # Complexity
/// One pass over the entries, parallel within a pool of threads; a second, serial one if mirrors differ in any bit.
pub(crate) fn check_adjacency(adjacency: Csr<f64>) -> Result<Csr<f64>> {
    let n = adjacency.n_rows();
    if n != adjacency.n_cols() {
        let got = format!("{} rows and {} columns", n, adjacency.n_cols());
        return Err(Error::shape("affinity matrix", "as many rows as columns", got));
    }
    let look = |row| Look::at(&adjacency, row);
    // Never uses the global pool: a process must be free to fork.
    let look = if rayon::current_thread_index().is_some() {
        (0..n).into_par_iter().with_min_len(2048).map(look).reduce(Look::default, Look::and)
    } else {
        (0..n).map(look).fold(Look::default(), Look::and)
    };
    if let Some(row) = look.bad_row {
        return Err(bad_weight(&adjacency, row));
    }
    if look.balance != 0 {
        check_symmetry(&adjacency)?;
    }
    if look.is_dirty { without_loops_and_zeros(&adjacency) } else { Ok(adjacency) }
}

/// Checks that each value, one for each row, lies in a range; `expected` describes it.
pub(crate) fn check_values(what: &str, values: &[f64], expected: &str, is_good: impl Fn(f64) -> bool) -> Result<()> {
    match values.iter().position(|&value| !is_good(value)) {
        None => Ok(()),
        Some(row) => {
            let (value, advice) = (values[row].to_string(), expected.into());
            Err(Error::Value { what: what.into(), row, col: None, value, advice })
        }
    }
}

/// Whether a number is finite and at least 0.
pub(crate) fn is_weight(value: f64) -> bool {
    value >= 0.0 && value.is_finite()
}

/// The results of one pass.
#[derive(Default)]
struct Look {
    bad_row: Option<usize>,
    is_dirty: bool,
    /// Sum over entries of a hash of (pair, weight), added on one side of the diagonal and subtracted on the other: 0 for a
    /// symmetric matrix, and for another one only with a probability of 2⁻⁶⁴.
    balance: u64,
}

impl Look {
    fn at(adjacency: &Csr<f64>, row: usize) -> Self {
        let mut look = Self::default();
        let (columns, weights) = adjacency.row(row);
        for (&column, &w) in columns.iter().zip(weights) {
            if !is_weight(w) {
                look.bad_row = Some(row);
            }
            look.is_dirty |= column as usize == row || w == 0.0;
            // −0 and 0 are the same weight.
            let bits = (w + 0.0).to_bits();
            let (low, high) = (column.min(row as u32), column.max(row as u32));
            let hash = mix(mix((u64::from(high) << 32) | u64::from(low)) ^ bits);
            match column.cmp(&(row as u32)) {
                std::cmp::Ordering::Less => look.balance = look.balance.wrapping_add(hash),
                std::cmp::Ordering::Equal => {}
                std::cmp::Ordering::Greater => look.balance = look.balance.wrapping_sub(hash),
            }
        }
        look
    }

    fn and(self, other: Self) -> Self {
        Self {
            bad_row: self.bad_row.into_iter().chain(other.bad_row).min(),
            is_dirty: self.is_dirty || other.is_dirty,
            balance: self.balance.wrapping_add(other.balance),
        }
    }
}

fn bad_weight(adjacency: &Csr<f64>, row: usize) -> Error {
    let (columns, weights) = adjacency.row(row);
    let at = weights.iter().position(|&w| !is_weight(w)).unwrap_or(0);
    let (column, w) = (columns[at], weights[at]);
    Error::graph(format!("edge ({row}, {column}) has weight {w}; weights must be finite and at least 0"))
}

/// Compares every entry with its mirror. Rows are visited in order, and so are the mirror entries of a column, so that one cursor
/// per row is enough.
fn check_symmetry(adjacency: &Csr<f64>) -> Result<()> {
    let n = adjacency.n_rows();
    let asymmetric = |row: usize, column: usize, w: f64, mirror: f64| {
        let reason = format!(
            "edge ({row}, {column}) has weight {w} but ({column}, {row}) has {mirror}; give a symmetric matrix, \
             for instance (W + Wᵀ) / 2"
        );
        Err(Error::graph(reason))
    };
    let mut cursor = vec![0usize; n];
    for row in 0..n {
        let (columns, weights) = adjacency.row(row);
        for (&column, &w) in columns.iter().zip(weights) {
            let mirror_of = column as usize;
            let (rows, mirrors) = adjacency.row(mirror_of);
            let at = &mut cursor[mirror_of];
            while rows.get(*at).is_some_and(|&r| (r as usize) < row && mirrors[*at] == 0.0) {
                *at += 1;
            }
            match rows.get(*at) {
                Some(&r) if r as usize == row => {
                    let mirror = mirrors[*at];
                    if (w - mirror).abs() > 1e-12 * w.max(mirror) {
                        return asymmetric(row, mirror_of, w, mirror);
                    }
                    *at += 1;
                }
                Some(&r) if (r as usize) < row => return asymmetric(mirror_of, r as usize, mirrors[*at], 0.0),
                _ if w == 0.0 => {}
                _ => return asymmetric(row, mirror_of, w, 0.0),
            }
        }
    }
    for (column, &at) in cursor.iter().enumerate() {
        let (rows, mirrors) = adjacency.row(column);
        if let Some(missed) = (at..rows.len()).find(|&at| mirrors[at] != 0.0) {
            return asymmetric(column, rows[missed] as usize, mirrors[missed], 0.0);
        }
    }
    Ok(())
}

fn without_loops_and_zeros(adjacency: &Csr<f64>) -> Result<Csr<f64>> {
    let n = adjacency.n_rows();
    let (mut indptr, mut indices, mut values) = (vec![0u64], Vec::new(), Vec::new());
    for row in 0..n {
        let (columns, weights) = adjacency.row(row);
        for (&column, &w) in columns.iter().zip(weights) {
            if column as usize != row && w > 0.0 {
                indices.push(column);
                values.push(w);
            }
        }
        indptr.push(indices.len() as u64);
    }
    Csr::new(n, n, indptr, indices, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_bit_anywhere_is_found() {
        let n = 60;
        let edges: Vec<(u32, u32, f64)> = (0..n)
            .flat_map(|i| (0..i).filter(move |j| (i * j) % 7 == 3).map(move |j| (i, j, 0.1 * f64::from(i + j))))
            .collect();
        let both = || edges.iter().flat_map(|&(u, v, w)| [(u, v, w), (v, u, w)]);
        let matrix = Csr::from_entries(n as usize, n as usize, &both().collect::<Vec<_>>()).unwrap();
        assert_eq!(check_adjacency(matrix.clone()).unwrap(), matrix);
        for at in 0..matrix.nnz() {
            let mut wrong = matrix.clone();
            wrong.values_mut()[at] *= 1.0 + 1e-9;
            let refused = check_adjacency(wrong).unwrap_err();
            assert!(refused.to_string().contains("give a symmetric matrix"), "{at}");
            let mut close = matrix.clone();
            close.values_mut()[at] *= 1.0 + 1e-15;
            assert!(check_adjacency(close).is_ok());
        }
    }
}
