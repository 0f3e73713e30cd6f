//! The choice of feature columns and of the label column.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexSet;

use super::options::ReadOptions;
use lapwing_core::scan::Value;
use lapwing_core::{Csr, Dense, Error, Features, Result, with_slice};

/// Number of names that a message about an unknown one lists.
const MAX_LISTED: usize = 20;

/// The chosen columns of a table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// Positions of the feature columns, in the requested order.
    pub features: Vec<usize>,
    /// Position of the label column.
    pub label: Option<usize>,
}

/// Chooses among named columns.
///
/// An index that pandas stored as a column is a feature only if it is chosen by name.
pub(crate) fn by_name(path: &Path, names: &[String], options: &ReadOptions) -> Result<Choice> {
    let find = |name: &String| find_name(path, names, name);
    check_known(path, names, options)?;
    let label = options.label_column.as_ref().map(find).transpose()?;
    let id = options.id.as_ref().map(find).transpose()?;
    let is_other = |at: usize| Some(at) == label || Some(at) == id || names[at].starts_with("__index_level_");
    let wanted: Vec<usize> = match &options.columns {
        Some(columns) => columns.iter().map(find).collect::<Result<_>>()?,
        None => (0..names.len()).filter(|&at| !is_other(at)).collect(),
    };
    let dropped = options.drop.iter().map(find).collect::<Result<HashSet<_>>>()?;
    if let Some(id) = id.filter(|id| wanted.contains(id) || Some(*id) == label) {
        let expected =
            if Some(id) == label { "another column than that of the labels" } else { "a column that is no feature" };
        return Err(Error::param("id column", format!("'{}'", names[id]), expected));
    }
    if let Some(label) = label.filter(|label| wanted.contains(label)) {
        return Err(Error::param("columns", format!("'{}'", names[label]), "features, not the label column"));
    }
    Ok(Choice { features: distinct(wanted, &dropped, |at| names[at].clone())?, label })
}

/// Chooses among numbered columns; `None` means all of them in order.
pub(super) fn by_number(path: &Path, n_cols: usize, options: &ReadOptions) -> Result<Option<Vec<usize>>> {
    if let Some(more) = options.more.first() {
        let reason =
            format!("only tables are read one below the other, not this file and {}; give one", more.display());
        return Err(Error::format(path, None, reason));
    }
    if options.columns.is_none() && options.drop.is_empty() {
        return Ok(None);
    }
    let find = |name: &String| match name.trim().parse() {
        Ok(at) if at < n_cols => Ok(at),
        Ok(_) => {
            Err(Error::format(path, None, format!("no column {name}; columns are numbered 0 to {}", n_cols as i64 - 1)))
        }
        Err(_) => {
            let reason = format!("no column '{name}': arrays have no column names; give numbers counted from 0");
            Err(Error::format(path, None, reason))
        }
    };
    let wanted = match &options.columns {
        Some(columns) => columns.iter().map(find).collect::<Result<_>>()?,
        None => (0..n_cols).collect(),
    };
    let dropped = options.drop.iter().map(find).collect::<Result<HashSet<_>>>()?;
    distinct(wanted, &dropped, |at| at.to_string()).map(Some)
}

fn distinct(wanted: Vec<usize>, dropped: &HashSet<usize>, name: impl Fn(usize) -> String) -> Result<Vec<usize>> {
    let mut seen = HashSet::new();
    if let Some(&twice) = wanted.iter().find(|&&at| !seen.insert(at)) {
        return Err(Error::param("columns", format!("'{}' twice", name(twice)), "each column once"));
    }
    let kept: Vec<usize> = wanted.into_iter().filter(|at| !dropped.contains(at)).collect();
    if kept.is_empty() {
        return Err(Error::shape("features", "at least one column", "none left"));
    }
    Ok(kept)
}

/// Returns one error for all names that are no columns.
fn check_known(path: &Path, names: &[String], options: &ReadOptions) -> Result<()> {
    let named = options.label_column.iter().chain(&options.id);
    let wanted = named.chain(options.columns.iter().flatten()).chain(&options.drop);
    let known: HashSet<&String> = names.iter().collect();
    let unknown: IndexSet<&String> = wanted.filter(|name| !known.contains(name)).collect();
    let unknown: Vec<&String> = unknown.into_iter().collect();
    match unknown[..] {
        [] => Ok(()),
        [name] => Err(Error::format(path, None, unknown_name(names, name))),
        _ => Err(Error::format(path, None, unknown_names(names, &unknown))),
    }
}

