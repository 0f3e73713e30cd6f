//! NumPy arrays and archives of them.

use std::io::{Cursor, Write};

use zip::write::FileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::Seed;
use crate::Bench;

/// A member of an archive: its name, its bytes, and whether they are deflated.
pub type Member = (String, Vec<u8>, bool);

/// An array with a header of version 1.0; `descr` and `shape` are literals of Python.
pub fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let text = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
    with_header(1, &text, data)
}

/// An array behind a header with that text, padded as NumPy pads it.
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

/// An archive; always the same bytes for the same members.
pub fn archive(members: &[Member]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes, is_deflated) in members {
        let method = if *is_deflated { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        let options = FileOptions::default().compression_method(method).last_modified_time(DateTime::default());
        // Memory takes what it is given.
        if zip.start_file(name.as_str(), options).is_ok() {
            let _ = zip.write_all(bytes);
        }
    }
    zip.finish().map(Cursor::into_inner).unwrap_or_default()
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn f64s(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn i64s(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn i32s(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn utf32(texts: &[&str], width: usize) -> Vec<u8> {
    let padded = |text: &&str| {
        let chars: Vec<u32> = text.chars().map(u32::from).chain(std::iter::repeat(0)).take(width).collect();
        chars.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
    };
    texts.iter().flat_map(padded).collect()
}

fn seeds(arrays: Vec<(&str, Vec<u8>)>) -> Vec<Seed> {
    arrays.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect()
}

/// Features.
pub fn samples(_: &Bench) -> Vec<Seed> {
    let six = [1.0, -2.0, 3.5, f64::NAN, 5.0, 1e-310];
    let singles: Vec<f32> = six.iter().map(|&value| value as f32).collect();
    seeds(vec![
        ("f4", npy("'<f4'", false, "(3, 2)", &f32s(&singles))),
        ("f8", npy("'<f8'", false, "(2, 3)", &f64s(&six))),
        ("f2", npy("'<f2'", false, "(2, 2)", &[0, 60, 0, 64, 0, 124, 1, 0])),
        ("u1", npy("'|u1'", false, "(2, 2)", &[1, 2, 3, 255])),
        ("bool", npy("'|b1'", false, "(2, 2)", &[1, 0, 0, 1])),
        ("fortran", npy("'<i2'", true, "(3, 2)", &[1; 12])),
        ("big", npy("'>f8'", false, "(3, 2)", &f64s(&six))),
        ("i8", npy("'<i8'", false, "(2, 2)", &i64s(&[1, -1, i64::MAX, i64::MIN]))),
        ("version2", with_header(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }", &f32s(&singles))),
        ("empty", npy("'<f4'", false, "(0, 2)", &[])),
    ])
}

/// Labels.
pub fn labels(_: &Bench) -> Vec<Seed> {
    seeds(vec![
        ("i8", npy("'<i8'", false, "(8,)", &i64s(&[0, 1, -1, 2, 0, 1, -1, 7]))),
        ("column", npy("'<i4'", false, "(8, 1)", &i32s(&[3, 1, -1, 2, 3, 1, -1, 7]))),
        ("f8", npy("'<f8'", false, "(8,)", &f64s(&[0.0, 1.5, f64::NAN, -1.0, 0.0, 1.5, -0.0, 2.0]))),
        ("text", npy("'<U3'", false, "(8,)", &utf32(&["a", "", "abc", "-1", "a", "nan", "unl", "b"], 3))),
        ("bytes", npy("'|S2'", false, "(8,)", b"a\0bbc\0-1a\0\0\0d\0bb")),
        ("bool", npy("'|b1'", false, "(8,)", &[1, 0, 1, 1, 0, 0, 1, 0])),
    ])
}

/// Edges as records and as numbers.
pub fn edges(_: &Bench) -> Vec<Seed> {
    let records = |weight: &str| format!("[('u', '<u4'), ('v', '<u4'){weight}]");
    let ends: Vec<u8> = i32s(&[0, 1, 1, 2, 2, 0]);
    let rows = |weight: &[u8]| ends.chunks(8).flat_map(|ends| [ends, weight].concat()).collect::<Vec<u8>>();
    let padded = "[('u', '<i8'), ('v', '<i8'), ('', '|V3'), ('weight', '>f4')]";
    let wide: Vec<u8> = [0i64, 1].iter().flat_map(|end| end.to_le_bytes()).collect();
    seeds(vec![
        ("records", npy(&records(""), false, "(3,)", &ends)),
        ("f4-records", npy(&records(", ('weight', '<f4')"), false, "(3,)", &rows(&1.5f32.to_le_bytes()))),
        ("f8-records", npy(&records(", ('w', '<f8')"), false, "(3,)", &rows(&0.25f64.to_le_bytes()))),
        ("padded", npy(padded, false, "(1,)", &[wide, vec![0; 3], 2f32.to_be_bytes().to_vec()].concat())),
        ("pairs", npy("'<i4'", false, "(3, 2)", &ends)),
        ("f8", npy("'<f8'", false, "(2, 3)", &f64s(&[0.0, 1.0, 0.5, 1.0, 2.0, 3.0]))),
        ("fortran", npy("'<f8'", true, "(2, 3)", &f64s(&[0.0, 1.0, 1.0, 2.0, 0.5, 3.0]))),
    ])
}

fn member(name: &str, bytes: Vec<u8>) -> Member {
    (format!("{name}.npy"), bytes, false)
}

/// A matrix as SciPy saves it.
fn scipy(format: &str, shape: [i64; 2], others: Vec<Member>, data: Vec<u8>, n_entries: usize) -> Vec<Member> {
    let width = format.len();
    let mut members = others;
    members.push(member("format", npy(&format!("'|S{width}'"), false, "()", format.as_bytes())));
    members.push(member("shape", npy("'<i8'", false, "(2,)", &i64s(&shape))));
    members.push(member("data", npy("'<f8'", false, &format!("({n_entries},)"), &data)));
    members
}

fn compressed(format: &str) -> Vec<Member> {
    let indices = member("indices", npy("'<i4'", false, "(4,)", &i32s(&[1, 0, 2, 1])));
    let indptr = member("indptr", npy("'<i4'", false, "(4,)", &i32s(&[0, 1, 3, 4])));
    scipy(format, [3, 3], vec![indices, indptr], f64s(&[1.0, 1.0, 0.5, 0.5]), 4)
}

fn coordinates() -> Vec<Member> {
    let row = member("row", npy("'<i8'", false, "(4,)", &i64s(&[0, 1, 1, 2])));
    let col = member("col", npy("'<i8'", false, "(4,)", &i64s(&[1, 0, 2, 1])));
    scipy("coo", [3, 3], vec![row, col], f64s(&[1.0, 1.0, 0.5, 0.5]), 4)
}

fn deflated(mut members: Vec<Member>) -> Vec<Member> {
    members.iter_mut().for_each(|member| member.2 = true);
    members
}

/// Archives of samples.
pub fn archives(_: &Bench) -> Vec<Seed> {
    let x = || member("X", npy("'<f4'", false, "(3, 2)", &f32s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])));
    let y = || member("y", npy("'<i8'", false, "(3,)", &i64s(&[0, 1, -1])));
    let names = member("y", npy("'<U2'", false, "(3,)", &utf32(&["a", "bc", ""], 2)));
    let parts = vec![
        member("X_data", npy("'<f4'", false, "(3,)", &f32s(&[1.0, 2.0, 3.0]))),
        member("X_indices", npy("'<i4'", false, "(3,)", &i32s(&[0, 1, 1]))),
        member("X_indptr", npy("'<i8'", false, "(4,)", &i64s(&[0, 1, 2, 3]))),
        member("X_shape", npy("'<i8'", false, "(2,)", &i64s(&[3, 2]))),
        y(),
    ];
    seeds(vec![
        ("dense", archive(&[x(), y()])),
        ("deflated", archive(&deflated(vec![x(), names]))),
        ("parts", archive(&parts)),
        ("csr", archive(&compressed("csr"))),
        ("csc", archive(&deflated(compressed("csc")))),
        ("coo", archive(&coordinates())),
    ])
}

/// Archives of graphs.
pub fn graphs(_: &Bench) -> Vec<Seed> {
    let edges = npy("'<f8'", false, "(3, 3)", &f64s(&[0.0, 1.0, 0.5, 1.0, 2.0, 3.0, 2.0, 2.0, 1.0]));
    seeds(vec![
        ("csr", archive(&compressed("csr"))),
        ("csc", archive(&deflated(compressed("csc")))),
        ("coo", archive(&coordinates())),
        ("edges", archive(&[member("edges", edges)])),
    ])
}
