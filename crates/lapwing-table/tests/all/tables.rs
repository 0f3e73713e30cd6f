//! Tables of any columns: the same features whatever the format, the pieces and the number of threads.

use std::io::Write;
use std::path::{Path, PathBuf};

use lapwing_core::{ClassNames, DenseValues, Features, RowSource, Run, Standardize};
use lapwing_table::prepare::{LeftOut, LoadedTable, PreparedRows, Recipe, Step, prepare, prepare_rows};
use lapwing_table::read::{ReadOptions, TableFile};
use lapwing_table::read_samples;
use lapwing_table::write::{KeptColumns, LabelColumns, LabelWriter, LabeledRows};

fn run(threads: usize) -> Run {
    Run::new(Some(threads), 0).unwrap()
}

fn labeled(name: &str) -> ReadOptions {
    ReadOptions { label_column: Some(name.into()), ..ReadOptions::default() }
}

/// The tables of the project.
fn tables() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/tables")
}

/// Features as dense rows.
fn dense(features: &Features<'_>) -> Vec<f32> {
    let mut reader = features.open(0, &[], &run(1)).unwrap();
    let mut out = vec![0.0; features.n_rows() * features.n_cols()];
    reader.read(&mut out, &run(1)).unwrap();
    out
}

/// A text of several blocks whose cells hold delimiters, quotes and line ends.
fn long_text() -> String {
    let mut out = String::from("id,text,number,when\n");
    for row in 0..60_000 {
        let text = match row % 5 {
            0 => format!("\"line {row}\nand, \"\"another\"\"\""),
            1 => "plain words here".into(),
            2 => format!("\"{}\"", "long ".repeat(row % 40)),
            3 => String::new(),
            _ => format!("it's {row}"),
        };
        out += &format!("r{row},{text},{}.{},2024-{:02}-{:02}\n", row % 977, row % 10, row % 12 + 1, row % 28 + 1);
    }
    out
}

#[test]
fn cells_of_long_texts_are_those_of_the_crate_csv() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("long.csv"), folder.path().join("out.csv"));
    let text = long_text();
    assert!(text.len() > 3 << 20);
    std::fs::write(&path, &text).unwrap();
    let n_rows = 60_000;
    let table = TableFile::open(&path, &ReadOptions::default()).unwrap();
    let kept = KeptColumns::open(table, None, None, Vec::new()).unwrap();
    let classes = ClassNames::Integers(vec![0]);
    let mut writer = LabelWriter::create_beside(&out, &classes, n_rows, LabelColumns::default(), kept).unwrap();
    let rows = LabeledRows {
        classes: &classes,
        labels: &vec![Some(0); n_rows],
        confidence: &vec![1.0; n_rows],
        reached: &vec![true; n_rows],
        certified: None,
        probabilities: None,
    };
    writer.write(0, &rows).unwrap();
    writer.finish().unwrap();
    let (mut theirs, mut ours) = (csv::Reader::from_path(&path).unwrap(), csv::Reader::from_path(&out).unwrap());
    let mut n = 0;
    for (theirs, ours) in theirs.records().zip(ours.records()) {
        let (theirs, ours) = (theirs.unwrap(), ours.unwrap());
        assert!(theirs.iter().map(str::trim).eq(ours.iter().take(4).map(str::trim)), "row {n}");
        n += 1;
    }
    assert_eq!(n, n_rows);
}

