//! Labels for millions of rows from a handful of labeled ones: large-scale graph-based semi-supervised learning.
//!
//! Two interleaved half circles, one label each, and every other row finds its own:
//!
//! ```
//! use lapwing::prelude::*;
//!
//! let moon = |row: usize| {
//!     let (y, x) = (row as f32 / 400.0 * std::f32::consts::PI).sin_cos();
//!     if row % 2 == 0 { [x, y] } else { [1.0 - x, 0.5 - y] }
//! };
//! let features = Features::from_f32(400, 2, (0..400).flat_map(moon).collect())?;
//! let mut given = vec![None; 400];
//! (given[0], given[1]) = (Some(0), Some(1));
//! let targets = Targets::one_hot(&Labels::from_integers(given), None)?;
//! let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
//! let fitted = method("harmonic", &MethodParams::default())?.fit(&problem, &Run::new(None, 0)?)?;
//! let right = (0..400).filter(|&row| fitted.labeling.labels[row] == row as u32 % 2).count();
//! assert_eq!(right, 400);
//! # Ok::<(), lapwing::Error>(())
//! ```
//!
//! The parts, each a module: [`data`] (matrices, labels, files, run control), [`solve`] (Laplacian systems), [`graph`]
//! (nearest neighbors, affinity graphs), [`models`] (the methods). What is used together stands in [`prelude`].
//!
//! Items stand here under the names of this crate. Their examples come from its parts: write `lapwing::data` for `lapwing_core` and `lapwing_table`,
//! `lapwing::solve` for `lapwing_solve`, and so on.
//!
//! # What is stable
//!
//! This crate lists what is stable. The crates `lapwing-core`, `lapwing-table`, `lapwing-solve`, `lapwing-graph`,
//! `lapwing-models` and `lapwing-simd` are its internal parts: what is not listed here may change in any version, hidden methods included.
//!
//! Parameters are structs of public fields: build them with `..Default::default()`, because a minor version may add fields;
//! `#[non_exhaustive]` would forbid that expression. What only the library makes (reports, fits, errors) may get fields and
//! variants in a minor version too: most of it is `#[non_exhaustive]`, and for the rest write `..` in patterns. Choices such as
//! [`graph::Metric`] are `#[non_exhaustive]`, so that a new one breaks no `match`.
//!
//! No argument makes a function panic; it returns an [`Error`]. Only an index outside its range (`row(i)`) panics, as in a slice.

#[doc(hidden)]
pub mod file_rows;
#[doc(hidden)]
pub mod label_journal;
#[doc(hidden)]
pub mod label_table;
mod labeling;
mod model;

pub use lapwing_core::{Error, Result};

/// What goes in and out: features, labels, files, run control, the report.
pub mod data {
    // Features: dense or sparse, owned, borrowed or mapped.
    #[doc(inline)]
    pub use lapwing_core::{Buffer, Csr, Dense, DenseValues, Features, Matrix};
    // How features are scaled.
    #[doc(inline)]
    pub use lapwing_core::{FittedScaling, Scaling, Standardize, Standardizer, TermWeights, Tfidf};
    // Rows and edges too many to hold; a program may bring sources of its own.
    #[doc(inline)]
    pub use lapwing_core::{Edge, EdgeReader, EdgeSource, GeneratedRows, RowReader, RowSource};
    // Labels, and what methods fit.
    #[doc(inline)]
    pub use lapwing_core::{ClassNames, Labels, SparseLabels, Targets, UNLABELED};
    // Names of rows and nodes.
    #[doc(inline)]
    pub use lapwing_core::{BadNames, Named, RowNames};
    // Control of a run: threads, seed, progress, cancellation, processes.
    #[doc(inline)]
    pub use lapwing_core::{Alone, CancelToken, Communicator, Progress, Run, Silent};
    // What a fit reports, and what went wrong.
    #[doc(inline)]
    pub use lapwing_core::{
        BadCells, BadColumn, BadColumns, Error, Fault, GraphSummary, Phase, Report, Result, SolveSummary, Warning,
    };

    /// Tables as features: what is done with each column, for new rows too.
    pub mod prepare {
        #[doc(inline)]
        pub use lapwing_table::prepare::{
            Applied, ColumnRecipe, ColumnSummary, DatePart, Description, LeftOut, LoadedTable, Prepared, PreparedRows,
            PreparedTable, Recipe, Step, prepare, prepare_rows,
        };
    }

