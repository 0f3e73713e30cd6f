//! Names of rows and nodes: columns of ids, labels and edges that are found by names.

use std::path::Path;
use std::sync::Arc;

use crate::common::*;
use lapwing_core::{ClassNames, Edge, EdgeSource, Error, Labels, Named, RowNames, RowSource, UNLABELED, Warning};
use lapwing_table::read::{
    EdgeFile, EdgeOptions, LabelFileOptions, NamedLabels, NodeOptions, ReadOptions, column_names, read_graph,
    read_label_file, read_named_graph, read_names,
};
use lapwing_table::write::{LabelColumns, LabelWriter, LabeledRows, write_graph};
use lapwing_table::{RowFile, probe, read_samples};

fn by_id() -> ReadOptions {
    ReadOptions { id: Some("id".into()), ..ReadOptions::default() }
}

fn names(list: &[&str]) -> RowNames {
    RowNames::of_rows("id", list).unwrap()
}

fn text_of<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}

/// Edges among `n_nodes` nodes, which may have names.
fn open_edges(path: &Path, n_nodes: Option<usize>) -> Result<EdgeFile, Error> {
    EdgeFile::open_with(path, &EdgeOptions { n_nodes, ..EdgeOptions::default() }, &run())
}

/// All edges of a stream, read `most` rows at a time.
fn edges_of(file: &EdgeFile, most: usize) -> Vec<Edge> {
    let (mut reader, mut edges) = (file.open(&run()).unwrap(), Vec::new());
    loop {
        let before = edges.len();
        reader.read(most, &mut edges, &run()).unwrap();
        if edges.len() == before {
            return edges;
        }
    }
}

#[test]
fn a_column_of_ids_is_no_feature() {
    let folder = Folder::new();
    let path = folder.file("t.csv", "x,id,y\n1,b 7,2\n3, a ,4\n\n5,\"c, d\",6\n");
    let samples = read_samples(&path, &by_id(), &run()).unwrap();
    assert_eq!(samples.feature_names.unwrap(), ["x", "y"]);
    let names = samples.names.unwrap();
    assert_eq!(names.iter().collect::<Vec<_>>(), ["b 7", "a", "c, d"]);
    assert_eq!((names.column(), names.named(), names.are_integers()), ("id", Named::Rows, false));
    assert_eq!(read_names(&path, &by_id(), &run()).unwrap(), names);
    assert_eq!(RowFile::open(&path, &by_id(), &run()).unwrap().n_cols(), 2);
    assert_eq!(probe(&path, &by_id()).unwrap().n_cols, 2);
    assert_eq!(column_names(&path).unwrap().unwrap(), ["x", "id", "y"]);
    assert!(column_names(&folder.file("x.npy", npy("<f8", "(1, 1)", &f64s(&[1.0])))).unwrap().is_none());
    let columns = |columns: &[&str], id: &str, label: Option<&str>| {
        let columns = Some(columns.iter().map(|name| name.to_string()).collect());
        let options = ReadOptions { columns, label_column: label.map(str::to_owned), ..by_id() };
        text_of(read_samples(&path, &ReadOptions { id: Some(id.into()), ..options }, &run()))
    };
    assert!(columns(&["x", "id"], "id", None).contains("expected a column that is no feature"));
    assert!(columns(&["x"], "id", Some("id")).contains("another column than that of the labels"));
    assert!(columns(&["x"], "ix", None).contains("did you mean"));
}

#[test]
fn ids_that_cannot_be_used_are_counted() {
    let folder = Folder::new();
    let text = |content: &[u8]| text_of(read_names(&folder.file("t.csv", content), &by_id(), &run()));
    let expected = "t.csv: 1 row has no id (line 5); 2 rows repeat an id of the column 'id' ('a' in line 2 and line 4, 'a' in line 2 \
                    and line 7); give every row an id of its own";
    assert!(
        text(b"id,x\na,1\nb,1\na,1\n,1\n\na,1\n").contains(expected),
        "{}",
        text(b"id,x\na,1\nb,1\na,1\n,1\n\na,1\n")
    );
    assert!(text(b"id,x\n").ends_with("no rows after the header"));
    assert!(
        text_of(read_names(&folder.file("x.npy", b"\x93NUMPY"), &by_id(), &run()))
            .contains("since ids are a column of one")
    );
    let not_given = text_of(read_names(Path::new("t.csv"), &ReadOptions::default(), &run()));
    assert!(not_given.contains("id column is not given"));
    assert!(text_of(read_samples(Path::new("-"), &by_id(), &run())).contains("only once"));
    let path = folder.file("t.csv", "id,x\na,1\n");
    assert!(matches!(read_names(&path, &by_id(), &canceled()), Err(Error::Interrupted)));
}

