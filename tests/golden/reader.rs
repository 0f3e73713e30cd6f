//! Figures of other programs, for tests.

use std::path::Path;

/// An array of a file of `tests/golden`, as f64, row-major.
pub(crate) fn golden(file: &str, name: &str) -> Vec<f64> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(file);
    let mut archive = npyz::npz::NpzArchive::open(path).unwrap();
    let header = archive.by_name(name).unwrap().unwrap();
    let (kind, shape) = (header.dtype().descr(), header.shape().to_vec());
    let is_by_columns = header.order() == npyz::Order::Fortran && shape.len() == 2;
    drop(header);
    let file = archive.by_name(name).unwrap().unwrap();
    let values: Vec<f64> = if kind.contains("f8") {
        file.into_vec().unwrap()
    } else if kind.contains("i8") {
        file.into_vec::<i64>().unwrap().into_iter().map(|x| x as f64).collect()
    } else {
        file.into_vec::<i32>().unwrap().into_iter().map(f64::from).collect()
    };
    if !is_by_columns {
        return values;
    }
    let (rows, cols) = (shape[0] as usize, shape[1] as usize);
    (0..rows * cols).map(|at| values[at % cols * rows + at / cols]).collect()
}
