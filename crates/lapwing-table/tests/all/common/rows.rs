//! Files of features: the same ones in many layouts, and every way to read them in blocks.

use std::path::Path;

use lapwing_core::{Error, RowSource};
use lapwing_table::RowFile;
use lapwing_table::read::ReadOptions;

use super::{f32s, f64s, npy, npy_in_order, run};

/// Shape of the features in [`files`].
pub const N_ROWS: usize = 37;
/// Columns of them.
pub const N_COLS: usize = 4;

/// Small whole numbers, which every type holds.
fn number(row: usize, col: usize) -> u8 {
    ((row * 31 + col * 7) % 101) as u8
}

fn encoded<const SIZE: usize>(encode: impl Fn(u8) -> [u8; SIZE]) -> Vec<u8> {
    let cells = (0..N_ROWS).flat_map(|row| (0..N_COLS).map(move |col| number(row, col)));
    cells.flat_map(encode).collect()
}

/// Values by column, as Fortran order has them.
fn columns() -> Vec<f64> {
    (0..N_COLS).flat_map(|col| (0..N_ROWS).map(move |row| number(row, col).into())).collect()
}

/// Lines of numbers, one of them missing, and of labels of which some are quoted and longer than a line.
pub fn text(header: bool, line_end: &str, n_rows: usize) -> String {
    let head = if header { format!("\u{feff}a,b c,\"d\n\",label,e{line_end}") } else { String::new() };
    let labels = ["x", "", "\"two\r\nlines\"", "y"];
    let row = |row: usize| {
        let cell = |col: usize| format!("{:?}", f64::from(number(row, col)) * 1.1 - 7.0);
        let label = if header { labels[row % 4] } else { "3" };
        let third = if row % 5 == 3 && header { String::new() } else { format!(" {} ", cell(2)) };
        let blank = if row % 7 == 2 { line_end } else { "" };
        format!("{},\"{}\",{third},{label},{}{line_end}{blank}", cell(0), cell(1), cell(3))
    };
    std::iter::once(head).chain((0..n_rows).map(row)).collect()
}

/// One file of each element type and order, and texts.
pub fn files() -> Vec<(&'static str, Vec<u8>)> {
    let shape = format!("({N_ROWS}, {N_COLS})");
    let far: Vec<f64> = columns().iter().map(|x| 1.7e9 + x / 3.0).collect();
    let singles: Vec<f32> = columns().iter().map(|&x| (x / 3.0 - 9.0) as f32).collect();
    let columns = columns();
    vec![
        ("f4.npy", npy("<f4", &shape, &f32s(&singles))),
        ("f8.npy", npy("<f8", &shape, &f64s(&far))),
        ("u1.npy", npy("|u1", &shape, &encoded(|x| [x]))),
        ("f2.npy", npy("<f2", &shape, &encoded(|x| half::f16::from_f32(f32::from(x) / 8.0).to_le_bytes()))),
        ("big_f2.npy", npy(">f2", &shape, &encoded(|x| half::f16::from_f32(f32::from(x) / 8.0).to_be_bytes()))),
        ("big_f4.npy", npy(">f4", &shape, &encoded(|x| (f32::from(x) / 3.0).to_be_bytes()))),
        ("big_f8.npy", npy(">f8", &shape, &encoded(|x| (f64::from(x) / 3.0).to_be_bytes()))),
        ("b1.npy", npy("|b1", &shape, &encoded(|x| [x % 2]))),
        ("i1.npy", npy("|i1", &shape, &encoded(|x| (x as i8 - 50).to_le_bytes()))),
        ("i2.npy", npy("<i2", &shape, &encoded(|x| (i16::from(x) * -200).to_le_bytes()))),
        ("u2.npy", npy("<u2", &shape, &encoded(|x| (u16::from(x) * 500).to_le_bytes()))),
        ("i4.npy", npy("<i4", &shape, &encoded(|x| (i32::from(x) * -20_000_011).to_le_bytes()))),
        ("u4.npy", npy("<u4", &shape, &encoded(|x| (u32::from(x) * 40_000_003).to_le_bytes()))),
        ("i8.npy", npy("<i8", &shape, &encoded(|x| (i64::from(x) * (1 << 40) + 1).to_le_bytes()))),
        ("u8.npy", npy(">u8", &shape, &encoded(|x| (u64::from(x) << 50).to_be_bytes()))),
        ("fortran_f4.npy", npy_in_order("<f4", "True", &shape, &f32s(&singles))),
        ("fortran_f8.npy", npy_in_order("<f8", "True", &shape, &f64s(&columns))),
        ("fortran_u1.npy", npy_in_order("|u1", "True", &shape, &encoded(|x| [x]))),
        ("plain.csv", text(false, "\n", N_ROWS).into_bytes()),
        ("named.csv", text(true, "\n", N_ROWS).into_bytes()),
        ("windows.csv", text(true, "\r\n", N_ROWS).into_bytes()),
    ]
}

/// Options for a file: no label column in arrays, `label` in texts with names; columns chosen and dropped.
pub fn options(path: &Path) -> Vec<ReadOptions> {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let has_names = !name.contains(".npy") && !name.contains("plain");
    let label = has_names.then(|| "label".to_owned());
    let names = if has_names { ["e", "a"] } else { ["3", "0"] };
    let of = |columns: Option<&[&str]>, drop: &[&str]| ReadOptions {
        label_column: label.clone(),
        columns: columns.map(|names| names.iter().map(|name| name.to_string()).collect()),
        drop: drop.iter().map(|name| name.to_string()).collect(),
        ..ReadOptions::default()
    };
    vec![of(None, &[]), of(Some(&names), &[]), of(None, &names[1..]), of(Some(&names), &names[..1])]
}

/// Rows from `first` on in blocks of `block` rows.
pub fn read(source: &dyn RowSource, first: usize, center: &[f64], block: usize) -> Result<Vec<f32>, Error> {
    let run = run();
    let (n, d) = (source.n_rows(), source.n_cols());
    let mut out = vec![f32::MAX; (n - first) * d];
    let mut reader = source.open(first, center, &run)?;
    out.chunks_mut((block * d).max(1)).try_for_each(|rows| reader.read(rows, &run))?;
    Ok(out)
}

/// What is wrong with a file, read whole; empty if nothing is.
pub fn error(path: &Path, options: &ReadOptions) -> String {
    let result = RowFile::open(path, options, &run()).and_then(|file| read(&file, 0, &[], 3));
    result.map_or_else(|error| error.to_string(), |_| String::new())
}

/// The same values, bit by bit, any NaN being as good as another.
#[track_caller]
pub fn assert_same(found: &[f32], expected: &[f32], what: &str) {
    let bits = |values: &[f32]| -> Vec<u32> {
        values.iter().map(|x| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }).collect()
    };
    assert_eq!(bits(found), bits(expected), "{what}");
}
