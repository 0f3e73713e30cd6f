//! The list of methods, and the parameters of each by name.
//!
//! [`METHODS`] is the only list of methods: the program, the Python package and the documentation read it. [`Settings`] holds the
//! parameters of one method under their public names; the values are in the structs of [`MethodParams`].

use lapwing_core::params::{Condition, Parameter, Parameters, Value, nearest, unknown};
use lapwing_core::{Error, Result};
use lapwing_graph::GraphParams;

use crate::auto::{AUTO, Auto, AutoParams};
use crate::baselines::{
    EIGENFUNCTION, Eigenfunction, EigenfunctionParams, FOREST, Forest, ForestParams, LINEAR, Linear, LinearParams,
    MAJORITY, Majority, NEAREST_LABEL, NearestLabel, NearestLabelParams, SIMPLE_HARMONIC, SUBSAMPLING, SimpleHarmonic,
    SimpleHarmonicParams, Subsampling, SubsamplingParams,
};
use crate::harmonic::{Decision, Harmonic, HarmonicParams, SparseHarmonic, SparseHarmonicParams};
use crate::lapsvm::{LAPRLS, LAPSVM};
use crate::low_rank::{FactorKind, LOW_RANK};
use crate::unfolded::UNFOLDED;
use crate::{
    LapSvm, LapSvmParams, LowRank, LowRankParams, Method, SizeParams, SizingParams, UnfoldedGnn, UnfoldedParams,
    WithSizes,
};

/// Parameters of all methods. A method uses the structs that its [`MethodSpec`] lists.
#[derive(Clone, Debug, Default)]
pub struct MethodParams {
    /// The automatic choice.
    pub auto: AutoParams,
    /// The graph, for methods that use one.
    pub graph: GraphParams,
    /// Harmonic propagation.
    pub harmonic: HarmonicParams,
    /// Sparsifying, for harmonic propagation on a sparsified graph.
    pub sparse: SparseHarmonicParams,
    /// Low-rank propagation.
    pub low_rank: LowRankParams,
    /// Laplacian SVM and least squares.
    pub lapsvm: LapSvmParams,
    /// Unfolded graph networks.
    pub unfolded: UnfoldedParams,
    /// Harmonic propagation among a sample of the rows.
    pub subsampling: SubsamplingParams,
    /// Least squares on smooth eigenvectors of the graph.
    pub simple_harmonic: SimpleHarmonicParams,
    /// Eigenfunctions of the density.
    pub eigenfunction: EigenfunctionParams,
    /// The nearest labeled row.
    pub nearest_label: NearestLabelParams,
    /// Randomized and bagged trees on the labeled rows.
    pub forest: ForestParams,
    /// Logistic regression on the labeled rows.
    pub linear: LinearParams,
    /// Class sizes, for all methods except harmonic propagation, whose own parameters include them.
    pub sizing: SizingParams,
}

/// A method: its name, what it is for, and its parameters.
#[derive(Debug)]
#[non_exhaustive]
pub struct MethodSpec {
    /// Name, in the program, in model files and in reports.
    pub name: &'static str,
    /// When to take it, in one sentence.
    pub summary: &'static str,
    /// Its page in the documentation.
    pub page: &'static str,
    /// Its estimators in Python.
    pub estimators: &'static [&'static str],
    parts: &'static [Part],
    /// The factor, if the method is low-rank propagation with a fixed one.
    factor: Option<FactorKind>,
}

/// A struct of parameters that a method uses.
#[derive(Clone, Copy, Debug)]
struct Part {
    of: fn(&MethodParams) -> &dyn Parameters,
    of_mut: fn(&mut MethodParams) -> &mut dyn Parameters,
    /// Heading of these parameters in help and documentation.
    heading: &'static str,
    /// Parameters whose public name differs: (name in the struct, public name).
    renamed: &'static [(&'static str, &'static str)],
}

macro_rules! part {
    ($field:ident, $heading:literal $(, $from:literal => $to:literal)*) => {
        Part {
            of: |params| &params.$field,
            of_mut: |params| &mut params.$field,
            heading: $heading,
            renamed: &[$( ($from, $to) ),*],
        }
    };
}

const GRAPH: Part = part!(graph, "Graph");
const SIZING: Part = part!(sizing, "Class sizes");
/// The graph of a kernel machine. There `bandwidth` is that of the kernel, so the graph's is `graph_bandwidth`.
const GRAPH_BESIDE_KERNEL: Part = part!(graph, "Graph", "bandwidth" => "graph_bandwidth");

