//! Sparse-HFS: harmonic functions on graphs too large to hold (Calandriello, Lazaric, Valko & Koutis 2015).
//!
//! A sparsifier ([`lapwing_graph::sparsify`]) reads the edges once, and the harmonic function is solved on the edges it keeps.
//! If the edges can be read again, the solution is refined on the graph itself ([`Refiner`]), which the paper does not do.
//! From features, the nearest-neighbor graph is built in batches ([`KnnEdges`]) and never held: k may be in the thousands.
//!
//! Cost: that of the sparsifier, of a solve on its edges, and of a pass over all edges for each refinement.

use std::path::PathBuf;

use lapwing_core::params::at_least;
use lapwing_core::{EdgeSource, Error, Report, Result, Run, parameters};
use lapwing_graph::sparsify::{Checkpoint, Sampler, Sparsifier, SparsifyParams, SparsifyReport};
use lapwing_graph::{AffinityGraph, Graph, GraphParams, KnnEdges};

use super::refine::Refiner;
use super::{Clamp, Harmonic, Solved, plan};
use crate::core::fitting::Fitting;
use crate::{Fitted, Method, Plan, Problem, ProblemSize};

parameters! {
    /// Parameters of harmonic propagation on a sparsified graph, besides those of the function and the graph.
    pub struct SparseHarmonicParams {
        /// Passes over the edges that refine the labels on the whole graph. Auto is 3 if the edges can be read again, else 0.
        /// For a graph of features, each pass searches the neighbors again.
        refinements: Option<usize> = None, or "auto", in at_least(0.0);
    }
    parts {
        /// The sparsifier.
        sparsify: SparsifyParams
    }
    extra {
        /// File in which the sparsifier is saved while it reads, so that a stopped fit can be resumed; default none. For edges
        /// that can be read again. The fit does not remove the file.
        #[serde(skip)]
        checkpoint: Option<PathBuf> = None
    }
}

/// Passes for edges that can be read again. On the spam mails of `docs/results/sparse-hfs.md` two passes reduce the loss of
/// accuracy from 1.5 points to 0.6.
const REFINEMENTS: usize = 3;

/// Harmonic classifier on a sparsified graph: parameters, checked.
#[derive(Clone, Debug)]
pub struct SparseHarmonic {
    harmonic: Harmonic,
    params: SparseHarmonicParams,
}

