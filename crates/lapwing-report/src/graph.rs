//! The report of `graph`.

use lapwing::data::Report;
use lapwing::graph::Graph;

use super::histogram;
use super::page::Page;
use crate::summary::{Row, row, texts};
use crate::text::{count, seconds};

/// The report of a graph: `title` names its data, `rows` are the lines of the summary.
pub fn graph_page(title: &str, rows: Vec<Row>, report: &Report, graph: &Graph) -> String {
    let mut tiles = vec![row("rows", count(report.n_samples)), row("edges", count(graph.n_edges()))];
    tiles.extend(report.graph.as_ref().map(|graph| row("components", count(graph.n_components))));
    tiles.push(row("time", seconds(report.seconds())));
    let page = Page {
        kicker: "Graph by lapwing".into(),
        title: title.into(),
        tiles,
        warnings: texts(report),
        summaries: vec![("Summary", rows)],
        figures: histogram::degrees(graph.degree()).into_iter().collect(),
        ..Page::default()
    };
    page.render()
}
