//! Scores of rows from landmarks or a learned factor. The size of such a model does not grow with n.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use lapwing_core::model_file::{ModelFile, Must};
use lapwing_core::{Error, Features, Matrix, Result, RowSource, Run};
use lapwing_graph::low_rank::{
    Coefficients, FactorSpace, GlnpExtension, HeldRows, Landmarks, RowFactor, RowKernel, RowPass,
};
use serde::{Deserialize, Serialize};

use super::FactorKind;
use super::factor::{LearnedFactor, mark_unreached};
use crate::core::extend::{Extend, Extension, Shape};
use crate::core::rule::{Labeling, Rule};
use crate::core::scores::Extended;
use crate::core::stored::{read_settings, settings};

/// Name of the kind.
pub(crate) const KIND: &str = "low_rank";

/// Scores rows by f(x) = a(x)·P. The row a(x) of the scaled factor follows from similarities to landmarks, or for a learned factor
/// from non-negative least squares.
///
/// Except for learned factors, an unlabeled row of the fit gets the same score as in the fit. A row so far from all landmarks that
/// every similarity is 0 in single precision has no evidence: its scores are NaN.
#[derive(Clone, Debug)]
pub struct LowRankExtension {
    factor: Factor,
    coefficients: Coefficients,
}

/// Computes rows of the factor from rows of features.
#[derive(Clone, Debug)]
enum Factor {
    Landmarks(LandmarkFactor),
    Learned(LearnedFactor),
}

#[derive(Clone, Debug)]
struct LandmarkFactor {
    center: Vec<f64>,
    landmarks: Vec<f32>,
    width: f64,
    rows: RowFactor,
    /// Kernels for dense and for sparse rows, each made when the first such rows come.
    kernels: Box<[OnceLock<RowKernel>; 2]>,
}

/// Settings in the model file: all but the arrays.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Meta {
    /// Width σ, for landmarks.
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<f64>,
    /// Number of nearest landmarks, for anchors.
    #[serde(skip_serializing_if = "Option::is_none")]
    n_nearest: Option<usize>,
    /// Least degree, for Nyström and learned factors.
    #[serde(skip_serializing_if = "Option::is_none")]
    floor: Option<f64>,
    /// Subtracted from every feature value, for learned factors.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<f64>,
}

impl LandmarkFactor {
    fn new(center: Vec<f64>, landmarks: Vec<f32>, width: f64, rows: RowFactor) -> Self {
        Self { center, landmarks, width, rows, kernels: Default::default() }
    }

    /// The kernel for rows of the kind of the source; center and number of columns are those of the fit.
    fn kernel(&self, source: &dyn RowSource) -> &RowKernel {
        let kernel = &self.kernels[usize::from(source.sparse().is_some())];
        kernel.get_or_init(|| RowKernel::new(source, &self.center, &self.landmarks, self.width))
    }

    /// As [`LowRankExtension::each`], of a source from which `center` is subtracted.
    fn each<T: Send>(
        &self,
        pass: &RowPass<'_>,
        coefficients: &Coefficients,
        rows: Range<usize>,
        run: &Run,
        make: impl Fn(usize, Vec<f64>) -> Result<T> + Sync,
        take: impl FnMut(usize, T) -> Result<()> + Send,
    ) -> Result<()> {
        let c = coefficients.n_classes();
        pass.visit(
            rows,
            run,
            FactorSpace::default,
            |space, chunk| {
                let mut scores = vec![0.0; chunk.n_rows * c];
                self.rows.scores(chunk, coefficients, space, &mut scores);
                mark_unreached(&mut scores, c);
                make(chunk.first, scores)
            },
            take,
        )
    }
}

impl LowRankExtension {
    /// `coefficients` (k, c) are those of the rows of `factor`, (1−α) included.
    pub(super) fn new(landmarks: &Landmarks, factor: RowFactor, coefficients: &Matrix) -> Self {
        let Landmarks { center, values, width, .. } = landmarks;
        let factor = LandmarkFactor::new(center.clone(), values.clone(), *width, factor);
        Self { factor: Factor::Landmarks(factor), coefficients: Coefficients::new(coefficients) }
    }

    /// The same for a factor that was learned.
    pub(super) fn learned(factor: LearnedFactor, coefficients: Coefficients) -> Self {
        Self { factor: Factor::Learned(factor), coefficients }
    }

    /// Landmarks k, or columns of a learned factor.
    pub fn n_landmarks(&self) -> usize {
        self.coefficients.n_landmarks()
    }

    /// Kind of the factor.
    pub fn factor(&self) -> FactorKind {
        match &self.factor {
            Factor::Learned(_) => FactorKind::Glnp,
            Factor::Landmarks(LandmarkFactor { rows: RowFactor::Anchor { .. }, .. }) => FactorKind::Anchor,
            Factor::Landmarks(_) => FactorKind::Nystrom,
        }
    }

