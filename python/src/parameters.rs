//! Parameters by name: values from a Python dict, and the declarations of the library.

use lapwing::data::params::{Condition, Domain, Number, Parameter, Parameters, Value, set_all};
use lapwing::data::{Error, Result};
use lapwing::graph::learn::LearnParams;
use lapwing::graph::sparsify::SparsifyParams;
use lapwing::graph::{GraphParams, KnnParams};
use lapwing::models::{AuditParams, HarmonicParams, SetsParams, Settings, SizingParams, StreamParams, SuggestParams};
use lapwing::solve::LaplacianParams;
use lapwing_core::params::Both;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrays::py_dict;
use crate::error::to_py;

/// Words for which Python has `None`; the first one that a parameter takes counts.
const WORDS_OF_NONE: [&str; 5] = ["none", "labeled", "exact", "all", "auto"];

/// Parameters with the values in `given`, and defaults for the others.
pub fn filled<P: Parameters + Default>(given: &Bound<'_, PyDict>) -> PyResult<P> {
    let mut params = P::default();
    fill(&mut params, given)?;
    Ok(params)
}

/// The parameters of a method.
pub fn settings(method: &str, given: &Bound<'_, PyDict>) -> PyResult<Settings> {
    let mut settings = Settings::new(method).map_err(to_py)?;
    fill(&mut settings, given)?;
    Ok(settings)
}

/// Sets parameters at their defaults to the values in `given`.
fn fill(params: &mut dyn Parameters, given: &Bound<'_, PyDict>) -> PyResult<()> {
    let list = params.list();
    let mut values: Vec<(String, Value)> = Vec::with_capacity(given.len());
    for (name, object) in given {
        let name: String = name.extract()?;
        // An unknown name becomes an error below.
        let parameter = list.iter().find(|parameter| parameter.name == name);
        let value = parameter.map_or(Ok(Value::None), |parameter| value(parameter, &object))?;
        // Most values are the defaults, which are already set.
        if parameter.is_none_or(|parameter| parameter.default != value) {
            values.push((name, value));
        }
    }
    set_all(params, values.iter().map(|(name, value)| (name.as_str(), value))).map_err(to_py)
}

fn value(parameter: &Parameter, object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let domain = &parameter.domain;
    let found = if object.is_none() {
        none(parameter)
    } else if let Ok(flag) = object.extract::<bool>() {
        let off = || (!flag && domain.has_word("off")).then(|| Value::Word("off".into()));
        if domain.is_flag { Some(Value::Flag(flag)) } else { off() }
    } else if let Ok(word) = object.extract::<String>() {
        (!domain.words.is_empty()).then_some(Value::Word(word))
    } else if domain.is_list && domain.number.is_none() {
        object.extract::<Vec<String>>().ok().map(|words| Value::Word(words.join(",")))
    } else if domain.is_list {
        object.extract().ok().map(Value::List)
    } else {
        number(domain, object)?
    };
    let Some(value) = found else {
        let (name, expected, kind) = (parameter.name, expected(domain), object.get_type().name()?);
        return Err(PyTypeError::new_err(format!("{name} must be {expected}, not {kind}")));
    };
    Ok(value)
}

/// The meaning of `None`, if it has one.
fn none(parameter: &Parameter) -> Option<Value> {
    let domain = &parameter.domain;
    if !parameter.excludes.is_empty() {
        return Some(Value::None);
    }
    let word = WORDS_OF_NONE.into_iter().find(|word| domain.has_word(word));
    word.filter(|_| domain.number.is_some()).map(|word| Value::Word(word.into()))
}

fn number(domain: &Domain, object: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    let is_a = |kind: &str| object.is_instance(&object.py().import("numbers")?.getattr(kind)?);
    Ok(match domain.number {
        Some(Number::Real | Number::Seconds) if is_a("Real")? => Some(Value::Real(object.extract()?)),
        Some(Number::Count | Number::Bytes) if is_a("Integral")? => Some(match object.extract() {
            Ok(count) => Value::Count(count),
            // No parameter is negative, or as large as this.
            Err(_) => Value::Real(object.extract()?),
        }),
        _ => None,
    })
}

