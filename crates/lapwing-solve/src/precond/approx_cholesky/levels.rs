//! The graph cut into clusters, level by level, so that the inside of each cluster is eliminated independently.
//!
//! A vertex is inner if all its neighbors lie in its own cluster. Inner vertices of different clusters share no edge, before or
//! after any of them is eliminated, so that clusters are eliminated in parallel and in cache. The rims, with the edges that
//! elimination adds between them, are the graph of the next level. When too few vertices are inner (graphs without small
//! separators), the rest is eliminated as one part.

use lapwing_core::parallel::*;
use lapwing_core::{Csr, Result, Run};

use super::columns::Columns;
use super::elimination::{Cliques, Eliminated, Elimination, LIGHTEST, Record, Rule};
use crate::order::{Clusters, clusters};

/// Vertices of a cluster: their lists and values stay within a core's L2 cache.
pub(crate) const CLUSTER: usize = 8192;
/// If the share of inner vertices is below this, cutting does not pay.
const LEAST_INNER: f64 = 0.3;
/// If the share of inner vertices is at least this, factors stay small.
const MESH_INNER: f64 = 0.7;
/// The ground as an end of an edge.
pub(super) const GROUND: u32 = u32::MAX;

/// The graph of one level; vertices are numbered within it.
pub(super) struct Level {
    /// Number of each vertex in the whole graph.
    pub vertices: Vec<u32>,
    starts: Vec<usize>,
    ids: Vec<u32>,
    weights: Vec<f32>,
    /// Weight of the edge of each vertex to the ground.
    ground: Vec<f32>,
}

/// Levels of the elimination: the columns of each part, by their vertices in the whole graph.
pub(super) type Levels = Vec<Vec<Columns>>;

impl Level {
    /// The whole graph, its weights times `scale`.
    pub fn whole(adjacency: &Csr<f64>, ground: &[f64], scale: f64) -> Self {
        // Light edges are raised, never dropped: they keep the graph connected.
        let scaled = |w: &f64| if *w > 0.0 { (w * scale).max(LIGHTEST) as f32 } else { 0.0 };
        Self {
            vertices: (0..adjacency.n_rows() as u32).collect(),
            starts: adjacency.indptr().iter().map(|&at| at as usize).collect(),
            ids: adjacency.indices().to_vec(),
            weights: adjacency.values().par_iter().map(scaled).collect(),
            ground: ground.par_iter().map(scaled).collect(),
        }
    }

    fn n(&self) -> usize {
        self.vertices.len()
    }

    fn ids(&self, v: usize) -> &[u32] {
        &self.ids[self.starts[v]..self.starts[v + 1]]
    }

    /// Edges of `v`, with the ground numbered `ground`.
    fn row(&self, v: usize, ground: u32) -> impl Iterator<Item = Record> {
        let range = self.starts[v]..self.starts[v + 1];
        let edges = self.ids[range.clone()].iter().zip(&self.weights[range]);
        let grounded = Some(Record { id: ground, weight: self.ground[v] }).filter(|edge| edge.weight > 0.0);
        edges.map(|(&id, &weight)| Record { id, weight }).filter(|edge| edge.weight > 0.0).chain(grounded)
    }

    /// Eliminates everything; `None` if the factor exceeds its limit.
    pub fn eliminate(mut self, mut rule: Rule, run: &Run) -> Result<Option<Levels>> {
        let (mut levels, mut n_entries) = (Levels::new(), 0);
        loop {
            run.check()?;
            let rest = Rule { max_entries: rule.max_entries - n_entries, ..rule };
            let Some(cut) = Cut::new(&self, run)? else {
                return Ok(self.eliminate_all(rest, run)?.map(|columns| {
                    levels.push(vec![columns]);
                    levels
                }));
            };
            if rule.cliques == Cliques::Suited && cut.inner_share >= MESH_INNER {
                rule.cliques = Cliques::Trees(2);
            }
            let rest = Rule { cliques: rule.cliques, ..rest };
            let parts: Result<Vec<Option<Eliminated>>> = run.install(|| {
                (0..cut.clusters.starts.len() - 1).into_par_iter().map(|c| cut.eliminate(&self, c, rest, run)).collect()
            });
            let Some(parts) = parts?.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
            n_entries += parts.iter().map(|part| part.columns.ids.len()).sum::<usize>();
            if n_entries > rule.max_entries {
                return Ok(None);
            }
            let (columns, fill): (Vec<_>, Vec<_>) = parts.into_iter().map(|part| (part.columns, part.fill)).unzip();
            self = cut.rest(self, fill, run)?;
            levels.push(columns);
        }
    }

