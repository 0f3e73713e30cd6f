//! Pairs outside the support that the optimum over all pairs would use.
//!
//! A pair that is not allowed is rightly without weight iff θzᵢⱼ ≥ μᵢ + μⱼ. Of the two rows let i be the one with the larger
//! μ: then the pair can be missing only if θzᵢⱼ < 2μᵢ, so that a row whose last known neighbour is at θz ≥ 2μᵢ is certified,
//! and with it all its pairs with rows of smaller μ. Rows that are not are asked for twice as many neighbours, again and again,
//! and all of these are allowed: whatever multipliers come next, what is known of a row is in the support. If all rows are
//! certified, the solution is that over all pairs, as far as the neighbours found are the nearest.
//!
//! Cost: a query for each row that is not certified: few, where the support is wide enough. It ends when there are none,
//! or when their neighbours would make the support four times what it was.

use lapwing_data::{Features, Result, Run};

use super::dual::{Problem, State};
use super::support::{NeighborTable, SquaredDistance};
use crate::knn::{KnnParams, NeighborIndex, query};

/// Where more neighbours are found.
pub(super) struct Repair<'a> {
    features: &'a Features<'a>,
    params: KnnParams,
    index: Option<NeighborIndex>,
    /// Most entries of the support.
    room: Option<usize>,
}

/// How many times its entries a support may grow to.
const ROOM: usize = 4;
/// Entries below which a support counts as one of so many.
const SMALL: usize = 1 << 20;

/// Pairs u < v with their squared distances.
type Pairs<R> = Vec<(u32, u32, R)>;

/// Rows with the neighbours known of them reaching to `reach` for which a pair may be missing.
pub(super) fn uncertified<'s, R: SquaredDistance>(
    problem: &'s Problem<'_, R>,
    state: &'s State,
    reach: &'s [R],
) -> impl Iterator<Item = u32> + 's {
    let (sparsity, level) = (problem.sparsity, state.multipliers.level);
    let rows = reach.iter().enumerate();
    let is_open = move |row: usize, z: f64| sparsity * z < problem.lambda(&state.multipliers, row) - level;
    rows.filter(move |&(row, &z)| is_open(row, z.into())).map(|(row, _)| row as u32)
}

impl<'a> Repair<'a> {
    /// `params` are those of the search that found the first neighbours.
    pub fn new(features: &'a Features<'a>, params: &KnnParams) -> Self {
        Self { features, params: params.clone(), index: None, room: None }
    }

    /// Pairs to be allowed, some of which have weight at `state`; moves the `reach` of the rows that were asked. None if no row
    /// needs more, or there is no room.
    ///
    /// # Errors
    /// As [`query`].
    pub fn missing<R: SquaredDistance>(
        &mut self,
        problem: &Problem<'_, R>,
        state: &State,
        reach: &mut [R],
        run: &Run,
    ) -> Result<Option<Pairs<R>>> {
        let n = reach.len();
        let (mut missing, mut has_weight): (Pairs<R>, bool) = (Vec::new(), false);
        let offsets = run.install(|| problem.offsets(&state.multipliers));
        loop {
            let rows: Vec<u32> = uncertified(problem, state, reach).collect();
            let k = (2 * self.params.n_neighbors).min(n - 1);
            let entries = problem.support.ids.len();
            let room = *self.room.get_or_insert(ROOM * entries.max(SMALL));
            let has_room = entries + 2 * (missing.len() + rows.len().saturating_mul(k)) <= room;
            if has_weight || rows.is_empty() || self.params.n_neighbors >= n - 1 || !has_room {
                missing.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.into().total_cmp(&b.2.into())));
                missing.dedup_by_key(|pair| (pair.0, pair.1));
                // Without a weight among them the solution stays what it is.
                return Ok(has_weight.then_some(missing));
            }
            self.params.n_neighbors = k;
            run.progress().update(rows.len() as u64, &format!("rows asked for {k} neighbors"));
            let found = self.ask(&rows, run)?;
            for (at, &row) in rows.iter().enumerate() {
                let ids = &found.indices[at * (k + 1)..(at + 1) * (k + 1)];
                let allowed = problem.support.row(row as usize).0;
                for (&id, &z) in ids.iter().zip(found.distances(at)) {
                    let cost = problem.sparsity * f64::from(z);
                    if id != row && allowed.binary_search(&id).is_err() {
                        missing.push((row.min(id), row.max(id), R::of(z)));
                        has_weight |= offsets.weight(row as usize, id as usize, cost) > 0.0;
                    }
                }
                reach[row as usize] = R::of(if k == n - 1 { f32::INFINITY } else { found.distances(at)[k] });
            }
        }
    }

    /// The nearest of `rows`, themselves among them.
    fn ask(&mut self, rows: &[u32], run: &Run) -> Result<NeighborTable<f32>> {
        let some = self.features.select(rows)?;
        let params = KnnParams { n_neighbors: self.params.n_neighbors + 1, ..self.params.clone() };
        let found = if NeighborIndex::pays(self.features, &params) {
            let index = match &mut self.index {
                Some(index) => index,
                none => none.insert(NeighborIndex::build(self.features, &params, &run.quiet())?),
            };
            index.query(self.features, &some, &params, &run.quiet())?
        } else {
            query(self.features, &some, &params, &run.quiet())?
        };
        NeighborTable::of_neighbors(found, self.params.metric, run)
    }
}
