//! The report of `graph`.

use lapwing::data::Report;
use lapwing::graph::Graph;

use super::histogram;
use super::page::Page;
use crate::summary::{Row, row};
use crate::text::{count, seconds};

/// Contents of the report of a graph.
pub struct GraphPage<'a> {
    /// The data of the graph.
    pub title: &'a str,
    /// Lines of the summary.
    pub rows: Vec<Row>,
    /// The report of its construction.
    pub report: &'a Report,
    /// The graph.
    pub graph: &'a Graph,
}

impl GraphPage<'_> {
    /// The whole file.
    pub fn render(self) -> String {
        let mut tiles = vec![row("rows", count(self.report.n_samples)), row("edges", count(self.graph.n_edges()))];
        tiles.extend(self.report.graph.as_ref().map(|graph| row("components", count(graph.n_components))));
        tiles.push(row("time", seconds(self.report.seconds())));
        let page = Page {
            kicker: "Graph by lapwing".into(),
            title: self.title.into(),
            tiles,
            warnings: self.report.warnings.clone(),
            summaries: vec![("Summary", self.rows)],
            figures: histogram::degrees(self.graph.degree()).into_iter().collect(),
            ..Page::default()
        };
        page.render()
    }
}