#[test]
fn recipes_and_features_do_not_depend_on_threads_or_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.csv");
    std::fs::write(&path, long_text()).unwrap();
    let zipped = folder.path().join("long.csv.gz");
    let cases = [
        (path.clone(), ReadOptions::default()),
        (tables().join("messy.csv"), labeled("y")),
        (tables().join("parts"), labeled("outcome")),
    ];
    for (path, options) in cases {
        let one = prepare(&path, &options, Standardize::Auto, &run(1)).unwrap();
        let two = prepare(&path, &options, Standardize::Auto, &run(2)).unwrap();
        assert_eq!(one.recipe, two.recipe, "{}", path.display());
        assert!(dense(&one.features) == dense(&two.features), "{}", path.display());
        assert_eq!(one.labels, two.labels);
        // In blocks, texts have fewer words; all else is the same.
        let blocks = prepare_rows(&path, &options, Standardize::Auto, &run(2)).unwrap();
        let same = |recipe: &Recipe| {
            let steps = recipe.columns.iter().filter(|column| !matches!(column.step, Step::Text { .. }));
            steps.cloned().collect::<Vec<_>>()
        };
        assert_eq!(same(&one.recipe), same(blocks.rows.recipe()), "{}", path.display());
        if one.recipe == *blocks.rows.recipe() {
            let all = dense(&one.features);
            let d = blocks.rows.n_cols();
            for first in [0, 1, blocks.rows.n_rows() / 2, blocks.rows.n_rows() - 1] {
                let mut out = vec![0.0; (blocks.rows.n_rows() - first) * d];
                let mut reader = blocks.rows.open(first, &[], &run(1)).unwrap();
                out.chunks_mut(777 * d).for_each(|rows| reader.read(rows, &run(1)).unwrap());
                assert!(out == all[first * d..], "{} from {first}", path.display());
            }
        }
        // A recipe goes through JSON and does the same to the same rows.
        let stored: Recipe = serde_json::from_str(&serde_json::to_string(&one.recipe).unwrap()).unwrap();
        assert_eq!(stored, one.recipe);
        let table = TableFile::open(&path, &options).unwrap();
        let again = stored.apply(&table, None, &run(2)).unwrap();
        assert!(again.warnings.is_empty() && dense(&again.features) == dense(&one.features), "{}", path.display());
        let rows = PreparedRows::open(table, stored, None, &run(1)).unwrap();
        assert_eq!(rows.n_rows(), one.features.n_rows());
    }
    {
        let mut file =
            flate2::write::GzEncoder::new(std::fs::File::create(&zipped).unwrap(), flate2::Compression::fast());
        file.write_all(long_text().as_bytes()).unwrap();
        file.finish().unwrap();
        let plain = prepare(&path, &ReadOptions::default(), Standardize::Auto, &run(2)).unwrap();
        let packed = prepare(&zipped, &ReadOptions::default(), Standardize::Auto, &run(2)).unwrap();
        assert_eq!(plain.recipe, packed.recipe);
        assert!(dense(&plain.features) == dense(&packed.features));
    }
}

#[test]
fn a_folder_of_parts_is_the_table_of_all_rows() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(tables().join("messy.csv")).unwrap();
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    let rows: Vec<&str> = lines.collect();
    std::fs::create_dir(folder.path().join("parts")).unwrap();
    for (at, rows) in rows.chunks(250).enumerate() {
        let part = format!("{header}\n{}\n", rows.join("\n"));
        std::fs::write(folder.path().join(format!("parts/part-{at}.csv")), part).unwrap();
    }
    std::fs::write(folder.path().join("parts/_SUCCESS"), "").unwrap();
    let whole = prepare(&tables().join("messy.csv"), &labeled("y"), Standardize::Auto, &run(2)).unwrap();
    for path in [folder.path().join("parts"), folder.path().join("parts/part-*.csv")] {
        let parts = prepare(&path, &labeled("y"), Standardize::Auto, &run(2)).unwrap();
        assert_eq!(parts.recipe, whole.recipe, "{}", path.display());
        assert_eq!(parts.labels, whole.labels);
        assert!(dense(&parts.features) == dense(&whole.features));
    }
    std::fs::write(folder.path().join("parts/part-9.csv"), "id,other\n1,2\n").unwrap();
    let error = TableFile::open(&folder.path().join("parts"), &ReadOptions::default()).unwrap_err().to_string();
    assert!(
        error.contains("part-9.csv: the columns are not those of") && error.contains("with further other"),
        "{error}"
    );
}

#[test]
fn tables_of_numbers_are_taken_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let row = |at: usize| format!("{},{},{}\n", at * 37 % 41, (at * 17 % 23) as f64 / 7.0, at * 5 % 13);
    std::fs::write(&path, format!("a,b,c\n{}", (0..100).map(row).collect::<String>())).unwrap();
    let options = ReadOptions::default();
    let prepared = prepare(&path, &options, Standardize::Auto, &run(2)).unwrap();
    let samples = read_samples(&path, &options, &run(2)).unwrap();
    assert!(prepared.recipe.is_plain() && prepared.warnings.is_empty());
    let (Features::Dense(ours), Features::Dense(theirs)) = (&prepared.features, &samples.features) else {
        unreachable!()
    };
    let (DenseValues::F64(ours), DenseValues::F64(theirs)) = (ours.values(), theirs.values()) else { unreachable!() };
    assert_eq!(ours.as_slice(), theirs.as_slice());
}

