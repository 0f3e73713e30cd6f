//! The report of `label` and `demo`.

use lapwing::data::{Features, Labels, Report, RowNames, Run};
use lapwing::graph::Graph;
use lapwing::models::Labeling;

use super::coordinates::Picture;
use super::page::Page;
use super::{Palette, histogram, picture, reliability, sizes};
use crate::failure::Failure;
use crate::output::ClassSize;
use crate::summary::{self, Row, row};
use crate::text::{count, percent, seconds};

/// Contents of the report of a fit.
pub struct FitPage<'a> {
    /// The labeled data.
    pub title: &'a str,
    /// The report of the fit.
    pub report: &'a Report,
    /// Accuracy on hidden labels, if known.
    pub accuracy: Option<f64>,
    /// Sizes of the classes.
    pub classes: &'a [ClassSize],
    /// Given labels.
    pub known: &'a Labels,
    /// Names of the rows, if they have any.
    pub names: Option<&'a RowNames>,
    /// Given class of each row; negative for none.
    pub given: &'a [i32],
    /// Class of each row at the end.
    pub labels: &'a [Option<usize>],
    /// Confidence of each row, and whether a label reaches it.
    pub labeling: &'a Labeling,
    /// The graph, if any.
    pub graph: Option<&'a Graph>,
    /// The features, if any.
    pub features: Option<&'a Features<'a>>,
    /// Residual at which the solver stops.
    pub tol: f64,
}

impl FitPage<'_> {
    /// The whole file.
    pub fn render(&self, run: &Run) -> Result<String, Failure> {
        let mut page = Page {
            kicker: format!("Labels by lapwing, method {}", self.report.method),
            title: self.title.into(),
            tiles: self.tiles(),
            warnings: self.report.warnings.clone(),
            summaries: vec![
                ("Summary", summary::of_fit(self.report)),
                ("Chosen by auto", summary::of_choices(self.report)),
                ("Time and memory", summary::of_cost(&self.report.phases, self.report.peak_bytes)),
            ],
            ..Page::default()
        };
        let rows = super::next::Rows {
            given: self.known,
            labeling: self.labeling,
            graph: self.graph,
            features: self.features,
            names: self.names,
        };
        page.tables = rows.tables(run)?;
        let palette = Palette::new(self.classes);
        let given: Vec<usize> = (0..self.given.len()).filter(|&row| self.given[row] >= 0).collect();
        let names: Vec<String> = self.classes.iter().map(|class| class.name.clone()).collect();
        let rows = picture::LabeledRows {
            names: &names,
            palette: &palette,
            labels: self.labels,
            given: self.given,
            confidence: &self.labeling.confidence,
        };
        let drawn = Picture::new(self.features, self.graph, &given, run)?;
        page.figures.extend(drawn.map(|drawn| picture::draw(&drawn, &rows, self.report.n_samples)));
        page.figures.push(sizes::class_sizes(self.classes, &palette));
        page.figures.push(histogram::confidence(&self.inferred_confidence()));
        page.figures.extend(reliability::figure(self.report));
        page.figures.extend(self.graph.and_then(|graph| histogram::degrees(graph.degree())));
        let curve = self.report.solve.as_ref().map(|solve| solve.residual_curve.as_slice());
        let is_training = self.report.parts.contains_key("unfolded");
        let course = if is_training { &histogram::TRAINING } else { &histogram::RESIDUALS };
        page.figures.extend(curve.and_then(|curve| histogram::residuals(curve, self.tol, course)));
        Ok(page.render())
    }

    fn tiles(&self) -> Vec<Row> {
        let report = self.report;
        let mut tiles = vec![row("rows", count(report.n_samples)), row("labels given", count(report.n_labeled))];
        tiles.extend(report.n_classes.map(|n| row("classes", count(n))));
        tiles.extend(self.accuracy.map(|a| row("accuracy on hidden labels", percent(a))));
        tiles.extend(summary::of_expected(report).map(|expected| row("expected accuracy", expected)));
        tiles.push(row("rows no label reaches", count(report.n_unreached)));
        tiles.extend(summary::of_certificate(report));
        tiles.push(row("time", seconds(report.seconds())));
        tiles
    }

    /// Confidences of rows with an inferred label.
    fn inferred_confidence(&self) -> Vec<f64> {
        let rows = self.labeling.confidence.iter().zip(&self.labeling.reached).zip(self.given);
        rows.filter(|((_, reached), given)| **reached && **given < 0).map(|((&confidence, _), _)| confidence).collect()
    }
}
