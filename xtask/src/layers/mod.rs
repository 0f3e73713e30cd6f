//! `cargo xtask layers`: whether crates and modules know only what is below them.
//!
//! The file `layers.txt` at the root declares the order. Refused are, between files and not counting tests: a use of a crate or of a
//! module at the top of a crate that is not declared below; a circle of uses among more than [`MOST`] files; and a circle that leaves
//! its folder (`name.rs` or `name/mod.rs` and the files in `name/`). [`sources`] says what counts as a use.

mod order;
mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::process::{Result, root};
use crate::system::entries;
use order::{Layers, Order};
use sources::{Source, Sources};

/// The most files of a circle.
const MOST: usize = 4;

/// The help of the command.
pub const HELP: &str = "\
cargo xtask layers [CRATE …]: whether crates and modules use only what layers.txt puts below them

Checks all crates but those that layers.txt calls `open`; or the crates that are named here, open or not.
";

/// Checks the crates that are `named`, or all that are not open.
pub fn check(named: &[&str]) -> Result<()> {
    check_tree(&root(), named)
}

fn check_tree(root: &Path, named: &[&str]) -> Result<()> {
    let text = std::fs::read_to_string(root.join("layers.txt"));
    let order = Order::parsed(&text.map_err(|error| format!("cannot read layers.txt: {error}"))?)?;
    let folders = entries(&root.join("crates")).into_iter().chain([root.join("python"), root.join("xtask")]);
    let named_folder = |folder: PathBuf| Some((folder.file_name()?.to_str()?.to_owned(), folder.join("src")));
    let sources: BTreeMap<String, PathBuf> = folders.filter_map(named_folder).filter(|(_, src)| src.is_dir()).collect();
    if let Some(unknown) = named.iter().find(|name| !sources.contains_key(**name)) {
        let known: Vec<&str> = sources.keys().map(String::as_str).collect();
        return Err(format!("there is no crate {unknown}; there are: {}", known.join(", ")));
    }
    let mut broken = Vec::new();
    for layers in order.crates.iter().filter(|layers| !sources.contains_key(&layers.name)) {
        broken.push(format!("layers.txt: there is no crate {}", layers.name));
    }
    for (name, src) in sources.iter().filter(|(name, _)| named.is_empty() || named.contains(&name.as_str())) {
        let Some(layers) = order.crates.iter().find(|layers| layers.name == *name) else {
            broken.push(format!("layers.txt: put the crate {name} above those that it uses"));
            continue;
        };
        let found = of_crate(&order, layers, src)?;
        match (layers.is_open, found.is_empty()) {
            (true, true) => {
                broken.push(format!("layers.txt: {name} keeps all rules; take `open` away behind its name"))
            }
            (true, false) if named.is_empty() => {}
            _ => broken.extend(found),
        }
    }
    if broken.is_empty() { Ok(()) } else { Err(broken.join("\n")) }
}

/// What a crate breaks, a sentence each.
fn of_crate(order: &Order, layers: &Layers, src: &Path) -> Result<Vec<String>> {
    // Among our crates, those of Python and xtask are used by none.
    let ours: Vec<&str> = order.crates.iter().map(|layers| layers.name.as_str()).collect();
    let ours: Vec<&str> = ours.into_iter().filter(|name| name.starts_with("lapwing") && *name != layers.name).collect();
    let sources = Sources::read(src, &ours)?;
    let mut broken = undeclared(layers, &sources);
    let file = |at: usize| format!("{}/{}", layers.name, sources.files[at].path.display());
    for (at, used, name) in &sources.foreign {
        if order.rank(used) >= order.rank(&layers.name) {
            broken.push(format!("{} uses {name} of {used}, which is a crate above: move {name} down", file(*at)));
        }
    }
    for ((from, to), names) in &sources.arrows {
        let (above, below) = (sources.files[*from].top(), sources.files[*to].top());
        if let (Some(one), Some(other)) = (sources.files[*from].within(above), sources.files[*to].within(below))
            && above == below
            && one != other
            && layers.apart.contains(above)
        {
            let (names, from, to) = (listed(names), file(*from), file(*to));
            broken.push(format!(
                "{from} uses {names} of {to}, but what is in {above}/ knows nothing of each other: move {names} down"
            ));
        }
        if above != below && layers.rank(below).zip(layers.rank(above)).is_some_and(|(below, above)| below >= above) {
            let place = if layers.rank(below) == layers.rank(above) { "on the same layer as" } else { "above" };
            let names = listed(names);
            let (from, to) = (file(*from), file(*to));
            broken.push(format!(
                "{from} uses {names} of {to}, but {below} is {place} {above}: move {names} down, or pass it in"
            ));
        }
    }
    broken.extend(circles(&sources).iter().filter_map(|circle| refused(&sources, circle, &file)));
    Ok(broken)
}

/// Modules without a layer, and layers without a module.
fn undeclared(layers: &Layers, sources: &Sources) -> Vec<String> {
    let tops: BTreeSet<&str> = sources.files.iter().map(Source::top).collect();
    let missing = tops.iter().filter(|top| layers.rank(top).is_none());
    let missing =
        missing.map(|top| format!("layers.txt: {top} of {} has no layer: put it above what it uses", layers.name));
    let surplus = layers.modules.keys().filter(|name| !tops.contains(name.as_str()));
    missing.chain(surplus.map(|name| format!("layers.txt: {} has no module {name}", layers.name))).collect()
}

/// A sentence about a circle that is too large, or that leaves its folder.
fn refused(sources: &Sources, circle: &BTreeSet<usize>, file: &dyn Fn(usize) -> String) -> Option<String> {
    let is_folder = |module: &[String]| {
        sources.files.iter().any(|file| file.module.len() > module.len() && file.module.starts_with(module))
    };
    let folder = |at: &usize| {
        let module = &sources.files[*at].module[..];
        if is_folder(module) { module } else { &module[..module.len().saturating_sub(1)] }
    };
    let folders: BTreeSet<&[String]> = circle.iter().map(folder).collect();
    let fault = match (circle.len() > MOST, folders.len() > 1) {
        (false, false) => return None,
        (true, _) => format!("more than {MOST} files"),
        (false, true) => "files of several folders".into(),
    };
    let within = |(from, to): &(usize, usize)| circle.contains(from) && circle.contains(to);
    let uses = sources.arrows.iter().filter(|(arrow, _)| within(arrow));
    let uses = uses.map(|((from, to), names)| format!("\n    {} uses {} of {}", file(*from), listed(names), file(*to)));
    Some(format!(
        "a circle of {fault} ({}): move what both sides use below them{}",
        circle.len(),
        uses.collect::<String>()
    ))
}

fn listed(names: &BTreeSet<String>) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Files that use each other, directly or through others.
fn circles(sources: &Sources) -> BTreeSet<BTreeSet<usize>> {
    let all = 0..sources.files.len();
    let mut below = vec![Vec::new(); all.len()];
    sources.arrows.keys().for_each(|(from, to)| below[*from].push(*to));
    let reached = |file: usize| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![file]);
        while let Some(file) = next.pop() {
            next.extend(below[file].iter().filter(|to| seen.insert(**to)));
        }
        seen
    };
    let reached: Vec<BTreeSet<usize>> = all.clone().map(reached).collect();
    let circle =
        |file: usize| all.clone().filter(|to| reached[file].contains(to) && reached[*to].contains(&file)).collect();
    all.clone().map(circle).filter(|circle: &BTreeSet<usize>| circle.len() > 1).collect()
}

#[cfg(test)]
mod tests;
