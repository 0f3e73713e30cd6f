//! Which methods use which options of `label` and `compare`: an option that would change nothing is refused.

use std::collections::BTreeSet;

use clap::ArgMatches;
use clap::parser::ValueSource;
use lapwing::graph::{GraphParams, KnnMethod, Metric, Weighting};
use lapwing::models::harmonic::ClassPrior;
use lapwing::models::lapsvm::{KernelKind, KernelSolver, Stopping};
use lapwing::models::low_rank::FactorKind;
use lapwing::models::unfolded::{LayerOptimizer, LayerSolver};
use lapwing::models::{Decision, METHODS};

use super::MethodChoices;
use super::unfolded::Unfolding;
use crate::failure::Failure;

/// Options that were given on the command line, rather than left at their defaults.
#[derive(Debug, Default)]
pub struct Given(BTreeSet<String>);

impl Given {
    /// Of the arguments of a command.
    pub fn of(matches: &ArgMatches) -> Self {
        let is_given = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
        Self(matches.ids().map(|id| id.as_str()).filter(is_given).map(str::to_owned).collect())
    }

    /// Whether an option was given, by the name of its field.
    pub fn has(&self, option: &str) -> bool {
        self.0.contains(option)
    }
}

/// Options that some methods use.
struct Scope {
    methods: &'static [&'static str],
    /// By the names of their fields.
    options: &'static [&'static str],
    /// Another option without which these change nothing.
    needs: Option<Need>,
}

/// An option as it is typed, and whether it is there.
type Need = (&'static str, fn(&MethodChoices) -> bool);

const HARMONIC: &[&str] = &["harmonic", "sparse-harmonic", "subsampling"];
const ON_GRAPHS: &[&str] =
    &["harmonic", "sparse-harmonic", "lapsvm", "laprls", "unfolded-gnn", "subsampling", "simple-harmonic"];
const LOW_RANK: &[&str] = &["low-rank", "anchor", "nystrom", "glnp"];
const KERNELS: &[&str] = &["lapsvm", "laprls"];
const UNFOLDED: &[&str] = &["unfolded-gnn"];
const SPARSE: &[&str] = &["sparse-harmonic"];

const fn scope(methods: &'static [&'static str], options: &'static [&'static str]) -> Scope {
    Scope { methods, options, needs: None }
}

const fn scope_if(
    methods: &'static [&'static str],
    options: &'static [&'static str],
    needs: &'static str,
    holds: fn(&MethodChoices) -> bool,
) -> Scope {
    Scope { methods, options, needs: Some((needs, holds)) }
}

