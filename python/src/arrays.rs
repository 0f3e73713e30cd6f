//! NumPy arrays in and out: borrowed if type and order fit, returned without a copy.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use lapwing::data::{Buffer, Csr, Dense, DenseValues, Error, Features, Matrix};
use lapwing_core::mapped::Watch;
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::to_py;

/// A dict of values by key: `py_dict!(py, "key": value, …)`.
macro_rules! py_dict {
    ($py:expr, $( $key:literal: $value:expr ),+ $(,)?) => {{
        let dict = pyo3::types::PyDict::new($py);
        $( dict.set_item($key, $value)?; )+
        dict
    }};
}
pub(crate) use py_dict;

/// A pickle: a class, and the arguments from which its constructor makes an equal object.
pub type Pickle<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

/// Compressed sparse rows as Python passes them: `(shape, indptr, indices, data)`.
#[derive(FromPyObject)]
pub struct CsrInput<'py, T: Element>(
    (usize, usize),
    PyReadonlyArray1<'py, u64>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, T>,
);

/// Features as Python passes them.
pub struct FeaturesInput<'py> {
    /// The file behind the array, if NumPy has mapped one. It is dropped before the array.
    watch: Option<Watch>,
    values: ValuesInput<'py>,
    /// The object itself.
    pub object: Bound<'py, PyAny>,
}

#[derive(FromPyObject)]
enum ValuesInput<'py> {
    F32(PyReadonlyArray2<'py, f32>),
    F64(PyReadonlyArray2<'py, f64>),
    U8(PyReadonlyArray2<'py, u8>),
    Sparse(CsrInput<'py, f32>),
}

impl<'py> FromPyObject<'_, 'py> for FeaturesInput<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let values: ValuesInput<'py> = object.extract()?;
        let watch = match &values {
            ValuesInput::F32(array) => watched(array)?,
            ValuesInput::F64(array) => watched(array)?,
            ValuesInput::U8(array) => watched(array)?,
            ValuesInput::Sparse(_) => None,
        };
        Ok(Self { values, watch, object: object.to_owned() })
    }
}

/// A watch over the file that NumPy has mapped for an array, so that a file that is cut short meanwhile is an error and no fault.
fn watched<T: Element>(array: &PyReadonlyArray2<'_, T>) -> PyResult<Option<Watch>> {
    let (mut owner, mut file) = (array.as_any().clone(), None);
    while let Ok(base) = owner.getattr("base") {
        if let Ok(name) = owner.getattr("filename").and_then(|name| name.extract::<PathBuf>()) {
            // A view of a part says where its whole begins in the file, and the last one in this chain is the whole.
            let number = |name: &str| owner.getattr(name).and_then(|number| number.extract::<u64>());
            let length = number("offset")?.saturating_add(number("nbytes")?);
            let open = File::open(&name).ok().map(|file| (file, length));
            file = Some((name, open));
        }
        owner = base;
    }
    // An array in another order is refused later.
    Ok(file.zip(array.as_slice().ok()).map(|((name, open), values)| Watch::new(values, name, open)))
}

/// Numbers, one for each edge or pair.
#[derive(FromPyObject)]
pub enum RealsInput<'py> {
    F32(PyReadonlyArray1<'py, f32>),
    F64(PyReadonlyArray1<'py, f64>),
}

impl FeaturesInput<'_> {
    /// Dense features are borrowed from the arrays, sparse ones copied.
    pub fn features(&self) -> PyResult<Features<'_>> {
        self.watch.as_ref().map_or(Ok(()), Watch::check).map_err(to_py)?;
        match &self.values {
            ValuesInput::F32(array) => dense(array, DenseValues::F32),
            ValuesInput::F64(array) => dense(array, DenseValues::F64),
            ValuesInput::U8(array) => dense(array, DenseValues::U8),
            ValuesInput::Sparse(csr) => csr.matrix().map(|csr| Features::Sparse(Arc::new(csr))),
        }
    }
}

impl<T: Element + Copy> CsrInput<'_, T> {
    /// A copy of the matrix, checked.
    pub fn matrix(&self) -> PyResult<Csr<T>> {
        let Self((n_rows, n_cols), indptr, indices, data) = self;
        Csr::new(*n_rows, *n_cols, vector(indptr)?, vector(indices)?, vector(data)?).map_err(to_py)
    }
}

