//! `lapwing methods`: lists the methods, or the parameters of one.

use clap::Args;
use lapwing::data::params::{Parameter, Parameters};
use lapwing::models::{METHODS, MethodSpec, Settings, method_names};
use serde_json::{Value as Json, json};

use crate::failure::Failure;
use crate::options::MethodName;
use crate::outcome::Outcome;
use crate::session::print;
use crate::text::{option, wrapped};

/// Columns of a line of text.
const WIDTH: usize = 92;

const EXAMPLES: &str = "\
Examples:
  lapwing methods                     the methods, and when to take which
  lapwing methods lapsvm              every parameter of lapsvm: default, range and meaning
  lapwing methods lapsvm --json       the same for programs; the names are those of --params FILE and of Python";

/// List the methods, or the parameters of one
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Methods {
    /// The method
    #[arg(value_name = "NAME", value_parser = MethodName, hide_possible_values = true)]
    method: Option<String>,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

impl Methods {
    pub fn run(&self) -> Result<Outcome, Failure> {
        let text = match (&self.method, self.json) {
            (None, false) => list(),
            (None, true) => pretty(&METHODS.iter().map(method_json).collect::<Vec<_>>().into()),
            (Some(name), false) => page(&Settings::new(name)?),
            (Some(name), true) => pretty(&settings_json(&Settings::new(name)?)),
        };
        print(&text)?;
        Ok(Outcome::Done)
    }
}

fn pretty(value: &Json) -> String {
    format!("{value:#}\n")
}

fn list() -> String {
    let width = method_names().map(str::len).max().unwrap_or(0);
    let line = |spec: &MethodSpec| format!("{:width$}  {}\n", spec.name, spec.summary);
    METHODS.iter().map(line).collect::<String>() + "\nlapwing methods NAME lists the parameters of a method.\n"
}

/// The parameters of a method, each with its default, range, choices and meaning.
fn page(settings: &Settings) -> String {
    let spec = settings.spec();
    let mut text = format!("{}: {}.\n", spec.name, spec.summary);
    if !spec.estimators.is_empty() {
        text += &format!("In Python: {}.\n", spec.estimators.join(", "));
    }
    let mut heading = "";
    for parameter in settings.list() {
        if settings.heading(parameter.name) != heading {
            heading = settings.heading(parameter.name);
            text += &format!("\n{heading}\n");
        }
        text += &entry(&parameter);
    }
    text
}

fn entry(parameter: &Parameter) -> String {
    let mut text = format!("  {}  (default {})\n", option(parameter.name), parameter.default);
    for line in wrapped(&parameter.doc, WIDTH, 0) {
        text += &format!("      {line}\n");
    }
    text += &format!("      Value: {}.\n", parameter.domain.expected());
    for (word, doc) in parameter.domain.words.iter().filter(|(_, doc)| !doc.is_empty()) {
        text += &format!("        {word}: {}\n", wrapped(doc, WIDTH, 0).join("\n          "));
    }
    if let Some(needs) = parameter.needs(option) {
        text += &format!("      Needs {needs}.\n");
    }
    text
}

fn method_json(spec: &MethodSpec) -> Json {
    json!({"name": spec.name, "summary": spec.summary, "estimators": spec.estimators})
}

fn settings_json(settings: &Settings) -> Json {
    let parameter = |parameter: Parameter| {
        json!({
            "name": parameter.name,
            "option": option(parameter.name),
            "group": settings.heading(parameter.name),
            "default": parameter.default.to_json(),
            "expected": parameter.domain.expected(),
            "words": parameter.domain.words.iter().map(|(word, _)| word).collect::<Vec<_>>(),
            "needs": parameter.needs(option),
            "doc": parameter.doc,
        })
    };
    let spec = settings.spec();
    let parameters: Vec<Json> = settings.list().into_iter().map(parameter).collect();
    json!({"name": spec.name, "summary": spec.summary, "estimators": spec.estimators, "parameters": parameters})
}
