//! Functions compiled once more for the vectors of the processor at hand, chosen at run time: no fused multiply-add, so that
//! every version gives the same bits.

/// Declares `$name`, which runs `$plain`, `#[inline(always)]` and of the same arguments, compiled for AVX-512, AVX2 or any
/// processor: `vectored! { name = plain[Type: Bound, …](argument: Type, …) -> Type }`.
#[macro_export]
macro_rules! vectored {
    ($(#[$doc:meta])* $name:ident = $plain:ident $([$($type:ident: $bound:path),+])? ($($arg:ident: $kind:ty),* $(,)?) $(-> $out:ty)?) => {
        $(#[$doc])*
        #[inline]
        pub(crate) fn $name$(<$($type: $bound),+>)?($($arg: $kind),*) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw")]
                fn avx512$(<$($type: $bound),+>)?($($arg: $kind),*) $(-> $out)? {
                    $plain($($arg),*)
                }
                #[target_feature(enable = "avx2")]
                fn avx2$(<$($type: $bound),+>)?($($arg: $kind),*) $(-> $out)? {
                    $plain($($arg),*)
                }
                if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
                    // SAFETY: the processor has AVX-512F and BW.
                    return unsafe { avx512($($arg),*) };
                }
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has AVX2.
                    return unsafe { avx2($($arg),*) };
                }
            }
            $plain($($arg),*)
        }
    };
}
/// Asks for the memory at an address that will be read soon.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: any address may be asked for; this one is even valid.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
