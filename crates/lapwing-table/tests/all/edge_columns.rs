//! Which columns of a list of edges are its ends and weights, what its first line is, which ids are names, and how many nodes it has.

use std::path::Path;

use crate::common::edges::records;
use crate::common::*;
use lapwing_core::{Csr, EdgeSource, Error};
use lapwing_table::read::{EdgeFile, EdgeOptions, NamedGraph, NodeOptions, read_graph, read_named_graph};

const ALONE: EdgeOptions =
    EdgeOptions { n_nodes: None, are_names: false, header: None, delimiter: None, decimal: None };

fn read_as(path: &Path, edges: EdgeOptions) -> Result<NamedGraph, Error> {
    let graph = read_named_graph(path, &NodeOptions { edges, ..NodeOptions::default() }, &run());
    let file = EdgeFile::open_with(path, &edges, &run());
    match (&graph, &file) {
        (Ok(graph), Ok(file)) => {
            assert_eq!(file.n_nodes(), graph.adjacency.n_rows(), "{path:?}");
            assert_eq!(file.names().map(|names| &**names), graph.names.as_ref(), "{path:?}");
            assert_eq!(file.warnings(), graph.warnings, "{path:?}");
        }
        (graph, file) => assert_eq!(graph.is_err(), file.is_err(), "{path:?}: {:?}", file.as_ref().err()),
    }
    graph
}

fn read(path: &Path) -> NamedGraph {
    read_as(path, ALONE).unwrap()
}