#[test]
fn cells_that_do_not_fit_are_counted_or_make_the_column_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    // Far behind the first block, a column of numbers turns into words.
    let row = |at: usize| match at {
        90_000.. => format!("word{},{}\n", at % 300, at % 7),
        500 => "broken,3\n".to_owned(),
        _ => format!("{}.25,{}\n", at % 1000, at % 7),
    };
    let text = |n: usize| format!("a,b\n{}", (0..n).map(row).collect::<String>());
    std::fs::write(&path, text(90_000)).unwrap();
    let found = prepare(&path, &ReadOptions::default(), Standardize::Auto, &run(2)).unwrap();
    let warnings: Vec<String> = found.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["column 'a': 1 cell holds no number, first 'broken' in line 502; counted as missing"]);
    std::fs::write(&path, text(100_000)).unwrap();
    let found = prepare(&path, &ReadOptions::default(), Standardize::Auto, &run(2)).unwrap();
    assert!(matches!(found.recipe.columns[0].step, Step::Text { .. }), "{:?}", found.recipe.columns[0].step);
    assert!(
        read_samples(&path, &ReadOptions::default(), &run(2)).unwrap_err().to_string().contains("10001 of 100000 rows")
    );
}

#[test]
fn columns_that_say_nothing_are_left_out_unless_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let row = |at: usize| format!("{},user{at},{},same,,{}\n", at + 100, at * 7919 % 1009, at % 5);
    std::fs::write(&path, format!("n,name,account_id,c,e,x\n{}", (0..60).map(row).collect::<String>())).unwrap();
    let loaded =
        LoadedTable::read(TableFile::open(&path, &ReadOptions::default()).unwrap(), &ReadOptions::default(), &run(1))
            .unwrap();
    let found = loaded.prepare(Standardize::Auto, None, &run(1)).unwrap();
    let left = |at: usize| match found.recipe.columns[at].step {
        Step::LeaveOut { reason } => Some(reason),
        _ => None,
    };
    let expected = [
        Some(LeftOut::Counter),
        Some(LeftOut::Identifier),
        Some(LeftOut::Identifier),
        Some(LeftOut::Constant),
        Some(LeftOut::Empty),
        None,
    ];
    assert_eq!((0..6).map(left).collect::<Vec<_>>(), expected);
    let named = ReadOptions { columns: Some(vec!["n".into(), "account_id".into()]), ..ReadOptions::default() };
    let named = prepare(&path, &named, Standardize::Auto, &run(1)).unwrap();
    assert_eq!(named.recipe.n_features(), 2);
    let none = ReadOptions { drop: vec!["x".into()], ..ReadOptions::default() };
    let error = prepare(&path, &none, Standardize::Auto, &run(1)).unwrap_err().to_string();
    assert!(error.contains("no column tells rows apart"), "{error}");
}

/// Two columns that tell each other, one of which has gaps, and one that spreads over orders of magnitude.
fn numbers_with_gaps(n_rows: usize) -> String {
    let mut out = String::from("height,weight,price\n");
    for row in 0..n_rows {
        let height = 150.0 + (row * 37 % 500) as f64 / 10.0;
        let weight = if row % 10 == 3 { String::new() } else { format!("{:.2}", 2.0 * height - 230.0) };
        let price = 10f64.powf((row * 53 % 997) as f64 / 250.0);
        out += &format!("{height:.2},{weight},{price:.3}\n");
    }
    out
}