fn read_named_labels(path: &Path, names: &RowNames, ignore_unknown: bool) -> Result<NamedLabels, Error> {
    read_label_file(path, names.len(), Some(names), &LabelFileOptions { ignore_unknown, ..LabelFileOptions::default() })
}

#[test]
fn labels_are_found_by_name() {
    let folder = Folder::new();
    let rows = names(&["ann", "bob", "cleo", "dan"]);
    let read = |content: &str| read_named_labels(&folder.file("y.csv", content), &rows, false);
    let index = |content: &str| Labels::from(read(content).unwrap().labels).index;
    let expected = [UNLABELED, 0, 1, UNLABELED];
    for content in [
        "id,label\nbob,ham\ncleo,spam\n",
        "label,score,id\nham,1,bob\nspam,2,cleo\n\n",
        "who,what\ncleo,spam\nbob,ham\ndan,\n",
        "cleo,spam\nbob,ham\n",
        "id\tlabel\nbob\tham\ncleo\tspam\n",
        "cleo\tspam\nbob\tham\r\n",
        "id,label\nbob,ham\ncleo,spam\nbob, ham \n",
        "\nham\nspam\n\n",
    ] {
        assert_eq!(index(content), expected, "{content:?}");
    }
    let text = |content: &str| text_of(read(content));
    assert!(text("id,label\nbob\n").contains("line 2: 1 field; the lines before have 2"));
    assert!(
        text("a,b,c\n")
            .contains("line 1: 3 columns; expected a column 'id' of ids and a column 'label', or two columns")
    );
    assert!(text("ham\nspam\n").contains("2 labels; expected 4 labels"));
    assert!(text("").ends_with("the file is empty"));
    let nodes = read_named_graph(&folder.file("e.csv", "ann,bob,1\n"), &NodeOptions::default(), &run()).unwrap();
    let in_order = read_named_labels(&folder.file("y.csv", "a\nb\n"), &nodes.names.unwrap(), false);
    assert!(text_of(in_order).contains("give text with a column of nodes and a column of labels"));
}

#[test]
fn all_faults_of_a_labels_file_are_told_at_once() {
    let folder = Folder::new();
    let rows = names(&["ann", "bob"]);
    let path = folder.file("y.csv", "id,label\nzoe,a\nbob,a\nbob,b\nbob,a\nyan,\n");
    let expected = "y.csv: 2 of 5 ids are no ids of the column 'id' of the data ('zoe' in line 2, 'yan' in line 6); 1 line gives a \
                    second label to ids that have another ('bob' is 'a' in line 3 and 'b' in line 4); 5 labels for 2 rows; \
                    correct these lines, or leave the unknown ones out: ignore_unknown";
    let text = text_of(read_named_labels(&path, &rows, false));
    assert!(text.ends_with(expected), "{text}");
    let path = folder.file("y.csv", "id,label\nzoe,a\nbob,a\nbob,a\n");
    let found = read_named_labels(&path, &rows, true).unwrap();
    assert!(matches!(found.warnings[..], [Warning::UnknownLabels { n_labels: 1, .. }]));
    assert_eq!(found.labels.rows, [1]);
}

