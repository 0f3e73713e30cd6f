//! Class mass normalization: scores scaled so that the sum of each class over the rows is its prior (Zhu et al. 2003, eq. 9).

use lapwing_core::Matrix;

/// Factor of each class, π_c / Σᵢ (f_c(i) − offset_c) over the reached rows; 0 for a class whose sum is not positive.
pub(crate) fn mass_scale(scores: &Matrix, offset: &[f64], prior: &[f64]) -> Vec<f64> {
    let mut mass = vec![0.0; prior.len()];
    for row in scores.rows().filter(|row| !row.iter().any(|s| s.is_nan())) {
        mass.iter_mut().zip(row).zip(offset).for_each(|((mass, score), offset)| *mass += score - offset);
    }
    prior.iter().zip(&mass).map(|(prior, mass)| if *mass > 0.0 { prior / mass } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaled_scores_have_the_mass_of_the_prior() {
        let scores = Matrix::new(3, 2, vec![0.9, 0.1, 0.6, 0.4, f64::NAN, f64::NAN]).unwrap();
        let scale = mass_scale(&scores, &[0.0, 0.0], &[0.25, 0.75]);
        assert!((1.5 * scale[0] - 0.25).abs() < 1e-12 && (0.5 * scale[1] - 0.75).abs() < 1e-12);
    }
}
