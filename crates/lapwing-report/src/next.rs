//! What to do next, in the report of a fit: rows to label, labels to doubt, rows that are least certain.

use lapwing::data::{Error, Features, Result, Run, Targets};
use lapwing::graph::{Graph, Metric};
use lapwing::models::{Audit, AuditParams, ClassAccuracy, SuggestParams, Suggester, Wanted, audit};

use super::fitted_rows::FittedRows;
use super::page::{Line, Table};
use super::parts::Parts;
use super::{doubt, thumbnails};
use crate::text::{count, number, percent};

/// Rows of each table.
const MOST_ROWS: usize = 20;

/// Classes of the table of accuracies.
const MOST_CLASSES: usize = 40;

/// Makes a line about a row: its name, and these cells.
type LineOf<'l> = &'l dyn Fn(usize, Vec<String>) -> Line;

/// What the tables are made from.
pub struct Next<'a> {
    pub parts: &'a Parts,
    pub rows: FittedRows<'a>,
    pub graph: Option<&'a Graph>,
    pub features: Option<&'a Features<'a>>,
}

impl Next<'_> {
    /// The tables.
    pub fn tables(&self, run: &Run) -> Result<Vec<Table>> {
        let classes = self.rows.given.classes.names();
        let with_image = thumbnails::lines(self.features);
        let line = |row: usize, cells: Vec<String>| with_image(row, [vec![self.rows.name(row)], cells].concat());
        let mut tables: Vec<Table> = class_accuracy(&self.parts.class_accuracy, &classes).into_iter().collect();
        if let Some(graph) = self.graph {
            let targets = Targets::one_hot(self.rows.given, None)?;
            let part = run.part(0.0..0.4, "rows to label next");
            tables.extend(self.suggested(graph, &targets, &classes, &line, &part)?);
            if let Some(found) = self.audited(graph, &targets, &run.part(0.4..1.0, "doubtful labels"))? {
                tables.push(self.doubtful(&found, &classes, &line));
                tables.push(confused(&found, &classes));
            }
        }
        tables.extend(self.least_certain(&classes, &line));
        Ok(tables)
    }

    /// Rows to label next.
    fn suggested(
        &self,
        graph: &Graph,
        targets: &Targets,
        classes: &[String],
        line: LineOf<'_>,
        run: &Run,
    ) -> Result<Option<Table>> {
        let n = MOST_ROWS.min(targets.n_samples() - targets.rows().len());
        if n == 0 {
            return Ok(None);
        }
        let mut suggester = Suggester::new(graph, &run.part(0.0..0.5, ""))?;
        let wanted = Wanted { n, ..Wanted::default() };
        let run = run.part(0.5..1.0, "");
        let found = suggester.next(Some(targets), &wanted, &SuggestParams::default(), &run)?;
        let lines = found.rows.iter().map(|row| {
            let at = row.row as usize;
            let label = self.rows.labels[at].map_or("", |class| classes[class].as_str());
            let confidence = if self.rows.reached[at] { number(self.rows.confidence[at]) } else { String::new() };
            line(at, vec![row.reason.name().into(), label.into(), confidence])
        });
        Ok(Some(Table::new("Label these next", &["row", "reason", "label", "confidence"], lines)))
    }

    /// The audit of the given labels; none if they cannot be judged.
    fn audited(&self, graph: &Graph, targets: &Targets, run: &Run) -> Result<Option<Audit>> {
        let measured = self.features.map(|rows| (rows, Metric::auto(rows)));
        match audit(graph, measured, targets, &AuditParams::default(), run) {
            Ok(found) => Ok(Some(found)),
            Err(error @ Error::Interrupted) => Err(error),
            // Too few labels, or labels of one class, are no fault of the page.
            Err(_) => Ok(None),
        }
    }

    /// Labels for which another class is proposed.
    fn doubtful(&self, found: &Audit, classes: &[String], line: LineOf<'_>) -> Table {
        let given = self.rows.given;
        let is_other = |row: usize| found.proposed[row].is_some_and(|class| class as i32 != given.index[row]);
        let rows = doubt::by_doubt(found, given).into_iter().map(|row| row as usize);
        let rows = rows.filter(|&row| found.judged[row] && is_other(row)).take(MOST_ROWS);
        let caution = if found.summary.flags_are_doubtful {
            ": fewer than 80 % are predicted by the others, so some flags are wrong"
        } else {
            ""
        };
        let lines = rows.map(|row| line(row, doubt::cells(found, given, classes, row).to_vec()));
        Table::new(format!("Doubtful labels{caution}"), &[&["row"], &doubt::HEADS[..]].concat(), lines)
    }

    /// Rows of least confidence among those that a label reaches.
    fn least_certain(&self, classes: &[String], line: LineOf<'_>) -> Option<Table> {
        let confidence = self.rows.confidence;
        let mut rows: Vec<usize> = self.rows.inferred().collect();
        let order = |a: &usize, b: &usize| confidence[*a].total_cmp(&confidence[*b]).then(a.cmp(b));
        if rows.len() > MOST_ROWS {
            rows.select_nth_unstable_by(MOST_ROWS - 1, order);
            rows.truncate(MOST_ROWS);
        }
        rows.sort_unstable_by(order);
        let cells = |&row: &usize| {
            let shares = self.rows.shares.row(row);
            let mut best: Vec<usize> = (0..shares.len()).collect();
            best.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]).then(a.cmp(&b)));
            let shown = best.iter().take(3).map(|&class| format!("{} {}", classes[class], number(shares[class])));
            line(row, vec![shown.collect::<Vec<_>>().join(", ")])
        };
        let heads = ["row", "likeliest classes, with their shares"];
        (!rows.is_empty()).then(|| Table::new("Least certain rows", &heads, rows.iter().map(cells)))
    }
}