    /// Parameters by their names, as files and command lines give them.
    pub mod params {
        #[doc(inline)]
        pub use lapwing_core::params::{Condition, Domain, Number, Parameter, Parameters, Range, Value, set_all};
    }

    /// Readers of features, labels, graphs and edges.
    pub mod read {
        #[doc(inline)]
        pub use lapwing_table::read::{
            ColumnKind, Dialect, Doubt, EdgeFile, EdgeOptions, LabelFileOptions, NamedGraph, NamedLabels, NodeOptions,
            ReadAs, ReadOptions, Samples, Separator, TableFile, read_graph, read_label_file, read_labels,
            read_named_graph, read_names, read_sparse_labels,
        };
        pub use lapwing_table::{RowFile, read_label_column, read_samples};
    }

    /// Writers of labels and graphs.
    pub mod write {
        #[doc(inline)]
        pub use crate::labeling::write_labeling;
        #[doc(inline)]
        pub use lapwing_table::write::{KeptColumns, LabelColumns, LabelWriter, LabeledRows, write_graph};
    }
}

/// Systems and eigenvectors of graph Laplacians.
pub mod solve {
    // The matrix of all systems.
    #[doc(inline)]
    pub use lapwing_solve::{Components, Graph};
    // Systems of Laplacians, and bounds on the errors of their solutions.
    #[doc(inline)]
    pub use lapwing_solve::{
        Certificate, CountOpen, Differences, ErrorBounds, FallbackLevel, Goal, LaplacianParams, LaplacianSolver,
        NormalizedSolver, PreconditionerChoice, RightHandSides, RowError, Solution, SolveInfo, Stop,
    };
    // Smoothing of many columns.
    #[doc(inline)]
    pub use lapwing_solve::{Propagator, PropagatorParams, Shortfall};
    // The smoothest eigenvectors.
    #[doc(inline)]
    pub use lapwing_solve::eigen::{EigenParams, Eigenpairs, smallest_eigenpairs};
}

/// Nearest neighbors, affinity graphs, sparsifiers, learned graphs.
pub mod graph {
    // Features to a graph in one call, or by its steps.
    #[doc(inline)]
    pub use lapwing_graph::{
        AffinityGraph, Components, Graph, GraphParams, Symmetrize, Weighting, Widths, affinity_graph, weigh,
    };
    // Neighbors, among rows and of new rows.
    #[doc(inline)]
    pub use lapwing_graph::{
        KnnMethod, KnnParams, KnnReport, Metric, NeighborIndex, Neighbors, ZeroRows, kneighbors, query,
    };
    // Distances along edges, and equal rows.
    #[doc(inline)]
    pub use lapwing_graph::{edge_distances, equal_rows};
    // Edges of a neighbor graph that is never held.
    #[doc(inline)]
    pub use lapwing_graph::KnnEdges;

    /// Graphs learned from distances.
    pub mod learn {
        #[doc(inline)]
        pub use lapwing_graph::learn::{
            LearnModel, LearnParams, LearnReport, LearnSolver, LearnedGraph, LearnedWeights, Sparsity, SparsityMean,
            learn_graph,
        };
    }

    /// Sparsifiers of graphs and of streams of edges, effective resistances.
    pub mod sparsify {
        #[doc(inline)]
        pub use lapwing_graph::sparsify::{
            Budget, Checkpoint, ResistanceMethod, Resistances, RidgeParams, RidgeSparsifier, Sampler, Sparsifier,
            SparsifyParams, SparsifyReport, effective_resistances, sparsify, sparsify_ridge,
        };
    }
}