/// `columns`, unless these are all of `n_cols` columns in order.
pub(crate) fn chosen(columns: Vec<usize>, n_cols: usize) -> Option<Vec<usize>> {
    let are_all = columns.len() == n_cols && columns.iter().copied().eq(0..n_cols);
    (!are_all).then_some(columns)
}

/// Appends numbers to names that repeat an earlier one: `a`, `a` become `a`, `a.1`. Returns the names that are repeated.
pub(crate) fn make_distinct(names: &mut [String]) -> Vec<String> {
    let (mut seen, mut repeated): (HashSet<String>, Vec<String>) = (HashSet::new(), Vec::new());
    for name in names {
        let mut number = 0;
        let first = name.clone();
        while !seen.insert(name.clone()) {
            number += 1;
            *name = format!("{first}.{number}");
        }
        repeated.extend((number > 0 && !repeated.contains(&first)).then_some(first));
    }
    repeated
}

/// The position of the column `name`.
pub(crate) fn find_name(path: &Path, names: &[String], name: &str) -> Result<usize> {
    let mut matches = (0..names.len()).filter(|&at| names[at] == name);
    match (matches.next(), matches.next()) {
        (Some(at), None) => Ok(at),
        (Some(_), Some(_)) => Err(Error::format(path, None, format!("two columns are named '{name}'; rename one"))),
        (None, _) => Err(Error::format(path, None, unknown_name(names, name))),
    }
}

fn unknown_name(names: &[String], name: &str) -> String {
    let hint = nearest(names, name).map_or_else(|| ".".to_owned(), |known| format!("; did you mean '{known}'?"));
    format!("no column '{name}'{hint} {}", listed(names))
}

fn unknown_names(names: &[String], unknown: &[&String]) -> String {
    let described = |name: &&String| match nearest(names, name) {
        Some(known) => format!("'{name}' (did you mean '{known}'?)"),
        None => format!("'{name}'"),
    };
    let all: Vec<String> = unknown.iter().map(described).collect();
    format!("no columns {}. {}", all.join(", "), listed(names))
}

/// The name most similar to `name`, if one is similar.
fn nearest<'n>(names: &'n [String], name: &str) -> Option<&'n String> {
    let distance = |known: &String| strsim::levenshtein(&known.to_lowercase(), &name.to_lowercase());
    let (distance, known) = names.iter().map(|known| (distance(known), known)).min()?;
    (distance <= 1 + name.chars().count() / 3).then_some(known)
}

fn listed(names: &[String]) -> String {
    let mut listed = names.iter().take(MAX_LISTED).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > MAX_LISTED {
        listed.push_str(&format!(", … ({} in all)", names.len()));
    }
    format!("The columns are: {listed}")
}

