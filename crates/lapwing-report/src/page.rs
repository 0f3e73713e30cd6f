//! The HTML of a report: heading, main figures, tables, warnings, charts.

use std::path::Path;

use lapwing::data::Result;
use lapwing_core::publish::{Staged, stage_atomic};

use super::palette::{COLORS, color};
use super::svg::{Svg, escape};
use crate::summary::Row;

const STYLE: &str = include_str!("style.css");

/// Writes a complete page under a temporary name.
pub fn stage_page(path: &Path, html: &str) -> Result<Staged> {
    stage_atomic(path, |out| out.write_all(html.as_bytes()))
}

/// A report.
#[derive(Default)]
pub struct Page {
    /// The line above the title: what was done.
    pub kicker: String,
    /// The title: the data.
    pub title: String,
    /// The main figures, in large letters.
    pub tiles: Vec<Row>,
    /// Texts of warnings.
    pub warnings: Vec<String>,
    /// Tables of names and values, with headings.
    pub summaries: Vec<(&'static str, Vec<Row>)>,
    /// Tables, in order.
    pub tables: Vec<Table>,
    /// Lists of sentences, with headings.
    pub lists: Vec<(&'static str, Vec<String>)>,
    /// Charts, in order.
    pub figures: Vec<Figure>,
}

/// A table with its heading.
pub struct Table {
    /// The heading.
    pub heading: String,
    /// Heads of the columns.
    pub heads: Vec<String>,
    /// The lines.
    pub lines: Vec<Line>,
}

/// A line of a table.
pub struct Line {
    /// A picture before the cells, as SVG.
    pub image: Option<String>,
    pub cells: Vec<String>,
}

impl From<Vec<String>> for Line {
    fn from(cells: Vec<String>) -> Self {
        Self { image: None, cells }
    }
}

/// A chart with its heading, caption and legend.
pub struct Figure {
    pub heading: String,
    pub caption: String,
    pub svg: String,
    /// Style class and name of each color.
    pub legend: Vec<(String, String)>,
    /// A style class behind a space: ` wide` fills the width of the page, ` tall` the height of two charts.
    pub layout: &'static str,
}

impl Figure {
    pub fn new(heading: &str, caption: String, svg: Svg) -> Self {
        Self { heading: heading.into(), caption, svg: svg.finish(), legend: Vec::new(), layout: "" }
    }
}

impl Page {
    /// The whole file.
    pub fn render(&self) -> String {
        let (title, kicker, version) = (escape(&self.title), escape(&self.kicker), env!("CARGO_PKG_VERSION"));
        let highlights = highlights();
        let tile = |(what, value): &Row| format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(what), escape(value));
        let tiles: String = self.tiles.iter().map(tile).collect();
        let figures: String = self.figures.iter().map(Figure::render).collect();
        let (warnings, summaries) = (self.warnings(), self.summaries());
        let tables: String = self.tables.iter().map(Table::render).collect();
        let lists: String = self.lists.iter().map(|(heading, items)| list(heading, items)).collect();
        format!(
            r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · lapwing</title>
<style>
{STYLE}{highlights}</style>
</head>
<body>
<header>
<p class="kicker">{kicker}</p>
<h1>{title}</h1>
</header>
<main>
<dl class="tiles">
{tiles}</dl>
{warnings}<div class="cards">
{lists}{figures}{tables}{summaries}</div>
</main>
<footer>lapwing {version}. This page is complete: it loads nothing.</footer>
</body>
</html>
"#
        )
    }

    fn warnings(&self) -> String {
        if self.warnings.is_empty() {
            return String::new();
        }
        let items: String = self.warnings.iter().map(|warning| format!("<li>{}</li>\n", escape(warning))).collect();
        format!("<section class=\"warnings\">\n<h2>Look at this</h2>\n<ul>\n{items}</ul>\n</section>\n")
    }

    /// The first summary is a card like the figures; the others share a column.
    fn summaries(&self) -> String {
        let line = |(what, value): &Row| {
            let class = if what.starts_with(' ') { " class=\"part\"" } else { "" };
            let code = if what == "command" { " class=\"code\"" } else { "" };
            format!("<tr{class}><th scope=\"row\">{}</th><td{code}>{}</td></tr>\n", escape(what.trim()), escape(value))
        };
        let filled = self.summaries.iter().filter(|(_, rows)| !rows.is_empty());
        let cards: Vec<String> = filled
            .map(|(heading, rows)| {
                let lines: String = rows.iter().map(line).collect();
                card("", heading, &format!("<table class=\"summary\">\n{lines}</table>"))
            })
            .collect();
        match cards.as_slice() {
            [first, others @ ..] if !others.is_empty() => {
                format!("{first}<div class=\"stack\">\n{}</div>\n", others.concat())
            }
            few => few.concat(),
        }
    }
}

impl Table {
    /// A table of lines, or of cells without pictures.
    pub fn new<L: Into<Line>>(heading: impl Into<String>, heads: &[&str], lines: impl Iterator<Item = L>) -> Self {
        let heads = heads.iter().map(|&head| head.to_owned()).collect();
        Self { heading: heading.into(), heads, lines: lines.map(L::into).collect() }
    }

