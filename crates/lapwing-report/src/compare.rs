//! The chart of a comparison: accuracy against the number of labels, or of each method with one number.

use lapwing::models::CompareRow;

use super::axis::{Scale, chart, ends, plot_area};
use super::page::Figure;
use super::palette::color;
use super::svg::Svg;
use crate::text::{count, percent};

const SIZE: (f64, f64) = (1120.0, 440.0);
/// Height of the line of a method, and space for the names.
const LINE: f64 = 26.0;
const LEFT: f64 = 170.0;
const CAPTION: &str =
    "Mean accuracy on the hidden labels; error bars show the standard deviation over the draws of labels.";

/// The chart of a comparison.
pub fn comparison(results: &[CompareRow]) -> Figure {
    let has_one_number = results.iter().all(|result| result.n_labeled == results[0].n_labeled);
    if has_one_number { by_method(results) } else { accuracy(results) }
}

/// Mean accuracy and one standard deviation below or above it.
fn reach(result: &CompareRow, sign: f64) -> f64 {
    (result.accuracy_mean + sign * result.accuracy_sd).clamp(0.0, 1.0)
}

/// The scale of all accuracies with their error bars.
fn accuracies(results: &[CompareRow], pixels: (f64, f64)) -> Scale {
    let bars = results.iter().flat_map(|result| [reach(result, -1.0), reach(result, 1.0)]);
    let (worst, best) = ends(bars).unwrap_or((0.0, 1.0));
    Scale::linear(worst, best.max(worst + 0.01).min(1.0), pixels)
}

/// The methods one below the other, the most accurate first.
fn by_method(results: &[CompareRow]) -> Figure {
    let mut order: Vec<&CompareRow> = results.iter().collect();
    order.sort_by(|a, b| b.accuracy_mean.total_cmp(&a.accuracy_mean));
    let x = accuracies(results, (LEFT, SIZE.0 - 80.0));
    let height = LINE * order.len() as f64 + 40.0;
    let mut svg = Svg::new(SIZE.0, height, "Accuracy", CAPTION);
    for (value, text) in x.ticks() {
        svg.line((x.at(value), 6.0), (x.at(value), height - 30.0), "grid");
        svg.text((x.at(value), height - 12.0), "tick middle", &text);
    }
    for (line, result) in order.into_iter().enumerate() {
        let y = 6.0 + LINE * (line as f64 + 0.5);
        let (mean, sd) = (percent(result.accuracy_mean), percent(result.accuracy_sd));
        svg.text((LEFT - 12.0, y + 4.0), "label end", &result.method);
        svg.line((x.at(reach(result, -1.0)), y), (x.at(reach(result, 1.0)), y), "whisker k0");
        svg.circle((x.at(result.accuracy_mean), y), 4.5, "mark k0", &format!("{}: {mean} ± {sd}", result.method));
        svg.text((SIZE.0 - 70.0, y + 4.0), "tick start", &mean);
    }
    Figure { layout: " wide", ..Figure::new("Accuracy", CAPTION.into(), svg) }
}

/// A line for each method; error bars show the standard deviation over the draws.
fn accuracy(results: &[CompareRow]) -> Figure {
    let (across, up) = plot_area(SIZE);
    let (fewest, most) = ends(results.iter().map(|result| result.n_labeled as f64)).unwrap_or((0.0, 1.0));
    let across = (across.0 + 20.0, across.1 - 20.0);
    let x = if most > 4.0 * fewest {
        Scale::log(fewest, most, across)
    } else {
        Scale::linear(fewest.min(most - 1.0), most, across)
    };
    let y = accuracies(results, up);
    let mut svg = chart(SIZE, "Accuracy", CAPTION, (&x, "labels given"), (&y, "accuracy on hidden labels"));
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
    Figure { legend, layout: " wide", ..Figure::new("Accuracy", CAPTION.into(), svg) }
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