    /// Landmarks (k, d), in the units of the features; `None` for a learned factor.
    pub fn landmarks(&self) -> Option<Matrix> {
        let Factor::Landmarks(factor) = &self.factor else { return None };
        let mut out = Matrix::filled(self.n_landmarks(), self.n_features(), 0.0);
        let values = factor.landmarks.iter().zip(factor.center.iter().cycle());
        let values = values.map(|(value, center)| f64::from(*value) + center);
        out.values_mut().iter_mut().zip(values).for_each(|(out, value)| *out = value);
        Some(out)
    }

    /// Number of landmarks that a row is a mixture of, 0 for all; `None` unless the factor is that of anchors.
    pub fn n_nearest(&self) -> Option<usize> {
        match &self.factor {
            Factor::Landmarks(LandmarkFactor { rows: RowFactor::Anchor { n_nearest }, .. }) => Some(*n_nearest),
            _ => None,
        }
    }

    /// Width σ of the kernel; `None` for a learned factor.
    pub fn bandwidth(&self) -> Option<f64> {
        if let Factor::Landmarks(factor) = &self.factor { Some(factor.width) } else { None }
    }

    /// Scores (m, c) of rows (m, d); NaN without evidence.
    fn scores(&self, new: &Features<'_>, run: &Run) -> Result<Matrix> {
        let c = self.n_outputs();
        let mut out = Matrix::filled(new.n_rows(), c, 0.0);
        let copied = self.each(
            new,
            0..new.n_rows(),
            run,
            |_, scores| Ok(scores),
            |first, scores| {
                out.values_mut()[first * c..first * c + scores.len()].copy_from_slice(&scores);
                Ok(())
            },
        );
        match copied {
            Ok(()) => Ok(out),
            // The pass stops at one bad value. The check of the features names all bad columns.
            Err(error @ Error::Value { .. }) => Err(new.check(run).err().unwrap_or(error)),
            Err(error) => Err(error),
        }
    }

    /// Scores (m, c) of rows that are held, less the center of the fit or with it still to be subtracted; NaN without evidence.
    pub(super) fn held(&self, rows: &HeldRows, run: &Run) -> Result<Matrix> {
        let Factor::Landmarks(factor) = &self.factor else { return self.scores(&rows.features()?, run) };
        let (features, c) = (rows.features()?, self.n_outputs());
        let pass = RowPass { source: &features, center: rows.center(), kernel: factor.kernel(&features) };
        let mut out = Matrix::filled(rows.n_rows(), c, 0.0);
        let make = |_, scores| Ok(scores);
        factor.each(&pass, &self.coefficients, 0..rows.n_rows(), run, make, |first, scores: Vec<f64>| {
            out.values_mut()[first * c..first * c + scores.len()].copy_from_slice(&scores);
            Ok(())
        })?;
        Ok(out)
    }

    /// Scores the rows `rows` of a source in blocks. `make` gets the first row of a block and its scores (block, c), for several
    /// blocks in parallel. `take` gets the first row and what `make` returned, in the order of the rows.
    ///
    /// # Errors
    /// As [`extend`](Extend::extend), and what `make` and `take` return.
    pub(super) fn each<T: Send>(
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
        let c = self.n_outputs();
        match &self.factor {
            Factor::Landmarks(factor) => {
                let pass = RowPass { source, center: &factor.center, kernel: factor.kernel(source) };
                factor.each(&pass, &self.coefficients, rows, run, make, take)
            }
            Factor::Learned(factor) => factor.rows.each(
                source,
                rows,
                run,
                |first, rows| {
                    let mut scores = factor.scores(rows, &self.coefficients);
                    mark_unreached(&mut scores, c);
                    make(first, scores)
                },
                take,
            ),
        }
    }

    /// Reads the extension from the file of a model of `n_classes` classes.
    ///
    /// # Errors
    /// [`Error::Format`] for arrays that are missing or do not fit together.
    pub(crate) fn stored(file: &ModelFile, n_classes: usize) -> Result<Self> {
        let meta: Meta = read_settings(file, &file.meta[KIND])?;
        let (shape, coefficients) = file.numbers::<f32>("coefficients", &[None, Some(n_classes)], Must::Finite)?;
        let (k, coefficients) = (shape[0], coefficients.as_slice());
        if k == 0 {
            return Err(file.error("it has no coefficients"));
        }
        let floor = meta.floor.map(|floor| file.setting("floor", floor, Must::Positive)).transpose()?;
        let weights = || file.vector::<f64>("degree_weights", &[Some(k)], Must::Finite);
        let factor = match (meta.offset, meta.width, meta.n_nearest, floor) {
            (Some(offset), None, None, Some(floor)) => {
                let rows = GlnpExtension::new(file.matrix("basis", [None, Some(k)], Must::FitSingle)?, offset);
                let rows = rows.map_err(|e| file.error(e.to_string()))?;
                Factor::Learned(LearnedFactor { rows, weights: weights()?, floor })
            }
            (None, Some(width), Some(n_nearest), None) => {
                Factor::Landmarks(stored_landmarks(file, k, width, RowFactor::Anchor { n_nearest })?)
            }
            (None, Some(width), None, Some(floor)) => {
                let rows = RowFactor::Nystrom { weights: weights()?, floor };
                Factor::Landmarks(stored_landmarks(file, k, width, rows)?)
            }
            _ => return Err(file.error("it is neither of anchors nor of a Nyström or a learned factor")),
        };
        let wide = coefficients.iter().map(|x| f64::from(*x)).collect();
        Ok(Self { factor, coefficients: Coefficients::new(&Matrix::new(k, n_classes, wide)?) })
    }
}

