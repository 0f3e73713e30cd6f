//! Parameters as Python passes them, by the names of the estimators' arguments.

use lapwing::data::{Error, Result, parse_choice};
use lapwing::graph::low_rank::{GlnpSolver, GlnpStart, LandmarkBandwidth, LandmarkRule};
use lapwing::graph::sparsify::{Budget, Sampler, SparsifyParams};
use lapwing::graph::{GraphParams, KnnMethod, Metric, Symmetrize, Weighting, Widths, ZeroRows};
use lapwing::models::baselines::EigenfunctionParams;
use lapwing::models::harmonic::ClassPrior;
use lapwing::models::lapsvm::{
    GramPrecision, KernelKind, KernelLandmarks, KernelSolver, LapSvmParams, LaplacianKind, Stopping,
};
use lapwing::models::low_rank::{Balance, DegreePolicy, FactorKind, Head, PropagationSolver, Select};
use lapwing::models::{
    Certify, Clamp, Decision, Form, HarmonicParams, LabelsDrawn, LowRankParams, Rule, SizeOptions, SizeParams,
};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// How to build a graph.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct GraphOptions {
    n_neighbors: i64,
    metric: String,
    weights: String,
    symmetrize: String,
    bandwidth: Option<f64>,
    method: String,
    recall_target: f64,
    zero_rows: String,
}

/// How to propagate labels.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct HarmonicOptions {
    graph_reg: Option<f64>,
    form: String,
    clamp: String,
    decision: String,
    class_prior: Option<Vec<f64>>,
    size_slack: f64,
    labels_drawn: String,
    tol: f64,
    max_iter: i64,
    certify: String,
}

/// What class sizes are held to.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SizesInput {
    class_prior: Option<Vec<f64>>,
    size_slack: f64,
    labels_drawn: String,
}

/// Eigenfunctions of the density.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct EigenfunctionOptions {
    n_eigenfunctions: i64,
    n_components: Option<i64>,
    n_bins: i64,
    relative_bandwidth: f64,
    density_floor: f64,
    clip: f64,
    fit_weight: f64,
    constant: bool,
}

/// How to propagate labels through a factor of low rank.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct LowRankOptions {
    n_landmarks: i64,
    factor: String,
    landmarks: String,
    n_nearest: i64,
    bandwidth: BandwidthInput,
    alpha: f64,
    balance: String,
    class_prior: Option<Vec<f64>>,
    head: String,
    graph_reg: f64,
    select: String,
    solver: String,
    tol: f64,
    max_iter: i64,
    rcond: f64,
    degree_policy: String,
    glnp_solver: String,
    glnp_start: String,
    glnp_max_iter: i64,
    glnp_tol: f64,
    fit_rows: Option<i64>,
}

/// A kernel machine on a graph.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct LapSvmOptions {
    /// Least squares instead of the squared hinge.
    pub squares: bool,
    kernel: String,
    bandwidth: Option<f64>,
    degree: i64,
    n_landmarks: LandmarksInput,
    ambient_reg: Option<f64>,
    graph_reg: Option<f64>,
    laplacian: String,
    laplacian_power: i64,
    bias: bool,
    solver: String,
    stopping: String,
    stability_tol: f64,
    check_every: Option<i64>,
    validation_share: f64,
    tol: f64,
    max_iter: i64,
    precision: String,
    memory: Option<i64>,
}

/// Landmarks of a kernel: a number, `"auto"`, or none.
#[derive(FromPyObject)]
pub enum LandmarksInput {
    /// So many.
    #[pyo3(transparent)]
    Count(i64),
    /// By rule, or none at all.
    #[pyo3(transparent)]
    Rule(Option<String>),
}

impl LapSvmOptions {
    /// The same in the words of Rust.
    pub fn params(&self) -> Result<LapSvmParams> {
        Ok(LapSvmParams {
            kernel: KernelKind::parse(&self.kernel)?,
            bandwidth: self.bandwidth,
            degree: u32::try_from(self.degree).map_err(|_| Error::param("degree", self.degree, "at least 1"))?,
            n_landmarks: match &self.n_landmarks {
                LandmarksInput::Count(k) => KernelLandmarks::Count(count("n_landmarks", *k)?),
                LandmarksInput::Rule(None) => KernelLandmarks::All,
                LandmarksInput::Rule(Some(rule)) => {
                    parse_choice("n_landmarks", rule, &[("auto", KernelLandmarks::Auto)])?
                }
            },
            ambient_reg: self.ambient_reg,
            graph_reg: self.graph_reg,
            laplacian: LaplacianKind::parse(&self.laplacian)?,
            laplacian_power: count("laplacian_power", self.laplacian_power)?,
            bias: self.bias,
            solver: KernelSolver::parse(&self.solver)?,
            stopping: Stopping::parse(&self.stopping)?,
            stability_tol: self.stability_tol,
            check_every: self.check_every.map(|every| count("check_every", every)).transpose()?,
            validation_share: self.validation_share,
            tol: self.tol,
            max_iter: count("max_iter", self.max_iter)?,
            precision: GramPrecision::parse(&self.precision)?,
            memory: self.memory.map(|bytes| count("memory", bytes)).transpose()?.map(|bytes| bytes as u64),
        })
    }
}

