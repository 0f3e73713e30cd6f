//! Input that once was read wrongly without a word: what the program says about it now.

use crate::common::{Folder, assert_says, clouds, npy};

const LABEL: &str = "--label-column kind -o out.csv";

#[test]
fn an_open_quote_names_its_line() {
    let folder = Folder::new();
    let table: String = clouds(60, 3).lines().enumerate().fold(String::new(), |text, (at, line)| match at {
        21 => text + line + "\"r\n",
        _ => text + line + "\n",
    });
    assert!(table.contains(",\"r\n"));
    folder.write("in.csv", &table);
    assert_says(
        &folder.error(&format!("label in.csv {LABEL}")),
        &["in.csv, line 22", "the quote that opens before 'r"],
    );
    let low_rank = folder.error(&format!("label in.csv {LABEL} --method low-rank"));
    assert_says(&low_rank, &["in.csv, line 22", "quote"]);
    folder.write("known.csv", "0,alder\r\n1,\"birch\r\n2,cedar\r\n");
    folder.write("x.npy", npy(60, 2, (0..120).map(|i| i as f32)));
    assert_says(&folder.error("label x.npy --labels known.csv -o out.csv"), &["known.csv, line 2", "quote"]);
    folder.write("edges.csv", "u,v\n0,1\n1,\"2\n2,3\n");
    assert_says(&folder.error("sparsify edges.csv -o out.npy"), &["edges.csv, line 3", "quote"]);
}