    /// The card of the table; empty without lines.
    fn render(&self) -> String {
        if self.lines.is_empty() {
            return String::new();
        }
        let cells = |tag: &str, cells: &[String]| -> String {
            let end = &tag[..2];
            cells.iter().map(|cell| format!("<{tag}>{}</{end}>", escape(cell))).collect()
        };
        let has_images = self.lines.iter().any(|line| line.image.is_some());
        let image = |line: &Line| match has_images {
            true => format!("<td>{}</td>", line.image.as_deref().unwrap_or_default()),
            false => String::new(),
        };
        let head = format!("{}{}", if has_images { "<td></td>" } else { "" }, cells("th scope=\"col\"", &self.heads));
        let line = |line: &Line| format!("<tr>{}{}</tr>\n", image(line), cells("td", &line.cells));
        let body: String = self.lines.iter().map(line).collect();
        let table = format!("<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>");
        card(" wide", &self.heading, &format!("<table class=\"results\">\n{table}\n</table>"))
    }
}

impl Figure {
    fn render(&self) -> String {
        let Self { layout, svg, .. } = self;
        let (heading, caption) = (escape(&self.heading), escape(&self.caption));
        let item =
            |(color, name): &(String, String)| format!("<li class=\"{color}\"><span></span>{}</li>\n", escape(name));
        let items: String = self.legend.iter().map(item).collect();
        let legend = if items.is_empty() { items } else { format!("<ul class=\"legend\">\n{items}</ul>\n") };
        format!(
            "<figure class=\"card{layout}\">\n<h2>{heading}</h2>\n{svg}\n{legend}<figcaption>{caption}</figcaption>\n\
             </figure>\n"
        )
    }
}

/// A card of sentences; empty without any.
fn list(heading: &str, sentences: &[String]) -> String {
    if sentences.is_empty() {
        return String::new();
    }
    let items: String = sentences.iter().map(|text| format!("<li>{}</li>\n", escape(text))).collect();
    card(" wide", heading, &format!("<ul class=\"sentences\">\n{items}</ul>"))
}

/// A section with a heading around elements of HTML.
fn card(layout: &str, heading: &str, body: &str) -> String {
    format!("<section class=\"card{layout}\">\n<h2>{}</h2>\n{body}\n</section>\n", escape(heading))
}

/// Style rules: pointing at a class in a legend fades the other classes.
fn highlights() -> String {
    let rule =
        |class: &str| format!("figure:has(.legend .{class}:hover) svg .mark:not(.{class}) {{ opacity: .06; }}\n");
    (0..COLORS).map(|class| rule(&color(class))).chain([rule("other")]).collect()
}
