//! The plot of reliability: how often labels of a confidence are right.

use lapwing::models::ReliabilityBin;

use super::axis::{CHART, Scale, chart, plot_area};
use super::page::Figure;
use crate::text::count;

/// Accuracy of held-out labels over their confidence; none if no label was held out.
pub fn figure(bins: &[ReliabilityBin]) -> Option<Figure> {
    if bins.is_empty() {
        return None;
    }
    let n: usize = bins.iter().map(|bin| bin.count).sum();
    let title = "Reliability";
    let caption = format!(
        "Confidence of {} held-out labels, and the share of them that is right, in {} parts of like confidence. On the diagonal both \
         are equal; below it, confidence is too high.",
        count(n),
        count(bins.len())
    );
    let (across, up) = plot_area(CHART);
    let (x, y) = (Scale::linear(0.0, 1.0, across), Scale::linear(0.0, 1.0, up));
    let mut svg = chart(CHART, title, &caption, (&x, "confidence"), (&y, "share that is right"));
    svg.line((x.at(0.0), y.at(0.0)), (x.at(1.0), y.at(1.0)), "limit");
    let points: Vec<(f64, f64)> = bins.iter().map(|bin| (x.at(bin.confidence), y.at(bin.accuracy))).collect();
    svg.polyline(points.iter().copied(), "curve");
    for (&point, ReliabilityBin { confidence, accuracy, count, .. }) in points.iter().zip(bins) {
        let tooltip = format!("confidence {confidence:.2}: {accuracy:.2} of {count} right");
        svg.circle(point, 4.0, "dot", &tooltip);
    }
    Some(Figure::new(title, caption, svg))
}

#[cfg(test)]
mod tests {
    use lapwing::data::Report;
    use serde_json::json;

    use super::*;
    use crate::parts::Parts;

    #[test]
    fn every_bin_is_a_point_and_no_bins_are_no_figure() {
        assert!(figure(&[]).is_none());
        let mut report = Report::default();
        let bins = json!([{"confidence": 0.55, "accuracy": 0.5, "count": 4}, {"confidence": 0.9, "accuracy": 1.0, "count": 6}]);
        report.parts.insert("reliability".into(), bins);
        let figure = figure(&Parts::of(&report).reliability).unwrap();
        assert!(figure.caption.starts_with("Confidence of 10 held-out labels"));
        assert_eq!(figure.svg.matches("<circle").count(), 2);
    }
}
