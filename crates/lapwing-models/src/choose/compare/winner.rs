//! Which method to take: differences over the same draws, and seconds.
//!
//! For the best method a and another one b, dᵢ is the difference of their accuracies in draw i of m. Its mean has the standard
//! error s·√(1/m), s² the variance of the dᵢ. Folds share most of their labels, so that this error would be too small: there it is
//! s·√(1/m + 1/(k − 1)) for k folds (Nadeau & Bengio 2003). b is within noise of a if the mean difference is at most t standard
//! errors, t the 97.5 % point of Student's distribution with m − 1 degrees of freedom. One draw has no variance over draws: there
//! the error is that of two independent shares of the hidden rows, and t is 2.

use std::fmt::Write;

use serde::Serialize;

use super::CompareRow;
use super::draws::Level;
use crate::core::held_out::choosing::moments;

/// A method counts as slower than another if it takes this many times as long.
const NOTABLY: f64 = 2.0;
/// Seconds that are worth a less accurate method, if its accuracy is within noise.
const WORTH_IT: f64 = 1.0;
/// Fewest draws in which a fast method may stand for the best one.
const FEWEST_DRAWS: usize = 3;
/// Methods within noise of the winner that its sentence names.
const MOST_NAMED: usize = 3;
/// 97.5 % points of Student's distribution with 1, 2, … degrees of freedom.
const STUDENT: [f64; 15] =
    [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131];

/// The method to take with one number of labels.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Winner {
    /// Labeled rows.
    pub n_labeled: usize,
    /// Labeled rows of a class.
    pub labels_per_class: f64,
    /// The method of the largest mean accuracy.
    pub best: String,
    /// Its mean accuracy.
    pub accuracy_mean: f64,
    /// The method to take: the best, or one within noise of it in three draws or more, which takes less than half of its time and
    /// saves a second or more.
    pub recommended: String,
    /// Draws that are compared: those that all judged methods have.
    pub n_draws: usize,
    /// Whether these are three or more, or all that were wanted: in fewer, nearly all differences may be chance.
    pub is_enough: bool,
    /// The other methods, by descending accuracy; the baseline among them.
    pub rivals: Vec<Rival>,
    /// This result in one sentence.
    pub text: String,
}

/// A method beside the best one.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Rival {
    /// Method.
    pub method: String,
    /// Its mean accuracy.
    pub accuracy_mean: f64,
    /// Accuracy of the best method minus that of this one, mean over the draws that both have.
    pub difference: f64,
    /// Standard error of it.
    pub standard_error: f64,
    /// Whether the difference may be chance.
    pub within_noise: bool,
    /// Time of this method, with its graph, over that of the best; 0 for the baseline.
    pub time_ratio: f64,
}

impl Winner {
    /// The winner among rows of one number of labels; `None` if all rows are baselines.
    ///
    /// A budget leaves slow methods with fewer draws. Those with less than half of the most are not judged; of the others, the draws
    /// that all have are compared.
    pub(super) fn new(rows: &[CompareRow], level: &Level) -> Option<Self> {
        let most = rows.iter().filter(|row| !row.baseline).map(|row| row.accuracy.len()).max()?;
        let (judged, others): (Vec<_>, Vec<_>) =
            rows.iter().partition(|row| row.baseline || 2 * row.accuracy.len() >= most);
        let n_draws = judged.iter().map(|row| row.accuracy.len()).min()?;
        let shared: Vec<CompareRow> = judged.iter().map(|row| row.first(n_draws)).collect();
        let mut winner = Self::over(&shared, level)?;
        let n_wanted = level.draws.len();
        if n_draws < n_wanted {
            let of_draws = if n_draws == 1 { "draw".into() } else { format!("{n_draws} draws") };
            let names: Vec<&str> = others.iter().map(|row| row.method.as_str()).collect();
            let but =
                if names.is_empty() { String::new() } else { format!(" but {}, which had fewer", names.join(", ")) };
            winner.text = winner.text.replacen(": ", &format!(", over the {of_draws} of all methods{but}: "), 1);
            if !winner.is_enough {
                let _ = write!(winner.text, "; {n_draws} of {n_wanted} draws tell little: give more time");
            }
        }
        Some(winner)
    }

    /// The winner among rows of the same draws.
    fn over(rows: &[CompareRow], level: &Level) -> Option<Self> {
        let mut methods: Vec<&CompareRow> = rows.iter().filter(|row| !row.baseline).collect();
        // The sort is stable: of equal methods, the first one given is the best.
        methods.sort_by(|a, b| b.accuracy_mean.total_cmp(&a.accuracy_mean));
        let best = *methods.first()?;
        let others = methods.iter().skip(1).copied().chain(rows.iter().filter(|row| row.baseline));
        let mut rivals: Vec<Rival> = others.map(|row| Rival::new(best, row, level)).collect();
        rivals.sort_by(|a, b| b.accuracy_mean.total_cmp(&a.accuracy_mean));
        let baseline = rows.iter().find(|row| row.baseline).map(|row| row.method.as_str());
        let is_method = |rival: &&Rival| Some(rival.method.as_str()) != baseline;
        let equal = || rivals.iter().filter(is_method).filter(|rival| rival.within_noise);
        // Of several that take about as long as the fastest, the most accurate.
        let fastest = equal().map(|rival| rival.time_ratio).fold(1.0, f64::min);
        let is_worth_it =
            best.draws >= FEWEST_DRAWS && NOTABLY * fastest < 1.0 && (1.0 - fastest) * best.total_seconds() >= WORTH_IT;
        let chosen = equal().find(|rival| rival.time_ratio <= NOTABLY * fastest).filter(|_| is_worth_it);
        let mut winner = Self {
            n_labeled: level.n_labeled,
            labels_per_class: level.labels_per_class,
            best: best.method.clone(),
            accuracy_mean: best.accuracy_mean,
            recommended: chosen.map_or_else(|| best.method.clone(), |rival| rival.method.clone()),
            n_draws: best.draws,
            is_enough: best.draws >= FEWEST_DRAWS || best.draws == level.draws.len(),
            text: String::new(),
            rivals,
        };
        winner.text = winner.sentence(baseline);
        Some(winner)
    }

