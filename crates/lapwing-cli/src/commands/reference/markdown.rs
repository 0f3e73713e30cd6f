//! Pages in Markdown: one for each command and for each method of `label`, and one that lists them.

use clap::{Arg, Command};

use super::Page;

/// Names and texts of the files.
pub fn pages(pages: &[Page]) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> =
        pages[1..].iter().map(|page| (format!("{}.md", page.name), page_text(page, pages))).collect();
    files.push(("index.md".into(), index(pages)));
    files
}

/// The page of the program, with a list of all others.
fn index(pages: &[Page]) -> String {
    let row = |page: &Page| format!("| [`{}`]({}.md) | {} |\n", page.typed, page.name, plain(&page.command));
    let (commands, methods): (Vec<&Page>, Vec<&Page>) = pages[1..].iter().partition(|page| page.method.is_none());
    let mut text = String::from(
        "# The program\n\nThese pages are made from the definitions of the program itself: they say what `lapwing COMMAND --help` says.\n\n\
         | command | |\n|---|---|\n",
    );
    text.extend(commands.iter().map(|page| row(page)));
    text +=
        "\nThe methods of [`lapwing label`](lapwing-label.md), each with its parameters:\n\n| method | |\n|---|---|\n";
    text.extend(methods.iter().map(|page| row(page)));
    text += &after(&pages[0].command);
    text += "\n```{toctree}\n:hidden:\n\n";
    text.extend(pages[1..].iter().map(|page| format!("{}\n", page.name)));
    text + "```\n"
}

fn page_text(page: &Page, pages: &[Page]) -> String {
    let command = &page.command;
    // As code, because Sphinx makes a dash of `--` in other text.
    let mut text = format!("# `{}`\n", page.typed);
    let about = command.get_long_about().or(command.get_about());
    text += &paragraphs(&about.map(ToString::to_string).unwrap_or_default());
    text += &links(page, pages);
    if page.method.is_none() {
        let usage = command.clone().render_usage().to_string();
        text += &format!("\n```text\n{}\n```\n", usage.trim_start_matches("Usage: "));
    }
    for (heading, arguments) in groups(command) {
        text += &format!("\n## {heading}\n");
        arguments.iter().for_each(|argument| text += &entry(argument));
    }
    text + &after(command)
}

/// Where the parameters of methods are, or the other options of a method.
fn links(page: &Page, pages: &[Page]) -> String {
    let list = || {
        let methods = pages.iter().filter_map(|page| Some(format!("[{}]({}.md)", page.method?.name, page.name)));
        methods.collect::<Vec<_>>().join(", ")
    };
    match (page.method, page.name.as_str()) {
        (Some(spec), _) => {
            let python = match spec.estimators {
                [] => String::new(),
                names => format!(
                    " In Python: {}.",
                    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
                ),
            };
            format!(
                "\nThese are the parameters of the method; the other options are those of [`lapwing label`](lapwing-label.md).{python}\n"
            )
        }
        (None, "lapwing-label") => format!("\nThe parameters of the methods are options too: {}.\n", list()),
        (None, "lapwing-compare") => format!(
            "\nThe parameters of the methods that are compared are options too, where they mean the same in all of them: {}.\n",
            list()
        ),
        _ => String::new(),
    }
}

/// The visible arguments under their headings, in the order of the help.
fn groups(command: &Command) -> Vec<(String, Vec<&Arg>)> {
    let mut groups: Vec<(String, Vec<&Arg>)> = Vec::new();
    for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
        let usual = if argument.is_positional() { "Arguments" } else { "Options" };
        let heading = argument.get_help_heading().unwrap_or(usual).to_owned();
        match groups.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, arguments)) => arguments.push(argument),
            None => groups.push((heading, vec![argument])),
        }
    }
    // What is given without a name comes first, and what has no heading last.
    groups.sort_by_key(|(heading, _)| match heading.as_str() {
        "Arguments" => 0,
        "Options" => 2,
        _ => 1,
    });
    groups
}

