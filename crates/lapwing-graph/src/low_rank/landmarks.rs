//! Chooses landmarks, which are rows drawn at random or the centers of a few rounds of k-means on a sample of the rows, and the
//! width of the kernel, by a rule from the same sample.
//!
//! k-means is in `k_means.rs`, nearest landmarks and distances to them in `nearest.rs`; a cluster that loses all its rows keeps
//! its center. The sample has max(20,000, 50·k) rows; no other row is read.
//!
//! Width: half the mean distance q of a sampled row to its nearest landmark, 0.7·q where landmarks are rows. It follows the
//! landmarks: more of them are closer to the rows. The median of all distances is far too wide for propagation. Of fewer
//! than 5 rows for each landmark, many are landmarks themselves, and q does not show how far the other rows are: then the
//! width is at least 0.7 times the mean distance of a row to the nearest other one. Where every row equals a landmark, it is
//! the median distance.
//!
//! Cost: O(s·d) memory and (rounds + 1)·O(s·k·d) time for a sample of s rows; for sparse rows with e stored values in all, O(e)
//! memory and (rounds + 1)·O(e·k + k·d) time. Parallel over rows of the sample.

mod k_means;
mod nearest;

use lapwing_core::{Csr, Error, Features, Result, RowSource, Run, Stream, check_memory, choices, gather_finite};
use rand::seq::index;

use super::held::HeldRows;
use crate::knn::{KnnParams, Metric, kneighbors};

/// Smallest allowed value of the largest difference from a mean. Squares below 1.2e-38 lose digits in single precision, and squares
/// of differences must have seven digits.
const LEAST_EXTENT: f64 = 4e-16;

/// Fewest rows of the sample.
const SAMPLE_ROWS: usize = 20_000;
/// Rows of the sample for each landmark.
const ROWS_PER_LANDMARK: usize = 50;
/// With fewer rows for each landmark, the width also depends on distances between rows.
const FEW_ROWS_PER_LANDMARK: usize = 5;
/// Rows whose distances have the median that is taken.
const MEDIAN_ROWS: usize = 2000;

choices! {
    /// How landmarks are chosen.
    pub enum LandmarkRule("landmarks", default KMeans) {
        /// Centers of k-means on a sample of the rows; on images accuracy is several points higher.
        KMeans = "kmeans",
        /// Rows drawn without replacement.
        Uniform = "uniform",
    }
}

/// Width of the kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LandmarkBandwidth {
    /// 0.5·q, or 0.7·q for landmarks that are rows, q the mean distance of sampled rows to their nearest landmark. With few
    /// rows, at least 0.7 times the mean distance to the nearest other row.
    Auto,
    /// σ itself, above 0.
    Value(f64),
    /// No kernel (the width is 1 and not used), for landmarks that only serve as centers of clusters.
    None,
}

/// Landmarks, with the center and the width of the kernel.
#[derive(Clone, Debug)]
pub struct Landmarks {
    /// Mean of the sample (d), subtracted from rows and landmarks before they are multiplied.
    pub center: Vec<f64>,
    /// Landmarks minus the center (k, d).
    pub values: Vec<f32>,
    /// σ of w(x, l) = exp(−|x − l|²/(2σ²)).
    pub width: f64,
    /// Mean distance q of sampled rows to their nearest landmark.
    pub mean_distance: f64,
    /// Row numbers of the landmarks, if they are rows.
    pub rows: Option<Vec<u32>>,
}

/// A random sample of the rows, minus its mean.
#[derive(Clone, Debug)]
pub struct RowSample {
    /// Numbers of the rows, ascending.
    pub rows: Vec<u32>,
    /// Mean of these rows (d).
    pub center: Vec<f64>,
    /// The rows (rows, d), minus their mean or with it still to be subtracted.
    pub held: HeldRows,
}

