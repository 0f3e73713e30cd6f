//! The parameters of a command: those of a method, of several methods, of a graph or of a sparsifier.
//!
//! `--method NAME` is searched in the arguments before they are parsed, so that `label --method NAME` has the options of that
//! method and no others.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Args, Command};
use lapwing::data::params::{Parameter, Parameters, Value, set_all};
use lapwing::data::{Error, Result};
use lapwing::graph::GraphParams;
use lapwing::graph::learn::LearnParams;
use lapwing::graph::sparsify::SparsifyParams;
use lapwing::models::{AuditParams, MethodSpec, Settings, SuggestParams, method_names};
use lapwing_core::params::Both;
use serde_json::{Map, Value as Json};

use super::parameters::{arguments, typed};
use crate::failure::Failure;
use crate::files::Files;
use crate::text::option;

/// How a graph is built, or learned.
pub type GraphSettings = Both<GraphParams, LearnParams>;

/// Default method of `label`, and the method of `demo`.
pub const DEFAULT_METHOD: &str = "auto";
/// Name of the option for a file of parameters.
const PARAMS: &str = "params";

/// A file of parameters.
#[derive(Args)]
pub struct ParamsOptions {
    /// Parameters as JSON, by name: {"n_neighbors": 10}; for compare by method: {"harmonic": {"tol": 1e-8}}. Options override them
    #[arg(long, value_name = "FILE.json", hide_short_help = true, help_heading = "Method")]
    params: Option<PathBuf>,
}

impl ParamsOptions {
    /// Adds the file that is read.
    pub fn files<'p>(&'p self, files: Files<'p>) -> Files<'p> {
        files.read("--params", self.params.as_deref())
    }
}

/// The owner of the parameters of a command.
#[derive(Debug)]
pub enum Subject {
    /// A command without parameters.
    None,
    /// The method of `label`.
    Method(Box<Settings>),
    /// The methods of `compare`.
    Methods(Vec<Settings>),
    /// Every method, for lists of all options.
    All(Vec<Settings>),
    /// The graph of `graph`.
    Graph(Box<GraphSettings>),
    /// The sparsifier of `sparsify`.
    Sparsifier(Box<SparsifyParams>),
    /// The graph of `suggest`, and how it chooses rows.
    Suggestions(Box<Both<GraphParams, SuggestParams>>),
    /// The graph of `audit`, and how it judges.
    Audit(Box<Both<GraphParams, AuditParams>>),
}

impl Subject {
    /// The subject of `arguments` to the subcommand `command`, with default parameters.
    pub fn new(command: &str, arguments: &[OsString]) -> Self {
        let settings = |name: &str| Settings::new(name).ok();
        match command {
            "label" => {
                let named = after("--method", arguments).and_then(|name| settings(&name));
                named.or_else(|| settings(DEFAULT_METHOD)).map_or(Self::None, |settings| Self::Method(settings.into()))
            }
            "compare" => {
                let named = after("--methods", arguments).unwrap_or_default();
                let named: Vec<Settings> = named.split(',').filter_map(settings).collect();
                let all = || lapwing::models::METHODS.iter().filter(|spec| !spec.is_factor());
                Self::Methods(if named.is_empty() { all().filter_map(|s| settings(s.name)).collect() } else { named })
            }
            "graph" => Self::Graph(Box::default()),
            "sparsify" => Self::Sparsifier(Box::default()),
            "suggest" => Self::Suggestions(Box::default()),
            "audit" => Self::Audit(Box::default()),
            _ => Self::None,
        }
    }

    /// The subject with the parameters of every method that `command` may run.
    fn all(command: &str) -> Self {
        match command {
            "label" | "compare" => Self::All(method_names().filter_map(|name| Settings::new(name).ok()).collect()),
            _ => Self::new(command, &[]),
        }
    }

    /// `program`, each of whose commands has the parameters of every method: for completions, and to look up which parameters have options.
    pub fn add_all_to(program: Command) -> Command {
        program.mut_subcommands(|command| Self::all(command.get_name()).add_to(command))
    }

