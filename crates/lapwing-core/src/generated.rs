//! Rows that are computed when they are read: clusters in any number of dimensions, to try sizes that no file has.

use std::ops::Range;

use lapwing_simd::dispatch;

use crate::hash::mix;
use crate::scan::{Centered, PIECE_VALUES, Place, RowScan, RowSink, pieces};
use crate::{Error, Result, RowReader, RowSource, Run};

/// Rows of overlapping clusters; each row depends only on its number and the seed.
///
/// Row i belongs to class `class(i)`, one of c at random; its values are those of the class's center, spread by ±0.6,
/// plus noise that is close to normal with deviation 1 (the sum of four uniform numbers, as in Irwin–Hall).
///
/// # Example
/// ```
/// use lapwing_core::{GeneratedRows, RowSource, Run};
///
/// let rows = GeneratedRows::new(100_000_000, 100, 10, 0)?;
/// let run = Run::new(None, 0)?;
/// let mut block = vec![0.0; 3 * 100];
/// rows.open(99_999_997, &[], &run)?.read(&mut block, &run)?;
/// assert!(rows.class(99_999_999) < 10);
/// # Ok::<(), lapwing_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GeneratedRows {
    n_rows: usize,
    n_cols: usize,
    seed: u64,
    /// Centers of the classes (c, d).
    centers: Vec<f32>,
}

/// Half the range of the coordinates of centers.
const SPREAD: f64 = 0.6;

impl GeneratedRows {
    /// `n_rows` rows of `n_cols` columns in `n_classes` clusters.
    ///
    /// # Errors
    /// [`Error::Param`] for a number that is 0, or more than 2³² − 1 rows or 2²⁰ columns or classes, or 2²⁶ values of
    /// centers.
    pub fn new(n_rows: usize, n_cols: usize, n_classes: usize, seed: u64) -> Result<Self> {
        let limits =
            [("rows", n_rows, u32::MAX as usize), ("columns", n_cols, 1 << 20), ("classes", n_classes, 1 << 20)];
        if let Some((name, value, most)) = limits.into_iter().find(|(_, value, most)| !(1..=*most).contains(value)) {
            return Err(Error::param(name, value, format!("between 1 and {most}")));
        }
        if n_cols * n_classes > 1 << 26 {
            let value = format!("{n_cols} of {n_classes} classes");
            return Err(Error::param("columns", value, "at most 67,108,864 values of centers"));
        }
        let uniform = |at: usize| crate::hash::uniform(mix(seed ^ 0xC3A5_C85C_97CB_3127).wrapping_add(at as u64));
        let centers = (0..n_cols * n_classes).map(|at| (SPREAD * (2.0 * uniform(at) - 1.0)) as f32).collect();
        Ok(Self { n_rows, n_cols, seed: mix(seed), centers })
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.centers.len() / self.n_cols
    }

    /// Class of row `row`.
    pub fn class(&self, row: usize) -> usize {
        let n_classes = self.n_classes() as u64;
        // The high half of a product is uniform below the factor.
        ((u128::from(self.key(row)) * u128::from(n_classes)) >> 64) as usize
    }

    fn key(&self, row: usize) -> u64 {
        mix(self.seed.wrapping_add(row as u64))
    }
}

#[inline(always)]
fn plain_row(key: u64, center: &[f32], out: &mut [f32]) {
    // Four bytes are uniform on 0..256 each: their sum has mean 510 and variance 4·(256² − 1)/12.
    const SCALE: f32 = 0.006_765_868_6;
    let (first, second) = (key as u32, (key >> 32) as u32);
    for (at, (out, center)) in out.iter_mut().zip(center).enumerate() {
        let word = first.wrapping_add((at as u32).wrapping_mul(0x9E37_79B9));
        let word = ((word ^ (word >> 16)).wrapping_mul(0x85EB_CA6B) ^ second).wrapping_mul(0xC2B2_AE35);
        let word = word ^ (word >> 15);
        let pairs = (word & 0x00FF_00FF) + ((word >> 8) & 0x00FF_00FF);
        let sum = (pairs & 0xFFFF) + (pairs >> 16);
        *out = (sum as i32 - 510) as f32 * SCALE + center;
    }
}

dispatch! {
    pub(crate) fn make_row(key: u64, center: &[f32], out: &mut [f32]) = plain_row
}

impl RowSource for GeneratedRows {
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn n_cols(&self) -> usize {
        self.n_cols
    }

    fn bytes(&self) -> u64 {
        0
    }

    fn is_seekable(&self) -> bool {
        true
    }

    fn identity(&self, _: &Run) -> Result<Option<String>> {
        let classes = self.n_classes();
        Ok(Some(format!("generated {} x {} x {classes}, {:016x}", self.n_rows, self.n_cols, self.seed)))
    }

    fn open<'s>(&'s self, first: usize, center: &'s [f64], _: &Run) -> Result<Box<dyn RowReader + 's>> {
        Ok(Centered::boxed(self, Place::new(self, first, center)?, center))
    }
}

impl RowScan for &GeneratedRows {
    type Value = f32;

    fn read(&mut self, rows: Range<usize>, sink: &mut impl RowSink<f32>, _: &Run) -> Result<()> {
        let d = self.n_cols;
        pieces(rows, PIECE_VALUES / d).try_for_each(|rows| {
            sink.fill(rows.len(), |room| {
                for (room, row) in room.chunks_exact_mut(d).zip(rows) {
                    let class = self.class(row);
                    make_row(self.key(row), &self.centers[class * d..(class + 1) * d], room);
                }
                Ok(())
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_depend_on_their_number_alone_and_look_normal() {
        let run = Run::new(Some(1), 0).unwrap();
        let rows = GeneratedRows::new(5000, 37, 3, 4).unwrap();
        let mut all = vec![0.0; 5000 * 37];
        rows.open(0, &[], &run).unwrap().read(&mut all, &run).unwrap();
        let mut some = vec![0.0; 4 * 37];
        let center = [0.5f64; 37];
        rows.open(1230, &center, &run).unwrap().read(&mut some, &run).unwrap();
        let expected: Vec<f32> = all[1230 * 37..1234 * 37].iter().map(|x| x - 0.5).collect();
        assert_eq!(some, expected);

        // Columns within a class: mean at the center, deviation 1, columns independent.
        let members: Vec<usize> = (0..5000).filter(|&row| rows.class(row) == 1).collect();
        let m = members.len() as f64;
        assert!((m - 5000.0 / 3.0).abs() < 150.0);
        let noise = |row: usize, col: usize| f64::from(all[row * 37 + col] - rows.centers[37 + col]);
        for col in 0..36 {
            let mean = members.iter().map(|&row| noise(row, col)).sum::<f64>() / m;
            let variance = members.iter().map(|&row| noise(row, col).powi(2)).sum::<f64>() / m;
            let product = members.iter().map(|&row| noise(row, col) * noise(row, col + 1)).sum::<f64>() / m;
            assert!(mean.abs() < 0.1 && (variance - 1.0).abs() < 0.12 && product.abs() < 0.1, "column {col}");
        }
        assert!(rows.open(4999, &[], &run).unwrap().read(&mut some, &run).is_err());
        assert!(GeneratedRows::new(0, 1, 1, 0).is_err());
    }
}