/// How often held-out labels of each class are right, the most frequent class first; none if no label was held out.
fn class_accuracy(found: &[ClassAccuracy], classes: &[String]) -> Option<Table> {
    let is_counted = |(_, class): &(&String, &ClassAccuracy)| class.n_held_out + class.n_predicted > 0;
    let mut rows: Vec<(&String, &ClassAccuracy)> = classes.iter().zip(found).filter(is_counted).collect();
    rows.sort_by_key(|(_, class)| std::cmp::Reverse(class.n_held_out));
    let share = |right: usize, of: usize| if of == 0 { String::new() } else { percent(right as f64 / of as f64) };
    let line = |(name, class): &(&String, &ClassAccuracy)| {
        let ClassAccuracy { n_held_out, n_predicted, n_right, .. } = **class;
        let (found, right) = (share(n_right, n_held_out), share(n_right, n_predicted));
        vec![(*name).clone(), count(n_held_out), found, count(n_predicted), right]
    };
    let heads = ["class", "held-out labels", "found (recall)", "predicted", "right (precision)"];
    let table =
        || Table::new("Accuracy by class, on held-out labels", &heads, rows.iter().take(MOST_CLASSES).map(line));
    (!found.is_empty()).then(table)
}

/// Pairs of classes by how many labels of one are flagged as the other.
pub(super) fn confused(found: &Audit, classes: &[String]) -> Table {
    let n_labels: Vec<f64> = found.confusion.rows().map(|row| row.iter().sum()).collect();
    let mut pairs: Vec<(usize, usize, f64)> = Vec::new();
    for a in 0..classes.len() {
        let both = |b: usize| found.confusion.row(a)[b] + found.confusion.row(b)[a];
        pairs.extend((a + 1..classes.len()).map(|b| (a, b, both(b))).filter(|pair| pair.2 > 0.0));
    }
    pairs.sort_by(|x, y| y.2.total_cmp(&x.2).then((x.0, x.1).cmp(&(y.0, y.1))));
    let line = |&(a, b, n): &(usize, usize, f64)| {
        let share = n / (n_labels[a] + n_labels[b]).max(1.0);
        vec![format!("{} and {}", classes[a], classes[b]), count(n as usize), percent(share)]
    };
    let heads = ["classes", "labels flagged as the other", "of the labels of both"];
    Table::new("Classes taken for each other", &heads, pairs.iter().take(MOST_ROWS).map(line))
}
