//! The pages name every command and every option.

use clap::CommandFactory;

use super::*;

fn program() -> clap::Command {
    crate::Cli::command()
}

/// The long names of the options of a command.
fn longs(command: &clap::Command) -> Vec<String> {
    let visible = command.get_arguments().filter(|argument| !argument.is_hide_set());
    visible.filter_map(|argument| Some(format!("--{}", argument.get_long()?))).collect()
}

#[test]
fn pages_name_every_command_and_option() {
    let mut all = Subject::add_all_to(program());
    all.build();
    let markdown = markdown::pages(&pages(&program()));
    let manuals: Vec<(String, String)> =
        pages(&program()).iter().map(|page| (page.name.clone(), String::from_utf8(manual(page)).unwrap())).collect();
    let index = &markdown.iter().find(|(name, _)| name == "index.md").unwrap().1;
    let mut n_options = 0;
    for command in all.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help") {
        let name = format!("lapwing-{}", command.get_name());
        assert!(index.contains(&format!("({name}.md)")), "{name}");
        // Parameters of methods are on the pages of the methods, or on that of `label`.
        let has_methods = ["label", "compare"].contains(&command.get_name());
        let belongs = |page: &str| page == name || has_methods && page.starts_with("lapwing-label");
        let text = |files: &[(String, String)]| -> String {
            files
                .iter()
                .filter(|(file, _)| belongs(file.trim_end_matches(".md")))
                .map(|(_, text)| text.as_str())
                .collect()
        };
        let (page, manual) = (text(&markdown), text(&manuals).replace("\\-", "-"));
        for option in longs(command) {
            n_options += 1;
            let is_there = page.lines().any(|line| line.trim_start().split([' ', '=', '[', ',']).any(|w| w == option));
            assert!(is_there, "{name}.md: {option}");
            assert!(manual.contains(&option), "{name}.1: {option}");
        }
    }
    assert!(n_options > 200, "{n_options}");
    assert!(!index.contains("reference"));
}

#[test]
fn values_and_defaults_are_stated() {
    let pages = markdown::pages(&pages(&program()));
    let page = |name: &str| &pages.iter().find(|(file, _)| file == name).unwrap().1;
    let harmonic = page("lapwing-label-harmonic.md");
    assert!(harmonic.contains("\n## Harmonic propagation\n\n```text\n"), "{harmonic}");
    assert!(harmonic.contains("\n      --form <FORM>\n") && harmonic.contains("\n          - stable: "), "{harmonic}");
    assert!(harmonic.contains("[default: 15, range: [1, ∞)]\n"), "{harmonic}");
    assert!(page("lapwing-label.md").contains("[default: told from the text]\n"));
    assert!(page("lapwing-label.md").contains("[default: auto]\n"));
    assert!(page("lapwing-suggest.md").contains("\n## Examples\n\n```text\n  lapwing suggest "));
    assert!(page("lapwing-label.md").contains("\n## Output\n") && !page("lapwing-label.md").contains("Output:\n"));
    assert!(pages.iter().all(|(_, text)| text.lines().all(|line| line == line.trim_end())));
}