fn warnings(graph: &NamedGraph) -> String {
    graph.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn names(graph: &NamedGraph) -> Vec<&str> {
    graph.names.iter().flat_map(|names| names.iter()).collect()
}

/// Two paths of three edges each, of weight 0.5.
fn paths() -> Csr<f64> {
    let joined = [(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7)];
    let both: Vec<(u32, u32, f64)> = joined.into_iter().flat_map(|(u, v)| [(u, v, 0.5), (v, u, 0.5)]).collect();
    Csr::from_entries(8, 8, &both).unwrap()
}

/// The lines of these edges; `line` writes one of its number, its ends and its weight.
fn lines(header: &str, line: impl Fn(usize, usize) -> String) -> String {
    [0, 1, 2, 4, 5, 6].iter().enumerate().fold(format!("{header}\n"), |text, (at, &u)| text + &line(at, u) + "\n")
}

#[test]
fn columns_have_any_order_and_other_columns_beside_them() {
    let (folder, expected) = (Folder::new(), paths());
    type Line = fn(usize, usize) -> String;
    let layouts: [(&str, Line, &str); 9] = [
        ("source,target,weight", |_, u| format!("{u},{},0.5", u + 1), ""),
        (",source,target,weight", |at, u| format!("{at},{u},{},0.5", u + 1), "column 1 without a name is left out"),
        ("weight,source,target", |_, u| format!("0.5,{u},{}", u + 1), ""),
        ("source,weight,target", |_, u| format!("{u},0.5,{}", u + 1), ""),
        (",0,1,w", |at, u| format!("{at},{u},{},0.5", u + 1), "column 1 without a name is left out"),
        (
            "id,to,from,how much,kind",
            |at, u| format!("{at},{u},{},0.5,road", u + 1),
            "column 'how much' is taken for the weight",
        ),
        ("person,friend,trust", |_, u| format!("{u},{},0.5", u + 1), ""),
        ("value\tnode1\tnode2", |_, u| format!("0.5\t{u}\t{}", u + 1), ""),
        ("u;v;weight", |_, u| format!("{u};{};0,5", u + 1), ""),
    ];
    for (header, line, warning) in layouts {
        let graph = read(&folder.file("e.csv", lines(header, line)));
        assert_eq!(graph.adjacency, expected, "{header}");
        let text = warnings(&graph);
        assert!(text.is_empty() == warning.is_empty() && text.contains(warning), "{header}: {text}");
    }
    let spaced = read(&folder.file("e.txt", lines("", |_, u| format!("{u} {} 0.5", u + 1)).trim_start()));
    assert_eq!(spaced.adjacency, expected);
    let data: Vec<u8> = [0u32, 1, 2, 4, 5, 6]
        .iter()
        .flat_map(|u| [0.5f32.to_bits(), *u, u + 1].map(u32::to_le_bytes).concat())
        .collect();
    let array = records("[('weight', '<f4'), ('source', '<u4'), ('target', '<u4')]", 6, &data);
    assert_eq!(read(&folder.file("e.npy", &array)).adjacency, expected);
    assert_eq!(read_graph(&folder.file("e.npz", npz(&[("edges", array)])), None, &run()).unwrap(), expected);
}

/// A list is a table, in whatever format: text with comments and runs of blanks, JSON lines, columns of types.
#[test]
fn any_table_is_a_list() {
    use arrow_array::{ArrayRef, Float64Array, Int32Array, StringArray};
    use std::sync::Arc;
    let (folder, expected) = (Folder::new(), paths());
    let starts = [0usize, 1, 2, 4, 5, 6];
    let snap = lines("# Nodes: 8 Edges: 6\n# FromNodeId ToNodeId w", |_, u| {
        format!("  {u}   {}\t0.5", u + 1).replace('\t', "  ")
    });
    assert_eq!(read(&folder.file("snap.txt", &snap)).adjacency, expected);
    let json = |u: &usize| format!("{{\"weight\": 0.5, \"to\": {}, \"from\": {u}}}\n", u + 1);
    assert_eq!(read(&folder.file("e.jsonl", starts.iter().map(json).collect::<String>())).adjacency, expected);
    let named = |u: &usize| format!("{{\"source\": \"n{u}\", \"target\": \"n{}\"}}\n", u + 1);
    let graph = read(&folder.file("n.jsonl", starts.iter().map(named).collect::<String>()));
    assert_eq!((names(&graph).concat().as_str(), graph.adjacency.nnz()), ("n0n1n2n3n4n5n6n7", 12));
    let column =
        |shift: usize| Arc::new(Int32Array::from_iter_values(starts.iter().map(|&u| (u + shift) as i32))) as ArrayRef;
    let weights = Arc::new(Float64Array::from(vec![0.5; 6])) as ArrayRef;
    let columns = vec![("u", column(0)), ("v", column(1)), ("w", weights)];
    let batch = arrow_array::RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = arrow_ipc::writer::FileWriter::try_new(&mut bytes, &batch.schema()).unwrap();
    writer.write(&batch).and_then(|()| writer.finish()).unwrap();
    drop(writer);
    assert_eq!(read(&folder.file("e.arrow", bytes)).adjacency, expected);
    let texts = |shift: usize| {
        Arc::new(StringArray::from_iter_values(starts.iter().map(|u| format!("n{}", u + shift)))) as ArrayRef
    };
    let table = crate::common::edges::parquet(vec![("from", texts(0)), ("to", texts(1))]);
    assert_eq!(read(&folder.file("n.parquet", table)).adjacency.nnz(), 12);
}

#[test]
fn columns_that_may_be_anything_are_refused_or_named() {
    let folder = Folder::new();
    let error = |text: &str| read_as(&folder.file("e.csv", text), ALONE).unwrap_err().to_string();
    assert!(
        error("source,target,x,y\n0,1,2,3\n").contains("column 'x' and column 'y' may all be the weight; call one")
    );
    assert!(
        error("x,y,z\n0.5,0,1\n")
            .contains("column 'x' holds numbers with decimals, which are no ids of nodes; name the")
    );
    assert!(error("0.5,0,1\n1,1,2\n").contains("column 1 holds numbers with decimals"));
    assert!(
        error("p,q,r,s\n0,1,2,3\n").contains("4 columns; expected two nodes and perhaps a weight; name the columns")
    );
    assert!(error("0,1,x\n1,2,y\n").contains("line 1: weight 'x' is no number"));
    let noted = |text: &str| warnings(&read(&folder.file("e.csv", text)));
    assert!(noted("0,5,7\n1,3,4\n2,4,6\n").contains("the first column counts the lines"));
    assert!(noted("1,0,1\n1,1,2\n1,2,3\n").contains("the first column is the same in all lines"));
    assert!(noted("x,y,z\n3,5,7\n1,3,4\n").contains("column 'x' and column 'y' are taken for the ends"));
    assert_eq!(noted("0,1,1\n1,2,1\n2,3,1\n"), "");
    assert_eq!(noted("3,1,4\n1,2,7\n2,3,1\n"), "");
}

#[test]
fn first_lines_are_edges_unless_they_differ_from_the_others() {
    let folder = Folder::new();
    let of = |text: &str, header| {
        let graph = read_as(&folder.file("e.csv", text), EdgeOptions { header, ..ALONE }).unwrap();
        (graph.adjacency.nnz() / 2, names(&graph).join(" "), warnings(&graph))
    };
    let pairs = "a1,b1\na2,b2\na3,b3\n";
    for header in [None, Some(false)] {
        assert_eq!(of(pairs, header), (3, "a1 b1 a2 b2 a3 b3".into(), String::new()));
    }
    assert_eq!(of(pairs, Some(true)), (2, "a2 b2 a3 b3".into(), String::new()));
    let (n, nodes, warning) = of("buyer,seller\nann,bob\ncid,dan\n", None);
    assert_eq!((n, nodes.as_str()), (3, "buyer seller ann bob cid dan"));
    assert!(warning.contains("'buyer' and 'seller', is taken for an edge; if it names the columns, pass header"));
    assert_eq!(of("buyer,seller\nann,bob\ncid,dan\n", Some(true)).0, 2);
    assert_eq!(of("bob,seller\nann,bob\n", None), (2, "bob seller ann".into(), String::new()));
    let (n, _, warning) = of("paper,cites\np1,p2\np3,p4\n", None);
    assert!(n == 2 && warning.contains("is taken for a header; if it is an edge, pass no_header"), "{warning}");
    assert_eq!(of("from,to\nann,bob\n", None), (1, "ann bob".into(), String::new()));
    assert_eq!(of("from,to\nann,bob\n", Some(false)), (2, "from to ann bob".into(), String::new()));
}

#[test]
fn ids_that_are_no_canonical_numbers_make_all_ids_names() {
    let folder = Folder::new();
    for (text, expected) in [
        ("source,target\n7,1\n007,2\n1,3\n", vec!["7", "1", "007", "2", "3"]),
        ("source,target\n00701,02139\n02139,10001\n", vec!["00701", "02139", "10001"]),
        ("7,1\n+7,1\n", vec!["7", "1", "+7"]),
        ("7.0,1\n7,2\n", vec!["7.0", "1", "7", "2"]),
    ] {
        assert_eq!(names(&read(&folder.file("e.csv", text))), expected, "{text:?}");
    }
    // Far behind numbers too, and if a caller says so.
    let late: String = (0..20_000).map(|at| format!("{at},{}\n", at + 1)).chain(["08,0\n".into()]).collect();
    let path = folder.file("e.csv", &late);
    let named = read(&path);
    assert_eq!(names(&named).last(), Some(&"08"));
    assert!(warnings(&named).contains("all ids are names, since '08' in line 20001 is no number of a row"));
    let text = EdgeFile::open(&path, None, &run()).unwrap_err().to_string();
    assert!(
        text.contains("line 20001: node '08' is not written as a number of a row, 8; if nodes have names"),
        "{text}"
    );
    let counted = NodeOptions { edges: EdgeOptions { n_nodes: Some(30_000), ..ALONE }, ..NodeOptions::default() };
    let text = read_named_graph(&path, &counted, &run()).unwrap_err().to_string();
    assert!(text.contains("expected none: the nodes have names"), "{text}");
    let named = read_as(&folder.file("n.csv", "5,900000000\n"), EdgeOptions { are_names: true, ..ALONE }).unwrap();
    assert_eq!(names(&named), ["5", "900000000"]);
    let array = folder.file("n.npy", npy("<i8", "(1, 2)", &i64s(&[5, 900_000_000])));
    assert_eq!(names(&read_as(&array, EdgeOptions { are_names: true, ..ALONE }).unwrap()), ["5", "900000000"]);
}

/// Nodes that few edges do not explain are refused before memory for them is taken.
#[test]
fn far_nodes_are_asked_about() {
    let folder = Folder::new();
    let far = 100_000_000;
    let mut files = vec![
        (folder.file("e.csv", "0,100000000\n1,2\n"), "line 1"),
        (folder.file("h.csv", "source,target\n\n1,2\n0,100000000\n"), "line 4"),
        (folder.file("t.tsv", "0\t100000000\n1\t2\n"), "line 1"),
        (folder.file("s.txt", "1 2\n0 100000000\n"), "line 2"),
        (folder.file("p.npy", npy("<i8", "(2, 2)", &i64s(&[1, 2, 0, far]))), "row 1"),
        (folder.file("f.npy", npy("<f8", "(1, 3)", &f64s(&[0.0, far as f64, 1.0]))), "row 0"),
        (
            folder.file(
                "r.npy",
                records("[('u', '<u4'), ('v', '<u4')]", 1, &[0, far as u32].map(u32::to_le_bytes).concat()),
            ),
            "row 0",
        ),
    ];
    {
        use arrow_array::{ArrayRef, Int64Array};
        let column = |values: Vec<i64>| std::sync::Arc::new(Int64Array::from(values)) as ArrayRef;
        let table = crate::common::edges::parquet(vec![("u", column(vec![0, 1])), ("v", column(vec![far, 2]))]);
        files.push((folder.file("e.parquet", table), "row 0"));
    }
    let array = npy("<i8", "(1, 2)", &i64s(&[0, far]));
    let archive = folder.file("e.npz", npz(&[("edges", array)]));
    let says = "node 100000000 would make 100000001 nodes of only";
    assert!(read_graph(&archive, None, &run()).unwrap_err().to_string().contains(says));
    for (path, place) in files {
        let text = read_as(&path, ALONE).unwrap_err().to_string();
        assert!(text.contains(says) && text.contains(place), "{text}");
        assert!(text.contains("(nodes=100000001)") && text.contains("(nodes='names')"), "{text}");
        assert_eq!(names(&read_as(&path, EdgeOptions { are_names: true, ..ALONE }).unwrap()).len() % 2, 0);
        let file = EdgeFile::open(&path, Some(far as usize + 1), &run()).unwrap();
        assert_eq!(file.n_nodes(), far as usize + 1);
    }
    // As many nodes as the edges explain need no number.
    assert_eq!(read(&folder.file("e.csv", "0,100039\n1,2\n")).adjacency.n_rows(), 100_040);
    assert!(read_as(&folder.file("e.csv", "0,100040\n1,2\n"), ALONE).is_err());
    assert_eq!(
        read_as(&folder.file("e.csv", "0,200000\n"), EdgeOptions { n_nodes: Some(200_001), ..ALONE })
            .unwrap()
            .adjacency
            .n_rows(),
        200_001
    );
}
