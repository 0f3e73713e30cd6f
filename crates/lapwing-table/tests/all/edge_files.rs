//! Files of edges read in blocks.

use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::common::edges::{edges, files, read, records, rest};
use crate::common::*;
use lapwing_core::{Edge, EdgeSource, Error, Progress};
use lapwing_table::read::{EdgeFile, read_graph};

/// Holds every way of reading a file against `expected`.
fn check(path: &Path, expected: &[Edge]) {
    let name = path.display();
    let scanned = EdgeFile::open(path, None, &run()).unwrap();
    assert_eq!((scanned.n_nodes(), scanned.n_edges()), (300, Some(expected.len() as u64)), "{name}");
    let given = EdgeFile::open(path, Some(400), &run()).unwrap();
    let is_text = path.to_string_lossy().contains(".csv");
    assert_eq!((given.n_nodes(), given.n_edges().is_none()), (400, is_text), "{name}");
    assert!(given.is_rereadable());
    for most in [1, 2, 7, usize::MAX] {
        assert_eq!(read(&given, most, 0).unwrap(), expected, "{name}");
        for skip in [1, 5, expected.len() as u64 - 1] {
            assert_eq!(read(&given, most, skip).unwrap(), expected[skip as usize..], "{name} from {skip}");
        }
        assert!(read(&given, most, expected.len() as u64).unwrap().is_empty());
        assert!(read(&given, most, u64::MAX).unwrap().is_empty());
    }
    // In the midst of a block, and twice in a row.
    let mut reader = given.open(&run()).unwrap();
    let mut out = Vec::new();
    reader.read(3, &mut out, &run()).unwrap();
    reader.skip(10, &run()).unwrap();
    reader.skip(1, &run()).unwrap();
    assert_eq!(rest(&mut *reader, 5).unwrap(), expected[out.len() + 11..], "{name}");
}

#[test]
fn every_format_gives_the_same_edges() {
    let (folder, edges) = (Folder::new(), edges());
    for (name, bytes) in files(&edges) {
        check(&folder.file(name, bytes), &edges);
    }
}

#[test]
fn lists_without_weights_have_weight_one() {
    let folder = Folder::new();
    let edges: Vec<Edge> = edges().into_iter().map(|edge| Edge { weight: 1.0, ..edge }).collect();
    let shape = format!("({}, 2)", edges.len());
    let nodes: Vec<u8> = edges.iter().flat_map(|e| [e.u.to_le_bytes(), e.v.to_le_bytes()].concat()).collect();
    check(&folder.file("a.npy", npy("<u4", &shape, &nodes)), &edges);
    check(&folder.file("b.npy", npy("<i4", &shape, &nodes)), &edges);
    check(&folder.file("c.npy", records("[('u', '<u4'), ('v', '<u4')]", edges.len(), &nodes)), &edges);
    let lines: String = edges.iter().map(|e| format!("{},\"{}\"\r\n", e.u, e.v)).collect();
    check(&folder.file("a.csv", lines), &edges);
}

#[test]
fn arrays_longer_than_a_block_are_read_whole() {
    let folder = Folder::new();
    let edges: Vec<Edge> = (0..70_000u32).map(|at| Edge { u: at, v: at / 2, weight: f64::from(at) }).collect();
    for (name, bytes) in files(&edges).into_iter().filter(|(name, _)| !matches!(*name, "padded.npy")) {
        let file = EdgeFile::open(&folder.file(name, bytes), None, &run()).unwrap();
        assert_eq!(file.n_nodes(), 70_000);
        for (most, skip) in [(usize::MAX, 0), (30_000, 1), (1000, 65_000)] {
            assert_eq!(read(&file, most, skip).unwrap(), edges[skip as usize..], "{name}");
        }
    }
}

#[test]
fn a_matrix_can_be_made_of_records() {
    let folder = Folder::new();
    let data = [0, 1, 2, 1].map(u32::to_le_bytes).concat();
    let array = records("[('u', '<u4'), ('v', '<u4')]", 2, &data);
    let graph = read_graph(&folder.file("e.npy", &array), None, &run()).unwrap();
    assert_eq!((graph.n_rows(), graph.nnz()), (3, 4));
    assert_eq!(read_graph(&folder.file("e.npz", npz(&[("edges", array)])), None, &run()).unwrap(), graph);
}

mod tables {
    use std::io::Write;

    use crate::common::edges::{parquet, text};
    use arrow_array::{ArrayRef, Float32Array, Int64Array, UInt32Array};
    use lapwing_core::Csr;
    use lapwing_table::write::write_graph;

    use super::*;

