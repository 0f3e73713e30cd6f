//! The step of each column, from what its cells say.

use super::columns::{Column, Surveyed};
use super::dates::DatePart;
use super::gaps::GapFill;
use super::levels::ordered;
use super::names::{is_nameless, names_rows};
use super::recipe::{ColumnRecipe, LeftOut, Recipe, Step};
use super::scale::{Choices, GAP, MANY_NUMBERS, NumberScale, Scale, UNSCALED};
use super::sketch::{Moments, Sample};
use super::survey::{Cells, NumberSurvey, Survey, TextSurvey};
use super::terms::Tokens;
use crate::cell::Reading;
use lapwing_core::text::option;
use lapwing_core::{Error, Result, Run, Spreads};

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

/// What is decided about a column before it is known how numbers are scaled.
enum Role<'s> {
    LeaveOut(LeftOut),
    Number(&'s NumberSurvey),
    Boolean { n_true: usize },
    Category(&'s TextSurvey),
    Ordered(&'s TextSurvey, Vec<String>),
    Date { parts: &'s [Moments], sample: &'s Sample },
    Text(&'s TextSurvey, Tokens),
    Vector(&'s [Moments]),
}

/// The recipe that the surveys of a table suggest, which may use no column.
pub(super) fn suggested(table: &Surveyed, choices: &Choices, run: &Run) -> (Recipe, Option<Spreads>) {
    let Surveyed { table: file, columns, .. } = table;
    let roles: Vec<Role<'_>> =
        columns.iter().map(|column| role(&column.name, &column.survey, table.are_named)).collect();
    let numbers = roles.iter().enumerate().filter_map(|(at, role)| match role {
        Role::Number(numbers) => Some((at, *numbers, columns[at].survey.n_missing > 0)),
        _ => None,
    });
    let numbers: Vec<(usize, &NumberSurvey, bool)> = numbers.collect();
    let n_used = roles.iter().filter(|role| !matches!(role, Role::LeaveOut(_))).count();
    let is_rich = |role: &&Role<'_>| match role {
        Role::Vector(moments) => moments.len() >= MANY_NUMBERS,
        role => matches!(role, Role::Text(..)),
    };
    let n_rich = roles.iter().filter(is_rich).count();
    let scale = Scale::of(&numbers, (n_used, n_rich), choices, run);
    let gaps = GapFill::fit(&numbers, |at| scale.numbers[at].log, run);
    let mut scales = scale.numbers.iter().copied();
    let recipe = |(role, Column { name, kind, reading, survey, .. }): (Role<'_>, &Column)| {
        let step = step(role, survey, (&scale, &mut scales), choices);
        let reading = if step.width() > 0 { *reading } else { Reading::default() };
        let reading = Reading { cells: reading.cells.filter(|cells| cells.is_special()), ..reading };
        ColumnRecipe { name: name.clone(), kind: kind.clone(), reading, step }
    };
    let recipes = roles.into_iter().zip(columns).map(recipe).collect();
    let are_single = columns.iter().all(|column| file.is_single(column.place));
    let is_double = !are_single && !scale.is_scaled && !scale.is_mixed;
    let mut recipe = Recipe { columns: recipes, is_sparse: false, is_double, is_scaled: scale.is_scaled, gaps };
    recipe.is_sparse = entries_of_row(&recipe, columns) * 4.0 < recipe.n_features() as f64 && recipe.n_features() > 256;
    (recipe, scale.spreads)
}

impl Surveyed {
    /// The recipe that the surveys suggest, with at least one feature.
    ///
    /// # Errors
    /// [`Error::Format`] if no column tells rows apart.
    pub(super) fn decided(&self, choices: &Choices, run: &Run) -> Result<(Recipe, Option<Spreads>)> {
        let (recipe, spreads) = suggested(self, choices, run);
        if recipe.n_features() == 0 {
            let reason = format!(
                "no column tells rows apart: each is empty or constant, or names or counts the rows; {} takes some all the same",
                option("columns", "")
            );
            return Err(Error::format(self.table.path(), None, reason));
        }
        Ok((recipe, spreads))
    }
}

/// Entries of a row that are not 0, about.
pub(super) fn entries_of_row(recipe: &Recipe, columns: &[Column]) -> f64 {
    let entries = |(column, Column { survey, .. }): (&ColumnRecipe, &Column)| match (&column.step, &survey.cells) {
        (Step::Text { terms, .. }, Cells::Texts(texts)) => {
            let n_words = texts.n_words as f64 / survey.n_rows.max(1) as f64;
            if terms.tokens == Tokens::Characters { 3.0 * texts.mean_chars() } else { n_words }
        }
        (Step::Category { .. }, _) => 1.0,
        (step, _) => step.width() as f64,
    };
    recipe.columns.iter().zip(columns).map(entries).sum()
}

fn role<'s>(name: &str, survey: &'s Survey, is_named: bool) -> Role<'s> {
    let constant = Role::LeaveOut(LeftOut::Constant);
    match &survey.cells {
        Cells::None => Role::LeaveOut(LeftOut::Type),
        _ if survey.n_filled() == 0 => Role::LeaveOut(LeftOut::Empty),
        Cells::Numbers(numbers) => number_role(name, survey, numbers, is_named),
        Cells::Truths { n_true } if survey.n_missing == 0 && (*n_true == 0 || *n_true == survey.n_rows) => constant,
        Cells::Truths { n_true } => Role::Boolean { n_true: *n_true },
        Cells::Dates { parts, .. } if parts.iter().all(|moments| moments.deviation() == 0.0) => constant,
        Cells::Dates { parts, sample, .. } => Role::Date { parts, sample },
        Cells::Texts(texts) => text_role(name, survey, texts, is_named),
        Cells::Vectors(moments) if moments.iter().all(|moments| moments.deviation() == 0.0) => constant,
        Cells::Vectors(moments) => Role::Vector(moments),
    }
}

fn number_role<'s>(name: &str, survey: &Survey, numbers: &'s NumberSurvey, is_named: bool) -> Role<'s> {
    let (least, most) = numbers.limits();
    if least == most {
        return Role::LeaveOut(LeftOut::Constant);
    }
    let may_name = !is_named && survey.n_filled() >= FEWEST_ROWS && numbers.are_integers();
    let all_differ = may_name && numbers.distinct.unique_share() == 1.0;
    // A shuffled index has every number of its range once, and no name of its own.
    let is_full = most - least + 1.0 == survey.n_filled() as f64;
    match () {
        () if may_name && numbers.counts() => Role::LeaveOut(LeftOut::Counter),
        () if all_differ && is_full && is_nameless(name) => Role::LeaveOut(LeftOut::Counter),
        () if all_differ && names_rows(name) => Role::LeaveOut(LeftOut::Identifier),
        () => Role::Number(numbers),
    }
}

