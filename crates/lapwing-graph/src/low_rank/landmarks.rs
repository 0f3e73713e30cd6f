//! Landmarks: rows drawn at random, or the centers of a few rounds of k-means among a sample of the rows; and the width of the
//! kernel by a rule from the same sample.
//!
//! k-means: k-means++ seeds (Arthur & Vassilvitskii 2007), then rounds of Lloyd's algorithm; a cluster that loses all its rows
//! keeps its center. Distances in single precision, sums in double, added block by block. The sample has
//! max(20,000, 50·k) rows, which are all that is read.
//!
//! Width: half the mean distance q of a sampled row to its nearest landmark, 0.7·q where landmarks are rows. It follows the
//! landmarks: more of them are closer to the rows. The median of all distances is far too wide for propagation. Of fewer
//! than 5 rows for each landmark, many are landmarks themselves, which says nothing about how far the others are: then the
//! width is at least 0.7 times the mean distance of a row to the nearest other one. Where every row equals a landmark, it is
//! the median distance after all.
//!
//! Cost: O(s·d) memory and (rounds + 1)·O(s·k·d) time for a sample of s rows. Parallel over rows of the sample.

use lapwing_data::{Error, Features, Result, RowSource, Run, Stream, check_memory, gather_finite, parse_choice};
use rand::RngExt;
use rand::seq::index;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::kernel::{CHUNK_ROWS, RowKernel, STRIP, Transposed, nearest};
use crate::knn::{KnnParams, kneighbors};

/// Largest difference from a mean at least: squares below 1.2e-38 lose digits in single precision, and squares of
/// differences matter to seven digits.
const LEAST_EXTENT: f64 = 4e-16;

/// Least rows of the sample.
const SAMPLE_ROWS: usize = 20_000;
/// Rows of the sample for each landmark.
const ROWS_PER_LANDMARK: usize = 50;
/// Rounds of Lloyd's algorithm.
const LLOYD_ROUNDS: usize = 5;
/// With fewer rows for each landmark, distances between rows count too.
const FEW_ROWS_PER_LANDMARK: usize = 5;
/// Rows of the sample between which the median distance is taken.
const MEDIAN_ROWS: usize = 2000;

/// Where landmarks come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LandmarkRule {
    /// Centers of k-means among a sample: the default, several points more accurate.
    #[default]
    KMeans,
    /// Rows drawn without replacement.
    Uniform,
}

impl LandmarkRule {
    /// The rule of that name.
    ///
    /// # Errors
    /// [`Error::Param`] listing the names.
    pub fn parse(text: &str) -> Result<Self> {
        parse_choice("landmarks", text, &[("kmeans", Self::KMeans), ("uniform", Self::Uniform)])
    }
}

/// How wide the kernel is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LandmarkBandwidth {
    /// 0.5·q, or 0.7·q for landmarks that are rows: q the mean distance of sampled rows to their nearest landmark. Of few
    /// rows at least 0.7 times the mean distance to the nearest other row.
    #[default]
    Auto,
    /// The median distance of sampled rows.
    Median,
    /// Half the mean distance of sampled rows to their K-th neighbour in the sample; depends on the size of the sample.
    Neighbors(usize),
    /// σ itself, above 0.
    Value(f64),
    /// No kernel, and a width of 1 that means nothing: for landmarks that are the centers of clusters and nothing else.
    None,
}

impl LandmarkBandwidth {
    /// `auto`, `median`, `knn:K` or a number.
    ///
    /// # Errors
    /// [`Error::Param`].
    pub fn parse(text: &str) -> Result<Self> {
        let bad = || Error::param("bandwidth", format!("'{text}'"), "auto, median, knn:K or a positive number");
        match text {
            "auto" => Ok(Self::Auto),
            "median" => Ok(Self::Median),
            _ => match text.strip_prefix("knn:") {
                Some(k) => k.parse().ok().filter(|&k| k > 0).map(Self::Neighbors).ok_or_else(bad),
                None => text.parse().ok().filter(|&x: &f64| x > 0.0 && x.is_finite()).map(Self::Value).ok_or_else(bad),
            },
        }
    }

    /// Checks the range.
    ///
    /// # Errors
    /// [`Error::Param`].
    pub fn validate(&self) -> Result<()> {
        match *self {
            Self::Value(width) if !(width > 0.0 && width.is_finite()) => {
                Err(Error::param("bandwidth", width, "auto, median, knn:K or a positive number"))
            }
            Self::Neighbors(0) => Err(Error::param("bandwidth", "knn:0", "knn:K with K of at least 1")),
            _ => Ok(()),
        }
    }
}

