//! Preconditioned conjugate gradients on the primal problem, with exact line search (Melacci & Belkin 2011, algorithm 1).
//!
//! The preconditioner is the Gram matrix. The gradient is K·g, and the vector g = r + γ_A·α + γ_I·L·f needs no product; K·d
//! follows from the recurrence of the direction d. An iteration takes one product with K, for all problems at once, and one with
//! L; problems that have stopped leave the block. Memory besides: nine vectors of n numbers for each problem, and two for each
//! that still iterates.
//!
//! f = K·α, h = L·f and K·d are recurrences; f and h are recomputed every fifty iterations, so that rounding does not accumulate.
//! Directions are those of Polak and Ribière, restarted from the gradient when their factor would be negative.

use lapwing_core::parallel::*;
use lapwing_core::{Error, Result, Run, fallen};

use super::gram::Gram;
use super::loss::Loss;
use super::objective::{Objective, Solution, dot};
use super::smoothness::Smoothness;
use super::stopping::{Memory, Rule, Standing};

/// Relative gradient at which an iteration without a descent direction counts as converged.
const STALLED: f64 = 1e-3;
/// Iterations after which f and h are recomputed.
const RENEW: usize = 50;

/// State of the iteration for one problem.
struct Column<'p> {
    loss: &'p Loss,
    alpha: Vec<f64>,
    bias: f64,
    /// f = K·α and h = L·f.
    f: Vec<f64>,
    h: Vec<f64>,
    /// g, where K·g is the negative gradient, and its part for the bias; the same of the previous iteration; K·g.
    g: Vec<f64>,
    g_bias: f64,
    g_old: Vec<f64>,
    g_bias_old: f64,
    kg: Vec<f64>,
    /// Direction, K·d and L·K·d.
    d: Vec<f64>,
    d_bias: f64,
    kd: Vec<f64>,
    lkd: Vec<f64>,
    /// gᵀKg + g_b² at the start and now.
    first: f64,
    now: f64,
    memory: Memory,
    n_iter: usize,
    is_done: bool,
    converged: bool,
    /// Whether gᵀKg was below 0 by more than rounding.
    is_indefinite: bool,
    curve: Vec<f64>,
}

/// Solves all problems from zero, or from `start`: α (n) and b of each.
///
/// # Errors
/// Errors of products with the Gram matrix; [`Interrupted`](lapwing_core::Error::Interrupted).
pub(super) fn solve(
    objective: &Objective<'_>,
    losses: &[Loss],
    start: Option<&[(Vec<f64>, f64)]>,
    rule: &Rule<'_>,
    max_iter: usize,
    run: &Run,
) -> Result<Vec<Solution>> {
    let n = objective.gram.n();
    let mut columns: Vec<Column<'_>> = losses.iter().map(|loss| Column::new(loss, n)).collect();
    begin(objective, &mut columns, run)?;
    // Gradients are relative to that at zero, for any start.
    each(&mut columns, run, |column| column.first = column.now);
    if let Some(start) = start {
        for (column, (alpha, bias)) in columns.iter_mut().zip(start) {
            column.alpha.copy_from_slice(alpha);
            column.bias = *bias;
            column.curve.clear();
        }
        renew(objective, &mut columns, run)?;
        begin(objective, &mut columns, run)?;
    }
    let mut classes = Vec::new();
    for iteration in 1..=max_iter {
        run.check()?;
        if let Some(smoothness) = objective.smoothness {
            smooth(smoothness, &mut columns, |c| &c.kd, |c| &mut c.lkd, run)?;
        }
        each(&mut columns, run, |column| column.step(objective));
        if columns.iter().all(|column| column.is_done) {
            break;
        }
        if iteration % RENEW == 0 {
            renew(objective, &mut columns, run)?;
        }
        each(&mut columns, run, |column| column.look(objective));
        if rule.is_due(iteration) {
            let has_settled = has_settled(&columns, rule, &mut classes, run);
            for (at, column) in columns.iter_mut().enumerate().filter(|(_, column)| !column.is_done) {
                column.judge(at, has_settled, rule, run);
            }
        }
        multiply(objective.gram, &mut columns, |c| &c.g, |c| &mut c.kg, run)?;
        each(&mut columns, run, |column| column.turn(rule));
        check_definite(&columns)?;
        let going = columns.iter().filter(|column| !column.is_done);
        let (left, worst) = going.fold((0, 0.0f64), |(left, worst), c| (left + 1, worst.max(c.residual())));
        if left == 0 {
            break;
        }
        let n_done = (losses.len() - left) as f64;
        let solved = (n_done + left as f64 * fallen(1.0, rule.tol, worst)) / losses.len() as f64;
        let share = solved.max(iteration as f64 / max_iter as f64);
        run.share(share, &format!("{left} of {} problems, residual {worst:.1e}", losses.len()));
    }
    Ok(columns.into_iter().map(Column::finish).collect())
}

