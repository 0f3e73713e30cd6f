//! Kernels compiled for every number of columns that fits registers.
//!
//! The lanes of a vector are the columns of a block, which never mix, and no multiply-adds are fused: every SIMD level of
//! [`dispatch!`] gives the same bits.

pub(crate) use lapwing_simd::dispatch;

/// Most columns of a block that a kernel holds in registers.
pub(crate) const WIDEST: usize = 16;

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
