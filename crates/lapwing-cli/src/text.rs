//! Tables for people, and words of command lines.

use lapwing_core::text::start_of;
pub use lapwing_report::text::*;
use lapwing_table::read::join_columns;
pub use lapwing_table::read::shell_word;

/// The option of a parameter, such as `--n-neighbors`.
pub fn option(parameter: &str) -> String {
    format!("--{}", parameter.replace('_', "-"))
}

/// An option with its value, if it has one, as it is typed in a shell.
pub fn typed(name: &str, value: &str) -> String {
    if value.is_empty() { option(name) } else { format!("{} {}", option(name), shell_word(value)) }
}

/// [`typed`] for the messages of the library, which name one column as it is.
pub fn in_message(name: &str, value: &str) -> String {
    match name {
        "drop" | "read_as" => typed(name, &join_columns(&[value])),
        _ => typed(name, value),
    }
}

/// Lines of a table, each column as wide as its longest cell, and those from `right` on aligned right; long cells before the last are cut.
pub fn aligned(rows: &[Vec<String>], right: usize) -> Vec<String> {
    const WIDEST: usize = 44;
    let shown = |row: &Vec<String>| -> Vec<String> {
        let most = |at: usize| if at + 1 < row.len() { WIDEST - 1 } else { usize::MAX };
        row.iter().enumerate().map(|(at, cell)| start_of(&plain(cell), most(at))).collect()
    };
    let rows: Vec<Vec<String>> = rows.iter().map(shown).collect();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0).min(WIDEST);
    let widths: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let padded =
            cells.map(|(at, (cell, &w))| if at < right { format!("{cell:w$}") } else { format!("{cell:>w$}") });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// A text in lines of up to `width` characters, all but longer words; `hang` blanks are before all but the first.
pub fn wrapped(text: &str, width: usize, hang: usize) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for (at, word) in text.split(' ').enumerate() {
        if line.chars().count() + word.chars().count() >= width && !line.trim().is_empty() {
            lines.push(std::mem::replace(&mut line, " ".repeat(hang)));
        } else if at > 0 {
            line.push(' ');
        }
        line += word;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_messages_are_words_of_a_shell() {
        let options = [("no_header", ""), ("unlabeled", "-1"), ("unlabeled", "not known"), ("drop", "size, cm")];
        let texts = options.map(|(name, value)| in_message(name, value));
        assert_eq!(texts, ["--no-header", "--unlabeled -1", "--unlabeled 'not known'", "--drop '\"size, cm\"'"]);
        assert_eq!(in_message("read_as", "zip=text"), "--read-as zip=text");
    }

    #[test]
    fn tables_line_up() {
        let rows = [["method", "n"], ["harmonic", "10"], ["x", "1,000"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(aligned(&rows, 1), ["method        n", "harmonic     10", "x         1,000"]);
        assert_eq!(aligned(&rows, 2), ["method    n", "harmonic  10", "x         1,000"]);
        let long = [vec!["x".repeat(50), "y".repeat(50)]];
        assert_eq!(aligned(&long, 2), [format!("{}…  {}", "x".repeat(43), "y".repeat(50))]);
    }
}
