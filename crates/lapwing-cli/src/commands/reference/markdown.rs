//! Pages in Markdown: one for each command and for each method of `label`, and one that lists them. What `--help` says stands on them as
//! it is, in a section for each of its headings.

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
    text += &block(&pages[0].command.clone().help_template("{after-help}").render_long_help().to_string());
    text += "\n```{toctree}\n:hidden:\n\n";
    text.extend(pages[1..].iter().map(|page| format!("{}\n", page.name)));
    text + "```\n"
}

fn page_text(page: &Page, pages: &[Page]) -> String {
    let help = page.command.clone().render_long_help().to_string();
    // What stands under each heading of the help; about and usage come before the first one.
    let mut sections: Vec<(&str, Vec<&str>)> = vec![("", Vec::new())];
    for paragraph in help.split("\n\n") {
        let section =
            paragraph.split_once(":\n").filter(|(heading, _)| !heading.contains('\n') && !heading.starts_with(' '));
        match section {
            Some((heading, text)) => sections.push((heading, vec![text])),
            None => sections.last_mut().into_iter().for_each(|(_, texts)| texts.push(paragraph)),
        }
    }
    // As code, because Sphinx makes a dash of `--` in other text.
    let mut text = format!("# `{}`\n{}{}", page.typed, block(&sections[0].1.join("\n\n")), links(page, pages));
    for (heading, texts) in &sections[1..] {
        text += &format!("\n## {heading}\n{}", block(&texts.join("\n\n")));
    }
    text
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