impl Extend for LowRankExtension {
    fn shape(&self) -> Shape {
        let n_features = match &self.factor {
            Factor::Landmarks(factor) => factor.center.len(),
            Factor::Learned(factor) => factor.rows.basis().n_rows(),
        };
        Shape { kind: KIND, n_features, n_outputs: self.coefficients.n_classes() }
    }

    /// NaN without evidence.
    ///
    /// # Complexity
    /// O(m·k·(d + c)) time; beside the scores, blocks of a few hundred rows for each thread.
    fn extend(&self, new: &Features<'_>, run: &Run) -> Result<Extended> {
        self.scores(new, run).map(Extended::from)
    }

    fn label_rows(
        &self,
        rule: &Rule,
        source: &dyn RowSource,
        rows: Range<usize>,
        run: &Run,
        take: &mut (dyn FnMut(usize, Labeling) -> Result<()> + Send),
    ) -> Result<()> {
        let c = self.n_outputs();
        let label = |_, scores: Vec<f64>| rule.apply(Arc::new(Matrix::new(scores.len() / c, c, scores)?));
        self.each(source, rows, run, label, take)
    }

    fn owned(&self) -> Result<Extension<'static>> {
        Ok(Arc::new(self.clone()))
    }

    fn store(&self, file: &mut ModelFile) -> Result<()> {
        let (k, d, c) = (self.n_landmarks(), self.n_features(), self.n_outputs());
        let mut meta = Meta::default();
        match &self.factor {
            Factor::Landmarks(factor) => {
                meta.width = Some(factor.width);
                match &factor.rows {
                    RowFactor::Anchor { n_nearest } => meta.n_nearest = Some(*n_nearest),
                    RowFactor::Nystrom { weights, floor } => {
                        meta.floor = Some(*floor);
                        file.insert("degree_weights", &[k], weights.clone())?;
                    }
                    RowFactor::Similarities => {
                        return Err(Error::Internal { reason: "a model without a factor".into() });
                    }
                }
                file.insert("landmarks", &[k, d], factor.landmarks.clone())?;
                let single: Vec<f32> = factor.center.iter().map(|center| *center as f32).collect();
                match single.iter().zip(&factor.center).all(|(single, center)| f64::from(*single) == *center) {
                    true => file.insert("center", &[d], single)?,
                    false => file.insert("center", &[d], factor.center.clone())?,
                }
            }
            Factor::Learned(factor) => {
                (meta.floor, meta.offset) = (Some(factor.floor), Some(factor.rows.offset()));
                file.insert("degree_weights", &[k], factor.weights.clone())?;
                file.insert("basis", &[d, k], factor.rows.basis().values().to_vec())?;
            }
        }
        file.meta[KIND] = settings(meta)?;
        file.insert("coefficients", &[k, c], self.coefficients.values().to_vec())
    }
}

fn stored_landmarks(file: &ModelFile, k: usize, width: f64, rows: RowFactor) -> Result<LandmarkFactor> {
    let (shape, landmarks) = file.numbers::<f32>("landmarks", &[Some(k), None], Must::Finite)?;
    let d = shape[1];
    // In single precision where that holds it.
    let center: Vec<f64> = if file.type_of("center") == Some("f32") {
        let (_, center) = file.numbers::<f32>("center", &[Some(d)], Must::Finite)?;
        center.as_slice().iter().map(|&center| center.into()).collect()
    } else {
        file.vector::<f64>("center", &[Some(d)], Must::Finite)?
    };
    let width = file.setting("width", width, Must::Positive)?;
    if d == 0 || matches!(rows, RowFactor::Anchor { n_nearest } if n_nearest > k) {
        return Err(file.error("its landmarks have no columns, or are fewer than a row is a mixture of"));
    }
    Ok(LandmarkFactor::new(center, landmarks.as_slice().to_vec(), width, rows))
}
