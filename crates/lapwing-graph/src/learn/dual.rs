//! The duals of both models: one number for each row, from which the weights follow.
//!
//! With costs c = θz, λ ∈ Rⁿ, a level ν that only the l2-degree model has, and offsets μᵢ = (λᵢ − ν)/2, the weight of a pair is
//! wᵢⱼ = max(0, μᵢ + μⱼ − cᵢⱼ). Both duals are concave:
//!
//! - log-degree, λ > 0: D = Σ (log λᵢ + 1) − ‖w‖², with gradient 1/λᵢ − dᵢ, for min 2cᵀw − Σ log dᵢ + ‖w‖²;
//! - l2-degree: D = −½‖λ‖² − ‖w‖² − νn, with gradients −λᵢ − dᵢ and 2·1ᵀw − n, for min 2cᵀw + ‖w‖² + ½‖d‖², 2·1ᵀw = n,
//!
//! where d are the degrees of w (Kalofolias 2016, eqs. 12 and 8 in the scaling of Kalofolias & Perraudin 2019, eqs. 3 and 4).
//! The gap between w and λ is computed without cancellation, so that it is right far below the rounding of either value:
//! for the log-degree model it is Σ φ(λᵢdᵢ) with φ(u) = u − 1 − log u; for the l2-degree model ½‖λ + d‖² plus what scaling w to
//! the total weight n adds.
//!
//! Far rows: where the nearest pair of a row costs mᵢ ≫ 1, λᵢ is about 2mᵢ and w about 1/mᵢ, which is lost in the difference of
//! two large numbers. Such a row stores λᵢ − 2mᵢ instead of λᵢ, its pairs cost c − mᵢ − mⱼ, and it is solved by itself after
//! each step.
//!
//! Cost of one evaluation: a pass over the 2m entries of the support; the time goes into gathering offsets. Each row is summed
//! by one thread, and blocks of rows are added in order.

use lapwing_core::parallel::*;
use lapwing_core::{Result, Run};

use super::LearnModel;
use super::lanes::{RowSums, row_sums};
use super::offsets::{Offset, Offsets};
use super::support::{SquaredDistance, Support};

/// Rows of one unit of work.
pub(super) const BLOCK: usize = 2048;

/// Cost of the nearest pair above which a row is far.
const FAR: f64 = 1e3;
/// Times a sweep solves all rows.
const SWEEPS: usize = 3;
/// Costs above which sums of squares overflow.
const BEYOND: f64 = 1e140;

/// A model on a support, at one sparsity.
pub(super) struct Problem<'a, R> {
    pub model: LearnModel,
    pub support: &'a Support<R>,
    pub sparsity: f64,
    /// Cost m of the nearest pair of each row (n).
    nearest: Vec<f64>,
    /// The far rows. Where there are any, 2m is the base of every row.
    far: Vec<u32>,
}

/// Variables of the dual.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Multipliers {
    /// λ of each row (n), less its base.
    pub nodes: Vec<f64>,
    /// ν; 0 in the log-degree model.
    pub level: f64,
}

/// Weights, values and gap at some multipliers, from one pass over the support.
pub(super) struct State {
    pub multipliers: Multipliers,
    /// Degrees d of the weights (n).
    pub degree: Vec<f64>,
    /// Pairs of each row with a positive weight (n).
    pub n_active: Vec<u32>,
    /// The other rows of these pairs, row by row, in blocks of [`BLOCK`] rows.
    pub active: Vec<Vec<u32>>,
    /// Value of the dual.
    pub dual: f64,
    /// Value of the primal at the weights, scaled by `factor`, less that of the dual: at least 0.
    pub gap: f64,
    /// Unit of the relative gap: the size of the terms of the objective.
    pub scale: f64,
    /// Factor that scales the weights to the total weight of the model.
    pub factor: f64,
    /// 1ᵀw over pairs, not scaled.
    pub total: f64,
}

