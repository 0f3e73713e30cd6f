//! Scales with round ticks, and the frame of a chart.

use super::svg::Svg;
use crate::text::count;

/// A map from values to pixels.
#[derive(Clone, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    pixels: (f64, f64),
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Linear { step: f64 },
    Log,
}

impl Scale {
    /// A linear scale, widened to round numbers.
    pub fn linear(low: f64, high: f64, pixels: (f64, f64)) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        let step = round_step((high - low) / 5.0);
        let (low, high) = ((low / step + 1e-9).floor() * step, (high / step - 1e-9).ceil() * step);
        Self { low, high, pixels, kind: Kind::Linear { step } }
    }

    /// A logarithmic scale from `low` to `high`, both positive.
    pub fn log(low: f64, high: f64, pixels: (f64, f64)) -> Self {
        let high = if high > low { high } else { 10.0 * low };
        Self { low, high, pixels, kind: Kind::Log }
    }

    /// A logarithmic scale, widened to powers of ten.
    pub fn decades(low: f64, high: f64, pixels: (f64, f64)) -> Self {
        Self::log(10f64.powf((low.log10() + 1e-9).floor()), 10f64.powf((high.log10() - 1e-9).ceil()), pixels)
    }

    /// The least and the largest value of the scale.
    pub fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// The pixel of a value; values outside of the scale have the pixel of its end.
    pub fn at(&self, value: f64) -> f64 {
        let share = match self.kind {
            Kind::Linear { .. } => (value - self.low) / (self.high - self.low),
            Kind::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        self.pixels.0 + share * (self.pixels.1 - self.pixels.0)
    }

    /// Round values with their texts.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        match self.kind {
            Kind::Linear { step } => {
                let n = ((self.high - self.low) / step).round() as usize;
                (0..=n).map(|i| self.low + i as f64 * step).map(|x| (x, linear_text(x, step))).collect()
            }
            Kind::Log => log_ticks(self.low, self.high),
        }
    }
}

/// The least of 1, 2 and 5 times powers of ten that is not below `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| f * power >= step * 0.999).unwrap_or(10.0);
    factor * power
}

fn linear_text(x: f64, step: f64) -> String {
    let x = if x.abs() < step * 1e-6 { 0.0 } else { x };
    if step >= 1.0 && (0.0..1e15).contains(&x) {
        return count(x.round() as usize);
    }
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    if decimals > 5 { format!("{x:.0e}") } else { format!("{x:.decimals$}") }
}

/// Powers of ten, at most eight; for less than three decades, 2 and 5 times each as well.
fn log_ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    let (first, last) = ((low.log10() - 1e-9).ceil() as i32, (high.log10() + 1e-9).floor() as i32);
    let every = ((last - first) / 8 + 1).max(1) as usize;
    let factors: &[f64] = if last - first < 3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let decades = (first - 1..=last).filter(|power| (power - first).rem_euclid(every as i32) == 0 || factors.len() > 1);
    let values = decades.flat_map(|power| factors.iter().map(move |f| f * 10f64.powi(power)));
    let inside = values.filter(|x| (low * 0.999..=high * 1.001).contains(x));
    inside.map(|x| (x, log_text(x))).collect()
}

fn log_text(x: f64) -> String {
    if (0.01..1.0).contains(&x) {
        return format!("{x:.2}").trim_end_matches('0').into();
    }
    if (1.0..1e6).contains(&x) {
        return count(x.round() as usize);
    }
    format!("{x:.0e}")
}

/// Margins of the plot in pixels: left, right, top, bottom.
pub const MARGINS: [f64; 4] = [64.0, 16.0, 14.0, 46.0];
/// Size of a chart of half the width of the page.
pub const CHART: (f64, f64) = (560.0, 320.0);

/// Horizontal and vertical pixels of the plot inside a chart of `size`.
pub fn plot_area(size: (f64, f64)) -> ((f64, f64), (f64, f64)) {
    let [left, right, top, bottom] = MARGINS;
    ((left, size.0 - right), (size.1 - bottom, top))
}

/// An empty chart: grid lines, tick texts, and both axes with their names.
pub fn chart(
    size: (f64, f64),
    title: &str,
    caption: &str,
    (x, across): (&Scale, &str),
    (y, up): (&Scale, &str),
) -> Svg {
    let mut svg = Svg::new(size.0, size.1, title, caption);
    let ((left, right), (bottom, top)) = plot_area(size);
    for (value, text) in y.ticks() {
        svg.line((left, y.at(value)), (right, y.at(value)), "grid");
        svg.text((left - 8.0, y.at(value) + 4.0), "tick end", &text);
    }
    for (value, text) in x.ticks() {
        svg.line((x.at(value), bottom), (x.at(value), bottom + 4.0), "axis");
        svg.text((x.at(value), bottom + 18.0), "tick middle", &text);
    }
    svg.line((left, bottom), (right, bottom), "axis");
    svg.text(((left + right) / 2.0, size.1 - 8.0), "name middle", across);
    svg.text_upwards((14.0, (top + bottom) / 2.0), "name middle", up);
    svg
}

/// The least and the largest finite value.
pub fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.filter(|x| x.is_finite());
    finite.fold(None, |ends, x| ends.map_or(Some((x, x)), |(low, high): (f64, f64)| Some((low.min(x), high.max(x)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(scale: &Scale) -> Vec<String> {
        scale.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round() {
        let p = (0.0, 100.0);
        assert_eq!(texts(&Scale::linear(0.0, 1.0, p)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(&Scale::linear(0.0, 1797.0, p)), ["0", "500", "1,000", "1,500", "2,000"]);
        assert_eq!(texts(&Scale::linear(0.0, 0.0, p)).first().map(String::as_str), Some("0.0"));
        assert_eq!(texts(&Scale::log(10.0, 100.0, p)), ["10", "20", "50", "100"]);
        let decades = texts(&Scale::decades(3e-8, 0.7, p));
        assert_eq!((decades.len(), decades[0].as_str(), decades.last().unwrap().as_str()), (5, "1e-8", "1"));
    }

    #[test]
    fn values_outside_stay_in_the_frame() {
        let scale = Scale::log(1.0, 100.0, (0.0, 200.0));
        assert_eq!([0.0, 1.0, 10.0, 1e9, f64::NAN].map(|x| scale.at(x).round()), [0.0, 0.0, 100.0, 200.0, 0.0]);
    }
}