#[test]
fn gaps_are_told_from_other_numbers_and_skewed_numbers_by_their_logarithm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gaps.csv");
    std::fs::write(&path, numbers_with_gaps(9_000)).unwrap();
    let whole = prepare(&path, &ReadOptions::default(), Standardize::Auto, &run(2)).unwrap();
    assert_eq!(whole.recipe.feature_names(), ["height", "weight", "weight_missing", "price"]);
    let logs = whole.recipe.columns.iter().map(|column| matches!(column.step, Step::Number { log: Some(_), .. }));
    assert_eq!(logs.collect::<Vec<_>>(), [false, false, true]);
    let (rows, told) = (dense(&whole.features), whole.recipe.gaps.as_ref().unwrap());
    assert_eq!(told.columns.iter().map(|column| column.terms.len()).collect::<Vec<_>>(), [0, 1, 0]);
    let Step::Number { center, scale, .. } = whole.recipe.columns[1].step else { unreachable!() };
    for row in (3..9_000).step_by(10) {
        let weight = center + scale * f64::from(rows[4 * row + 1]);
        let height = 150.0 + (row * 37 % 500) as f64 / 10.0;
        // The ridge moves it by a twentieth to the mean.
        assert!((weight - (2.0 * height - 230.0)).abs() < 4.0 && rows[4 * row + 2] > 0.0, "{row}: {weight}");
    }
    // The same bits with any number of threads, in blocks, and as new rows; the log is as even as its exponents.
    let one = prepare(&path, &ReadOptions::default(), Standardize::Auto, &run(1)).unwrap();
    assert!(one.recipe == whole.recipe && dense(&one.features) == rows);
    let blocks = prepare_rows(&path, &ReadOptions::default(), Standardize::Auto, &run(2)).unwrap();
    assert!(*blocks.rows.recipe() == whole.recipe);
    let (mut reader, mut out) = (blocks.rows.open(0, &[], &run(2)).unwrap(), vec![0.0; rows.len()]);
    out.chunks_mut(4 * 700).for_each(|block| reader.read(block, &run(2)).unwrap());
    assert!(out == rows);
    let stored: Recipe = serde_json::from_str(&serde_json::to_string(&whole.recipe).unwrap()).unwrap();
    let table = TableFile::open(&path, &ReadOptions::default()).unwrap();
    assert!(dense(&stored.apply(&table, None, &run(2)).unwrap().features) == rows);
}

#[test]
fn numbers_in_double_precision_become_single_only_if_they_are_scaled() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("doubles.csv");
    let far = (0..5_000).map(|row| format!("{},{}\n", 1e9 + f64::from(row % 97), 1e9 - f64::from(row % 89)));
    std::fs::write(&path, far.collect::<String>()).unwrap();
    let options = ReadOptions { columns: Some(vec!["0".into(), "1".into()]), ..ReadOptions::default() };
    let left = prepare(&path, &options, Standardize::Auto, &run(2)).unwrap();
    let Features::Dense(values) = &left.features else { panic!("dense") };
    let DenseValues::F64(values) = values.values() else { panic!("double precision") };
    assert!(left.recipe.is_plain() && values.as_slice()[2..4] == [1e9 + 1.0, 1e9 - 1.0]);
    // A gap that the fit did not have is filled, also where numbers stay as they are.
    let (rows, warnings) = applied(&left.recipe, &folder.path().join("new.csv"), "3,4\n,5\n7,8\n").unwrap();
    assert!(
        rows[2] > 0.9e9 && rows[..2] == [3.0, 4.0] && rows[3..] == [5.0, 7.0, 8.0] && warnings.len() == 1,
        "{rows:?} {warnings:?}"
    );
    let scaled = prepare(&path, &options, Standardize::On, &run(2)).unwrap();
    let rows = dense(&scaled.features);
    let mean = rows.iter().map(|x| f64::from(*x)).sum::<f64>() / rows.len() as f64;
    assert!(mean.abs() < 1e-4 && rows.iter().any(|x| *x > 1.0), "{mean}");
}

/// The features of a text by the recipe of another.
fn applied(recipe: &Recipe, path: &Path, text: &str) -> lapwing_core::Result<(Vec<f32>, Vec<String>)> {
    std::fs::write(path, text).unwrap();
    let applied = recipe.apply(&TableFile::open(path, &ReadOptions::default())?, None, &run(2))?;
    let rows = PreparedRows::open(TableFile::open(path, &ReadOptions::default())?, recipe.clone(), None, &run(1))?;
    let (mut reader, mut out) = (rows.open(0, &[], &run(1))?, vec![0.0; rows.n_rows() * rows.n_cols()]);
    reader.read(&mut out, &run(1))?;
    assert!(out == dense(&applied.features), "{text}");
    Ok((out, applied.warnings.iter().map(ToString::to_string).collect()))
}

