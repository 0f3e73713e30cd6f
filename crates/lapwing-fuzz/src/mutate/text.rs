//! Text: its words, fields and lines.

use super::Mutator;
use crate::rng::Rng;

/// What tables stumble over.
const CSV: &[&[u8]] = &[
    b"\"",
    b"\"\"",
    b",",
    b"\n",
    b"\r\n",
    b"\r",
    b"\xef\xbb\xbf",
    b"\0",
    b"\xff",
    b"nan",
    b"NaN",
    b"inf",
    b"-inf",
    b"-1",
    b"1e400",
    b"1e-400",
    b"1e308",
    b"0x10",
    b"1_000",
    b"+1",
    b".5",
    b"5.",
    b"1.0",
    b"007",
    b" ",
    b"\t",
    b"a",
    b"label",
    b"drop",
    b"pick",
    b"unl",
    b"NA",
    b"null",
    b";",
    b"'",
    b"#",
    b"-0",
    b"18446744073709551616",
    b"4294967295",
    b"4294967296",
    b"9223372036854775808",
    b"1e9",
    b"\xc3\xa9",
    b"\xe2\x88\x92",
    b"\xc2\xa0",
    b"row,label",
    b"\"a\"b",
    b"a\"b",
    b"u,v,weight",
    b"1000",
    b"65536",
    b"3.0",
    b"1e3",
    b"true",
];

/// What sparse text stumbles over.
const SPARSE: &[&[u8]] = &[
    b":",
    b" ",
    b"\n",
    b"\r\n",
    b"#",
    b"qid:1",
    b"qid:",
    b"1:1",
    b"0:1",
    b"1:",
    b":1",
    b"-1:1",
    b"4294967295:1",
    b"4294967294:1",
    b"4294967296:1",
    b"1:nan",
    b"2:inf",
    b"3:1e400",
    b"+1",
    b"-1",
    b"\t",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"1:2:3",
    b"99999999:1",
    b"1:0x1",
    b"a",
    b"nan",
];

/// A table, or a list of edges.
pub fn csv(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    lines(mutator, bytes, CSV);
}

/// Labels.
pub fn labels(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    lines(mutator, bytes, CSV);
}

/// Sparse text.
pub fn svmlight(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    lines(mutator, bytes, SPARSE);
}

fn lines(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>, words: &[&[u8]]) {
    for _ in 0..mutator.some_times() {
        match mutator.rng.below(12) {
            0 => mutator.blindly(bytes),
            1 => lines_at(&mut mutator.rng, bytes),
            2 => endings(&mut mutator.rng, bytes),
            3 => quoted(&mut mutator.rng, bytes),
            4 => repeated(&mut mutator.rng, bytes),
            5..=7 => inserted(&mut mutator.rng, bytes, words),
            _ => replaced(&mut mutator.rng, bytes, words),
        }
    }
}

fn is_apart(byte: &u8) -> bool {
    b",\n\r :\t\"".contains(byte)
}

/// Where a field begins and ends.
fn field(rng: &mut Rng, bytes: &[u8]) -> std::ops::Range<usize> {
    let at = rng.below(bytes.len());
    let start = bytes[..at].iter().rposition(is_apart).map_or(0, |apart| apart + 1);
    let end = bytes[at..].iter().position(is_apart).map_or(bytes.len(), |apart| at + apart);
    start..end.max(start)
}

fn replaced(rng: &mut Rng, bytes: &mut Vec<u8>, words: &[&[u8]]) {
    let field = field(rng, bytes);
    let number = (rng.bits() >> rng.below(64)).to_string();
    let word: &[u8] = if rng.one_in(4) { number.as_bytes() } else { rng.of(words) };
    bytes.splice(field, word.iter().copied());
}

fn inserted(rng: &mut Rng, bytes: &mut Vec<u8>, words: &[&[u8]]) {
    let at = match rng.below(4) {
        0 => 0,
        1 => bytes.len(),
        2 => field(rng, bytes).start,
        _ => rng.below(bytes.len() + 1),
    };
    let word = rng.of(words);
    bytes.splice(at..at, word.iter().copied());
}

fn quoted(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let field = field(rng, bytes);
    bytes.insert(field.end, b'"');
    bytes.insert(field.start, b'"');
}

/// A line twice, nowhere, or elsewhere.
fn lines_at(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    if lines.is_empty() {
        return;
    }
    let (from, to) = (rng.below(lines.len()), rng.below(lines.len()));
    match rng.below(3) {
        0 => drop(lines.remove(from)),
        1 => lines.insert(to, lines[from].clone()),
        _ => lines.swap(from, to),
    }
    *bytes = lines.concat();
}

/// Other ends of lines, or none at the end.
fn endings(rng: &mut Rng, bytes: &mut Vec<u8>) {
    match rng.below(4) {
        0 => drop(bytes.pop()),
        1 => {
            *bytes =
                bytes.iter().flat_map(|&byte| if byte == b'\n' { vec![b'\r', b'\n'] } else { vec![byte] }).collect()
        }
        2 => bytes.retain(|&byte| byte != b'\r'),
        _ => bytes.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b'\r'),
    }
}

/// A part many times over.
fn repeated(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let at = rng.below(bytes.len());
    let end = (at + 1 + rng.below(16)).min(bytes.len());
    let part = bytes[at..end].repeat(1 + rng.below(64));
    bytes.splice(at..at, part);
}
