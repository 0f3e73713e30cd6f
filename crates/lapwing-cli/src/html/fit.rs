//! The report of `label` and `demo`.

use lapwing::data::{Features, Report, Run};
use lapwing::graph::Graph;
use lapwing::models::Labeling;

use super::coordinates::picture;
use super::page::Page;
use super::{Palette, histogram, picture as rows_picture, sizes};
use crate::failure::Failure;
use crate::output::ClassSize;
use crate::summary::{self, Row, row};
use crate::text::{count, percent, seconds};

/// What the report of a fit is made from.
pub struct FitPage<'a> {
    /// What was labeled.
    pub title: &'a str,
    /// The fit's own summary.
    pub report: &'a Report,
    /// Accuracy on hidden labels, where it is known.
    pub accuracy: Option<f64>,
    /// Sizes of the classes.
    pub classes: &'a [ClassSize],
    /// Class given to each row, negative where none.
    pub given: &'a [i32],
    /// Class of each row in the end.
    pub labels: &'a [Option<usize>],
    /// Confidences and who is reached.
    pub labeling: &'a Labeling,
    /// The graph, if there is one.
    pub graph: Option<&'a Graph>,
    /// The features, if there are any.
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
        let palette = Palette::of(self.classes);
        if let Some(features) = self.features {
            let given: Vec<usize> = (0..self.given.len()).filter(|&row| self.given[row] >= 0).collect();
            let names: Vec<String> = self.classes.iter().map(|class| class.name.clone()).collect();
            let rows = rows_picture::Rows {
                names: &names,
                palette: &palette,
                labels: self.labels,
                given: self.given,
                confidence: &self.labeling.confidence,
            };
            let picture = picture(features, &given, run)?;
            page.figures.extend(picture.map(|picture| rows_picture::draw(&picture, &rows, features.n_rows())));
        }
        page.figures.push(sizes::class_sizes(self.classes, &palette));
        page.figures.push(histogram::confidence(&self.inferred_confidence()));
        page.figures.extend(self.graph.and_then(|graph| histogram::degrees(graph.degree())));
        let curve = self.report.solve.as_ref().map(|solve| solve.residual_curve.as_slice());
        let course = match self.report.parts.contains_key("unfolded") {
            true => &histogram::TRAINING,
            false => &histogram::RESIDUALS,
        };
        page.figures.extend(curve.and_then(|curve| histogram::residuals(curve, self.tol, course)));
        Ok(page.render())
    }

    fn tiles(&self) -> Vec<Row> {
        let report = self.report;
        let mut tiles = vec![row("rows", count(report.n_samples)), row("labels given", count(report.n_labeled))];
        tiles.extend(report.n_classes.map(|n| row("classes", count(n))));
        tiles.extend(self.accuracy.map(|a| row("accuracy on hidden labels", percent(a))));
        tiles.push(row("rows no label reaches", count(report.n_unreached)));
        tiles.extend(summary::of_certificate(report));
        tiles.push(row("time", seconds(report.seconds())));
        tiles
    }

    /// Confidence of the rows whose label was inferred.
    fn inferred_confidence(&self) -> Vec<f64> {
        let rows = self.labeling.confidence.iter().zip(&self.labeling.reached).zip(self.given);
        rows.filter(|((_, reached), given)| **reached && **given < 0).map(|((&confidence, _), _)| confidence).collect()
    }
}
