//! Row kernels against the same sums in double precision.

use lapwing_simd::each_level;

use super::strip::CHUNK_STRIPS;
use super::*;

/// Values that look random in [−1, 1).
fn values(n: usize, salt: u64) -> Vec<f32> {
    (0..n as u64).map(|at| (2.0 * lapwing_core::hash::uniform(at ^ salt << 32) - 1.0) as f32).collect()
}

fn strip_of(kernel: &DenseKernel, rows: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; kernel.n_landmarks * STRIP];
    assert_eq!(kernel.exponents(rows, &mut Transposed::default(), &mut out), None);
    out
}

#[test]
fn similarities_are_those_of_double_precision() {
    for (d, k, n_rows) in [(1, 1, 64), (3, 7, 64), (16, 20, 5), (100, 13, 64), (113, 25, 63), (300, 6, 17)] {
        let (landmarks, rows) = (values(k * d, 1), values(n_rows * d, 2));
        let width = (d as f64).sqrt();
        let kernel = DenseKernel::new(&landmarks, d, width);
        let all = each_level(|| {
            let mut strip = strip_of(&kernel, &rows);
            RowKernel::similarities(&mut strip);
            strip
        });
        for row in 0..n_rows {
            for l in 0..k {
                let squared: f64 = (0..d).map(|j| f64::from(rows[row * d + j] - landmarks[l * d + j]).powi(2)).sum();
                let expected = (-squared / (2.0 * width * width)).exp();
                for strip in &all {
                    let found = f64::from(strip[l * STRIP + row]);
                    assert!((found - expected).abs() < 2e-6, "{d} {k} {row} {l}: {found} {expected}");
                }
                // Lanes do not mix, and every level with FMA rounds alike.
                let fused = all[1..].iter().map(|strip| strip[l * STRIP + row].to_bits());
                assert!(fused.clone().all(|bits| Some(bits) == fused.clone().next()));
            }
        }
    }
}

#[test]
fn powers_of_two_are_right_to_the_last_digits_and_vanish_below_the_least() {
    let exponents: Vec<f32> = (0..16_000).map(|at| -(at as f32) / 100.0).chain([0.0; 15]).chain([-1e30]).collect();
    for powers in each_level(|| {
        let mut powers = exponents.clone();
        RowKernel::similarities(&mut powers);
        powers
    }) {
        for (t, found) in exponents.iter().zip(powers) {
            let expected = f64::from(*t).exp2();
            if *t < -126.0 {
                assert_eq!(found, 0.0);
            } else {
                assert!((f64::from(found) / expected - 1.0).abs() < 2.5e-7, "{t}: {found}");
            }
        }
    }
}

#[test]
fn sums_are_those_of_plain_loops() {
    for (k, strips) in [(1, 1), (5, 3), (9, 2), (20, CHUNK_STRIPS), (33, 1)] {
        let (c, chunk) = (7, values(strips * k * STRIP, 3));
        let at = |strip: usize, l: usize, row: usize| f64::from(chunk[(strip * k + l) * STRIP + row]);
        let weights = values(STRIP, 4);
        let coefficients = values(k * c, 5);
        for (gram, sums, product, scaled) in each_level(|| {
            let (mut gram, mut sums, mut product) =
                (vec![1.0; sums::packed_len(k)], vec![0.0; k], vec![0.0; c * STRIP]);
            add_gram(&chunk, k, &mut gram);
            add_weighted(&chunk[..k * STRIP], &weights, &mut sums);
            combine(&chunk[..k * STRIP], &coefficients, &mut product);
            let mut scaled = chunk[..k * STRIP].to_vec();
            scale_by(&mut scaled, &weights);
            (gram, sums, product, scaled)
        }) {
            for g in 0..k {
                for h in g..k {
                    let rows = (0..strips).flat_map(|strip| (0..STRIP).map(move |row| (strip, row)));
                    let expected: f64 =
                        1.0 + rows.map(|(strip, row)| at(strip, g, row) * at(strip, h, row)).sum::<f64>();
                    assert!((gram[sums::packed(k, g, h)] - expected).abs() < 1e-4, "{k} {g} {h}");
                }
                let expected: f64 = (0..STRIP).map(|row| at(0, g, row) * f64::from(weights[row])).sum();
                assert!((sums[g] - expected).abs() < 1e-5);
                let pairs = scaled[g * STRIP..].iter().zip(&chunk[g * STRIP..]).zip(&weights);
                assert!(pairs.take(STRIP).all(|((scaled, value), weight)| *scaled == value * weight));
            }
            for class in 0..c {
                for row in 0..STRIP {
                    let expected: f64 = (0..k).map(|l| at(0, l, row) * f64::from(coefficients[l * c + class])).sum();
                    assert!((f64::from(product[class * STRIP + row]) - expected).abs() < 1e-5);
                }
            }
        }
    }
}

#[test]
fn the_nearest_are_sorted_and_the_first_of_equal_ones() {
    for (k, s) in [(1, 1), (4, 3), (30, 3), (30, 5), (30, 9), (6, 6)] {
        // Few distinct values, so that there are ties.
        let exponents: Vec<f32> = values(k * STRIP, 6).iter().map(|x| 1.0 - (x * 4.0).round().abs()).collect();
        for (found, numbers) in each_level(|| {
            let (mut found, mut numbers) = (vec![0.0; s * STRIP], vec![0.0; s * STRIP]);
            nearest(&exponents, s, &mut found, &mut numbers);
            (found, numbers)
        }) {
            for row in 0..STRIP {
                let mut order: Vec<usize> = (0..k).collect();
                order.sort_by(|&a, &b| {
                    exponents[b * STRIP + row].total_cmp(&exponents[a * STRIP + row]).then(a.cmp(&b))
                });
                for (at, &l) in order.iter().take(s).enumerate() {
                    assert_eq!(numbers[at * STRIP + row], l as f32, "{k} {s} {row}");
                    assert_eq!(found[at * STRIP + row], exponents[l * STRIP + row]);
                }
            }
        }
    }
}

