//! The report of `audit`.

use std::collections::BTreeMap;

use lapwing::data::{Features, Labels, Report, RowNames};
use lapwing::models::Audit;

use super::next::confused;
use super::page::{Page, Table};
use super::{doubt, fitted_rows, thumbnails};
use crate::summary::{self, Row, row, texts};
use crate::text::{count, seconds};

/// Labels that are listed.
const MOST_ROWS: usize = 100;
/// Groups of contradictory duplicates that are listed.
const MOST_GROUPS: usize = 20;

/// What the columns of the table say.
const MEANING: [&str; 3] = [
    "quality: the share of the given label in the row, from 0 to 1, predicted by the other labels",
    "proposed: the label with the largest share",
    "flagged: the label is probably wrong, because the proposed one has at least the share that is usual for its class",
];

/// Contents of the report of an audit.
pub struct AuditPage<'a> {
    /// The audited data.
    pub title: &'a str,
    /// The report of the audit.
    pub report: &'a Report,
    /// What was found.
    pub found: &'a Audit,
    /// The given labels.
    pub labels: &'a Labels,
    /// The features, if any.
    pub features: Option<&'a Features<'a>>,
    /// Names of the rows, if they have any.
    pub names: Option<&'a RowNames>,
}

impl AuditPage<'_> {
    /// The whole file.
    pub fn render(&self) -> String {
        let names = self.labels.classes.names();
        let page = Page {
            kicker: "Labels audited by lapwing".into(),
            title: self.title.into(),
            tiles: self.tiles(),
            warnings: texts(self.report),
            summaries: vec![
                ("Summary", summary::of_audit(&self.found.summary, &names)),
                ("Time and memory", summary::of_cost(&self.report.phases, self.report.peak_bytes)),
            ],
            tables: vec![self.doubtful(&names), confused(self.found, &names)],
            lists: vec![
                ("Contradictory duplicates", self.contradictory(&names)),
                ("What the columns mean", MEANING.map(String::from).to_vec()),
            ],
            ..Page::default()
        };
        page.render()
    }

    fn tiles(&self) -> Vec<Row> {
        let found = &self.found.summary;
        let mut tiles =
            vec![row("labels given", count(found.n_labeled)), row("flagged as probably wrong", count(found.n_flagged))];
        tiles.extend(summary::of_foretold(found));
        tiles.extend(found.n_duplicate_rows.map(|n| row("duplicate rows", count(n))));
        tiles.push(row("time", seconds(self.report.seconds())));
        tiles
    }

    fn doubtful(&self, names: &[String]) -> Table {
        let Self { found, labels, .. } = self;
        let n_judged = found.judged.iter().filter(|judged| **judged).count();
        let shown =
            if n_judged > MOST_ROWS { format!(" ({MOST_ROWS} of {} labels)", count(n_judged)) } else { String::new() };
        let has_groups = found.duplicate_group.iter().any(Option::is_some);
        let group = |at: usize| match (found.duplicate_group[at], found.contradicts[at]) {
            (None, _) => String::new(),
            (Some(group), false) => format!("group {group}"),
            (Some(group), true) => format!("group {group}, other labels"),
        };
        let line = thumbnails::lines(self.features);
        let rows = doubt::by_doubt(found, labels).into_iter().map(|row| row as usize);
        let lines = rows.take_while(|&row| found.judged[row]).take(MOST_ROWS).map(|row| {
            let mut cells = vec![fitted_rows::name(self.names, row)];
            cells.extend(doubt::cells(found, labels, names, row));
            cells.extend(has_groups.then(|| group(row)));
            line(row, cells)
        });
        let mut heads = [&["row"], &doubt::HEADS[..]].concat();
        heads.extend(has_groups.then_some("duplicates"));
        Table::new(format!("Doubtful labels, the most doubtful first{shown}"), &heads, lines)
    }

    /// A sentence for each group of duplicates with different labels.
    fn contradictory(&self, names: &[String]) -> Vec<String> {
        let mut groups: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for row in (0..self.found.contradicts.len()).filter(|&row| self.found.contradicts[row]) {
            groups.entry(self.found.duplicate_group[row].unwrap_or_default()).or_default().push(row);
        }
        let sentence = |rows: &Vec<usize>| {
            let name = |row: usize| fitted_rows::name(self.names, row);
            let row = |&row: &usize| format!("row {} is {}", name(row), doubt::given(self.labels, names, row));
            rows.iter().map(row).collect::<Vec<_>>().join(", ")
        };
        groups.values().take(MOST_GROUPS).map(sentence).collect()
    }
}
