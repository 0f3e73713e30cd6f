//! Columns of numbers: those that can be used, and their logarithms.

use std::borrow::Cow;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};

/// Larger numbers count as missing, as infinite ones do: their distances would not fit single precision.
const LARGEST: f64 = 1e30;

/// Whether a number can be used.
#[inline]
pub(super) fn is_usable(x: f64) -> bool {
    x.abs() <= LARGEST
}

/// The numbers of an array, in the precision that they have.
pub(super) enum Numbers<'a> {
    Singles(&'a [f32]),
    Doubles(Cow<'a, [f64]>),
}

impl<'a> Numbers<'a> {
    /// `None` if the array holds anything else.
    pub(super) fn of(array: &'a dyn Array) -> Option<Self> {
        let doubles = array.as_primitive_opt::<Float64Type>().map(|array| Self::Doubles(Cow::Borrowed(array.values())));
        doubles.or_else(|| Some(Self::Singles(array.as_primitive_opt::<Float32Type>()?.values())))
    }
}

/// The numbers of an array; `None` if it holds anything else.
pub(super) fn numbers_of(array: &dyn Array) -> Option<Cow<'_, [f64]>> {
    Some(match Numbers::of(array)? {
        Numbers::Singles(singles) => singles.iter().map(|&x| f64::from(x)).collect(),
        Numbers::Doubles(doubles) => doubles,
    })
}

/// The logarithm of a number if there is something to add before, else the number. Below 0 the curve is that above, turned by 180°: a fit
/// has no negative numbers there, but new rows may.
#[inline]
pub(super) fn logged(x: f64, shift: Option<f64>) -> f64 {
    let curve = |shift: f64| if x < 0.0 { 2.0 * shift.ln() - (shift - x).ln() } else { (x + shift).ln() };
    shift.map_or(x, curve)
}
