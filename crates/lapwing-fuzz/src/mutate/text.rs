//! Text: changes to fields, lines and marks.

use super::Mutator;
use crate::rng::Rng;

/// Marks in text, among them bytes that are no UTF-8.
const MARKS: &[&[u8]] =
    &[b"\"", b"\"\"", b",", b"\n", b"\r\n", b"\r", b"\0", b"\xff", b" ", b"\t", b";", b"\"a\"b", b"a\"b"];
/// Words of tables, edges and labels.
const WORDS: &str = "nan;NaN;inf;-inf;-1;1e400;1e-400;1e308;0x10;1_000;+1;.5;5.;1.0;007;a;label;drop;pick;unl;NA;null;';#;-0\
    ;18446744073709551616;4294967295;4294967296;9223372036854775808;1e9;\u{e9};\u{2212};\u{a0};\u{feff};row,label;u,v,weight;\
    1000;65536;99999;100000000;3000000000;3.0;1e3;source;target;weight;u;v;w;id;index;true;2024-02-29;29.02.2024;1.234,5;1,5;yes;no;red";
/// Words of sparse text.
const SPARSE: &str = ":;#;qid:1;qid:;1:1;0:1;1:;:1;-1:1;4294967295:1;4294967294:1;4294967296:1;1:nan;2:inf;3:1e400;+1;-1;\
    \u{feff};1:2:3;99999999:1;1:0x1;a;nan";

/// Words of JSON lines.
const JSON: &str = "{};[];null;true;false;1e400;-0;{\"a\":1};\"a\":;\"\\u00e9\";\"\\ud800\";\"2024-02-30\";[1,2];[1,2,3];\"label\";\"x\";nan;\
    00;1.;9007199254740993;\"\";\\;{\"a\":{\"b\":2}}";

/// Objects, one in each line.
pub fn jsonl(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    lines(mutator, bytes, JSON);
}

/// Tables, labels, or lists of edges.
pub fn csv(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    lines(mutator, bytes, WORDS);
}

/// Sparse text.
pub fn svmlight(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    lines(mutator, bytes, SPARSE);
}

fn lines(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>, words: &'static str) {
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

/// The range of a random field.
fn field(rng: &mut Rng, bytes: &[u8]) -> std::ops::Range<usize> {
    let at = rng.below(bytes.len());
    let start = bytes[..at].iter().rposition(is_apart).map_or(0, |apart| apart + 1);
    let end = bytes[at..].iter().position(is_apart).map_or(bytes.len(), |apart| at + apart);
    start..end.max(start)
}

fn replaced(rng: &mut Rng, bytes: &mut Vec<u8>, words: &'static str) {
    let field = field(rng, bytes);
    let number = (rng.bits() >> rng.below(64)).to_string();
    let word = if rng.one_in(4) { number.as_bytes() } else { word(rng, words) };
    bytes.splice(field, word.iter().copied());
}

fn inserted(rng: &mut Rng, bytes: &mut Vec<u8>, words: &'static str) {
    let at = match rng.below(4) {
        0 => 0,
        1 => bytes.len(),
        2 => field(rng, bytes).start,
        _ => rng.below(bytes.len() + 1),
    };
    bytes.splice(at..at, word(rng, words).iter().copied());
}

fn word(rng: &mut Rng, words: &'static str) -> &'static [u8] {
    if rng.one_in(4) { rng.of(MARKS) } else { rng.word(words).as_bytes() }
}

fn quoted(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let field = field(rng, bytes);
    bytes.insert(field.end, b'"');
    bytes.insert(field.start, b'"');
}

/// Removes, repeats or moves a line.
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

/// Changes the ends of lines, or removes the last byte.
fn endings(rng: &mut Rng, bytes: &mut Vec<u8>) {
    match rng.below(4) {
        0 => drop(bytes.pop()),
        1 => *bytes = bytes.split(|&byte| byte == b'\n').collect::<Vec<_>>().join(&b"\r\n"[..]),
        2 => bytes.retain(|&byte| byte != b'\r'),
        _ => bytes.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b'\r'),
    }
}

/// Repeats a part many times.
fn repeated(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let at = rng.below(bytes.len());
    let end = (at + 1 + rng.below(16)).min(bytes.len());
    let part = bytes[at..end].repeat(1 + rng.below(64));
    bytes.splice(at..at, part);
}