/// The columns `keep` of features; all of them, without a copy, if `None`.
pub(super) fn select(features: Features<'static>, keep: Option<&[usize]>) -> Result<Features<'static>> {
    let Some(keep) = keep else { return Ok(features) };
    match features {
        Features::Dense(dense) => {
            let (n_rows, n_cols) = (dense.n_rows(), dense.n_cols());
            let values = with_slice!(dense.values(), slice => Value::owned_values(pick(slice, n_cols, keep)));
            Dense::new(n_rows, keep.len(), values).map(Features::Dense)
        }
        Features::Sparse(sparse) => pick_sparse(&sparse, keep).map(|picked| Features::Sparse(Arc::new(picked))),
    }
}

fn pick<T: Value>(values: &[T], n_cols: usize, keep: &[usize]) -> Vec<T> {
    let mut picked = Vec::with_capacity(values.len() / n_cols.max(1) * keep.len());
    for row in values.chunks_exact(n_cols.max(1)) {
        picked.extend(keep.iter().map(|&col| row[col]));
    }
    picked
}

fn pick_sparse(sparse: &Csr<f32>, keep: &[usize]) -> Result<Csr<f32>> {
    // No longer than needed for the last kept column: a damaged file may state billions of columns.
    let mut place = vec![None; keep.iter().max().map_or(0, |last| last + 1)];
    for (new, &old) in keep.iter().enumerate() {
        place[old] = Some(new as u32);
    }
    let (mut indptr, mut indices, mut values) = (vec![0u64], Vec::new(), Vec::new());
    let mut entries: Vec<(u32, f32)> = Vec::new();
    for row in 0..sparse.n_rows() {
        let (columns, row_values) = sparse.row(row);
        entries.clear();
        let kept = |col: u32| place.get(col as usize).copied().flatten();
        entries.extend(columns.iter().zip(row_values).filter_map(|(&col, &x)| kept(col).map(|new| (new, x))));
        entries.sort_unstable_by_key(|entry| entry.0);
        indices.extend(entries.iter().map(|entry| entry.0));
        values.extend(entries.iter().map(|entry| entry.1));
        indptr.push(indices.len() as u64);
    }
    Csr::new(sparse.n_rows(), keep.len(), indptr, indices, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["id", "width", "height", "label", "__index_level_0__"].map(String::from).to_vec()
    }

    fn options(label: Option<&str>, columns: Option<&[&str]>, drop: &[&str]) -> ReadOptions {
        let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        ReadOptions {
            label_column: label.map(str::to_owned),
            columns: columns.map(owned),
            drop: owned(drop),
            ..ReadOptions::default()
        }
    }

    #[test]
    fn two_columns_of_billions_take_little_memory() {
        let n_cols = u32::MAX as usize;
        let sparse = Csr::new(2, n_cols, vec![0, 2, 3], vec![0, 4_000_000_000, 1], vec![1.0, 2.0, 3.0]).unwrap();
        let picked = select(Features::Sparse(Arc::new(sparse)), Some(&[1, 0])).unwrap();
        let Features::Sparse(picked) = picked else { panic!("sparse columns became dense") };
        assert_eq!((picked.row(0), picked.row(1)), ((&[1u32][..], &[1.0f32][..]), (&[0u32][..], &[3.0f32][..])));
    }

    #[test]
    fn columns_are_chosen_by_name() {
        let choose = |o: ReadOptions| by_name(Path::new("t.csv"), &names(), &o);
        let all = choose(options(Some("label"), None, &["id"])).unwrap();
        assert_eq!(all, Choice { features: vec![1, 2], label: Some(3) });
        assert_eq!(choose(options(None, Some(&["height", "id"]), &[])).unwrap().features, [2, 0]);
        let text = |o| choose(o).unwrap_err().to_string();
        assert_eq!(
            text(options(Some("lable"), None, &[])),
            "t.csv: no column 'lable'; did you mean 'label'? The columns are: id, width, height, label, __index_level_0__"
        );
        assert!(text(options(Some("colour"), None, &[])).starts_with("t.csv: no column 'colour'. The columns are: id"));
        assert!(text(options(Some("label"), Some(&["label"]), &[])).contains("not the label column"));
        assert!(text(options(None, Some(&["id", "id"]), &[])).contains("'id' twice"));
        assert!(text(options(None, Some(&["id"]), &["id"])).contains("none left"));
        let missing = text(options(Some("lable"), Some(&["colour", "width", "id", "colour"]), &["hight"]));
        assert!(
            missing.contains("no columns 'lable' (did you mean 'label'?), 'colour', 'hight' (did you"),
            "{missing}"
        );
        let doubled = by_name(Path::new("t.csv"), &["a".into(), "a".into()], &options(Some("a"), None, &[]));
        assert!(doubled.unwrap_err().to_string().contains("two columns are named 'a'"));
    }

    #[test]
    fn columns_are_chosen_by_number() {
        let choose = |o: ReadOptions| by_number(Path::new("x.npy"), 3, &o);
        assert_eq!(choose(options(None, None, &[])).unwrap(), None);
        assert_eq!(choose(options(None, None, &["1"])).unwrap(), Some(vec![0, 2]));
        assert!(choose(options(None, Some(&["3"]), &[])).unwrap_err().to_string().contains("0 to 2"));
        assert!(
            choose(options(None, Some(&["a"]), &[])).unwrap_err().to_string().contains("arrays have no column names")
        );
    }

    #[test]
    fn picked_columns_keep_the_order_asked_for() {
        let dense = Features::from_u8(2, 3, vec![1, 2, 3, 4, 5, 6]).unwrap();
        let Features::Dense(picked) = select(dense, Some(&[2, 0])).unwrap() else { unreachable!("dense stays dense") };
        let mut row = [0.0; 2];
        picked.copy_row_f64(1, &mut row);
        assert_eq!(row, [6.0, 4.0]);
        let sparse = Csr::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 3.0, 2.0]).unwrap();
        let Features::Sparse(picked) = select(Features::Sparse(Arc::new(sparse)), Some(&[2, 0])).unwrap() else {
            unreachable!("sparse stays sparse")
        };
        assert_eq!(picked.row(0), (&[0, 1][..], &[3.0, 1.0][..]));
        assert_eq!(picked.row(1).0.len(), 0);
    }
}