/// Whether almost no unlabeled row changed its class, that of the highest value, since the last check; false at the first check.
/// Always true for a single problem, because its sides are the classes.
fn has_settled(columns: &[Column<'_>], rule: &Rule<'_>, classes: &mut Vec<u32>, run: &Run) -> bool {
    if columns.len() == 1 {
        return true;
    }
    let class = |row: usize| {
        let scores = columns.iter().map(|column| column.f[row] + column.bias).enumerate();
        scores
            .fold((0, f64::NEG_INFINITY), |best, (at, score)| if score > best.1 { (at as u32, score) } else { best })
            .0
    };
    let now: Vec<u32> =
        run.install(|| rule.unlabeled.par_iter().with_min_len(1024).map(|&row| class(row as usize)).collect());
    let is_first = classes.is_empty() && !now.is_empty();
    let changed = now.iter().zip(classes.iter()).filter(|(a, b)| a != b).count();
    *classes = now;
    !is_first && rule.is_few(changed)
}

/// Computes the gradients of all problems, and the first directions.
fn begin(objective: &Objective<'_>, columns: &mut [Column<'_>], run: &Run) -> Result<()> {
    each(columns, run, |column| column.look(objective));
    multiply(objective.gram, columns, |c| &c.g, |c| &mut c.kg, run)?;
    each(columns, run, Column::begin);
    check_definite(columns)
}

/// Returns an error for a matrix that is not positive semidefinite.
fn check_definite(columns: &[Column<'_>]) -> Result<()> {
    if columns.iter().any(|column| column.is_indefinite) {
        return Err(Error::not_positive_definite("the Gram matrix", None, "give the Gram matrix of a kernel"));
    }
    Ok(())
}

/// Calls a function for every problem that has not stopped.
fn each<'p>(columns: &mut [Column<'p>], run: &Run, work: impl Fn(&mut Column<'p>) + Sync + Send) {
    run.install(|| columns.par_iter_mut().filter(|column| !column.is_done).for_each(work));
}

/// f = K·α and h = L·f, from α.
fn renew(objective: &Objective<'_>, columns: &mut [Column<'_>], run: &Run) -> Result<()> {
    multiply(objective.gram, columns, |c| &c.alpha, |c| &mut c.f, run)?;
    match objective.smoothness {
        Some(smoothness) => smooth(smoothness, columns, |c| &c.f, |c| &mut c.h, run),
        None => Ok(()),
    }
}

/// A vector of each problem that has not stopped ← K times another one.
fn multiply<'p>(
    gram: &Gram<'_>,
    columns: &mut [Column<'p>],
    from: impl for<'c> Fn(&'c Column<'p>) -> &'c Vec<f64>,
    to: impl for<'c> Fn(&'c mut Column<'p>) -> &'c mut Vec<f64>,
    run: &Run,
) -> Result<()> {
    let n = gram.n();
    let mut block: Vec<f64> = Vec::with_capacity(columns.len() * n);
    columns.iter().filter(|column| !column.is_done).for_each(|column| block.extend_from_slice(from(column)));
    let mut out = vec![0.0; block.len()];
    gram.apply(&block, &mut out, run)?;
    let going = columns.iter_mut().filter(|column| !column.is_done);
    going.zip(out.chunks_exact(n.max(1))).for_each(|(column, out)| to(column).copy_from_slice(out));
    Ok(())
}

/// A vector of each problem that has not stopped ← L times another one.
fn smooth<'p>(
    smoothness: &Smoothness<'_>,
    columns: &mut [Column<'p>],
    from: impl for<'c> Fn(&'c Column<'p>) -> &'c Vec<f64>,
    to: impl for<'c> Fn(&'c mut Column<'p>) -> &'c mut Vec<f64>,
    run: &Run,
) -> Result<()> {
    let mut going: Vec<&mut Column<'p>> = columns.iter_mut().filter(|column| !column.is_done).collect();
    let s = going.len();
    // Row-major: the numbers of a row are consecutive.
    let mut block = vec![0.0; s * smoothness.n()];
    for (at, column) in going.iter().enumerate() {
        block[at..].iter_mut().step_by(s).zip(from(column)).for_each(|(out, value)| *out = *value);
    }
    smoothness.apply(&mut block, s, run)?;
    for (at, column) in going.iter_mut().enumerate() {
        to(column).iter_mut().zip(block[at..].iter().step_by(s)).for_each(|(to, value)| *to = *value);
    }
    Ok(())
}

