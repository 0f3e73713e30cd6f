//! Figures of other programs, for tests.

use std::path::Path;

/// An array of a file of `tests/golden`, as f64, row-major.
pub(crate) fn golden(file: &str, name: &str) -> Vec<f64> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(file);
    let mut archive = zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
    let array = npyz::NpyFile::new(archive.by_name(&format!("{name}.npy")).unwrap()).unwrap();
    let (kind, shape) = (array.dtype().descr(), array.shape().to_vec());
    let is_by_columns = array.order() == npyz::Order::Fortran && shape.len() == 2;
    let values: Vec<f64> = if kind.contains("f8") {
        array.into_vec().unwrap()
    } else if kind.contains("i8") {
        array.into_vec::<i64>().unwrap().into_iter().map(|x| x as f64).collect()
    } else {
        array.into_vec::<i32>().unwrap().into_iter().map(f64::from).collect()
    };
    if !is_by_columns {
        return values;
    }
    let (rows, cols) = (shape[0] as usize, shape[1] as usize);
    (0..rows * cols).map(|at| values[at % cols * rows + at / cols]).collect()
}