impl RowSample {
    /// Draws `max(20,000, 50·k)` rows, or all there are.
    ///
    /// # Errors
    /// What the source cannot do; [`Error::Value`] for a value that is not finite, and for differences too small to square.
    ///
    /// # Complexity
    /// One seek for each row where the source is seekable, else one pass.
    pub fn draw(source: &dyn RowSource, n_landmarks: usize, run: &Run) -> Result<Self> {
        let (n, d) = (source.n_rows(), source.n_cols());
        let most = SAMPLE_ROWS.max(n_landmarks.saturating_mul(ROWS_PER_LANDMARK)).min(n);
        let m = n_landmarks.min(n) as u64;
        // Similarities among landmarks, their factor and the system; landmarks and their sums.
        let bytes = (24 * m).saturating_mul(m).saturating_add((12 * m).saturating_mul(d as u64));
        check_memory(&format!("a set of {m} landmarks of {d} columns"), bytes, "take fewer landmarks")?;
        let rows = distinct(n, most, Stream::Landmarks, 0, run);
        let sample = match source.sparse() {
            Some(_) => {
                let HeldRows::Sparse { matrix, .. } = HeldRows::gather(source, &rows, &[], run)? else {
                    return Err(Error::Internal { reason: "sparse rows that are dense".into() });
                };
                let center: Vec<f64> = sparse_means(&matrix).into_iter().map(f64::from).collect();
                Self { rows, center: center.clone(), held: HeldRows::Sparse { matrix, center } }
            }
            None => Self::dense(source, rows, run)?,
        };
        sample.check_squares()?;
        Ok(sample)
    }

    /// The rows `rows` of a source of dense rows.
    fn dense(source: &dyn RowSource, rows: Vec<u32>, run: &Run) -> Result<Self> {
        let d = source.n_cols();
        // The mean may be far from 0, so it is computed relative to the first row: its values in single precision, and the rest of them.
        let first = &rows[..rows.len().min(1)];
        let mut origin = vec![0.0f64; d];
        for _ in 0..2 {
            let rest = gather_finite(source, first, &origin, run)?;
            origin.iter_mut().zip(rest).for_each(|(origin, rest)| *origin += f64::from(rest));
        }
        let mut values = gather_finite(source, &rows, &origin, run)?;
        let means = means(&values, d).into_iter().map(|mean| f64::from(mean as f32));
        let exact = origin.iter().zip(means).map(|(origin, mean)| origin + mean);
        let center: Vec<f64> = exact.zip(extents(&values, d)).map(|(center, extent)| rounded(center, extent)).collect();
        // Rows are moved by the center minus the origin.
        let moved: Vec<f32> = center.iter().zip(&origin).map(|(center, origin)| (center - origin) as f32).collect();
        for row in values.chunks_exact_mut(d.max(1)) {
            row.iter_mut().zip(&moved).for_each(|(x, moved)| *x -= moved);
        }
        Ok(Self { rows, center, held: HeldRows::Dense { n_cols: d, values } })
    }

    /// Refuses rows that differ, but by so little that the squares of their differences underflow.
    fn check_squares(&self) -> Result<()> {
        let (extent, row) = self.held.extent();
        if extent == 0.0 || extent >= LEAST_EXTENT {
            return Ok(());
        }
        Err(Error::Value {
            what: "features".into(),
            row: self.rows.get(row).map_or(0, |&row| row as usize),
            col: None,
            value: format!("the largest difference from a mean, {extent:.1e}, too small to square in single precision"),
            advice: "scale the features up".into(),
        })
    }

    /// Columns d.
    fn n_features(&self) -> usize {
        self.center.len().max(1)
    }

    fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// Largest difference of a value from the mean of its column.
    pub fn extent(&self) -> f64 {
        self.held.extent().0
    }