    /// The parameters, each with its heading. For several methods: those with the same meaning in all methods that have them.
    fn list(&self) -> Vec<(Parameter, &'static str)> {
        let under = |list: Vec<Parameter>, heading| list.into_iter().map(|p| (p, heading)).collect::<Vec<_>>();
        match self {
            Self::None => Vec::new(),
            Self::Method(settings) => headed(settings),
            Self::Methods(methods) | Self::All(methods) => {
                let mut list: Vec<(Parameter, &'static str)> = Vec::new();
                for (parameter, heading) in methods.iter().flat_map(headed) {
                    let is_new = !list.iter().any(|(known, _)| known.name == parameter.name);
                    if is_new && (matches!(self, Self::All(_)) || !is_ambiguous(methods, parameter.name)) {
                        list.push((parameter, heading));
                    }
                }
                list
            }
            Self::Graph(both) => [under(both.0.list(), "Graph"), under(both.1.list(), "Learning")].concat(),
            Self::Sparsifier(params) => under(params.list(), "Sparsifier"),
            Self::Suggestions(both) => [under(both.1.list(), "Suggestions"), under(both.0.list(), "Graph")].concat(),
            Self::Audit(both) => [under(both.1.list(), "Audit"), under(both.0.list(), "Graph")].concat(),
        }
    }

    /// `command` with an option for each parameter.
    pub fn add_to(&self, command: Command) -> Command {
        let list = self.list();
        if list.is_empty() {
            return command;
        }
        let takes_graph = !matches!(self, Self::Sparsifier(_));
        // An audit measures distances between rows also if the graph is given.
        let is_used = |argument: &Arg| matches!(self, Self::Audit(_)) && argument.get_id() == "metric";
        let builds_graph = |argument: &Arg| {
            let is_graph = argument.get_help_heading().is_some_and(|h| ["Graph", "Learning"].contains(&h));
            is_graph && !is_used(argument)
        };
        let conflicting = |argument: Arg| match takes_graph && builds_graph(&argument) {
            true => argument.conflicts_with("graph"),
            false => argument,
        };
        let options = arguments(list.iter().map(|(parameter, heading)| (parameter, *heading)));
        // `--budget` of compare is that of all its runs; the parameter of a method is given in a file.
        let is_own = |option: &Arg| command.get_arguments().any(|own| own.get_id() == option.get_id());
        let options: Vec<Arg> = options.into_iter().filter(|option| !is_own(option)).map(conflicting).collect();
        command.args(options)
    }

    /// Sets the given values: first those of the file, then those of the options.
    pub fn read(&mut self, matches: &ArgMatches) -> Result<(), Failure> {
        let list = self.list();
        let given = typed(matches, list.iter().map(|(parameter, _)| parameter));
        let path = matches.try_get_one::<PathBuf>(PARAMS).ok().flatten();
        let of_file = path.map(|path| read_object(path)).transpose()?;
        if let Self::Methods(methods) = self {
            return read_methods(methods, path.zip(of_file), &given);
        }
        let label = if let Self::Method(settings) = self { Some(settings.spec().name) } else { None };
        let params: &mut dyn Parameters = match self {
            Self::None | Self::Methods(_) | Self::All(_) => return Ok(()),
            Self::Method(settings) => &mut **settings,
            Self::Graph(both) => &mut **both,
            Self::Sparsifier(params) => &mut **params,
            Self::Suggestions(both) => &mut **both,
            Self::Audit(both) => &mut **both,
        };
        if let Some((path, object)) = path.zip(of_file) {
            set_from(params, path, &object)?;
        }
        set_all(params, given.iter().map(|(name, value)| (*name, value)))?;
        match without_effect(params, &given) {
            Some((name, needs)) => Err(Failure::usage(match label {
                Some(method) => format!("{} changes nothing for the method {method} without {needs}", option(name)),
                None => format!("{} changes nothing without {needs}", option(name)),
            })),
            None => Ok(()),
        }
    }

    /// Text for an option that belongs to other methods only; `None` if no method has it.
    pub fn misplaced(&self, argument: &str) -> Option<String> {
        let name = argument.strip_prefix("--")?.split('=').next()?.replace('-', "_");
        let typed = option(&name);
        match self {
            Self::Method(settings) => {
                let methods = methods_with(&name);
                let (users, first) = (in_words(&methods)?, methods.first()?);
                let own = settings.spec().name;
                Some(format!(
                    "{typed} is no option of the method {own}; it is an option of {users}: add --method {first}"
                ))
            }
            Self::Methods(methods) if is_ambiguous(methods, &name) => {
                let example = methods.iter().find(|method| method.get(&name).is_some())?.spec().name;
                Some(format!(
                    "{typed} means different things for the methods compared; give it by --params FILE, as \
                     {{\"{example}\": {{\"{name}\": …}}}}"
                ))
            }
            Self::Methods(_) => {
                let users = in_words(&methods_with(&name))?;
                Some(format!("{typed} is no option of the methods compared; it is an option of {users}"))
            }
            _ => None,
        }
    }
}

fn headed(settings: &Settings) -> Vec<(Parameter, &'static str)> {
    let heading = |parameter: Parameter| {
        let heading = settings.heading(parameter.name);
        (parameter, heading)
    };
    settings.list().into_iter().map(heading).collect()
}

/// Methods that have a parameter of that name.
fn methods_with(name: &str) -> Vec<&'static str> {
    let has = |method: &&str| {
        Settings::new(method).is_ok_and(|settings| settings.list().iter().any(|parameter| parameter.name == name))
    };
    method_names().filter(has).collect()
}