/// Landmarks, and what rows are told apart by.
#[derive(Clone, Debug)]
pub struct Landmarks {
    /// Mean of the sample (d): taken from rows and landmarks before they are multiplied.
    pub center: Vec<f32>,
    /// Landmarks less the center (k, d).
    pub values: Vec<f32>,
    /// σ of w(x, l) = exp(−|x − l|²/(2σ²)).
    pub width: f64,
    /// Mean distance q of sampled rows to their nearest landmark.
    pub mean_distance: f64,
    /// Numbers of the landmarks' rows, where they are rows.
    pub rows: Option<Vec<u32>>,
}

/// Rows of the source that were drawn, less their mean.
#[derive(Clone, Debug)]
pub struct RowSample {
    /// Numbers of the rows, ascending.
    pub rows: Vec<u32>,
    /// Mean of these rows (d).
    pub center: Vec<f32>,
    /// The rows less their mean (rows, d).
    pub values: Vec<f32>,
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
        // Similarities among landmarks, their factor and what is solved; landmarks and their sums.
        let bytes = (24 * m).saturating_mul(m).saturating_add((12 * m).saturating_mul(d as u64));
        check_memory(&format!("a set of {m} landmarks of {d} columns"), bytes, "take fewer landmarks")?;
        let rows = distinct(n, most, Stream::Landmarks, 0, run);
        // The mean itself may lie far from the origin: it is found with the first row as the origin.
        let origin = gather_finite(source, &rows[..rows.len().min(1)], &[], run)?;
        let mut values = gather_finite(source, &rows, &origin, run)?;
        let mean = means(&values, d);
        let center: Vec<f32> = origin.iter().zip(&mean).map(|(origin, mean)| origin + *mean as f32).collect();
        // What the center is after rounding, less the origin, is what rows are moved by.
        let moved: Vec<f32> = center.iter().zip(&origin).map(|(center, origin)| center - origin).collect();
        for row in values.chunks_exact_mut(d.max(1)) {
            row.iter_mut().zip(&moved).for_each(|(x, moved)| *x -= moved);
        }
        let sample = Self { rows, center, values };
        sample.check_squares()?;
        Ok(sample)
    }

    /// Refuses rows that differ, but by so little that the squares of their differences underflow.
    fn check_squares(&self) -> Result<()> {
        let extent = self.extent();
        if extent == 0.0 || extent >= LEAST_EXTENT {
            return Ok(());
        }
        let at = self.values.iter().position(|x| f64::from(x.abs()) == extent).unwrap_or(0);
        Err(Error::Value {
            what: "features".into(),
            row: self.rows.get(at / self.n_features()).map_or(0, |&row| row as usize),
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
        f64::from(self.values.iter().fold(0.0f32, |most, x| most.max(x.abs())))
    }

    /// Landmarks by a rule, and the width by another.
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
        let (_, distances) = self.assign(&values, run)?;
        // A row that is a landmark says nothing about how far the others are.
        let is_landmark = |row: &u32| rows.as_ref().is_some_and(|rows: &Vec<u32>| rows.binary_search(row).is_ok());
        let others = self.rows.iter().zip(&distances).filter(|(row, _)| !is_landmark(row));
        let (count, sum) = others.fold((0u64, 0.0), |(count, sum), (_, distance)| (count + 1, sum + distance));
        let mean_distance = if count > 0 { sum / count as f64 } else { 0.0 };
        let center = self.center.clone();
        let (width, of) = match bandwidth {
            LandmarkBandwidth::None => return Ok(Landmarks { center, values, width: 1.0, mean_distance, rows }),
            LandmarkBandwidth::Value(width) => (width, ""),
            LandmarkBandwidth::Auto => {
                let share = if rows.is_some() { 0.7 } else { 0.5 };
                let k = values.len() / self.n_features();
                let is_few = self.n_rows() > 1 && self.n_rows() < FEW_ROWS_PER_LANDMARK * k;
                let least = if is_few { 0.7 * self.neighbor_distance(1, run)? } else { 0.0 };
                (least.max(share * mean_distance), "from the rows to their landmarks")
            }
            LandmarkBandwidth::Median => (self.median_distance(), "between rows"),
            LandmarkBandwidth::Neighbors(k) => (0.5 * self.neighbor_distance(k, run)?, "to neighbours"),
        };
        // Rounding leaves a little of a distance of 0.
        let least = 1e-6 * self.extent();
        // Every row is a landmark, or equal to one: any width tells the others apart.
        let is_moot = width <= least && bandwidth == LandmarkBandwidth::Auto;
        let width = if is_moot { self.median_distance() } else { width };
        if width <= least {
            let is_given = matches!(bandwidth, LandmarkBandwidth::Value(_));
            if width == 0.0 && !is_given {
                let expected =
                    format!("a number, or data with distances above 0 {of}; most rows are equal, or landmarks");
                return Err(Error::param("bandwidth", "0 by its rule", expected));
            }
            let by = if is_given { "" } else { " by its rule" };
            let expected = format!(
                "more than {least:.1e}, a millionth of the largest value: single precision does not tell rows apart that are \
                 so near; scale the features"
            );
            return Err(Error::param("bandwidth", format!("{width:.1e}{by}"), expected));
        }
        Ok(Landmarks { center, values, width, mean_distance, rows })
    }

    fn select(&self, chosen: &[u32]) -> Vec<f32> {
        let d = self.n_features();
        chosen.iter().flat_map(|&at| &self.values[at as usize * d..][..d]).copied().collect()
    }

    /// The nearest landmark of each row of the sample, and its distance, 0 for equal ones.
    fn assign(&self, landmarks: &[f32], run: &Run) -> Result<(Vec<u32>, Vec<f64>)> {
        let d = self.n_features();
        // With this width the exponent is −D.
        let kernel = RowKernel::new(landmarks, d, (std::f64::consts::LOG2_E / 2.0).sqrt());
        let mut out = vec![(0u32, 0.0f64); self.n_rows()];
        run.install(|| {
            out.par_chunks_mut(STRIP)
                .zip(self.values.par_chunks(STRIP * d))
                .with_min_len(CHUNK_ROWS / STRIP)
                .try_for_each_init(
                    || (Transposed::default(), vec![0.0; kernel.n_landmarks() * STRIP]),
                    |(transposed, strip), (out, rows)| {
                        run.check()?;
                        kernel.exponents(rows, transposed, strip);
                        let (mut values, mut numbers) = ([0.0; STRIP], [0.0; STRIP]);
                        nearest(strip, 1, &mut values, &mut numbers);
                        for ((out, row), number) in out.iter_mut().zip(rows.chunks_exact(d)).zip(numbers) {
                            let nearest = &landmarks[number as usize * d..][..d];
                            *out = (number as u32, distance(row, nearest));
                        }
                        Ok(())
                    },
                )
        })?;
        Ok(out.into_iter().unzip())
    }

    /// Centers of k-means (k, d).
    fn k_means(&self, k: usize, run: &Run) -> Result<Vec<f32>> {
        let mut centers = self.select(&self.seeds(k, run)?);
        run.progress().update(0, "k-means");
        for round in 0..LLOYD_ROUNDS {
            let (nearest, _) = self.assign(&centers, run)?;
            self.move_to_means(&nearest, &mut centers, run);
            run.progress().update(round as u64 + 1, "k-means");
        }
        Ok(centers)
    }

    /// k-means++: each seed drawn with chances in proportion to the squared distance to those before it.
    fn seeds(&self, k: usize, run: &Run) -> Result<Vec<u32>> {
        let d = self.n_features();
        let mut rng = run.rng(Stream::Landmarks, 2);
        let mut seeds = vec![rng.random_range(0..self.n_rows() as u32)];
        let mut squared = vec![f32::INFINITY; self.n_rows()];
        while seeds.len() < k {
            run.check()?;
            let last = seeds[seeds.len() - 1] as usize;
            let seed = &self.values[last * d..(last + 1) * d];
            let block_sums: Vec<f64> = run.install(|| {
                let blocks = squared.par_chunks_mut(CHUNK_ROWS).zip(self.values.par_chunks(CHUNK_ROWS * d));
                let lower = |(squared, rows): (&mut [f32], &[f32])| lower_to(seed, rows, squared);
                blocks.map(lower).collect()
            });
            let total: f64 = block_sums.iter().sum();
            // Where all rows are seeds or equal to one, any row not yet taken will do.
            let mut left = rng.random::<f64>() * total;
            let block = block_sums.iter().position(|sum| {
                let is_here = left < *sum;
                if !is_here {
                    left -= sum;
                }
                is_here
            });
            let start = block.unwrap_or(0) * CHUNK_ROWS;
            let weights = squared[start..].iter().take(CHUNK_ROWS);
            let found = weights.clone().enumerate().filter(|(_, w)| **w > 0.0).find(|(_, w)| {
                left -= f64::from(**w);
                left < 0.0
            });
            let last_positive = || weights.clone().rposition(|w| *w > 0.0);
            let chosen = found.map(|(at, _)| at).or_else(last_positive).map(|at| (start + at) as u32);
            let unused = || (0..self.n_rows() as u32).find(|row| !seeds.contains(row));
            match chosen.filter(|_| total > 0.0).or_else(unused) {
                Some(seed) => seeds.push(seed),
                None => break,
            }
        }
        Ok(seeds)
    }

    /// Puts each center at the mean of its rows.
    fn move_to_means(&self, nearest: &[u32], centers: &mut [f32], run: &Run) {
        let d = self.n_features();
        let mut rows_of: Vec<Vec<u32>> = vec![Vec::new(); centers.len() / d];
        nearest.iter().enumerate().for_each(|(row, &center)| rows_of[center as usize].push(row as u32));
        run.install(|| {
            centers.par_chunks_mut(d).zip(&rows_of).filter(|(_, rows)| !rows.is_empty()).for_each(|(center, rows)| {
                let mut sums = vec![0.0f64; d];
                for &row in rows {
                    let values = &self.values[row as usize * d..][..d];
                    sums.iter_mut().zip(values).for_each(|(sum, x)| *sum += f64::from(*x));
                }
                center.iter_mut().zip(sums).for_each(|(center, sum)| *center = (sum / rows.len() as f64) as f32);
            });
        });
    }

    /// Median distance of unequal ones among 2,000 rows and those half, a third, … of the sample away; 0 if all are equal.
    fn median_distance(&self) -> f64 {
        let (d, n) = (self.n_features(), self.n_rows());
        let row = |at: usize| &self.values[(at % n) * d..][..d];
        // Rows are sorted by number: several offsets keep neighbours in the file from being the only pairs.
        let offsets = [n / 2, n / 3, n / 5, n / 7].into_iter().filter(|offset| *offset > 0);
        let mut distances: Vec<f64> = offsets
            .flat_map(|offset| (0..n.min(MEDIAN_ROWS)).map(move |at| (at * n.div_ceil(MEDIAN_ROWS), offset)))
            .map(|(at, offset)| distance(row(at), row(at + offset)))
            .filter(|distance| *distance > 0.0)
            .collect();
        let middle = distances.len() / 2;
        match distances.is_empty() {
            true => 0.0,
            false => *distances.select_nth_unstable_by(middle, f64::total_cmp).1,
        }
    }

    /// Mean distance of the rows to their `k`-th neighbour in the sample.
    fn neighbor_distance(&self, k: usize, run: &Run) -> Result<f64> {
        if k >= self.n_rows() {
            return Err(Error::param("bandwidth", format!("knn:{k}"), format!("K below {} rows", self.n_rows())));
        }
        let features = Features::from_f32(self.n_rows(), self.n_features(), self.values.clone())?;
        let params = KnnParams { n_neighbors: k, ..KnnParams::default() };
        let (neighbors, _) = kneighbors(&features, &params, &run.quiet())?;
        let farthest = neighbors.distances.chunks_exact(k).map(|distances| f64::from(distances[k - 1]));
        Ok(farthest.sum::<f64>() / self.n_rows() as f64)
    }
}

