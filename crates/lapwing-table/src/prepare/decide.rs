//! The step of each column, from what its cells say.

use super::gaps::GapFill;
use super::levels::ordered;
use super::recipe::{ColumnRecipe, LeftOut, Recipe, Step};
use super::scale::{Counts, GAP, NumberScale, Scale};
use super::sketch::Moments;
use super::survey::{Cells, NumberSurvey, Survey, TextSurvey};
use super::terms::Tokens;
use crate::read::ColumnKind;
use crate::read::table::Reading;
use lapwing_core::{Run, Spreads, Standardize};

/// Most levels of a category that has a column for each.
pub(super) const MAX_ONE_HOT: usize = 30;

/// Most levels, and most letters of each, of codes of one length: their parts say nothing.
const MAX_CODES: usize = 300;
const CODE_CHARS: usize = 4;

/// Fewest rows in which different cells show that a column names the rows.
const FEWEST_ROWS: usize = 20;

/// Words a text has at least; shorter cells are levels or names.
const FEWEST_WORDS: f64 = 2.5;

/// Levels beyond which cells that are lists are taken apart.
const FEWEST_LISTS: usize = 12;

/// Most columns of runs of characters.
const MAX_RUNS: usize = 1 << 12;

/// Choices of a fit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choices {
    pub standardize: Standardize,
    /// Whether labels say that numbers are to be scaled.
    pub is_told: bool,
    /// Whether the user named the columns, so that none is taken for an identifier.
    pub are_named: bool,
    /// Most columns of the terms of a text.
    pub max_terms: usize,
}

/// The columns of a table with their surveys.
pub(super) struct Surveyed<'s> {
    pub names: &'s [String],
    pub kinds: &'s [ColumnKind],
    pub surveys: &'s [Survey],
    /// How the cells of each column are read.
    pub readings: &'s [Reading],
    /// Whether single precision keeps the numbers of all columns.
    pub are_single: bool,
}

/// What is decided about a column before it is known how numbers are scaled.
enum Role {
    LeaveOut(LeftOut),
    Number,
    Boolean,
    Category,
    Ordered(Vec<String>),
    Date,
    Text(Tokens),
    Vector,
}

pub(super) fn decided(table: &Surveyed<'_>, choices: &Choices, run: &Run) -> (Recipe, Option<Spreads>) {
    let roles: Vec<Role> =
        table.names.iter().zip(table.surveys).map(|(name, survey)| role(name, survey, choices)).collect();
    let numbers = numbers_of(table, &roles);
    let counts = Counts::of(&roles);
    let scale = Scale::of(&numbers, counts, choices, run);
    let log = |at: usize| scale.numbers[at].and_then(|number| number.log);
    let gaps = GapFill::fit(&numbers, log, run);
    let columns = roles.into_iter().zip(table.surveys).enumerate();
    let steps = columns.map(|(at, (role, survey))| step(at, role, survey, &scale, choices));
    let columns: Vec<ColumnRecipe> = table
        .names
        .iter()
        .zip(table.kinds)
        .zip(table.readings)
        .zip(steps)
        .map(|(((name, kind), &reading), step)| {
            let reading = if step.width() > 0 { reading } else { Reading::default() };
            let reading = Reading { cells: reading.cells.filter(|cells| cells.is_special()), ..reading };
            ColumnRecipe { name: name.clone(), kind: kind.clone(), reading, step }
        })
        .collect();
    let mut recipe = Recipe { columns, is_sparse: false, is_double: false, is_scaled: scale.is_scaled, gaps };
    recipe.is_double = !table.are_single && !scale.is_scaled && !scale.is_mixed;
    recipe.is_sparse =
        entries_of_row(&recipe, table.surveys) * 4.0 < recipe.n_features() as f64 && recipe.n_features() > 256;
    (recipe, scale.spreads)
}

impl Counts {
    fn of(roles: &[Role]) -> Self {
        let count = |is: fn(&Role) -> bool| roles.iter().filter(|role| is(role)).count();
        Self {
            all: roles.len(),
            used: count(|role| !matches!(role, Role::LeaveOut(_))),
            rich: count(|role| matches!(role, Role::Text(_) | Role::Vector)),
        }
    }
}

