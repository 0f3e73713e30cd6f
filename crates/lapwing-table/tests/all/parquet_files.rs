//! Parquet: in every compression, and in folders whose names are cells.

use lapwing_table::read::ReadOptions;
use lapwing_table::read_samples;

use crate::common::{Folder, run, values};
use crate::formats::table_of;

#[test]
fn parquet_in_folders_of_keys_is_read_by_keys_alone() {
    use std::sync::Arc;
    let folder = Folder::new();
    for key in ["a", "b"] {
        std::fs::create_dir_all(folder.path(&format!("p/kind={key}"))).unwrap();
        let schema =
            arrow_schema::Schema::new(vec![arrow_schema::Field::new("x", arrow_schema::DataType::Int64, false)]);
        let numbers = Arc::new(arrow_array::Int64Array::from(vec![1, 2]));
        let batch = arrow_array::RecordBatch::try_new(Arc::new(schema), vec![numbers]).unwrap();
        let file = std::fs::File::create(folder.path(&format!("p/kind={key}/0.parquet"))).unwrap();
        let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }
    assert_eq!(table_of(&folder.path("p"), &ReadOptions::default()).1, "1.0,a\n2.0,a\n1.0,b\n2.0,b\n");
    // Labels of rows may be a key.
    let options = ReadOptions { label_column: Some("kind".into()), ..ReadOptions::default() };
    let read = read_samples(&folder.path("p"), &options, &run()).unwrap();
    assert_eq!(read.labels.unwrap().index, [0, 0, 1, 1]);
}

#[test]
fn parquet_is_read_in_every_compression() {
    use parquet::basic::Compression;
    let folder = Folder::new();
    let x = arrow_array::Float64Array::from_iter_values((0..1000).map(|x| f64::from(x % 10)));
    let columns: Vec<(&str, arrow_array::ArrayRef)> = vec![("x", std::sync::Arc::new(x))];
    let batch = arrow_array::RecordBatch::try_from_iter(columns).unwrap();
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
        Compression::ZSTD(Default::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
    ];
    for codec in codecs {
        let properties = parquet::file::properties::WriterProperties::builder().set_compression(codec).build();
        let mut writer = parquet::arrow::ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        let path = folder.file("t.parquet", writer.into_inner().unwrap());
        let samples = read_samples(&path, &ReadOptions::default(), &run()).unwrap();
        assert_eq!(values(&samples.features), (0..1000).map(|x| f64::from(x % 10)).collect::<Vec<_>>(), "{codec}");
    }
}