const fn spec(
    name: &'static str,
    parts: &'static [Part],
    estimators: &'static [&'static str],
    page: &'static str,
    summary: &'static str,
) -> MethodSpec {
    MethodSpec { name, summary, page, estimators, parts, factor: None }
}

const fn low_rank(
    name: &'static str,
    factor: Option<FactorKind>,
    estimators: &'static [&'static str],
    summary: &'static str,
) -> MethodSpec {
    MethodSpec {
        name,
        summary,
        page: "low-rank",
        estimators,
        parts: &[part!(low_rank, "Low-rank propagation"), SIZING],
        factor,
    }
}

/// All methods.
pub const METHODS: &[MethodSpec] = &[
    spec(
        "auto",
        &[part!(auto, "Automatic choice"), GRAPH, SIZING],
        &["AutoLabeler"],
        "auto",
        "Several methods, weighted by how well they predict hidden labels: for those who do not know which method suits their rows",
    ),
    spec(
        "harmonic",
        &[GRAPH, part!(harmonic, "Harmonic propagation")],
        &["HarmonicClassifier", "HarmonicRegressor"],
        "harmonic",
        "Harmonic functions on the neighbor graph: accurate; up to ten million rows",
    ),
    spec(
        "sparse-harmonic",
        &[GRAPH, part!(harmonic, "Harmonic propagation"), part!(sparse, "Sparsifier")],
        &["SparseHarmonicClassifier"],
        "sparse-harmonic",
        "Harmonic functions on a sparsified graph: for more edges than fit in memory",
    ),
    low_rank(
        LOW_RANK,
        None,
        &["LowRankPropagationClassifier"],
        "Propagation through landmarks: for any number of rows, which are never held in memory",
    ),
    low_rank("anchor", Some(FactorKind::Anchor), &[], "low-rank with the anchor graph"),
    low_rank("nystrom", Some(FactorKind::Nystrom), &[], "low-rank with the Nyström factor"),
    low_rank("glnp", Some(FactorKind::Glnp), &[], "low-rank with a factor learned by global linear neighborhoods"),
    spec(
        LAPSVM,
        &[part!(lapsvm, "Kernel machine"), GRAPH_BESIDE_KERNEL, SIZING],
        &["LaplacianSVC"],
        "lapsvm",
        "A support vector machine that is smooth on the graph: for a kernel that fits the data, and cheap prediction",
    ),
    spec(
        LAPRLS,
        &[part!(lapsvm, "Kernel machine"), GRAPH_BESIDE_KERNEL, SIZING],
        &["LaplacianRidgeClassifier", "LaplacianRidgeRegressor"],
        "lapsvm",
        "Least squares with a kernel, smooth on the graph: as lapsvm, in closed form",
    ),
    spec(
        UNFOLDED,
        &[part!(unfolded, "Unfolded graph network"), GRAPH, SIZING],
        &["UnfoldedGNNClassifier", "UnfoldedGNNRegressor"],
        "unfolded-gnn",
        "An unfolded graph network: for features and a graph that say different things, such as citations",
    ),
    spec(
        EIGENFUNCTION,
        &[part!(eigenfunction, "Eigenfunctions"), SIZING],
        &["baselines.EigenfunctionClassifier"],
        "baselines",
        "Eigenfunctions of the density along principal axes: a fast baseline without a graph",
    ),
    spec(
        SUBSAMPLING,
        &[part!(subsampling, "Subsampling"), GRAPH, part!(harmonic, "Harmonic propagation")],
        &["baselines.SubsamplingHarmonicClassifier"],
        "baselines",
        "Harmonic functions among a sample of the rows, spread to the others: a baseline",
    ),
    spec(
        SIMPLE_HARMONIC,
        &[part!(simple_harmonic, "Eigenvectors"), GRAPH, SIZING],
        &["baselines.SimpleHarmonicClassifier"],
        "baselines",
        "Least squares on smooth eigenvectors of the graph: a baseline",
    ),
    spec(
        NEAREST_LABEL,
        &[part!(nearest_label, "Nearest label"), SIZING],
        &["baselines.NearestLabelClassifier"],
        "baselines",
        "The label of the nearest labeled row: the baseline that every other method should beat",
    ),
    spec(
        LINEAR,
        &[part!(linear, "Linear model"), SIZING],
        &["baselines.LinearClassifier"],
        "baselines",
        "Logistic regression on the labeled rows alone: a baseline, hard to beat where classes overlap",
    ),
    spec(
        FOREST,
        &[part!(forest, "Forest"), SIZING],
        &["baselines.ForestClassifier"],
        "baselines",
        "Randomized and bagged trees on the labeled rows alone: a baseline, hard to beat for columns of different kinds",
    ),
    spec(
        MAJORITY,
        &[],
        &["baselines.MajorityClassifier"],
        "baselines",
        "The most frequent class for every row: a useful method must be better",
    ),
];

