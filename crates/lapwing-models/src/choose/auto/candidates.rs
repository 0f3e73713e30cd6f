//! The candidates: methods with parameters, and what each needs.

use lapwing_core::params::{Parameters, Value};
use lapwing_core::{Error, Result, Run, check_plan};
use lapwing_graph::GraphParams;

use super::given::GivenShares;
use super::params::{AutoParams, Candidates};
use crate::core::method::Method;
use crate::core::problem::Problem;
use crate::methods::forest::{FOREST, Forest, ForestParams};
use crate::methods::harmonic::Harmonic;
use crate::methods::lapsvm::{LAPRLS, LapSvm};
use crate::methods::linear::{LINEAR, Linear, LinearParams};
use crate::methods::low_rank::{LOW_RANK, LowRank, LowRankParams};
use crate::methods::majority::{MAJORITY, Majority};
use crate::methods::nearest_label::{NEAREST_LABEL, NearestLabel, NearestLabelParams};
use crate::methods::unfolded::{UNFOLDED, UnfoldedGnn, UnfoldedParams};

/// Classes up to which all that suit the rows are candidates, whatever they take.
const FEW_CLASSES: usize = 50;
/// Labels × classes² from which on classes are many: there, the linear model takes some three seconds on two cores.
const MOST_WORK: usize = 1 << 25;

/// Whether some candidates would take far longer than the others, and as many labels need not be held out.
pub(super) fn are_many_classes(n_classes: usize, n_labeled: usize) -> bool {
    n_classes > FEW_CLASSES && n_labeled.saturating_mul(n_classes * n_classes) > MOST_WORK
}

/// What a problem holds beside its labels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input {
    pub has_features: bool,
    pub is_graph_given: bool,
    pub has_prior: bool,
}

/// A method with parameters that may label the rows.
pub(super) struct Candidate {
    /// Name, as in [`AutoParams::candidates`].
    pub name: &'static str,
    /// Parameters that differ from the defaults of the method.
    pub parameters: Vec<(&'static str, Value)>,
    pub method: Box<dyn Method>,
}

/// What makes a candidate another one than the method with its defaults.
fn parameters_of(name: &str) -> Vec<(&'static str, Value)> {
    let word = |word: &str| Value::Word(word.into());
    match name {
        "harmonic-plain" => vec![("form", word("plain")), ("decision", word("centered"))],
        // Columns of the kernel: its matrix would take longer than all other candidates together.
        LAPRLS => vec![("n_landmarks", Value::Count(500))],
        _ => Vec::new(),
    }
}

/// These parameters, the others at their defaults.
fn with<P: Parameters + Default>(parameters: &[(&'static str, Value)]) -> Result<P> {
    let mut params = P::default();
    parameters.iter().try_for_each(|(name, value)| params.set(name, value))?;
    Ok(params)
}

impl Candidate {
    /// The candidate of that name, on a graph built with the parameters `graph`.
    pub fn new(name: &'static str, graph: &GraphParams) -> Result<Self> {
        let parameters = parameters_of(name);
        let own = graph.clone();
        let method: Box<dyn Method> = match name {
            "prior" => Box::new(GivenShares),
            MAJORITY => Box::new(Majority),
            NEAREST_LABEL => {
                let GraphParams { metric, zero_rows, .. } = own;
                Box::new(NearestLabel::new(NearestLabelParams { metric, zero_rows }))
            }
            LINEAR => Box::new(Linear::new(LinearParams::default())?),
            FOREST => Box::new(Forest::new(ForestParams::default())?),
            LAPRLS => Box::new(LapSvm::least_squares(with(&parameters)?, own)?),
            UNFOLDED | "unfolded-joined" => Box::new(UnfoldedGnn::new(UnfoldedParams::default(), own)?),
            LOW_RANK => Box::new(LowRank::new(LowRankParams::default())?),
            "harmonic" | "harmonic-plain" | "harmonic-joined" | "harmonic-prior" => {
                Box::new(Harmonic::new(with(&parameters)?, own)?)
            }
            _ => return Err(Error::Internal { reason: format!("a candidate that nothing makes: {name}") }),
        };
        Ok(Self { name, parameters, method })
    }

    /// Refuses to start where the plan says that memory does not suffice. The first candidate is tried in any case: plans are upper
    /// bounds.
    pub fn check_room(&self, problem: &Problem<'_, '_>, is_first: bool, run: &Run) -> Result<()> {
        let bytes = self.method.plan(&problem.size(run)).peak_bytes;
        if is_first { Ok(()) } else { check_plan(&format!("a fit by {}", self.name), bytes, "give fewer rows") }
    }

    /// Whether it is left out of the automatic candidates where classes are many: those that are fitted in steps, the more the more
    /// classes there are, and the second form of the default if features alone make other candidates.
    pub fn is_slow(&self, is_graph_given: bool) -> bool {
        match self.name {
            "harmonic-plain" => !is_graph_given,
            name => ["linear", "laprls", "unfolded-gnn", "unfolded-joined"].contains(&name),
        }
    }

    /// Whether it works on the sum of the given graph and that of the neighbors.
    pub fn is_joined(&self) -> bool {
        self.name.ends_with("-joined")
    }

    /// Whether it starts from the given prior.
    pub fn uses_prior(&self) -> bool {
        self.name.ends_with("prior")
    }

    /// What it needs beside these kinds of input.
    fn lacks(&self, input: Input) -> Option<&'static str> {
        match () {
            () if !input.has_features && (self.method.needs_features() || self.is_joined()) => Some("features"),
            () if !input.is_graph_given && self.is_joined() => Some("a graph beside the features"),
            () if !input.has_prior && self.uses_prior() => Some("a prior"),
            () => None,
        }
    }
}

/// The candidates for a problem, the default first.
///
/// # Errors
/// [`Error::Param`] naming a given candidate that needs what the problem lacks.
pub(super) fn candidates(params: &AutoParams, graph: &GraphParams, input: Input) -> Result<Vec<Candidate>> {
    let names: Vec<&'static str> = match &params.candidates {
        Candidates::Auto => typical(input),
        Candidates::Given(names) => {
            super::params::CANDIDATES.iter().copied().filter(|known| names.iter().any(|name| name == known)).collect()
        }
    };
    let mut suitable = names.into_iter().map(|name| Candidate::new(name, graph)).collect::<Result<Vec<_>>>()?;
    if let Some(needs) =
        suitable.iter().find_map(|candidate| candidate.lacks(input).map(|lacks| (candidate.name, lacks)))
    {
        let (name, lacks) = needs;
        return Err(Error::param("candidates", name, format!("others, or {lacks}: {name} needs it")));
    }
    // Who gives a prior wants it to be used where labels are too few to compare candidates by.
    if let Some(at) = suitable.iter().position(|candidate| candidate.name == "harmonic-prior") {
        suitable[..=at].rotate_right(1);
    }
    Ok(suitable)
}

fn typical(input: Input) -> Vec<&'static str> {
    let mut names = match (input.has_features, input.is_graph_given) {
        (true, false) => vec!["harmonic", "harmonic-plain", "majority", "nearest-label", "linear", "forest", "laprls"],
        (true, true) => {
            vec![
                "harmonic",
                "harmonic-joined",
                "majority",
                "nearest-label",
                "linear",
                "unfolded-gnn",
                "unfolded-joined",
            ]
        }
        (false, _) => vec!["harmonic", "harmonic-plain", "majority"],
    };
    if input.has_prior {
        names.extend(["prior", "harmonic-prior"]);
    }
    names
}
