//! Parameters that are declared once.
//!
//! A declaration ([`parameters!`](crate::parameters)) states the name, the type, the default, the range and the meaning of every
//! parameter of a struct. The struct, its `Default` and its range checks are generated from it, and so are the options of the
//! program, the signatures and docstrings of the Python package, and the tables of the documentation: all of them read the list
//! that [`Parameters::list`] returns. Enumerations of named choices are declared by [`choices!`](crate::choices).
//!
//! ```
//! use lapwing_core::params::{Parameters, Value, above};
//!
//! lapwing_core::choices! {
//!     /// How the system is solved.
//!     pub enum Solver("solver", default Exact) {
//!         /// By elimination.
//!         Exact = "exact",
//!         /// By iteration.
//!         Iterative = "iterative",
//!     }
//! }
//!
//! lapwing_core::parameters! {
//!     /// Parameters of an example.
//!     pub struct ExampleParams {
//!         /// How the system is solved.
//!         solver: Solver = Solver::Exact;
//!         /// Residual at which the iteration stops.
//!         tol: f64 = 1e-6, in above(0.0).below(1.0), if [solver: "iterative"];
//!     }
//! }
//!
//! let mut params = ExampleParams::default();
//! params.set("solver", &Value::Word("iterative".into()))?;
//! assert_eq!(params.solver, Solver::Iterative);
//! params.tol = 2.0;
//! assert_eq!(params.check_ranges().unwrap_err().to_string(), "tol is 2; expected a number above 0 and below 1");
//! # Ok::<(), lapwing_core::Error>(())
//! ```

mod declare;
mod domain;
#[cfg(test)]
mod tests;
mod text;
mod types;
mod value;

pub use domain::{Domain, Number, Range, above, at_least};
use text::byte_count;
pub use text::{count, duration, nearest, real};
pub use types::{ParameterType, Seconds};
pub use value::Value;

use crate::{Error, Result};

/// Declaration of a parameter, from which its option, its argument and its row in a table are generated.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Name, in Rust and Python; the option of the program has hyphens for its underscores.
    pub name: &'static str,
    /// Meaning. The first sentence is a summary.
    pub doc: String,
    /// Values that it takes.
    pub domain: Domain,
    /// Value if none is given.
    pub default: Value,
    /// Cases in which the parameter has an effect; empty: in every case.
    pub cases: Vec<Vec<Condition>>,
    /// Parameters that must not be given together with this one.
    pub excludes: &'static [&'static str],
}

/// A parameter has an effect only while another parameter has one of these values.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The other parameter.
    pub parameter: &'static str,
    /// Its values; `given` stands for any number.
    pub values: &'static [&'static str],
}

/// In a [`Condition`]: the other parameter is a number or a list, no word.
const GIVEN: &str = "given";

impl Parameter {
    /// The first sentence of the meaning, without its full stop.
    pub fn summary(&self) -> &str {
        let end = self.doc.find(". ").unwrap_or(self.doc.len());
        self.doc[..end].trim_end_matches('.')
    }

    /// The option of the program, without the two hyphens in front.
    pub fn option(&self) -> String {
        self.name.replace('_', "-")
    }

    /// What the parameter needs to have an effect, in words; `name` writes a parameter's name.
    pub fn needs(&self, name: impl Fn(&str) -> String) -> Option<String> {
        let condition = |c: &Condition| {
            let values: Vec<&str> = c.values.iter().map(|v| if *v == GIVEN { "a number" } else { v }).collect();
            format!("{} {}", name(c.parameter), either(&values))
        };
        let case = |case: &Vec<Condition>| case.iter().map(condition).collect::<Vec<_>>().join(" and ");
        let cases: Vec<String> = self.cases.iter().map(case).collect();
        (!cases.is_empty()).then(|| cases.join(", or "))
    }

    /// Whether the parameter has an effect, given the values of the others, which `get` returns.
    pub fn has_effect(&self, get: impl Fn(&str) -> Option<Value>) -> bool {
        let holds = |condition: &Condition| match get(condition.parameter) {
            Some(Value::Word(word)) => condition.values.contains(&word.as_str()),
            // A condition on a parameter that does not exist counts as met.
            None => true,
            Some(Value::None) => false,
            Some(_) => condition.values.contains(&GIVEN),
        };
        self.cases.is_empty() || self.cases.iter().any(|case| case.iter().all(holds))
    }
}

