//! Which file of a crate uses which names of which other file.
//!
//! Every path in the code counts, also in calls of macros, and every `use` that hands nothing on. A name that a module imports or
//! hands on is followed to the file that defines it. Methods do not count, nor do the bodies of macro definitions, nor code for tests.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use proc_macro2::{TokenStream, TokenTree};

use super::order::ROOT;
use crate::process::Result;

/// Names from the root of a crate to a module, or to an item of one.
type Names = Vec<String>;

/// The sources of a crate.
#[derive(Default)]
pub struct Sources {
    pub files: Vec<Source>,
    /// The names that a file uses of another one.
    pub arrows: BTreeMap<(usize, usize), BTreeSet<String>>,
    /// The names that files use of our other crates, by the name of the crate.
    pub foreign: BTreeSet<(usize, String, String)>,
    /// The file of each module; modules within a file have that file.
    modules: HashMap<Names, usize>,
    /// What `use` brings into a module: the path as it is written, by module and name.
    imports: HashMap<(Names, String), Names>,
    /// Paths as they are written, with their files and modules.
    paths: Vec<(usize, Names, Names)>,
}

/// A file.
pub struct Source {
    /// Its path below `src`.
    pub path: PathBuf,
    pub module: Names,
}

impl Source {
    /// The module at the top of the crate.
    pub fn top(&self) -> &str {
        self.module.first().map_or(ROOT, String::as_str)
    }

    /// The module within that at the top, unless the file is that one itself.
    pub fn within(&self, top: &str) -> Option<&str> {
        self.module.get(1).filter(|_| self.top() == top).map(String::as_str)
    }
}

impl Sources {
    /// Reads the crate with this folder of sources; `others` are the names of our other crates.
    pub fn read(src: &Path, others: &[&str]) -> Result<Self> {
        let mut sources = Self::default();
        let root = if src.join("lib.rs").exists() { "lib.rs" } else { "main.rs" };
        sources.load(src, root.into(), Vec::new())?;
        for (at, module, path) in std::mem::take(&mut sources.paths) {
            let first = path[0].replace('_', "-");
            if others.contains(&first.as_str()) {
                sources.foreign.insert((at, first, path[path.len() - 1].clone()));
            } else if let Some((module, Some(name))) = sources.resolved(&module, &path, 0) {
                let to = sources.modules[&module];
                if to != at {
                    sources.arrows.entry((at, to)).or_default().insert(name);
                }
            }
        }
        Ok(sources)
    }

    /// Reads a file and those of its modules.
    fn load(&mut self, src: &Path, path: PathBuf, module: Names) -> Result<()> {
        let full = src.join(&path);
        let text =
            std::fs::read_to_string(&full).map_err(|error| format!("cannot read {}: {error}", full.display()))?;
        let tokens = TokenStream::from_str(&text).map_err(|error| format!("{}: {error}", full.display()))?;
        let at = self.files.len();
        self.files.push(Source { path, module: module.clone() });
        let mut children = Vec::new();
        self.module(at, module, tokens, &mut children);
        for module in children {
            let folder: PathBuf = module.iter().collect();
            let (file, nested) = (folder.with_extension("rs"), folder.join("mod.rs"));
            self.load(src, if src.join(&file).exists() { file } else { nested }, module)?;
        }
        Ok(())
    }

    /// Reads the code of a module; `children` takes its modules in files of their own.
    fn module(&mut self, at: usize, module: Names, code: TokenStream, children: &mut Vec<Names>) {
        self.modules.insert(module.clone(), at);
        self.code(at, &module, &code.into_iter().collect::<Vec<_>>(), children);
    }

    fn code(&mut self, at: usize, module: &Names, code: &[TokenTree], children: &mut Vec<Names>) {
        let (mut rest, mut is_exported, mut is_handed_on) = (code, false, false);
        while let Some((token, more)) = rest.split_first() {
            rest = more;
            let word = |ahead: usize| more.get(ahead).map(TokenTree::to_string).unwrap_or_default();
            match token {
                TokenTree::Punct(mark) if mark.as_char() == '#' => {
                    let attribute = word(0).replace(' ', "");
                    is_exported |= attribute == "[macro_export]";
                    rest = &more[more.len().min(1)..];
                    if attribute == "[cfg(test)]" || attribute.starts_with("[cfg(all(test,") {
                        rest = &rest[length_of_item(rest)..];
                    }
                }
                TokenTree::Ident(name) if name == "mod" && word(1) == ";" => children.push(joined(module, &word(0))),
                TokenTree::Ident(name) if name == "mod" => {
                    if let Some(TokenTree::Group(body)) = more.get(1) {
                        self.module(at, joined(module, &word(0)), body.stream(), children);
                        rest = &more[2..];
                    }
                }
                TokenTree::Ident(name) if name == "macro_rules" => {
                    if std::mem::take(&mut is_exported) {
                        // An exported macro stands at the root of the crate, wherever it is defined.
                        let home = ["crate".to_owned()].into_iter().chain(module.clone()).chain([word(1) + "!"]);
                        self.imports.insert((Vec::new(), word(1)), home.collect());
                    }
                    rest = &more[more.len().min(3)..];
                }
                TokenTree::Ident(name) if name == "pub" => {
                    let is_limited = matches!(more.first(), Some(TokenTree::Group(_)));
                    is_handed_on = word(usize::from(is_limited)) == "use";
                    rest = &more[usize::from(is_limited)..];
                }
                TokenTree::Ident(name) if name == "use" => {
                    let length = more.iter().position(|token| is_mark(token, ';')).unwrap_or(more.len());
                    self.import(at, module, &[], &more[..length], std::mem::take(&mut is_handed_on));
                    rest = &more[length..];
                }
                TokenTree::Ident(_) => {
                    let (path, more) = path_of(rest, token);
                    // A single small word is most often a variable.
                    if path.len() > 1 || path[0].starts_with(char::is_uppercase) {
                        self.paths.push((at, module.clone(), path));
                    }
                    rest = more;
                }
                TokenTree::Group(group) => {
                    self.code(at, module, &group.stream().into_iter().collect::<Vec<_>>(), children);
                }
                _ => {}
            }
        }
    }

