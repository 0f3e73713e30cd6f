//! Values of a regression that are probably wrong.
//!
//! With rᵢ the residual of value i from the harmonic function without it, values are ranked by
//!
//! ```text
//! |rᵢ| / √sᵢ,   sᵢ = (Σⱼ Mᵢⱼ|rⱼ| + w·r̄) / (Σⱼ Mᵢⱼ + w),   M = P² without its diagonal,
//! ```
//!
//! over the rows j of known values, with P = D⁻¹W and r̄ the mean of all |rⱼ|: s is the usual size of residuals nearby. Where values are noisy, a
//! large residual says less. A full division would trust sᵢ too much, which comes from few values. w is [`PRIOR`] times the mean of Σⱼ Mᵢⱼ.
//!
//! Cost: the leave-one-out scores (33 columns of a solve, up to 128 more), and four passes over the edges.

use lapwing_core::parallel::*;
use lapwing_core::{Error, Report, Result, Run, Targets, peak_memory_bytes};
use lapwing_graph::Graph;

use crate::core::smoother::leave_one_out::{Centering, TOL, check_values, of_values};
use crate::core::smoother::{Smoother, moderate};

/// Weight of the mean of all residuals, in units of the mean weight of those nearby.
const PRIOR: f64 = 0.3;

/// What an audit of a regression found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RegressionAudit {
    /// Value of each labeled row by a fit without it (n); NaN without a value and where no other one reaches the row.
    pub proposed: Vec<f64>,
    /// Given value minus that (n).
    pub residual: Vec<f64>,
    /// Share of the values that are at least as doubtful (n): small for the most doubtful ones. A value is doubtful if its residual is large
    /// beside those nearby.
    pub quality: Vec<f64>,
    /// Part `audit`: number of values, root mean square and median of the residuals.
    pub report: Report,
}

/// Ranks the values of a regression by their residuals from the harmonic function of that `smoothness` without them, stable or plain.
///
/// # Errors
/// [`Error::Shape`]; [`Error::Labels`] for fewer than 3 values; [`Error::Interrupted`].
pub fn audit_regression(
    graph: &Graph,
    targets: &Targets,
    smoothness: f64,
    centering: Centering,
    run: &Run,
) -> Result<RegressionAudit> {
    check_values(graph, targets)?;
    let l = targets.rows().len();
    if l < 3 {
        return Err(Error::labels(format!("{l} values leave nothing to compare them with; give at least 3")));
    }
    let mut report = Report::new("audit", graph.n_samples(), None, l);
    let (graph, components) = (moderate(graph), graph.components());
    let smoother = Smoother::new(&graph, &components, targets, smoothness, TOL, run)?;
    let smooth = report.time("solve", run, |_| smoother.solve(None, run))?;
    let is_stable = centering == Centering::Stable;
    let leave_out = |_: &mut Report| of_values(&smoother, &smooth, targets, is_stable, run);
    let left_out = report.time("leave one out", run, leave_out)?;
    let n = targets.n_samples();
    let (mut proposed, mut residual, mut quality) = (vec![f64::NAN; n], vec![f64::NAN; n], vec![f64::NAN; n]);
    for (at, &row) in targets.rows().iter().enumerate() {
        let (y, part) = (targets.values().row(at), &smoother.parts[smoother.of_label[at]]);
        if let Some(mean) = part.mean_without(y, targets.weights()[at]) {
            proposed[row as usize] = left_out.row(at)[0] + if is_stable { mean[0] } else { 0.0 };
            residual[row as usize] = y[0] - proposed[row as usize];
        }
    }
    let doubt = doubts(&graph, &residual, run);
    let mut judged: Vec<u32> = targets.rows().iter().copied().filter(|&row| !residual[row as usize].is_nan()).collect();
    judged.sort_by(|&a, &b| doubt[b as usize].total_cmp(&doubt[a as usize]).then(a.cmp(&b)));
    let share = |rank: usize| (rank + 1) as f64 / judged.len() as f64;
    judged.iter().enumerate().for_each(|(rank, &row)| quality[row as usize] = share(rank));
    let mut sizes: Vec<f64> = judged.iter().map(|&row| residual[row as usize].abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let rms = (sizes.iter().map(|size| size * size).sum::<f64>() / sizes.len().max(1) as f64).sqrt();
    let median = sizes.get(sizes.len().saturating_sub(1) / 2).copied().unwrap_or_default();
    let summary = serde_json::json!({
        "n_labeled": l, "n_judged": judged.len(), "root_mean_square": rms, "median_residual": median,
    });
    report.add_part("audit", &summary)?;
    report.peak_bytes = peak_memory_bytes();
    Ok(RegressionAudit { proposed, residual, quality, report })
}

/// How doubtful each value is (n); 0 without a residual.
fn doubts(graph: &Graph, residual: &[f64], run: &Run) -> Vec<f64> {
    let n = residual.len();
    let size: Vec<f64> = residual.iter().map(|r| if r.is_nan() { 0.0 } else { r.abs() }).collect();
    let known: Vec<f64> = residual.iter().map(|r| f64::from(u8::from(!r.is_nan()))).collect();
    let degree = |row: usize| graph.degree()[row];
    // The means over the neighbors of a row.
    let step = |values: &[[f64; 2]], row: usize| {
        let (columns, weights) = graph.adjacency().row(row);
        let sums = columns.iter().zip(weights).fold([0.0; 2], |sums: [f64; 2], (&column, weight)| {
            let value = values[column as usize];
            [sums[0] + weight * value[0], sums[1] + weight * value[1]]
        });
        if degree(row) > 0.0 { sums.map(|sum| sum / degree(row)) } else { [0.0; 2] }
    };
    let returning = |row: usize| {
        let (columns, weights) = graph.adjacency().row(row);
        let back = |(&column, weight): (&u32, &f64)| weight * weight / degree(column as usize);
        if degree(row) > 0.0 { columns.iter().zip(weights).map(back).sum::<f64>() / degree(row) } else { 0.0 }
    };
    let near: Vec<[f64; 2]> = run.install(|| {
        let rows = || (0..n).into_par_iter().with_min_len(512);
        let own: Vec<[f64; 2]> = rows().map(|row| [size[row], known[row]]).collect();
        let once: Vec<[f64; 2]> = rows().map(|row| step(&own, row)).collect();
        let of = |row: usize| {
            let ([sum, weight], back) = (step(&once, row), returning(row));
            [(sum - back * size[row]).max(0.0), (weight - back * known[row]).max(0.0)]
        };
        rows().map(|row| if known[row] > 0.0 { of(row) } else { [0.0; 2] }).collect()
    });
    let n_known = known.iter().sum::<f64>().max(1.0);
    let mean = size.iter().sum::<f64>() / n_known;
    let prior = PRIOR * near.iter().map(|near| near[1]).sum::<f64>() / n_known;
    let doubt = |row: usize| {
        let [sum, weight] = near[row];
        let usual = if weight + prior > 0.0 { (sum + prior * mean) / (weight + prior) } else { mean };
        if usual > 0.0 { size[row] / usual.sqrt() } else { size[row] }
    };
    (0..n).map(doubt).collect()
}
