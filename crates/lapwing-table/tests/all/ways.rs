//! One small table, written in the many ways in which people write tables: it is read as its plain twin is, or what may be wrong is said.

use lapwing_core::Standardize;
use lapwing_table::prepare::{Prepared, prepare};
use lapwing_table::read::ReadOptions;

use crate::common::{Folder, run, values};

const ROWS: usize = 60;

/// The numbers of the table: some negative, some with decimals, some of thousands.
fn number(row: usize, column: usize) -> f64 {
    let value = ((row * 7919 + column * 104_729) % 4_000) as f64 - 1_000.0;
    if column == 0 { value / 8.0 } else { value * 37.0 }
}

fn class(row: usize) -> &'static str {
    if row.is_multiple_of(5) { ["beta", "alpha"][row / 5 % 2] } else { "" }
}

/// Digits in groups: of three, or as in India.
fn grouped(x: f64, mark: &str, decimal: &str, is_indian: bool) -> String {
    let text = format!("{:.3}", x.abs());
    let (whole, decimals) = text.split_once('.').unwrap();
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        let left = whole.len() - at;
        let is_end = if is_indian { left == 3 || (left > 3 && left % 2 == 1) } else { left.is_multiple_of(3) };
        if at > 0 && is_end {
            out.push_str(mark);
        }
        out.push(digit);
    }
    let sign = if x < 0.0 { "-" } else { "" };
    format!("{sign}{out}{decimal}{decimals}")
}

