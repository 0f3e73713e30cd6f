//! Tiles of distances against sums in double precision.

use lapwing_simd::each_level;

use super::*;
use crate::knn::kernels::element::{Bytes, Floats};
use crate::knn::kernels::lists::{id_of, offer, shared_lists};

/// Rows of small whole numbers, whose products are exact in f32 whatever is fused.
fn values(n: usize, d: usize) -> Vec<u8> {
    (0..n * d).map(|at| ((at * 7919 + at / d * 31) % 211) as u8).collect()
}

fn floats(n: usize, d: usize) -> Points<Floats> {
    let words: Vec<f32> = values(n, d).iter().map(|&x| f32::from(x) - 100.0).collect();
    let norms = words.chunks_exact(d).map(Floats::norms).collect();
    Points { n, width: d, words, norms }
}

fn bytes(n: usize, d: usize) -> Points<Bytes> {
    let words: Vec<i32> = values(n, d).chunks_exact(4).map(bytemuck::pod_read_unaligned).collect();
    let norms = words.chunks_exact(d / 4).map(Bytes::norms).collect();
    Points { n, width: d / 4, words, norms }
}

/// Search distance of two rows, from their definition.
fn distance(d: usize, i: usize, j: usize, scale: f32) -> f32 {
    let all = values(i.max(j) + 1, d);
    let squared = |c: usize| (i32::from(all[i * d + c]) - i32::from(all[j * d + c])).pow(2);
    (0..d).map(squared).sum::<i32>() as f32 / scale
}

/// The `kept` nearest of `others` to row i by (distance, row).
fn nearest(d: usize, i: usize, others: impl Iterator<Item = usize>, kept: usize, scale: f32) -> Vec<u64> {
    let mut keys: Vec<u64> = others.map(|j| key(distance(d, i, j, scale), j as u32)).collect();
    keys.sort_unstable();
    keys.resize(keys.len().max(kept), EMPTY);
    keys.truncate(kept);
    keys
}

fn joined_leaves_hold_the_nearest<E: Element>(points: &Points<E>, d: usize, scale: f32) {
    let n = points.n;
    // Two leaves that overlap; the second leaves a panel and a tile unfinished.
    let leaves: [Vec<u32>; 2] = [(0..n as u32).filter(|i| i % 3 != 1).collect(), (n as u32 / 3..n as u32).collect()];
    for lists in each_level(|| {
        let lists = shared_lists(n, 8);
        let mut leaf = Leaf::default();
        leaves.iter().for_each(|ids| join(&mut leaf, points, ids, &lists));
        lists.into_vec()
    }) {
        for (i, list) in lists.chunks_exact(8).enumerate() {
            let met = |j: &usize| {
                let is_in = |leaf: &Vec<u32>, row: usize| leaf.contains(&(row as u32));
                *j != i && leaves.iter().any(|leaf| is_in(leaf, i) && is_in(leaf, *j))
            };
            assert_eq!(list, nearest(d, i, (0..n).filter(met), 8, scale), "row {i} of {n} x {d}");
        }
    }
}

#[test]
fn all_versions_of_the_join_find_what_brute_force_finds() {
    for (n, d) in [(203, 8), (70, 36), (9, 200)] {
        joined_leaves_hold_the_nearest(&floats(n, d), d, Floats::SQUARED);
        joined_leaves_hold_the_nearest(&bytes(n, d), d, Bytes::SQUARED);
    }
}

fn leaders_are_the_nearest<E: Element>(points: &Points<E>, d: usize, scale: f32) {
    let leaders: Vec<u32> = (0..points.n as u32).step_by(3).collect();
    let ids: Vec<u32> = (0..points.n as u32).rev().collect();
    let mut panels = Panels::default();
    panels.fill(points, &leaders);
    let mut chosen = vec![0u16; 3 * ids.len()];
    assign(points, &ids, &panels, &mut chosen);
    for (&id, chosen) in ids.iter().zip(chosen.chunks_exact(3)) {
        let expected = nearest(d, id as usize, leaders.iter().map(|&l| l as usize), 3, scale);
        assert!(expected.iter().zip(chosen).all(|(&key, &at)| id_of(key) == leaders[at as usize]));
    }
}

#[test]
fn rows_are_assigned_to_their_nearest_leaders() {
    leaders_are_the_nearest(&floats(133, 12), 12, Floats::SQUARED);
    leaders_are_the_nearest(&bytes(133, 12), 12, Bytes::SQUARED);
}

fn queries_are_compared_with_everyone<E: Element>(points: &Points<E>, d: usize, scale: f32) {
    let everyone: Vec<u32> = (0..points.n as u32).collect();
    let mut lists = vec![EMPTY; points.n * 16];
    for first in (0..points.n).step_by(40) {
        let mut panels = Panels::default();
        let ids = &everyone[first..(first + 40).min(points.n)];
        panels.fill(points, ids);
        compare(points, &everyone, panels.block(ids), &mut lists);
    }
    for (i, list) in lists.chunks_exact(16).enumerate() {
        assert_eq!(list, nearest(d, i, 0..points.n, 16, scale));
    }
}

#[test]
fn queries_find_what_brute_force_finds() {
    queries_are_compared_with_everyone(&floats(133, 12), 12, Floats::SQUARED);
    queries_are_compared_with_everyone(&bytes(133, 12), 12, Bytes::SQUARED);
}

#[inline(always)]
fn pair_with<S: Simd, E: Element>(simd: S, points: &Points<E>, i: usize, j: usize) -> f32 {
    E::pair(simd, points.row(i), points.row(j), (points.norms[i].0, points.norms[j].1))
}

dispatch! { fn pair[E: Element](points: &Points<E>, i: usize, j: usize) -> f32 = pair_with(simd) }

fn pairs_are_exact<E: Element>(points: &Points<E>, d: usize) {
    for (i, j) in [(0, 1), (3, 2), (5, 5)] {
        let expected = distance(d, i, j, E::SQUARED);
        assert!(each_level(|| pair(points, i, j)).iter().all(|&found| found == expected));
    }
}

#[test]
fn all_levels_agree_on_single_pairs() {
    for d in [4, 60, 64, 128, 200, 332] {
        pairs_are_exact(&floats(6, d), d);
        pairs_are_exact(&bytes(6, d), d);
    }
}

#[inline(always)]
fn listed_with<S: Simd>(simd: S, width: usize) -> Vec<u64> {
    let mut list = vec![EMPTY; width];
    for step in 0..500u32 {
        let id = step * 7919 % 60;
        offer_with(simd, &mut list, key(((step * 31 % 97) + id) as f32, id));
    }
    list
}

dispatch! { fn listed(width: usize) -> Vec<u64> = listed_with(simd) }

#[test]
fn lists_of_all_levels_are_those_of_the_portable_one() {
    for width in [8, 24] {
        let mut expected = vec![EMPTY; width];
        for step in 0..500u32 {
            let id = step * 7919 % 60;
            offer(&mut expected, key(((step * 31 % 97) + id) as f32, id));
        }
        assert!(each_level(|| listed(width)).iter().all(|list| *list == expected));
    }
}
