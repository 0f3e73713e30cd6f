//! Kernels compiled for the vectors of the processor at hand, and for every number of columns they hold in registers.
//!
//! One source, compiled several times: no fused multiply-add, and the lanes of a vector are the columns of a block, which
//! never mix, so that every version gives the same bits.

/// Most columns of a block that a kernel holds in registers.
pub(crate) const WIDEST: usize = 16;

/// Declares a function that runs the plain one, `#[inline(always)]` and of the same arguments, compiled for the widest
/// vectors of this processor: `dispatched!(name, plain[Type: Bound, …](argument: Type, …))`.
macro_rules! dispatched {
    ($name:ident, $plain:ident $([$($real:ident : $bound:ident),+])? ( $($argument:ident : $kind:ty),* $(,)? )) => {
        #[allow(clippy::too_many_arguments)]
        fn $name$(<$($real: $bound),+>)?($($argument: $kind),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f")]
                #[allow(clippy::too_many_arguments)]
                fn avx512$(<$($real: $bound),+>)?($($argument: $kind),*) {
                    $plain($($argument),*);
                }
                #[target_feature(enable = "avx2")]
                #[allow(clippy::too_many_arguments)]
                fn avx2$(<$($real: $bound),+>)?($($argument: $kind),*) {
                    $plain($($argument),*);
                }
                if std::arch::is_x86_feature_detected!("avx512f") {
                    // SAFETY: the processor has AVX-512F.
                    return unsafe { avx512($($argument),*) };
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has AVX2.
                    return unsafe { avx2($($argument),*) };
                }
            }
            $plain($($argument),*);
        }
    };
}
pub(crate) use dispatched;

/// Runs `$work::<S>` with S = `$s`, which is at most [`WIDEST`].
macro_rules! with_width {
    ($s:expr, $work:ident $([$($real:ident),+])? ( $($argument:expr),* )) => {
        match $s {
            1 => with_width!(@ $work 1 $([$($real),+])? ( $($argument),* )),
            2 => with_width!(@ $work 2 $([$($real),+])? ( $($argument),* )),
            3 => with_width!(@ $work 3 $([$($real),+])? ( $($argument),* )),
            4 => with_width!(@ $work 4 $([$($real),+])? ( $($argument),* )),
            5 => with_width!(@ $work 5 $([$($real),+])? ( $($argument),* )),
            6 => with_width!(@ $work 6 $([$($real),+])? ( $($argument),* )),
            7 => with_width!(@ $work 7 $([$($real),+])? ( $($argument),* )),
            8 => with_width!(@ $work 8 $([$($real),+])? ( $($argument),* )),
            9 => with_width!(@ $work 9 $([$($real),+])? ( $($argument),* )),
            10 => with_width!(@ $work 10 $([$($real),+])? ( $($argument),* )),
            11 => with_width!(@ $work 11 $([$($real),+])? ( $($argument),* )),
            12 => with_width!(@ $work 12 $([$($real),+])? ( $($argument),* )),
            13 => with_width!(@ $work 13 $([$($real),+])? ( $($argument),* )),
            14 => with_width!(@ $work 14 $([$($real),+])? ( $($argument),* )),
            15 => with_width!(@ $work 15 $([$($real),+])? ( $($argument),* )),
            _ => with_width!(@ $work 16 $([$($real),+])? ( $($argument),* )),
        }
    };
    (@ $work:ident $width:literal $([$($real:ident),+])? ( $($argument:expr),* )) => {
        $work::<$width $($(, $real)+)?>($($argument),*)
    };
}
pub(crate) use with_width;
