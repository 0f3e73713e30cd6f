//! Pickles of objects whose state is bytes.

use lapwing::data::Result;
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::error::to_py;

/// A class, and the argument from which its constructor makes an equal object.
pub type Pickle<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

/// The pickle of an object whose state is bytes.
pub fn pickle<T: PyTypeInfo>(py: Python<'_>, state: impl FnOnce() -> Result<Vec<u8>> + Send) -> PyResult<Pickle<'_>> {
    let state = py.detach(state).map_err(to_py)?;
    Ok((py.get_type::<T>().into_any(), (PyBytes::new(py, &state),).into_pyobject(py)?))
}
