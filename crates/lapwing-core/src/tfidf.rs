//! TF-IDF: counts of terms, weighed by how rare each term is.
//!
//! A count f > 0 of term t becomes (1 + ln f) · (ln((1 + n) / (1 + nₜ)) + 1), n the rows of the fit and nₜ those that hold the term;
//! then each row gets unit length. These are the numbers of scikit-learn's `TfidfTransformer(sublinear_tf=True)`. Cost: one pass over
//! the entries to fit, one to apply.

use serde::{Deserialize, Serialize};

use crate::{Csr, Error, Features, Result};

/// Weights of terms, learned from the rows of a fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tfidf {
    /// ln((1 + n) / (1 + nₜ)) + 1 of each column (d).
    pub idf: Vec<f64>,
}

impl Tfidf {
    /// Counts the rows of each term.
    ///
    /// # Errors
    /// [`Error::Param`] for dense features; [`Error::Value`] naming the first count below 0.
    pub fn fit(features: &Features<'_>) -> Result<Self> {
        let counts = counts(features)?;
        let mut n_rows = vec![0u64; counts.n_cols()];
        for (col, _) in counts.indices().iter().zip(counts.values()).filter(|(_, count)| **count > 0.0) {
            n_rows[*col as usize] += 1;
        }
        let n = counts.n_rows() as f64;
        Ok(Self { idf: n_rows.iter().map(|&of_term| ((1.0 + n) / (1.0 + of_term as f64)).ln() + 1.0).collect() })
    }

    /// The weighed rows, each of unit length or empty.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); [`Error::Shape`] unless the number of columns is that of the fit.
    pub fn apply(&self, features: &Features<'_>) -> Result<Features<'static>> {
        let counts = counts(features)?;
        let d = self.idf.len();
        if counts.n_cols() != d {
            return Err(Error::shape("features", format!("{d} columns"), format!("{} columns", counts.n_cols())));
        }
        let mut values = Vec::with_capacity(counts.nnz());
        let mut weighed = Vec::new();
        for row in 0..counts.n_rows() {
            let (cols, counts) = counts.row(row);
            weighed.clear();
            let sublinear = |count: f32| if count > 0.0 { 1.0 + f64::from(count).ln() } else { 0.0 };
            weighed.extend(cols.iter().zip(counts).map(|(&col, &count)| self.idf[col as usize] * sublinear(count)));
            let length = weighed.iter().map(|x| x * x).sum::<f64>().sqrt();
            values.extend(weighed.iter().map(|x| if length > 0.0 { (x / length) as f32 } else { 0.0 }));
        }
        let rows = Csr::new(counts.n_rows(), d, counts.indptr().to_vec(), counts.indices().to_vec(), values)?;
        Ok(Features::Sparse(rows.into()))
    }
}

/// The counts, checked to be at least 0.
fn counts<'f>(features: &'f Features<'_>) -> Result<&'f Csr<f32>> {
    let Features::Sparse(counts) = features else {
        return Err(Error::param("tfidf", "set with dense features", "sparse rows that hold counts of terms"));
    };
    let Some(at) = counts.values().iter().position(|count| *count < 0.0) else { return Ok(counts) };
    Err(Error::Value {
        what: "features".into(),
        row: counts.indptr().partition_point(|&start| start <= at as u64) - 1,
        col: Some(counts.indices()[at] as usize),
        value: format!("{}, which is no count of a term", counts.values()[at]),
        advice: "leave tfidf off".into(),
    })
}

/// Whether sparse rows look like counts of terms: whole numbers of at least 0, and not all 0 or 1.
pub(crate) fn look_like_counts(features: &Features<'_>) -> bool {
    let Features::Sparse(rows) = features else { return false };
    let is_count = |value: &f32| *value >= 0.0 && value.fract() == 0.0;
    rows.values().iter().all(is_count) && rows.values().iter().any(|value| *value > 1.0)
}

/// Fewest columns of rows that tell which of many terms they hold. Rows of fewer are rather categories.
const MANY_TERMS: usize = 500;

/// Whether sparse rows look like counts of terms, or tell by 0 and 1 which of many terms they hold.
pub(crate) fn look_like_terms(features: &Features<'_>) -> bool {
    let Features::Sparse(rows) = features else { return false };
    let is_presence = || !rows.values().is_empty() && rows.values().iter().all(|value| *value == 0.0 || *value == 1.0);
    look_like_counts(features) || (rows.n_cols() >= MANY_TERMS && is_presence())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(n_cols: usize, entries: &[(u32, u32, f32)]) -> Features<'static> {
        Features::Sparse(Csr::from_entries(3, n_cols, entries).unwrap().into())
    }

    #[test]
    fn weights_are_those_of_the_formula() {
        // Term 0 in two of three rows, term 1 in one, term 2 in none; row 2 is empty.
        let counts = rows(3, &[(0, 0, 3.0), (0, 1, 1.0), (1, 0, 2.0)]);
        let tfidf = Tfidf::fit(&counts).unwrap();
        // ln(4/3) + 1, ln(4/2) + 1, ln(4/1) + 1.
        let expected = [1.2876820724517808, 1.6931471805599454, 2.386294361119891];
        assert!(tfidf.idf.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14), "{tfidf:?}");
        let Features::Sparse(out) = tfidf.apply(&counts).unwrap() else { unreachable!() };
        // (1 + ln 3) · 1.28768… = 2.70234…, beside 1.69315…; their length is 3.18894….
        assert!((out.row(0).1[0] - 0.847_408).abs() < 1e-5 && (out.row(0).1[1] - 0.530_943).abs() < 1e-5, "{out:?}");
        assert_eq!((out.row(1).1, out.row(2).1.len()), (&[1.0f32][..], 0));
        let error = tfidf.apply(&rows(4, &[])).unwrap_err().to_string();
        assert!(error.contains("3 columns"), "{error}");
    }

    #[test]
    fn counts_are_told_from_other_rows() {
        let error = Tfidf::fit(&rows(2, &[(0, 0, 1.0), (1, 1, -2.0)])).unwrap_err().to_string();
        assert!(error.starts_with("row 1 of features holds -2, which is no count"), "{error}");
        assert!(Tfidf::fit(&Features::from_f32(1, 1, vec![1.0]).unwrap()).unwrap_err().to_string().contains("tfidf"));
        assert!(look_like_counts(&rows(2, &[(0, 0, 1.0), (1, 1, 2.0)])));
        for other in [&[(0, 0, 1.0), (1, 1, 1.0)][..], &[(0, 0, 0.5), (1, 1, 2.0)], &[(0, 0, -1.0), (1, 1, 2.0)], &[]] {
            assert!(!look_like_counts(&rows(2, other)), "{other:?}");
        }
        assert!(!look_like_counts(&Features::from_f32(1, 2, vec![1.0, 5.0]).unwrap()));
        // Ones in many columns are terms, in few columns categories.
        let ones = [(0, 0, 1.0), (1, 1, 1.0)];
        assert!(look_like_terms(&rows(500, &ones)) && !look_like_terms(&rows(20, &ones)));
    }
}
