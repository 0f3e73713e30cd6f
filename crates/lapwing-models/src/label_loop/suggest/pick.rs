//! The picks of a batch.

use lapwing_core::parallel::*;
use lapwing_core::{Result, Run};
use lapwing_graph::Graph;
use rayon::slice::ParallelSliceMut;

use super::super::cover::Cover;
use super::{Reason, Solved, Strategy, Suggestion, drawn};
use crate::core::cells::NO_CELL;

/// Times that border measures are averaged with those of the neighbors.
const SMOOTHINGS: usize = 3;

/// Rows picked so far.
pub(super) struct Picker<'a> {
    graph: &'a Graph,
    cells: &'a Cover,
    solved: Option<&'a Solved>,
    /// Whether rows are chosen without regard to labels.
    is_cold: bool,
    labeled: &'a [u32],
    free: Vec<bool>,
    cost: Option<&'a [f64]>,
    run: &'a Run,
    pub picked: Vec<Suggestion>,
}

impl<'a> Picker<'a> {
    pub fn new(
        (graph, cells): (&'a Graph, &'a Cover),
        solved: Option<&'a Solved>,
        is_cold: bool,
        labeled: &'a [u32],
        free: Vec<bool>,
        cost: Option<&'a [f64]>,
        run: &'a Run,
    ) -> Self {
        Self { graph, cells, solved, is_cold, labeled, free, cost, run, picked: Vec::new() }
    }

    /// Takes a row out of the free ones.
    pub fn take(&mut self, row: u32) {
        self.free[row as usize] = false;
    }

    /// Adds a row to the picked ones.
    pub fn add(&mut self, row: u32, reason: Reason, score: f64) {
        self.take(row);
        let guess = self.solved.filter(|solved| solved.labeling.reached[row as usize]);
        let guess =
            guess.map(|solved| (solved.labeling.labels[row as usize], solved.labeling.confidence[row as usize]));
        self.picked.push(Suggestion { row, reason, score, guess });
    }

    /// The suggestions in order.
    pub fn finish(self) -> Result<Vec<Suggestion>> {
        self.run.check()?;
        Ok(self.picked)
    }

    /// Picks `count` rows by the strategy. If it finds fewer, the others are free rows at random.
    pub fn pick(&mut self, strategy: Strategy, count: usize) -> Result<()> {
        let end = self.picked.len() + count;
        match strategy {
            Strategy::Cover => self.cover(count)?,
            Strategy::Mix => self.mix(count)?,
            Strategy::Border => self.border(count),
            Strategy::Margin => self.margin(count),
            Strategy::Random => {}
        }
        let reason = if strategy == Strategy::Random { Reason::Random } else { Reason::Fill };
        let others = drawn(&self.free, end - self.picked.len(), 2 * self.labeled.len() as u64 + 1, self.run);
        others.into_iter().for_each(|row| self.add(row, reason, f64::NAN));
        Ok(())
    }

    fn cost(&self, row: u32) -> f64 {
        self.cost.map_or(1.0, |cost| cost[row as usize])
    }

    /// Picks rows in turn by cover and by border; by the other once one of them has no more.
    fn mix(&mut self, count: usize) -> Result<()> {
        let mut border = self.border_rows().into_iter();
        let mut cover = self.covering();
        for turn in 0..count {
            self.run.check()?;
            self.run.share(turn as f64 / count as f64, "");
            let wants_cover = turn % 2 == 0;
            if wants_cover && cover.pick(self) {
                continue;
            }
            match border.find(|(row, _)| self.free[*row as usize]) {
                Some((row, score)) => {
                    self.add(row, Reason::Border, score);
                    cover.refresh(self, row);
                }
                None if !wants_cover && cover.pick(self) => {}
                None => break,
            }
        }
        Ok(())
    }

    fn cover(&mut self, count: usize) -> Result<()> {
        let mut cover = self.covering();
        for turn in 0..count {
            self.run.check()?;
            self.run.share(turn as f64 / count as f64, "");
            if !cover.pick(self) {
                break;
            }
        }
        Ok(())
    }

    fn border(&mut self, count: usize) {
        self.border_rows().into_iter().take(count).for_each(|(row, score)| self.add(row, Reason::Border, score));
    }