/// The source of the edges.
enum Source<'p, 'a> {
    Given(&'p dyn EdgeSource),
    Neighbors(Box<KnnEdges<'a>>),
}

impl SparseHarmonic {
    /// Takes the parameters.
    ///
    /// # Errors
    /// [`Error::Param`] naming a parameter outside its range.
    pub fn new(harmonic: Harmonic, params: SparseHarmonicParams) -> Result<Self> {
        params.sparsify.validate()?;
        if params.refinements.is_some_and(|passes| passes > 0) && harmonic.params.clamp == Clamp::Hard {
            let passes = params.refinements.unwrap_or(0);
            return Err(Error::param("refinements", passes, "0 with labels that are clamped hard"));
        }
        Ok(Self { harmonic, params })
    }

    fn source<'p, 'a>(&self, problem: &Problem<'p, 'a>, report: &mut Report, run: &Run) -> Result<Source<'p, 'a>> {
        match (problem.edges, problem.graph, problem.features) {
            (Some(edges), _, _) => Ok(Source::Given(edges)),
            (None, Some(affinity), _) => Ok(Source::Given(affinity.graph.adjacency())),
            (None, None, Some(features)) => {
                let total = features.n_rows() as u64;
                self.harmonic.graph.note(features, report);
                let edges = report
                    .time_steps("neighbors", total, run, |_| KnnEdges::new(features, &self.harmonic.graph, run))?;
                Ok(Source::Neighbors(Box::new(edges)))
            }
            (None, None, None) => Err(Error::shape("the problem", "features or a graph", "neither")),
        }
    }

    fn refinements(&self, edges: &dyn EdgeSource) -> Result<usize> {
        let may_read = edges.is_rereadable();
        match self.params.refinements {
            Some(passes) if passes > 0 && !may_read => {
                Err(Error::param("refinements", passes, "0 for edges that can be read only once"))
            }
            None if !may_read => Ok(0),
            _ => Ok(self.planned_refinements()),
        }
    }

    /// Number of passes if the edges can be read again.
    fn planned_refinements(&self) -> usize {
        let default = if self.harmonic.params.clamp == Clamp::Soft { REFINEMENTS } else { 0 };
        self.params.refinements.unwrap_or(default)
    }

    fn checkpoint(&self, source: &dyn EdgeSource) -> Result<Option<Checkpoint>> {
        let Some(path) = &self.params.checkpoint else { return Ok(None) };
        match source.is_rereadable() {
            true => Ok(Some(Checkpoint::new(path))),
            false => Err(Error::param("checkpoint", path.display(), "none for edges that can be read only once")),
        }
    }

    fn sparsified(&self, source: &dyn EdgeSource, report: &mut Report, run: &Run) -> Result<(Graph, SparsifyReport)> {
        let mut checkpoint = self.checkpoint(source)?;
        let mut sparsifier =
            Sparsifier::start(source.n_nodes(), self.params.sparsify.clone(), checkpoint.as_ref(), run)?;
        if sparsifier.n_rows() > 0 {
            report.add_part("resume", &serde_json::json!({"rows": sparsifier.n_rows()}))?;
        }
        sparsifier.read(source, checkpoint.as_mut(), run)?;
        sparsifier.finish(run)
    }
}

impl Source<'_, '_> {
    fn edges(&self) -> &dyn EdgeSource {
        match self {
            Self::Given(edges) => *edges,
            Self::Neighbors(edges) => &**edges,
        }
    }

    /// The sparse `graph` with the kernel widths and reports of the graph that it replaces: that of the neighbors, or `given`.
    fn affinity(&self, graph: Graph, given: Option<&AffinityGraph>) -> AffinityGraph {
        let affinity = AffinityGraph::given(graph);
        match (self, given) {
            (Self::Neighbors(edges), _) => {
                AffinityGraph { widths: edges.widths().clone(), knn: Some(edges.report().clone()), ..affinity }
            }
            (Self::Given(_), Some(given)) => {
                let (widths, knn, learned) = (given.widths.clone(), given.knn.clone(), given.learned.clone());
                AffinityGraph { widths, knn, learned, ..affinity }
            }
            (Self::Given(_), None) => affinity,
        }
    }
}

impl Method for SparseHarmonic {
    fn name(&self) -> &'static str {
        "sparse-harmonic"
    }

    /// Parameters of the graph. It is held only if several methods share it; this method alone never holds it.
    fn graph_params(&self) -> Option<&GraphParams> {
        Some(&self.harmonic.graph)
    }

    fn takes_prior(&self) -> bool {
        true
    }

    fn reads_streams(&self) -> bool {
        true
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        let mut fitting = Fitting::with_prior(self.name(), problem, run)?;
        let harmonic = self.harmonic.for_problem(problem)?;
        harmonic.check_class_prior(problem)?;
        let is_built = problem.edges.is_none() && problem.graph.is_none() && problem.features.is_some();
        if is_built && self.harmonic.graph.weights.model().is_some() {
            // Learned weights are computed for all edges together, so the edges cannot be streamed.
            let built = fitting.graph(&self.harmonic.graph)?;
            let mut fitted = self.fit(&Problem { graph: Some(&built), ..*problem }, run)?;
            fitted.report.phases.splice(0..0, fitting.report.phases);
            return Ok(fitted);
        }
        let report = &mut fitting.report;
        let source = self.source(problem, report, run)?;
        let edges = source.edges();
        let passes = self.refinements(edges)?;
        let total = edges.n_edges().unwrap_or(0);
        let (graph, sparsified) =
            report.time_steps("sparsify", total, run, |report| self.sparsified(edges, report, run))?;
        report.warnings.extend(sparsified.warnings.iter().cloned());
        report.add_part("sparsify", &sparsified)?;
        if self.params.sparsify.sampler == Sampler::Auto {
            report.choose("sampler", sparsified.sampler.as_str());
        }
        // Without a round nothing was thinned: the solved graph is the whole graph.
        let refiner = (passes > 0 && sparsified.rounds > 0).then_some(Refiner { source: edges, passes });
        let affinity = source.affinity(graph, problem.graph.filter(|_| problem.edges.is_none()));
        let solved = harmonic.solve_on(&affinity, refiner.as_ref(), &mut fitting)?;
        if let Some(refinement) = &solved.function.refinement {
            fitting.report.add_part("refine", refinement)?;
        }
        harmonic.decided(fitting, Solved { built: Some(affinity), ..solved })
    }

    /// Harmonic propagation, if no edge is dropped.
    fn same_as(&self, size: &ProblemSize) -> Option<&'static str> {
        let graph = &self.harmonic.graph;
        let most = || graph.weights.model().is_none().then(|| size.n_samples.saturating_mul(graph.n_neighbors));
        let n_edges = size.n_edges.or_else(most)?;
        (self.params.sparsify.plan(size.n_samples, n_edges).n_kept == n_edges).then_some("harmonic")
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        plan::plan_sparse(&self.harmonic.graph, &self.params.sparsify, self.planned_refinements(), size)
    }
}