/// Names of all methods.
pub fn method_names() -> impl Iterator<Item = &'static str> {
    METHODS.iter().map(|spec| spec.name)
}

impl MethodSpec {
    /// The method of that name.
    ///
    /// # Errors
    /// [`Error::Param`] naming the nearest known name, or all of them.
    pub fn named(name: &str) -> Result<&'static Self> {
        METHODS.iter().find(|spec| spec.name == name).ok_or_else(|| {
            let known: Vec<&str> = method_names().collect();
            let hint = nearest(name, &known).map(|near| format!("; the nearest is {near}")).unwrap_or_default();
            Error::param("method", format!("'{name}'"), format!("one of {}{hint}", known.join(", ")))
        })
    }

    /// Whether the method is another name for low-rank propagation with a fixed factor.
    pub fn is_factor(&self) -> bool {
        self.factor.is_some()
    }

    /// The parameter without its conditions on the factor; `None` if it has no effect with the method or its factor.
    fn kept(&self, mut parameter: Parameter) -> Option<Parameter> {
        if self.name == SUBSAMPLING && parameter.name == "prior_weight" {
            // A prior is for all rows, not for a sample.
            return None;
        }
        let Some(factor) = self.factor else { return Some(parameter) };
        let of_factor = |condition: &Condition| condition.parameter == "factor";
        let holds = |condition: &Condition| !of_factor(condition) || condition.values.contains(&factor.name());
        let had_cases = !parameter.cases.is_empty();
        parameter.cases.retain(|case| case.iter().all(holds));
        let never = had_cases && parameter.cases.is_empty();
        parameter.cases.iter_mut().for_each(|case| case.retain(|condition| !of_factor(condition)));
        parameter.cases.retain(|case| !case.is_empty());
        (!never && parameter.name != "factor").then_some(parameter)
    }
}

/// The parameters of one method by their public names.
#[derive(Clone, Debug)]
pub struct Settings {
    spec: &'static MethodSpec,
    /// The structs that hold the values.
    pub params: MethodParams,
}

impl Settings {
    /// The defaults of the method of that name.
    ///
    /// # Errors
    /// [`Error::Param`] for an unknown name.
    pub fn new(method: &str) -> Result<Self> {
        let spec = MethodSpec::named(method)?;
        let mut params = MethodParams::default();
        params.low_rank.factor = spec.factor.unwrap_or_default();
        Ok(Self { spec, params })
    }

    /// The method.
    pub fn spec(&self) -> &'static MethodSpec {
        self.spec
    }

    /// Heading of a parameter: `Graph`, `Kernel machine`, …; empty for an unknown name.
    pub fn heading(&self, name: &str) -> &'static str {
        self.holder(name).map_or("", |part| part.heading)
    }

    /// Whether a parameter is one of building the graph from features.
    pub fn builds_graph(&self, name: &str) -> bool {
        self.heading(name) == GRAPH.heading
    }

    /// The first struct that has a parameter.
    fn holder(&self, name: &str) -> Option<&'static Part> {
        let has = |part: &&Part| part.inner(name).is_some_and(|name| (part.of)(&self.params).get(name).is_some());
        self.spec.parts.iter().find(has)
    }

    /// The method with these parameters.
    ///
    /// # Errors
    /// [`Error::Param`] naming a parameter outside its range.
    pub fn method(&self) -> Result<Box<dyn Method>> {
        method(self.spec.name, &self.params)
    }

    /// Low-rank propagation with these parameters; `None` if the method is another one.
    ///
    /// # Errors
    /// [`Error::Param`] naming a parameter outside its range.
    pub fn low_rank(&self) -> Result<Option<LowRank>> {
        let is_low_rank = self.spec.name == LOW_RANK || self.spec.is_factor();
        is_low_rank.then(|| low_rank_of(self.spec, &self.params)).transpose()
    }

    /// The class sizes to hold after the fit; `None` if there are none, or if the method holds them itself.
    pub fn sizes(&self) -> Option<SizeParams> {
        sizes(self.spec.name, &self.params)
    }
}

