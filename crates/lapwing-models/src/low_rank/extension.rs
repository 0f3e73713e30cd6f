//! Scores of any rows from the landmarks: what a model keeps, whose size does not grow with n.

use std::ops::Range;

use lapwing_data::model_file::ModelFile;
use lapwing_data::{Error, Features, Matrix, Result, RowSource, Run};
use lapwing_graph::low_rank::{Coefficients, FactorSpace, Landmarks, RowFactor, RowKernel, RowPass};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::LOW_RANK;

/// What scores rows by their similarities to landmarks: f(x) = a(x)·P.
///
/// An unlabeled row of the fit has the same score as it was given there. A row so far from all landmarks that every
/// similarity is 0 in single precision has no evidence: its scores are NaN.
#[derive(Clone, Debug)]
pub struct LowRankExtension {
    center: Vec<f32>,
    landmarks: Vec<f32>,
    width: f64,
    factor: RowFactor,
    coefficients: Coefficients,
    kernel: RowKernel,
}

/// Everything but the arrays.
#[derive(Serialize, Deserialize)]
struct Meta {
    width: f64,
    /// Landmarks nearest to a row, for anchors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    n_nearest: Option<usize>,
    /// Least degree, for Nyström.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    floor: Option<f64>,
}

impl LowRankExtension {
    /// `coefficients` (k, c) are those of the rows of `factor`, (1−α) included.
    pub(super) fn new(landmarks: &Landmarks, factor: RowFactor, coefficients: &Matrix) -> Self {
        Self::of(
            landmarks.center.clone(),
            landmarks.values.clone(),
            landmarks.width,
            factor,
            Coefficients::new(coefficients),
        )
    }

    fn of(center: Vec<f32>, landmarks: Vec<f32>, width: f64, factor: RowFactor, coefficients: Coefficients) -> Self {
        let kernel = RowKernel::new(&landmarks, center.len(), width);
        Self { center, landmarks, width, factor, coefficients, kernel }
    }

    /// Columns of the features.
    pub fn n_features(&self) -> usize {
        self.center.len()
    }

    /// Landmarks k.
    pub fn n_landmarks(&self) -> usize {
        self.kernel.n_landmarks()
    }

    /// Classes c.
    pub fn n_classes(&self) -> usize {
        self.coefficients.n_classes()
    }

    /// Landmarks (k, d), in the units of the features.
    pub fn landmarks(&self) -> Matrix {
        let mut out = Matrix::filled(self.n_landmarks(), self.n_features(), 0.0);
        let values = self.landmarks.iter().zip(self.center.iter().cycle());
        let values = values.map(|(value, center)| f64::from(*value) + f64::from(*center));
        out.values_mut().iter_mut().zip(values).for_each(|(out, value)| *out = value);
        out
    }

    /// Landmarks that a row is a mixture of, 0 for all; `None` for a factor that is not of anchors.
    pub fn n_nearest(&self) -> Option<usize> {
        if let RowFactor::Anchor { n_nearest } = self.factor { Some(n_nearest) } else { None }
    }

    /// Width σ of the kernel.
    pub fn bandwidth(&self) -> f64 {
        self.width
    }

    /// Scores (m, c) of new rows (m, d); NaN without evidence.
    ///
    /// # Errors
    /// [`Error::Shape`] unless the columns are those of the fit, [`Error::Value`] for values that are not finite,
    /// [`Error::Interrupted`].
    ///
    /// # Complexity
    /// O(m·k·(d + c)) time; beside the scores, blocks of a few hundred rows for each thread.
    pub fn extend(&self, new: &Features<'_>, run: &Run) -> Result<Matrix> {
        let c = self.n_classes();
        let mut out = Matrix::filled(new.n_rows(), c, 0.0);
        self.each(
            new,
            0..new.n_rows(),
            run,
            |_, scores| Ok(scores),
            |first, scores| {
                out.values_mut()[first * c..first * c + scores.len()].copy_from_slice(&scores);
                Ok(())
            },
        )?;
        Ok(out)
    }

