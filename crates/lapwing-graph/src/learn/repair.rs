//! Repairs: pairs outside the support to which the optimum over all pairs gives weight.
//!
//! A pair that is not allowed has no weight in the optimum iff θzᵢⱼ ≥ μᵢ + μⱼ. Let i be the row with the larger μ: the pair can
//! have weight only if θzᵢⱼ < 2μᵢ. A row whose last known neighbor is at θz ≥ 2μᵢ is therefore certified, and with it all its
//! pairs with rows of smaller μ. For the other rows twice as many neighbors are searched, again and again, and all of them are
//! allowed: the support has all known neighbors of a row, whatever the next multipliers are. If all rows are certified, the
//! solution is that over all pairs. This holds for the nearest neighbors only: by default neighbors are therefore searched exactly,
//! unless that takes more than a minute or two. Neighbors that partitions found certify nothing; then repairs only add pairs.
//!
//! Cost: a query for each row that is not certified; these are few where the support is wide enough. Repairs end when no such row
//! is left, or when their neighbors would make the support four times as large.

use lapwing_core::{Features, Result, Run};

use super::dual::{Problem, State};
use super::support::{NeighborTable, SquaredDistance};
use crate::knn::{KnnParams, NeighborIndex, query};

/// Searches more neighbors of rows that are not certified.
pub(super) struct Repair<'a> {
    features: &'a Features<'a>,
    params: KnnParams,
    index: Option<NeighborIndex>,
    /// Most entries of the support.
    room: Option<usize>,
}

/// Factor to which a support may grow.
const ROOM: usize = 4;
/// A smaller support may grow as if it had this many entries.
const SMALL: usize = 1 << 20;

/// Pairs u < v with their squared distances.
type Pairs<R> = Vec<(u32, u32, R)>;

/// Rows that are not certified; `reach` is the squared distance of each row to its last known neighbor.
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
    /// Takes the parameters of the search that found the first neighbors.
    pub fn new(features: &'a Features<'a>, params: &KnnParams) -> Self {
        Self { features, params: params.clone(), index: None, room: None }
    }

    /// Whether all its searches found the nearest.
    pub fn is_exact(&self) -> bool {
        self.index.is_none()
    }

    /// Pairs to allow, some of which have weight at `state`; updates `reach` of their rows. `None` if all rows are certified or
    /// there is no room.
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
                // Without a weight among these pairs, the solution stays the same.
                return Ok(has_weight.then_some(missing));
            }
            self.params.n_neighbors = k;
            run.share(0.0, &format!("{k} neighbors of {} rows", rows.len()));
            let found = self.nearest(&rows, run)?;
            for (at, &row) in rows.iter().enumerate() {
                let ids = &found.indices[at * (k + 1)..(at + 1) * (k + 1)];
                let allowed = problem.support.row(row as usize).0;
                for (&id, &z) in ids.iter().zip(found.distances(at)) {
                    let cost = problem.sparsity * f64::from(z);
                    if id != row && allowed.binary_search(&id).is_err() {
                        missing.push((row.min(id), row.max(id), R::from_f32(z)));
                        has_weight |= offsets.weight(row as usize, id as usize, cost) > 0.0;
                    }
                }
                reach[row as usize] = R::from_f32(if k == n - 1 { f32::INFINITY } else { found.distances(at)[k] });
            }
        }
    }

    /// The nearest neighbors of `rows`, the rows themselves among them.
    fn nearest(&mut self, rows: &[u32], run: &Run) -> Result<NeighborTable<f32>> {
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
        NeighborTable::from_neighbors(found, self.params.metric(), run)
    }
}
