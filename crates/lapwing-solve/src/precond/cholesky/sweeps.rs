//! The two triangular sweeps of a complete factor on blocks of s columns, and the diagonal of its inverse.
//!
//! Cost: one multiplication and addition for each entry, column and sweep. One thread; several threads solve for several blocks.

use super::SparseCholesky;
use super::fronts::Front;
use crate::dispatch::{WIDEST, dispatch, with_width};

impl SparseCholesky {
    /// Z ← (L·D·Lᵀ)⁺·R on blocks (n, s), rows in the order of elimination.
    pub(super) fn sweep(&self, r: &[f64], z: &mut [f64], s: usize) {
        if s <= WIDEST {
            z.copy_from_slice(r);
            return sweep_strip(self, z, s);
        }
        let mut strip = Vec::new();
        for first in (0..s).step_by(WIDEST) {
            let columns = first..(first + WIDEST).min(s);
            strip.clear();
            r.chunks_exact(s).for_each(|row| strip.extend_from_slice(&row[columns.clone()]));
            sweep_strip(self, &mut strip, columns.len());
            let rows = z.chunks_exact_mut(s).zip(strip.chunks_exact(columns.len()));
            rows.for_each(|(row, strip)| row[columns.clone()].copy_from_slice(strip));
        }
    }

    /// σ² with σᵥ² = 1/dᵥ + (Σ sᵤᵥσᵤ)², later positions u first: at least the diagonal of (L·D·Lᵀ)⁺, because the standard deviation of a
    /// weighted mean is at most the mean of the standard deviations.
    pub(super) fn deviations(&self) -> Vec<f64> {
        let mut deviations = vec![0.0f64; self.fronts.order.len()];
        let mut end = self.columns.shares.len();
        for front in self.fronts.fronts.iter().rev() {
            let rows = &self.fronts.rows[front.rows.clone()];
            for k in front.columns.clone().rev() {
                let inner = k + 1..front.columns.end;
                let shares = &self.columns.shares[end - inner.len() - rows.len()..end];
                end -= shares.len();
                let (own, outer) = shares.split_at(inner.len());
                let own: f64 = own.iter().zip(&deviations[inner]).map(|(share, d)| share * d).sum();
                let outer: f64 = outer.iter().zip(rows).map(|(share, &row)| share * deviations[row as usize]).sum();
                deviations[k] = (self.columns.inverse_pivots[k] + (own + outer).powi(2)).sqrt();
            }
        }
        deviations.iter_mut().for_each(|deviation| *deviation *= *deviation);
        deviations
    }

    /// Y ← L·D^½·Y on blocks (n, m).
    pub(super) fn multiply(&self, block: &mut [f64], m: usize) {
        for (row, inverse) in block.chunks_exact_mut(m).zip(&self.columns.inverse_pivots) {
            let root = if *inverse > 0.0 { inverse.sqrt().recip() } else { 0.0 };
            row.iter_mut().for_each(|v| *v *= root);
        }
        // The last columns first: a row is read before it is changed.
        let mut end = self.columns.shares.len();
        for front in self.fronts.fronts.iter().rev() {
            let rows = &self.fronts.rows[front.rows.clone()];
            for k in front.columns.clone().rev() {
                let (own, later) = block[k * m..].split_at_mut(m);
                let inner = front.columns.end - k - 1;
                let shares = &self.columns.shares[end - inner - rows.len()..end];
                end -= shares.len();
                let places = (0..inner).chain(rows.iter().map(|&row| row as usize - k - 1));
                for (share, at) in shares.iter().zip(places) {
                    later[at * m..(at + 1) * m].iter_mut().zip(&*own).for_each(|(to, from)| *to -= share * from);
                }
            }
        }
    }
}

dispatch! {
    fn sweep_strip(factor: &SparseCholesky, block: &mut [f64], width: usize) = sweep_plain
}

#[inline(always)]
fn sweep_plain(factor: &SparseCholesky, block: &mut [f64], width: usize) {
    with_width!(width, sweep_width(factor, block));
}

#[inline(always)]
fn sweep_width<const S: usize>(factor: &SparseCholesky, block: &mut [f64]) {
    let rows = block.as_chunks_mut::<S>().0;
    assert_eq!(rows.len(), factor.fronts.order.len());
    let mut shares = factor.columns.shares.as_slice();
    for front in &factor.fronts.fronts {
        down(front, &factor.fronts.rows[front.rows.clone()], &mut shares, rows);
    }
    let mut shares = factor.columns.shares.as_slice();
    for front in factor.fronts.fronts.iter().rev() {
        let inverses = &factor.columns.inverse_pivots[front.columns.clone()];
        up(front, &factor.fronts.rows[front.rows.clone()], inverses, &mut shares, rows);
    }
}

/// y ← L⁻¹y for the columns of a front, whose shares come first.
#[inline(always)]
fn down<const S: usize>(front: &Front, later: &[u32], shares: &mut &[f64], rows: &mut [[f64; S]]) {
    for k in front.columns.clone() {
        let value = rows[k];
        let (inner, rest) = shares.split_at(front.columns.end - k - 1);
        let (outer, rest) = rest.split_at(later.len());
        *shares = rest;
        rows[k + 1..].iter_mut().zip(inner).for_each(|(row, &share)| add(row, share, &value));
        for (&row, &share) in later.iter().zip(outer) {
            add(&mut rows[row as usize], share, &value);
        }
    }
}

/// y ← L⁻ᵀD⁻¹y for the columns of a front, whose shares come last.
#[inline(always)]
fn up<const S: usize>(front: &Front, later: &[u32], inverses: &[f64], shares: &mut &[f64], rows: &mut [[f64; S]]) {
    for (k, inverse) in front.columns.clone().zip(inverses).rev() {
        let (rest, outer) = shares.split_at(shares.len() - later.len());
        let (rest, inner) = rest.split_at(rest.len() - (front.columns.end - k - 1));
        *shares = rest;
        // Two independent sums, so that additions overlap.
        let (mut value, mut other) = (rows[k].map(|v| v * inverse), [0.0; S]);
        let own = &rows[k + 1..front.columns.end];
        let (pairs, last) = inner.as_chunks::<2>();
        for (&[first, second], rows) in pairs.iter().zip(own.as_chunks::<2>().0) {
            add(&mut value, first, &rows[0]);
            add(&mut other, second, &rows[1]);
        }
        if let (&[share], Some(row)) = (last, own.last()) {
            add(&mut value, share, row);
        }
        let (pairs, last) = outer.as_chunks::<2>();
        let (ids, last_id) = later.as_chunks::<2>();
        for (&[first, second], &[id, next]) in pairs.iter().zip(ids) {
            add(&mut value, first, &rows[id as usize]);
            add(&mut other, second, &rows[next as usize]);
        }
        if let (&[share], &[id]) = (last, last_id) {
            add(&mut value, share, &rows[id as usize]);
        }
        rows[k] = std::array::from_fn(|lane| value[lane] + other[lane]);
    }
}

#[inline(always)]
fn add<const S: usize>(to: &mut [f64; S], share: f64, from: &[f64; S]) {
    for lane in 0..S {
        to[lane] += share * from[lane];
    }
}