impl State {
    /// The end of the active pairs of each row within their block (n).
    pub fn ends(&self) -> Vec<u32> {
        let mut ends = self.n_active.clone();
        ends.chunks_mut(BLOCK).for_each(|ends| {
            let mut end = 0;
            ends.iter_mut().for_each(|count| {
                end += *count;
                *count = end;
            });
        });
        ends
    }

    /// The other rows of a row's active pairs, ascending; `ends` are those of [`ends`](Self::ends).
    pub fn active_of(&self, ends: &[u32], row: usize) -> &[u32] {
        let start = if row.is_multiple_of(BLOCK) { 0 } else { ends[row - 1] as usize };
        &self.active[row / BLOCK][start..ends[row] as usize]
    }

    /// Whether the relative gap is at most `tol`.
    pub fn is_within(&self, tol: f64) -> bool {
        self.scale > 0.0 && self.relative_gap() <= tol
    }

    pub fn relative_gap(&self) -> f64 {
        self.gap / self.scale
    }

    /// Value of the primal at the scaled weights.
    pub fn objective(&self) -> f64 {
        self.dual + self.gap
    }
}

impl<'a, R: SquaredDistance> Problem<'a, R> {
    /// O(m).
    pub fn new(model: LearnModel, support: &'a Support<R>, sparsity: f64, run: &Run) -> Self {
        let nearest = |row: usize| {
            let least = support.row(row).1.iter().fold(f64::INFINITY, |least, &z| least.min(z.into()));
            sparsity * least
        };
        let rows = (0..support.n_samples()).into_par_iter().with_min_len(BLOCK);
        let nearest: Vec<f64> = run.install(|| rows.map(nearest).collect());
        let is_far = |cost: &f64| model == LearnModel::Log && *cost > FAR;
        let far: Vec<u32> = (0..nearest.len()).filter(|&row| is_far(&nearest[row])).map(|row| row as u32).collect();
        Self { model, support, sparsity, nearest, far }
    }

    /// Whether the squares of the costs of nearest pairs overflow.
    pub fn is_beyond(&self) -> bool {
        self.nearest.iter().any(|&cost| cost.is_finite() && cost > BEYOND)
    }

    fn has_bases(&self) -> bool {
        !self.far.is_empty()
    }

    /// 2m of a row.
    #[inline(always)]
    fn base(&self, row: usize) -> f64 {
        if self.has_bases() { 2.0 * self.nearest[row] } else { 0.0 }
    }

    /// λ of a row.
    #[inline(always)]
    pub fn lambda(&self, multipliers: &Multipliers, row: usize) -> f64 {
        self.base(row) + multipliers.nodes[row]
    }

    /// λ of each row.
    pub fn lambdas(&self, multipliers: &Multipliers) -> Vec<f64> {
        (0..multipliers.nodes.len()).map(|row| self.lambda(multipliers, row)).collect()
    }

    /// Multipliers with the given λ.
    pub fn multipliers(&self, lambdas: Vec<f64>, level: f64) -> Multipliers {
        let mut nodes: Vec<f64> = lambdas.iter().enumerate().map(|(row, lambda)| lambda - self.base(row)).collect();
        self.solve_far_rows(&mut nodes);
        Multipliers { nodes, level }
    }

    /// [`solve_rows`](Self::solve_rows) for the far rows, whose weights of about 1/m are below the accuracy of a direction.
    pub fn solve_far_rows(&self, nodes: &mut [f64]) {
        self.solve_rows(&self.far, nodes);
    }

