//! Multiplicative updates: F ← F ∘ (2B/(F·P + B·T))^½ with B = X·E (Tian & Kuang 2012, with the exponent under which Q falls).
//!
//! F stays above 0 where X is not negative, Q falls in every iteration, and F and tF have the same successor: the fast first
//! drop of a start that is badly scaled is the change of scale alone. Departures: the paper's exponent of 1 diverges or
//! swings from such starts; ½ and ⅓ do not. Data with negative values is shifted by its minimum, *subtracted*: added, as
//! printed, it makes the data more negative.
//!
//! Cost: one pass, 4·n·d·k + 6·n·k² operations an iteration; F is changed in place. Parallel over blocks of rows, sums in
//! the order of [`rows`](super::rows).

use lapwing_data::Result;
use lapwing_simd::dispatch;
use lapwing_solve::products::{add_product, product};

use super::moments::{MomentSums, Moments};
use super::rows::Rows;
use super::{Course, Iterate, Trace};

/// Below it a denominator counts as it.
const TINY: f64 = f64::MIN_POSITIVE;

/// The exponent of an update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Exponent {
    /// ½.
    Half,
    /// ⅓: slower, and kept to be compared with.
    #[cfg(test)]
    Third,
}

/// Updates until Q settles.
pub(super) fn multiplicative(
    rows: &Rows<'_>,
    mut at: Iterate,
    exponent: Exponent,
    course: Course,
) -> Result<(Iterate, Trace)> {
    let mut trace = course.begin(&at);
    while trace.goes_on(&course) {
        update(rows, &mut at, exponent)?;
        trace.record(at.moments.objective(course.squared_norm), &course, rows.run);
        trace.converged = course.has_settled(&trace.objective);
    }
    Ok((at, trace))
}

/// One update; one pass.
pub(super) fn update(rows: &Rows<'_>, at: &mut Iterate, exponent: Exponent) -> Result<()> {
    let Moments { k, basis, gram, outer } = &at.moments;
    let k = *k;
    let zero = || MomentSums::zero(rows.d, k);
    let sums = rows.sum(k, &mut at.factor, zero, |sums, tile, f| {
        tile.scratch.resize(2 * f.len(), 0.0);
        let (b, below) = tile.scratch.split_at_mut(f.len());
        product(tile.x, basis, rows.d, b);
        product(f, outer, k, below);
        add_product(b, gram, k, below);
        match exponent {
            Exponent::Half => by_roots(f, b, below),
            #[cfg(test)]
            Exponent::Third => {
                f.iter_mut().zip(b).zip(below).for_each(|((f, b), below)| *f *= (2.0 * *b / below.max(TINY)).cbrt());
            }
        }
        sums.add_rows(tile.x, f, f.len() / k);
    })?;
    at.moments = Moments::new(k, sums.basis, sums.gram);
    Ok(())
}

dispatch! {
    /// f ← f·√(2b/below).
    pub(crate) fn by_roots(f: &mut [f64], b: &[f64], below: &[f64]) = by_roots_plain
}

#[inline(always)]
fn by_roots_plain(f: &mut [f64], b: &[f64], below: &[f64]) {
    for ((f, b), below) in f.iter_mut().zip(b).zip(below) {
        *f *= (2.0 * b / below.max(TINY)).sqrt();
    }
}
