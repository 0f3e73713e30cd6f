//! Options from declared parameters: one option for each, with its default, values and meaning.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgMatches};
use lapwing::data::params::{Number, Parameter, Value};

use crate::text::option;

/// An option for each of the parameters, under the heading of each.
pub fn arguments<'p>(parameters: impl IntoIterator<Item = (&'p Parameter, &'static str)>) -> Vec<Arg> {
    let parameters: Vec<(&Parameter, &'static str)> = parameters.into_iter().collect();
    let is_option = |name: &&&str| parameters.iter().any(|(parameter, _)| parameter.name == **name);
    let option = |(parameter, heading): &(&Parameter, &'static str)| {
        // Parameters that mean different things for several methods are no options.
        let excludes: Vec<&str> = parameter.excludes.iter().filter(is_option).copied().collect();
        argument(parameter).conflicts_with_all(excludes).help_heading(*heading)
    };
    parameters.iter().map(option).collect()
}

fn argument(parameter: &Parameter) -> Arg {
    let domain = parameter.domain.clone();
    let argument = Arg::new(parameter.name)
        .long(parameter.option())
        .help(help(parameter))
        .long_help(long_help(parameter))
        .hide_short_help(true)
        .allow_hyphen_values(domain.is_list);
    if domain.is_flag {
        let parse = move |text: &str| Value::parse(text, &domain);
        return argument.num_args(0..=1).require_equals(true).default_missing_value("true").value_parser(parse);
    }
    let argument = match parameter.name {
        "n_neighbors" => argument.short('k'),
        _ => argument,
    };
    let argument = argument.value_name(value_name(parameter));
    match domain.number.is_none() && !domain.is_list {
        true => {
            let values = domain.words.into_iter().map(|(word, doc)| PossibleValue::new(word).help(doc));
            argument.value_parser(PossibleValuesParser::new(values).map(Value::Word))
        }
        false => argument.value_parser(move |text: &str| Value::parse(text, &domain)),
    }
}

/// The summary, and the default.
fn help(parameter: &Parameter) -> String {
    format!("{} [default: {}]", parameter.summary(), parameter.default)
}

/// The whole meaning, the default, the range, and what the parameter needs.
fn long_help(parameter: &Parameter) -> String {
    let needs = parameter.needs(option).map(|needs| format!(" Needs {needs}.")).unwrap_or_default();
    let interval = parameter.domain.range.interval();
    let range = if interval.is_empty() { interval } else { format!(", range: {interval}") };
    format!("{}{needs} [default: {}{range}]", parameter.doc, parameter.default)
}

fn value_name(parameter: &Parameter) -> String {
    match (parameter.domain.number, parameter.domain.is_list) {
        (None, true) => "A,B,…".into(),
        (_, true) => "X1,X2,…".into(),
        (Some(Number::Count), _) => "N".into(),
        (Some(Number::Bytes), _) => "BYTES".into(),
        (Some(Number::Real), _) => "X".into(),
        (Some(Number::Seconds), _) => "TIME".into(),
        (None, _) => parameter.name.to_uppercase(),
    }
}

/// Values of the options that were given, by the names of their parameters.
pub fn typed<'p>(
    matches: &ArgMatches,
    parameters: impl IntoIterator<Item = &'p Parameter>,
) -> Vec<(&'static str, Value)> {
    let value = |name: &'static str| Some((name, matches.try_get_one::<Value>(name).ok()??.clone()));
    parameters.into_iter().filter_map(|parameter| value(parameter.name)).collect()
}