impl<'p> Column<'p> {
    fn new(loss: &'p Loss, n: usize) -> Self {
        let zeros = || vec![0.0; n];
        Self {
            loss,
            alpha: zeros(),
            bias: 0.0,
            f: zeros(),
            h: zeros(),
            g: zeros(),
            g_bias: 0.0,
            g_old: zeros(),
            g_bias_old: 0.0,
            kg: zeros(),
            d: zeros(),
            d_bias: 0.0,
            kd: zeros(),
            lkd: zeros(),
            first: 0.0,
            now: 0.0,
            memory: Memory::default(),
            n_iter: 0,
            is_done: false,
            converged: false,
            is_indefinite: false,
            curve: Vec::new(),
        }
    }

    /// −g = r + γ_A·α + γ_I·h with its part for the bias, and J, from α, b, f and h.
    fn look(&mut self, objective: &Objective<'_>) {
        let o = objective.at_labeled(&self.f, self.bias);
        let (active, squares) = self.loss.at(&o);
        let mut r = vec![0.0; o.len()];
        active.residual(&o, &mut r);
        std::mem::swap(&mut self.g, &mut self.g_old);
        self.g_bias_old = self.g_bias;
        let (ambient, graph) = (objective.ambient_reg, objective.graph_reg);
        self.g.iter_mut().zip(&self.alpha).zip(&self.h).for_each(|((g, a), h)| *g = -(ambient * a + graph * h));
        self.curve.push(0.5 * (squares - dot(&self.f, &self.g)));
        objective.labeled.iter().zip(&r).for_each(|(&row, r)| self.g[row as usize] -= r);
        self.g_bias = if objective.has_bias { -r.iter().sum::<f64>() } else { 0.0 };
    }

    /// The first direction.
    fn begin(&mut self) {
        self.d.copy_from_slice(&self.g);
        self.kd.copy_from_slice(&self.kg);
        self.d_bias = self.g_bias;
        self.measure();
    }

    /// gᵀKg + g_b².
    fn measure(&mut self) {
        let product = dot(&self.kg, &self.g);
        if product < 0.0 {
            let sizes = dot(&self.g, &self.g) * dot(&self.kg, &self.kg);
            self.is_indefinite |= product < -1e-6 * sizes.sqrt();
        }
        self.now = product + self.g_bias * self.g_bias;
    }

    /// Ends the iteration of problem `number` if its labels are final by the rule.
    fn judge(&mut self, number: usize, has_settled: bool, rule: &Rule<'_>, run: &Run) {
        let objective = self.curve.last().copied().unwrap_or(f64::INFINITY);
        let standing = Standing { alpha: &self.alpha, f: &self.f, bias: self.bias, objective, has_settled };
        let stops = rule.stops(number, &standing, &mut self.memory, run);
        (self.is_done, self.converged) = (stops, stops);
    }

    /// Steps to the minimum along the direction.
    fn step(&mut self, objective: &Objective<'_>) {
        let o = objective.at_labeled(&self.f, self.bias);
        let q = objective.at_labeled(&self.kd, self.d_bias);
        let (ambient, graph) = (objective.ambient_reg, objective.graph_reg);
        let slope = ambient * dot(&self.d, &self.f) + graph * dot(&self.kd, &self.h);
        let curvature = ambient * dot(&self.d, &self.kd) + graph * dot(&self.kd, &self.lkd);
        let s = self.loss.step(&o, &q, slope, curvature);
        if s <= 0.0 {
            // The direction descends by rounding only: the iteration ends, and counts as converged if the gradient is small.
            (self.is_done, self.converged) = (true, self.residual() < STALLED);
            return;
        }
        let add = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(to, from)| *to += s * from);
        add(&mut self.alpha, &self.d);
        add(&mut self.f, &self.kd);
        add(&mut self.h, &self.lkd);
        self.bias += s * self.d_bias;
        self.n_iter += 1;
    }

    /// Computes the next direction from K·g, or ends the iteration if the gradient is small.
    fn turn(&mut self, rule: &Rule<'_>) {
        let before = self.now;
        self.measure();
        if self.residual() < rule.tol {
            (self.is_done, self.converged) = (true, true);
            return;
        }
        let with_old = dot(&self.kg, &self.g_old) + self.g_bias * self.g_bias_old;
        let share = if before > 0.0 { ((self.now - with_old) / before).max(0.0) } else { 0.0 };
        let turn = |d: &mut [f64], g: &[f64]| d.iter_mut().zip(g).for_each(|(d, g)| *d = share * *d + g);
        turn(&mut self.d, &self.g);
        turn(&mut self.kd, &self.kg);
        self.d_bias = share * self.d_bias + self.g_bias;
    }

    /// √(gᵀKg + g_b²), relative to the start.
    fn residual(&self) -> f64 {
        if self.first > 0.0 { (self.now.max(0.0) / self.first).sqrt() } else { 0.0 }
    }

    fn finish(self) -> Solution {
        let residual = self.residual();
        Solution {
            coefficients: self.alpha,
            is_of_rows: true,
            bias: self.bias,
            values: self.f,
            objective: self.curve.last().copied().unwrap_or(0.0),
            n_iter: self.n_iter,
            residual,
            converged: self.converged,
            curve: self.curve,
        }
    }
}

