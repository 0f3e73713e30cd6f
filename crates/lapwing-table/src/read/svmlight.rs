//! Sparse samples in the format of SVMlight and LIBSVM: `label index:value index:value … # comment`.
//!
//! Indices count from 1 by convention; they count from 0 in a file with an index 0. As in all formats, the label −1
//! means "no label": for files with the classes +1 and −1, choose another marker. Lines may lack the label; where all do, there are none.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use super::array::refuse_label_column;
use super::labels::LabelTexts;
use super::{ReadOptions, Samples, Size, columns};
use crate::format::open::open_text;
use crate::format::pairs::{label_of, pair};
use crate::lines::text_error;
use lapwing_core::bad_columns::is_bad;
use lapwing_core::{Csr, Error, Features, Labels, Result, Run};

/// Lines between two checks of the run's cancellation.
const CHECK_LINES: u64 = 1024;

/// Reads samples and their labels.
pub(crate) fn read_samples(path: &Path, options: &ReadOptions, run: &Run) -> Result<Samples> {
    refuse_label_column(options)?;
    let mut texts = LabelTexts::new(options.unlabeled.as_deref());
    let (mut indptr, mut indices, mut values) = (vec![0u64], Vec::new(), Vec::new());
    let (mut bad_lines, mut has_labels) = (BTreeMap::new(), false);
    let (first, n_cols) = each_line(path, run, |line, label, entries| {
        texts.push(label);
        has_labels |= !label.is_empty();
        for (index, _) in entries.iter().filter(|entry| is_bad(entry.1.into())) {
            bad_lines.entry(*index).or_insert(line);
        }
        indices.extend(entries.iter().map(|entry| entry.0));
        values.extend(entries.iter().map(|entry| entry.1));
        indptr.push(indices.len() as u64);
    })?;
    if first == 1 {
        indices.iter_mut().for_each(|index| *index -= 1);
    }
    let sparse = Csr::new(indptr.len() - 1, n_cols, indptr, indices, values)?;
    let keep = columns::by_number(path, sparse.n_cols(), options)?;
    let column = |index: u32| {
        let at = (index - first) as usize;
        keep.as_ref().map_or(Some(at), |keep| keep.iter().position(|&other| other == at))
    };
    let lines = bad_lines.into_iter().filter_map(|(index, line)| Some((column(index)?, line))).collect();
    let warnings = texts.spaced().into_iter().collect();
    let labels = if has_labels { Some(Labels::from(texts.finish()?)) } else { None };
    let mut samples = Samples::of_columns(path, Features::Sparse(Arc::new(sparse)), keep, labels)?;
    (samples.warnings, samples.origin.lines) = (warnings, lines);
    Ok(samples)
}

/// Counts rows and entries.
pub(crate) fn probe(path: &Path, options: &ReadOptions) -> Result<Size> {
    let (mut n_rows, mut n_entries) = (0, 0);
    let (_, n_cols) = each_line(path, &Run::new(Some(1), 0)?, |_, _, entries| {
        n_rows += 1;
        n_entries += entries.len();
    })?;
    let keep = columns::by_number(path, n_cols, options)?;
    Ok(Size::sparse(n_rows, keep.map_or(n_cols, |keep| keep.len()), n_entries))
}

/// Calls `take` with the number, the label and the entries of each line, sorted by their indices as written. Returns the number of the first
/// column, 0 or 1, and how many there are.
fn each_line(path: &Path, run: &Run, mut take: impl FnMut(u64, &str, &[(u32, f32)])) -> Result<(u32, usize)> {
    let mut reader = open_text(path)?;
    let (mut line, mut number) = (String::new(), 0u64);
    let mut entries: Vec<(u32, f32)> = Vec::new();
    let (mut first, mut end, mut n_rows) = (1u32, 0u32, 0u64);
    loop {
        line.clear();
        number += 1;
        if number.is_multiple_of(CHECK_LINES) {
            run.check()?;
        }
        match reader.read_line(&mut line) {
            Ok(0) => break,
            Ok(_) => {}
            // Errors of decompression have an inner error.
            Err(e) if e.kind() == std::io::ErrorKind::InvalidData && e.get_ref().is_none() => {
                return Err(Error::format(path, Some(number), "not UTF-8 text"));
            }
            Err(e) => return Err(text_error(path, Some(number), e)),
        }
        // Some programs write a byte order mark before text.
        let text = if number == 1 { line.strip_prefix('\u{feff}').unwrap_or(&line) } else { &line };
        let content = text.split('#').next().unwrap_or_default();
        if content.trim_ascii().is_empty() {
            continue;
        }
        let (label, tokens) = label_of(content);
        if label.contains(',') && label.split(',').all(|one| !one.is_empty()) {
            let reason = format!(
                "'{label}' are several labels, and a row has one class: keep one of them, or take all labels out (sed 's/^[^ ]* *//') and give \
                 those of the rows in a file of their own"
            );
            return Err(Error::format(path, Some(number), reason));
        }
        parse_entries(tokens, &mut entries).map_err(|reason| Error::format(path, Some(number), reason))?;
        first = entries.first().map_or(first, |entry| first.min(entry.0));
        end = entries.last().map_or(end, |entry| end.max(entry.0 + 1));
        take(number, label, &entries);
        n_rows += 1;
    }
    match n_rows {
        0 => Err(Error::format(path, None, "the file is empty")),
        _ => Ok((first, end.saturating_sub(first) as usize)),
    }
}

fn parse_entries<'t>(tokens: impl Iterator<Item = &'t str>, entries: &mut Vec<(u32, f32)>) -> Result<(), String> {
    entries.clear();
    for token in tokens {
        entries.push(pair(token).ok_or_else(|| format!("'{token}' is no pair index:value"))?);
    }
    entries.sort_unstable_by_key(|entry| entry.0);
    match entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(format!("index {} occurs twice", pair[0].0)),
        None => Ok(()),
    }
}