/// The part about one argument.
fn entry(argument: &Arg) -> String {
    let short = argument.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
    let short = if argument.get_long().is_some() { short } else { String::new() };
    let mut text = format!("\n### `{short}{argument}`\n");
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let (help, default) = split_default(&help);
    text += &paragraphs(&help);
    let takes_values = argument.get_action().takes_values();
    let values = argument.get_possible_values();
    if takes_values && !values.is_empty() && !argument.is_hide_possible_values_set() {
        text += "\nValues:\n\n";
        for value in values.iter().filter(|value| !value.is_hide_set()) {
            let meaning = value.get_help().map(ToString::to_string).filter(|help| !help.is_empty());
            let meaning = meaning.map(|help| format!(": {}", marked(&help))).unwrap_or_default();
            text += &format!("- `{}`{meaning}\n", value.get_name());
        }
    }
    let of_clap = argument.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy()));
    let is_shown = takes_values && !argument.is_hide_default_value_set();
    let of_clap = of_clap.reduce(|all, next| all + ", " + &next).filter(|_| is_shown);
    if let Some(default) = default.map(|default| marked(&default)).or(of_clap) {
        text += &format!("\nDefault: {default}.\n");
    }
    text
}

/// The help of an option without the `[default: …]` behind one of its paragraphs, and what stands there.
fn split_default(help: &str) -> (String, Option<String>) {
    let mut default = None;
    let mut rest = Vec::new();
    for paragraph in help.split("\n\n") {
        let at = paragraph.rfind("[default: ").filter(|_| paragraph.ends_with(']'));
        default = at.map(|at| paragraph[at + "[default: ".len()..paragraph.len() - 1].to_owned()).or(default);
        rest.push(paragraph[..at.unwrap_or(paragraph.len())].trim_end());
    }
    (rest.join("\n\n"), default)
}

/// The examples and notes that stand behind the help.
fn after(command: &Command) -> String {
    let Some(text) = command.get_after_long_help().or(command.get_after_help()) else { return String::new() };
    let text = text.to_string();
    let part = |part: &str| match part.trim_end().split_once(":\n") {
        Some((heading, lines)) if lines.starts_with(' ') => {
            let lines: Vec<&str> = lines.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
            format!("\n## {heading}\n\n```text\n{}\n```\n", lines.join("\n"))
        }
        _ => paragraphs(part),
    };
    text.split("\n\n").map(part).collect()
}

/// Paragraphs of plain text, each behind an empty line.
fn paragraphs(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty());
    paragraphs.map(|paragraph| format!("\n{}\n", marked(paragraph))).collect()
}

/// The first line about a command, for a table.
fn plain(command: &Command) -> String {
    marked(&command.get_about().map(ToString::to_string).unwrap_or_default()).replace('|', "\\|")
}

/// Plain text as Markdown: options are set as code, and characters that mark something are escaped.
fn marked(text: &str) -> String {
    text.lines().map(|line| line.split(' ').map(word).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join("\n")
}

fn word(word: &str) -> String {
    let start = word.find(|letter: char| !"([".contains(letter)).unwrap_or(word.len());
    let (before, rest) = word.split_at(start);
    let is_option = rest.starts_with("--") && rest.len() > 2;
    if !is_option {
        return escaped(word);
    }
    let end = rest.trim_end_matches(|letter: char| ".,;:)]".contains(letter)).len();
    let (option, behind) = rest.split_at(end);
    format!("{}`{option}`{}", escaped(before), escaped(behind))
}

fn escaped(word: &str) -> String {
    // Text that is code already.
    if word.starts_with('`') || word.ends_with('`') {
        return word.into();
    }
    let mut text = String::with_capacity(word.len());
    for letter in word.chars() {
        if "\\*_<>[]{}$".contains(letter) {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}