    fn margin(&mut self, count: usize) {
        let measure = self.border_measure(0);
        self.ranked(&measure).into_iter().take(count).for_each(|(row, score)| self.add(row, Reason::Border, score));
    }

    /// Picks rows far from all labels: one from each cell, those of largest mean distance first. Within a cell, the row of the largest
    /// distance times the root of its weight within the cell.
    pub fn far(&mut self, count: usize) -> Result<()> {
        let Some(solved) = self.solved.filter(|_| count > 0) else { return Ok(()) };
        let cover = &self.cells;
        let mean = |rows: &mut dyn Iterator<Item = usize>| {
            let finite = rows.map(|row| solved.distance[row]).filter(|o| o.is_finite());
            let (sum, n) = finite.fold((0.0, 0usize), |(sum, n), o| (sum + o, n + 1));
            if n == 0 { f64::NAN } else { sum / n as f64 }
        };
        let of_all = mean(&mut (0..solved.distance.len()));
        let far = |cell: usize| mean(&mut cover.members[cell].iter().map(|&row| row as usize)) / of_all;
        let cells = (0..cover.members.len()).map(|cell| (cell, far(cell))).filter(|(_, far)| !far.is_nan());
        let mut cells: Vec<(usize, f64)> = cells.collect();
        cells.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let key: Vec<f64> =
            cover.inner.iter().zip(&solved.distance).map(|(inner, distance)| inner.sqrt() * distance).collect();
        let end = self.picked.len() + count;
        // A second row of a cell only once every cell has given one.
        loop {
            let before = self.picked.len();
            for &(cell, far) in &cells {
                if self.picked.len() == end {
                    return Ok(());
                }
                self.run.check()?;
                if let Some(row) = self.lead(&key, cell) {
                    self.add(row, Reason::Far, far);
                }
            }
            if self.picked.len() == before {
                return Ok(());
            }
        }
    }

    /// Free rows by the smoothed border measure, local maxima first.
    fn border_rows(&self) -> Vec<(u32, f64)> {
        self.peaks_first(&self.border_measure(SMOOTHINGS))
    }

    /// 1 − (p₁ − p₂) of each row (n), averaged `times` times with the neighbors; NaN where no label reaches.
    fn border_measure(&self, times: usize) -> Vec<f64> {
        let Some(solved) = self.solved else { return vec![f64::NAN; self.free.len()] };
        let (labeling, graph) = (&solved.labeling, self.graph);
        let measure = |row: usize| {
            if !labeling.reached[row] {
                return f64::NAN;
            }
            let shares = labeling.label_distributions.row(row);
            let best = labeling.labels[row] as usize;
            let others = shares.iter().enumerate().filter(|(class, _)| *class != best);
            1.0 - (shares[best] - others.fold(0.0, |second: f64, (_, share)| second.max(*share)))
        };
        let average = |measures: &[f64], row: usize| {
            let (columns, weights) = graph.adjacency().row(row);
            let degree = graph.degree()[row];
            let near: f64 = columns.iter().zip(weights).map(|(&id, weight)| weight * measures[id as usize]).sum();
            if degree > 0.0 { 0.5 * measures[row] + 0.5 * near / degree } else { measures[row] }
        };
        self.run.install(|| {
            let rows = || (0..labeling.reached.len()).into_par_iter().with_min_len(512);
            let first = rows().map(measure).collect();
            (0..times).fold(first, |measures: Vec<f64>, _| rows().map(|row| average(&measures, row)).collect())
        })
    }

    /// Free rows by `values` over cost, the largest first; rows of NaN are left out.
    fn ranked(&self, values: &[f64]) -> Vec<(u32, f64)> {
        let of = |row: u32| (row, values[row as usize]);
        let rows = (0..values.len() as u32).map(of).filter(|(row, value)| self.free[*row as usize] && !value.is_nan());
        let mut rows: Vec<(u32, f64)> = rows.collect();
        let key = |&(row, value): &(u32, f64)| value / self.cost(row);
        self.run.install(|| rows.par_sort_unstable_by(|a, b| key(b).total_cmp(&key(a)).then(a.0.cmp(&b.0))));
        rows
    }