#[test]
fn cells_of_new_rows_are_read_as_those_of_the_fit() {
    let folder = tempfile::tempdir().unwrap();
    let (path, new) = (folder.path().join("fit.csv"), folder.path().join("new.csv"));
    let row = |at: usize| {
        format!("{:02}/{:02}/2024,{} mm,{}\n", at % 12 + 1, at % 28 + 1, at * 7 % 50, ["ja", "nein"][at % 2])
    };
    std::fs::write(&path, format!("day,size,ok\n{}", (0..60).map(row).collect::<String>())).unwrap();
    let fit = prepare(&path, &ReadOptions::default(), Standardize::Off, &run(1)).unwrap();
    assert_eq!(&fit.recipe.feature_names()[..2], ["day_month", "day_weekday"]);
    let recipe: Recipe = serde_json::from_str(&serde_json::to_string(&fit.recipe).unwrap()).unwrap();
    let all = dense(&fit.features);
    let width = fit.features.n_cols();
    // 03/04 is the fourth of March, as the fit told; alone it could be the third of April.
    let (one, warnings) = applied(&recipe, &new, &format!("day,size,ok\n{}", row(3))).unwrap();
    assert!(one == all[3 * width..4 * width] && warnings.is_empty(), "{warnings:?}");
    // One cell of three that is no size counts as missing; two of three make another column of it.
    let some = |cells: [&str; 3]| {
        let lines = cells.iter().map(|cell| format!("03/04/2024,{cell},ja\n")).collect::<String>();
        format!("day,size,ok\n{lines}")
    };
    let (_, warnings) = applied(&recipe, &new, &some(["7 mm", "broken", "9 mm"])).unwrap();
    assert!(warnings.iter().any(|text| text.contains("broken")), "{warnings:?}");
    let error = applied(&recipe, &new, &some(["7 km", "broken", "9 mm"])).unwrap_err().to_string();
    assert!(error.contains("'size' (2 of 3 rows"), "{error}");
}

#[test]
fn numbers_that_no_distance_holds_are_missing_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.csv");
    let cell = |at: usize| match at {
        7 => "1e45".to_owned(),
        9 => "-inf".to_owned(),
        at => (at * 13 % 101).to_string(),
    };
    let lines = (0..200).map(|at| format!("{},{}\n", cell(at), at * 17 % 89)).collect::<String>();
    std::fs::write(&path, format!("a,b\n{lines}")).unwrap();
    let found = prepare(&path, &ReadOptions::default(), Standardize::Auto, &run(2)).unwrap();
    found.features.check(&run(1)).unwrap();
    assert_eq!(found.description.columns[0].n_missing, 2);
    let texts: Vec<String> = found.warnings.iter().map(ToString::to_string).collect();
    assert!(texts.iter().any(|text| text.contains("2 cells hold no number, first '1e45' in row 7")), "{texts:?}");
    // A fit of positive numbers over orders of magnitude tells new negative ones apart.
    let skewed = (0..200).map(|at| format!("{:.3},{}\n", 10f64.powf((at * 29 % 199) as f64 / 40.0), at * 17 % 89));
    std::fs::write(&path, format!("a,b\n{}", skewed.collect::<String>())).unwrap();
    let fit = prepare(&path, &ReadOptions::default(), Standardize::Auto, &run(2)).unwrap();
    let Step::Number { log: Some(_), .. } = fit.recipe.columns[0].step else { panic!("{:?}", fit.recipe.columns[0]) };
    let (rows, _) = applied(&fit.recipe, &path, "a,b\n-500,1\n-5,1\n0,1\n5,1\n").unwrap();
    assert!(rows.iter().step_by(2).is_sorted_by(|a, b| a < b), "{rows:?}");
}

