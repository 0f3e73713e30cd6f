//! Values of parameters, the same for Rust, Python, the command line and JSON.

use std::fmt;

use serde_json::Value as Json;

use super::{Domain, Number, byte_count, count, duration, real};
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
    /// Parses a value of a command line.
    ///
    /// # Errors
    /// The expected values, in words.
    pub fn parse(text: &str, domain: &Domain) -> std::result::Result<Self, String> {
        if domain.has_word(text) {
            return Ok(Self::Word(text.into()));
        }
        let wrong = |_| format!("expected {}", domain.expected());
        match domain.number {
            _ if domain.is_flag => match text {
                "true" => Ok(Self::Flag(true)),
                "false" => Ok(Self::Flag(false)),
                _ => Err("expected true or false".into()),
            },
            Some(_) if domain.is_list => text
                .split(',')
                .map(real)
                .collect::<std::result::Result<_, _>>()
                .map(Self::List)
                .map_err(|_| format!("expected {}, with commas between the numbers", domain.expected())),
            Some(Number::Count) if domain.words.is_empty() => count(text).map(|count| Self::Count(count as u64)),
            Some(Number::Bytes) if domain.words.is_empty() => byte_count(text).map(Self::Count),
            Some(Number::Count) => count(text).map(|count| Self::Count(count as u64)).map_err(wrong),
            Some(Number::Bytes) => byte_count(text).map(Self::Count).map_err(wrong),
            Some(Number::Real) => real(text).map(Self::Real).map_err(wrong),
            Some(Number::Seconds) if domain.words.is_empty() => {
                duration(text).map(|time| Self::Real(time.as_secs_f64()))
            }
            Some(Number::Seconds) => duration(text)
                .map(|time| Self::Real(time.as_secs_f64()))
                .map_err(|_| format!("expected a time such as 60s or 5m, {}", domain.expected())),
            None => Err(format!("expected {}", domain.expected())),
        }
    }

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
    fn number(&self) -> Option<f64> {
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

/// A type that parameters may have.
pub trait ParameterType: Sized {
    /// Values that the type holds, without the limits of a single parameter.
    fn domain() -> Domain;

    /// From a value; `None` if the type cannot hold it.
    fn from_value(value: &Value) -> Option<Self>;

    /// As a value.
    fn to_value(&self) -> Value;
}

/// A length of time in seconds.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Seconds(pub f64);

impl ParameterType for Seconds {
    fn domain() -> Domain {
        Domain::from_number(Number::Seconds)
    }

    fn from_value(value: &Value) -> Option<Self> {
        value.number().map(Self)
    }

    fn to_value(&self) -> Value {
        Value::Real(self.0)
    }
}

impl ParameterType for bool {
    fn domain() -> Domain {
        Domain { is_flag: true, ..Domain::default() }
    }

    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Flag(flag) = value { Some(*flag) } else { None }
    }

    fn to_value(&self) -> Value {
        Value::Flag(*self)
    }
}

impl ParameterType for f64 {
    fn domain() -> Domain {
        Domain::from_number(Number::Real)
    }

    fn from_value(value: &Value) -> Option<Self> {
        value.number()
    }

    fn to_value(&self) -> Value {
        Value::Real(*self)
    }
}

/// Whole numbers: counts, or bytes where they have 64 bits.
macro_rules! whole {
    ($($type:ty: $number:ident),+) => {$(
        impl ParameterType for $type {
            fn domain() -> Domain {
                Domain::from_number(Number::$number)
            }

            fn from_value(value: &Value) -> Option<Self> {
                value.whole()?.try_into().ok()
            }

            fn to_value(&self) -> Value {
                Value::Count(*self as u64)
            }
        }
    )+};
}
whole!(usize: Count, u32: Count, u64: Bytes);

impl<T: ParameterType> ParameterType for Option<T> {
    fn domain() -> Domain {
        T::domain()
    }

    fn from_value(value: &Value) -> Option<Self> {
        if *value == Value::None { Some(None) } else { T::from_value(value).map(Some) }
    }

    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::None, T::to_value)
    }
}
