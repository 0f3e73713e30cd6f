//! What is said of a table: how its cells were read, what they may be instead, and which columns mislead.

use lapwing_core::{Standardize, Warning};
use lapwing_table::prepare::{Description, LeftOut, LoadedTable, Step, prepare, prepare_rows};
use lapwing_table::read::{ReadAs, ReadOptions, TableFile};

use crate::common::{Folder, run, values};

fn described(folder: &Folder, text: &str, options: &ReadOptions) -> (Description, Vec<String>) {
    let path = folder.file("t.csv", text);
    let loaded = LoadedTable::read(TableFile::open(&path, options).unwrap(), options, &run()).unwrap();
    let found = loaded.describe(Standardize::Auto, &run());
    let warnings = found.warnings(&path).iter().map(ToString::to_string).collect();
    (found, warnings)
}

fn read_as(name: &str, kind: ReadAs) -> ReadOptions {
    ReadOptions { read_as: vec![(name.into(), kind)], ..ReadOptions::default() }
}

#[test]
fn each_column_shows_a_cell_and_what_it_is_read_as() {
    let folder = Folder::new();
    let row = |at: usize| {
        let tags = ["red|old", "new|blue|big", "old|blue", "green|new|x"][at % 4];
        let extra = ["", "|a", "|b", "|c", "|d"][at % 5];
        let price = if at == 20 || at == 30 { "broken".to_owned() } else { format!("€{}.5M", at % 17 + 1) };
        let price = if at == 9 { "??".into() } else { price };
        format!("{:02}/{:02}/2021;{price};{tags}{extra};{}\n", at % 12 + 1, at % 11 + 1, at * 7 % 31)
    };
    let text = format!("when;price;tags;n\n{}", (0..100).map(row).collect::<String>());
    let (found, warnings) = described(&folder, &text, &ReadOptions::default());
    let json = serde_json::to_value(&found).unwrap();
    let example = |at: usize| {
        let example = &json["columns"][at]["example"];
        [example["cell"].as_str().unwrap().to_owned(), example["value"].as_str().unwrap().to_owned()]
    };
    assert_eq!(example(0), ["01/01/2021", "2021-01-01"]);
    assert_eq!(example(1), ["€1.5M", "1500000"]);
    assert_eq!(example(2), ["red|old", "2 terms"]);
    assert_eq!(example(3), ["0", "0"]);
    assert_eq!(
        found.columns[1].notes()[1],
        "3 no number, counted as missing: '??' (line 11), 'broken' (2, first in line 22)"
    );
    assert_eq!(found.columns[0].notes()[1], "or the month first: read_as={'when': 'month-first'}");
    assert_eq!(
        warnings[1],
        format!(
            "{}: dates such as 03/04/2024 may start with the day or the month; the day is taken; read_as={{'when': 'month-first'}} takes the month first",
            folder.path("t.csv").display()
        )
    );
    assert_eq!(warnings.len(), 2);
    // The option settles it.
    let (found, warnings) = described(&folder, &text, &read_as("when", ReadAs::MonthFirst));
    assert!(found.doubts.is_empty() && warnings.len() == 1, "{warnings:?}");
    assert_eq!(found.columns[0].notes(), ["2021-01-01 to 2021-12-08; 01/01/2021 → 2021-01-01"]);
}

#[test]
fn decimal_marks_that_are_open_show_both_numbers() {
    let folder = Folder::new();
    let (found, _) = described(&folder, "a;n\nx;1,234\ny;2,345\n", &ReadOptions::default());
    assert_eq!(found.columns[1].notes()[1], "or 1,234 → 1234: decimal='point'");
    let told = ReadOptions { decimal: Some(b'.'), ..ReadOptions::default() };
    let (found, _) = described(&folder, "a;n\nx;1,234\ny;2,345\n", &told);
    assert_eq!(found.columns[1].notes(), ["1234 to 2345, median 1234; 1,234 → 1234"]);
}

#[test]
fn lines_that_are_passed_over_are_shown_with_the_first() {
    let folder = Folder::new();
    let rows: String = (0..40_000).map(|at| format!("{},{},{}\n", at % 97, at * 7 % 31, at % 5)).collect();
    // Far behind the first block of text.
    let text = format!("Report\nby us\n# made by hand\na,b,c\n{rows}# late\n1,2\n# later\n3,4,\n7,8,9,\n");
    let (found, _) = described(&folder, &text, &ReadOptions::default());
    let expected = [
        "2 lines before the header are passed over (first line 1: 'Report')",
        "1 line of comment before the rows is passed over (line 3: '# made by hand')",
        "2 lines of comment among the rows are passed over (first line 40005: '# late')",
        "1 row lacks its last cells, which count as missing (line 40006: '1,2')",
        "1 row has empty cells behind its last (line 40009: '7,8,9,')",
    ];
    assert_eq!(found.passed, expected);
}

