//! Histograms, and the curve of residuals.

use super::axis::{CHART, Scale, chart, ends, plot_area};
use super::page::Figure;
use crate::text::{count, number};

const BINS: usize = 30;

/// Confidences of inferred labels.
pub fn confidence(values: &[f64]) -> Figure {
    let bins = binned(values, 0.0, 1.0, 20);
    let n_sure = values.iter().filter(|&&c| c >= 0.9).count();
    let caption = format!(
        "Confidence of {} inferred labels, the share of the label in the row's distribution; {} are at 0.9 or above.",
        count(values.len()),
        count(n_sure)
    );
    draw("Confidence", &caption, &bins, (0.0, 1.0), false, "confidence")
}

/// Weighted degrees; on a logarithmic axis if the largest is more than 50 times the least.
pub fn degrees(degree: &[f64]) -> Option<Figure> {
    let positive: Vec<f64> = degree.iter().copied().filter(|&d| d > 0.0).collect();
    let (low, high) = ends(positive.iter().copied())?;
    let isolated = degree.len() - positive.len();
    let remark = if isolated > 0 { format!(" {} rows have no edge.", count(isolated)) } else { String::new() };
    let caption = format!("Weighted degrees of {} rows: sums of their edge weights.{remark}", count(degree.len()));
    if high / low > 50.0 {
        let logs: Vec<f64> = positive.iter().map(|d| d.log10()).collect();
        let ends = (low.log10(), high.log10());
        return Some(draw("Degrees", &caption, &binned(&logs, ends.0, ends.1, BINS), (low, high), true, "degree"));
    }
    let (low, high) = Scale::linear(0.0, high, (0.0, 1.0)).ends();
    Some(draw("Degrees", &caption, &binned(&positive, low, high, BINS), (low, high), false, "degree"))
}

/// The quantity that a curve shows after each iteration.
pub struct Course {
    /// Title of the figure, and of its vertical axis.
    pub title: &'static str,
    pub axis: &'static str,
    /// The caption before the number of values.
    pub caption: &'static str,
}

/// Relative residuals of a solver.
pub const RESIDUALS: Course = Course {
    title: "Residuals",
    axis: "relative residual",
    caption: "Relative residual of the slowest class after each of",
};
/// Losses of a training.
pub const TRAINING: Course = Course {
    title: "Training",
    axis: "loss above its end, over the loss at zero weights",
    caption: "Loss over the labeled rows, less that of the end, in",
};

/// Values after each iteration; the solver stops at `tol`.
pub fn residuals(curve: &[f64], tol: f64, course: &Course) -> Option<Figure> {
    let (low, high) = ends(curve.iter().copied().filter(|r| *r > 0.0))?;
    let (low, high) = (low.min(tol), high.max(tol));
    let (across, up) = plot_area(CHART);
    let x = Scale::linear(0.0, curve.len() as f64, across);
    let y = Scale::decades(low, high, up);
    let caption = format!("{} {} iterations.", course.caption, count(curve.len()));
    let mut svg = chart(CHART, course.title, &caption, (&x, "iteration"), (&y, course.axis));
    svg.line((across.0, y.at(tol)), (across.1, y.at(tol)), "limit");
    svg.text((across.1 - 4.0, y.at(tol) - 6.0), "tick end", &format!("tol {tol:.0e}"));
    let points: Vec<(f64, f64)> = curve.iter().enumerate().map(|(i, &r)| (x.at((i + 1) as f64), y.at(r))).collect();
    svg.polyline(points.iter().copied(), "curve");
    let radius = if curve.len() <= 60 { 3.0 } else { 1.5 };
    for (i, (&point, residual)) in points.iter().zip(curve).enumerate() {
        svg.circle(point, radius, "dot", &format!("iteration {}: {residual:.1e}", i + 1));
    }
    Some(Figure::new(course.title, caption, svg))
}

/// The number of values in each of `n_bins` bins of equal width.
fn binned(values: &[f64], low: f64, high: f64, n_bins: usize) -> Vec<usize> {
    let mut bins = vec![0; n_bins];
    let width = if high > low { (high - low) / n_bins as f64 } else { 1.0 };
    for &value in values.iter().filter(|value| value.is_finite()) {
        // Casting saturates: a value just below `low` falls into the first bin.
        bins[(((value - low) / width) as usize).min(n_bins - 1)] += 1;
    }
    bins
}

/// Draws bins that divide the axis from `ends.0` to `ends.1` evenly.
fn draw(title: &str, caption: &str, bins: &[usize], ends: (f64, f64), log: bool, name: &str) -> Figure {
    let (across, up) = plot_area(CHART);
    let x = if log { Scale::log(ends.0, ends.1, across) } else { Scale::linear(ends.0, ends.1, across) };
    let y = Scale::linear(0.0, bins.iter().copied().max().unwrap_or(0).max(1) as f64, up);
    let mut svg = chart(CHART, title, caption, (&x, name), (&y, "rows"));
    let width = (across.1 - across.0) / bins.len() as f64;
    let edge = |i: usize| {
        let share = i as f64 / bins.len() as f64;
        if log { ends.0 * (ends.1 / ends.0).powf(share) } else { ends.0 + share * (ends.1 - ends.0) }
    };
    for (i, &n) in bins.iter().enumerate().filter(|(_, n)| **n > 0) {
        let top = y.at(n as f64);
        let tooltip = format!("{} to {}: {} rows", number(edge(i)), number(edge(i + 1)), count(n));
        // A bar is at least so high that a single row among thousands is visible.
        let height = (up.0 - top).max(1.0);
        svg.rect((across.0 + i as f64 * width + 0.5, up.0 - height), (width - 1.0, height), "bar", &tooltip);
    }
    Figure::new(title, caption.to_owned(), svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_every_value() {
        assert_eq!(binned(&[0.0, 0.49, 0.5, 1.0, f64::NAN], 0.0, 1.0, 2), [2, 2]);
        assert_eq!(binned(&[3.0, 3.0], 3.0, 3.0, 4), [2, 0, 0, 0]);
        assert!(degrees(&[0.0, 0.0]).is_none() && residuals(&[], 1e-6, &RESIDUALS).is_none());
        assert!(degrees(&[0.001, 5.0, 0.0]).is_some() && residuals(&[0.0, 1e-3], 1e-6, &TRAINING).is_some());
    }
}
