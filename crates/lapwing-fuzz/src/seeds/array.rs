//! NumPy arrays and archives of them.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::{Seed, named};
use crate::Bench;

/// A member of an archive: its name, its bytes, and whether it is deflated.
pub type Member = (String, Vec<u8>, bool);

/// An array with a header of version 1.0; `descr` and `shape` are Python literals.
pub fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let text = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
    with_header(1, &text, data)
}

/// An array whose header has this text, padded as NumPy does.
pub fn with_header(version: u8, text: &str, data: &[u8]) -> Vec<u8> {
    let start = if version == 1 { 10 } else { 12 };
    let length = (start + text.len() + 1).next_multiple_of(64) - start;
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((length as u16).to_le_bytes()),
        _ => bytes.extend((length as u32).to_le_bytes()),
    }
    bytes.extend(format!("{text:<width$}\n", width = length - 1).bytes());
    bytes.extend_from_slice(data);
    bytes
}

/// An archive; equal members give equal bytes.
pub fn archive(members: &[Member]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes, is_deflated) in members {
        let method = if *is_deflated { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        let options = SimpleFileOptions::default().compression_method(method).last_modified_time(DateTime::default());
        // Writing to memory does not fail.
        if zip.start_file(name.as_str(), options).is_ok() {
            let _ = zip.write_all(bytes);
        }
    }
    zip.finish().map(Cursor::into_inner).unwrap_or_default()
}

/// Numbers of an array.
trait Number: Copy {
    const DESCR: &'static str;

    fn bytes(self) -> Vec<u8>;
}

macro_rules! numbers {
    ($($number:ty: $descr:literal),*) => {$(
        impl Number for $number {
            const DESCR: &'static str = $descr;

            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
        }
    )*};
}

numbers!(f32: "'<f4'", f64: "'<f8'", i32: "'<i4'", i64: "'<i8'");

fn bytes_of<T: Number>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(|value| value.bytes()).collect()
}

/// An array of numbers in the order of C; `shape` is a Python literal.
fn array<T: Number>(shape: &str, values: &[T]) -> Vec<u8> {
    npy(T::DESCR, false, shape, &bytes_of(values))
}

fn utf32(texts: &[&str], width: usize) -> Vec<u8> {
    let padded = |text: &&str| {
        let chars: Vec<u32> = text.chars().map(u32::from).chain(std::iter::repeat(0)).take(width).collect();
        chars.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
    };
    texts.iter().flat_map(padded).collect()
}

/// Features.
pub fn samples(_: &Bench) -> Vec<Seed> {
    let six = [1.0, -2.0, 3.5, f64::NAN, 5.0, 1e-310];
    let singles = six.map(|value| value as f32);
    let version2 = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }";
    named([
        ("f4", array("(3, 2)", &singles)),
        ("f8", array("(2, 3)", &six)),
        ("f2", npy("'<f2'", false, "(2, 2)", &[0, 60, 0, 64, 0, 124, 1, 0])),
        ("u1", npy("'|u1'", false, "(2, 2)", &[1, 2, 3, 255])),
        ("bool", npy("'|b1'", false, "(2, 2)", &[1, 0, 0, 1])),
        ("fortran", npy("'<i2'", true, "(3, 2)", &[1; 12])),
        ("big", npy("'>f8'", false, "(3, 2)", &bytes_of(&six))),
        ("i8", array("(2, 2)", &[1, -1, i64::MAX, i64::MIN])),
        ("version2", with_header(2, version2, &bytes_of(&singles))),
        ("empty", npy("'<f4'", false, "(0, 2)", &[])),
    ])
}

/// Labels.
pub fn labels(_: &Bench) -> Vec<Seed> {
    let texts = utf32(&["a", "", "abc", "-1", "a", "nan", "unl", "b"], 3);
    named([
        ("i8", array("(8,)", &[0i64, 1, -1, 2, 0, 1, -1, 7])),
        ("column", array("(8, 1)", &[3i32, 1, -1, 2, 3, 1, -1, 7])),
        ("f8", array("(8,)", &[0.0, 1.5, f64::NAN, -1.0, 0.0, 1.5, -0.0, 2.0])),
        ("text", npy("'<U3'", false, "(8,)", &texts)),
        ("bytes", npy("'|S2'", false, "(8,)", b"a\0bbc\0-1a\0\0\0d\0bb")),
        ("bool", npy("'|b1'", false, "(8,)", &[1, 0, 1, 1, 0, 0, 1, 0])),
    ])
}

