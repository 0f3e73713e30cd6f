//! The rows in two dimensions, colored by label.

use super::coordinates::{Axes, Picture};
use super::fitted_rows::FittedRows;
use super::page::Figure;
use super::palette::Palette;
use super::sizes::shortened;
use super::svg::Svg;
use crate::text::{count, number};

const SIZE: (f64, f64) = (1120.0, 620.0);
const MARGIN: f64 = 24.0;
/// The most given labels whose names are written into the picture; with more, their rows are only outlined.
const MOST_NAMES: usize = 250;
/// The most characters of a name inside its circle.
const NAME_CHARS: usize = 2;

/// Labels and colors of the rows.
pub struct LabeledRows<'a> {
    pub rows: FittedRows<'a>,
    /// Names of the classes.
    pub names: &'a [String],
    /// Colors of the classes.
    pub palette: &'a Palette,
}

/// Draws rows with inferred labels as points, and rows with given labels as larger outlined circles above them.
pub fn draw(picture: &Picture, rows: &LabeledRows<'_>, n_samples: usize) -> Figure {
    let frame = frame(&picture.points);
    let place = placement(frame);
    let is_given = |row: usize| rows.rows.is_given(row);
    let n_given = picture.rows.iter().filter(|&&row| is_given(row)).count();
    let shown = if picture.rows.len() == n_samples {
        format!("all {} rows", count(n_samples))
    } else {
        format!("{} of {} rows", count(picture.rows.len()), count(n_samples))
    };
    let n_far = picture.points.iter().filter(|&&point| !is_inside(&frame, point)).count();
    let far =
        if n_far > 0 { format!(" {} rows lie further out, drawn at the edge.", count(n_far)) } else { String::new() };
    let (what, limits, names) = words(picture.axes);
    let caption = format!(
        "{what} {shown}, colored by the label at the end. The {} outlined rows have a given label.{far} {limits}",
        count(n_given)
    );
    let mut svg = Svg::new(SIZE.0, SIZE.1, "Rows", &caption);
    svg.text((SIZE.0 / 2.0, SIZE.1 - 6.0), "name middle", names[0]);
    svg.text_upwards((14.0, SIZE.1 / 2.0), "name middle", names[1]);
    for (&row, &point) in picture.rows.iter().zip(&picture.points).filter(|(row, _)| !is_given(**row)) {
        let (class, tooltip) = match rows.rows.labels.get(row).copied().flatten() {
            Some(class) => (rows.palette.color(class), tooltip(rows, row, class, "")),
            None => ("other".into(), format!("row {}: no label reaches it", rows.rows.name(row))),
        };
        svg.circle(place(point), 3.4, &format!("mark point {class}"), &tooltip);
    }
    for (&row, &point) in picture.rows.iter().zip(&picture.points).filter(|(row, _)| is_given(**row)) {
        let class = rows.rows.given.index[row] as usize;
        let (x, y) = place(point);
        let is_named = n_given <= MOST_NAMES && rows.names.iter().all(|name| name.chars().count() <= NAME_CHARS);
        let style = format!("mark given {}", rows.palette.color(class));
        svg.circle((x, y), if is_named { 8.5 } else { 5.5 }, &style, &tooltip(rows, row, class, " (given)"));
        if is_named {
            svg.text((x, y + 4.0), "given-name", &rows.names[class]);
        }
    }
    Figure { legend: legend(rows), layout: " wide", ..Figure::new("Rows in two dimensions", caption, svg) }
}

