//! What pages are about: the program, its commands, the methods of `label`.

use clap::builder::Resettable;
use lapwing::models::{METHODS, MethodSpec, Settings};

use crate::options::Subject;

/// What a page is about.
pub struct Page {
    /// Name of its file, without ending.
    pub name: String,
    /// What is typed, such as `lapwing label`.
    pub typed: String,
    /// Its arguments; ready to be rendered.
    pub command: clap::Command,
    /// The method whose parameters it lists.
    pub method: Option<&'static MethodSpec>,
}

/// The program, its commands, and the methods of `label`. The options of `label` and `compare` are those that do not depend on the method.
pub fn pages(program: &clap::Command) -> Vec<Page> {
    let with_parameters = |command: clap::Command| match command.get_name() {
        "label" | "compare" => command,
        name => Subject::new(name, &[]).add_to(command),
    };
    let label = program.find_subcommand("label");
    let methods = label.into_iter().flat_map(|label| METHODS.iter().filter_map(|spec| Page::of_method(spec, label)));
    let mut program = program.clone().mut_subcommands(with_parameters);
    program.build();
    let commands = program.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help");
    let mut pages: Vec<Page> =
        commands.cloned().map(|command| Page::of(&format!("lapwing {}", command.get_name()), command)).collect();
    pages.insert(0, Page::of("lapwing", program));
    pages.extend(methods);
    pages
}

impl Page {
    fn of(typed: &str, command: clap::Command) -> Self {
        let name = typed.replace(' ', "-");
        Self { command: command.name(name.clone()).bin_name(typed), name, typed: typed.into(), method: None }
    }

    /// The parameters of a method, as options of `label`; the options that all methods share are hidden.
    fn of_method(spec: &'static MethodSpec, label: &clap::Command) -> Option<Self> {
        let settings = Settings::new(spec.name).ok()?;
        let shared: Vec<clap::Id> = label.get_arguments().map(|argument| argument.get_id().clone()).collect();
        let hidden = |argument: clap::Arg| {
            let is_shared = shared.contains(argument.get_id());
            argument.hide(is_shared)
        };
        let typed = format!("lapwing label --method {}", spec.name);
        let name = format!("lapwing-label-{}", spec.name);
        let command =
            Subject::Method(Box::new(settings)).add_to(label.clone()).mut_args(hidden).disable_help_flag(true);
        let command =
            command.name(name.clone()).about(spec.summary).long_about(Resettable::Reset).after_help(Resettable::Reset);
        let mut command = command.bin_name(&typed).override_usage(format!("{typed} [OPTIONS] [DATA]"));
        command.build();
        Some(Self { command, name, typed, method: Some(spec) })
    }
}