    /// Free rows whose value is at least that of every free neighbor, the largest first; then all others.
    fn peaks_first(&self, values: &[f64]) -> Vec<(u32, f64)> {
        let is_peak = |row: u32| {
            let own = values[row as usize];
            let mut columns = self.graph.adjacency().row(row as usize).0.iter();
            // Of equal neighbors only the first is a peak.
            columns.all(|&other| {
                let value = values[other as usize];
                !self.free[other as usize] || value.is_nan() || own > value || (own == value && row < other)
            })
        };
        let (peaks, others): (Vec<_>, Vec<_>) = self.ranked(values).into_iter().partition(|(row, _)| is_peak(*row));
        peaks.into_iter().chain(others).collect()
    }

    /// Picks by cover, from the labels so far.
    fn covering(&self) -> Covering<'a> {
        let cover = &self.cells;
        let uncertainty: Option<Vec<f64>> =
            self.solved.filter(|_| !self.is_cold).map(|solved| uncertainty(solved, self.labeled));
        let mean = cover.inner.iter().sum::<f64>() / cover.inner.len().max(1) as f64;
        let key: Vec<f64> = match &uncertainty {
            Some(uncertainty) => {
                let root = |inner: &f64| if mean > 0.0 { (inner / mean).sqrt() } else { 1.0 };
                uncertainty.iter().zip(&cover.inner).map(|(u, inner)| u * root(inner)).collect()
            }
            None => cover.inner.clone(),
        };
        let mass = |rows: &Vec<u32>| match &uncertainty {
            Some(uncertainty) => rows.iter().map(|&row| uncertainty[row as usize]).sum(),
            None => rows.len() as f64,
        };
        let mass = cover.members.iter().map(mass).collect();
        let taken: Vec<u32> = self.labeled.iter().copied().chain(self.picked.iter().map(|picked| picked.row)).collect();
        let picks = cover.picks(mass, cover.reach(&taken), self.run);
        let leads = (0..cover.members.len()).map(|cell| self.lead(&key, cell)).collect();
        Covering { picks, leads, key }
    }

    /// The free row of a cell with the largest key over cost, the first of equals.
    fn lead(&self, key: &[f64], cell: usize) -> Option<u32> {
        let free = self.cells.members[cell].iter().copied().filter(|&row| self.free[row as usize]);
        let value = |row: u32| key[row as usize] / self.cost(row);
        free.reduce(|best, row| if value(row) > value(best) { row } else { best })
    }
}

/// Gini impurity of the shares of each row (n); 0 for rows with a label, that of equal shares where no label reaches.
fn uncertainty(solved: &Solved, labeled: &[u32]) -> Vec<f64> {
    let labeling = &solved.labeling;
    let c = labeling.scores.n_cols() as f64;
    let of = |(row, shares): (usize, &[f64])| match labeling.reached[row] {
        true => 1.0 - shares.iter().map(|p| p * p).sum::<f64>(),
        false => 1.0 - 1.0 / c,
    };
    let mut found: Vec<f64> = labeling.label_distributions.rows().enumerate().map(of).collect();
    labeled.iter().for_each(|&row| found[row as usize] = 0.0);
    found
}

/// Picks by cover under way.
struct Covering<'a> {
    picks: super::super::cover::Picks<'a>,
    /// The row that each cell would give.
    leads: Vec<Option<u32>>,
    /// By which a cell chooses among its rows (n).
    key: Vec<f64>,
}

impl Covering<'_> {
    /// Picks a row; false if no cell has any.
    fn pick(&mut self, picker: &mut Picker<'_>) -> bool {
        let leads = &self.leads;
        let cost = |cell: usize| leads[cell].map(|row| picker.cost(row));
        let Some((cell, gain)) = self.picks.next(&cost) else { return false };
        let Some(row) = self.leads[cell] else { return false };
        picker.add(row, Reason::Cover, gain);
        self.leads[cell] = picker.lead(&self.key, cell);
        true
    }

    /// Takes account of a row that was picked otherwise.
    fn refresh(&mut self, picker: &Picker<'_>, row: u32) {
        let cell = picker.cells.home[row as usize];
        if cell != NO_CELL {
            self.leads[cell as usize] = picker.lead(&self.key, cell as usize);
        }
    }
}