/// Every option of a method, with those that use it.
const SCOPES: &[Scope] = &[
    scope(ON_GRAPHS, &["neighbors", "metric", "weights", "symmetrize", "knn"]),
    scope_if(ON_GRAPHS, &["bandwidth"], WITH_WIDTHS, |c| has_widths(&c.graph.params())),
    scope_if(ON_GRAPHS, &["recall_target"], MAY_MISS, |c| may_miss(&c.graph.params())),
    scope(&["nearest-label"], &["metric"]),
    scope_if(ON_GRAPHS, &["zero_rows"], COSINE, |c| is_cosine(&c.graph.params())),
    scope_if(&["nearest-label"], &["zero_rows"], COSINE, |c| is_cosine(&c.graph.params())),
    scope(HARMONIC, &["graph_reg", "form", "clamp", "tol", "max_iter", "certify"]),
    scope(METHODS, &["decision"]),
    scope(HARMONIC, &["class_prior", "labels_drawn"]),
    scope(LOW_RANK, &["class_prior"]),
    scope_if(METHODS, &["class_prior", "labels_drawn"], "--decision sizes", has_sizes),
    scope_if(METHODS, &["size_slack"], "--decision sizes and --class-prior", |c| {
        has_sizes(c) && c.harmonic.class_prior != ClassPrior::Labeled
    }),
    scope(SPARSE, &["distortion", "edge_budget", "memory", "sampler", "capacity", "projections", "refinements"]),
    scope_if(SPARSE, &["ridge"], "--sampler ridge", |c| c.sparse.sparsify.has_ridge()),
    scope(&["low-rank"], &["factor"]),
    scope(LOW_RANK, &["n_landmarks", "landmarks", "landmark_bandwidth", "alpha", "balance", "select", "propagation"]),
    scope(LOW_RANK, &["fit_rows"]),
    scope(&["anchor"], &["n_nearest", "head"]),
    scope_if(&["low-rank"], &["n_nearest", "head"], "--factor anchor", |c| c.low_rank.factor == FactorKind::Anchor),
    scope(&["nystrom"], &["rcond", "degree_policy"]),
    scope_if(&["low-rank"], &["rcond", "degree_policy"], "--factor nystrom", |c| {
        c.low_rank.factor == FactorKind::Nystrom
    }),
    scope(&["glnp"], &["glnp_solver", "glnp_start", "glnp_max_iter", "glnp_tol"]),
    scope_if(&["low-rank"], &["glnp_solver", "glnp_start", "glnp_max_iter", "glnp_tol"], "--factor glnp", |c| {
        c.low_rank.factor == FactorKind::Glnp
    }),
    scope(KERNELS, &["kernel", "ambient_reg", "graph_reg", "laplacian", "laplacian_power", "bias", "kernel_solver"]),
    scope(KERNELS, &["gradient_tol", "max_iter", "precision", "gram_memory"]),
    scope_if(KERNELS, &["kernel_bandwidth"], "--kernel rbf or low-rank", |c| {
        matches!(c.lapsvm.kernel, KernelKind::Rbf | KernelKind::LowRank)
    }),
    scope_if(KERNELS, &["degree"], "--kernel poly", |c| c.lapsvm.kernel == KernelKind::Poly),
    scope_if(KERNELS, &["kernel_landmarks"], "--kernel rbf, poly or low-rank", |c| {
        matches!(c.lapsvm.kernel, KernelKind::Rbf | KernelKind::Poly | KernelKind::LowRank)
    }),
    scope_if(KERNELS, &["stopping", "check_every"], "--kernel-solver auto or cg", may_iterate),
    scope_if(KERNELS, &["stability_tol"], "--stopping stability or mixed, and --kernel-solver auto or cg", |c| {
        may_iterate(c) && matches!(c.lapsvm.stopping, Stopping::Stability | Stopping::Mixed)
    }),
    scope_if(KERNELS, &["validation_share"], "--stopping validation or mixed, and --kernel-solver auto or cg", |c| {
        may_iterate(c) && matches!(c.lapsvm.stopping, Stopping::Validation | Stopping::Mixed)
    }),
    scope(UNFOLDED, &["graph_reg", "loss", "l2_reg", "layer_solver", "layer_optimizer", "unfolding", "self_loop"]),
    scope(UNFOLDED, &["hidden", "attention", "no_layer_bias", "train_tol", "train_max_iter"]),
    scope_if(UNFOLDED, &["step_size"], "--unfolding and a number of steps", |c| {
        c.unfolded.unfolding != Unfolding::Exact
    }),
    scope_if(UNFOLDED, &["learning_rate"], "--layer-solver or --layer-optimizer gd or adam, or --hidden", |c| {
        matches!(c.unfolded.layer_solver, LayerSolver::Gd | LayerSolver::Adam)
            || matches!(c.unfolded.layer_optimizer, LayerOptimizer::Gd | LayerOptimizer::Adam)
            || c.unfolded.hidden.is_some()
    }),
    scope_if(UNFOLDED, &["kept_edges", "sketch_size"], "--layer-solver auto, herta or herta-mixed", |c| {
        matches!(c.unfolded.layer_solver, LayerSolver::Auto | LayerSolver::Herta | LayerSolver::HertaMixed)
    }),
    scope(&["subsampling"], &["subsample"]),
    scope(&["simple-harmonic"], &["eigenvectors"]),
    scope(&["eigenfunction"], &["eigenfunctions", "components", "bins", "relative_bandwidth", "density_floor"]),
    scope(&["eigenfunction"], &["clip", "fit_weight", "no_constant"]),
];

