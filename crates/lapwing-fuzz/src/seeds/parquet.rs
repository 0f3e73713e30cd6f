//! Parquet tables of all types, codecs and encodings that the readers support, and Arrow files.

use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, Encoding, ZstdLevel};
use ::parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float32Array, Float64Array, Int8Array, Int32Array, Int64Array,
    RecordBatch, StringArray, UInt16Array, UInt64Array,
};
use arrow_ipc::writer::FileWriter;

use super::Seed;
use crate::Bench;
use crate::rng::Rng;

/// Tables of samples.
pub fn tables(_: &Bench) -> Vec<Seed> {
    (0..16).map(|seed| (format!("table{seed}"), table(&mut Rng::new(seed)))).collect()
}

/// Tables of edges.
pub fn edges(_: &Bench) -> Vec<Seed> {
    (0..8).map(|seed| (format!("edges{seed}"), edge_table(&mut Rng::new(seed)))).collect()
}

/// The same tables as Arrow files.
pub fn arrow_tables(_: &Bench) -> Vec<Seed> {
    let table = |seed: u64| -> Option<Seed> {
        let batch = RecordBatch::try_from_iter(columns(&mut Rng::new(seed))).ok()?;
        let mut bytes = Vec::new();
        let mut writer = FileWriter::try_new(&mut bytes, &batch.schema()).ok()?;
        writer.write(&batch).and_then(|()| writer.finish()).ok()?;
        drop(writer);
        Some((format!("table{seed}"), bytes))
    };
    (0..8).filter_map(table).collect()
}

/// A table of random columns and perhaps labels, written with random properties.
pub fn table(rng: &mut Rng) -> Vec<u8> {
    let columns = columns(rng);
    write(rng, columns)
}

fn columns(rng: &mut Rng) -> Vec<(&'static str, ArrayRef)> {
    let n_rows = rng.below(12);
    let names = ["a", "b", "pick", "drop"];
    let mut columns: Vec<(&'static str, ArrayRef)> =
        names[..1 + rng.below(4)].iter().map(|name| (*name, numbers(rng, n_rows))).collect();
    if rng.one_in(2) {
        columns.push(("label", labels(rng, n_rows)));
    }
    columns
}

/// A table of edges, written with random properties.
pub fn edge_table(rng: &mut Rng) -> Vec<u8> {
    let n_rows = rng.below(12);
    let mut nodes = || -> ArrayRef {
        match rng.below(3) {
            0 => Arc::new((0..n_rows).map(|_| rng.below(6) as i32).collect::<Int32Array>()),
            1 => Arc::new((0..n_rows).map(|_| rng.below(6) as i64).collect::<Int64Array>()),
            _ => Arc::new((0..n_rows).map(|_| rng.below(6) as u16).collect::<UInt16Array>()),
        }
    };
    let mut columns = vec![("u", nodes()), ("v", nodes())];
    match rng.below(3) {
        0 => {}
        1 => columns.push(("weight", Arc::new((0..n_rows).map(|row| row as f32 / 2.0).collect::<Float32Array>()))),
        _ => columns.push(("weight", Arc::new((0..n_rows).map(|row| row as f64).collect::<Float64Array>()))),
    }
    write(rng, columns)
}

fn numbers(rng: &mut Rng, n_rows: usize) -> ArrayRef {
    let has_nulls = rng.one_in(3);
    let kind = rng.below(8);
    let mut values = || (0..n_rows).map(|_| Some(rng.below(9)).filter(|&x| !has_nulls || x > 2)).collect::<Vec<_>>();
    match kind {
        0 => Arc::new(values().into_iter().map(|x| x.map(|x| x as f32 / 3.0)).collect::<Float32Array>()),
        1 => Arc::new(values().into_iter().map(|x| x.map(|x| x as f64 / 3.0)).collect::<Float64Array>()),
        2 => Arc::new(values().into_iter().map(|x| x.map(|x| x as i8 - 4)).collect::<Int8Array>()),
        3 => Arc::new(values().into_iter().map(|x| x.map(|x| x as i32)).collect::<Int32Array>()),
        4 => Arc::new(values().into_iter().map(|x| x.map(|x| x as i64 - 4)).collect::<Int64Array>()),
        5 => Arc::new(values().into_iter().map(|x| x.map(|x| x as u64)).collect::<UInt64Array>()),
        6 => Arc::new(values().into_iter().map(|x| x.map(|x| x > 4)).collect::<BooleanArray>()),
        _ => Arc::new(values().into_iter().map(|x| x.map(|x| x as u16)).collect::<UInt16Array>()),
    }
}

fn labels(rng: &mut Rng, n_rows: usize) -> ArrayRef {
    let kind = rng.below(3);
    let texts: Vec<Option<&str>> = (0..n_rows).map(|_| rng.of(&[Some("x"), Some("y"), None, Some("-1")])).collect();
    match kind {
        0 => Arc::new(StringArray::from(texts)),
        1 => Arc::new(texts.into_iter().collect::<DictionaryArray<Int32Type>>()),
        _ => Arc::new((0..n_rows).map(|row| (row % 3 != 0).then_some(row as i64 % 2)).collect::<Int64Array>()),
    }
}

fn write(rng: &mut Rng, columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Ok(batch) = RecordBatch::try_from_iter(columns) else { return bytes };
    if let Ok(mut writer) = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties(rng))) {
        // Writing to memory does not fail.
        let _ = writer.write(&batch);
        let _ = writer.close();
    }
    bytes
}

fn properties(rng: &mut Rng) -> WriterProperties {
    let codec = rng.of(&[
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::LZ4_RAW,
        Compression::GZIP(Default::default()),
    ]);
    let has_dictionary = rng.one_in(2);
    let version = rng.of(&[WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]);
    let statistics = rng.of(&[EnabledStatistics::None, EnabledStatistics::Chunk, EnabledStatistics::Page]);
    let builder = WriterProperties::builder()
        .set_compression(codec)
        .set_dictionary_enabled(has_dictionary)
        .set_writer_version(version)
        .set_statistics_enabled(statistics)
        .set_data_page_row_count_limit(1 + rng.below(8))
        .set_write_batch_size(1 + rng.below(4))
        .set_max_row_group_row_count(Some(1 + rng.below(12)))
        .set_created_by("seed".into());
    match rng.below(3) {
        0 if !has_dictionary => builder.set_encoding(Encoding::PLAIN).build(),
        _ => builder.build(),
    }
}