/// Lowers squared distances to those to `seed` where they are less; their sum.
fn lower_to(seed: &[f32], rows: &[f32], squared: &mut [f32]) -> f64 {
    for (row, squared) in rows.chunks_exact(seed.len()).zip(squared.iter_mut()) {
        // Four sums, so that additions do not wait for each other.
        let mut sums = [0.0f32; 16];
        for (row, seed) in row.chunks(16).zip(seed.chunks(16)) {
            for (sum, (a, b)) in sums.iter_mut().zip(row.iter().zip(seed)) {
                *sum += (a - b) * (a - b);
            }
        }
        *squared = squared.min(sums.iter().sum());
    }
    squared.iter().map(|x| f64::from(*x)).sum()
}

/// Distance of two rows.
fn distance(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum::<f64>().sqrt()
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

/// Column means of rows (rows, d).
fn means(values: &[f32], d: usize) -> Vec<f64> {
    let mut sums = vec![0.0f64; d];
    for row in values.chunks_exact(d.max(1)) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
    }
    let n = (values.len() / d.max(1)).max(1) as f64;
    sums.iter().map(|sum| sum / n).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::blobs;

    #[test]
    fn centers_of_separate_groups_are_their_means() {
        let run = Run::new(Some(2), 3).unwrap();
        // Three groups of points at 0, 100 and 200, ten times ten within each.
        let values: Vec<f32> = (0..3000).map(|i| (i % 3) as f32 * 100.0 + ((i / 3) % 10) as f32 - 4.5 + 1e6).collect();
        let features = Features::from_f32(3000, 1, values).unwrap();
        let sample = RowSample::draw(&features, 3, &run).unwrap();
        let found = sample.landmarks(3, LandmarkRule::KMeans, LandmarkBandwidth::Auto, &run).unwrap();
        let mut centers: Vec<f64> = found.values.iter().map(|x| f64::from(*x) + f64::from(found.center[0])).collect();
        centers.sort_by(f64::total_cmp);
        assert!(centers.iter().zip([1e6, 1e6 + 100.0, 1e6 + 200.0]).all(|(a, b)| (a - b).abs() < 0.1), "{centers:?}");
        // |−4.5| … |4.5| have the mean 2.5.
        assert!((found.mean_distance - 2.5).abs() < 1e-3 && (found.width - 1.25).abs() < 1e-3);
        let uniform = sample.landmarks(5, LandmarkRule::Uniform, LandmarkBandwidth::Value(2.0), &run).unwrap();
        let rows = uniform.rows.unwrap();
        assert!(rows.is_sorted_by(|a, b| a < b) && rows.len() == 5 && uniform.width == 2.0);
        let median = sample.landmarks(3, LandmarkRule::KMeans, LandmarkBandwidth::Median, &run).unwrap();
        assert!(median.width > 50.0);
        let near = sample.landmarks(3, LandmarkRule::KMeans, LandmarkBandwidth::Neighbors(150), &run).unwrap();
        assert!(near.width > 0.1 && near.width < 2.0, "{}", near.width);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let features = blobs(5000, 7, 4);
        let all: Vec<Landmarks> = [1, 2, 7]
            .into_iter()
            .map(|threads| {
                let run = Run::new(Some(threads), 3).unwrap();
                let sample = RowSample::draw(&features, 30, &run).unwrap();
                sample.landmarks(30, LandmarkRule::KMeans, LandmarkBandwidth::Auto, &run).unwrap()
            })
            .collect();
        assert!(all[1..].iter().all(|other| other.values == all[0].values && other.width == all[0].width));
    }

    #[test]
    fn equal_rows_and_too_many_landmarks_are_told() {
        let run = Run::new(Some(1), 3).unwrap();
        let equal = Features::from_f32(30, 2, vec![7.5; 60]).unwrap();
        let sample = RowSample::draw(&equal, 4, &run).unwrap();
        for rule in [LandmarkRule::KMeans, LandmarkRule::Uniform] {
            let text = sample.landmarks(4, rule, LandmarkBandwidth::Auto, &run).unwrap_err().to_string();
            assert!(text.starts_with("bandwidth is 0 by its rule"), "{text}");
            assert_eq!(sample.landmarks(4, rule, LandmarkBandwidth::Value(1.0), &run).unwrap().values.len(), 8);
        }
        let text = sample.landmarks(31, LandmarkRule::KMeans, LandmarkBandwidth::Auto, &run).unwrap_err().to_string();
        assert!(text.contains("between 1 and 30"));
        // Ten points, each of them many times: every row is a landmark.
        let points = Features::from_f32(300, 2, (0..600).map(|i| ((i / 2 * 7) % 10) as f32 + 0.3).collect()).unwrap();
        let sample = RowSample::draw(&points, 10, &run).unwrap();
        for (rule, k) in [(LandmarkRule::KMeans, 10), (LandmarkRule::KMeans, 40), (LandmarkRule::Uniform, 200)] {
            let found = sample.landmarks(k, rule, LandmarkBandwidth::Auto, &run).unwrap();
            assert!(found.mean_distance < 1e-6 && found.width > 1.0, "{} {}", found.mean_distance, found.width);
        }
        let tiny = Features::from_f32(3, 2, vec![0.0, 1e-17, 2e-17, 0.0, 0.0, 3e-17]).unwrap();
        let text = RowSample::draw(&tiny, 2, &run).unwrap_err().to_string();
        assert!(text.contains("too small to square in single precision; scale the features up"), "{text}");
        let bad = Features::from_f32(3, 2, vec![0.0, 1.0, 2.0, f32::NAN, 4.0, 5.0]).unwrap();
        let text = RowSample::draw(&bad, 2, &run).unwrap_err().to_string();
        assert!(text.starts_with("row 1 of features holds NaN (column 1)"), "{text}");
        for text in ["auto", "median", "knn:7", "0.25"] {
            LandmarkBandwidth::parse(text).unwrap().validate().unwrap();
        }
        assert!(LandmarkBandwidth::parse("knn:0").is_err() && LandmarkBandwidth::parse("-1").is_err());
    }
}