const WITH_WIDTHS: &str = "--weights self-tuning or gaussian";
const MAY_MISS: &str = "--knn auto or partitions";
const COSINE: &str = "--metric cosine";

fn has_widths(graph: &GraphParams) -> bool {
    matches!(graph.weights, Weighting::SelfTuning | Weighting::Gaussian)
}

fn may_miss(graph: &GraphParams) -> bool {
    graph.builder != KnnMethod::Exact
}

fn is_cosine(graph: &GraphParams) -> bool {
    graph.metric == Metric::Cosine
}

fn has_sizes(choices: &MethodChoices) -> bool {
    choices.harmonic.decision == Decision::Sizes
}

fn may_iterate(choices: &MethodChoices) -> bool {
    matches!(choices.lapsvm.kernel_solver, KernelSolver::Auto | KernelSolver::Cg)
}

/// Refuses options that none of `methods` uses.
pub fn check_used(given: &Given, methods: &[&str], choices: &MethodChoices) -> Result<(), Failure> {
    SCOPES.iter().flat_map(|scope| scope.options).try_for_each(|option| match given.has(option) {
        true => check_option(option, methods, choices),
        false => Ok(()),
    })?;
    // The other decisions are those of harmonic functions.
    let decides = has_sizes(choices) || choices.harmonic.decision == Decision::Auto;
    if !decides && !methods.iter().any(|method| HARMONIC.contains(method)) {
        let users = in_words(HARMONIC);
        let reason = format!("--decision of {} may be auto or sizes; other decisions are for {users}", named(methods));
        return Err(Failure::usage(reason));
    }
    Ok(())
}

/// Refuses options of a graph that change nothing without another one.
pub fn check_used_by_graph(given: &Given, graph: &GraphParams) -> Result<(), Failure> {
    let conditions = [
        ("bandwidth", WITH_WIDTHS, has_widths(graph)),
        ("recall_target", MAY_MISS, may_miss(graph)),
        ("zero_rows", COSINE, is_cosine(graph)),
    ];
    match conditions.into_iter().find(|(option, _, holds)| given.has(option) && !holds) {
        Some((option, other, _)) => {
            Err(Failure::usage(format!("--{} changes nothing without {other}", option.replace('_', "-"))))
        }
        None => Ok(()),
    }
}

fn check_option(option: &str, methods: &[&str], choices: &MethodChoices) -> Result<(), Failure> {
    let having = |scope: &&Scope| scope.options.contains(&option);
    let of_methods = |scope: &&Scope| scope.methods.iter().any(|method| methods.contains(method));
    let mut need = None;
    for scope in SCOPES.iter().filter(having).filter(of_methods) {
        match scope.needs {
            Some((other, holds)) if !holds(choices) => need = Some(other),
            _ => return Ok(()),
        }
    }
    let typed = option.replace('_', "-");
    Err(Failure::usage(match need {
        Some(other) => format!("--{typed} changes nothing for {} without {other}", named(methods)),
        None => {
            let is_user = |method: &&&str| {
                SCOPES.iter().filter(having).any(|scope| scope.needs.is_none() && scope.methods.contains(method))
            };
            let mut users: Vec<&str> = METHODS.iter().filter(is_user).copied().collect();
            if users.is_empty() {
                let uses = |method: &&&str| SCOPES.iter().filter(having).any(|scope| scope.methods.contains(method));
                users = METHODS.iter().filter(uses).copied().collect();
            }
            format!("--{typed} changes nothing for {}; it is an option of {}", named(methods), in_words(&users))
        }
    }))
}

/// The methods of a run, in words.
fn named(methods: &[&str]) -> String {
    match methods {
        [method] => format!("the method {method}"),
        _ => "the methods compared".into(),
    }
}