/// A name, and how a number is written.
type Way = (&'static str, fn(f64) -> String);

/// Ways to write numbers that are read as these numbers.
const NUMBERS: [Way; 50] = [
    ("plain", |x| format!("{x}")),
    ("exponents", |x| format!("{x:e}")),
    ("thousands", |x| grouped(x, ",", ".", false)),
    ("decimal comma", |x| grouped(x, ".", ",", false)),
    ("apostrophes", |x| grouped(x, "'", ".", false)),
    ("blanks", |x| grouped(x, "\u{202f}", ",", false)),
    ("lakh groups", |x| grouped(x, ",", ".", true)),
    ("dollars", |x| format!("${x}")),
    ("rupees", |x| format!("₹{x}")),
    ("euros behind", |x| format!("{x} €")),
    ("code before", |x| format!("USD {x}")),
    ("code behind", |x| format!("{x} CHF")),
    ("crowns", |x| format!("{x} kr")),
    ("weeks", |x| format!("KW {x}")),
    ("numbered", |x| format!("No. {x}")),
    ("named", |x| format!("x={x}")),
    ("objects", |x| format!("{{'v': {x}}}")),
    ("values of NumPy", |x| format!("np.float64({x:?})")),
    ("words for units", |x| format!("{x} square meters")),
    ("reals", |x| format!("R$ {x}")),
    ("percent", |x| format!("{x}%")),
    ("parentheses", |x| if x < 0.0 { format!("({})", -x) } else { format!("{x}") }),
    ("minus behind", |x| if x < 0.0 { format!("{}-", -x) } else { format!("{x}") }),
    ("real minus", |x| format!("{x}").replace('-', "\u{2212}")),
    ("plus", |x| format!("{x:+}")),
    ("unit", |x| format!("{x} km")),
    ("unit with comma", |x| format!("{x} km").replace('.', ",")),
    ("degrees", |x| format!("{x}°C")),
    ("formula", |x| format!("=\"{x}\"")),
    ("text mark", |x| format!("'{x}")),
    ("thousands of letters", |x| if x.abs() >= 1000.0 { format!("{}K", x / 1000.0) } else { format!("{x}") }),
    ("ledger", |x| if x < 0.0 { format!("{} DR", -x) } else { format!("{x} CR") }),
    ("blanks around", |x| format!("  {x} ")),
    ("stars at some", |x| if x as i64 % 3 == 0 { format!("{x}*") } else { format!("{x}") }),
    ("percent behind a blank", |x| format!("{x} %")),
    ("soft hyphens", |x| format!("\u{ad}{x}")),
    ("marks of direction", |x| format!("\u{200e}{x}\u{200e}")),
    ("wide digits", |x| {
        let wide = |c: char| c.to_digit(10).map_or(c, |digit| char::from_u32('０' as u32 + digit).unwrap());
        format!("{x}").chars().map(wide).collect()
    }),
    ("dashes", |x| format!("{x}").replace('-', "—")),
    ("powers", |x| format!("{}×10^3", x / 1000.0)),
    ("raised powers", |x| format!("{} x 10³", x / 1000.0)),
    ("deviations", |x| format!("{x} ± {}", x as i64 % 7)),
    ("shares behind", |x| format!("{x} ({}%)", x as i64 % 77)),
    ("south and west", |x| format!("{}° {}", x.abs(), if x < 0.0 { "S" } else { "N" })),
    ("arrows", |x| format!("{} {}", if x < 0.0 { "▼" } else { "▲" }, x.abs())),
    ("units of two sizes", |x| if x as i64 % 2 == 0 { format!("{x} kg") } else { format!("{} g", x * 1000.0) }),
    ("units in the plural", |x| format!("{x} {}", if x as i64 % 2 == 0 { "yrs" } else { "Yr." })),
    ("of ten", |x| format!("{x}/10")),
    ("ranges", |x| format!("{} to {}", x - 1.0, x + 1.0)),
    ("limits at some", |x| if x as i64 % 3 == 0 { format!("<{x}") } else { format!("{x}") }),
];

/// A name, the byte between cells, the byte before decimals that it leaves free, and how the text of a table is made of its lines.
type Layout = (&'static str, &'static str, fn(&[String]) -> String);

fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Lines with other quotes, which cannot stand within cells.
fn requoted(lines: &[String], open: &str, close: &str) -> String {
    let text = joined(lines);
    if text.contains("\"\"") {
        return text;
    }
    let pieces = text.split('"').enumerate();
    pieces.map(|(at, piece)| if at % 2 == 1 { format!("{open}{piece}{close}") } else { piece.to_owned() }).collect()
}

const LAYOUTS: [Layout; 31] = [
    ("commas", ",", joined),
    ("semicolons", ";", joined),
    ("tabs", "\t", joined),
    ("pipes", "|", joined),
    ("two colons", "::", joined),
    ("carriage returns", ",", |lines| joined(lines).replace('\n', "\r\n")),
    ("byte order mark", ";", |lines| format!("\u{feff}{}", joined(lines))),
    ("line of the separator", ";", |lines| format!("sep=;\n{}", joined(lines))),
    ("comments", "\t", |lines| format!("# logger 7\n# two columns\n{}", joined(lines))),
    ("titles", ";", |lines| format!("Report of the year\nall regions\n\n{}", joined(lines))),
    ("footer", "\t", |lines| format!("{}\nSource: own data\n", joined(lines))),
    ("header again", ",", |lines| {
        let (before, behind) = lines.split_at(30);
        format!("{}{}\n{}", joined(before), lines[0], joined(behind))
    }),
    ("units below the header", ";", |lines| format!("{}\n(m);(m);\n{}", lines[0], joined(&lines[1..]))),
    ("delimiter at the end", "|", |lines| lines.iter().map(|line| format!("{line}|\n")).collect()),
    ("end of DOS", ",", |lines| format!("{}\x1a", joined(lines))),
    ("carets", "^", joined),
    ("tildes", "~", joined),
    ("control bytes", "\u{1}", joined),
    ("bars twice", "||", joined),
    ("several marks", "~|~", joined),
    ("paragraphs", "§", joined),
    ("ampersands", " & ", joined),
    ("byte order marks", ",", |lines| {
        let (before, behind) = lines.split_at(30);
        format!("\u{feff}\u{feff}{}\u{feff}{}", joined(before), joined(behind))
    }),
    ("lines in quotes", ",", |lines| lines.iter().map(|line| format!("\"{}\"\n", line.replace('"', "\"\""))).collect()),
    ("curly quotes", ",", |lines| requoted(lines, "“", "”")),
    ("backticks", ";", |lines| requoted(lines, "`", "`")),
    ("title filled up", ";", |lines| format!("Report of the year;;\n;;\n{}", joined(lines))),
    ("lines of delimiters", "\t", |lines| format!("{}\t\t\n{}\t\t\n", joined(&lines[..20]), joined(&lines[20..]))),
    ("lines of blanks", ",", |lines| lines.iter().map(|line| format!("{line}\n   \n")).collect()),
    ("Markdown", "|", |lines| {
        let framed = |line: &String| format!("| {} |\n", line.replace('|', " | "));
        let rows: String = lines[1..].iter().map(framed).collect();
        format!("{}|---:|---|:--|\n{rows}", framed(&lines[0]))
    }),
    ("psql", "|", |lines| {
        let row = |line: &String| format!(" {}\n", line.replace('|', " | "));
        let rows: String = lines[1..].iter().map(row).collect();
        format!("{}-----+-----+------\n{rows}(60 rows)\n", row(&lines[0]))
    }),
];

/// A cell in quotes, if it needs them.
fn quoted(cell: &str, delimiter: &str) -> String {
    let needs = cell.contains(delimiter) || cell.contains('"') || cell.starts_with(' ');
    if needs { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

fn table(write: fn(f64) -> String, (_, delimiter, layout): &Layout, gap: Option<&str>) -> String {
    let header = ["x", "y", "kind"].join(delimiter);
    let row = |row: usize| {
        let is_gap = |column: usize| gap.is_some() && (row + column) % 9 == 4;
        let cell = |column: usize| match gap {
            Some(gap) if is_gap(column) => quoted(gap, delimiter),
            _ => quoted(&write(number(row, column)), delimiter),
        };
        [cell(0), cell(1), class(row).to_owned()].join(delimiter)
    };
    let lines: Vec<String> = std::iter::once(header).chain((0..ROWS).map(row)).collect();
    layout(&lines)
}

/// How a text is read.
enum Read {
    Right,
    /// Otherwise, and something is said.
    Told(String),
    Silent(String),
}

fn read(folder: &Folder, text: &str, twin: &Prepared) -> Read {
    let options = ReadOptions { label_column: Some("kind".into()), ..ReadOptions::default() };
    let path = folder.file("t.csv", text);
    match prepare(&path, &options, Standardize::Off, &run()) {
        Err(error) => Read::Told(error.to_string()),
        Ok(found) => {
            let (own, expected) = (values(&found.features), values(&twin.features));
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-3 * (1.0 + b.abs());
            let is_same =
                own.len() == expected.len() && own.iter().zip(&expected).all(close) && found.labels == twin.labels;
            let warnings: Vec<String> = found.warnings.iter().map(ToString::to_string).collect();
            match (is_same, warnings.is_empty()) {
                (true, _) => Read::Right,
                (false, false) => Read::Told(warnings.join("; ")),
                (false, true) => Read::Silent(format!("{} values, {:?}", own.len(), found.recipe)),
            }
        }
    }
}

#[test]
fn rows_that_begin_with_a_mark_of_comments_are_rows() {
    let folder = Folder::new();
    let row = |at: usize| format!("{}{at:06x},{}.5,{}\n", ["#", "b", "#"][at % 3], at * 7 % 31, class(at));
    let text: String = (0..60).map(row).collect();
    let options = ReadOptions { label_column: Some("kind".into()), ..ReadOptions::default() };
    for text in
        [format!("color,x,kind\n{text}"), format!("# colors\ncolor,x,kind\n{text}"), format!("#color,x,kind\n{text}")]
    {
        let found = prepare(&folder.file("t.csv", &text), &options, Standardize::Off, &run()).unwrap();
        assert_eq!(found.description.n_rows, 60, "{}", &text[..40]);
        assert_eq!(found.recipe.columns[0].name.trim_start_matches('#'), "color");
    }
    // # x,y,kind
    let bare: String = (0..60).map(|at| format!("{}.5,{},{}\n", at * 7 % 31, at % 9, class(at))).collect();
    let found =
        prepare(&folder.file("t.csv", format!("# x,y,kind\n{bare}")), &options, Standardize::Off, &run()).unwrap();
    assert_eq!((found.description.n_rows, found.recipe.feature_names()), (60, vec!["x".to_owned(), "y".into()]));
}

#[test]
fn tables_are_read_as_their_plain_twin_or_something_is_said() {
    let folder = Folder::new();
    let plain = |gap: Option<&str>| {
        let path = folder.file("twin.csv", table(|x| format!("{x}"), &LAYOUTS[0], gap));
        let options = ReadOptions { label_column: Some("kind".into()), ..ReadOptions::default() };
        prepare(&path, &options, Standardize::Off, &run()).unwrap()
    };
    let (twin, with_gaps) = (plain(None), plain(Some("")));
    let (mut n, mut wrong, mut silent) = (0, Vec::new(), Vec::new());
    let mut check = |what: String, text: String, twin: &Prepared| {
        n += 1;
        match read(&folder, &text, twin) {
            Read::Right => {}
            Read::Told(said) => wrong.push(format!("{what}: {said}")),
            Read::Silent(found) => {
                silent.push(format!("{what}: {found}\n{}", text.lines().take(4).collect::<Vec<_>>().join("\n")))
            }
        }
    };
    for (way, write) in NUMBERS {
        for layout in &LAYOUTS {
            check(format!("{way}, {}", layout.0), table(write, layout, None), &twin);
        }
    }
    for gap in ["", "NA", "..", "n.a.", "\\N", "ND", "—", "closed", "#N/A", "NaN", "?", "None", "missing"] {
        for layout in &LAYOUTS {
            check(format!("gaps '{gap}', {}", layout.0), table(|x| format!("{x}"), layout, Some(gap)), &with_gaps);
        }
    }
    assert!(n >= 1_500, "{n} tables");
    assert!(silent.is_empty(), "{} of {n} are misread in silence:\n{}", silent.len(), silent.join("\n\n"));
    assert!(wrong.len() * 20 <= n, "{} of {n} are not read right:\n{}", wrong.len(), wrong.join("\n"));
}
