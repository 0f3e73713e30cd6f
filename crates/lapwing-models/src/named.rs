//! Enumerations whose values have names, as parameters on the command line and in Python.

/// Gives an enumeration `parse` and `name`: `named!(Type, "parameter", "name" => Value, …)`.
macro_rules! named {
    ($type:ident, $what:literal, $($name:literal => $value:ident),+) => {
        impl $type {
            /// From its name.
            ///
            /// # Errors
            /// [`Error::Param`](lapwing_data::Error::Param) listing the known names.
            pub fn parse(name: &str) -> lapwing_data::Result<Self> {
                lapwing_data::parse_choice($what, name, &[$(($name, Self::$value)),+])
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$value => $name),+ }
            }
        }
    };
}
pub(crate) use named;