#[test]
fn nodes_with_names_are_numbered_as_they_appear() {
    let folder = Folder::new();
    let run = run();
    let read = |name: &str, content: &str| {
        read_named_graph(&folder.file(name, content), &NodeOptions::default(), &run).unwrap()
    };
    let numbers = read_graph(&folder.file("n.csv", "0,1,0.5\n1,2,2\n0,2,1\n"), None, &run).unwrap();
    for content in [
        "alice,bob,0.5\nbob,carol,2\nalice,carol,1\n",
        "from,to,weight\nalice,bob,0.5\nbob,carol,2\nalice,carol,1\n",
        " alice , bob ,0.5\r\nbob,carol,2\r\n\r\nalice,\"carol\",1\r\n",
        "0,bob,0.5\nbob,2.5,2\n0,2.5,1\n",
        "alice,bob,0.5\nbob,alice,0.5\nbob,carol,2\nalice,carol,1\n",
    ] {
        let graph = read("e.csv", content);
        assert_eq!(graph.adjacency, numbers, "{content:?}");
        let file = open_edges(&folder.file("e.csv", content), None).unwrap();
        assert_eq!(file.names().map(|names| &**names), graph.names.as_ref(), "{content:?}");
        for most in [1, 2, 9] {
            let edges = edges_of(&file, most);
            assert_eq!(Some(edges.len() as u64), file.n_edges());
            assert_eq!(edges[0], Edge { u: 0, v: 1, weight: 0.5 });
        }
    }
    // Without weights, two names in the first line are an edge if one of them comes again, else a header.
    let list = |content: &str| read("e.csv", content).names.unwrap().iter().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(list("alice,bob\nbob,carol\n"), ["alice", "bob", "carol"]);
    assert_eq!(list("u,v\nbob,carol\ncarol,dan\n"), ["bob", "carol", "dan"]);
    assert_eq!(list("u,v\nv,w\n"), ["u", "v", "w"]);
    let file = open_edges(&folder.file("e.csv", "u,v\nbob,carol\nbob,bob\n"), None).unwrap();
    assert_eq!((file.n_nodes(), file.n_edges(), edges_of(&file, 9).len()), (2, Some(2), 2));
    // Integers are numbers of nodes as ever.
    let graph = read("n.csv", "u,v\n0,3\n");
    assert!(graph.names.is_none() && graph.adjacency.n_rows() == 4);
    assert!(open_edges(&folder.file("n.csv", "u,v\n0,3\n"), None).unwrap().names().is_none());
}

#[test]
fn edges_with_wrong_names() {
    let folder = Folder::new();
    let run = run();
    let read =
        |content: &str, options: NodeOptions<'_>| read_named_graph(&folder.file("e.csv", content), &options, &run);
    let alone = |content: &str| text_of(read(content, NodeOptions::default()));
    assert!(alone("alice,bob,1\n,bob,1\n").contains("line 2: a node has no name"));
    assert!(alone("alice,bob,1\nbob,carol,-1\n").contains("line 2: weight -1; weights must be finite"));
    assert!(alone("alice,bob,-1\n").contains("line 1: weight -1"));
    assert!(alone("alice,bob,1\nbob,carol,heavy\n").contains("line 2: weight 'heavy' is no number"));
    assert!(
        alone("alice,bob,1\nbob,alice,2\n")
            .contains("the weight from 'alice' to 'bob' is 1, from 'bob' to 'alice' it is 2")
    );
    // Beside rows.
    let without = read("alice,bob,1\n", NodeOptions { n_nodes: Some(2), ..NodeOptions::default() });
    assert!(text_of(without).contains("give the column that names the rows: id='COLUMN'"));
    let rows = names(&["7", "alice", "12"]);
    let beside = |ignore_unknown| NodeOptions { names: Some(&rows), ignore_unknown, ..NodeOptions::default() };
    let text = text_of(read("u,v\nalice,7\nzoe,12\nyan,zoe\n", beside(false)));
    let expected = "2 nodes, in 2 of 3 edges, are no ids of the column 'id' of the data ('zoe' in line 3, 'yan' in line 4); correct \
                    these names, or leave the unknown ones out: ignore_unknown";
    assert!(text.ends_with(expected), "{text}");
    let kept = read("u,v\nalice,7\nzoe,12\nyan,zoe\n", beside(true)).unwrap();
    assert!(matches!(kept.warnings[..], [Warning::UnknownNodes { n_nodes: 2, n_edges: 2, .. }]));
    assert_eq!(kept.adjacency.nnz(), 2);
    // Numbers are names, in text and in arrays; a first line of two ids is an edge.
    for file in [folder.file("i.csv", "7,12\n"), folder.file("i.npy", npy("<i8", "(1, 2)", &i64s(&[7, 12])))] {
        let graph = read_named_graph(&file, &beside(false), &run).unwrap().adjacency;
        assert_eq!(graph.indices(), [2, 0]);
    }
    assert_eq!(read("alice,7\n12,7\n", beside(false)).unwrap().adjacency.nnz(), 4);
    let matrix = folder.path("m.npz");
    write_graph(&matrix, &read_graph(&folder.file("n.csv", "0,1\n1,2\n"), None, &run).unwrap()).unwrap();
    assert_eq!(read_named_graph(&matrix, &beside(false), &run).unwrap().adjacency.nnz(), 4);
    let counted = open_edges(&folder.file("e.csv", "alice,bob,1\n"), Some(2));
    assert!(text_of(counted).contains("none: the nodes have names, which are counted"));
}