#[test]
fn values_that_are_not_finite_are_noticed() {
    let kernel = DenseKernel::new(&values(6, 1), 2, 1.0);
    for (bad, row) in [(f32::NAN, 3), (f32::INFINITY, 0), (1e30, 4)] {
        let mut rows = values(10, 2);
        rows[row * 2 + 1] = bad;
        let mut out = vec![0.0; 3 * STRIP];
        for found in each_level(|| kernel.exponents(&rows, &mut Transposed::default(), &mut out.clone())) {
            assert_eq!(found, Some(row));
        }
        out.clear();
    }
    // A width that leaves the range of f32 does not.
    let strip = strip_of(&DenseKernel::new(&[0.0, 1.0], 1, 1e-30), &[0.0, 0.5]);
    assert_eq!(strip[0], 0.0);
    assert!(strip[1] < -1e30 && strip[STRIP] < -1e30);
}

#[test]
fn shares_sum_to_one_and_degrees_are_sums() {
    let k = 11;
    let exponents: Vec<f32> = values(k * STRIP, 7).iter().map(|x| 40.0 * x - 500.0).collect();
    let v: Vec<f64> = values(k, 8).iter().map(|x| f64::from(*x) * 1e6).collect();
    for shares in each_level(|| {
        let mut shares = exponents.clone();
        soften(&mut shares);
        shares
    }) {
        let mut found = [0.0; STRIP];
        degrees(&shares, &v, &mut found);
        for row in 0..STRIP {
            let powers: Vec<f64> = (0..k).map(|l| f64::from(exponents[l * STRIP + row] + 500.0).exp2()).collect();
            let total: f64 = powers.iter().sum();
            let mut degree = 0.0;
            for l in 0..k {
                let share = f64::from(shares[l * STRIP + row]);
                assert!((share - powers[l] / total).abs() < 1e-5);
                degree += share * v[l];
            }
            assert!((degree - found[row]).abs() < 1e-9 * 1e6);
        }
    }
}

#[test]
fn exponents_of_sparse_rows_are_those_of_dense_ones() {
    let run = Run::new(Some(1), 0).unwrap();
    for (d, k, n_rows, offset) in [(1, 1, 64, 0.0), (7, 3, 5, 1000.0), (130, 25, 63, 0.5), (300, 17, 64, 0.0)] {
        // Every third value is stored, and every fifth row is empty.
        let drawn = values(n_rows * d, 9);
        let stored = (0..n_rows * d).filter(|at| at % 3 == 0 && at / d % 5 != 4);
        let entries: Vec<_> = stored.map(|at| ((at / d) as u32, (at % d) as u32, offset + drawn[at])).collect();
        let matrix = Csr::from_entries(n_rows, d, &entries).unwrap();
        let (landmarks, width) = (values(k * d, 10), (d as f64).sqrt());
        let center: Vec<f64> = values(d, 11).iter().map(|x| f64::from(0.3 * offset + x)).collect();
        let kernel = SparseKernel::new(&landmarks, d, &center, width);
        let all = each_level(|| {
            let mut out = vec![0.0; k * STRIP];
            let bad = kernel.exponents(&matrix, 0..n_rows, &mut Vec::new(), &mut out, &run).unwrap();
            assert_eq!(bad, None);
            out
        });
        assert!(all.iter().all(|other| *other == all[0]));
        let mut dense = vec![0.0; n_rows * d];
        entries.iter().for_each(|&(row, column, x)| dense[row as usize * d + column as usize] = f64::from(x));
        for row in 0..n_rows {
            for l in 0..k {
                let less = |j: usize| dense[row * d + j] - center[j] - f64::from(landmarks[l * d + j]);
                let squared: f64 = (0..d).map(|j| less(j).powi(2)).sum();
                let expected = -squared * std::f64::consts::LOG2_E / (2.0 * width * width);
                let found = f64::from(all[0][l * STRIP + row]);
                assert!((found - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{found} {expected}");
            }
        }
    }
}

#[test]
fn bad_sparse_rows_are_noticed_and_kinds_are_not_mixed() {
    let run = Run::new(Some(1), 0).unwrap();
    for bad in [f32::NAN, f32::INFINITY, 1e30] {
        let matrix = Csr::from_entries(4, 2, &[(0, 1, 1.0), (2, 0, bad), (3, 0, bad)]).unwrap();
        let kernel = SparseKernel::new(&values(6, 1), 2, &[], 1.0);
        let found = kernel.exponents(&matrix, 0..4, &mut Vec::new(), &mut [0.0; 3 * STRIP], &run).unwrap();
        assert_eq!(found, Some(2));
        let kernel = RowKernel::Sparse(kernel);
        let mixed =
            kernel.exponents(StripRows::Dense(&[0.0; 2]), &mut KernelSpace::default(), &mut [0.0; 3 * STRIP], &run);
        assert!(matches!(mixed, Err(Error::Internal { .. })));
    }
    // A width that leaves the range of f32 gives finite exponents.
    let kernel = SparseKernel::new(&[0.0, 1.0], 1, &[], 1e-30);
    let matrix = Csr::from_entries(1, 1, &[(0, 0, 0.5)]).unwrap();
    let mut out = vec![0.0; 2 * STRIP];
    kernel.exponents(&matrix, 0..1, &mut Vec::new(), &mut out, &run).unwrap();
    assert!(out[0] < -1e30 && out[0].is_finite() && out[STRIP] < -1e30);
}
