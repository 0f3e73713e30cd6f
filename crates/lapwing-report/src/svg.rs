//! Elements of SVG. All texts are escaped in this file.

use std::fmt::Write;

use crate::text::steers;

/// A drawing, with a title and a description for screen readers.
pub struct Svg {
    width: f64,
    height: f64,
    body: String,
}

impl Svg {
    pub fn new(width: f64, height: f64, title: &str, description: &str) -> Self {
        let body = format!("<title>{}</title><desc>{}</desc>\n", escape(title), escape(description));
        Self { width, height, body }
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let (x1, y1, x2, y2) = (short(from.0), short(from.1), short(to.0), short(to.1));
        self.push(format_args!(r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#));
    }

    /// A rectangle with its upper left corner at `at`.
    pub fn rect(&mut self, at: (f64, f64), size: (f64, f64), class: &str, tooltip: &str) {
        let (x, y, w, h) = (short(at.0), short(at.1), short(size.0), short(size.1));
        let tooltip = title(tooltip);
        self.push(format_args!(
            r#"<rect class="{class}" x="{x}" y="{y}" width="{w}" height="{h}" rx="1.5">{tooltip}</rect>"#
        ));
    }

    /// A rectangle as dark as its share says, from 0 to 1.
    pub fn shade(&mut self, at: (f64, f64), size: (f64, f64), share: f64, tooltip: &str) {
        let (x, y, w, h) = (short(at.0), short(at.1), short(size.0), short(size.1));
        let (opacity, tooltip) = (0.04 + 0.96 * share, title(tooltip));
        self.push(format_args!(
            r#"<rect class="shade" x="{x}" y="{y}" width="{w}" height="{h}" fill-opacity="{opacity:.3}">{tooltip}</rect>"#
        ));
    }

    pub fn circle(&mut self, at: (f64, f64), radius: f64, class: &str, tooltip: &str) {
        let (x, y, r, tooltip) = (short(at.0), short(at.1), short(radius), title(tooltip));
        self.push(format_args!(r#"<circle class="{class}" cx="{x}" cy="{y}" r="{r}">{tooltip}</circle>"#));
    }

    /// Text whose baseline starts at `at`, is centered there or ends there, by the style class `start`, `middle` or `end`.
    pub fn text(&mut self, at: (f64, f64), class: &str, text: &str) {
        let (x, y, text) = (short(at.0), short(at.1), escape(text));
        self.push(format_args!(r#"<text class="{class}" x="{x}" y="{y}">{text}</text>"#));
    }

    /// Text that runs upwards, centered at `at`.
    pub fn text_upwards(&mut self, at: (f64, f64), class: &str, text: &str) {
        let (x, y, text) = (short(at.0), short(at.1), escape(text));
        self.push(format_args!(r#"<text class="{class}" transform="translate({x} {y}) rotate(-90)">{text}</text>"#));
    }

    /// A line through points.
    pub fn polyline(&mut self, points: impl IntoIterator<Item = (f64, f64)>, class: &str) {
        let points: Vec<String> = points.into_iter().map(|(x, y)| format!("{},{}", short(x), short(y))).collect();
        self.push(format_args!(r#"<polyline class="{class}" points="{}"/>"#, points.join(" ")));
    }

    pub fn finish(self) -> String {
        let (w, h) = (short(self.width), short(self.height));
        format!("<svg viewBox=\"0 0 {w} {h}\" role=\"img\">{}</svg>", self.body)
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{element}");
    }
}

/// Escapes a text for HTML, between tags or in quotes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(c),
            // HTML forbids control characters, and others turn the text around; names of classes may hold both.
            c if steers(c) => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}

/// The element of a tooltip.
fn title(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<title>{}</title>", escape(text)) }
}

/// A coordinate, rounded to a tenth of a pixel.
fn short(x: f64) -> String {
    let text = format!("{x:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_texts_cannot_break_out() {
        assert_eq!(escape(r#"</svg><script>&"'"#), "&lt;/svg&gt;&lt;script&gt;&amp;&quot;&#39;");
        assert_eq!(escape("a\u{0}b\tc\u{202E}"), "a\u{FFFD}b\tc\u{FFFD}");
        let mut svg = Svg::new(10.0, 20.0, "<t>", "");
        svg.circle((1.04, 2.0), 3.0, "k0", "<b>");
        let out = svg.finish();
        assert!(out.contains(r#"cx="1" cy="2""#) && out.contains("&lt;b&gt;") && !out.contains("<b>"));
    }
}