    /// Solves each of `rows` while the others stay as they are: Σⱼ max(0, s − cⱼ) = 1/(2(m + s)), where s is half of λ less the
    /// base, and c are the costs of the pairs less the offsets of their other rows. With the k cheapest pairs, of mean cost c̄,
    /// s = c̄ + e for the positive root of ke² + k(m + c̄)e = ½.
    pub fn solve_rows(&self, rows: &[u32], nodes: &mut [f64]) {
        let mut costs = Vec::new();
        for &row in rows {
            let row = row as usize;
            let (ids, squared) = self.support.row(row);
            let m = 0.5 * self.base(row);
            costs.clear();
            costs.extend(ids.iter().zip(squared).map(|(&id, &z)| {
                let id = id as usize;
                -[0.0, m].less([0.5 * nodes[id], 0.5 * self.base(id)], self.sparsity * z.into())
            }));
            costs.sort_unstable_by(f64::total_cmp);
            let (mut sum, mut half) = (0.0, f64::INFINITY);
            for (at, &cost) in costs.iter().enumerate() {
                if half <= cost {
                    break;
                }
                sum += cost;
                let k = (at + 1) as f64;
                let (mean, reach) = (sum / k, k * m + sum);
                let root = (reach * reach + 2.0 * k).sqrt();
                half = mean + if reach > 0.0 { 1.0 / (reach + root) } else { (root - reach) / (2.0 * k) };
            }
            nodes[row] = 2.0 * half;
        }
    }

    /// The weights at `multipliers`.
    pub fn offsets(&self, multipliers: &Multipliers) -> Offsets {
        let own = |&node: &f64| 0.5 * (node - multipliers.level);
        let nodes = multipliers.nodes.par_iter().with_min_len(BLOCK);
        match self.has_bases() {
            false => Offsets::Plain(nodes.map(own).collect()),
            true => Offsets::Based(nodes.zip(&self.nearest).map(|(node, &base)| [own(node), base]).collect()),
        }
    }

    /// Multipliers at which each row is solved by itself with its nearest pair.
    pub fn start(&self) -> Multipliers {
        let n = self.support.n_samples();
        match self.model {
            LearnModel::Log => {
                let lambda = |&cost: &f64| 0.5 * (cost + (cost * cost + 4.0).sqrt());
                self.multipliers(self.nearest.iter().map(lambda).collect(), 0.0)
            }
            LearnModel::L2 => {
                // Degrees are about 1, and offsets about those of single rows. Rows without pairs are left out.
                let mut costs: Vec<f64> = self.nearest.iter().copied().filter(|cost| cost.is_finite()).collect();
                let middle = costs.len() / 2;
                let typical = *costs.select_nth_unstable_by(middle, f64::total_cmp).1;
                Multipliers { nodes: vec![-1.0; n], level: -2.0 - typical }
            }
        }
    }

    /// Solves all rows one after the other, the ones with the cheapest pairs first, a few times.
    pub fn sweep(&self, multipliers: &mut Multipliers, run: &Run) -> Result<()> {
        let mut order: Vec<u32> = (0..self.nearest.len() as u32).collect();
        order.sort_by(|&a, &b| self.nearest[a as usize].total_cmp(&self.nearest[b as usize]));
        for _ in 0..SWEEPS {
            for rows in order.chunks(BLOCK) {
                run.check()?;
                self.solve_rows(rows, &mut multipliers.nodes);
            }
        }
        Ok(())
    }

    /// Weights, degrees, values and gap of `multipliers`.
    pub fn evaluate(&self, multipliers: Multipliers, run: &Run) -> Result<State> {
        run.check()?;
        Ok(run.install(|| match self.offsets(&multipliers) {
            Offsets::Plain(offsets) => self.summed(multipliers, &offsets),
            Offsets::Based(offsets) => self.summed(multipliers, &offsets),
        }))
    }