    /// Landmarks by the rule `rule`, and the width by the rule `bandwidth`.
    ///
    /// # Errors
    /// [`Error::Param`] for no landmark or more than rows in the sample, and where the width would be 0;
    /// [`Error::Interrupted`].
    pub fn landmarks(
        &self,
        n_landmarks: usize,
        rule: LandmarkRule,
        bandwidth: LandmarkBandwidth,
        run: &Run,
    ) -> Result<Landmarks> {
        if n_landmarks == 0 || n_landmarks > self.n_rows() {
            let most = self.n_rows();
            return Err(Error::param("n_landmarks", n_landmarks, format!("between 1 and {most}, the number of rows")));
        }
        let (values, chosen) = match rule {
            LandmarkRule::Uniform => {
                let chosen = distinct(self.n_rows(), n_landmarks, Stream::Landmarks, 1, run);
                (self.select(&chosen), Some(chosen))
            }
            LandmarkRule::KMeans => (self.k_means(n_landmarks, run)?, None),
        };
        let rows = chosen.map(|chosen| chosen.iter().map(|&at| self.rows[at as usize]).collect());
        self.with_width(values, rows, bandwidth, run)
    }

    /// Given landmarks (k, d), not centered, and the width by a rule.
    ///
    /// # Errors
    /// As [`RowSample::landmarks`]; [`Error::Shape`] for another number of columns.
    pub fn given(&self, landmarks: &Features<'_>, bandwidth: LandmarkBandwidth, run: &Run) -> Result<Landmarks> {
        if landmarks.n_cols() != self.center.len() {
            let expected = format!("{} columns, as the features", self.center.len());
            return Err(Error::shape("landmarks", expected, format!("{} columns", landmarks.n_cols())));
        }
        landmarks.check(run)?;
        let mut values = vec![0.0; landmarks.n_rows() * landmarks.n_cols()];
        RowSource::open(landmarks, 0, &self.center, run)?.read(&mut values, run)?;
        self.with_width(values, None, bandwidth, run)
    }

    fn with_width(
        &self,
        values: Vec<f32>,
        rows: Option<Vec<u32>>,
        bandwidth: LandmarkBandwidth,
        run: &Run,
    ) -> Result<Landmarks> {
        let distances = self.distances(&values, &self.nearest(&values, run)?, run)?;
        // Rows that are landmarks are left out: their distance is 0.
        let is_landmark = |row: &u32| rows.as_ref().is_some_and(|rows: &Vec<u32>| rows.binary_search(row).is_ok());
        let others = self.rows.iter().zip(&distances).filter(|(row, _)| !is_landmark(row));
        let (count, sum) = others.fold((0u64, 0.0), |(count, sum), (_, distance)| (count + 1, sum + distance));
        let mean_distance = if count > 0 { sum / count as f64 } else { 0.0 };
        let center = self.center.clone();
        let width = match bandwidth {
            LandmarkBandwidth::None => return Ok(Landmarks { center, values, width: 1.0, mean_distance, rows }),
            LandmarkBandwidth::Value(width) => width,
            LandmarkBandwidth::Auto => {
                let share = if rows.is_some() { 0.7 } else { 0.5 };
                let k = values.len() / self.n_features();
                let is_few = self.n_rows() > 1 && self.n_rows() < FEW_ROWS_PER_LANDMARK * k;
                let least = if is_few { 0.7 * self.neighbor_distance(run)? } else { 0.0 };
                least.max(share * mean_distance)
            }
        };
        // Rounding may make a distance of 0 slightly positive.
        let least = 1e-6 * self.extent();
        // Every row is a landmark, or equal to one: any positive width separates them.
        let is_moot = width <= least && bandwidth == LandmarkBandwidth::Auto;
        let width = if is_moot { self.median_distance() } else { width };
        if width <= least {
            let is_auto = bandwidth == LandmarkBandwidth::Auto;
            if width == 0.0 && is_auto {
                let expected = "a number, or data with distances above 0 from the rows to their landmarks; most rows are \
                                equal, or landmarks";
                return Err(Error::param("bandwidth", "0 by its rule", expected));
            }
            let by = if is_auto { " by its rule" } else { "" };
            let expected = format!(
                "more than {least:.1e}, a millionth of the largest value: single precision does not tell rows apart that are \
                 so near; scale the features"
            );
            return Err(Error::param("bandwidth", format!("{width:.1e}{by}"), expected));
        }
        Ok(Landmarks { center, values, width, mean_distance, rows })
    }

