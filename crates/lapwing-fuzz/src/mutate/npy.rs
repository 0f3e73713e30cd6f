//! NumPy arrays: changes to the header and to the values, which then fit it or not.

use super::Mutator;
use super::havoc::write_number;
use crate::rng::Rng;
use crate::seeds::array::with_header;

/// Types of elements.
const DESCRS: &str = "'<f4';'<f8';'<f2';'>f4';'>f8';'|u1';'|i1';'<u2';'<i4';'<u4';'>i4';'<i8';'<u8';'|b1';'<U3';'>U1';\
    '|S4';'<U0';'|S0';'|O';'<c8';'<M8[s]';'<f16';'=f4';'<i3';f4;'<U4611686018427387904';'|S18446744073709551615'";
/// Types of records.
const RECORDS: &[&str] = &[
    "[('u', '<u4'), ('v', '<u4')]",
    "[('u', '<u4'), ('v', '<u4'), ('w', '<f4')]",
    "[('u', '<i8'), ('v', '<i8'), ('', '|V4'), ('w', '<f8')]",
    "[('u', '>u2'), ('v', '|u1'), ('w', '<f2')]",
    "[('u', '<u4')]",
    "[('w', '<f4'), ('v', '<u4'), ('u', '<u4')]",
    "[('index', '<i8'), ('source', '<i8'), ('target', '<i8')]",
    "[]",
    "[('u', '<u4', (2,)), ('v', '<u4')]",
    "[(('t', 'u'), '<u4'), ('v', '<u4')]",
    "[('u', '<u4'), ('v', '<u4'), ('', '|V18446744073709551615')]",
];
const SHAPES: &str = "();(0,);(1,);(3,);(8,);(0, 0);(0, 2);(2, 0);(1, 1);(3, 2);(2, 3);(3, 2, 1);(6, 1);(1, 6);\
    (4294967296, 4294967296);(9223372036854775807, 2);(0, 18446744073709551615);(18446744073709551616,);(-1, 2);\
    (3L, 2L);(3, 2;3;(3 2);(1000000, 1);(1, 4294967295);( 3 , 2 , );(+3, 2);(3, 0x2)";

/// An array.
pub fn npy(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    let Some((mut version, mut text, mut data)) = parts(bytes) else { return mutator.blindly(bytes) };
    for _ in 0..mutator.some_times() {
        match mutator.rng.below(10) {
            0 => {
                let new = if mutator.rng.one_in(4) { mutator.rng.of(RECORDS) } else { mutator.rng.word(DESCRS) };
                edited(&mut text, "'descr': ", ", 'fortran", new);
            }
            1 => edited(&mut text, "'shape': ", ", }", mutator.rng.word(SHAPES)),
            2 => edited(&mut text, "'fortran_order': ", ", 'shape", mutator.rng.of(&["True", "False", "1", "true"])),
            3 => blind_text(mutator, &mut text),
            4 => version = mutator.rng.of(&[1, 2, 3, 0, 255]),
            5 => fitted(&mut mutator.rng, &text, &mut data),
            6 => mutator.blindly(&mut data),
            _ => value(&mut mutator.rng, &mut data),
        }
    }
    *bytes = with_header(version, &text, &data);
    if mutator.rng.one_in(16) {
        let start = mutator.rng.below(bytes.len().min(12));
        write_number(&mut mutator.rng, &mut bytes[start..]);
    }
}

/// Version, text of the header, and values.
fn parts(bytes: &[u8]) -> Option<(u8, String, Vec<u8>)> {
    let rest = bytes.strip_prefix(b"\x93NUMPY")?;
    let version = *rest.first()?;
    let (length, start): (usize, usize) = match version {
        1 => (usize::from(u16::from_le_bytes([*rest.get(2)?, *rest.get(3)?])), 4),
        _ => (u32::from_le_bytes(rest.get(2..6)?.try_into().ok()?) as usize, 6),
    };
    let text = rest.get(start..start.checked_add(length)?)?;
    let text = String::from_utf8_lossy(text).trim_end().to_owned();
    Some((version, text, rest[start + length..].to_vec()))
}

/// Replaces the text between two marks by `new`.
fn edited(text: &mut String, before: &str, after: &str, new: &str) {
    let Some(start) = text.find(before).map(|at| at + before.len()) else { return };
    if let Some(length) = text[start..].find(after) {
        text.replace_range(start..start + length, new);
    }
}

fn blind_text(mutator: &mut Mutator<'_>, text: &mut String) {
    let mut bytes = std::mem::take(text).into_bytes();
    mutator.blindly(&mut bytes);
    *text = String::from_utf8_lossy(&bytes).into_owned();
}

/// Gives the values the size that the header states, or one byte more.
fn fitted(rng: &mut Rng, text: &str, data: &mut Vec<u8>) {
    let between = |before: &str, after: &str| text.split_once(before)?.1.split_once(after).map(|parts| parts.0);
    let Some(shape) = between("'shape': (", ")") else { return };
    let count =
        shape.split(',').filter_map(|dim| dim.trim().parse::<usize>().ok()).try_fold(1usize, usize::checked_mul);
    let digits = |descr: &str| descr.chars().filter(char::is_ascii_digit).collect::<String>().parse::<usize>().ok();
    let width = between("'descr': '", "'")
        .and_then(|descr| digits(descr)?.checked_mul(if descr.contains('U') { 4 } else { 1 }));
    let Some(length) = count.and_then(|count| count.checked_mul(width.unwrap_or(8))).filter(|length| *length < 1 << 12)
    else {
        return;
    };
    data.resize(length + usize::from(rng.one_in(8)), 0);
}

/// Replaces one number, in any width, by an extreme one.
pub fn value(rng: &mut Rng, data: &mut [u8]) {
    let width = [1, 2, 4, 8][rng.below(4)];
    let Some(places) = (data.len() / width).checked_sub(1) else { return };
    let at = width * rng.below(places + 1);
    let value = rng.of(&[f64::NAN, f64::INFINITY, -1.0, 0.0, -0.0, 1e300, 5e-324, 0.5, 3.0, 4_294_967_295.0, 9.3e18]);
    match (width, rng.one_in(2)) {
        (4, true) => data[at..at + 4].copy_from_slice(&(value as f32).to_le_bytes()),
        (8, true) => data[at..at + 8].copy_from_slice(&value.to_le_bytes()),
        _ => write_number(rng, &mut data[at..at + width]),
    }
}
