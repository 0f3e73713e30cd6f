//! Hashes: pseudo-random numbers that depend only on their input, for fingerprints and for random streams without state.

/// SplitMix64 (Steele, Lea & Flood 2014): value number `z` of one stream, all bits mixed. One to one.
pub fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Uniform in [0, 1), from 53 bits of [`mix`].
pub fn uniform(z: u64) -> f64 {
    (mix(z) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first values of the reference implementation from seed 0.
    #[test]
    fn values_are_those_of_splitmix64() {
        let step = 0x9E37_79B9_7F4A_7C15u64;
        let expected = [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F];
        assert_eq!([0, step, step.wrapping_mul(2)].map(mix), expected);
        let mean = (0..1 << 16).map(uniform).sum::<f64>() / f64::from(1 << 16);
        // Standard error 0.0011.
        assert!((mean - 0.5).abs() < 0.006, "{mean}");
    }
}