fn dense<'a, T: Element>(
    array: &'a PyReadonlyArray2<'_, T>,
    wrap: impl FnOnce(Buffer<'a, T>) -> DenseValues<'a>,
) -> PyResult<Features<'a>> {
    let values = wrap(Buffer::Borrowed(row_major(array, "features")?));
    Dense::new(array.shape()[0], array.shape()[1], values).map(Features::Dense).map_err(to_py)
}

/// Copies a one-dimensional array.
pub fn vector<T: Element + Copy>(array: &PyReadonlyArray1<'_, T>) -> PyResult<Vec<T>> {
    Ok(array.as_slice()?.to_vec())
}

/// Copies a two-dimensional array.
pub fn matrix(array: &PyReadonlyArray2<'_, f64>) -> PyResult<Matrix> {
    Matrix::new(array.shape()[0], array.shape()[1], row_major(array, "the array")?.to_vec()).map_err(to_py)
}

/// The values of an array, row by row.
pub fn row_major<'a, T: Element>(array: &'a PyReadonlyArray2<'_, T>, name: &str) -> PyResult<&'a [T]> {
    if !array.is_c_contiguous() {
        return Err(PyTypeError::new_err(format!("{name} must be C-contiguous")));
    }
    Ok(array.as_slice()?)
}

/// Both ends of each edge (m, 2), in the order of the edges.
pub fn ends<'a, T: Element>(edges: &'a PyReadonlyArray2<'_, T>) -> PyResult<&'a [[T; 2]]> {
    match row_major(edges, "edges")?.as_chunks::<2>() {
        (ends, []) if edges.shape()[1] == 2 => Ok(ends),
        _ => Err(PyTypeError::new_err("edges must be an array of two columns")),
    }
}

/// Moves `values`, row-major, to a NumPy array.
pub fn array2<T: Element>(
    py: Python<'_>,
    n_rows: usize,
    n_cols: usize,
    values: Vec<T>,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    PyArray1::from_vec(py, values).reshape([n_rows, n_cols])
}

/// Moves a matrix to a NumPy array.
pub fn matrix_array(py: Python<'_>, matrix: Matrix) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let (n_rows, n_cols) = (matrix.n_rows(), matrix.n_cols());
    array2(py, n_rows, n_cols, matrix.into_values())
}

/// Moves a sparse matrix to Python as `(shape, indptr, indices, data)`.
pub fn csr_arrays<T: Element>(py: Python<'_>, csr: Csr<T>) -> PyResult<Bound<'_, PyTuple>> {
    let shape = (csr.n_rows(), csr.n_cols());
    let (indptr, indices, values) = csr.into_parts();
    let arrays = (PyArray1::from_vec(py, indptr), PyArray1::from_vec(py, indices), PyArray1::from_vec(py, values));
    (shape, arrays.0, arrays.1, arrays.2).into_pyobject(py)
}

/// Moves features to Python, copied unless they are owned here alone: an array, or the parts of a sparse matrix.
pub fn features_object<'py>(py: Python<'py>, features: Features<'_>) -> PyResult<Bound<'py, PyAny>> {
    let dense = match features {
        Features::Sparse(csr) => return csr_arrays(py, Arc::unwrap_or_clone(csr)).map(Bound::into_any),
        Features::Dense(dense) => dense,
    };
    let (n, d) = (dense.n_rows(), dense.n_cols());
    let values = dense.values().clone();
    drop(dense);
    macro_rules! moved {
        ($values:expr) => {
            match $values {
                Buffer::Owned(values) => Arc::unwrap_or_clone(values),
                other => other.as_slice().to_vec(),
            }
        };
    }
    match values {
        DenseValues::F32(values) => array2(py, n, d, moved!(values)).map(Bound::into_any),
        DenseValues::F64(values) => array2(py, n, d, moved!(values)).map(Bound::into_any),
        DenseValues::U8(values) => array2(py, n, d, moved!(values)).map(Bound::into_any),
    }
}

/// A summary as JSON text.
pub fn json(report: &impl serde::Serialize) -> PyResult<String> {
    let fault = |e| to_py(Error::Internal { reason: format!("cannot write the report: {e}") });
    serde_json::to_string(report).map_err(fault)
}
