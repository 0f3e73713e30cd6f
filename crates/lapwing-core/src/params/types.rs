//! Types that parameters may have.

use super::{Domain, Number, Value};

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
