//! Multiplicative updates: F ← F ∘ (2B/(F·P + B·T))^½ with B = X·E (Tian & Kuang 2012, with the exponent under which Q falls).
//!
//! If X is not negative, F stays positive and Q falls in every iteration. F and tF have the same successor, so that the fast first
//! decrease from a badly scaled start is only a change of scale. Departures: with the paper's exponent of 1 the iteration diverges
//! or oscillates from such starts; with ½ and ⅓ it does not. The minimum of data with negative values is *subtracted*: added, as
//! printed, it would make the data more negative.
//!
//! Cost: one pass, 4·n·d·k + 6·n·k² operations an iteration; F is changed in place. Parallel over blocks of rows, sums in
//! the order of [`rows`](super::rows).

use lapwing_core::Result;
use lapwing_simd::dispatch;
use lapwing_solve::products::{add_product, product};

use super::course::{Course, Iterate, Trace};
use super::moments::{MomentSums, Moments};
use super::rows::OffsetRows;

/// Least denominator.
const TINY: f64 = f64::MIN_POSITIVE;

/// Updates until Q converges.
pub(super) fn multiplicative(rows: &OffsetRows<'_>, mut at: Iterate, course: Course) -> Result<(Iterate, Trace)> {
    let mut trace = course.begin(&at);
    while trace.goes_on(&course) {
        update(rows, &mut at)?;
        trace.record(at.moments.objective(course.squared_norm), &course, rows.run);
        trace.converged = course.has_settled(&trace.objective);
    }
    Ok((at, trace))
}

/// One update; one pass.
pub(super) fn update(rows: &OffsetRows<'_>, at: &mut Iterate) -> Result<()> {
    let Moments { k, basis, gram, outer } = &at.moments;
    let k = *k;
    let zero = || MomentSums::zero(rows.d, k);
    let sums = rows.sum(k, &mut at.factor, zero, |sums, tile, f| {
        tile.scratch.resize(2 * f.len(), 0.0);
        let (b, below) = tile.scratch.split_at_mut(f.len());
        product(tile.x, basis, rows.d, b);
        product(f, outer, k, below);
        add_product(b, gram, k, below);
        by_roots(f, b, below);
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
