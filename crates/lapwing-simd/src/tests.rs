//! Every level gives the results of the portable one.

use super::*;

fn values(salt: usize) -> [f32; LANES] {
    std::array::from_fn(|lane| ((lane * 31 + salt * 7) % 23) as f32 - 11.0)
}

fn ints(salt: i32) -> [i32; LANES] {
    std::array::from_fn(|lane| (lane as i32 + 3).wrapping_mul(0x0123_4567).wrapping_add(salt.wrapping_mul(0x5bd1_e995)))
}

/// Small whole numbers, whose sums and products are exact, fused or not.
#[inline(always)]
fn floats_with<S: Simd>(simd: S) -> (Vec<[f32; LANES]>, Vec<f32>) {
    let (a, b, c) = (simd.load(&values(1)), simd.load(&values(2)), simd.splat(3.0));
    let exponents = simd.splat(-126.0).max(a.mul(c));
    let all = [
        a.add(b),
        a.sub(b),
        a.mul(b),
        a.div(c),
        a.mul_add(b, c),
        a.max(b),
        a.div(c).round(),
        exponents.power_of_two(),
        a.select_less(b, c, a),
        simd.load_part(&values(5)[..5]),
    ];
    let mut out = [[0.0; LANES]; 10];
    all.iter().zip(&mut out).for_each(|(value, out)| value.store(out));
    (out.to_vec(), vec![a.sum(), a.at_most(b) as f32, a.at_most(c) as f32])
}

dispatch! { fn floats() -> (Vec<[f32; LANES]>, Vec<f32>) = floats_with(simd) }

#[inline(always)]
fn ints_with<S: Simd>(simd: S) -> (Vec<[f32; LANES]>, Vec<i32>) {
    let (a, b) = (simd.load_ints(&ints(1)), simd.load_ints(&ints(2)));
    let part = simd.load_ints_part(&ints(3)[..11]);
    let all = [a.add(b), a.sub(b), a.xor(simd.splat_int(0x5555)), part.add_byte_products(a, b), part];
    let mut out = [[0.0; LANES]; 5];
    all.iter().zip(&mut out).for_each(|(value, out)| value.to_floats().store(out));
    (out.to_vec(), all.iter().map(|value| value.sum()).collect())
}

dispatch! { fn all_ints() -> (Vec<[f32; LANES]>, Vec<i32>) = ints_with(simd) }

#[inline(always)]
fn doubles_with<S: Simd>(simd: S) -> [f64; DOUBLES] {
    let wide = simd.widen(lanes(&values(4), 3));
    // Exact products and sums, because portable code may round twice.
    let from: [f64; DOUBLES] = std::array::from_fn(|lane| lane as f64);
    let mut out = [0.0; DOUBLES];
    wide.mul_add(simd.splat_double(0.25), simd.load_doubles(&from)).store(&mut out);
    out
}

dispatch! { fn doubles() -> [f64; DOUBLES] = doubles_with(simd) }

#[inline(always)]
fn transposed_with<S: Simd>(simd: S, from: &[f32], to: &mut [f32]) {
    simd.transpose(from, 19, to, 21);
}

dispatch! { fn transposed(from: &[f32], to: &mut [f32]) = transposed_with(simd) }

#[inline(always)]
fn listed_with<S: Simd>(simd: S, width: usize) -> (Vec<u64>, Vec<bool>) {
    let (mut list, mut found) = (vec![u64::MAX; width], Vec::new());
    for step in 0..500u64 {
        let key = (step * 31 % 97) << 32 | (step * 7919 % 600);
        found.push(simd.has_low(&list, key as u32));
        simd.insert_sorted(&mut list, key);
        assert!(list.is_sorted());
    }
    (list, found)
}

dispatch! { fn listed(width: usize) -> (Vec<u64>, Vec<bool>) = listed_with(simd) }

fn assert_equal<T: PartialEq + std::fmt::Debug>(all: &[T]) {
    assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
}

#[test]
fn all_levels_give_the_same_bits() {
    assert_equal(&each_level(floats));
    assert_equal(&each_level(all_ints));
    assert_equal(&each_level(doubles));
    for width in [8, 24] {
        assert_equal(&each_level(|| listed(width)));
    }
    let from: Vec<f32> = (0..16 * 19).map(|at| at as f32).collect();
    let all = each_level(|| {
        let mut to = vec![0.0; 16 * 21];
        transposed(&from, &mut to);
        to
    });
    assert_equal(&all);
    assert!((0..16).all(|row| (0..16).all(|column| all[0][column * 21 + row] == from[row * 19 + column])));
}

#[test]
fn levels_are_forced_on_one_thread_alone() {
    let own = level();
    let forced = each_level(|| (level(), std::thread::spawn(level).join().unwrap()));
    assert!(forced.iter().all(|(_, other)| *other == own) && forced.is_sorted());
    assert_eq!((forced[0].0, level()), (Level::Portable, own));
}

#[test]
fn the_environment_lowers_the_level() {
    let asked = [Some("portable"), Some("avx2"), Some("avx512"), Some("neon"), None].map(level::limit);
    assert_eq!(asked, [Level::Portable, Level::Avx2, Level::Avx512, Level::Avx512, Level::Avx512]);
    let word = std::env::var("LAPWING_SIMD").ok();
    assert!(level() <= level::limit(word.as_deref()));
}

#[test]
#[should_panic(expected = "whole vectors")]
fn vectors_end_within_their_slice() {
    lanes::<f32, LANES>(&[0.0; 20], 5);
}
