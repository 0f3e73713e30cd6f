//! The two macros by which choices and parameters are declared.

/// Declares enumerations of named choices: `pub enum Name("parameter", default Variant) { Variant = "word", … }`.
///
/// Each gets `ALL`, `NAMES`, `name()`, `parse()`, a `Default`, and the words as its serialized form.
#[macro_export]
macro_rules! choices {
    ($(
        $(#[doc = $doc:literal])*
        $vis:vis enum $type:ident($what:literal, default $default:ident) {
            $( $(#[doc = $variant_doc:literal])* $variant:ident = $word:literal ),+ $(,)?
        }
    )+) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[non_exhaustive]
        $vis enum $type {
            $( $(#[doc = $variant_doc])* #[serde(rename = $word)] $variant, )+
        }

        impl Default for $type {
            fn default() -> Self {
                Self::$default
            }
        }

        impl $type {
            /// All of them, in the order of their declaration.
            #[allow(dead_code)]
            pub const ALL: &'static [Self] = &[$( Self::$variant ),+];
            /// Their names.
            #[allow(dead_code)]
            pub const NAMES: &'static [&'static str] = &[$( $word ),+];

            /// The choice of that name.
            ///
            /// # Errors
            /// [`Error::Param`]($crate::Error::Param) listing the known names.
            pub fn parse(name: &str) -> $crate::Result<Self> {
                $crate::parse_choice($what, name, &[$( ($word, Self::$variant) ),+])
            }

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $word ),+ }
            }
        }

        impl $crate::params::ParameterType for $type {
            fn domain() -> $crate::params::Domain {
                $crate::params::Domain {
                    words: vec![$( ($word, $crate::params::joined(concat!($( $variant_doc, "\n" ),*))) ),+],
                    ..Default::default()
                }
            }

            fn from_value(value: &$crate::params::Value) -> Option<Self> {
                match value {
                    $crate::params::Value::Word(word) => Self::parse(word).ok(),
                    _ => None,
                }
            }

            fn to_value(&self) -> $crate::params::Value {
                $crate::params::Value::Word(self.name().into())
            }
        }
    )+};
}

/// Declares a struct of parameters; see [the module](crate::params).
///
/// A field is `name: Type = default`, then optionally: `or "word"`, the word for `None`; `in range`; and
/// `if [other: "value", …]`, once for each case in which the parameter has an effect. `parts` are structs of parameters whose
/// names are listed among its own; `extra` are fields that no name reaches.
#[macro_export]
macro_rules! parameters {
    (
        $(#[doc = $doc:literal])*
        $vis:vis struct $type:ident {
            $(
                $(#[doc = $field_doc:literal])*
                $field:ident: $field_type:ty = $default:expr
                $(, or $word:literal)?
                $(, in $range:expr)?
                $(, if $( [ $other:ident: $( $value:literal ),+ ] )+ )*
                ;
            )*
        }
        $( parts { $( $(#[doc = $part_doc:literal])* $part:ident: $part_type:ty ),+ $(,)? } )?
        $( extra { $( $(#[$extra_meta:meta])* $extra:ident: $extra_type:ty = $extra_default:expr ),+ $(,)? } )?
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        $vis struct $type {
            $( $(#[doc = $field_doc])* pub $field: $field_type, )*
            $( $( $(#[doc = $part_doc])* pub $part: $part_type, )+ )?
            $( $( $(#[$extra_meta])* pub $extra: $extra_type, )+ )?
        }

        impl Default for $type {
            fn default() -> Self {
                Self {
                    $( $field: $default, )*
                    $( $( $part: Default::default(), )+ )?
                    $( $( $extra: $extra_default, )+ )?
                }
            }
        }

        impl $crate::params::Parameters for $type {
            fn list(&self) -> Vec<$crate::params::Parameter> {
                #[allow(unused_mut)]
                let mut list = vec![$( $crate::params::Parameter {
                    name: stringify!($field),
                    doc: $crate::params::joined(concat!($( $field_doc, "\n" ),*)),
                    domain: <$field_type as $crate::params::ParameterType>::domain()
                        $( .or_words(&[$word]) )? $( .within($range) )?,
                    default: $crate::params::to_value::<$field_type>(&$default, $crate::params!(@word $( $word )?)),
                    cases: vec![$( vec![$( $crate::params::Condition {
                        parameter: stringify!($other),
                        values: &[$( $value ),+],
                    } ),+] ),*],
                    excludes: &[],
                } ),*];
                $( $( list.extend($crate::params::Parameters::list(&self.$part)); )+ )?
                list
            }

            fn get(&self, name: &str) -> Option<$crate::params::Value> {
                $( if name == stringify!($field) {
                    return Some($crate::params::to_value(&self.$field, $crate::params!(@word $( $word )?)));
                } )*
                $( $( if let Some(value) = $crate::params::Parameters::get(&self.$part, name) {
                    return Some(value);
                } )+ )?
                None
            }

            fn set(&mut self, name: &str, value: &$crate::params::Value) -> $crate::Result<()> {
                $( if name == stringify!($field) {
                    let word = $crate::params!(@word $( $word )?);
                    self.$field = match $crate::params::from_value(value, word) {
                        Some(value) => value,
                        None => return Err($crate::params::mismatch(self, name, value)),
                    };
                    return Ok(());
                } )*
                $( $( if $crate::params::Parameters::get(&self.$part, name).is_some() {
                    return $crate::params::Parameters::set(&mut self.$part, name, value);
                } )+ )?
                let list = $crate::params::Parameters::list(self);
                Err($crate::params::unknown(name, list.iter().map(|parameter| parameter.name)))
            }
        }
    };
}

/// The word for `None`, if there is one.
#[doc(hidden)]
#[macro_export]
macro_rules! params {
    (@word) => {
        None
    };
    (@word $word:literal) => {
        Some($word)
    };
}
