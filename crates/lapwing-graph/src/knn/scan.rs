//! Folds a row of matrix products into a candidate list: the part of the search that is not a matrix product.

use super::lists::{distance_of, key, offer};

/// Offers row `ids[j]` at squared distance `2·(half_norms[j] − products[j]) + 2·half_norm` for every j, but `own`.
///
/// Most are beyond the list's last distance: sixteen at a time are compared with it and passed over.
#[inline]
pub(super) fn fold(list: &mut [u64], own: u32, half_norm: f32, products: &[f32], half_norms: &[f32], ids: Ids) {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512F.
            return unsafe { fold_avx512(list, own, half_norm, products, half_norms, ids) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { fold_avx2(list, own, half_norm, products, half_norms, ids) };
        }
    }
    fold_plain(list, own, half_norm, products, half_norms, ids);
}

/// Row numbers of a block.
#[derive(Clone, Copy)]
pub(super) enum Ids {
    /// Consecutive ones from here on.
    From(u32),
}

impl Ids {
    #[inline(always)]
    fn get(self, at: usize) -> u32 {
        match self {
            Self::From(first) => first + at as u32,
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn fold_avx512(list: &mut [u64], own: u32, half_norm: f32, products: &[f32], half_norms: &[f32], ids: Ids) {
    fold_plain(list, own, half_norm, products, half_norms, ids);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fold_avx2(list: &mut [u64], own: u32, half_norm: f32, products: &[f32], half_norms: &[f32], ids: Ids) {
    fold_plain(list, own, half_norm, products, half_norms, ids);
}

#[inline(always)]
fn fold_plain(list: &mut [u64], own: u32, half_norm: f32, products: &[f32], half_norms: &[f32], ids: Ids) {
    const LANES: usize = 16;
    let last = list.len() - 1;
    let mut limit = distance_of(list[last]) / 2.0 - half_norm;
    let mut consider = |at: usize, limit: &mut f32| {
        let v = half_norms[at] - products[at];
        if v <= *limit {
            let id = ids.get(at);
            if id != own {
                offer(list, key(2.0 * (v + half_norm), id));
                *limit = distance_of(list[last]) / 2.0 - half_norm;
            }
        }
    };
    let whole = products.len() / LANES * LANES;
    for start in (0..whole).step_by(LANES) {
        let (p, h) = (&products[start..start + LANES], &half_norms[start..start + LANES]);
        let mut any = false;
        for lane in 0..LANES {
            any |= h[lane] - p[lane] <= limit;
        }
        if any {
            (start..start + LANES).for_each(|at| consider(at, &mut limit));
        }
    }
    (whole..products.len()).for_each(|at| consider(at, &mut limit));
}

#[cfg(test)]
mod tests {
    use super::super::lists::EMPTY;
    use super::*;

    #[test]
    fn all_versions_find_what_brute_force_finds() {
        let m = 203;
        let products: Vec<f32> = (0..m).map(|i| ((i * 7919) % 211) as f32 / 13.0).collect();
        let half_norms: Vec<f32> = (0..m).map(|i| 20.0 + ((i * 31) % 17) as f32).collect();
        let ids: Vec<u32> = (7..7 + m as u32).collect();
        let mut expected: Vec<u64> =
            (0..m).filter(|&j| ids[j] != 30).map(|j| key(2.0 * (half_norms[j] - products[j] + 5.0), ids[j])).collect();
        expected.sort_unstable();
        let (mut dispatched, mut plain) = (vec![EMPTY; 9], vec![EMPTY; 9]);
        fold(&mut dispatched, 30, 5.0, &products, &half_norms, Ids::From(7));
        fold_plain(&mut plain, 30, 5.0, &products, &half_norms, Ids::From(7));
        assert_eq!(dispatched, expected[..9]);
        assert_eq!(plain, expected[..9]);
    }
}
