//! SIMD vectors, and the memory that kernels read. Internal to lapwing: nothing here is stable.
//!
//! - [`dispatch!`] compiles one kernel for each [`Level`] of processors and runs the version for the current one.
//! - [`Simd`] holds the vectors of a level: sixteen f32, sixteen i32, eight f64. Every level has the same number of lanes, and
//!   takes sums over lanes in the same order, so that all levels give the same bits. One exception: portable code does not
//!   fuse multiply-adds if the target has no instruction for it.
//! - [`prefetch`], [`zeros`] (large pages), [`Lines`] (cache lines) and [`LockedRows`] are the memory helpers of kernels.
//!
//! Kernels are safe code: a value of a vector type proves that the processor has its instructions, and loads and stores take
//! arrays. A kernel that leaves vectorization to the compiler needs [`dispatch!`] but not [`Simd`]. Without `mul_add` the
//! compiler fuses nothing, so that its bits do not depend on the level either.
//!
//! Kernels loop over vectors; they pass no closure over vectors to `map`, `for_each` or `from_fn`. A closure is a function of its
//! own, without the instructions of the level, and each vector operation in it is a call unless the compiler happens to inline all
//! of them.
//!
//! The crate `pulp` is not used. Its vectors have eight lanes with AVX2 and sixteen with AVX-512, so that sums over lanes, and
//! with them results, would depend on the processor. Its generic interface has no products of bytes (VNNI), transposition or
//! scaling by powers of two, so that these kernels would still be intrinsics. Its dispatch passes arguments in a struct, which
//! hides from the compiler that slices do not overlap.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod level;
mod locked;
mod memory;
mod portable;
mod simd;
#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub use avx512::Avx512;
pub use level::{Level, each_level, level};
pub use locked::{Locked, LockedRows};
pub use memory::{LINE, Lines, Number, prefetch, prefetch_lines, zeros};
pub use portable::Portable;
pub use simd::{DOUBLES, Doubles, Floats, Ints, LANES, Simd, lanes, lanes_mut};