    /// The rows at these places, less the center (chosen, d).
    fn select(&self, chosen: &[u32]) -> Vec<f32> {
        let mut out = vec![0.0; chosen.len() * self.n_features()];
        let rows = out.chunks_exact_mut(self.n_features()).zip(chosen);
        rows.for_each(|(out, &at)| self.held.write_row(at as usize, out));
        out
    }

    /// Median of the positive distances between 2,000 rows and the rows half, a third, … of the sample further; 0 if there is none.
    fn median_distance(&self) -> f64 {
        let n = self.n_rows();
        // Rows are sorted by number. Several offsets give pairs that are far apart in the file.
        let offsets = [n / 2, n / 3, n / 5, n / 7].into_iter().filter(|offset| *offset > 0);
        let mut distances: Vec<f64> = offsets
            .flat_map(|offset| (0..n.min(MEDIAN_ROWS)).map(move |at| (at * n.div_ceil(MEDIAN_ROWS), offset)))
            .map(|(at, offset)| self.held.distance(at % n, (at + offset) % n))
            .filter(|distance| *distance > 0.0)
            .collect();
        let middle = distances.len() / 2;
        if distances.is_empty() { 0.0 } else { *distances.select_nth_unstable_by(middle, f64::total_cmp).1 }
    }

    /// Mean distance of the rows to their nearest one in the sample.
    fn neighbor_distance(&self, run: &Run) -> Result<f64> {
        // Sparse rows would be compared by the cosine.
        let params = KnnParams { n_neighbors: 1, metric: Some(Metric::Euclidean), ..KnnParams::default() };
        let (neighbors, _) = kneighbors(&self.held.features()?, &params, &run.quiet())?;
        let sum: f64 = neighbors.distances.iter().map(|distance| f64::from(*distance)).sum();
        Ok(sum / self.n_rows() as f64)
    }
}

/// `count` distinct numbers below `n`, ascending.
fn distinct(n: usize, count: usize, purpose: Stream, block: u64, run: &Run) -> Vec<u32> {
    if count >= n {
        return (0..n as u32).collect();
    }
    let mut chosen: Vec<u32> =
        index::sample(&mut run.rng(purpose, block), n, count).into_iter().map(|row| row as u32).collect();
    chosen.sort_unstable();
    chosen
}

/// A center in single precision, unless values would then be farther from it than they are from each other: time stamps.
fn rounded(center: f64, extent: f32) -> f64 {
    let single = f64::from(center as f32);
    if (single - center).abs() <= f64::from(extent) { single } else { center }
}

/// Largest absolute value of each column of rows (rows, d).
fn extents(values: &[f32], d: usize) -> Vec<f32> {
    let mut most = vec![0f32; d];
    for row in values.chunks_exact(d.max(1)) {
        most.iter_mut().zip(row).for_each(|(most, x)| *most = most.max(x.abs()));
    }
    most
}

/// Column means of rows (rows, d).
fn means(values: &[f32], d: usize) -> Vec<f64> {
    let mut sums = vec![0.0f64; d];
    for row in values.chunks_exact(d.max(1)) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
    }
    let n = (values.len() / d.max(1)).max(1) as f64;
    sums.iter().map(|sum| sum / n).collect()
}

/// Column means (d) of sparse rows.
fn sparse_means(matrix: &Csr<f32>) -> Vec<f32> {
    let mut sums = vec![0.0f64; matrix.n_cols()];
    let entries = matrix.indices().iter().zip(matrix.values());
    entries.for_each(|(&column, x)| sums[column as usize] += f64::from(*x));
    let n = matrix.n_rows().max(1) as f64;
    sums.iter().map(|sum| (sum / n) as f32).collect()
}

#[cfg(test)]
mod tests;