#[test]
fn numbers_with_leading_zeros_are_codes_unless_told() {
    let folder = Folder::new();
    let row = |at: usize| format!("{:05},{},{:02},{:02}\n", at % 7 * 1311, at * 7 % 31, at % 12 + 1, at % 9);
    let text = format!("zip,x,month,dept_code\n{}", (0..60).map(row).collect::<String>());
    let (found, warnings) = described(&folder, &text, &ReadOptions::default());
    let kinds: Vec<&str> = found.columns.iter().map(|column| column.kind.word()).collect();
    assert_eq!(kinds, ["text", "number", "number", "text"], "two digits are codes if the name says so");
    assert_eq!(
        warnings[0],
        "column 'zip': numbers with leading zeros are taken as codes; as numbers: read_as={'zip': 'number'}"
    );
    assert_eq!(warnings.len(), 2);
    let path = folder.file("t.csv", &text);
    let fit = prepare(&path, &ReadOptions::default(), Standardize::Off, &run()).unwrap();
    let Step::Category { levels, .. } = &fit.recipe.columns[0].step else { panic!("{:?}", fit.recipe.columns[0]) };
    assert_eq!((levels.len(), levels[1].as_str()), (7, "01311"));
    // New rows that have no leading zeros are codes too, and rows in blocks are read alike.
    let new = folder.file("new.csv", "zip,x,month,dept_code\n7866,1,2,3\n01311,1,2,03\n");
    let applied = fit.recipe.apply(&TableFile::open(&new, &ReadOptions::default()).unwrap(), None, &run()).unwrap();
    assert_eq!(values(&applied.features)[applied.features.n_cols() + 1], 1.0);
    assert_eq!(
        prepare_rows(&path, &ReadOptions::default(), Standardize::Off, &run()).unwrap().rows.recipe(),
        &fit.recipe
    );
    let told = prepare(&path, &read_as("zip", ReadAs::Number), Standardize::Off, &run()).unwrap();
    assert!(matches!(told.recipe.columns[0].step, Step::Number { .. }) && told.warnings.len() == 1);
    assert_eq!(values(&told.features)[told.features.n_cols()], 1311.0);
}

#[test]
fn few_numbers_with_the_name_of_a_code_may_be_levels() {
    let folder = Folder::new();
    let row = |at: usize| {
        let job = [1, 2, 3, 17, 25][at * 7 % 5];
        format!("{job},{},{},{}\n", at % 3 + 1, at * 7 % 31, [10, 20, 73][at % 3])
    };
    let text = format!("job code,class,size,Widths\n{}", (0..60).map(row).collect::<String>());
    let (found, warnings) = described(&folder, &text, &ReadOptions::default());
    assert_eq!(found.columns[0].notes()[1], "or levels: read_as={'job code': 'text'}");
    assert_eq!(found.columns[1].notes()[1], "or levels: read_as={'class': 'text'}");
    assert_eq!((found.columns[2].notes().len(), found.columns[3].notes().len()), (1, 1));
    let expected = "column 'job code': its few numbers look like codes, and are taken as amounts; as levels: read_as={'job code': 'text'}";
    assert_eq!(warnings, [expected]);
    let told =
        prepare(&folder.file("t.csv", &text), &read_as("class", ReadAs::Text), Standardize::Off, &run()).unwrap();
    assert_eq!(&told.recipe.feature_names()[1..4], ["class_1", "class_2", "class_3"]);
    // What cannot be read so is refused.
    let error = |options: &ReadOptions| {
        prepare(&folder.path("t.csv"), options, Standardize::Off, &run()).unwrap_err().to_string()
    };
    assert!(error(&read_as("clas", ReadAs::Text)).contains("did you mean 'class'?"));
    let dropped = ReadOptions { drop: vec!["class".into()], ..read_as("class", ReadAs::Text) };
    assert!(
        error(&dropped).contains("read-as column is 'class'; expected a column that is a feature"),
        "{}",
        error(&dropped)
    );
}

