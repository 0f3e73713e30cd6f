//! Files of edges: the same ones in every layout, and every way to read them.

use std::path::Path;

use lapwing_core::{Edge, EdgeReader, EdgeSource, Error};
use lapwing_table::read::EdgeFile;

use super::{f64s, npy, npy_in_order, npy_of_literal, run};

/// Edges among 300 nodes, with a loop, a zero weight, a repeated row and weights that single precision keeps.
pub fn edges() -> Vec<Edge> {
    let edge = |at: u32| Edge { u: at * 7 % 300, v: at * at % 299, weight: f64::from(at % 5) * 0.25 };
    (0..200).map(edge).chain([Edge { u: 299, v: 299, weight: 1.0 }, edge(3)]).collect()
}

/// A record array; `descr` is a Python literal.
pub fn records(descr: &str, n: usize, data: &[u8]) -> Vec<u8> {
    npy_of_literal(descr, "False", &format!("({n},)"), data)
}

/// Bytes of edges as (u, v, weight) in the order of the columns.
pub fn columns(edges: &[Edge]) -> Vec<f64> {
    let column = |number: fn(&Edge) -> f64| edges.iter().map(number);
    column(|e| e.u.into()).chain(column(|e| e.v.into())).chain(column(|e| e.weight)).collect()
}

/// Lines of a header and edges, with spaces around some numbers.
pub fn text(edges: &[Edge], header: &str) -> String {
    let lines = edges.iter().map(|Edge { u, v, weight }| format!(" {u},{v} ,{weight}\n"));
    header.chars().map(String::from).chain(lines).collect()
}

/// The same edges in every layout of arrays and text.
pub fn files(edges: &[Edge]) -> Vec<(&'static str, Vec<u8>)> {
    let n = edges.len();
    let rows: Vec<f64> = edges.iter().flat_map(|e| [e.u.into(), e.v.into(), e.weight]).collect();
    let join = |parts: &[&[u8]]| parts.concat();
    let of = |encode: &dyn Fn(&Edge) -> Vec<u8>| -> Vec<u8> { edges.iter().flat_map(encode).collect() };
    vec![
        ("table.npy", npy("<f8", &format!("({n}, 3)"), &f64s(&rows))),
        ("fortran.npy", npy_in_order("<f8", "True", &format!("({n}, 3)"), &f64s(&columns(edges)))),
        (
            "u4u4f4.npy",
            records(
                "[('u', '<u4'), ('v', '<u4'), ('weight', '<f4')]",
                n,
                &of(&|e| join(&[&e.u.to_le_bytes(), &e.v.to_le_bytes(), &(e.weight as f32).to_le_bytes()])),
            ),
        ),
        (
            "u4u4f8.npy",
            records(
                "[('a', '<u4'), ('shape', '<u4'), ('c', '<f8')]",
                n,
                &of(&|e| join(&[&e.u.to_le_bytes(), &e.v.to_le_bytes(), &e.weight.to_le_bytes()])),
            ),
        ),
        (
            "padded.npy",
            records(
                "[('u', '>i8'), ('', '|V3'), ('v', '<i2'), ('w', '<f8'), ('', '|V2')]",
                n,
                &of(&|e| {
                    let (u, v) = (i64::from(e.u).to_be_bytes(), (e.v as i16).to_le_bytes());
                    join(&[&u, &[9; 3], &v, &e.weight.to_le_bytes(), &[9; 2]])
                }),
            ),
        ),
        ("header.csv", text(edges, "from,to,how much\n").into_bytes()),
        ("bare.csv", text(edges, "").into_bytes()),
    ]
}

/// Reads all rows in blocks of at most `most`, after skipping some.
pub fn read(source: &dyn EdgeSource, most: usize, skip: u64) -> Result<Vec<Edge>, Error> {
    let run = run();
    let mut reader = source.open(&run)?;
    reader.skip(skip, &run)?;
    rest(&mut *reader, most)
}

/// Reads what is left.
pub fn rest(reader: &mut dyn EdgeReader, most: usize) -> Result<Vec<Edge>, Error> {
    let mut all = Vec::new();
    loop {
        let before = all.len();
        reader.read(most, &mut all, &run())?;
        assert!(all.len() - before <= most);
        if all.len() == before {
            return Ok(all);
        }
    }
}

/// What is wrong with a file, read whole; empty if nothing is.
pub fn error(path: &Path, n_nodes: Option<usize>) -> String {
    let result = EdgeFile::open(path, n_nodes, &run()).and_then(|file| read(&file, 2, 0));
    result.map_or_else(|error| error.to_string(), |_| String::new())
}

/// A Parquet file of small row groups.
pub fn parquet(columns: Vec<(&str, arrow_array::ArrayRef)>) -> Vec<u8> {
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;
    let batch = arrow_array::RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(32)).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}
