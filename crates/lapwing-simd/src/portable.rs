//! Vectors as arrays: for any processor, and as the reference for the other levels in tests.

use std::array::from_fn;

use crate::inlined;
use crate::simd::{DOUBLES, Doubles, Floats, Ints, LANES, Simd};

/// Arrays in place of vectors.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

impl Simd for Portable {
    const IS_WIDE: bool = false;
    type F32 = [f32; LANES];
    type I32 = [i32; LANES];
    type F64 = [f64; DOUBLES];

    inlined! {
        fn splat(self, value: f32) -> Self::F32 = [value; LANES];
        fn load(self, from: &[f32; LANES]) -> Self::F32 = *from;
        fn splat_int(self, value: i32) -> Self::I32 = [value; LANES];
        fn load_ints(self, from: &[i32; LANES]) -> Self::I32 = *from;
        fn splat_double(self, value: f64) -> Self::F64 = [value; DOUBLES];
        fn load_doubles(self, from: &[f64; DOUBLES]) -> Self::F64 = *from;
        fn widen(self, from: &[f32; DOUBLES]) -> Self::F64 = from.map(f64::from);
    }
    #[inline(always)]
    fn transpose(self, from: &[f32], stride: usize, to: &mut [f32], to_stride: usize) {
        for row in 0..LANES {
            for column in 0..LANES {
                to[column * to_stride + row] = from[row * stride + column];
            }
        }
    }
}

/// a·b + c: fused if the target does that in hardware.
#[inline(always)]
fn fused(a: f32, b: f32, c: f32) -> f32 {
    if FUSES { a.mul_add(b, c) } else { a * b + c }
}

/// Whether the target multiplies and adds with one rounding in hardware.
const FUSES: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));

#[inline(always)]
fn zip<T: Copy, U, const N: usize>(a: [T; N], b: [T; N], with: impl Fn(T, T) -> U) -> [U; N] {
    from_fn(|lane| with(a[lane], b[lane]))
}

impl Floats for [f32; LANES] {
    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        *to = self;
    }
    inlined! {
        fn add(self, other: Self) -> Self = zip(self, other, |a, b| a + b);
        fn sub(self, other: Self) -> Self = zip(self, other, |a, b| a - b);
        fn mul(self, other: Self) -> Self = zip(self, other, |a, b| a * b);
        fn div(self, other: Self) -> Self = zip(self, other, |a, b| a / b);
        fn max(self, other: Self) -> Self = zip(self, other, |a, b| if a > b { a } else { b });
        fn power_of_two(self) -> Self = self.map(|x| f32::from_bits(((x as i32 + 127) as u32) << 23));
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        from_fn(|lane| fused(self[lane], factor[lane], term[lane]))
    }
    #[inline(always)]
    fn round(self) -> Self {
        // Adding 1.5·2²³ leaves no bits for a fraction.
        const WHOLE: f32 = 12_582_912.0;
        self.map(|x| (x + WHOLE) - WHOLE)
    }
    #[inline(always)]
    fn at_most(self, limit: Self) -> u32 {
        (0..LANES).fold(0, |bits, lane| bits | u32::from(self[lane] <= limit[lane]) << lane)
    }
    #[inline(always)]
    fn select_less(self, other: Self, yes: Self, no: Self) -> Self {
        from_fn(|lane| if self[lane] < other[lane] { yes[lane] } else { no[lane] })
    }
    #[inline(always)]
    fn sum(mut self) -> f32 {
        for half in [8, 4, 2, 1] {
            for lane in 0..half {
                self[lane] += self[lane + half];
            }
        }
        self[0]
    }
}

impl Ints for [i32; LANES] {
    type F32 = [f32; LANES];

    inlined! {
        fn add(self, other: Self) -> Self = zip(self, other, i32::wrapping_add);
        fn sub(self, other: Self) -> Self = zip(self, other, i32::wrapping_sub);
        fn xor(self, other: Self) -> Self = zip(self, other, |a, b| a ^ b);
        fn to_floats(self) -> Self::F32 = self.map(|x| x as f32);
        fn sum(self) -> i32 = self.iter().fold(0, |sum, x| sum.wrapping_add(*x));
    }
    #[inline(always)]
    fn add_byte_products(self, y: Self, z: Self) -> Self {
        self.add(zip(y, z, |y, z| {
            let (y, z) = (y.to_ne_bytes(), z.to_ne_bytes());
            (0..4).map(|at| i32::from(y[at]) * i32::from(z[at] as i8)).sum()
        }))
    }
}

impl Doubles for [f64; DOUBLES] {
    #[inline(always)]
    fn store(self, to: &mut [f64; DOUBLES]) {
        *to = self;
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        from_fn(|lane| {
            if FUSES { self[lane].mul_add(factor[lane], term[lane]) } else { self[lane] * factor[lane] + term[lane] }
        })
    }
}
