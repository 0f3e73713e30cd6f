//! Values of parameters, the same for Rust, Python, the command line and JSON.

use std::fmt;

use serde_json::Value as Json;

use crate::{Error, Result};

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Chosen by the method: `null` in JSON, `None` in Python.
    None,
    /// True or false.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// A real number.
    Real(f64),
    /// A word.
    Word(String),
    /// Numbers.
    List(Vec<f64>),
}

/// The text of a real number, with an exponent if that is shorter.
pub(super) fn real_text(x: f64) -> String {
    let size = x.abs();
    if x != 0.0 && x.is_finite() && !(1e-3..1e15).contains(&size) { format!("{x:e}") } else { format!("{x}") }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Count(count) => write!(f, "{count}"),
            Self::Real(x) => f.write_str(&real_text(*x)),
            Self::Word(word) => f.write_str(word),
            Self::List(list) => f.write_str(&list.iter().map(|x| real_text(*x)).collect::<Vec<_>>().join(",")),
        }
    }
}

impl Value {
    /// A value from JSON; `name` is the parameter it is meant for.
    ///
    /// # Errors
    /// [`Error::Param`] for an object, or a list of other things than numbers or texts.
    pub fn from_json(name: &str, json: &Json) -> Result<Self> {
        let wrong =
            || Error::param(name, json, "null, true, false, a number, a text, or a list of numbers or of texts");
        match json {
            Json::Null => Ok(Self::None),
            Json::Bool(flag) => Ok(Self::Flag(*flag)),
            Json::String(word) => Ok(Self::Word(word.clone())),
            Json::Number(number) => match (number.as_u64(), number.as_f64()) {
                (Some(count), _) => Ok(Self::Count(count)),
                (None, Some(x)) => Ok(Self::Real(x)),
                (None, None) => Err(wrong()),
            },
            Json::Array(list) if !list.is_empty() && list.iter().all(Json::is_string) => {
                Ok(Self::Word(list.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(",")))
            }
            Json::Array(list) => list.iter().map(Json::as_f64).collect::<Option<_>>().map(Self::List).ok_or_else(wrong),
            Json::Object(_) => Err(wrong()),
        }
    }

    /// The value in JSON, which has no infinity: that is a text.
    pub fn to_json(&self) -> Json {
        match self {
            Self::None => Json::Null,
            Self::Flag(flag) => (*flag).into(),
            Self::Count(count) => (*count).into(),
            Self::Real(x) if !x.is_finite() => real_text(*x).into(),
            Self::Real(x) => (*x).into(),
            Self::Word(word) => word.as_str().into(),
            Self::List(list) => list.as_slice().into(),
        }
    }

    /// The number, if it is one.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(*count as f64),
            Self::Real(x) => Some(*x),
            Self::Word(word) if word == "inf" => Some(f64::INFINITY),
            _ => None,
        }
    }

    /// The whole number, if it is one.
    pub fn whole(&self) -> Option<u64> {
        match self {
            Self::Count(count) => Some(*count),
            Self::Real(x) if x.fract() == 0.0 && (0.0..=9e15).contains(x) => Some(*x as u64),
            _ => None,
        }
    }
}