/// The methods: from features or a graph and some labels to a label for every row.
pub mod models {
    // A method by its name or type, what it takes and what it returns.
    #[doc(inline)]
    pub use lapwing_models::{
        Fitted, FittedRegression, Labeling, METHODS, Method, MethodParams, MethodSpec, PUBLISHED, Problem,
        PublishedName, Rule, Settings, method, method_names,
    };
    // Memory of a fit before it is made.
    #[doc(inline)]
    pub use lapwing_models::{Plan, PlanStep, ProblemSize};
    // New rows, and fits kept in files.
    #[doc(inline)]
    pub use crate::model::Model;
    #[doc(inline)]
    pub use lapwing_models::{Classifier, Extend, Extended, Extension, NeighborExtension, RowScores, Shape};
    // Harmonic functions: on the graph, on a sparsifier of it, and on the last edges of a stream.
    #[doc(inline)]
    pub use lapwing_models::{
        Calibration, Certify, Clamp, ClassPrior, Decision, Form, Harmonic, HarmonicParams, HarmonicStream,
        SparseHarmonic, SparseHarmonicParams, StreamAnswer, StreamParams,
    };
    // The other methods; their choices are in modules of their own.
    #[doc(inline)]
    pub use lapwing_models::{
        Auto, AutoParams, Candidates, LapSvm, LapSvmParams, LowRank, LowRankParams, RowFit, RowProblem, UnfoldedGnn,
        UnfoldedParams, fit_rows, plan_rows, rows_that_fit,
    };
    // How often labels are right, from labels that were held out.
    #[doc(inline)]
    pub use lapwing_models::{
        ClassAccuracy, ExpectedAccuracy, HeldOut, HeldOutSource, ReliabilityBin, VennAbers, class_accuracy, reliability,
    };
    // Classes of given sizes.
    #[doc(inline)]
    pub use lapwing_models::{LabelsDrawn, SizeOptions, SizeParams, SizedLabeling, Sizing, SizingParams, WithSizes};
    // Which rows to label next, which labels to doubt, and sets of classes.
    #[doc(inline)]
    pub use lapwing_models::label_loop::{
        Audit, AuditParams, AuditSummary, Centering, ClassPair, Intervals, NewClass, PredictionSets, Reason,
        RegressionAudit, SetsParams, SetsSummary, Strategy, SuggestParams, SuggestSummary, Suggester, Suggestion,
        Suggestions, Wanted, audit, audit_regression, jackknife_plus, least_labels, leave_one_out_scores, plan_loop,
        prediction_sets,
    };
    // Methods beside each other.
    #[doc(inline)]
    pub use lapwing_models::{CompareParams, CompareRow, Comparison, Failed, Keep, Rival, Unfinished, Winner, compare};

    /// How good labels are.
    pub mod metrics {
        #[doc(inline)]
        pub use lapwing_models::metrics::accuracy;
    }

    /// Labels that are hidden to measure a method, or folds of them.
    pub mod split {
        #[doc(inline)]
        pub use lapwing_models::split::{keep_labels, keep_labels_per_class};
    }

    /// Methods that serve as a comparison.
    pub mod baselines {
        #[doc(inline)]
        pub use lapwing_models::baselines::{
            Eigenfunction, EigenfunctionParams, Forest, ForestParams, Linear, LinearParams, Majority, NearestLabel,
            NearestLabelParams, SimpleHarmonic, SimpleHarmonicParams, Subsampling, SubsamplingParams, linear_prior,
        };
    }

    /// Choices of [`LapSvm`].
    pub mod lapsvm {
        #[doc(inline)]
        pub use lapwing_models::lapsvm::{
            FitOptions, Kernel, KernelKind, KernelLandmarks, KernelSolver, LaplacianKind, Stopping, ValidationSet,
        };
    }

    /// Choices of [`LowRank`].
    pub mod low_rank {
        #[doc(inline)]
        pub use lapwing_graph::low_rank::{GlnpSolver, GlnpStart, LandmarkRule};
        #[doc(inline)]
        pub use lapwing_models::low_rank::{Balance, FactorKind, Head, PropagationSolver, Select};
    }

    /// Choices of [`UnfoldedGnn`].
    pub mod unfolded {
        #[doc(inline)]
        pub use lapwing_models::unfolded::{LayerOptimizer, LayerSolver, NodeLoss};
    }
}

/// What a program that labels rows needs.
pub mod prelude {
    pub use lapwing_core::{CancelToken, Features, Labels, Matrix, Report, Run, Scaling, Targets};
    pub use lapwing_graph::{AffinityGraph, Graph, GraphParams, affinity_graph};
    pub use lapwing_models::{Fitted, Harmonic, HarmonicParams, Labeling, Method, MethodParams, Problem, method};

    pub use crate::model::Model;
}

/// The Rust examples of the pages compile.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/how-to/use-from-rust.md")]
    struct UseFromRust;
    #[doc = include_str!("../../../docs/methods/graph-learning.md")]
    struct GraphLearning;
    #[doc = include_str!("../../../docs/methods/lapsvm.md")]
    struct LapSvm;
    #[doc = include_str!("../../../docs/methods/low-rank.md")]
    struct LowRank;
    #[doc = include_str!("../../../docs/methods/unfolded-gnn.md")]
    struct UnfoldedGnn;
}
