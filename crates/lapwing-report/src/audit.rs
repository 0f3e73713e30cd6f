//! The report of `audit`.

use std::collections::BTreeMap;

use lapwing::data::{Features, Labels, Report, RowNames};
use lapwing::models::Audit;

use super::next::confused;
use super::page::{Line, Page, Table};
use super::texts;
use super::thumbnails::Thumbnails;
use crate::doubt::by_doubt;
use crate::summary::{self, Row, row};
use crate::text::{count, number, percent, seconds};

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
                ("Summary", summary::of_audit(self.report, &names)),
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
        let facts = &self.report.parts["audit"];
        let whole = |key: &str| count(facts[key].as_u64().unwrap_or_default() as usize);
        let mut tiles =
            vec![row("labels given", whole("n_labeled")), row("flagged as probably wrong", whole("n_flagged"))];
        tiles.extend(facts["foretold"].as_f64().map(|share| row("labels predicted by the others", percent(share))));
        if facts["n_duplicate_rows"].is_u64() {
            tiles.push(row("duplicate rows", whole("n_duplicate_rows")));
        }
        tiles.push(row("time", seconds(self.report.seconds())));
        tiles
    }

    fn name(&self, row: u32) -> String {
        self.names.map_or_else(|| count(row as usize), |names| names.name(row as usize).to_owned())
    }

    fn given<'n>(&self, row: u32, names: &'n [String]) -> &'n str {
        usize::try_from(self.labels.index[row as usize]).map_or("", |class| &names[class])
    }

    fn doubtful(&self, names: &[String]) -> Table {
        let Self { found, labels, .. } = self;
        let has_groups = found.duplicate_group.iter().any(Option::is_some);
        let heads = ["row", "given", "proposed", "quality", "flagged", "duplicates"];
        let n_judged = found.judged.iter().filter(|judged| **judged).count();
        let shown =
            if n_judged > MOST_ROWS { format!(" ({MOST_ROWS} of {} labels)", count(n_judged)) } else { String::new() };
        let thumbnails = self.features.and_then(Thumbnails::of);
        let rows = by_doubt(found, labels).into_iter().take_while(|&row| found.judged[row as usize]);
        let line = |row: u32| {
            let at = row as usize;
            let proposed = found.proposed[at].map_or("", |class| names[class as usize].as_str());
            let duplicates = match (found.duplicate_group[at], found.contradicts[at]) {
                (None, _) => String::new(),
                (Some(group), false) => format!("group {group}"),
                (Some(group), true) => format!("group {group}, other labels"),
            };
            let mut cells = vec![
                self.name(row),
                self.given(row, names).to_owned(),
                proposed.to_owned(),
                number(found.quality[at]),
                if found.flagged[at] { "yes".into() } else { String::new() },
                duplicates,
            ];
            cells.truncate(if has_groups { heads.len() } else { heads.len() - 1 });
            Line { image: thumbnails.as_ref().map(|thumbnails| thumbnails.image(at)), cells }
        };
        let heads = heads[..if has_groups { heads.len() } else { heads.len() - 1 }].iter();
        Table {
            heading: format!("Doubtful labels, the most doubtful first{shown}"),
            heads: heads.map(|&head| head.to_owned()).collect(),
            lines: rows.take(MOST_ROWS).map(line).collect(),
        }
    }

    /// A sentence for each group of duplicates with different labels.
    fn contradictory(&self, names: &[String]) -> Vec<String> {
        let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let rows = (0..self.found.contradicts.len() as u32).filter(|&row| self.found.contradicts[row as usize]);
        for row in rows {
            groups.entry(self.found.duplicate_group[row as usize].unwrap_or_default()).or_default().push(row);
        }
        let sentence = |rows: &Vec<u32>| {
            let row = |&row: &u32| format!("row {} is {}", self.name(row), self.given(row, names));
            rows.iter().map(row).collect::<Vec<_>>().join(", ")
        };
        groups.values().take(MOST_GROUPS).map(sentence).collect()
    }
}