impl Part {
    /// The name in the struct of the parameter with public name `name`.
    fn inner<'n>(&self, name: &'n str) -> Option<&'n str> {
        match self.renamed.iter().find(|(inner, outer)| *inner == name || *outer == name) {
            Some((inner, outer)) if *outer == name => Some(inner),
            Some(_) => None,
            None => Some(name),
        }
    }

    fn list(&self, params: &MethodParams) -> Vec<Parameter> {
        let mut list = (self.of)(params).list();
        for (inner, outer) in self.renamed {
            list.iter_mut().filter(|parameter| parameter.name == *inner).for_each(|p| p.name = outer);
        }
        list
    }
}

impl Parameters for Settings {
    fn list(&self) -> Vec<Parameter> {
        let mut list: Vec<Parameter> = Vec::new();
        for parameter in self.spec.parts.iter().flat_map(|part| part.list(&self.params)) {
            // If several structs have a field of one name, it is one parameter, and `set` sets all of them.
            if !list.iter().any(|known| known.name == parameter.name) {
                list.extend(self.spec.kept(parameter));
            }
        }
        list
    }

    fn get(&self, name: &str) -> Option<Value> {
        self.spec.parts.iter().find_map(|part| (part.of)(&self.params).get(part.inner(name)?))
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<()> {
        let list = self.list();
        if !list.iter().any(|parameter| parameter.name == name) {
            return Err(unknown(name, list.iter().map(|parameter| parameter.name)));
        }
        for part in self.spec.parts {
            if let Some(inner) = part.inner(name)
                && (part.of)(&self.params).get(inner).is_some()
            {
                (part.of_mut)(&mut self.params).set(inner, value)?;
            }
        }
        Ok(())
    }
}

/// The method of that name.
///
/// # Errors
/// [`Error::Param`] listing the known names, or naming a parameter outside its range.
pub fn method(name: &str, params: &MethodParams) -> Result<Box<dyn Method>> {
    let method = bare_method(MethodSpec::named(name)?, params)?;
    match sizes(name, params) {
        Some(sizes) => Ok(Box::new(WithSizes::new(method, sizes)?)),
        None => Ok(method),
    }
}

fn sizes(name: &str, params: &MethodParams) -> Option<SizeParams> {
    match name {
        // Harmonic propagation holds the sizes itself.
        "harmonic" | "sparse-harmonic" => None,
        SUBSAMPLING => {
            let HarmonicParams { decision, class_prior, sizes, .. } = &params.harmonic;
            let sizes = SizeParams { class_prior: class_prior.clone(), options: sizes.clone() };
            (*decision == Decision::Sizes).then_some(sizes)
        }
        _ => params.sizing.sizes(),
    }
}

/// Low-rank propagation, named after its factor if the method fixes it.
fn low_rank_of(spec: &MethodSpec, params: &MethodParams) -> Result<LowRank> {
    match spec.factor {
        Some(factor) => LowRank::with_factor(factor, &params.low_rank),
        None => LowRank::new(params.low_rank.clone()),
    }
}

fn bare_method(spec: &MethodSpec, params: &MethodParams) -> Result<Box<dyn Method>> {
    let graph = || params.graph.clone();
    let harmonic = || Harmonic::new(params.harmonic.clone(), graph());
    Ok(match spec.name {
        AUTO => Box::new(Auto::new(params.auto.clone(), graph())?),
        "harmonic" => Box::new(harmonic()?),
        "sparse-harmonic" => Box::new(SparseHarmonic::new(harmonic()?, params.sparse.clone())?),
        LAPSVM => Box::new(LapSvm::new(params.lapsvm.clone(), graph())?),
        LAPRLS => Box::new(LapSvm::least_squares(params.lapsvm.clone(), graph())?),
        UNFOLDED => Box::new(UnfoldedGnn::new(params.unfolded.clone(), graph())?),
        EIGENFUNCTION => Box::new(Eigenfunction::new(params.eigenfunction.clone())?),
        SUBSAMPLING => {
            // Sizes are held among all rows by `WithSizes`, not among the sample.
            let decision = params.harmonic.decision.without_sizes();
            let harmonic = HarmonicParams { decision, ..params.harmonic.clone() };
            Box::new(Subsampling::new(params.subsampling.clone(), harmonic, graph())?)
        }
        SIMPLE_HARMONIC => Box::new(SimpleHarmonic::new(params.simple_harmonic.clone(), graph())?),
        FOREST => Box::new(Forest::new(params.forest.clone())?),
        LINEAR => Box::new(Linear::new(params.linear.clone())?),
        MAJORITY => Box::new(Majority),
        NEAREST_LABEL => Box::new(NearestLabel::new(params.nearest_label.clone())),
        _ => Box::new(low_rank_of(spec, params)?),
    })
}

#[cfg(test)]
mod tests;
