//! Groups of more than k equal rows, found by hashing.
//!
//! The k neighbors of such a row are the first of its group, all at distance 0. Bounds could not rule out the rest of the
//! group, so that a search would evaluate all of it. Cost: one pass over the features, 12 bytes per row and a sort of them.

use std::hash::{DefaultHasher, Hash, Hasher};

use lapwing_core::parallel::*;
use lapwing_core::{DenseValues, Features, Run};
use rayon::slice::ParallelSliceMut;

/// Groups of more than k + 1 equal rows.
pub(crate) struct DuplicateGroups {
    /// Rows and their group, ascending by row.
    pub members: Vec<(u32, u32)>,
    /// The first k + 1 rows of each group, ascending.
    groups: Vec<Vec<u32>>,
}

impl DuplicateGroups {
    pub fn find(features: &Features<'_>, k: usize, run: &Run) -> Self {
        let n = features.n_rows() as u32;
        let mut hashed: Vec<(u64, u32)> = run.install(|| {
            let mut hashed: Vec<_> =
                (0..n).into_par_iter().with_min_len(256).map(|row| (hash(features, row as usize), row)).collect();
            hashed.par_sort_unstable();
            hashed
        });
        let (mut members, mut groups) = (Vec::new(), Vec::new());
        for alike in hashed.chunk_by_mut(|a, b| a.0 == b.0).filter(|alike| alike.len() > k) {
            let first = alike[0].1 as usize;
            let group: Vec<u32> =
                alike.iter().map(|e| e.1).filter(|&row| are_equal(features, first, row as usize)).collect();
            if group.len() > k {
                members.extend(group.iter().map(|&row| (row, groups.len() as u32)));
                groups.push(group[..=k].to_vec());
            }
        }
        members.sort_unstable();
        Self { members, groups }
    }

    /// The rows of `n` that can be neighbors of others, ascending: of each group the first k + 1.
    pub fn kept(&self, n: usize) -> Vec<u32> {
        let is_first = |&(row, group): &(u32, u32)| self.groups[group as usize].binary_search(&row).is_ok();
        let mut left_out = self.members.iter().filter(|member| !is_first(member)).map(|member| member.0).peekable();
        (0..n as u32).filter(|row| left_out.next_if_eq(row).is_none()).collect()
    }

    /// Whether `row` is of a group.
    pub fn has(&self, row: u32) -> bool {
        !self.members.is_empty() && self.members.binary_search_by_key(&row, |member| member.0).is_ok()
    }

    /// The first k other rows equal to `row`; `None` if there are fewer.
    pub fn neighbors(&self, row: u32) -> Option<impl Iterator<Item = u32> + '_> {
        let at = self.members.binary_search_by_key(&row, |member| member.0).ok()?;
        let group = &self.groups[self.members[at].1 as usize];
        Some(group.iter().copied().filter(move |&other| other != row).take(group.len() - 1))
    }
}

fn hash(features: &Features<'_>, row: usize) -> u64 {
    // Fixed keys: the same in every run.
    let mut hasher = DefaultHasher::new();
    match features {
        Features::Dense(dense) => {
            let range = row * dense.n_cols()..(row + 1) * dense.n_cols();
            match dense.values() {
                DenseValues::F32(v) => hasher.write(bytemuck::cast_slice(&v.as_slice()[range])),
                DenseValues::F64(v) => hasher.write(bytemuck::cast_slice(&v.as_slice()[range])),
                DenseValues::U8(v) => hasher.write(&v.as_slice()[range]),
            }
        }
        Features::Sparse(sparse) => {
            let (columns, values) = sparse.row(row);
            columns.hash(&mut hasher);
            hasher.write(bytemuck::cast_slice(values));
        }
    }
    hasher.finish()
}

fn are_equal(features: &Features<'_>, a: usize, b: usize) -> bool {
    match features {
        Features::Dense(dense) => {
            let d = dense.n_cols();
            let (a, b) = (a * d..(a + 1) * d, b * d..(b + 1) * d);
            match dense.values() {
                DenseValues::F32(v) => v.as_slice()[a] == v.as_slice()[b],
                DenseValues::F64(v) => v.as_slice()[a] == v.as_slice()[b],
                DenseValues::U8(v) => v.as_slice()[a] == v.as_slice()[b],
            }
        }
        Features::Sparse(sparse) => sparse.row(a) == sparse.row(b),
    }
}
