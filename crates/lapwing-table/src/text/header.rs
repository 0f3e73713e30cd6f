//! Whether a text names its columns, and what else stands between the names and the rows.

use super::dialect::{Doubt, Sample, types};
use crate::cell::{CellType, Found, is_missing, plain};

/// Whether a record holds all names.
pub(super) fn holds_names(record: &[Vec<u8>], names: &[String]) -> bool {
    names.iter().all(|name| record.iter().any(|cell| cell == name.trim().as_bytes()))
}

/// Whether the first record names the columns.
pub(super) fn has_header(records: &Sample, decimal: u8, doubts: &mut Vec<Doubt>) -> bool {
    let Some(first) = records.first() else { return true };
    if records.len() == 1 {
        // A single line of numbers holds values.
        return !first.iter().all(|cell| plain(cell, decimal).is_some());
    }
    // A header may come again.
    let comes_again = first.len() > 1 && records[1..].contains(first);
    let body = match comes_again {
        true => types(&records.iter().filter(|record| *record != first).cloned().collect::<Sample>(), decimal),
        false => types(&records[1..], decimal),
    };
    let typed = typed(&body, first.len());
    if !typed.is_empty() {
        // Years and numbers of columns do.
        if typed.len() >= 3 && count_up(typed.iter().map(|&(at, _)| &first[at])) {
            doubts.push(Doubt::Header);
            return true;
        }
        let fits = |&(at, kind): &(usize, CellType)| is_missing(&first[at]) || kind.fits(&first[at]);
        return !typed.iter().all(fits) || typed.iter().all(|&(at, _)| is_missing(&first[at]));
    }
    let repeats = |at: usize| {
        !is_missing(&first[at])
            && records[1..].iter().any(|record| record.get(at).is_some_and(|cell| *cell == first[at]))
    };
    let repeated = (0..first.len()).filter(|&at| repeats(at)).count();
    let is_named = first.iter().all(|cell| !cell.is_empty()) && repeated == 0;
    if repeated == 0 && !is_named && first.len() > 1 {
        doubts.push(Doubt::Header);
    }
    repeated == 0
}

/// Whether cells are numbers that count up by 1.
pub(super) fn count_up<'c>(cells: impl Iterator<Item = &'c Vec<u8>>) -> bool {
    let numbers = cells.map(|cell| std::str::from_utf8(cell).ok()?.parse::<u64>().ok());
    numbers.collect::<Option<Vec<u64>>>().is_some_and(|all| all.is_sorted_by(|a, b| a.checked_add(1) == Some(*b)))
}

/// Lines below the header that hold types or units of the columns: at most two.
pub(super) fn further_header_lines(records: &[Vec<Vec<u8>>], decimal: u8) -> usize {
    const TYPES: &str = "continuous discrete string c d s t time text numeric number nominal categorical integer int int64 float float64 \
                         double str object date";
    const FLAGS: &str = "class meta ignore i m feature target";
    let are_of = |record: &[Vec<u8>], words: &str| {
        let is_word = |cell: &Vec<u8>| words.split(' ').any(|word| cell.eq_ignore_ascii_case(word.as_bytes()));
        record.iter().any(is_word) && record.iter().all(|cell| cell.is_empty() || is_word(cell))
    };
    let Some(first) = records.first().filter(|_| records.len() > 3) else { return 0 };
    if are_of(first, TYPES) {
        return 1
            + usize::from(records[1].iter().any(|cell| !cell.is_empty()) && are_of(&records[1], FLAGS))
            + usize::from(records[1].iter().all(Vec::is_empty));
    }
    // Cells that come again below are cells.
    let comes_again = |at: usize| {
        let cell = &first[at];
        !cell.is_empty() && records[1..].iter().any(|record| record.get(at) == Some(cell))
    };
    let is_unit = |cell: &[u8]| {
        let in_brackets = matches!((cell.first(), cell.last()), (Some(b'(' | b'['), Some(b')' | b']')));
        !is_missing(cell) && cell.len() <= 12 && (in_brackets || !cell.iter().any(u8::is_ascii_digit))
    };
    if !first.iter().any(|cell| is_unit(cell)) || (0..first.len()).any(comes_again) {
        return 0;
    }
    let typed = typed(&types(&records[1..], decimal), first.len());
    let is_unit_of = |&&(at, kind): &&(usize, CellType)| is_unit(&first[at]) && !kind.fits(&first[at]);
    let units: Vec<usize> = typed.iter().filter(is_unit_of).map(|&(at, _)| at).collect();
    // Some columns may have no unit where columns of words have none.
    let are_some = (0..first.len()).all(|at| first[at].is_empty() || units.contains(&at));
    usize::from(!units.is_empty() && (units.len() == typed.len() || are_some))
}

/// The columns of records as wide as `width` that hold no texts, with their types.
fn typed(columns: &[Found], width: usize) -> Vec<(usize, CellType)> {
    let typed = |(at, found): (usize, &Found)| Some((at, found.kind.filter(|kind| *kind != CellType::Text)?));
    columns.iter().take(width).enumerate().filter_map(typed).collect()
}
