//! The list of methods, and the parameters of each by name.
//!
//! [`METHODS`] is the only list of methods: the program, the Python package and the documentation read it. [`Settings`] holds the
//! parameters of one method under their public names; the values are in the structs of [`MethodParams`].

use lapwing_core::params::{Condition, Parameter, Parameters, Value, nearest, unknown};
use lapwing_core::{Error, Result};

use crate::choose::auto::Auto;
use crate::core::class_sizes::{LabelsDrawn, SizeParams, WithSizes};
use crate::core::method::Method;
use crate::method_params::MethodParams;
use crate::methods::eigenfunction::{EIGENFUNCTION, Eigenfunction};
use crate::methods::forest::{FOREST, Forest};
use crate::methods::harmonic::{Calibration, Decision, Harmonic, HarmonicParams, SparseHarmonic};
use crate::methods::lapsvm::{LAPRLS, LAPSVM, LapSvm};
use crate::methods::linear::{LINEAR, Linear};
use crate::methods::low_rank::{FactorKind, LOW_RANK, LowRank};
use crate::methods::majority::{MAJORITY, Majority};
use crate::methods::nearest_label::{NEAREST_LABEL, NearestLabel};
use crate::methods::simple_harmonic::{SIMPLE_HARMONIC, SimpleHarmonic};
use crate::methods::subsampling::{SUBSAMPLING, Subsampling};
use crate::methods::unfolded::{UNFOLDED, UnfoldedGnn};

mod published;

pub use published::{PUBLISHED, PublishedName};

/// A method: its name, what it is for, its parameters, and how it is made of them.
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
    make: Make,
    /// The factor, if the method is low-rank propagation with a fixed one.
    factor: Option<FactorKind>,
}

/// Makes a method of its parameters.
type Make = fn(&MethodParams) -> Result<Box<dyn Method>>;

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
    make: Make,
) -> MethodSpec {
    MethodSpec { name, summary, page, estimators, parts, make, factor: None }
}

const fn low_rank_spec(
    name: &'static str,
    factor: Option<FactorKind>,
    estimators: &'static [&'static str],
    summary: &'static str,
    make: Make,
) -> MethodSpec {
    let parts = &[part!(low_rank, "Low-rank propagation"), SIZING];
    MethodSpec { name, summary, page: "low-rank", estimators, parts, make, factor }
}