/// Width of a kernel, or the rule for it.
#[derive(FromPyObject)]
pub enum BandwidthInput {
    /// A number.
    #[pyo3(transparent)]
    Value(f64),
    /// A rule.
    #[pyo3(transparent)]
    Rule(String),
}

/// How to sparsify a graph; at most one of the budgets is given.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SparsifyOptions {
    sampler: String,
    distortion: Option<f64>,
    edge_budget: Option<i64>,
    memory: Option<i64>,
    capacity: Option<i64>,
    n_projections: i64,
    ridge: Option<f64>,
}

/// From scores to labels, as the fitted estimator keeps it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct RuleInput {
    offset: Vec<f64>,
    scale: Vec<f64>,
    temperature: Option<f64>,
    prior: Vec<f64>,
}

/// Kernel widths, as the fitted estimator keeps them.
#[derive(FromPyObject)]
pub enum WidthsInput<'py> {
    /// One per row.
    #[pyo3(transparent)]
    PerRow(PyReadonlyArray1<'py, f32>),
    /// One for all, or none.
    #[pyo3(transparent)]
    One(Option<f64>),
}

impl GraphOptions {
    /// The same in the words of Rust.
    pub fn params(&self) -> Result<GraphParams> {
        Ok(GraphParams {
            n_neighbors: count("n_neighbors", self.n_neighbors)?,
            metric: Metric::parse(&self.metric)?,
            weights: Weighting::parse(&self.weights)?,
            symmetrize: Symmetrize::parse(&self.symmetrize)?,
            bandwidth: self.bandwidth,
            knn_method: KnnMethod::parse(&self.method)?,
            recall_target: self.recall_target,
            zero_rows: ZeroRows::parse(&self.zero_rows)?,
            ..GraphParams::default()
        })
    }
}

impl SparsifyOptions {
    /// The same in the words of Rust.
    pub fn params(&self) -> Result<SparsifyParams> {
        let default = SparsifyParams::default();
        let edges = self.edge_budget.map(|edges| count("edge_budget", edges)).transpose()?;
        let memory = self.memory.map(|bytes| count("memory", bytes)).transpose()?;
        let budget = match (self.distortion, edges, memory) {
            (Some(distortion), _, _) => Budget::Distortion(distortion),
            (None, Some(edges), _) => Budget::Edges(edges),
            (None, None, Some(bytes)) => Budget::Memory(bytes as u64),
            (None, None, None) => default.budget,
        };
        Ok(SparsifyParams {
            sampler: Sampler::parse(&self.sampler)?,
            budget,
            capacity: self.capacity.map(|capacity| count("capacity", capacity)).transpose()?,
            n_projections: count("n_projections", self.n_projections)?,
            ridge: self.ridge,
            ..default
        })
    }
}

impl HarmonicOptions {
    /// The same in the words of Rust.
    pub fn params(&self) -> Result<HarmonicParams> {
        Ok(HarmonicParams {
            graph_reg: self.graph_reg,
            form: Form::parse(&self.form)?,
            clamp: Clamp::parse(&self.clamp)?,
            decision: Decision::parse(&self.decision)?,
            class_prior: self.class_prior.clone().map_or(ClassPrior::Labeled, ClassPrior::Given),
            sizes: SizeOptions { size_slack: self.size_slack, labels_drawn: LabelsDrawn::parse(&self.labels_drawn)? },
            tol: self.tol,
            max_iter: count("max_iter", self.max_iter)?,
            certify: Certify::parse(&self.certify)?,
        })
    }
}

impl SizesInput {
    /// The same in the words of Rust.
    pub fn params(&self) -> Result<SizeParams> {
        let labels_drawn = LabelsDrawn::parse(&self.labels_drawn)?;
        Ok(SizeParams {
            class_prior: self.class_prior.clone().map_or(ClassPrior::Labeled, ClassPrior::Given),
            options: SizeOptions { size_slack: self.size_slack, labels_drawn },
        })
    }
}