/// The beginning and the end of the caption, and the names of the axes.
fn words(axes: Axes) -> (&'static str, &'static str, [&'static str; 2]) {
    match axes {
        Axes::Components => (
            "The first two principal components of",
            "Two dimensions cannot show all distances that the graph is made from.",
            ["first principal component", "second principal component"],
        ),
        Axes::Layout => (
            "A layout of the graph, of which the picture shows",
            "Rows that the graph joins lie together; long distances and the axes have no meaning.",
            ["layout of the graph, first axis", "layout of the graph, second axis"],
        ),
    }
}

fn tooltip(rows: &LabeledRows<'_>, row: usize, class: usize, remark: &str) -> String {
    let confidence = rows.rows.confidence.get(row).map(|&c| format!(", confidence {}", number(c))).unwrap_or_default();
    let name = rows.names.get(class).map_or("", String::as_str);
    format!("row {}: {name}{remark}{confidence}", rows.rows.name(row))
}

/// Colors and names of the classes; classes without a color of their own share a line.
fn legend(rows: &LabeledRows<'_>) -> Vec<(String, String)> {
    let line = |class: usize| (rows.palette.color(class), shortened(&rows.names[class], 40));
    let mut legend: Vec<_> = rows.palette.colored().map(line).collect();
    let n_others = rows.names.len() - legend.len();
    if n_others > 0 {
        legend.push(("other".into(), format!("{} others", count(n_others))));
    }
    legend
}

/// The part of the plane that is drawn: in each direction the middle 98 % of the rows, and half as much around them. Far
/// rows would shrink all others to a dot.
fn frame(points: &[[f64; 2]]) -> [(f64, f64); 2] {
    [0, 1].map(|axis| {
        let mut sorted: Vec<f64> = points.iter().map(|p| p[axis]).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let Some(last) = sorted.len().checked_sub(1) else { return (0.0, 0.0) };
        let (low, high) = (sorted[last / 100], sorted[last - last / 100]);
        let around = (high - low) / 2.0;
        (sorted[0].max(low - around), sorted[last].min(high + around))
    })
}

/// Whether a point lies in the frame.
fn is_inside(frame: &[(f64, f64); 2], point: [f64; 2]) -> bool {
    frame.iter().zip(point).all(|(&(low, high), x)| (low..=high).contains(&x))
}

/// The map from components to pixels: centered, with the same scale in both directions. Points outside of the frame are
/// moved to its edge.
fn placement(frame: [(f64, f64); 2]) -> impl Fn([f64; 2]) -> (f64, f64) {
    let [across, up] = frame;
    let fit = |extent: f64, pixels: f64| if extent > 0.0 { (pixels - 2.0 * MARGIN) / extent } else { f64::INFINITY };
    let scale = fit(across.1 - across.0, SIZE.0).min(fit(up.1 - up.0, SIZE.1));
    let scale = if scale.is_finite() { scale } else { 1.0 };
    let middle = ((across.0 + across.1) / 2.0, (up.0 + up.1) / 2.0);
    move |[x, y]| {
        let (x, y) = (x.clamp(across.0, across.1), y.clamp(up.0, up.1));
        (SIZE.0 / 2.0 + (x - middle.0) * scale, SIZE.1 / 2.0 - (y - middle.1) * scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_keep_their_proportions_and_stay_inside() {
        let place = placement(frame(&[[0.0, 0.0], [10.0, 1.0]]));
        let (a, b) = (place([0.0, 0.0]), place([10.0, 1.0]));
        assert!((b.0 - a.0 - 10.0 * (a.1 - b.1)).abs() < 1e-9);
        assert!(a.0 >= MARGIN - 1e-9 && b.0 <= SIZE.0 - MARGIN + 1e-9);
        let single = placement(frame(&[[3.0, 3.0]]));
        assert_eq!(single([3.0, 3.0]), (SIZE.0 / 2.0, SIZE.1 / 2.0));
    }

    #[test]
    fn far_points_do_not_shrink_the_others() {
        let mut points: Vec<[f64; 2]> = (0..200).map(|i| [f64::from(i % 20), f64::from(i / 20)]).collect();
        points.push([1e6, 5.0]);
        let frame = frame(&points);
        assert!(frame[0].1 < 40.0 && !is_inside(&frame, [1e6, 5.0]) && is_inside(&frame, points[0]));
        assert!(placement(frame)([1e6, 5.0]).0 <= SIZE.0 - MARGIN + 1e-9);
    }
}