    /// Reads what stands between `use` and its end, behind the path `before`.
    fn import(&mut self, at: usize, module: &Names, before: &[String], tree: &[TokenTree], is_handed_on: bool) {
        let Some((first, more)) = tree.split_first() else { return };
        let (mut path, rest) = (before.to_vec(), more);
        let rest = match first {
            TokenTree::Ident(_) => {
                let (names, rest) = path_of(rest, first);
                path.extend(names);
                rest
            }
            _ => tree,
        };
        match rest.iter().find(|token| !is_mark(token, ':')) {
            Some(TokenTree::Group(group)) => {
                let trees: Vec<TokenTree> = group.stream().into_iter().collect();
                for tree in trees.split(|token| is_mark(token, ',')) {
                    self.import(at, module, &path, tree, is_handed_on);
                }
            }
            other => {
                let is = |word: &str| other.is_some_and(|token| token.to_string() == word);
                path.pop_if(|name| name == "self" && !before.is_empty());
                path.extend(is("*").then(|| "*".to_owned()));
                let Some(last) = path.last().cloned() else { return };
                let name = rest.get(1).filter(|_| is("as"));
                self.imports.insert((module.clone(), name.map_or(last, TokenTree::to_string)), path.clone());
                if !is_handed_on || path[0].starts_with("lapwing") {
                    self.paths.push((at, module.clone(), path));
                }
            }
        }
    }

    /// The module of a path that is written in `module`, and the item in it, if no module is meant; `None` for paths to other crates.
    fn resolved(&self, module: &[String], path: &[String], depth: usize) -> Option<(Names, Option<String>)> {
        let is_known = |first: &str| {
            self.modules.contains_key(&joined(module, first))
                || self.imports.contains_key(&(module.to_vec(), first.to_owned()))
        };
        let (mut here, mut rest) = match path.first().filter(|_| depth < 16)?.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (module.to_vec(), &path[1..]),
            "super" => {
                let up = path.iter().take_while(|word| *word == "super").count();
                (module[..module.len().checked_sub(up)?].to_vec(), &path[up..])
            }
            first if is_known(first) => (module.to_vec(), path),
            _ => return None,
        };
        while let Some((name, more)) = rest.split_first() {
            let below = joined(&here, name);
            if self.modules.contains_key(&below) {
                here = below;
            } else if let Some(import) = self.imports.get(&(here.clone(), name.clone())) {
                match self.resolved(&here, import, depth + 1)? {
                    (module, None) => here = module,
                    found => return Some(found),
                }
            } else {
                return Some((here, Some(name.clone())));
            }
            rest = more;
        }
        Some((here, None))
    }
}

fn joined(module: &[String], name: &str) -> Names {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

fn is_mark(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(found) if found.as_char() == mark)
}

/// The names of a path that begins with `first`, and what stands behind it.
fn path_of<'a>(mut rest: &'a [TokenTree], first: &TokenTree) -> (Names, &'a [TokenTree]) {
    let mut path = vec![first.to_string()];
    while let [a, b, TokenTree::Ident(name), more @ ..] = rest
        && is_mark(a, ':')
        && is_mark(b, ':')
    {
        path.push(name.to_string());
        rest = more;
    }
    (path, rest)
}

/// The number of tokens of an item, behind one of its attributes: up to a body, or to a semicolon.
fn length_of_item(code: &[TokenTree]) -> usize {
    let is_body = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == proc_macro2::Delimiter::Brace);
    let ends = |at: usize| is_mark(&code[at], ';') || is_body(&code[at]) && (at == 0 || !is_mark(&code[at - 1], ':'));
    (0..code.len()).find(|at| ends(*at)).map_or(code.len(), |at| at + 1)
}
