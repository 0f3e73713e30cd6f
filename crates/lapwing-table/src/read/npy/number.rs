//! Elements of arrays as numbers of any type.

use bytemuck::Pod;
use half::f16;
use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};

use super::dtype::{Dtype, Kind};

/// Numbers that array elements are converted to.
pub(in crate::read) trait Number: Pod + Default {
    /// The elements that are numbers of this type without a conversion.
    const NATIVE: (Kind, usize);

    fn from_f64(value: f64) -> Self;
    fn from_i64(value: i64) -> Self;
    fn from_u64(value: u64) -> Self;
}

macro_rules! number {
    ($($type:ty: $kind:ident),*) => {$(
        impl Number for $type {
            const NATIVE: (Kind, usize) = (Kind::$kind, size_of::<$type>());

            fn from_f64(value: f64) -> Self {
                value as $type
            }
            fn from_i64(value: i64) -> Self {
                value as $type
            }
            fn from_u64(value: u64) -> Self {
                value as $type
            }
        }
    )*};
}
number!(f32: Float, f64: Float, u8: UInt, u32: UInt, i64: Int);

/// Converts the elements in `bytes` to `values`.
pub(super) fn convert<N: Number>(bytes: &[u8], dtype: Dtype, values: &mut [N]) {
    if dtype.is_native((Kind::Float, 2)) && N::NATIVE == f32::NATIVE {
        let halves = bytemuck::try_cast_slice::<u8, u16>(bytes);
        if let (Ok(halves), Ok(singles)) = (halves, bytemuck::try_cast_slice_mut::<N, f32>(values)) {
            // Processors convert several of half precision at a time.
            return halves.reinterpret_cast::<f16>().convert_to_f32_slice(singles);
        }
    }
    let mut values = values.iter_mut();
    decode_strided(bytes, dtype.size, dtype, |number| {
        if let Some(value) = values.next() {
            *value = number;
        }
    });
}

/// Calls `visit` with each element in turn; an element starts every `stride` bytes.
pub(in crate::read) fn decode_strided<N: Number>(bytes: &[u8], stride: usize, dtype: Dtype, visit: impl FnMut(N)) {
    let layout = (stride, dtype.big_endian);
    match (dtype.kind, dtype.size) {
        (Kind::Float, 2) => each(bytes, layout, |b| N::from_f64(f16::from_le_bytes(b).to_f64()), visit),
        (Kind::Float, 4) => each(bytes, layout, |b| N::from_f64(f32::from_le_bytes(b).into()), visit),
        (Kind::Float, _) => each(bytes, layout, |b| N::from_f64(f64::from_le_bytes(b)), visit),
        (Kind::Int, 1) => each(bytes, layout, |b| N::from_i64(i8::from_le_bytes(b).into()), visit),
        (Kind::Int, 2) => each(bytes, layout, |b| N::from_i64(i16::from_le_bytes(b).into()), visit),
        (Kind::Int, 4) => each(bytes, layout, |b| N::from_i64(i32::from_le_bytes(b).into()), visit),
        (Kind::Int, _) => each(bytes, layout, |b| N::from_i64(i64::from_le_bytes(b)), visit),
        // Any byte but 0 is true.
        (Kind::Bool, _) => each(bytes, layout, |[b]: [u8; 1]| N::from_u64((b != 0).into()), visit),
        (Kind::UInt, 2) => each(bytes, layout, |b| N::from_u64(u16::from_le_bytes(b).into()), visit),
        (Kind::UInt, 4) => each(bytes, layout, |b| N::from_u64(u32::from_le_bytes(b).into()), visit),
        (Kind::UInt, 8) => each(bytes, layout, |b| N::from_u64(u64::from_le_bytes(b)), visit),
        _ => each(bytes, layout, |[b]: [u8; 1]| N::from_u64(b.into()), visit),
    }
}

#[inline]
fn each<N, const SIZE: usize>(
    bytes: &[u8],
    (stride, is_big): (usize, bool),
    value: impl Fn([u8; SIZE]) -> N,
    mut visit: impl FnMut(N),
) {
    let mut take = |mut element: [u8; SIZE]| {
        if is_big {
            element.reverse();
        }
        visit(value(element));
    };
    match stride == SIZE {
        true => bytes.as_chunks::<SIZE>().0.iter().for_each(|&element| take(element)),
        false => bytes.chunks(stride).filter_map(<[u8]>::first_chunk).for_each(|&element| take(element)),
    }
}