#[test]
fn all_columns_that_are_no_numbers_are_named_with_what_to_paste() {
    let folder = Folder::new();
    let mut lines = clouds(60, 2).lines().map(str::to_owned).collect::<Vec<_>>().into_iter();
    let head = lines.next().unwrap();
    let rows: String = lines.enumerate().map(|(row, line)| format!("r{row},{line},2024-01-{row}\r\n")).collect();
    folder.write("in.csv", format!("id,{head},date\r\n{rows}"));
    for method in ["harmonic", "low-rank"] {
        let message = folder.error(&format!("label in.csv {LABEL} --prepare none --method {method}"));
        let first = "'id' (60 of 60 rows, first 'r0' in line 2), 'date' (60 of 60 rows, first '2024-01-0' in line 2)";
        assert_says(&message, &["in.csv: 2 columns", first]);
        let paste = message.rsplit_once(": ").unwrap().1;
        assert_eq!(paste, "--drop id,date");
        folder.ok(&format!("label in.csv {LABEL} --prepare none --method {method} {paste} -q"));
        std::fs::remove_file(folder.path("out.csv")).unwrap();
    }
    // Names with commas, spaces and quotes.
    folder.write("odd.csv", format!("\"size, cm\",{head},it's\r\n{rows}"));
    let message = folder.error(&format!("label odd.csv {LABEL} --prepare none"));
    assert_says(&message, &[r#": --drop '"size, cm",it'\''s'"#]);
    let ran = folder
        .command(&format!("label odd.csv {LABEL} --prepare none -q --drop"))
        .arg("\"size, cm\",it's")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
}

#[test]
fn missing_values_are_named_by_file_line_and_column() {
    let folder = Folder::new();
    let mut lines: Vec<String> = clouds(60, 2).lines().map(str::to_owned).collect();
    lines[18] = "NaN,0.5,".into();
    lines[40] = ",0.5,".into();
    lines[41] = "1,inf,".into();
    folder.write("in.csv", lines.join("\r\n") + "\r\n");
    for options in ["", "--standardize", "--method low-rank", "--method lapsvm"] {
        let message = folder.error(&format!("label in.csv {LABEL} --prepare none {options}"));
        assert_says(&message, &["in.csv: 2 columns with missing or infinite values", "--drop x,y"]);
        assert_says(&message, &["'x' (2 of 60 rows, first NaN in line 19), 'y' (1 of 60 rows, first inf in line 42)"]);
    }
    folder.write("x.npy", npy(60, 3, (0..180).map(|i| if i % 36 == 1 { f32::NAN } else { i as f32 })));
    folder.write("known.csv", "0,a\n1,b\n");
    for method in ["harmonic", "low-rank"] {
        let message = folder.error(&format!("label x.npy --labels known.csv -o out.csv --method {method}"));
        assert_says(&message, &["x.npy: 1 column", "column 1 (5 of 60 rows, first NaN in row 0)", ": --drop 1"]);
    }
}

#[test]
fn predictions_name_all_columns_that_are_missing() {
    let folder = Folder::new();
    folder.write("in.csv", clouds(60, 2));
    folder.ok(&format!("label in.csv {LABEL} --model m -q"));
    folder.write("new.csv", "X,z,w\n1,2,3\n");
    let message = folder.error("predict m new.csv -o new-out.csv");
    assert_says(&message, &["new.csv: no columns 'x' (did you mean 'X'?), 'y'", "The columns are: X, z, w"]);
    folder.write("some.csv", "x,y\n1,2\n1,red\n,3\n");
    let told = folder.ok("predict m some.csv -o new-out.csv").stderr;
    assert_says(
        &told,
        &["column 'y': 1 cell holds no number, first 'red' in line 3", "column 'x': 1 cell holds nothing"],
    );
    folder.write("bad.csv", "x,y\n1,red\n1,blue\n,3\n");
    let message = folder.error("predict m bad.csv -o new-out.csv");
    assert_says(&message, &["bad.csv: 1 column", "'y' (2 of 3 rows, first 'red' in line 2)", "the model needs"]);
    assert!(!message.contains("--drop"), "{message}");
}

#[test]
fn labels_keep_their_zeros() {
    let folder = Folder::new();
    let table = clouds(60, 2).replace("alder", "007").replace("birch", "7").replace("cedar", "1.0");
    folder.write("in.csv", table);
    folder.ok(&format!("label in.csv {LABEL} -q"));
    let out = folder.read("out.csv");
    let label = |row: usize| out.lines().nth(row + 1).unwrap().split(',').nth(1).unwrap().to_owned();
    assert_eq!([label(57), label(58), label(59)], ["007", "7", "1.0"]);
}

#[test]
fn a_changed_byte_in_an_archive_is_noticed() {
    let folder = Folder::new();
    folder.write("in.csv", clouds(60, 2));
    folder.ok("graph in.csv --drop kind -o graph.npz -q");
    folder.write("known.csv", "0,a\n1,b\n2,c\n");
    folder.ok("label --graph graph.npz --labels known.csv -o out.csv -q");
    std::fs::remove_file(folder.path("out.csv")).unwrap();
    let mut bytes = std::fs::read(folder.path("graph.npz")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    folder.write("graph.npz", &bytes);
    let message = folder.error("label --graph graph.npz --labels known.csv -o out.csv");
    assert_says(&message, &["graph.npz", "array", "damaged"]);
}

#[test]
fn weights_that_add_up_to_infinity_name_the_edge() {
    let folder = Folder::new();
    folder.write("edges.csv", "u,v,weight\n1,2,1\n".to_owned() + &"0,1,1e308\n".repeat(10));
    assert_says(&folder.error("sparsify edges.csv -o out.npy"), &["edge (0, 1)", "add up to more"]);
    folder.write("known.csv", "0,a\n2,b\n");
    for method in ["harmonic", "sparse-harmonic"] {
        let message = folder.error(&format!("label --graph edges.csv --labels known.csv -o out.csv --method {method}"));
        assert_says(&message, &["edge (0, 1)", "add up to more"]);
    }
    folder.write("star.csv", "u,v,weight\n0,1,1e308\n0,2,1e308\n");
    assert_says(&folder.error("sparsify star.csv -o out.npy"), &["the weights at node 0", "scale all weights down"]);
}

/// Clouds, times a factor and moved.
fn moved(scale: f64, offset: f64) -> String {
    let number = |cell: &str| format!("{:e}", cell.parse::<f64>().unwrap() * scale + offset);
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        format!("{},{},{}\n", number(cells[0]), number(cells[1]), cells[2])
    };
    let table = clouds(60, 2);
    let (head, rows) = table.split_once('\n').unwrap();
    format!("{head}\n{}", rows.lines().map(row).collect::<String>())
}

#[test]
fn features_that_underflow_are_refused() {
    let folder = Folder::new();
    folder.write("in.csv", moved(1e-310, 0.0));
    for method in
        ["harmonic", "nearest-label", "lapsvm", "eigenfunction", "low-rank", "unfolded-gnn", "linear", "forest"]
    {
        let message = folder.error(&format!("label in.csv {LABEL} --method {method}"));
        println!("{method}: {message}");
        assert!(
            message.contains("scale the features") || message.contains("most rows are equal"),
            "{method}: {message}"
        );
    }
}

#[test]
fn small_and_large_features_are_labeled_alike_or_refused() {
    let folder = Folder::new();
    let labels = |scale: f64, method: &str| -> Result<Vec<String>, String> {
        folder.write("in.csv", moved(scale, 0.0));
        let ran = folder.run(&format!("label in.csv {LABEL} --method {method} -q"));
        match ran.code {
            Some(0) => {
                Ok(folder.read("out.csv").lines().map(|line| line.split(',').nth(1).unwrap().to_owned()).collect())
            }
            _ => Err(ran.stderr),
        }
    };
    for method in ["harmonic", "nearest-label", "lapsvm", "eigenfunction", "low-rank", "linear", "forest"] {
        let expected = labels(1.0, method).unwrap();
        // Powers of two, which change no digit: a method that squares may refuse, and none may answer otherwise.
        for scale in [40, 83, -66].map(|exponent| 0.5f64.powi(exponent)) {
            match labels(scale, method) {
                Ok(found) => assert_eq!(found, expected, "{method}, {scale:e}"),
                Err(refused) => assert!(refused.contains("scale"), "{method}, {scale:e}: {refused}"),
            }
        }
    }
}

#[test]
fn rows_that_became_equal_are_a_warning() {
    let folder = Folder::new();
    folder.write("in.csv", moved(1.0, 1e17));
    let ran = folder.ok(&format!("label in.csv {LABEL}"));
    assert_says(&ran.stderr, &["warning: 60 of 60 rows equal all their neighbors", "subtract the common part"]);
    // A common part that leaves digits costs nothing.
    folder.write("in.csv", moved(1.0, 1e9));
    assert!(!folder.ok(&format!("label in.csv {LABEL}")).stderr.contains("equal"));
}