/// Names as part of a sentence; `None` if there are none.
fn in_words(names: &[&str]) -> Option<String> {
    match names {
        [] => None,
        [only] => Some((*only).into()),
        [first @ .., last] => Some(format!("{} and {last}", first.join(", "))),
    }
}

/// Whether these methods have parameters of one name with different meanings.
fn is_ambiguous(methods: &[Settings], name: &str) -> bool {
    let lists: Vec<Vec<Parameter>> = methods.iter().map(Settings::list).collect();
    let mut docs = lists.iter().flatten().filter(|parameter| parameter.name == name).map(|parameter| &parameter.doc);
    let first = docs.next();
    docs.any(|doc| Some(doc) != first)
}

/// The first of the given parameters that has no effect, and what it needs.
fn without_effect(params: &dyn Parameters, given: &[(&'static str, Value)]) -> Option<(&'static str, String)> {
    let list = params.list();
    let idle = |parameter: &&Parameter| {
        given.iter().any(|(name, _)| *name == parameter.name) && !parameter.has_effect(|name| params.get(name))
    };
    list.iter().find(idle).and_then(|parameter| Some((parameter.name, parameter.needs(option)?)))
}

/// Sets the given values of several methods.
fn read_methods(
    methods: &mut [Settings],
    of_file: Option<(&PathBuf, Map<String, Json>)>,
    given: &[(&'static str, Value)],
) -> Result<(), Failure> {
    if let Some((path, object)) = of_file {
        for (name, values) in &object {
            let Json::Object(values) = values else {
                return Err(file_error(path, format!("'{name}' holds no object of parameters")).into());
            };
            MethodSpec::named(name).map_err(|error| file_error(path, error.to_string()))?;
            let Some(settings) = methods.iter_mut().find(|settings| settings.spec().name == name) else {
                return Err(file_error(path, format!("'{name}' is not among the methods compared")).into());
            };
            set_from(settings, path, values)?;
        }
    }
    for (name, value) in given {
        let has = |settings: &&mut Settings| settings.list().iter().any(|parameter| parameter.name == *name);
        methods.iter_mut().filter(has).try_for_each(|settings| settings.set(name, value))?;
        let uses = |settings: &Settings| {
            settings.get(name).is_some() && without_effect(settings, &[(name, value.clone())]).is_none()
        };
        if !methods.iter().any(uses)
            && let Some((_, needs)) = methods.iter().find_map(|s| without_effect(s, &[(name, value.clone())]))
        {
            let typed = option(name);
            return Err(Failure::usage(format!("{typed} changes nothing for the methods compared without {needs}")));
        }
    }
    Ok(())
}

fn file_error(path: &Path, reason: String) -> Error {
    Error::Format { path: path.into(), line: None, reason }
}

/// The JSON object in a file.
fn read_object(path: &Path) -> Result<Map<String, Json>> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::io(path, error))?;
    match serde_json::from_str(&text) {
        Ok(Json::Object(object)) => Ok(object),
        Ok(_) => Err(file_error(path, r#"expected a JSON object, such as {"n_neighbors": 10}"#.into())),
        Err(error) => Err(file_error(path, error.to_string())),
    }
}

/// Sets parameters to the values of a JSON object.
fn set_from(params: &mut dyn Parameters, path: &Path, object: &Map<String, Json>) -> Result<()> {
    let in_file = |error: Error| file_error(path, error.to_string());
    let value = |(name, json): (&String, &Json)| Ok((name.clone(), Value::from_json(name, json).map_err(in_file)?));
    let values: Vec<(String, Value)> = object.iter().map(value).collect::<Result<_>>()?;
    set_all(params, values.iter().map(|(name, value)| (name.as_str(), value))).map_err(in_file)
}

/// The value of `option` in unparsed arguments.
fn after(option: &str, arguments: &[OsString]) -> Option<String> {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let equals = words.iter().find_map(|word| word.strip_prefix(option)?.strip_prefix('='));
    let next = words.windows(2).find(|pair| pair[0] == option).map(|pair| pair[1]);
    equals.or(next).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_that_are_compared_share_what_means_the_same() {
        let words = |line: &str| -> Vec<OsString> { line.split(' ').map(Into::into).collect() };
        let subject = |line: &str| Subject::new("compare", &words(line));
        let names = |subject: &Subject| subject.list().iter().map(|(parameter, _)| parameter.name).collect::<Vec<_>>();
        let both = subject("compare --methods harmonic,lapsvm");
        assert!(names(&both).contains(&"n_neighbors") && names(&both).contains(&"degree"));
        assert!(!names(&both).contains(&"tol") && !names(&both).contains(&"bandwidth"));
        assert!(both.misplaced("--tol=3").unwrap().contains("means different things"));
        assert!(names(&subject("compare --methods=harmonic,sparse-harmonic")).contains(&"tol"));
        assert!(both.misplaced("--n-landmarks-of").is_none());
    }
}