    #[test]
    fn parquet_and_compressed_text_give_the_same_edges() {
        let (folder, edges) = (Folder::new(), edges());
        let column = |node: fn(&Edge) -> u32| edges.iter().map(node);
        let u = || Arc::new(UInt32Array::from_iter_values(column(|e| e.u))) as ArrayRef;
        let v = Arc::new(Int64Array::from_iter_values(column(|e| e.v).map(i64::from)));
        let weight = Arc::new(Float32Array::from_iter_values(edges.iter().map(|e| e.weight as f32)));
        let bytes = parquet(vec![("u", u()), ("v", v), ("weight", weight), ("__index_level_0__", u())]);
        check(&folder.file("e.parquet", bytes), &edges);
        let text = text(&edges, "u,v,w\n");
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        check(&folder.file("e.csv.gz", gzip.finish().unwrap()), &edges);
        check(&folder.file("e.csv.zst", zstd::encode_all(text.as_bytes(), 1).unwrap()), &edges);
    }

    #[test]
    fn written_graphs_are_streams() {
        let folder = Folder::new();
        let graph = Csr::from_entries(4, 4, &[(0, 3, 0.5), (3, 0, 0.5), (1, 2, 2.0), (2, 1, 2.0)]).unwrap();
        for ending in ["npy", "csv", "parquet"] {
            let path = folder.path(&format!("g.{ending}"));
            write_graph(&path, &graph).unwrap();
            assert_eq!(read(&EdgeFile::open(&path, None, &run()).unwrap(), 1, 0).unwrap().len(), 2);
        }
    }
}

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Progress for Heard {
    fn start(&self, phase: &str, total: u64) {
        self.0.lock().unwrap().push(format!("start {phase} {total}"));
    }
    fn update(&self, done: u64, note: &str) {
        self.0.lock().unwrap().push(format!("{done} {note}"));
    }
    fn finish(&self) {
        self.0.lock().unwrap().push("finish".into());
    }
}

#[test]
fn scans_are_heard_and_can_be_stopped() {
    let folder = Folder::new();
    let path = folder.file("e.npy", npy("<i8", "(2, 2)", &i64s(&[0, 1, 1, 2])));
    let heard = Arc::new(Heard::default());
    EdgeFile::open(&path, None, &run().with_progress(heard.clone())).unwrap();
    assert_eq!(*heard.0.lock().unwrap(), ["start scan 2", "2 rows", "finish"]);
    let stopped = canceled();
    for path in [path, folder.file("e.csv", "0,1\n")] {
        assert!(matches!(EdgeFile::open(&path, None, &stopped), Err(Error::Interrupted)));
        assert!(EdgeFile::open(&path, Some(3), &stopped).is_ok());
    }
}

#[cfg(unix)]
#[test]
fn pipes_are_read_once() {
    let folder = Folder::new();
    let path = folder.pipe("pipe.csv");
    let unknown = EdgeFile::open(&path, None, &run()).unwrap_err().to_string();
    assert!(unknown.starts_with("number of nodes is not given; expected one, since a pipe"), "{unknown}");
    let end = path.clone();
    let writer = std::thread::spawn(move || std::fs::write(end, "u,v\n0,1\n1,2\n"));
    let file = EdgeFile::open(&path, Some(3), &run()).unwrap();
    assert_eq!((file.is_rereadable(), file.n_edges()), (false, None));
    assert_eq!(read(&file, 1, 1).unwrap(), [Edge { u: 1, v: 2, weight: 1.0 }]);
    writer.join().unwrap().unwrap();
    let error = read(&file, 1, 0).unwrap_err();
    assert!(error.to_string().contains("standard input can be read only once"), "{error}");
}

/// Runs itself again with edges on standard input.
#[test]
fn standard_input_is_read_once() {
    const MARK: &str = "LAPWING_TEST_READS_STANDARD_INPUT";
    if std::env::var_os(MARK).is_none() {
        let folder = Folder::new();
        let input = std::fs::File::open(folder.file("e.csv", "0,1\n1,2\n")).unwrap();
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let status = again.args(["--exact", "standard_input_is_read_once"]).env(MARK, "1").stdin(input).status();
        assert!(status.unwrap().success());
        return;
    }
    let file = EdgeFile::open(Path::new("-"), Some(3), &run()).unwrap();
    assert!(!file.is_rereadable());
    assert_eq!(read(&file, 1, 0).unwrap(), [(0, 1), (1, 2)].map(|(u, v)| Edge { u, v, weight: 1.0 }));
    assert!(read(&file, 1, 0).unwrap_err().to_string().ends_with("standard input can be read only once"));
}