fn text_role<'s>(name: &str, survey: &Survey, texts: &'s TextSurvey, is_named: bool) -> Role<'s> {
    let (n_levels, n_filled) = (texts.distinct.count(), survey.n_filled());
    if n_levels == 1 && survey.n_missing == 0 {
        return Role::LeaveOut(LeftOut::Constant);
    }
    if n_levels > FEWEST_LISTS
        && let Some(mark) = texts.list_mark()
    {
        return Role::Text(texts, Tokens::Pieces(mark));
    }
    if n_levels <= MAX_ONE_HOT {
        // Numbers that a file declares to be texts are codes.
        let are_codes = texts.levels.keys().all(|level| level.parse::<f64>().is_ok());
        let order = ordered(texts.levels.keys().map(String::as_str)).filter(|_| !are_codes);
        return order.map_or(Role::Category(texts), |levels| Role::Ordered(texts, levels));
    }
    if n_levels <= MAX_CODES && 2 * n_levels <= n_filled && texts.have_one_length(CODE_CHARS) {
        return Role::Category(texts);
    }
    let all_differ = n_filled >= FEWEST_ROWS && texts.distinct.unique_share() > 0.98;
    let words = texts.n_words as f64 / n_filled as f64;
    let is_short = words < FEWEST_WORDS;
    match () {
        () if texts.is_unspaced() => Role::Text(texts, Tokens::Characters),
        () if !is_short => Role::Text(texts, Tokens::Words),
        () if all_differ && !is_named && (names_rows(name) || !texts.parts_recur()) => {
            Role::LeaveOut(LeftOut::Identifier)
        }
        () => Role::Text(texts, Tokens::Characters),
    }
}