    fn summed<O: Offset>(&self, multipliers: Multipliers, offsets: &[O]) -> State {
        let n = self.support.n_samples();
        let (mut degree, mut n_active) = (vec![0.0; n], vec![0u32; n]);
        let blocks = degree.par_chunks_mut(BLOCK).zip(n_active.par_chunks_mut(BLOCK)).enumerate();
        let blocks = blocks.map_init(Vec::new, |squares, (block, (degree, n_active))| {
            squares.resize(degree.len(), 0.0);
            let mut rows = RowSums { degree, squares, counts: n_active, active: Vec::new() };
            row_sums(self.support, self.sparsity, offsets, block * BLOCK, &mut rows);
            let mut sums = RowTotals::default();
            for (at, (&degree, &squares)) in rows.degree.iter().zip(&*rows.squares).enumerate() {
                sums.add(self.model, self.lambda(&multipliers, block * BLOCK + at), degree, squares);
            }
            (sums, rows.active)
        });
        let (sums, active): (Vec<RowTotals>, Vec<Vec<u32>>) = blocks.unzip();
        let sums = sums.iter().fold(RowTotals::default(), RowTotals::plus);
        self.state(multipliers, degree, n_active, active, &sums)
    }

    fn state(
        &self,
        multipliers: Multipliers,
        degree: Vec<f64>,
        n_active: Vec<u32>,
        active: Vec<Vec<u32>>,
        sums: &RowTotals,
    ) -> State {
        let n = degree.len() as f64;
        // Every pair is in two rows.
        let (total, squares) = (0.5 * sums.degrees, 0.5 * sums.squares);
        let level = multipliers.level;
        let (dual, gap, scale, factor) = match self.model {
            LearnModel::Log => (sums.nodes - squares, sums.gaps, n, 1.0),
            // Without any weight nothing can be scaled.
            LearnModel::L2 if total <= 0.0 => (-0.5 * sums.nodes - level * n, f64::INFINITY, 1.0, 1.0),
            LearnModel::L2 => {
                let factor = 0.5 * n / total;
                let ridge = squares + 0.5 * sums.degree_squares;
                // The level cancels: 2cᵀw = Σ λd − 2ν·1ᵀw − 2‖w‖².
                let excess = (n - 2.0 * total) / (2.0 * total);
                let scaling = excess * (sums.products - 2.0 * squares + (factor + 1.0) * ridge);
                let gap = 0.5 * sums.gaps + scaling;
                let dual = -0.5 * sums.nodes - squares - level * n;
                let gap = if gap.is_nan() { f64::INFINITY } else { gap.max(0.0) };
                // The objective would be no unit: a constant added to all costs changes it, but no weight.
                (dual, gap, 2.0 * factor * factor * ridge, factor)
            }
        };
        State { multipliers, degree, n_active, active, dual, gap, scale, factor, total }
    }
}

/// Sums over rows.
#[derive(Clone, Copy, Default)]
struct RowTotals {
    /// Σ d.
    degrees: f64,
    /// Σ w² over entries.
    squares: f64,
    /// log-degree: Σ (log λ + 1); l2-degree: Σ λ².
    nodes: f64,
    /// log-degree: Σ φ(λd); l2-degree: Σ (λ + d)².
    gaps: f64,
    /// Σ λd.
    products: f64,
    /// Σ d².
    degree_squares: f64,
}

impl RowTotals {
    fn add(&mut self, model: LearnModel, node: f64, degree: f64, squares: f64) {
        self.degrees += degree;
        self.squares += squares;
        self.products += node * degree;
        self.degree_squares += degree * degree;
        match model {
            LearnModel::Log => {
                self.nodes += node.ln() + 1.0;
                self.gaps += phi(node * degree);
            }
            LearnModel::L2 => {
                self.nodes += node * node;
                self.gaps += (node + degree) * (node + degree);
            }
        }
    }

    fn plus(self, other: &Self) -> Self {
        Self {
            degrees: self.degrees + other.degrees,
            squares: self.squares + other.squares,
            nodes: self.nodes + other.nodes,
            gaps: self.gaps + other.gaps,
            products: self.products + other.products,
            degree_squares: self.degree_squares + other.degree_squares,
        }
    }
}

/// u − 1 − log u ≥ 0; infinite for a row without weight.
pub(super) fn phi(u: f64) -> f64 {
    if u > 0.0 { ((u - 1.0) - (u - 1.0).ln_1p()).max(0.0) } else { f64::INFINITY }
}
