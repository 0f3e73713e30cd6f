//! The page itself: headline, figures that matter, tables, warnings, charts.

use std::fmt::Write;

use super::svg::{Svg, escape};
use crate::summary::Row;

const STYLE: &str = include_str!("style.css");

/// A report.
#[derive(Default)]
pub struct Page {
    /// What was done.
    pub kicker: String,
    /// To what.
    pub title: String,
    /// The figures that matter, large.
    pub tiles: Vec<Row>,
    /// Things to look at.
    pub warnings: Vec<String>,
    /// Tables of what and how much, with their headings.
    pub summaries: Vec<(&'static str, Vec<Row>)>,
    /// A table of results: headings and lines.
    pub results: Option<(Vec<String>, Vec<Vec<String>>)>,
    /// Charts in order.
    pub figures: Vec<Figure>,
}

/// A chart with its heading, caption and legend.
pub struct Figure {
    heading: String,
    caption: String,
    svg: String,
    legend: Vec<(String, String)>,
    layout: &'static str,
}

impl Figure {
    pub fn new(heading: &str, caption: String, svg: Svg) -> Self {
        Self { heading: heading.into(), caption, svg: svg.finish(), legend: Vec::new(), layout: "" }
    }

    /// With a legend: style class and name of each color.
    pub fn with_legend(mut self, legend: Vec<(String, String)>) -> Self {
        self.legend = legend;
        self
    }

    /// Over the whole width of the page.
    pub fn wide(mut self) -> Self {
        self.layout = " wide";
        self
    }

    /// Beside two others.
    pub fn tall(mut self) -> Self {
        self.layout = " tall";
        self
    }
}

impl Page {
    /// The whole file.
    pub fn render(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let title = escape(&self.title);
        writeln!(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">")?;
        writeln!(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")?;
        writeln!(out, "<meta name=\"color-scheme\" content=\"light dark\">")?;
        writeln!(out, "<title>{title} · lapwing</title>\n<style>\n{STYLE}{}</style>\n</head>\n<body>", highlights())?;
        writeln!(
            out,
            "<header>\n<p class=\"kicker\">{}</p>\n<h1>{title}</h1>\n</header>\n<main>",
            escape(&self.kicker)
        )?;
        writeln!(out, "<dl class=\"tiles\">")?;
        for (what, value) in &self.tiles {
            writeln!(out, "<div><dt>{}</dt><dd>{}</dd></div>", escape(what), escape(value))?;
        }
        writeln!(out, "</dl>")?;
        if !self.warnings.is_empty() {
            writeln!(out, "<section class=\"warnings\">\n<h2>Look at this</h2>\n<ul>")?;
            self.warnings.iter().try_for_each(|warning| writeln!(out, "<li>{}</li>", escape(warning)))?;
            writeln!(out, "</ul>\n</section>")?;
        }
        writeln!(out, "<div class=\"cards\">")?;
        self.write_results(out)?;
        self.figures.iter().try_for_each(|figure| figure.write(out))?;
        self.write_summaries(out)?;
        writeln!(out, "</div>\n</main>")?;
        let version = env!("CARGO_PKG_VERSION");
        writeln!(out, "<footer>lapwing {version}. This page is complete: it loads nothing.</footer>\n</body>\n</html>")
    }

    fn write_summaries(&self, out: &mut String) -> std::fmt::Result {
        // The first one stands beside the others.
        for (at, (heading, rows)) in self.summaries.iter().filter(|(_, rows)| !rows.is_empty()).enumerate() {
            if at == 1 {
                writeln!(out, "<div class=\"stack\">")?;
            }
            writeln!(out, "<section class=\"card\">\n<h2>{}</h2>\n<table class=\"summary\">", escape(heading))?;
            for (what, value) in rows {
                let class = if what.starts_with(' ') { " class=\"part\"" } else { "" };
                writeln!(
                    out,
                    "<tr{class}><th scope=\"row\">{}</th><td>{}</td></tr>",
                    escape(what.trim()),
                    escape(value)
                )?;
            }
            writeln!(out, "</table>\n</section>")?;
        }
        let has_stack = self.summaries.iter().filter(|(_, rows)| !rows.is_empty()).count() > 1;
        if has_stack { writeln!(out, "</div>") } else { Ok(()) }
    }

    fn write_results(&self, out: &mut String) -> std::fmt::Result {
        let Some((headings, lines)) = &self.results else { return Ok(()) };
        writeln!(out, "<section class=\"card wide\">\n<h2>Results</h2>\n<table class=\"results\">\n<thead><tr>")?;
        headings.iter().try_for_each(|heading| write!(out, "<th scope=\"col\">{}</th>", escape(heading)))?;
        writeln!(out, "</tr></thead>\n<tbody>")?;
        for line in lines {
            let cells: String = line.iter().map(|cell| format!("<td>{}</td>", escape(cell))).collect();
            writeln!(out, "<tr>{cells}</tr>")?;
        }
        writeln!(out, "</tbody>\n</table>\n</section>")
    }
}

impl Figure {
    fn write(&self, out: &mut String) -> std::fmt::Result {
        let layout = self.layout;
        writeln!(out, "<figure class=\"card{layout}\">\n<h2>{}</h2>\n{}", escape(&self.heading), self.svg)?;
        if !self.legend.is_empty() {
            writeln!(out, "<ul class=\"legend\">")?;
            for (color, name) in &self.legend {
                writeln!(out, "<li class=\"{color}\"><span></span>{}</li>", escape(name))?;
            }
            writeln!(out, "</ul>")?;
        }
        writeln!(out, "<figcaption>{}</figcaption>\n</figure>", escape(&self.caption))
    }
}

/// Pointing at a class in a legend fades the others out.
fn highlights() -> String {
    let rule =
        |class: &str| format!("figure:has(.legend .{class}:hover) svg .mark:not(.{class}) {{ opacity: .06; }}\n");
    (0..super::COLORS).map(|class| rule(&super::color(class))).chain([rule("other")]).collect()
}
