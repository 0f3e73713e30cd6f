//! Options that the chosen method does not use, numbers with units, and what the program says of arguments.

use crate::common::{Folder, assert_says, clouds};

const LABEL: &str = "label t.csv --label-column kind -o out.csv";

fn folder() -> Folder {
    Folder::with_clouds("t.csv", 90, 3)
}

#[test]
fn options_that_the_method_does_not_use_are_refused() {
    let folder = folder();
    // `options/subject.rs` has tests of its own; these show that the program uses it.
    let form = "--form is no option of the method lapsvm";
    assert_says(
        &folder.error(&format!("{LABEL} --method lapsvm --form plain")),
        &[form, "it is an option of harmonic, sparse-harmonic and subsampling"],
    );
    let degree = "--degree changes nothing for the method lapsvm";
    assert_says(&folder.error(&format!("{LABEL} --method lapsvm --degree 2")), &[degree, "without --kernel poly"]);
    let compare = "compare t.csv --label-column kind --labeled 6 --methods harmonic,lapsvm";
    let message = folder.error(&format!("{compare} --n-nearest 7"));
    assert!(
        message.contains("--n-nearest is no option of the methods compared; it is an option of low-rank and anchor"),
        "{message}"
    );
    // One of them is enough.
    folder.ok(&format!("{compare} --kernel linear --form stable --repeats 1"));
    let message = folder.error("graph t.csv --drop kind --sparsity 0.1");
    assert!(message.contains("--sparsity changes nothing without --weights learned"), "{message}");
    let message = folder.error("graph t.csv --drop kind --knn-method exact --recall-target 0.9");
    assert_eq!(message, "--recall-target changes nothing without --knn-method auto or partitions");
    // Given, though as it is by default.
    assert!(
        folder.error("graph t.csv --drop kind --tol 1e-8").contains("--tol changes nothing without --weights learned")
    );
}

#[test]
fn numbers_take_units_everywhere() {
    let folder = folder();
    folder.write("t.csv", clouds(90, 30));
    folder.ok("graph t.csv --drop kind -o e.csv");
    folder.ok("sparsify e.csv -o s.npz --edge-budget 0.1k --nodes 90");
    folder.ok("sparsify e.csv -o s.npz --memory 64MiB");
    folder.ok(&format!("{LABEL} --method lapsvm --max-iter 1k --solver cg"));
    folder.ok(&format!("{LABEL} --method low-rank --n-landmarks 0.02k --fit-rows 1e3"));
    let options = [
        ("-k 15q", "error: invalid value '15q' for '--n-neighbors"),
        ("--method harmonic --max-iter 1.5", "error: invalid value '1.5' for '--max-iter"),
        ("--method sparse-harmonic --memory lots", "error: invalid value 'lots' for '--memory"),
        ("--method low-rank --n-landmarks 1T", "error: invalid value '1T' for '--n-landmarks"),
    ];
    assert_refused(&folder, &options);
}

/// Each of these options is refused with an error that starts so.
fn assert_refused(folder: &Folder, options: &[(&str, &str)]) {
    for (options, start) in options {
        let error = folder.refused(&format!("{LABEL} {options}"));
        assert!(error.starts_with(start), "{options}: {error}");
    }
}

#[test]
fn numbers_below_zero_get_the_answer_of_their_option() {
    let options = [
        ("-k -3", "error: invalid value '-3' for '--n-neighbors <N>': expected a whole number, at least 0"),
        (
            "--method harmonic --max-iter -1",
            "error: invalid value '-1' for '--max-iter <N>': expected a whole number, at least 0",
        ),
        ("--method harmonic --tol -1", "error: --tol is -1; expected a number above 0 and below 1"),
        ("--method low-rank --n-landmarks -5", "error: invalid value '-5' for '--n-landmarks <N>'"),
    ];
    assert_refused(&folder(), &options);
}

#[test]
fn errors_of_usage_are_one_line_then_hints() {
    let folder = folder();
    let cases = [
        (
            "label t.csv --label-column kind",
            "error: the following required arguments were not provided: --output <OUT>",
        ),
        (
            "label t.csv --label-column kind --labels k -o o.csv",
            "error: the argument '--label-column <NAME>' cannot be used with '--labels <FILE>'",
        ),
        ("label t.csv --metrik cosine -o o.csv", "error: unexpected argument '--metrik' found"),
        (
            "label t.csv --metric manhattan -o o.csv",
            "error: invalid value 'manhattan' for '--metric <METRIC>' [possible values: auto, euclidean, cosine, inner-product]",
        ),
        ("lable t.csv", "error: unrecognized subcommand 'lable'"),
        ("graph", "error: the following required arguments were not provided: <DATA>"),
    ];
    for (arguments, line) in cases {
        let ran = folder.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments}");
        let mut lines = ran.stderr.lines();
        assert_eq!(lines.next(), Some(line), "{arguments}");
        let hints: Vec<&str> = lines.collect();
        assert!(!hints.is_empty() && hints.iter().all(|hint| hint.starts_with("hint: ")), "{arguments}: {hints:?}");
    }
}
