//! The SIMD level of the processor, and the macro that compiles kernels for each level.

use std::cell::Cell;
use std::sync::atomic::{AtomicU8, Ordering};

/// Instructions that a kernel may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The instructions of the compilation target only.
    Portable = 1,
    /// AVX2 and FMA, with the bit instructions of the same processors.
    Avx2 = 2,
    /// AVX-512 F, BW, DQ, VL and VNNI in addition. Processors without VNNI (Skylake-X) run the level below.
    Avx512 = 3,
}

/// Environment variable with a level that kernels must not exceed, `portable` or `avx2`: it shows how they run on an older processor.
/// The libraries for matrix products and factors detect instructions for themselves and do not look at it.
const VARIABLE: &str = "LAPWING_SIMD";

/// The level of this process, 0 before detection; [`FORCED`] if a test has set another for its thread.
static LEVEL: AtomicU8 = AtomicU8::new(0);
const FORCED: u8 = 4;

thread_local! {
    static OF_THREAD: Cell<Option<Level>> = const { Cell::new(None) };
}

/// The level of this process: that of the processor, or a lower one if the environment variable `LAPWING_SIMD` is `portable` or `avx2`.
#[inline]
pub fn level() -> Level {
    match LEVEL.load(Ordering::Relaxed) {
        1 => Level::Portable,
        2 => Level::Avx2,
        3 => Level::Avx512,
        other => find(other),
    }
}

#[cold]
fn find(seen: u8) -> Level {
    if seen == FORCED {
        return OF_THREAD.get().unwrap_or_else(detect);
    }
    let level = detect();
    // A test may have forced a level in between; that mark stays.
    let _ = LEVEL.compare_exchange(0, level as u8, Ordering::Relaxed, Ordering::Relaxed);
    level
}

/// The level that kernels run at: that of the processor, or a lower one that [`VARIABLE`] names.
fn detect() -> Level {
    of_processor().min(limit(std::env::var(VARIABLE).ok().as_deref()))
}

/// The level up to which a value of [`VARIABLE`] goes; the highest for other words.
pub(crate) fn limit(word: Option<&str>) -> Level {
    match word {
        Some("portable") => Level::Portable,
        Some("avx2") => Level::Avx2,
        _ => Level::Avx512,
    }
}

fn of_processor() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        macro_rules! has {
            ($($feature:tt),+) => { $(is_x86_feature_detected!($feature))&&+ };
        }
        if has!("avx2", "fma", "bmi1", "bmi2", "lzcnt", "popcnt") {
            let is_wide = has!("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni");
            return if is_wide { Level::Avx512 } else { Level::Avx2 };
        }
    }
    Level::Portable
}

/// For tests: the results of `work` at every level up to that of this process, the lowest first. Other threads keep their level.
pub fn each_level<T>(work: impl Fn() -> T) -> Vec<T> {
    LEVEL.store(FORCED, Ordering::Relaxed);
    let most = detect();
    let levels = [Level::Portable, Level::Avx2, Level::Avx512].into_iter().filter(|level| *level <= most);
    levels
        .map(|level| {
            OF_THREAD.set(Some(level));
            let out = work();
            OF_THREAD.set(None);
            out
        })
        .collect()
}

/// Declares functions of one expression that are always inlined: `fn name(argument: Type) -> Out = expression;`.
#[macro_export]
macro_rules! inlined {
    ($( fn $name:ident $(<$type:ident: $bound:path>)? ($($argument:tt)*) $(-> $out:ty)? = $body:expr; )+) => {$(
        #[inline(always)]
        fn $name $(<$type: $bound>)? ($($argument)*) $(-> $out)? {
            $body
        }
    )+};
}

/// Declares a function that runs the version of a kernel for this processor.
///
/// `dispatch! { pub fn name[T: Bound](argument: Type, …) -> Out = kernel }` calls `kernel(argument, …)`, which must be
/// `#[inline(always)]`: it is compiled once for each [`Level`]. With `= kernel(simd)` the kernel takes the [`Simd`](crate::Simd) of the
/// level as its first argument; generic arguments may follow the name of a kernel.
#[macro_export]
macro_rules! dispatch {
    ($(#[$attribute:meta])* $access:vis fn $name:ident $([$($type:ident: $bound:path),+])?
        ($($arg:ident: $kind:ty),* $(,)?) $(-> $out:ty)? = $kernel:ident $(::<$($of:tt),+>)? $(($simd:ident))?) => {
        $(#[$attribute])*
        #[allow(clippy::too_many_arguments)]
        #[inline]
        $access fn $name$(<$($type: $bound),+>)?($($arg: $kind),*) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(
                    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,bmi1,bmi2,lzcnt,popcnt"
                )]
                fn avx512$(<$($type: $bound),+>)?($($arg: $kind),*) $(-> $out)? {
                    // SAFETY: this function runs only on processors of the level.
                    $(let $simd = unsafe { $crate::Avx512::trusted() };)?
                    $kernel$(::<$($of),+>)?($($simd,)? $($arg),*)
                }
                #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
                fn avx2$(<$($type: $bound),+>)?($($arg: $kind),*) $(-> $out)? {
                    // SAFETY: this function runs only on processors of the level.
                    $(let $simd = unsafe { $crate::Avx2::trusted() };)?
                    $kernel$(::<$($of),+>)?($($simd,)? $($arg),*)
                }
                match $crate::level() {
                    // SAFETY: the processor has the instructions of its level.
                    $crate::Level::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::Level::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::Level::Portable => {}
                }
            }
            $(let $simd = $crate::Portable;)?
            $kernel$(::<$($of),+>)?($($simd,)? $($arg),*)
        }
    };
}
