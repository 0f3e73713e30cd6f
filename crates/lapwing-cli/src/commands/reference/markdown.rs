//! Pages in Markdown: one for each command and for each method of `label`, and one that lists them. What `--help` says stands on them as
//! it is, in a section for each of its headings.

use clap::{Arg, Command};

use super::page::Page;

/// Names and texts of the files.
pub fn pages(pages: &[Page]) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> =
        pages[1..].iter().map(|page| (format!("{}.md", page.name), page_text(page, pages))).collect();
    files.push(("index.md".into(), index(pages)));
    files
}

/// The page of the program, with a list of all others.
fn index(pages: &[Page]) -> String {
    let about = |page: &Page| page.command.get_about().map(ToString::to_string).unwrap_or_default();
    let row = |page: &Page| format!("| [`{}`]({}.md) | {} |\n", page.typed, page.name, about(page));
    let (commands, methods): (Vec<&Page>, Vec<&Page>) = pages[1..].iter().partition(|page| page.method.is_none());
    let mut text = String::from(
        "# The program\n\nThese pages are made from the definitions of the program itself: they say what `lapwing COMMAND --help` says.\n\n\
         | command | |\n|---|---|\n",
    );
    text.extend(commands.iter().map(|page| row(page)));
    text +=
        "\nThe methods of [`lapwing label`](lapwing-label.md), each with its parameters:\n\n| method | |\n|---|---|\n";
    text.extend(methods.iter().map(|page| row(page)));
    text += &block(&rendered(pages[0].command.clone(), "{after-help}"));
    text += "\n```{toctree}\n:hidden:\n\n";
    text.extend(pages[1..].iter().map(|page| format!("{}\n", page.name)));
    text + "```\n"
}

fn page_text(page: &Page, pages: &[Page]) -> String {
    let command = &page.command;
    // As code, because Sphinx makes a dash of `--` in other text.
    let mut text = format!("# `{}`\n", page.typed);
    text += &block(&rendered(command.clone(), "{about}\n\n{usage-heading} {usage}"));
    text += &links(page, pages);
    for heading in headings(command) {
        // The help of these options only; it begins with the heading.
        let part = command.clone().mut_args(|argument| {
            let is_hidden = argument.is_hide_set() || heading_of(&argument) != heading;
            argument.hide(is_hidden)
        });
        let help = rendered(part, "{all-args}");
        text += &format!("\n## {heading}\n{}", block(help.split_once('\n').map_or("", |(_, options)| options)));
    }
    // The examples begin with their heading too.
    let after = rendered(command.clone(), "{after-help}");
    let (heading, examples) = after.trim_start().split_once(":\n").unwrap_or_default();
    if examples.is_empty() { text } else { text + &format!("\n## {heading}\n{}", block(examples)) }
}

/// A part of the long help.
fn rendered(command: Command, template: &'static str) -> String {
    command.help_template(template).render_long_help().to_string()
}

/// Lines that are shown as they are.
fn block(text: &str) -> String {
    let lines: Vec<&str> = text.trim_matches('\n').lines().map(str::trim_end).collect();
    format!("\n```text\n{}\n```\n", lines.join("\n"))
}

/// Where the parameters of methods are, or the other options of a method.
fn links(page: &Page, pages: &[Page]) -> String {
    let list = || {
        let methods = pages.iter().filter_map(|page| Some(format!("[{}]({}.md)", page.method?.name, page.name)));
        methods.collect::<Vec<_>>().join(", ")
    };
    match (page.method, page.name.as_str()) {
        (Some(spec), _) => {
            let names: Vec<String> = spec.estimators.iter().map(|name| format!("`{name}`")).collect();
            let python = if names.is_empty() { String::new() } else { format!(" In Python: {}.", names.join(", ")) };
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

/// The headings of the visible arguments. What is given without a name comes first, and what has no heading last.
fn headings(command: &Command) -> Vec<String> {
    let mut headings: Vec<String> = Vec::new();
    for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
        let heading = heading_of(argument);
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    headings.sort_by_key(|heading| (heading != "Arguments", heading == "Options"));
    headings
}

fn heading_of(argument: &Arg) -> String {
    let usual = if argument.is_positional() { "Arguments" } else { "Options" };
    argument.get_help_heading().unwrap_or(usual).to_owned()
}
