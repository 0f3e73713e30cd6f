//! The report of `label` and `demo`, and of a fitted classifier in Python.

use lapwing::data::{Features, Report, Result, Run};
use lapwing::graph::Graph;

use super::coordinates::Picture;
use super::fitted_rows::FittedRows;
use super::next::Next;
use super::page::Page;
use super::palette::Palette;
use super::parts::Parts;
use super::sizes::{self, ClassSize};
use super::{confusion, histogram, picture, reliability};
use crate::summary::{self, Row, row};
use crate::text::{count, percent, seconds};

/// How a fit can be done again.
pub struct Origin {
    /// The command, or the expression of Python.
    pub command: String,
    /// The seed; none if it was drawn.
    pub seed: Option<u64>,
}

/// Contents of the report of a fit.
pub struct FitPage<'a> {
    /// The labeled data.
    pub title: &'a str,
    /// The report of the fit.
    pub report: &'a Report,
    /// Texts of its warnings.
    pub warnings: Vec<String>,
    /// How it was made.
    pub origin: Origin,
    /// The rows.
    pub rows: FittedRows<'a>,
    /// The graph, if any.
    pub graph: Option<&'a Graph>,
    /// The features, if any.
    pub features: Option<&'a Features<'a>>,
    /// Residual at which the solver stops.
    pub tol: f64,
}

impl FitPage<'_> {
    /// The whole file.
    ///
    /// # Errors
    /// [`Error::Interrupted`](lapwing::data::Error::Interrupted) if the run is canceled, and those of suggestions.
    pub fn render(&self, run: &Run) -> Result<String> {
        let Self { rows, graph, features, report, .. } = *self;
        let (names, parts) = (rows.given.classes.names(), Parts::of(report));
        let sizes = ClassSize::of_rows(&rows.given.classes, &rows.given.index, rows.labels);
        let palette = Palette::new(&sizes.iter().map(|size| size.inferred).collect::<Vec<_>>());
        let mut page = Page {
            kicker: format!("Labels by lapwing, method {}", report.method),
            title: self.title.into(),
            tiles: self.tiles(&parts),
            warnings: self.warnings.clone(),
            summaries: vec![
                ("Summary", summary::of_fit(report, &parts)),
                ("Chosen by auto", summary::of_choices(report, "")),
                ("Time and memory", summary::of_cost(&report.phases, report.peak_bytes)),
                ("To do it again", self.origin.rows()),
            ],
            ..Page::default()
        };
        page.tables = Next { parts: &parts, rows, graph, features }.tables(&run.part(0.0..0.7, ""))?;
        page.tables.extend(confusion::table(&rows, &names, features));
        let given: Vec<usize> = (0..rows.given.index.len()).filter(|&row| rows.is_given(row)).collect();
        let drawn = Picture::new(features, graph, &given, &run.part(0.7..1.0, "picture"))?;
        let labeled = picture::LabeledRows { rows, names: &names, palette: &palette };
        page.figures.extend(drawn.map(|drawn| picture::draw(&drawn, &labeled, report.n_samples)));
        page.figures.push(sizes::class_sizes(&sizes, &palette));
        page.figures.extend(confusion::figure(&rows, &names));
        page.figures.push(histogram::confidence(&rows.inferred().map(|row| rows.confidence[row]).collect::<Vec<_>>()));
        page.figures.extend(reliability::figure(&parts.reliability));
        page.figures.extend(graph.and_then(|graph| histogram::degrees(graph.degree())));
        let curve = report.solve.as_ref().map(|solve| solve.residual_curve.as_slice());
        let course = if parts.is_trained { &histogram::TRAINING } else { &histogram::RESIDUALS };
        page.figures.extend(curve.and_then(|curve| histogram::residuals(curve, self.tol, course)));
        Ok(page.render())
    }

    fn tiles(&self, parts: &Parts) -> Vec<Row> {
        let report = self.report;
        let mut tiles = vec![row("rows", count(report.n_samples)), row("labels given", count(report.n_labeled))];
        tiles.extend(report.n_classes.map(|n| row("classes", count(n))));
        tiles.extend(confusion::accuracy(&self.rows).map(|a| row("accuracy on hidden labels", percent(a))));
        // The labels that it comes from are in the summary.
        let short = |expected: String| expected.split(" (").next().unwrap_or_default().to_owned();
        tiles.extend(summary::of_expected(parts).map(|expected| row("expected accuracy", short(expected))));
        tiles.push(row("rows no label reaches", count(report.n_unreached)));
        tiles.extend(summary::of_certificate(report, parts));
        tiles.push(row("time", seconds(report.seconds())));
        tiles
    }
}

impl Origin {
    fn rows(&self) -> Vec<Row> {
        let seed = self.seed.map_or_else(|| "drawn: another run may differ".to_owned(), |seed| seed.to_string());
        vec![
            row("command", self.command.clone()),
            row("seed", seed),
            row("version", format!("lapwing {}", env!("CARGO_PKG_VERSION"))),
        ]
    }
}
