//! What numbers in a file must be: one vocabulary for everything that reads a model, so that no loader takes them unseen.

use super::Element;

/// What numbers must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Must {
    /// Finite.
    Finite,
    /// Finite in single precision, as features are.
    FitSingle,
    /// Finite and above 0: widths, scales.
    Positive,
    /// Finite and at least 0.
    NonNegative,
    /// At least 0, perhaps infinite: bounds.
    Bound,
    /// Between 0 and 1, with rows that sum to 1.
    Shares,
    /// Finite, or NaN in a whole row: scores, of rows that perhaps no label reaches.
    Scores,
}

/// Floating-point types of arrays.
pub trait Real: Element + Into<f64> {}

impl Real for f32 {}
impl Real for f64 {}

/// Other types, whose values are always numbers.
pub trait Whole: Element {}

impl Whole for u8 {}
impl Whole for u32 {}
impl Whole for u64 {}
impl Whole for i64 {}

/// How far shares in single precision may be from a sum of 1.
const SUM_TOL: f64 = 1e-5;

impl Must {
    /// Place of the first value that is not what it must be, in rows of `width` values.
    pub fn find<T: Real>(self, values: &[T], width: usize) -> Option<usize> {
        let first = |is_right: &dyn Fn(f64) -> bool| values.iter().position(|&x| !is_right(x.into()));
        let first_row = |is_right: &dyn Fn(&[T]) -> bool| {
            let at = values.chunks(width.max(1)).position(|row| !is_right(row))?;
            Some(at * width.max(1))
        };
        match self {
            Self::Finite => first(&f64::is_finite),
            Self::FitSingle => first(&|x| x.abs() <= f64::from(f32::MAX)),
            Self::Positive => first(&|x| x > 0.0 && x.is_finite()),
            Self::NonNegative => first(&|x| x >= 0.0 && x.is_finite()),
            Self::Bound => first(&|x| x >= 0.0),
            Self::Shares => first(&|x| (0.0..=1.0).contains(&x))
                .or_else(|| first_row(&|row| (row.iter().map(|&x| x.into()).sum::<f64>() - 1.0).abs() <= SUM_TOL)),
            Self::Scores => first_row(&|row| {
                let is_nan = |x: &T| (*x).into().is_nan();
                row.iter().all(|&x| x.into().is_finite()) || row.iter().all(is_nan)
            }),
        }
    }

    /// Whether all values are what they must be, in rows of `width` values.
    pub fn holds<T: Real>(self, values: &[T], width: usize) -> bool {
        self.find(values, width).is_none()
    }

    /// What is expected, in words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Finite => "finite numbers",
            Self::FitSingle => "finite numbers that single precision holds",
            Self::Positive => "finite numbers above 0",
            Self::NonNegative => "finite numbers of at least 0",
            Self::Bound => "numbers of at least 0",
            Self::Shares => "shares between 0 and 1 that sum to 1",
            Self::Scores => "rows of finite numbers, or of NaN alone",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wrong_number_is_found() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let all = [Must::Finite, Must::FitSingle, Must::Positive, Must::NonNegative, Must::Bound, Must::Shares];
        for must in all.into_iter().chain([Must::Scores]) {
            assert_eq!(must.find(&[0.25, 0.75, 0.5, 0.5], 2), None, "{must:?}");
            assert_eq!(must.find::<f64>(&[], 2), None, "{must:?}");
            assert_eq!(
                must.find(&[0.25, 0.75, 0.5, nan], 2),
                Some(if must == Must::Scores { 2 } else { 3 }),
                "{must:?}"
            );
            assert_eq!(must.holds(&[0.5, inf], 2), must == Must::Bound, "{must:?}");
            assert_eq!(must.holds(&[1.5, -0.5], 2), [Must::Finite, Must::FitSingle, Must::Scores].contains(&must));
        }
        assert!(!Must::FitSingle.holds(&[1e39], 1) && Must::Finite.holds(&[1e39], 1));
        assert!(!Must::Positive.holds(&[0.0], 1) && Must::NonNegative.holds(&[0.0], 1));
        assert_eq!(Must::Shares.find(&[0.5f32, 0.5, 0.5, 0.4], 2), Some(2));
        assert!(Must::Scores.holds(&[nan, nan, 1e300, -1.0], 2));
    }
}