#[test]
fn names_stand_in_the_place_of_row_numbers() {
    let folder = Folder::new();
    let classes = ClassNames::Integers(vec![3, 8]);
    let rows = Arc::new(names(&["a,b", "c \"d\"", "e"]));
    let block = |labels| LabeledRows {
        classes: &classes,
        labels,
        confidence: &[0.5, 1.0, f64::NAN][..],
        reached: &[true, true, false],
        certified: None,
        probabilities: None,
    };
    let path = folder.path("o.csv");
    let mut writer = LabelWriter::create_named(&path, &classes, rows.clone(), LabelColumns::default()).unwrap();
    writer.write(0, &block(&[Some(1), Some(0), None])).unwrap();
    writer.finish().unwrap();
    let expected = "id,label,confidence,reached\n\"a,b\",8,0.5,true\n\"c \"\"d\"\"\",3,1.0,true\ne,,,false\n";
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
    assert_eq!(read_names(&path, &by_id(), &run()).unwrap(), *rows);
    let taken = Arc::new(RowNames::of_rows("label", ["a"]).unwrap());
    let error = LabelWriter::create_named(&path, &classes, taken, LabelColumns::default());
    assert!(text_of(error).contains("the table of labels has a column of this one"));
}

#[test]
fn columns_of_parquet_tables_have_names() {
    use crate::common::edges::parquet;
    use arrow_array::{ArrayRef, Float64Array, Int32Array, StringArray};

    let folder = Folder::new();
    let run = run();
    let texts = |texts: Vec<Option<&str>>| -> ArrayRef { Arc::new(StringArray::from(texts)) };
    let x: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0]));
    let table = |id: ArrayRef| folder.file("t.parquet", parquet(vec![("id", id), ("x", x.clone())]));
    let path = table(texts(vec![Some("a"), Some(" b"), Some("c")]));
    let samples = read_samples(&path, &by_id(), &run).unwrap();
    assert_eq!(
        (samples.names.unwrap(), samples.feature_names.unwrap()),
        (names(&["a", "b", "c"]), vec!["x".to_owned()])
    );
    let integers = table(Arc::new(Int32Array::from(vec![7, -2, 30])));
    let ids = Arc::new(read_names(&integers, &by_id(), &run).unwrap());
    assert!(ids.are_integers() && *ids == names(&["7", "-2", "30"]));
    let text = |id: ArrayRef| text_of(read_names(&table(id), &by_id(), &run));
    assert!(
        text(Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0]))).contains("holds Float64; ids are integers or text")
    );
    let error = text(texts(vec![Some("a"), None, Some("a")]));
    assert!(
        error.contains("1 row has no id (row 1); 1 row repeats an id of the column 'id' ('a' in row 0 and row 2)"),
        "{error}"
    );

    // Integer ids are written as integers, others as text.
    let classes = ClassNames::Integers(vec![3]);
    let out = folder.path("o.parquet");
    let mut writer = LabelWriter::create_named(&out, &classes, ids.clone(), LabelColumns::default()).unwrap();
    let (labels, confidence, reached) = (&[Some(0); 3][..], &[1.0; 3][..], &[true; 3][..]);
    let rows = LabeledRows { classes: &classes, labels, confidence, reached, certified: None, probabilities: None };
    writer.write(0, &rows).unwrap();
    writer.finish().unwrap();
    assert_eq!(read_names(&out, &by_id(), &run).unwrap(), *ids);
    let columns = Some(vec!["id".to_owned()]);
    assert!(read_samples(&out, &ReadOptions { columns, ..ReadOptions::default() }, &run).is_ok(), "ids are numbers");
}