    fn eliminate_all(self, rule: Rule, run: &Run) -> Result<Option<Columns>> {
        let n = self.n();
        let mut part = Elimination::new(n, n + 1, self.ids.len() * rule.cliques.copies() as usize);
        (0..n).for_each(|v| part.set_row(v, rule.cliques.copies(), self.row(v, n as u32)));
        let Self { vertices, starts, ids, weights, ground } = self;
        drop((starts, ids, weights, ground));
        let done = part.run(rule, |v| vertices[v], run)?;
        Ok(done.map(|done| renamed(done.columns, |v| if v == n { GROUND } else { vertices[v] })))
    }
}

/// A level cut into clusters.
struct Cut {
    clusters: Clusters,
    /// Number of each vertex in the part of its cluster: inner ones first, then the rim.
    places: Vec<u32>,
    /// Inner vertices of each cluster.
    n_inner: Vec<usize>,
    /// Share of inner vertices.
    inner_share: f64,
}

impl Cut {
    /// `None` if eliminating the level as one part is better.
    fn new(level: &Level, run: &Run) -> Result<Option<Self>> {
        let n = level.n();
        if n <= CLUSTER {
            return Ok(None);
        }
        let clusters = clusters(n, CLUSTER, |v| level.ids(v), run)?;
        let mut home = vec![0u32; n];
        let ranges: Vec<_> = clusters.starts.windows(2).map(|pair| pair[0]..pair[1]).collect();
        for (cluster, range) in ranges.iter().enumerate() {
            clusters.order[range.clone()].iter().for_each(|&v| home[v as usize] = cluster as u32);
        }
        let is_inner: Vec<bool> =
            (0..n).into_par_iter().map(|v| level.ids(v).iter().all(|&u| home[u as usize] == home[v])).collect();
        let total = is_inner.iter().filter(|inner| **inner).count();
        let inner_share = total as f64 / n as f64;
        if inner_share < LEAST_INNER {
            return Ok(None);
        }
        let mut places = home;
        let mut n_inner = Vec::with_capacity(ranges.len());
        for range in ranges {
            let members = &clusters.order[range];
            let (inner, rim): (Vec<u32>, Vec<u32>) = members.iter().partition(|&&v| is_inner[v as usize]);
            inner.iter().chain(&rim).enumerate().for_each(|(at, &v)| places[v as usize] = at as u32);
            n_inner.push(inner.len());
        }
        Ok(Some(Self { clusters, places, n_inner, inner_share }))
    }

    fn members(&self, cluster: usize) -> &[u32] {
        &self.clusters.order[self.clusters.starts[cluster]..self.clusters.starts[cluster + 1]]
    }

    fn is_inner(&self, cluster: usize, v: u32) -> bool {
        (self.places[v as usize] as usize) < self.n_inner[cluster]
    }

