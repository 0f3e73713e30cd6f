//! Element types of NumPy arrays.

/// Bytes of the largest element that NumPy allows.
const MAX_ITEM_BYTES: usize = i32::MAX as usize;

/// Kind of the elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::read) enum Kind {
    Bool,
    Int,
    UInt,
    Float,
    /// Fixed-width UTF-32 (`<U`).
    Unicode,
    /// Fixed-width bytes (`|S`).
    Bytes,
    /// Records of several numbers.
    Record,
}

/// Element type of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::read) struct Dtype {
    pub kind: Kind,
    /// Bytes of an element.
    pub size: usize,
    pub big_endian: bool,
}

/// Evaluates `$body` with `$value` as the type of features that keeps the numbers of type `$dtype`: the narrowest of
/// bytes, single and double precision.
macro_rules! with_value_type {
    ($dtype:expr, $value:ident => $body:expr) => {{
        use $crate::read::npy::Kind;
        match ($dtype.kind, $dtype.size) {
            (Kind::UInt, 1) => {
                type $value = u8;
                $body
            }
            (Kind::Float, 2 | 4) | (Kind::Bool, _) | (Kind::Int | Kind::UInt, 1 | 2) => {
                type $value = f32;
                $body
            }
            _ => {
                type $value = f64;
                $body
            }
        }
    }};
}
pub(in crate::read) use with_value_type;

impl Dtype {
    /// The type that NumPy calls `name`, such as `<f8`.
    pub(super) fn from_name(name: &str) -> Result<Self, String> {
        Self::known(name).ok_or_else(|| match name {
            "|O" => "an array of Python objects; save it as numbers or fixed-width text".to_owned(),
            _ => format!("elements of type '{name}'; expected integers, f16, f32, f64, bool or fixed-width text"),
        })
    }

    fn known(name: &str) -> Option<Self> {
        let (order, rest) = name.split_at_checked(1)?;
        let (kind, digits) = rest.split_at_checked(1)?;
        let count: usize = digits.parse().ok()?;
        let kind = match (kind, count) {
            ("b", 1) => Kind::Bool,
            ("i", 1 | 2 | 4 | 8) => Kind::Int,
            ("u", 1 | 2 | 4 | 8) => Kind::UInt,
            ("f", 2 | 4 | 8) => Kind::Float,
            ("U", _) => Kind::Unicode,
            ("S", _) => Kind::Bytes,
            _ => return None,
        };
        let size = if kind == Kind::Unicode { count.checked_mul(4)? } else { count };
        let big_endian = match order {
            "<" | "|" => false,
            ">" => true,
            "=" => cfg!(target_endian = "big"),
            _ => return None,
        };
        (size <= MAX_ITEM_BYTES).then_some(Self { kind, size, big_endian })
    }

    /// Whether the elements are numbers (or truth values).
    pub(in crate::read) fn is_number(self) -> bool {
        !matches!(self.kind, Kind::Unicode | Kind::Bytes | Kind::Record)
    }

    /// Whether the elements are integers (or truth values).
    pub(in crate::read) fn is_integer(self) -> bool {
        matches!(self.kind, Kind::Bool | Kind::Int | Kind::UInt)
    }

    /// Whether an array holds elements as memory holds numbers of `kind` and `size` bytes.
    pub(in crate::read) fn is_native(self, (kind, size): (Kind, usize)) -> bool {
        (self.kind, self.size) == (kind, size) && (size == 1 || self.big_endian == cfg!(target_endian = "big"))
    }

    /// Bytes of a feature.
    pub(in crate::read) fn feature_bytes(self) -> usize {
        with_value_type!(self, Value => size_of::<Value>())
    }
}