    /// Scores the rows `rows` of a source in blocks: `make` makes something of the first row of a block and its scores
    /// (block, c), several blocks at a time, and `take` gets it with that row, in the order of the rows.
    ///
    /// # Errors
    /// As [`extend`](Self::extend), and what `make` and `take` return.
    pub fn each<T: Send>(
        &self,
        source: &dyn RowSource,
        rows: Range<usize>,
        run: &Run,
        make: impl Fn(usize, Vec<f64>) -> Result<T> + Sync,
        take: impl FnMut(usize, T) -> Result<()> + Send,
    ) -> Result<()> {
        if source.n_cols() != self.n_features() {
            let expected = format!("{} columns", self.n_features());
            return Err(Error::shape("features", expected, format!("{} columns", source.n_cols())));
        }
        let c = self.n_classes();
        let pass = RowPass { source, center: &self.center, kernel: &self.kernel };
        pass.visit(
            rows,
            run,
            FactorSpace::default,
            |space, chunk| {
                let mut scores = vec![0.0; chunk.n_rows * c];
                self.factor.scores(chunk, &self.coefficients, space, &mut scores);
                for row in scores.chunks_exact_mut(c) {
                    if row.iter().all(|score| *score == 0.0) {
                        row.fill(f64::NAN);
                    }
                }
                make(chunk.first, scores)
            },
            take,
        )
    }

    /// All of it as bytes, for [`from_bytes`](Self::from_bytes).
    ///
    /// # Errors
    /// None in practice; see [`ModelFile::insert`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut file = ModelFile::new(LOW_RANK, json!({ "n_classes": self.n_classes() }));
        self.store(&mut file)?;
        Ok(file.to_bytes())
    }

    /// What [`to_bytes`](Self::to_bytes) made bytes of.
    ///
    /// # Errors
    /// [`Error::Format`] for bytes of something else, and for arrays that are missing or do not fit together.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let file = ModelFile::from_bytes(bytes, "the bytes of landmarks")?;
        file.expect_kind(&[LOW_RANK])?;
        let n_classes = file.meta["n_classes"].as_u64().and_then(|c| usize::try_from(c).ok());
        let n_classes = n_classes.ok_or_else(|| file.error("the number of classes is missing"))?;
        Self::stored(&file, n_classes)
    }

    /// Adds its arrays to a model.
    ///
    /// # Errors
    /// None in practice; see [`ModelFile::insert`].
    pub(crate) fn store(&self, file: &mut ModelFile) -> Result<()> {
        let (k, d, c) = (self.n_landmarks(), self.n_features(), self.n_classes());
        let mut meta = Meta { width: self.width, n_nearest: None, floor: None };
        match &self.factor {
            RowFactor::Anchor { n_nearest } => meta.n_nearest = Some(*n_nearest),
            RowFactor::Nystrom { weights, floor } => {
                meta.floor = Some(*floor);
                file.insert("degree_weights", &[k], weights.clone())?;
            }
            RowFactor::Similarities => return Err(Error::Internal { reason: "a model without a factor".into() }),
        }
        let fault = |e| Error::Internal { reason: format!("the settings cannot be written: {e}") };
        file.meta["low_rank"] = serde_json::to_value(meta).map_err(fault)?;
        file.insert("landmarks", &[k, d], self.landmarks.clone())?;
        file.insert("coefficients", &[k, c], self.coefficients.values().to_vec())?;
        file.insert("center", &[d], self.center.clone())
    }

    /// The same from a model of `n_classes` classes.
    ///
    /// # Errors
    /// [`Error::Format`] for arrays that are missing or do not fit together.
    pub(crate) fn stored(file: &ModelFile, n_classes: usize) -> Result<Self> {
        let meta = Meta::deserialize(&file.meta["low_rank"])
            .map_err(|e| file.error(format!("the settings of the model cannot be read ({e})")))?;
        let (shape, landmarks) = file.array::<f32>("landmarks", &[None, None])?;
        let (k, d) = (shape[0], shape[1]);
        let center = file.array::<f32>("center", &[Some(d)])?.1.as_slice().to_vec();
        let coefficients = file.array::<f32>("coefficients", &[Some(k), Some(n_classes)])?.1.as_slice();
        let wide = coefficients.iter().map(|x| f64::from(*x)).collect();
        let factor = match (meta.n_nearest, meta.floor) {
            (Some(n_nearest), None) => RowFactor::Anchor { n_nearest },
            (None, Some(floor)) if floor > 0.0 && floor.is_finite() => {
                let weights = file.array::<f64>("degree_weights", &[Some(k)])?.1.as_slice().to_vec();
                RowFactor::Nystrom { weights, floor }
            }
            _ => return Err(file.error("it is neither of anchors nor of a Nyström factor")),
        };
        let values = [landmarks.as_slice(), &center, coefficients];
        let is_finite = values.iter().all(|values| values.iter().all(|x| x.is_finite()));
        if k == 0 || d == 0 || !is_finite || !(meta.width > 0.0 && meta.width.is_finite()) {
            return Err(file.error("its landmarks, coefficients or width are out of range"));
        }
        let coefficients = Coefficients::new(&Matrix::new(k, n_classes, wide)?);
        Ok(Self::of(center, landmarks.as_slice().to_vec(), meta.width, factor, coefficients))
    }
}