/// The step of a column; `scale` is that of all, with those of the number columns that follow.
fn step(
    role: Role<'_>,
    survey: &Survey,
    (scale, numbers_left): (&Scale, &mut impl Iterator<Item = NumberScale>),
    choices: &Choices,
) -> Step {
    let gap = (survey.n_missing > 0).then_some(GAP * scale.typical);
    match role {
        Role::LeaveOut(reason) => Step::LeaveOut { reason },
        Role::Number(numbers) => {
            let NumberScale { center, divisor, log } = numbers_left.next().unwrap_or(UNSCALED);
            Step::Number { fill: numbers.sample.median(), center, scale: divisor, log, gap }
        }
        Role::Boolean { n_true } => {
            let size = if scale.is_scaled { std::f64::consts::SQRT_2 } else { scale.typical };
            Step::Boolean { size, fill: size * n_true as f64 / survey.n_filled().max(1) as f64, gap }
        }
        Role::Category(texts) => Step::Category { levels: texts.sorted_levels(), has_gap: survey.n_missing > 0 },
        Role::Ordered(texts, levels) => ordered_step(levels, texts, scale, gap),
        Role::Date { parts, sample } => {
            let parts = DatePart::ALL.into_iter().zip(parts);
            let varying: Vec<_> = parts.filter(|(_, moments)| moments.deviation() > 0.0).collect();
            let weight = (varying.len() as f64).sqrt();
            let parts =
                varying.iter().map(|(part, moments)| (*part, moments.mean(), weight * moments.deviation())).collect();
            Step::Date { parts, fill: sample.median() as i64, gap }
        }
        Role::Text(texts, tokens) => {
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
        Role::Vector(moments) => {
            let size = |moments: &Moments| Some(moments.deviation()).filter(|size| scale.is_scaled && *size > 0.0);
            let short = moments.iter().filter(|_| moments.len() < MANY_NUMBERS);
            let scales = short.map(|moments| size(moments).unwrap_or(1.0)).collect();
            Step::Vector { fill: moments.iter().map(Moments::mean).collect(), weight: Some(scale.rich), scales, gap }
        }
    }
}

/// The step of levels with an order: their numbers, with the moments of all rows.
fn ordered_step(levels: Vec<String>, texts: &TextSurvey, scale: &Scale, gap: Option<f64>) -> Step {
    let counts: Vec<usize> = levels.iter().map(|level| texts.levels.get(level).copied().unwrap_or(0)).collect();
    let n_known = counts.iter().sum::<usize>();
    let n = n_known.max(1) as f64;
    let mean = counts.iter().enumerate().map(|(at, &count)| at as f64 * count as f64).sum::<f64>() / n;
    let squares = counts.iter().enumerate().map(|(at, &count)| (at as f64 - mean).powi(2) * count as f64).sum::<f64>();
    let deviation = (squares / n).sqrt();
    let is_below = |at: &usize| (counts[..=*at].iter().sum::<usize>() as f64) < n / 2.0;
    let median = (0..counts.len()).take_while(is_below).count() as f64;
    let (center, scale) = if scale.is_scaled && deviation > 0.0 { (mean, deviation) } else { (0.0, 1.0) };
    // Levels without a place in the order are gaps.
    let has_others = texts.levels.values().sum::<usize>() > n_known;
    let gap = gap.or(has_others.then_some(GAP));
    Step::Ordered { levels, fill: median, center, scale, gap }
}