    /// Eliminates the inner vertices of a cluster.
    fn eliminate(&self, level: &Level, cluster: usize, rule: Rule, run: &Run) -> Result<Option<Eliminated>> {
        let (members, n_inner) = (self.members(cluster), self.n_inner[cluster]);
        let ground = members.len();
        // Members by their number in the part, then the ground.
        let mut names = vec![0u32; ground];
        members.iter().for_each(|&v| names[self.places[v as usize] as usize] = v);
        let inner = &names[..n_inner];
        let n_records: usize = inner.iter().map(|&v| level.ids(v as usize).len() + 1).sum();
        let mut part = Elimination::new(n_inner, ground + 1, n_records * rule.cliques.copies() as usize);
        for (at, &v) in inner.iter().enumerate() {
            let place = |edge: Record| match edge.id {
                GROUND => Record { id: ground as u32, ..edge },
                id => Record { id: self.places[id as usize], ..edge },
            };
            part.set_row(at, rule.cliques.copies(), level.row(v as usize, GROUND).map(place));
        }
        let done = part.run(rule, |v| level.vertices[names[v] as usize], run)?;
        let name = |v: usize| names.get(v).copied().unwrap_or(GROUND);
        Ok(done.map(|done| Eliminated {
            columns: renamed(done.columns, |v| names.get(v).map_or(GROUND, |&v| level.vertices[v as usize])),
            fill: done.fill.into_iter().map(|(a, b, w)| (name(a as usize), name(b as usize), w)).collect(),
        }))
    }

    /// The graph of the rims, including the edges that elimination added; memory is freed after its last use.
    fn rest(self, level: Level, fill: Vec<Vec<(u32, u32, f32)>>, run: &Run) -> Result<Level> {
        run.check()?;
        let mut places = vec![u32::MAX; level.n()];
        let mut kept = Vec::new();
        for cluster in 0..self.n_inner.len() {
            for &v in self.members(cluster).iter().filter(|&&v| !self.is_inner(cluster, v)) {
                places[v as usize] = kept.len() as u32;
                kept.push(v);
            }
        }
        drop(self);
        let mut rows: Vec<Vec<(u32, f32)>> = run.install(|| {
            let row = |&v: &u32| {
                let range = level.starts[v as usize]..level.starts[v as usize + 1];
                let edges = level.ids[range.clone()].iter().zip(&level.weights[range]);
                edges.map(|(&u, &w)| (places[u as usize], w)).filter(|edge| edge.0 != u32::MAX).collect()
            };
            kept.par_iter().map(row).collect()
        });
        let vertices = kept.iter().map(|&v| level.vertices[v as usize]).collect();
        let mut ground: Vec<f32> = kept.iter().map(|&v| level.ground[v as usize]).collect();
        drop((level, kept));
        run.check()?;
        for (a, b, weight) in fill.into_iter().flatten() {
            for (own, other) in [(a, b), (b, a)] {
                match (own, other) {
                    (GROUND, _) => {}
                    (own, GROUND) => ground[places[own as usize] as usize] += weight,
                    (own, other) => rows[places[own as usize] as usize].push((places[other as usize], weight)),
                }
            }
        }
        run.check()?;
        run.install(|| rows.par_iter_mut().for_each(merge));
        run.check()?;
        let mut rest = Level { vertices, starts: vec![0], ids: Vec::new(), weights: Vec::new(), ground };
        for row in rows {
            rest.ids.extend(row.iter().map(|edge| edge.0));
            rest.weights.extend(row.iter().map(|edge| edge.1));
            rest.starts.push(rest.ids.len());
        }
        Ok(rest)
    }
}

/// Sorts a row by column and adds up parallel edges.
fn merge(row: &mut Vec<(u32, f32)>) {
    // Stable, so that sums are taken in the order of the clusters.
    row.sort_by_key(|edge| edge.0);
    row.dedup_by(|from, into| {
        let is_same = from.0 == into.0;
        if is_same {
            into.1 += from.1;
        }
        is_same
    });
}

/// Columns with their vertices renumbered by `name`.
fn renamed(mut columns: Columns, name: impl Fn(usize) -> u32) -> Columns {
    columns.vertices.iter_mut().for_each(|v| *v = name(*v as usize));
    columns.ids.iter_mut().for_each(|v| *v = name(*v as usize));
    columns
}
