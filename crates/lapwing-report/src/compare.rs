//! The report of `compare`: accuracy against the number of labels.

use lapwing::models::CompareRow;

use super::axis::{Scale, draw_axes, ends, plot_area};
use super::color;
use super::page::{Figure, Page, Table};
use super::svg::Svg;
use crate::summary::Row;
use crate::text::{count, percent};

const SIZE: (f64, f64) = (1120.0, 440.0);

/// Contents of the report of a comparison.
pub struct ComparePage<'a> {
    /// The data.
    pub title: &'a str,
    /// The main figures.
    pub tiles: Vec<Row>,
    /// The lines of the summary.
    pub rows: Vec<Row>,
    /// Results of all methods.
    pub results: &'a [CompareRow],
    /// The same as a table.
    pub table: Table,
    /// Which method to take, one line for each number of labels, and how.
    pub advice: Vec<String>,
    /// What the table shows, and what is not in it.
    pub notes: Vec<String>,
}

impl ComparePage<'_> {
    /// The whole file.
    pub fn render(self) -> String {
        let page = Page {
            kicker: "Comparison by lapwing".into(),
            title: self.title.into(),
            tiles: self.tiles,
            figures: vec![accuracy(self.results)],
            tables: vec![self.table],
            lists: vec![("Which method", self.advice), ("About the table", self.notes)],
            summaries: vec![("Summary", self.rows)],
            ..Page::default()
        };
        page.render()
    }
}

/// A line for each method; error bars show the standard deviation over the draws.
fn accuracy(results: &[CompareRow]) -> Figure {
    let caption =
        "Mean accuracy on the hidden labels; error bars show the standard deviation over the draws of labels.";
    let (across, up) = plot_area(SIZE);
    let (fewest, most) = ends(results.iter().map(|result| result.n_labeled as f64)).unwrap_or((0.0, 1.0));
    let across = (across.0 + 20.0, across.1 - 20.0);
    let x = if most > 4.0 * fewest {
        Scale::log(fewest, most, across)
    } else {
        Scale::linear(fewest.min(most - 1.0), most, across)
    };
    let reach = |result: &CompareRow, sign: f64| (result.accuracy_mean + sign * result.accuracy_sd).clamp(0.0, 1.0);
    let bars = results.iter().flat_map(|result| [reach(result, -1.0), reach(result, 1.0)]);
    let (worst, best) = ends(bars).unwrap_or((0.0, 1.0));
    let y = Scale::linear(worst, best.max(worst + 0.01).min(1.0), up);

    let mut svg = Svg::new(SIZE.0, SIZE.1, "Accuracy", caption);
    draw_axes(&mut svg, SIZE, &x, &y, ("labels given", "accuracy on hidden labels"));
    let methods = methods(results);
    for (at, method) in methods.iter().enumerate() {
        let color = color(at);
        let own = || results.iter().filter(|result| result.method == *method);
        let point = |result: &CompareRow| (x.at(result.n_labeled as f64), y.at(result.accuracy_mean));
        svg.polyline(own().map(point), &format!("thread {color}"));
        for result in own() {
            let (px, py) = point(result);
            let (low, high) = (y.at(reach(result, -1.0)), y.at(reach(result, 1.0)));
            let whisker = format!("whisker {color}");
            svg.line((px, low), (px, high), &whisker);
            svg.line((px - 5.0, low), (px + 5.0, low), &whisker);
            svg.line((px - 5.0, high), (px + 5.0, high), &whisker);
            let (mean, sd, labels) =
                (percent(result.accuracy_mean), percent(result.accuracy_sd), count(result.n_labeled));
            svg.circle((px, py), 4.5, &format!("mark {color}"), &format!("{method}, {labels} labels: {mean} ± {sd}"));
        }
    }
    let legend = methods.iter().enumerate().map(|(at, method)| (color(at), method.to_string())).collect();
    Figure { legend, layout: " wide", ..Figure::new("Accuracy", caption.into(), svg) }
}

/// Methods, in the order of their first results.
fn methods(results: &[CompareRow]) -> Vec<&str> {
    let mut methods = Vec::new();
    for result in results {
        if !methods.contains(&result.method.as_str()) {
            methods.push(result.method.as_str());
        }
    }
    methods
}