#[test]
fn edges_of_parquet_tables_have_names() {
    use crate::common::edges::parquet;
    use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray};
    use lapwing_table::write::stage_named_graph;

    let folder = Folder::new();
    let run = run();
    let texts = |texts: Vec<Option<&str>>| -> ArrayRef { Arc::new(StringArray::from(texts)) };
    let x: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0]));
    let (u, v) = (texts(vec![Some("b"), Some("a"), Some("c")]), texts(vec![Some("a"), Some("c"), Some("c")]));
    let edges = folder.file("e.parquet", parquet(vec![("u", u), ("v", v), ("w", x.clone())]));
    let graph = read_named_graph(&edges, &NodeOptions::default(), &run).unwrap();
    let nodes = graph.names.unwrap();
    assert_eq!(nodes.iter().collect::<Vec<_>>(), ["b", "a", "c"]);
    let file = open_edges(&edges, None).unwrap();
    assert_eq!((edges_of(&file, 2)[1], file.n_edges()), (Edge { u: 1, v: 2, weight: 2.0 }, Some(3)));
    for name in ["again.parquet", "again.csv"] {
        let path = folder.path(name);
        stage_named_graph(&path, &graph.adjacency, Some(&nodes), &run).unwrap().publish().unwrap();
        let again = read_named_graph(&path, &NodeOptions::default(), &run).unwrap();
        assert_eq!((again.adjacency, again.names.as_ref()), (graph.adjacency.clone(), Some(&nodes)), "{name}");
    }
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![7, 30, -2]));
    let path = folder.file("e.parquet", parquet(vec![("u", numbers.clone()), ("v", numbers)]));
    let ids = names(&["7", "-2", "30"]);
    let options = NodeOptions { names: Some(&ids), ..NodeOptions::default() };
    assert!(read_named_graph(&path, &options, &run).unwrap().warnings.is_empty());
}

#[cfg(unix)]
#[test]
fn names_come_from_pipes_that_are_read_once() {
    let folder = Folder::new();
    let piped = |name: &str, content: &'static str| {
        let path = folder.pipe(name);
        let target = path.clone();
        // A reader that fails early leaves the writer alone.
        std::thread::spawn(move || std::fs::write(target, content));
        path
    };
    for (name, content, expected) in [
        ("a.csv", "alice,bob\nbob,carol\n", Some(vec!["alice", "bob", "carol"])),
        ("b.csv", "from,to\nbob,carol\n", Some(vec!["bob", "carol"])),
        ("c.csv", "u,v,w\nbob,carol,1\n", Some(vec!["bob", "carol"])),
        ("d.csv", "u,v\n0,1\n1,2\n", None),
        ("e.csv", "0,1\n1,2\n", None),
    ] {
        let graph = read_named_graph(&piped(name, content), &NodeOptions::default(), &run()).unwrap();
        let names = graph.names.as_ref().map(|names| names.iter().collect::<Vec<_>>());
        assert_eq!(names, expected, "{content:?}");
        assert_eq!(graph.adjacency.nnz(), 2 * (graph.adjacency.n_rows() - 1), "{content:?}");
    }
    let twice = open_edges(&piped("f.csv", "bob,carol,1\n"), Some(2));
    assert!(text_of(twice).contains("nodes with names are read twice"));
    let file = open_edges(&piped("g.csv", "u,v\n0,1\n1,2\n"), Some(3)).unwrap();
    assert_eq!(edges_of_once(&file), 2);
}

/// The number of edges of a stream that can be read once.
fn edges_of_once(file: &EdgeFile) -> usize {
    let (mut reader, mut edges) = (file.open(&run()).unwrap(), Vec::new());
    reader.read(9, &mut edges, &run()).unwrap();
    edges.len()
}