impl EigenfunctionOptions {
    /// The same in the words of Rust.
    pub fn params(&self) -> Result<EigenfunctionParams> {
        Ok(EigenfunctionParams {
            n_eigenfunctions: count("n_eigenfunctions", self.n_eigenfunctions)?,
            n_components: self.n_components.map(|r| count("n_components", r)).transpose()?,
            n_bins: count("n_bins", self.n_bins)?,
            relative_bandwidth: self.relative_bandwidth,
            density_floor: self.density_floor,
            clip: self.clip,
            fit_weight: self.fit_weight,
            constant: self.constant,
        })
    }
}

impl LowRankOptions {
    /// The same in the words of Rust.
    pub fn params(&self) -> Result<LowRankParams> {
        let n_nearest = usize::try_from(self.n_nearest);
        Ok(LowRankParams {
            n_landmarks: count("n_landmarks", self.n_landmarks)?,
            factor: FactorKind::parse(&self.factor)?,
            landmarks: LandmarkRule::parse(&self.landmarks)?,
            n_nearest: n_nearest
                .map_err(|_| Error::param("n_nearest", self.n_nearest, "at least 0, which means all"))?,
            bandwidth: match &self.bandwidth {
                BandwidthInput::Value(width) => LandmarkBandwidth::Value(*width),
                BandwidthInput::Rule(rule) => LandmarkBandwidth::parse(rule)?,
            },
            alpha: self.alpha,
            balance: Balance::parse(&self.balance)?,
            class_prior: self.class_prior.clone().map_or(ClassPrior::Labeled, ClassPrior::Given),
            head: Head::parse(&self.head)?,
            graph_reg: self.graph_reg,
            select: Select::parse(&self.select)?,
            solver: PropagationSolver::parse(&self.solver)?,
            tol: self.tol,
            max_iter: count("max_iter", self.max_iter)?,
            rcond: self.rcond,
            degree_policy: DegreePolicy::parse(&self.degree_policy)?,
            glnp_solver: GlnpSolver::parse(&self.glnp_solver)?,
            glnp_start: GlnpStart::parse(&self.glnp_start)?,
            glnp_max_iter: count("glnp_max_iter", self.glnp_max_iter)?,
            glnp_tol: self.glnp_tol,
            fit_rows: self.fit_rows.map(|rows| count("fit_rows", rows)).transpose()?,
            ..LowRankParams::default()
        })
    }
}

/// A number of things.
///
/// # Errors
/// [`Error::Param`] if it is negative.
pub fn count(name: &str, value: i64) -> Result<usize> {
    usize::try_from(value).map_err(|_| Error::param(name, value, "at least 1"))
}

impl From<RuleInput> for Rule {
    fn from(rule: RuleInput) -> Self {
        Self { offset: rule.offset, scale: rule.scale, temperature: rule.temperature, prior: rule.prior }
    }
}

impl WidthsInput<'_> {
    /// The same in the words of Rust.
    pub fn widths(&self) -> PyResult<Widths> {
        Ok(match self {
            Self::PerRow(widths) => Widths::PerRow(widths.as_slice()?.to_vec()),
            Self::One(Some(width)) => Widths::One(*width),
            Self::One(None) => Widths::None,
        })
    }
}

/// Graph parameters as a dict that [`GraphOptions`] reads back.
pub fn graph_dict<'py>(py: Python<'py>, params: &GraphParams) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("n_neighbors", params.n_neighbors)?;
    dict.set_item("metric", name(&params.metric))?;
    dict.set_item("weights", name(&params.weights))?;
    dict.set_item("symmetrize", name(&params.symmetrize))?;
    dict.set_item("bandwidth", params.bandwidth)?;
    dict.set_item("method", name(&params.knn_method))?;
    dict.set_item("recall_target", params.recall_target)?;
    dict.set_item("zero_rows", name(&params.zero_rows))?;
    Ok(dict)
}

/// The name of a choice, which is also its serialized form.
pub fn name(choice: &impl serde::Serialize) -> Option<String> {
    serde_json::to_value(choice).ok()?.as_str().map(str::to_owned)
}

/// A rule as a dict that [`RuleInput`] reads back.
pub fn rule_dict<'py>(py: Python<'py>, rule: &Rule) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("offset", &rule.offset)?;
    dict.set_item("scale", &rule.scale)?;
    dict.set_item("temperature", rule.temperature)?;
    dict.set_item("prior", &rule.prior)?;
    Ok(dict)
}

/// Kernel widths as an object that [`WidthsInput`] reads back.
pub fn widths_object<'py>(py: Python<'py>, widths: &Widths) -> PyResult<Bound<'py, PyAny>> {
    Ok(match widths {
        Widths::PerRow(widths) => PyArray1::from_slice(py, widths).into_any(),
        Widths::One(width) => width.into_pyobject(py)?.into_any(),
        Widths::None => py.None().into_bound(py),
    })
}
