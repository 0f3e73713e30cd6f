//! The command that labels with the method a comparison recommends.

use std::path::PathBuf;

use lapwing::data::params::{Parameters, Value};
use lapwing::data::{Standardize, TermWeights};
use lapwing::models::Settings;
use lapwing_table::read::join_columns;

use crate::options::{DataOptions, LabelOptions, Names};
use crate::text::shell_word;

/// `lapwing label` for the same data and labels, with the method of `settings` and its parameters, quoted for a shell.
pub fn next_command(
    data: &DataOptions,
    labels: &LabelOptions,
    settings: &Settings,
    (fit_rows, seed): (Option<usize>, u64),
) -> String {
    let path = |path: &PathBuf| path.display().to_string();
    let columns = |lists: &[Names]| (!lists.is_empty()).then(|| join_columns(&Names::all(lists)));
    let inputs = [&data.data, &data.graph, &labels.labels].into_iter().flatten();
    let is_free = |name: &&str| inputs.clone().all(|path| path.file_name().is_none_or(|own| own != *name));
    let output = ["labels.csv", "labeled.csv", "out.csv", "result.csv"].into_iter().find(is_free);
    let options = [
        ("graph", data.graph.as_ref().map(path)),
        ("nodes", data.nodes.map(|nodes| nodes.to_string())),
        ("columns", columns(data.table.columns.as_deref().unwrap_or_default())),
        ("drop", columns(&data.table.drop)),
        ("id", data.table.id.column.clone()),
        ("label-column", labels.label_column.clone()),
        ("labels", labels.labels.as_ref().map(path)),
        ("unlabeled", labels.unlabeled.clone()),
        ("method", Some(settings.spec().name.into())),
        ("fit-rows", fit_rows.map(|rows| rows.to_string())),
        ("seed", (seed != 0).then(|| seed.to_string())),
        ("output", Some(output.unwrap_or_default().into())),
    ];
    let mut words: Vec<String> = vec!["lapwing".into(), "label".into()];
    words.extend(data.data.as_ref().map(path));
    words.extend(options.into_iter().filter_map(|(name, value)| Some([format!("--{name}"), value?])).flatten());
    // A comparison does not weigh counts unless asked; the default of label may.
    words.extend(labels.ignore.unknown.then(|| "--ignore-unknown".to_owned()));
    words.extend(match data.table.standardize {
        Standardize::On => Some("--standardize".to_owned()),
        Standardize::Off => Some("--standardize=off".to_owned()),
        _ => None,
    });
    words.extend((data.table.term_weights(false) == TermWeights::On).then(|| "--tfidf".to_owned()));
    words.extend(parameters(settings));
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// Options of the parameters that are not at their defaults.
fn parameters(settings: &Settings) -> Vec<String> {
    let Ok(defaults) = Settings::new(settings.spec().name) else { return Vec::new() };
    let mut words = Vec::new();
    for parameter in settings.list().iter().filter(|parameter| parameter.has_effect(|name| settings.get(name))) {
        let (given, default) = (settings.get(parameter.name), defaults.get(parameter.name));
        let Some(value) = given.filter(|given| Some(given) != default.as_ref() && *given != Value::None) else {
            continue;
        };
        // A value that begins with a minus sign stands behind an equals sign, like that of a flag.
        words.push(format!("--{}={value}", parameter.option()));
    }
    words
}