#[test]
fn stored_columns_of_another_kind_are_refused_and_lists_have_their_usual_length() {
    use std::sync::Arc;

    use arrow_array::types::Float64Type;
    use arrow_array::{ArrayRef, Float64Array, ListArray, RecordBatch, TimestampMicrosecondArray};

    let numbers = |scale: f64| -> ArrayRef {
        Arc::new((0..200).map(|at| Some(scale * f64::from(at * 7 % 40))).collect::<Float64Array>())
    };
    let lists = |is_long: &dyn Fn(usize) -> bool| -> ArrayRef {
        let list = |at: usize| {
            Some((0..if is_long(at) { 3 } else { 1 }).map(|k| Some(((at * 5 + k) % 17) as f64)).collect::<Vec<_>>())
        };
        Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>((0..200).map(list)))
    };
    let table = |columns: Vec<(&str, ArrayRef)>| {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        TableFile::from_batches("X", &batch.schema(), vec![batch]).unwrap()
    };
    let fit = |columns: Vec<(&str, ArrayRef)>| {
        let loaded = LoadedTable::read(table(columns), &ReadOptions::default(), &run(2)).unwrap();
        loaded.prepare(Standardize::Auto, None, &run(2)).unwrap()
    };
    // Lengths of time are numbers of seconds; what cannot be used is named.
    let lengths: ArrayRef =
        Arc::new(arrow_array::DurationMillisecondArray::from_iter_values((0..200).map(|at| 500 * at)));
    let bytes: ArrayRef = Arc::new(arrow_array::BinaryArray::from_iter_values((0..200).map(|at| [at as u8])));
    let found = fit(vec![("t", lengths), ("b", bytes)]);
    assert_eq!((found.recipe.n_features(), crate::common::values(&found.features)[3]), (1, 1.5));
    assert!(
        found.warnings.iter().any(|warning| warning.to_string().contains("column 'b' is left out: its type, Binary"))
    );
    // The first list is of another length than the others.
    let found = fit(vec![("x", numbers(1.0)), ("v", lists(&|at| at > 0))]);
    assert_eq!(found.recipe.n_features(), 1 + 3 + 1);
    let ragged = fit(vec![("x", numbers(1.0)), ("v", lists(&|at| at % 3 > 0))]);
    assert_eq!(ragged.recipe.n_features(), 1, "a third of the lists are of another length");
    let fitted = fit(vec![("x", numbers(1.0)), ("z", numbers(2.0))]);
    let dates: ArrayRef =
        Arc::new((0..200).map(|at| Some(1_700_000_000_000_000 + at)).collect::<TimestampMicrosecondArray>());
    let error = fitted.recipe.apply(&table(vec![("x", dates), ("z", numbers(2.0))]), None, &run(1)).unwrap_err();
    assert!(error.to_string().contains("column 'x' holds Timestamp"), "{error}");
}

#[test]
fn the_numbers_of_a_measure_are_scaled_as_columns_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let fit = |head: &str, row: &dyn Fn(usize) -> String| {
        let path = folder.path().join("t.csv");
        std::fs::write(&path, format!("{head}\n{}", (0..100).map(row).collect::<String>())).unwrap();
        prepare(&path, &ReadOptions::default(), Standardize::Auto, &run(2)).unwrap()
    };
    let numbers = |at: usize| (100 + at * 7 % 80, 60 + at * 11 % 31);
    for mark in ["/", "x", " × ", ":"] {
        let found = fit("n,m", &|at| format!("{},{}{mark}{}\n", at * 13 % 47, numbers(at).0, numbers(at).1));
        let Step::Vector { fill, scales, .. } = &found.recipe.columns[1].step else { panic!("'{mark}'") };
        let size = |of: &dyn Fn(usize) -> f64, mean: f64| {
            ((0..100).map(|at| (of(at) - mean).powi(2)).sum::<f64>() / 100.0).sqrt()
        };
        assert!((scales[0] - size(&|at| numbers(at).0 as f64, fill[0])).abs() < 1e-9, "{scales:?}");
        let row = &dense(&found.features)[3..6];
        let (high, low) = numbers(1);
        let expected = [(high as f64 - fill[0]) / scales[0], (low as f64 - fill[1]) / scales[1]];
        assert!(row[1..].iter().zip(expected).all(|(x, y)| (f64::from(*x) - y).abs() < 1e-5), "{row:?} {expected:?}");
        let (stored, _) = applied(&found.recipe, &folder.path().join("new.csv"), "n,m\n13,107x71\n").unwrap();
        assert!(mark != "x" || stored == row, "{stored:?}");
    }
    // Dates, times, telephone numbers and shares of one number are not measures.
    let widths = [("05/06/2024", "12/01/2023"), ("12:30", "9:45"), ("030/1234567", "030/7654321"), ("7/10", "8/10")];
    for (one, other) in widths {
        let found = fit("n,m", &|at| format!("{},{}\n", at * 13 % 47, [one, other][at % 2]));
        assert!(!matches!(found.recipe.columns[1].step, Step::Vector { .. }), "{one}");
    }
    let found = fit("n,m", &|at| format!("{},\"{{\"\"a\"\": 0.{at}, \"\"b\"\": 7}}\"\n", at * 13 % 47));
    let texts: Vec<String> = found.warnings.iter().map(ToString::to_string).collect();
    assert!(texts.iter().any(|text| text.contains("'m'") && text.contains("JSON objects")), "{texts:?}");
}