/// Edges as records and as numbers.
pub fn edges(_: &Bench) -> Vec<Seed> {
    let records = |weight: &str| format!("[('u', '<u4'), ('v', '<u4'){weight}]");
    let pairs = [0i32, 1, 1, 2, 2, 0];
    let ends = bytes_of(&pairs);
    let rows = |weight: &[u8]| ends.chunks(8).flat_map(|ends| [ends, weight].concat()).collect::<Vec<u8>>();
    let padded = "[('u', '<i8'), ('v', '<i8'), ('', '|V3'), ('weight', '>f4')]";
    let padded_row = [bytes_of(&[0i64, 1]), vec![0; 3], 2f32.to_be_bytes().to_vec()].concat();
    named([
        ("records", npy(&records(""), false, "(3,)", &ends)),
        ("f4-records", npy(&records(", ('weight', '<f4')"), false, "(3,)", &rows(&1.5f32.to_le_bytes()))),
        ("f8-records", npy(&records(", ('w', '<f8')"), false, "(3,)", &rows(&0.25f64.to_le_bytes()))),
        ("padded", npy(padded, false, "(1,)", &padded_row)),
        ("pairs", array("(3, 2)", &pairs)),
        ("f8", array("(2, 3)", &[0.0, 1.0, 0.5, 1.0, 2.0, 3.0])),
        ("fortran", npy("'<f8'", true, "(2, 3)", &bytes_of(&[0.0, 1.0, 1.0, 2.0, 0.5, 3.0]))),
    ])
}

fn member(name: &str, bytes: Vec<u8>) -> Member {
    (format!("{name}.npy"), bytes, false)
}

/// Matrices of three rows and four entries, as SciPy saves them.
fn matrices() -> Vec<(&'static str, Vec<u8>)> {
    let saved = |format: &str, places: [Member; 2]| {
        let format = npy(&format!("'|S{}'", format.len()), false, "()", format.as_bytes());
        let (shape, data) = (array("(2,)", &[3i64, 3]), array("(4,)", &[1.0, 1.0, 0.5, 0.5]));
        let [first, second] = places;
        vec![first, second, member("format", format), member("shape", shape), member("data", data)]
    };
    let compressed = |format: &str| {
        let (indices, indptr) = (array("(4,)", &[1i32, 0, 2, 1]), array("(4,)", &[0i32, 1, 3, 4]));
        saved(format, [member("indices", indices), member("indptr", indptr)])
    };
    let (row, col) = (array("(4,)", &[0i64, 1, 1, 2]), array("(4,)", &[1i64, 0, 2, 1]));
    let coordinates = saved("coo", [member("row", row), member("col", col)]);
    let csc = archive(&deflated(compressed("csc")));
    vec![("csr", archive(&compressed("csr"))), ("csc", csc), ("coo", archive(&coordinates))]
}

fn deflated(mut members: Vec<Member>) -> Vec<Member> {
    members.iter_mut().for_each(|member| member.2 = true);
    members
}

/// Archives of samples.
pub fn archives(_: &Bench) -> Vec<Seed> {
    let x = || member("X", array("(3, 2)", &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let y = || member("y", array("(3,)", &[0i64, 1, -1]));
    let names = member("y", npy("'<U2'", false, "(3,)", &utf32(&["a", "bc", ""], 2)));
    let parts = [
        member("X_data", array("(3,)", &[1.0f32, 2.0, 3.0])),
        member("X_indices", array("(3,)", &[0i32, 1, 1])),
        member("X_indptr", array("(4,)", &[0i64, 1, 2, 3])),
        member("X_shape", array("(2,)", &[3i64, 2])),
        y(),
    ];
    let dense = [
        ("dense", archive(&[x(), y()])),
        ("deflated", archive(&deflated(vec![x(), names]))),
        ("parts", archive(&parts)),
    ];
    named(dense.into_iter().chain(matrices()))
}

/// Archives of graphs.
pub fn graphs(_: &Bench) -> Vec<Seed> {
    let edges = member("edges", array("(3, 3)", &[0.0, 1.0, 0.5, 1.0, 2.0, 3.0, 2.0, 2.0, 1.0]));
    named(matrices().into_iter().chain([("edges", archive(&[edges]))]))
}