    fn sentence(&self, baseline: Option<&str>) -> String {
        let Self { n_labeled, best, recommended, accuracy_mean, .. } = self;
        let per_class = (self.labels_per_class * 10.0).round() / 10.0;
        let mut text = format!("with {n_labeled} labels ({per_class} per class): ");
        let methods: Vec<&Rival> = self.rivals.iter().filter(|r| Some(r.method.as_str()) != baseline).collect();
        let equal: Vec<&&Rival> = methods.iter().filter(|rival| rival.within_noise).collect();
        let chosen = equal.iter().find(|rival| rival.method == *recommended);
        // Writing to a text cannot fail.
        let _ = match (chosen, equal.as_slice(), methods.first()) {
            (Some(chosen), ..) => write!(
                text,
                "{recommended}, {:.3}; within noise of the best, {best} ({accuracy_mean:.3}, higher by {}), and {}",
                chosen.accuracy_mean,
                chosen.by(),
                chosen.speed()
            ),
            (None, [], None) => write!(text, "{recommended}, {accuracy_mean:.3}"),
            (None, [], Some(next)) => {
                let (next, accuracy, by) = (&next.method, next.accuracy_mean, next.by());
                write!(text, "{recommended}, {accuracy_mean:.3}; the next is {next}, {accuracy:.3} (lower by {by})")
            }
            (None, equal, _) => {
                let named: Vec<String> = equal.iter().take(MOST_NAMED).map(|rival| rival.beside()).collect();
                let more = equal.len() - named.len();
                let more = if more > 0 { format!("; {more} more") } else { String::new() };
                write!(text, "{recommended}, {accuracy_mean:.3}; within noise of it: {}{more}", named.join("; "))
            }
        };
        if let Some(rival) = self.rivals.iter().find(|rival| Some(rival.method.as_str()) == baseline)
            && rival.within_noise
        {
            let _ =
                write!(text, "; no method is clearly better than the {} ({:.3})", rival.method, rival.accuracy_mean);
        }
        text
    }
}

impl CompareRow {
    /// The row of its first draws.
    fn first(&self, n_draws: usize) -> Self {
        let accuracy = self.accuracy[..n_draws].to_vec();
        let (accuracy_mean, variance) = moments(&accuracy);
        Self { draws: n_draws, accuracy, accuracy_mean, accuracy_sd: variance.sqrt(), ..self.clone() }
    }

    /// Seconds of the method and of its graph.
    fn total_seconds(&self) -> f64 {
        self.seconds + self.graph_seconds
    }
}

impl Rival {
    fn new(best: &CompareRow, row: &CompareRow, level: &Level) -> Self {
        let pairs = best.accuracy.iter().zip(&row.accuracy);
        let differences: Vec<f64> = pairs.map(|(best, own)| best - own).collect();
        let (difference, variance) = moments(&differences);
        let m = differences.len();
        let (standard_error, limit) = if m > 1 {
            let shared = level.keep.n_folds().map_or(0.0, |k| 1.0 / (k as f64 - 1.0));
            ((variance * (1.0 / m as f64 + shared)).sqrt(), STUDENT.get(m - 2).copied().unwrap_or(2.0))
        } else {
            let n_hidden = level.n_hidden.max(1) as f64;
            let spread = |row: &CompareRow| row.accuracy[0] * (1.0 - row.accuracy[0]) / n_hidden;
            ((spread(best) + spread(row)).sqrt(), 2.0)
        };
        Self {
            method: row.method.clone(),
            accuracy_mean: row.accuracy_mean,
            difference,
            standard_error,
            within_noise: difference <= limit * standard_error,
            time_ratio: row.total_seconds() / best.total_seconds().max(1e-9),
        }
    }

    /// The difference and its standard error.
    fn by(&self) -> String {
        format!("{:.3} ± {:.3}", self.difference, self.standard_error)
    }

    /// The method beside a winner.
    fn beside(&self) -> String {
        format!("{}, {:.3} (lower by {}; {})", self.method, self.accuracy_mean, self.by(), self.speed())
    }

    /// How many times slower or faster than the best, in words.
    fn speed(&self) -> String {
        let (ratio, word) =
            if self.time_ratio < 1.0 { (1.0 / self.time_ratio, "faster") } else { (self.time_ratio, "slower") };
        match ratio {
            ratio if ratio >= 9.95 => format!("{ratio:.0} times {word}"),
            ratio if ratio >= NOTABLY => format!("{ratio:.1} times {word}"),
            _ => "about as fast".into(),
        }
    }
}