#[test]
fn shuffled_indices_without_a_name_are_left_out() {
    let folder = Folder::new();
    for (name, first) in [("", 0), ("Unnamed: 0", 1), ("index", 1)] {
        let row = |at: usize| format!("{},{},{}\n", at * 37 % 60 + first, at * 7 % 31, at * 37 % 60);
        let text = format!("{name},x,rank\n{}", (0..60).map(row).collect::<String>());
        let found = prepare(&folder.file("t.csv", &text), &ReadOptions::default(), Standardize::Off, &run()).unwrap();
        let Step::LeaveOut { reason } = found.recipe.columns[0].step else { panic!("{name}") };
        assert_eq!((reason, found.recipe.n_features()), (LeftOut::Counter, 2));
        assert_eq!(found.description.columns[0].done, "left out: counts the rows");
    }
}

#[test]
fn a_column_that_is_known_after_the_label_is_named() {
    let folder = Folder::new();
    let row = |at: usize| {
        let class = at * 7919 % 1009 % 3;
        let label = if at.is_multiple_of(2) { ["paid", "late", "lost"][class] } else { "" };
        let reason = [["ok", "good"], ["slow", "ill"], ["gone", "moved"]][class][at / 2 % 2];
        format!("{},{},{reason},{label}\n", at * 31 % 47, ["a", "b", "c"][at % 3])
    };
    let text = format!("amount,shop,\"reason, short\",state\n{}", (0..120).map(row).collect::<String>());
    let options = ReadOptions { label_column: Some("state".into()), ..ReadOptions::default() };
    let (found, warnings) = described(&folder, &text, &options);
    let expected = "column 'reason, short' alone tells the label of each of 60 labeled rows (each of its 6 values has one class), which \
                    neither chance nor another column does; if it is known only after the label, leave it out: drop='reason, short'";
    assert_eq!(warnings, [expected]);
    assert_eq!(found.columns[2].notes()[1], "alone tells the labels of 60 rows: each of its 6 values has one class");
    let fit = prepare(&folder.path("t.csv"), &options, Standardize::Auto, &run()).unwrap();
    assert_eq!((fit.warnings[0].kind(), fit.warnings[0].to_string().as_str()), ("doubtful-columns", expected));
    assert!(matches!(fit.recipe.columns[2].step, Step::Category { .. }), "it is used all the same");
    // Labels that the table does not hold tell it too.
    let without = ReadOptions { drop: vec!["state".into()], ..ReadOptions::default() };
    let loaded =
        LoadedTable::read(TableFile::open(&folder.path("t.csv"), &without).unwrap(), &without, &run()).unwrap();
    let given = loaded.prepare(Standardize::Auto, fit.labels.as_ref(), &run()).unwrap();
    assert!(matches!(&given.warnings[..], [Warning::LeakingColumn { n_rows: 60, .. }]), "{:?}", given.warnings);
}

/// A Parquet file of lists, some of them missing.
fn lists(folder: &Folder, name: &str, length: impl Fn(usize) -> Option<usize>) -> std::path::PathBuf {
    use arrow_array::types::Float64Type;
    let list = |row: usize| length(row).map(|length| (0..length).map(move |at| Some((row + at) as f64)));
    let lists = arrow_array::ListArray::from_iter_primitive::<Float64Type, _, _>((0..40).map(list));
    let x = arrow_array::Float64Array::from_iter_values((0..40).map(|row| f64::from(row * 7 % 11)));
    let columns: Vec<(&str, arrow_array::ArrayRef)> =
        vec![("v", std::sync::Arc::new(lists)), ("x", std::sync::Arc::new(x))];
    let batch = arrow_array::RecordBatch::try_from_iter(columns).unwrap();
    let path = folder.path(name);
    let mut writer =
        parquet::arrow::ArrowWriter::try_new(std::fs::File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    path
}

#[test]
fn a_column_that_is_left_out_has_no_odd_cells() {
    let folder = Folder::new();
    let path = lists(&folder, "uneven.parquet", |row| Some(2 + row % 5));
    let options = ReadOptions::default();
    let loaded = LoadedTable::read(TableFile::open(&path, &options).unwrap(), &options, &run()).unwrap();
    let warnings = loaded.describe(Standardize::Auto, &run()).warnings(&path);
    assert!(warnings.iter().all(|warning| !warning.to_string().contains("hold no number")), "{warnings:?}");
}

#[test]
fn a_missing_list_that_is_taken_as_it_is_is_named() {
    let folder = Folder::new();
    let path = lists(&folder, "gaps.parquet", |row| (row % 9 != 4).then_some(3));
    let samples = lapwing_table::read_samples(&path, &ReadOptions::default(), &run()).unwrap();
    let error = samples.check(&run()).unwrap_err().to_string();
    assert!(error.contains("gaps.parquet") && error.contains("'v"), "{error}");
}