/// Names as part of a sentence.
fn in_words(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).into(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        choices: MethodChoices,
        /// What options of graphs conflict with.
        #[arg(long = "graph")]
        given: Option<String>,
    }

    fn check(method: &str, arguments: &str) -> Result<(), String> {
        use clap::FromArgMatches;
        let words = ["lapwing"].into_iter().chain(arguments.split_whitespace());
        let matches = Options::command().try_get_matches_from(words).unwrap_or_else(|e| panic!("{arguments}: {e}"));
        let options = Options::from_arg_matches(&matches).unwrap();
        let failure = check_used(&Given::of(&matches), &[method], &options.choices).err();
        failure.map_or(Ok(()), |failure| Err(failure.text().unwrap_or_default()))
    }

    #[test]
    fn every_option_of_a_method_has_its_scope() {
        let command = Options::command();
        let all: BTreeSet<&str> = command.get_arguments().map(|argument| argument.get_id().as_str()).collect();
        let all: BTreeSet<&str> = all.into_iter().filter(|id| !["given", "help"].contains(id)).collect();
        let scoped: BTreeSet<&str> = SCOPES.iter().flat_map(|scope| scope.options).copied().collect();
        assert_eq!(scoped, all);
        for method in SCOPES.iter().flat_map(|scope| scope.methods) {
            assert!(METHODS.contains(method), "{method}");
        }
    }

    #[test]
    fn options_that_change_nothing_are_refused() {
        let refused = [
            (
                "lapsvm",
                "--tol 1e-3",
                "--tol changes nothing for the method lapsvm; it is an option of harmonic, sparse-harmonic and subsampling",
            ),
            (
                "low-rank",
                "--graph-reg 3",
                "--graph-reg changes nothing for the method low-rank; it is an option of harmonic",
            ),
            ("harmonic", "--n-landmarks 7", "low-rank, anchor, nystrom and glnp"),
            ("harmonic", "--loss mse", "it is an option of unfolded-gnn"),
            ("harmonic", "--eigenvectors 7", "it is an option of simple-harmonic"),
            ("nearest-label", "--neighbors 7", "it is an option of harmonic"),
            ("lapsvm", "--degree 2", "--degree changes nothing for the method lapsvm without --kernel poly"),
            ("nystrom", "--n-nearest 2", "it is an option of anchor"),
            ("low-rank", "--rcond 1e-3", "without --factor nystrom"),
            ("lapsvm", "--class-prior 0.5,0.5", "without --decision sizes"),
            ("lapsvm", "--decision argmax", "--decision of the method lapsvm may be auto or sizes"),
            ("harmonic", "--size-slack 0.1", "without --decision sizes and --class-prior"),
            ("harmonic", "--bandwidth 2 --weights binary", "without --weights"),
        ];
        for (method, arguments, part) in refused {
            let text = check(method, arguments).expect_err(arguments);
            assert!(text.contains(part), "{method} {arguments}: {text}");
        }
    }

    #[test]
    fn options_that_are_used_are_taken() {
        let taken = [
            ("harmonic", "--tol 1e-3 --max-iter 9 --graph-reg 2 -k 3 --bandwidth 2"),
            ("harmonic", "--class-prior 0.5,0.5"),
            ("lapsvm", "--max-iter 9 --graph-reg 2 --degree 2 --kernel poly --decision sizes --class-prior 0.5,0.5"),
            ("unfolded-gnn", "--graph-reg 2 --loss mse --unfolding 3 --step-size 0.1"),
            ("low-rank", "--n-nearest 2"),
            ("low-rank", "--factor nystrom --rcond 1e-3 --class-prior 0.5,0.5"),
            ("nystrom", "--rcond 1e-3"),
            ("sparse-harmonic", "--edge-budget 700 --tol 1e-3"),
            ("nearest-label", "--metric cosine --zero-rows allow"),
            // Given as they are by default, they change nothing either, but are options of the method.
            ("harmonic", "--form auto --decision auto"),
        ];
        for (method, arguments) in taken {
            assert_eq!(check(method, arguments), Ok(()), "{method} {arguments}");
        }
    }
}
