//! What a run says about its own result: each warning holds facts, from which its text is composed.

use serde::{Serialize, Serializer};

use crate::text::{counted, option, times};

/// Declares all warnings, under their kinds and what to do about each kind.
macro_rules! warnings {
    ($($kind:literal, $what:literal { $($text:literal $(, $value:expr)* => $name:ident { $($field:ident: $type:ty),* })* })*) => {
        /// A reason to look at a result before it is used; the run itself went well, or it would have ended in an
        /// [`Error`](crate::Error).
        ///
        /// There is one variant for each text, and few [kinds](Self::kind). A kind says what to do about the warning, whatever the
        /// method: a program that reacts to warnings knows the kinds, and a new method brings new texts but rarely a new kind.
        /// All texts stand here, as those of errors do, so that equal cases have equal words.
        #[derive(Clone, Debug, PartialEq, thiserror::Error)]
        #[non_exhaustive]
        #[allow(missing_docs)] // The text, which documents a variant, says what its fields are.
        pub enum Warning {
            $($(#[doc = $text] #[error($text $(, $value)*)] $name { $($field: $type),* },)*)*
        }

        impl Warning {
            /// Every kind.
            pub const KINDS: &[&str] = &[$($kind),*];

            /// The stable name of the kind, which says what to do:
            $(#[doc = concat!("- `", $kind, "`: ", $what)])*
            pub fn kind(&self) -> &'static str {
                match self {
                    $($(Self::$name { .. })|* => $kind,)*
                }
            }
        }
    };
}

warnings! {
    "unreached", "label one row in each component of the graph, or connect the components" {
        "no label reaches {} in {} of the graph; {advice}", counted(*n_rows, "row"), counted(*n_components, "component")
            => Unreached { n_rows: usize, n_components: usize, advice: &'static str }
        "no label reaches {} through the graph, in {} of it; their labels come from methods that look at features alone; {advice}",
            counted(*n_rows, "row"), counted(*n_components, "component")
            => ReachedByFeatures { n_rows: usize, n_components: usize, advice: &'static str }
        "no label reaches {n_rows} of the rows: their nearest chosen rows lie in {n_components} components of the graph that \
         hold no label; label one row in each, or raise the number of neighbors"
            => UnreachedSample { n_rows: usize, n_components: usize }
        "no label reaches {prefix}{n_rows} of {n_samples} rows"
            => UnreachedNew { prefix: &'static str, n_rows: usize, n_samples: usize }
        "{n_rows} of {n_samples} rows have no evidence: they are so far from all landmarks, or from those of any label, that \
         similarities are 0; a wider bandwidth gives them some"
            => NoEvidence { n_rows: usize, n_samples: usize }
        "no label reaches {n_rows} of {n_samples} rows: they lie farther from the rows fitted than these from each other, or no label \
         reaches the rows near them; label some of them, or fit more rows (fit_rows)"
            => BeyondSample { n_rows: usize, n_samples: usize }
    }
    "not-converged", "raise `max_iter` or `tol`" {
        "the solver stopped after {n_iter} iterations at relative residual {residual:.1e}, above tol {tol:.1e}; {advice}"
            => NotConverged { n_iter: usize, residual: f64, tol: f64, advice: &'static str }
        "the solver stopped after {n_iter} iterations with {n_open} labels undecided: the exact solution of this graph may give \
         them other classes; raise max_iter"
            => Undecided { n_iter: usize, n_open: usize }
        "the solver stopped after {n_iter} iterations at relative residual {residual:.1e}, before it had converged; {advice}"
            => KernelNotConverged { n_iter: usize, residual: f64, advice: &'static str }
        "the solver stopped after {n_iter} iterations, its estimated suboptimality {}, above tol {tol:.1e}; {advice}",
            known(*gap)
            => TrainingNotConverged { n_iter: usize, gap: f64, tol: f64, advice: &'static str }
        "the solver stopped after {n_iter} steps of learning the graph, at a relative gap of {gap:.1e}; rows at very different \
         distances make it hard: scale the features or remove outliers, or raise max_iter or tol"
            => LearningNotConverged { n_iter: usize, gap: f64 }
        "learning the factor stopped after {n_iter} iterations, before it had converged: raise glnp_max_iter or glnp_tol, or fit on \
         fewer rows (fit_rows)"
            => FactorNotConverged { n_iter: usize }
        "smoothing over the graph stopped after {n_iter} iterations at relative residual {residual:.1e}, above {tol:.1e}: scores may \
         be off; scale the features, or lower graph_reg"
            => SmoothingNotConverged { n_iter: usize, residual: f64, tol: f64 }
        "a system for resistances stopped after {n_iter} iterations at relative residual {residual:.1e}, above tol {tol:.1e}: \
         {effect}"
            => ResistancesNotConverged { n_iter: usize, residual: f64, tol: f64, effect: &'static str }
    }
    "low-recall", "use an exact search for neighbors (`knn_method` `exact`)" {
        "the neighbor search found {recall:.3} of the true neighbors, below its target of {target}; rows of so high a dimension \
         need an exact search"
            => LowRecall { recall: f64, target: f64 }
    }
    "one-class", "label rows of other classes" {
        "all labels are of one class, {class}: every row will get it{}", other_class(class)
            => OneClass { class: String }
    }
    "not-judged", "label more rows of each class, or connect the graph" {
        "no label could be judged: each is the only one of its class, or of its component of the graph"
            => NothingJudged {}
    }
    "not-better", "use other features, a graph or another method: labels are no better than the most frequent class" {
        "the expected accuracy, {:.1} %, is no better than to give every row the most frequent class, which would be right for about {:.1} % \
         ({n_held_out} held-out labels): this method finds nothing in the rows that tells the classes apart", 100.0 * expected, 100.0 * most_frequent
            => NotBetter { expected: f64, most_frequent: f64, n_held_out: usize }
    }
    "failed-method", "nothing, or mend what the text says: other methods did without it" {
        "left out: {methods} ({reason})"
            => CannotRun { methods: String, reason: String }
    }
    "suggested-labels", "let `suggest` draw some rows at random (`check`), and label them too" {
        "labels were suggested, not drawn at random, and only {n_check} of them are check rows, of {least} needed: sets may hold the right \
         class less often than their level says; suggest some rows with {}", option("check", "0.2")
            => SuggestedLabels { n_check: usize, least: usize }
        "labels were suggested, not drawn at random: they are harder than other rows, so that more rows are right than the expected \
         accuracy says"
            => SuggestedAccuracy {}
    }
    "lost-classes", "use `decision` `sizes` to keep classes at their sizes, or give more labels" {
        "class {class} was given to {:.1} % of the rows, but has {:.0} % of the labels: the others may have been lost; give \
         class_prior with decision sizes, or more labels", 100.0 * share, 100.0 * among_labels
            => LostClasses { class: String, share: f64, among_labels: f64 }
    }
    "class-sizes", "check the sizes of the classes: they differ from the sizes that you asked for" {
        "labels look chosen evenly, about as many of every class, and say nothing about the sizes of the classes: decided without \
         sizes; give class_prior, or labels_drawn random if they were drawn at random"
            => UnknownSizes {}
        "class {class} misses its size by {miss} of {n_reached} rows: so many rows have equal scores, which no offset tells apart"
            => MissedSize { class: String, miss: usize, n_reached: usize }
    }
    "indistinct-rows", "scale or clean the features" {
        "{n_rows} of {n_samples} rows equal all their neighbors, so that their distances say nothing; if the rows should differ, \
         their numbers are too large for their differences (double precision has 16 digits): subtract the common part before \
         they are written or rounded"
            => EqualRows { n_rows: usize, n_samples: usize }
        "rows reach {:.0} times the bandwidth {bandwidth:.3e} from their mean, too far to be told apart in single precision; scale \
         the features, or take fewer landmarks", extent / bandwidth
            => FarRows { extent: f64, bandwidth: f64 }
        "columns are {farthest:.1e} from 0 and differ by {extent:.1e} from their means: the factor glnp takes rows as they are, in single \
         precision, which does not tell them apart; subtract a number from each column, or take another factor"
            => FarColumns { farthest: f64, extent: f64 }
        "{n_rows} of {n_samples} rows hold only zeros, which have no direction under the cosine metric: they are at distance 1 from \
         every row, so that their labels say little; leave them out, or take metric euclidean"
            => ZeroRows { n_rows: usize, n_samples: usize }
        "no function varies along any axis: fewer than 30 rows, or all are equal"
            => NoFunction {}
    }
    "unscaled-features", "nothing, or scale the features as the text says" {
        "columns were left as they are, though their spreads differ by up to {} times: on such tables scaling may gain accuracy or \
         cost it; compare with scaled columns (standardize on)", times(*ratio)
            => UnequalSpreads { ratio: f64 }
        "spreads of columns differ by up to {} times, and columns are taken as they are: column {widest} has the largest{}, or \
         lapwing.prepare.TableEncoder (standardize=\"on\")", times(*ratio), decides(*decide)
            => UnscaledColumns { ratio: f64, widest: usize, decide: bool }
        "spreads of columns differ by up to {} times; rows that are read in blocks are not scaled: {} scales them, in \
         memory", times(*ratio), option("standardize", "on")
            => UnscaledBlocks { ratio: f64 }
        "rows look like counts of terms: TF-IDF ({}, TfidfTransformer in Python) weighs rare terms up and often makes labels \
         better", option("tfidf", "")
            => TermCounts {}
    }
    "missing-edges", "allow the learned graph more pairs, or search neighbors exactly" {
        "repairs of the learned graph stopped at their limit; pairs of {n_rows} rows may be missing"
            => UnrepairedRows { n_rows: usize }
        "neighbors were searched by partitions, which may miss some, so that the repaired graph may miss pairs of any of its {n_rows} rows; \
         search exactly (knn_method exact) to be certain"
            => InexactRepair { n_rows: usize }
        "{:.0} % of the rows use all pairs they are allowed in the learned graph; raise support_factor, or repair", 100.0 * share
            => SaturatedRows { share: f64 }
    }
    "unsuitable-parameter", "change the value of the parameter" {
        "class mass normalization does not work well here: graph_reg times the mean degree is {product:.1}; choose a graph_reg for which it is below 1"
            => DegenerateMass { product: f64 }
        "n_landmarks is {n_landmarks}, too few to tell {n_classes} classes apart; take {} or more", 2 * n_classes
            => FewLandmarks { n_landmarks: usize, n_classes: usize }
        "{n_rows} of {n_samples} rows have degree 0 or less and were given the least degree; a wider bandwidth or factor anchor \
         avoids that"
            => RaisedDegrees { n_rows: usize, n_samples: usize }
        "the largest eigenvalue of the scaled affinity is {eigenvalue:.6}, above 1: alpha was divided by it; a wider bandwidth or \
         factor anchor avoids that"
            => LargeEigenvalue { eigenvalue: f64 }
        "self_loop is {self_loop}, but the weights of a node add up to {degree:.1e} on average: neighbors have almost no \
         effect; scale the weights up, or take a smaller self_loop"
            => FaintEdges { self_loop: f64, degree: f64 }
        "l2_reg is 0: where the labeled nodes can be told apart, cross-entropy has no minimizer"
            => NoMinimizer {}
        "resistances were solved to {tol:.0e} only: edges across weak cuts may have been dropped wrongly; use a tol of at \
         most {most:.0e}"
            => CoarseResistances { tol: f64, most: f64 }
    }
    "not-as-given", "nothing, or change the input: something that you gave was replaced or left out" {
        "n_eigenvectors is {given}, but the graph has {n_components} components that hold labels, each with a constant vector of \
         its own; using {n_components}"
            => FewEigenvectors { given: usize, n_components: usize }
        "n_landmarks is {given}, but there are only {n_samples} rows; using {n_samples}"
            => ManyLandmarks { given: usize, n_samples: usize }
        "n_neighbors is {given}, but each of {n_samples} rows has only {used} neighbors; using {used}"
            => ManyNeighbors { given: usize, used: usize, n_samples: usize }
        "{wanted} rows are wanted, but only {n_free} {} left to choose from; all of them follow", are(n_free)
            => FewRowsLeft { wanted: usize, n_free: usize }
        "{} is used as a class, because rows without a label are empty; if it marks such rows too, pass {}", class_text(name),
            option("unlabeled", name)
            => OpenClass { name: String }
        "'{name}' is used as a class; if it marks rows without a label, pass {}", option("unlabeled", name)
            => MarkerClass { name: String }
        "every row has a label, so there is none to find; the most frequent is '{name}' ({count} of {n} rows): if it marks rows without a \
         label, pass {}", option("unlabeled", "")
            => AllLabeled { name: String, count: usize, n: usize }
        "labels are written in several ways: {list}; write them alike"
            => SpacedLabels { list: String }
        "{path}: {what}"
            => ReadAs { path: String, what: String }
        "{} of {path} {} for ids that are not in the data, and {} left out", counted(*n_labels, "label"), are(n_labels), were(n_labels)
            => UnknownLabels { n_labels: usize, path: String }
        "{} of {path} {} no id of the data; {} with such nodes {} left out", counted(*n_nodes, "node"), are(n_nodes),
            counted(*n_edges, "edge"), were(n_edges)
            => UnknownNodes { n_nodes: usize, n_edges: usize, path: String }
        "{path} holds row numbers, counted from 0, and no ids: arrays have none; write .csv or .parquet for ids"
            => NumberedRows { path: String }
        "{n_landmarks} landmarks are near no row and were left out"
            => UnusedLandmarks { n_landmarks: usize }
        "validation rows are not used by solver {solver} with stopping {stopping}"
            => UnusedValidation { solver: &'static str, stopping: &'static str }
    }
    "unusual-cells", "look at the cells: some differ from the others of their column" {
        "column '{column}': {} no {kind}, first '{first}' in {place}; counted as missing", cells_hold(n_cells)
            => UnfitCells { column: String, n_cells: usize, kind: &'static str, first: String, place: String }
        "column '{column}': {} a level that the fit did not have, first '{first}'; it says nothing about these rows",
            cells_hold(n_cells)
            => UnknownLevels { column: String, n_cells: usize, first: String }
        "column '{column}': {} nothing, though every cell of the fit held something; they say nothing about these rows", cells_hold(n_cells)
            => NewGaps { column: String, n_cells: usize }
        "column '{column}': {value} is far from all other numbers and comes again; it counts as missing; {} takes all \
         columns as they are", option("prepare", "none")
            => Sentinel { column: String, value: String }
        "column '{column}' is left out: its type, {stored}, cannot be used"
            => UnusableColumn { column: String, stored: String }
        "{file}: {what}"
            => PassedLines { file: String, what: String }
        "{file}: {what}; {advice}"
            => DoubtfulText { file: String, what: &'static str, advice: String }
    }
    "doubtful-columns", "drop the column, or say how it is read, as the text says" {
        "column '{column}' alone tells the label of each of {n_rows} labeled rows ({how}), which neither chance nor another column does; \
         if it is known only after the label, leave it out: {}", option("drop", column)
            => LeakingColumn { column: String, n_rows: usize, how: String }
        "column '{column}': {what}: {option}"
            => CodeColumn { column: String, what: &'static str, option: String }
    }
    "large-kernel", "nothing, or set the number of landmarks" {
        "the kernel of {n_samples} rows is approximated by {n_landmarks} landmarks; n_landmarks sets their number, none keeps the \
         kernel itself"
            => ApproximateKernel { n_samples: usize, n_landmarks: usize }
        "the Gram matrix of {n_samples} rows does not fit into the memory it may take, and is recomputed in every iteration"
            => GramAnew { n_samples: usize }
    }
    "not-compared", "check the weights of the edges: they are 0, or differ too much" {
        "the sparse graph could not be compared with the input graph: the quadratic forms of all probe vectors are 0 or overflow"
            => NotCompared {}
    }
    "no-graph", "give the graph of the new rows" {
        "the model was fitted on a graph of its own, and no {} is given: rows count as nodes without edges", option("graph", "")
            => NoGraph {}
    }
}

/// As `{"kind", "text"}`.
impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([("kind", self.kind().to_owned()), ("text", self.to_string())])
    }
}

fn cells_hold(n: &usize) -> String {
    format!("{} {}", counted(*n, "cell"), if *n == 1 { "holds" } else { "hold" })
}

fn are(n: &usize) -> &'static str {
    if *n == 1 { "is" } else { "are" }
}

fn were(n: &usize) -> &'static str {
    if *n == 1 { "was" } else { "were" }
}

/// What labels that are all 1 may mean.
fn other_class(class: &str) -> &'static str {
    match class.trim_matches('\'') {
        "1" | "+1" | "1.0" => "; if -1 is the other class, name another mark of rows without a label (unlabeled)",
        _ => "",
    }
}

/// What the largest spread does, and what to do about it.
fn decides(decide: bool) -> &'static str {
    match decide {
        true => " and decides distances almost alone; scale them, as by StandardScaler of scikit-learn",
        false => "; on such tables scaling may gain accuracy or cost it: compare with StandardScaler of scikit-learn",
    }
}

/// A class as it is written: in quotes, unless it begins as a number below 0.
fn class_text(name: &str) -> String {
    if name.starts_with('-') { name.to_owned() } else { format!("'{name}'") }
}

fn known(gap: f64) -> String {
    if gap.is_finite() { format!("{gap:.1e}") } else { "unknown".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_kind_and_text() {
        let unreached = Warning::Unreached { n_rows: 1, n_components: 2, advice: "look" };
        let expected = r#"{"kind":"unreached","text":"no label reaches 1 row in 2 components of the graph; look"}"#;
        assert_eq!(serde_json::to_string(&unreached).unwrap(), expected);
    }

    #[test]
    fn the_page_lists_every_kind() {
        let (_, table) = include_str!("../../../docs/reference/output.md").split_once("| kind of a warning |").unwrap();
        let table = table.split("\n\n").next().unwrap();
        let listed = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        assert!(listed.eq(Warning::KINDS.iter().copied()));
    }
}