/// All methods.
pub const METHODS: &[MethodSpec] = &[
    spec(
        "auto",
        &[part!(auto, "Automatic choice"), GRAPH, SIZING],
        &["AutoLabeler"],
        "auto",
        "Several methods, weighted by how well they predict hidden labels: for those who do not know which method suits their rows",
        |p| Ok(Box::new(Auto::new(p.auto.clone(), p.graph.clone())?)),
    ),
    spec(
        "harmonic",
        &[GRAPH, part!(harmonic, "Harmonic propagation")],
        &["HarmonicClassifier", "HarmonicRegressor"],
        "harmonic",
        "Harmonic functions on the neighbor graph: accurate; up to ten million rows",
        |p| Ok(Box::new(harmonic(p)?)),
    ),
    spec(
        "sparse-harmonic",
        &[GRAPH, part!(harmonic, "Harmonic propagation"), part!(sparse, "Sparsifier")],
        &["SparseHarmonicClassifier"],
        "sparse-harmonic",
        "Harmonic functions on a sparsified graph: for more edges than fit in memory",
        |p| Ok(Box::new(SparseHarmonic::new(harmonic(p)?, p.sparse.clone())?)),
    ),
    low_rank_spec(
        LOW_RANK,
        None,
        &["LowRankPropagationClassifier"],
        "Propagation through landmarks: for any number of rows, which are never held in memory",
        |p| Ok(Box::new(low_rank_of(None, p)?)),
    ),
    low_rank_spec("anchor", Some(FactorKind::Anchor), &[], "low-rank with the anchor graph", |p| {
        Ok(Box::new(low_rank_of(Some(FactorKind::Anchor), p)?))
    }),
    low_rank_spec("nystrom", Some(FactorKind::Nystrom), &[], "low-rank with the Nyström factor", |p| {
        Ok(Box::new(low_rank_of(Some(FactorKind::Nystrom), p)?))
    }),
    low_rank_spec(
        "glnp",
        Some(FactorKind::Glnp),
        &[],
        "low-rank with a factor learned by global linear neighborhoods",
        |p| Ok(Box::new(low_rank_of(Some(FactorKind::Glnp), p)?)),
    ),
    spec(
        LAPSVM,
        &[part!(lapsvm, "Kernel machine"), GRAPH_BESIDE_KERNEL, SIZING],
        &["LaplacianSVC"],
        "lapsvm",
        "A support vector machine that is smooth on the graph: for a kernel that fits the data, and cheap prediction",
        |p| Ok(Box::new(LapSvm::new(p.lapsvm.clone(), p.graph.clone())?)),
    ),
    spec(
        LAPRLS,
        &[part!(lapsvm, "Kernel machine"), GRAPH_BESIDE_KERNEL, SIZING],
        &["LaplacianRidgeClassifier", "LaplacianRidgeRegressor"],
        "lapsvm",
        "Least squares with a kernel, smooth on the graph: as lapsvm, in closed form",
        |p| Ok(Box::new(LapSvm::least_squares(p.lapsvm.clone(), p.graph.clone())?)),
    ),
    spec(
        UNFOLDED,
        &[part!(unfolded, "Unfolded graph network"), GRAPH, SIZING],
        &["UnfoldedGNNClassifier", "UnfoldedGNNRegressor"],
        "unfolded-gnn",
        "An unfolded graph network: for features and a graph that say different things, such as citations",
        |p| Ok(Box::new(UnfoldedGnn::new(p.unfolded.clone(), p.graph.clone())?)),
    ),
    spec(
        EIGENFUNCTION,
        &[part!(eigenfunction, "Eigenfunctions"), SIZING],
        &["baselines.EigenfunctionClassifier"],
        "baselines",
        "Eigenfunctions of the density along principal axes: a fast baseline without a graph",
        |p| Ok(Box::new(Eigenfunction::new(p.eigenfunction.clone())?)),
    ),
    spec(
        SUBSAMPLING,
        &[part!(subsampling, "Subsampling"), GRAPH, part!(harmonic, "Harmonic propagation")],
        &["baselines.SubsamplingHarmonicClassifier"],
        "baselines",
        "Harmonic functions among a sample of the rows, spread to the others: a baseline",
        |p| Ok(Box::new(subsampling(p)?)),
    ),
    spec(
        SIMPLE_HARMONIC,
        &[part!(simple_harmonic, "Eigenvectors"), GRAPH, SIZING],
        &["baselines.SimpleHarmonicClassifier"],
        "baselines",
        "Least squares on smooth eigenvectors of the graph: a baseline",
        |p| Ok(Box::new(SimpleHarmonic::new(p.simple_harmonic.clone(), p.graph.clone())?)),
    ),
    spec(
        NEAREST_LABEL,
        &[part!(nearest_label, "Nearest label"), SIZING],
        &["baselines.NearestLabelClassifier"],
        "baselines",
        "The label of the nearest labeled row: the baseline that every other method should beat",
        |p| Ok(Box::new(NearestLabel::new(p.nearest_label.clone()))),
    ),
    spec(
        LINEAR,
        &[part!(linear, "Linear model"), SIZING],
        &["baselines.LinearClassifier"],
        "baselines",
        "Logistic regression on the labeled rows alone: a baseline, hard to beat where classes overlap",
        |p| Ok(Box::new(Linear::new(p.linear.clone())?)),
    ),
    spec(
        FOREST,
        &[part!(forest, "Forest"), SIZING],
        &["baselines.ForestClassifier"],
        "baselines",
        "Randomized and bagged trees on the labeled rows alone: a baseline, hard to beat for columns of different kinds",
        |p| Ok(Box::new(Forest::new(p.forest.clone())?)),
    ),
    spec(
        MAJORITY,
        &[],
        &["baselines.MajorityClassifier"],
        "baselines",
        "The most frequent class for every row: a useful method must be better",
        |_| Ok(Box::new(Majority)),
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
    /// [`Error::Param`] listing the known names, with the one under which a [`PublishedName`] is known here, or the nearest.
    pub fn named(name: &str) -> Result<&'static Self> {
        METHODS.iter().find(|spec| spec.name == name).ok_or_else(|| {
            let known: Vec<&str> = method_names().collect();
            let hint = match PublishedName::find(name) {
                Some(published) => format!("; {published}"),
                None => nearest(name, &known).map(|near| format!("; the nearest is {near}")).unwrap_or_default(),
            };
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
        let has = |part: &&Part| part.inner(name).is_some_and(|name| (part.of)(&self.params).get(name).is_some());
        self.spec.parts.iter().find(has).map_or("", |part| part.heading)
    }

    /// Whether a parameter is one of building the graph from features.
    pub fn builds_graph(&self, name: &str) -> bool {
        self.heading(name) == GRAPH.heading
    }

    /// The settings for labels that were suggested, not drawn at random. Their shares say nothing about the sizes of classes, so that
    /// `labels_drawn` is `balanced` where it was `auto`.
    #[must_use]
    pub fn for_suggested(mut self) -> Self {
        let MethodParams { harmonic, sizing, .. } = &mut self.params;
        for drawn in [&mut harmonic.sizes.labels_drawn, &mut sizing.labels_drawn] {
            if *drawn == LabelsDrawn::Auto {
                *drawn = LabelsDrawn::Balanced;
            }
        }
        self
    }

    /// The settings for sets of classes. These need the score of every labeled row without its own label, whatever the number of rows, so
    /// that `calibration` is `leave-one-out` where it was `auto`.
    #[must_use]
    pub fn for_sets(mut self) -> Self {
        let calibration = &mut self.params.harmonic.calibration;
        if *calibration == Calibration::Auto {
            *calibration = Calibration::LeaveOneOut;
        }
        self
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
        is_low_rank.then(|| low_rank_of(self.spec.factor, &self.params)).transpose()
    }

    /// The class sizes to hold after the fit; `None` if there are none, or if the method holds them itself.
    pub fn sizes(&self) -> Option<SizeParams> {
        sizes(self.spec, &self.params)
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
    let spec = MethodSpec::named(name)?;
    let method = (spec.make)(params)?;
    match sizes(spec, params) {
        Some(sizes) => Ok(Box::new(WithSizes::new(method, sizes)?)),
        None => Ok(method),
    }
}

/// The sizes of classes that [`WithSizes`] holds; harmonic propagation holds them itself, but not among all rows if it labels a sample.
fn sizes(spec: &MethodSpec, params: &MethodParams) -> Option<SizeParams> {
    let has = |part: &Part| spec.parts.iter().any(|own| own.heading == part.heading);
    if has(&SIZING) {
        return params.sizing.sizes();
    }
    let HarmonicParams { decision, class_prior, sizes, .. } = &params.harmonic;
    let is_held = spec.name == SUBSAMPLING && *decision == Decision::Sizes;
    is_held.then(|| SizeParams { class_prior: class_prior.clone(), options: sizes.clone() })
}

fn harmonic(params: &MethodParams) -> Result<Harmonic> {
    Harmonic::new(params.harmonic.clone(), params.graph.clone())
}

fn subsampling(params: &MethodParams) -> Result<Subsampling> {
    let MethodParams { graph, harmonic, subsampling, .. } = params;
    let decision = if harmonic.decision == Decision::Sizes { Decision::Auto } else { harmonic.decision };
    let inner = Harmonic::new(HarmonicParams { decision, ..harmonic.clone() }, graph.clone())?;
    Subsampling::new(subsampling.clone(), graph.clone(), Box::new(inner))
}

/// Low-rank propagation, named after its factor if the method fixes it.
fn low_rank_of(factor: Option<FactorKind>, params: &MethodParams) -> Result<LowRank> {
    match factor {
        Some(factor) => LowRank::with_factor(factor, &params.low_rank),
        None => LowRank::new(params.low_rank.clone()),
    }
}

#[cfg(test)]
mod tests;