/// Words with commas between and `or` before the last.
pub fn either(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).into(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Parameters that are known by name.
pub trait Parameters {
    /// All of them, in the order of their declaration, with their defaults.
    fn list(&self) -> Vec<Parameter>;

    /// The value of the parameter of that name; `None` if there is none.
    fn get(&self, name: &str) -> Option<Value>;

    /// Gives the parameter of that name a value.
    ///
    /// # Errors
    /// [`Error::Param`] for an unknown name, and for a value that the parameter's type cannot hold. Ranges are checked by
    /// [`Parameters::check_ranges`].
    fn set(&mut self, name: &str, value: &Value) -> Result<()>;

    /// Checks that every value is within its range.
    ///
    /// # Errors
    /// [`Error::Param`] naming the first one outside.
    fn check_ranges(&self) -> Result<()> {
        self.list().into_iter().try_for_each(|parameter| match self.get(parameter.name) {
            Some(value) if !parameter.domain.has(&value) => {
                Err(Error::param(parameter.name, value, parameter.domain.expected()))
            }
            _ => Ok(()),
        })
    }
}

/// Two structs of parameters as one; if both have a name, it means that of the first.
#[derive(Clone, Debug, Default)]
pub struct Both<A, B>(pub A, pub B);

impl<A: Parameters, B: Parameters> Parameters for Both<A, B> {
    fn list(&self) -> Vec<Parameter> {
        let mut list = self.0.list();
        list.extend(self.1.list());
        list
    }

    fn get(&self, name: &str) -> Option<Value> {
        self.0.get(name).or_else(|| self.1.get(name))
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<()> {
        if self.0.get(name).is_some() { self.0.set(name, value) } else { self.1.set(name, value) }
    }
}

/// Gives several parameters their values.
///
/// # Errors
/// [`Error::Param`] for an unknown name (with the nearest known one), for a value of a wrong type, and for two parameters that
/// exclude each other.
pub fn set_all<'v>(params: &mut dyn Parameters, given: impl IntoIterator<Item = (&'v str, &'v Value)>) -> Result<()> {
    let list = params.list();
    let mut seen: Vec<&str> = Vec::new();
    for (name, value) in given {
        let Some(parameter) = list.iter().find(|parameter| parameter.name == name) else {
            return Err(unknown(name, list.iter().map(|parameter| parameter.name)));
        };
        if *value == Value::None && !parameter.excludes.is_empty() {
            continue;
        }
        if let Some(other) = seen.iter().find(|other| parameter.excludes.contains(other)) {
            return Err(Error::param(name, value, format!("no value beside {other}")));
        }
        params.set(name, value)?;
        seen.push(parameter.name);
    }
    Ok(())
}

/// The error for a name that no parameter has.
pub fn unknown<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Error {
    let known: Vec<&str> = known.collect();
    let expected = match nearest(name, &known) {
        Some(near) => format!("a known parameter; the nearest is {near}"),
        None => format!("one of {}", known.join(", ")),
    };
    Error::param("parameter", format!("'{name}'"), expected)
}

/// A value that the type of a parameter cannot hold.
#[doc(hidden)]
pub fn mismatch(params: &dyn Parameters, name: &str, value: &Value) -> Error {
    let quoted = if let Value::Word(word) = value { format!("'{word}'") } else { value.to_string() };
    let expected = params.list().iter().find(|parameter| parameter.name == name).map(|p| p.domain.expected());
    Error::param(name, quoted, expected.unwrap_or_default())
}

/// A value of `T`, `word` for none.
#[doc(hidden)]
pub fn to_value<T: ParameterType>(value: &T, word: Option<&str>) -> Value {
    match (value.to_value(), word) {
        (Value::None, Some(word)) => Value::Word(word.into()),
        (value, _) => value,
    }
}

/// The `T` of a value, where `word` stands for none.
#[doc(hidden)]
pub fn from_value<T: ParameterType>(value: &Value, word: Option<&str>) -> Option<T> {
    match value {
        Value::Word(given) if Some(given.as_str()) == word => T::from_value(&Value::None),
        value => T::from_value(value),
    }
}

/// Lines of a doc comment as one text.
#[doc(hidden)]
pub fn joined(lines: &str) -> String {
    lines.split_whitespace().collect::<Vec<_>>().join(" ")
}