/// The number columns that become features, each with its place and whether it has gaps.
fn numbers_of<'s>(table: &Surveyed<'s>, roles: &[Role]) -> Vec<(usize, &'s NumberSurvey, bool)> {
    let number = |(at, (role, survey)): (usize, (&Role, &'s Survey))| match (role, &survey.cells) {
        (Role::Number, Cells::Numbers(numbers)) => Some((at, numbers, survey.n_missing > 0)),
        _ => None,
    };
    roles.iter().zip(table.surveys).enumerate().filter_map(number).collect()
}

/// Entries of a row that are not 0, about.
pub(super) fn entries_of_row(recipe: &Recipe, surveys: &[Survey]) -> f64 {
    let entries = |(column, survey): (&ColumnRecipe, &Survey)| match (&column.step, &survey.cells) {
        (Step::Text { terms, .. }, Cells::Texts(texts)) => {
            let n_words = texts.n_words as f64 / survey.n_rows.max(1) as f64;
            if terms.tokens == Tokens::Characters { 3.0 * texts.mean_chars() } else { n_words }
        }
        (Step::Category { .. }, _) => 1.0,
        (step, _) => step.width() as f64,
    };
    recipe.columns.iter().zip(surveys).map(entries).sum()
}

fn role(name: &str, survey: &Survey, choices: &Choices) -> Role {
    if survey.n_filled() == 0 {
        return Role::LeaveOut(LeftOut::Empty);
    }
    match &survey.cells {
        Cells::Numbers(numbers) => number_role(name, survey, numbers, choices),
        Cells::Truths { n_true } if survey.n_missing == 0 && (*n_true == 0 || *n_true == survey.n_rows) => {
            Role::LeaveOut(LeftOut::Constant)
        }
        Cells::Truths { .. } => Role::Boolean,
        Cells::Dates { parts, .. } if parts.iter().all(|(_, moments)| moments.deviation() == 0.0) => {
            Role::LeaveOut(LeftOut::Constant)
        }
        Cells::Dates { .. } => Role::Date,
        Cells::Texts(texts) => text_role(name, survey, texts, choices),
        Cells::Vectors(vectors) if vectors.moments.iter().all(|moments| moments.deviation() == 0.0) => {
            Role::LeaveOut(LeftOut::Constant)
        }
        Cells::Vectors(_) => Role::Vector,
        Cells::None => Role::LeaveOut(LeftOut::Type),
    }
}

fn number_role(name: &str, survey: &Survey, numbers: &NumberSurvey, choices: &Choices) -> Role {
    if numbers.least == numbers.most {
        return Role::LeaveOut(LeftOut::Constant);
    }
    let may_name = !choices.are_named && survey.n_filled() >= FEWEST_ROWS && numbers.are_integers;
    let all_differ = may_name && numbers.distinct.unique_share() == 1.0;
    // A shuffled index has every number of its range once, and no name of its own.
    let is_full = numbers.most - numbers.least + 1.0 == survey.n_filled() as f64;
    match () {
        () if may_name && (numbers.count_up || numbers.count_down) => Role::LeaveOut(LeftOut::Counter),
        () if all_differ && is_full && is_nameless(name) => Role::LeaveOut(LeftOut::Counter),
        () if all_differ && names_rows(name) => Role::LeaveOut(LeftOut::Identifier),
        () => Role::Number,
    }
}

/// Whether a column has no name of its own, as an index that was written has.
fn is_nameless(name: &str) -> bool {
    let lower = name.trim().to_lowercase();
    lower.is_empty() || lower.starts_with("unnamed") || lower == "index" || lower.starts_with("__index_level_")
}

/// Whether the name of a column says that it names the rows.
fn names_rows(name: &str) -> bool {
    let is_camel = name.ends_with("Id") || name.ends_with("ID");
    is_camel || ends_in(name, &["id", "ids", "uuid", "guid", "key", "index", "number", "nr", "no"])
}

/// Whether the name of a column says that its numbers are codes.
pub(super) fn names_codes(name: &str) -> bool {
    let words = ["code", "codes", "id", "ids", "zip", "zipcode", "postcode", "plz"];
    ends_in(name, &words) || ["Id", "ID", "Code"].iter().any(|word| name.ends_with(word))
}

/// Whether the name of a column says that its values may be those of a category.
pub(super) fn names_groups(name: &str) -> bool {
    ends_in(name, &["type", "class", "group", "cat", "category", "kind", "cluster", "region", "department"])
}

/// Whether the last word of a name is one of some.
fn ends_in(name: &str, words: &[&str]) -> bool {
    let lower = name.trim().to_lowercase();
    let is_last = |word: &&str| {
        lower.strip_suffix(*word).is_some_and(|rest| rest.is_empty() || rest.ends_with(['_', '-', ' ', '.']))
    };
    words.iter().any(is_last)
}

fn text_role(name: &str, survey: &Survey, texts: &TextSurvey, choices: &Choices) -> Role {
    let (n_levels, n_filled) = (texts.distinct.count(), survey.n_filled());
    if n_levels == 1 && survey.n_missing == 0 {
        return Role::LeaveOut(LeftOut::Constant);
    }
    if n_levels > FEWEST_LISTS
        && let Some(mark) = texts.list_mark()
    {
        return Role::Text(Tokens::Pieces(mark));
    }
    if n_levels <= MAX_ONE_HOT {
        // Numbers that a file declares to be texts are codes.
        let are_codes = texts.levels.keys().all(|level| level.parse::<f64>().is_ok());
        let order = ordered(texts.levels.keys().map(String::as_str)).filter(|_| !are_codes);
        return order.map_or(Role::Category, Role::Ordered);
    }
    if n_levels <= MAX_CODES && 2 * n_levels <= n_filled && texts.have_one_length(CODE_CHARS) {
        return Role::Category;
    }
    let all_differ = n_filled >= FEWEST_ROWS && texts.distinct.unique_share() > 0.98;
    let words = texts.n_words as f64 / n_filled as f64;
    let is_short = words < FEWEST_WORDS;
    match () {
        () if texts.is_unspaced() => Role::Text(Tokens::Characters),
        () if !is_short => Role::Text(Tokens::Words),
        () if all_differ && !choices.are_named && (names_rows(name) || !texts.parts_recur()) => {
            Role::LeaveOut(LeftOut::Identifier)
        }
        () => Role::Text(Tokens::Characters),
    }
}

fn step(at: usize, role: Role, survey: &Survey, scale: &Scale, choices: &Choices) -> Step {
    let gap = scale.gap(survey);
    let has_gap = survey.n_missing > 0;
    match (role, &survey.cells) {
        (Role::LeaveOut(reason), _) => Step::LeaveOut { reason },
        (Role::Number, Cells::Numbers(numbers)) => {
            let as_it_is = NumberScale { center: 0.0, divisor: 1.0, log: None };
            let NumberScale { center, divisor, log } = scale.numbers[at].unwrap_or(as_it_is);
            Step::Number { fill: numbers.sample.median(), center, scale: divisor, log, gap }
        }
        (Role::Boolean, Cells::Truths { n_true }) => {
            let size = if scale.is_scaled { std::f64::consts::SQRT_2 } else { scale.typical };
            Step::Boolean { size, fill: size * *n_true as f64 / survey.n_filled().max(1) as f64, gap }
        }
        (Role::Category, Cells::Texts(texts)) => {
            let mut levels: Vec<String> = texts.levels.keys().cloned().collect();
            levels.sort_unstable();
            Step::Category { levels, has_gap }
        }
        (Role::Ordered(levels), Cells::Texts(texts)) => ordered_step(levels, texts, scale, gap),
        (Role::Date, Cells::Dates { parts, sample, .. }) => {
            let varying: Vec<_> = parts.iter().filter(|(_, moments)| moments.deviation() > 0.0).collect();
            let weight = (varying.len() as f64).sqrt();
            let parts =
                varying.iter().map(|(part, moments)| (*part, moments.mean(), weight * moments.deviation())).collect();
            Step::Date { parts, fill: sample.median() as i64, gap }
        }
        (Role::Text(tokens), Cells::Texts(texts)) => {
            let terms = match tokens {
                Tokens::Words => texts.terms.columns(survey.n_filled(), choices.max_terms),
                _ => {
                    let n_cells = texts.levels.values().sum();
                    texts.terms_of(tokens).columns(n_cells, choices.max_terms.min(MAX_RUNS))
                }
            };
            // Levels that come again are those of a category, which weighs as other columns do.
            let is_category = tokens == Tokens::Characters && 2 * texts.distinct.count() <= survey.n_filled();
            Step::Text { terms, weight: if is_category && !texts.is_unspaced() { 1.0 } else { scale.rich } }
        }
        (Role::Vector, Cells::Vectors(vectors)) => {
            let fill = vectors.moments.iter().map(Moments::mean).collect();
            Step::Vector { fill, weight: Some(scale.rich), gap }
        }
        _ => Step::LeaveOut { reason: LeftOut::Type },
    }
}

/// The step of levels with an order: their numbers, with the moments of all rows.
fn ordered_step(levels: Vec<String>, texts: &TextSurvey, scale: &Scale, gap: Option<f64>) -> Step {
    let counts: Vec<usize> = levels.iter().map(|level| texts.levels.get(level).copied().unwrap_or(0)).collect();
    let n = counts.iter().sum::<usize>().max(1) as f64;
    let mean = counts.iter().enumerate().map(|(at, &count)| at as f64 * count as f64).sum::<f64>() / n;
    let squares = counts.iter().enumerate().map(|(at, &count)| (at as f64 - mean).powi(2) * count as f64).sum::<f64>();
    let deviation = (squares / n).sqrt();
    let half = counts.iter().scan(0, |sum, &count| {
        *sum += count;
        Some(*sum)
    });
    let median = half.take_while(|&sum| (sum as f64) < n / 2.0).count() as f64;
    let (center, scale) = if scale.is_scaled && deviation > 0.0 { (mean, deviation) } else { (0.0, 1.0) };
    // Levels without a place in the order are gaps.
    let n_known = counts.iter().sum::<usize>();
    let has_others = texts.levels.values().sum::<usize>() > n_known;
    let gap = gap.or(has_others.then_some(GAP));
    Step::Ordered { levels, fill: median, center, scale, gap }
}