#[cfg(test)]
mod tests {
    use lapwing_core::{Features, Labels, Targets};
    use lapwing_graph::Graph;
    use lapwing_solve::{Precision, SymmetricMatrix};

    use super::super::kernel::{GramBlocks, Kernel, KernelRows};
    use super::super::loss::LossKind;
    use super::super::params::LaplacianKind;
    use super::*;

    #[test]
    fn the_gradient_is_that_of_the_objective() {
        let run = Run::new(Some(2), 0).unwrap();
        let n = 12;
        let features = Features::from_f64(n, 2, (0..2 * n).map(|i| ((i * 7) % 11) as f64 / 4.0).collect()).unwrap();
        let rows = KernelRows::new(&features, 0..n, &[]).unwrap();
        let blocks = GramBlocks { kernel: Kernel::Rbf { bandwidth: 0.9 }, rows };
        let gram = Gram::Matrix(SymmetricMatrix::stored(&blocks, Precision::Double, &run).unwrap());
        let edges: Vec<(u32, u32, f64)> = (0..n as u32 - 1).map(|i| (i, i + 1, 1.0 + f64::from(i % 3))).collect();
        let graph = Graph::from_edges(n, &edges).unwrap();
        let smoothness = Smoothness::new(&graph, LaplacianKind::Normalized, 2);
        let labels = Labels::from_integers((0..n).map(|i| (i % 3 == 0).then_some(i as i64 % 2)));
        let targets = Targets::one_hot(&labels, None).unwrap();
        let objective = Objective {
            gram: &gram,
            smoothness: Some(&smoothness),
            labeled: targets.rows(),
            ambient_reg: 0.3,
            graph_reg: 0.7,
            has_bias: true,
        };
        for kind in [LossKind::SquaredHinge, LossKind::Squares] {
            let losses = Loss::problems(&targets, kind, false);
            let at = |alpha: &[f64], bias: f64| {
                let mut column = [Column::new(&losses[0], n)];
                column[0].alpha.copy_from_slice(alpha);
                column[0].bias = bias;
                renew(&objective, &mut column, &run).unwrap();
                column[0].look(&objective);
                multiply(&gram, &mut column, |c| &c.g, |c| &mut c.kg, &run).unwrap();
                let [column] = column;
                (column.curve[0], column.kg, column.g_bias)
            };
            let alpha: Vec<f64> = (0..n).map(|i| ((i * 5) % 7) as f64 / 5.0 - 0.6).collect();
            let (_, kg, g_bias) = at(&alpha, 0.2);
            for i in 0..n {
                let moved = |by: f64| {
                    let mut alpha = alpha.clone();
                    alpha[i] += by;
                    at(&alpha, 0.2).0
                };
                let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((slope + kg[i]).abs() < 1e-7, "{kind:?} {i}: {slope} {}", kg[i]);
            }
            let slope = (at(&alpha, 0.2 + 1e-5).0 - at(&alpha, 0.2 - 1e-5).0) / 2e-5;
            assert!((slope + g_bias).abs() < 1e-7);
        }
    }

    /// Twenty classes, with every row on the negative side of each: no row changes sides, but the highest score may change.
    #[test]
    fn classes_have_settled_when_the_highest_score_stays() {
        let (run, n) = (Run::new(Some(2), 0).unwrap(), 100);
        let unlabeled: Vec<u32> = (0..n as u32).collect();
        let rule = Rule {
            kind: super::super::params::Stopping::Stability,
            every: 1,
            tol: 0.0,
            unlabeled: &unlabeled,
            validation: None,
        };
        let labels = Labels::from_integers((0..n).map(|i| (i < 3).then_some(i as i64)));
        let targets = Targets::one_hot(&labels, None).unwrap();
        let losses = Loss::problems(&targets, LossKind::SquaredHinge, false);
        let mut columns: Vec<Column<'_>> = losses.iter().map(|loss| Column::new(loss, n)).collect();
        let stand = |columns: &mut [Column<'_>], moved: usize| {
            for (class, column) in columns.iter_mut().enumerate() {
                let of = |row: usize| (row + usize::from(row < moved)) % 3;
                (0..n).for_each(|row| column.f[row] = if of(row) == class { -0.1 } else { -0.2 });
            }
        };
        let mut classes = Vec::new();
        for (moved, expected) in [(0, false), (2, false), (2, true), (3, true), (50, false), (50, true)] {
            stand(&mut columns, moved);
            assert_eq!(has_settled(&columns, &rule, &mut classes, &run), expected, "{moved}");
        }
        assert!(has_settled(&columns[..1], &rule, &mut Vec::new(), &run), "a single problem has its sides");
    }
}