fn expected(domain: &Domain) -> &'static str {
    match domain.number {
        _ if domain.is_flag => "True or False",
        Some(_) if domain.is_list => "an array of numbers",
        None if domain.is_list => "a list of strings",
        Some(Number::Real | Number::Seconds) => "a number",
        Some(_) => "an integer",
        None => "a string",
    }
}

/// A non-negative count.
///
/// # Errors
/// [`Error::Param`] if it is negative.
pub fn count(name: &str, value: i64) -> Result<usize> {
    usize::try_from(value).map_err(|_| Error::param(name, value, "at least 1"))
}

/// A value as a Python object.
fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::None => py.None().into_bound(py),
        Value::Flag(flag) => flag.into_pyobject(py)?.to_owned().into_any(),
        Value::Count(count) => count.into_pyobject(py)?.into_any(),
        Value::Real(x) => x.into_pyobject(py)?.into_any(),
        Value::Word(word) => word.into_pyobject(py)?.into_any(),
        Value::List(list) => list.into_pyobject(py)?.into_any(),
    })
}

/// Parameters as a dict that [`filled`] reads back.
pub fn parameter_dict<'py>(py: Python<'py>, params: &dyn Parameters) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for Parameter { name, .. } in params.list() {
        dict.set_item(name, object(py, &params.get(name).unwrap_or(Value::None))?)?;
    }
    Ok(dict)
}

/// Checks the parameters of a method, and those of its graph, against their ranges and against each other.
#[pyfunction]
pub fn check_parameters<'py>(
    py: Python<'py>,
    method: &str,
    parameters: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = settings(method, parameters)?;
    if settings.get("graph_bandwidth").is_some() {
        // The graph would report its own bandwidth under the name of the kernel's.
        settings.check_ranges().map_err(to_py)?;
    }
    settings.method().map_err(to_py)?;
    parameter_dict(py, &settings.params.graph)
}

/// The declared parameters of a method, or of one of the groups knn, graph, learn, sparsify, laplacian,
/// class-sizes, suggest, audit and prediction-sets: each a
/// dict of its name, doc, default, kind of numbers, interval, words with their docs, form of further words, cases in which it has an effect, and
/// parameters that it excludes.
#[pyfunction]
pub fn parameters<'py>(py: Python<'py>, of: &str) -> PyResult<Bound<'py, PyList>> {
    let list = match of {
        "knn" => KnnParams::default().list(),
        "graph" => GraphParams::default().list(),
        "learn" => LearnParams::default().list(),
        "sparsify" => SparsifyParams::default().list(),
        "stream" => Both::<StreamParams, HarmonicParams>::default().list(),
        "laplacian" => LaplacianParams::default().list(),
        "class-sizes" => SizingParams::default().list(),
        "suggest" => SuggestParams::default().list(),
        "audit" => AuditParams::default().list(),
        "prediction-sets" => SetsParams::default().list(),
        method => Settings::new(method).map_err(to_py)?.list(),
    };
    PyList::new(py, list.iter().map(|parameter| description(py, parameter)).collect::<PyResult<Vec<_>>>()?)
}

fn description<'py>(py: Python<'py>, parameter: &Parameter) -> PyResult<Bound<'py, PyDict>> {
    let domain = &parameter.domain;
    let kind = match domain.number {
        _ if domain.is_flag => "flag",
        Some(_) if domain.is_list => "list",
        Some(Number::Real | Number::Seconds) => "real",
        None if domain.is_list => "words",
        Some(Number::Count) => "count",
        Some(Number::Bytes) => "bytes",
        None => "choice",
    };
    let case = |case: &Vec<Condition>| {
        case.iter().map(|condition| (condition.parameter, condition.values)).collect::<Vec<_>>()
    };
    let cases: Vec<_> = parameter.cases.iter().map(case).collect();
    Ok(py_dict!(
        py,
        "name": parameter.name,
        "doc": &parameter.doc,
        "default": object(py, &parameter.default)?,
        "kind": kind,
        "interval": domain.range.interval(),
        "words": domain.words.clone(),
        "cases": cases,
        "excludes": parameter.excludes,
    ))
}
