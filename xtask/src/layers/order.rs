//! The order of crates and modules, as `layers.txt` declares it.

use std::collections::{BTreeMap, BTreeSet};

use crate::process::Result;

/// The module of `lib.rs` or `main.rs`.
pub const ROOT: &str = "lib";

/// The crates, from the bottom to the top.
pub struct Order {
    pub crates: Vec<Layers>,
}

/// The modules of a crate.
pub struct Layers {
    pub name: String,
    /// Whether the crate breaks rules still, and is not held to them.
    pub is_open: bool,
    /// The layer of each module at the top of the crate, counted from the bottom.
    pub modules: BTreeMap<String, usize>,
    /// The folders among these whose own modules do not know each other.
    pub apart: BTreeSet<String>,
}

impl Order {
    /// Reads a declaration: a line for each crate, `open` behind it or not, and indented below it a line for each layer. A
    /// slash behind a folder says that its modules do not know each other.
    pub fn parsed(text: &str) -> Result<Self> {
        let mut crates: Vec<Layers> = Vec::new();
        for (line, words) in
            text.lines().zip(1..).map(|(text, line)| (line, text.split('#').next().unwrap_or_default()))
        {
            let names: Vec<&str> = words.split_whitespace().collect();
            match (words.starts_with(' '), &names[..]) {
                (_, []) => {}
                (false, [name]) | (false, [name, "open"]) => {
                    let (name, is_open) = ((*name).into(), names.len() > 1);
                    crates.push(Layers { name, is_open, modules: BTreeMap::new(), apart: BTreeSet::new() });
                }
                (false, _) => return Err(format!("layers.txt:{line}: write `CRATE` or `CRATE open`")),
                (true, _) => {
                    let Some(last) = crates.last_mut() else {
                        return Err(format!("layers.txt:{line}: a layer of no crate"));
                    };
                    for word in names {
                        let name = word.trim_end_matches('/');
                        if name != word {
                            last.apart.insert(name.into());
                        }
                        if last.modules.insert(name.into(), line).is_some() {
                            return Err(format!("layers.txt:{line}: {name} stands twice below {}", last.name));
                        }
                    }
                }
            }
        }
        Ok(Self { crates })
    }

    /// The layer of a crate, counted from the bottom.
    pub fn rank(&self, name: &str) -> Option<usize> {
        self.crates.iter().position(|layers| layers.name == name)
    }
}

impl Layers {
    /// The layer of a module at the top of the crate; the root of the crate stands above all unless it is declared.
    pub fn rank(&self, module: &str) -> Option<usize> {
        let declared = self.modules.get(module).copied();
        declared.or((module == ROOT).then_some(usize::MAX))
    }
}
