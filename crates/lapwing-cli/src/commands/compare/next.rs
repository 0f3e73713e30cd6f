//! The command that labels with the method a comparison recommends.

use std::path::Path;

use lapwing::data::params::{Parameters, Value};
use lapwing::data::{Standardize, TermWeights};
use lapwing::models::Settings;
use lapwing_table::read::join_columns;

use crate::options::{DataOptions, LabelOptions, Names, Nodes};
use crate::text::shell_word;

/// `lapwing label` for the same data and labels, with the method of `settings` and its parameters, quoted for a shell.
pub fn next_command(data: &DataOptions, labels: &LabelOptions, settings: &Settings, seed: u64) -> String {
    let mut words: Vec<String> = vec!["lapwing".into(), "label".into()];
    let path = |path: &Path| path.display().to_string();
    words.extend(data.data.as_deref().map(path));
    let mut option = |name: &str, value: String| words.extend([format!("--{name}"), value]);
    if let Some(graph) = data.graph.as_deref() {
        option("graph", path(graph));
        match data.nodes {
            Some(Nodes::Count(n)) => option("nodes", n.to_string()),
            Some(Nodes::Names) => option("nodes", "names".into()),
            None => {}
        }
    }
    if let Some(columns) = &data.table.columns {
        option("columns", join_columns(&Names::all(columns)));
    }
    if !data.table.drop.is_empty() {
        option("drop", join_columns(&Names::all(&data.table.drop)));
    }
    if let Some(column) = &data.table.id.column {
        option("id", column.clone());
    }
    if let Some(column) = &labels.label_column {
        option("label-column", column.clone());
    }
    if let Some(file) = labels.labels.as_deref() {
        option("labels", path(file));
    }
    if let Some(marker) = &labels.unlabeled {
        option("unlabeled", marker.clone());
    }
    option("method", settings.spec().name.into());
    if seed != 0 {
        option("seed", seed.to_string());
    }
    let inputs = [data.data.as_deref(), data.graph.as_deref(), labels.labels.as_deref()];
    let is_free = |name: &&str| inputs.iter().flatten().all(|path| path.file_name().is_none_or(|own| own != *name));
    let output = ["labels.csv", "labeled.csv", "out.csv", "result.csv"].into_iter().find(is_free);
    option("output", output.unwrap_or_default().into());
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
