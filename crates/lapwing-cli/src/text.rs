//! Tables for people, and words of command lines.

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

/// A table with headings; the first column is aligned left, the others right.
pub fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| plain(cell).into()).collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.max().unwrap_or(0).max(headings[column].chars().count())
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells = cells.zip(&widths).enumerate();
        let padded = cells.map(|(at, (cell, &w))| if at == 0 { format!("{cell:w$}") } else { format!("{cell:>w$}") });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let mut out = line(&mut headings.iter().copied());
    rows.iter().for_each(|row| out += &line(&mut row.iter().map(String::as_str)));
    out
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
        let rows = vec![vec!["harmonic".into(), "10".into()], vec!["x".into(), "1,000".into()]];
        assert_eq!(table(&["method", "n"], &rows), "method        n\nharmonic     10\nx         1,000\n");
    }
}
