//! The structure of a complete factor: which columns are eliminated together, and which rows they have.

use std::ops::Range;

use lapwing_core::{Csr, Result, Run};

use super::min_degree::{NONE, Quotient};

/// Fronts between two checks for an interruption.
const UNCHECKED: usize = 1024;
/// The degree of a hub is above [`HUB`]·√n and above [`LEAST_HUB`].
const HUB: f64 = 10.0;
const LEAST_HUB: usize = 16;
/// A factor is small up to so many multiplications for each entry of the adjacency matrix, and entries for each edge and row. Measured on
/// neighbor graphs of 2,000 to 20,000 rows: with so many, the factor takes as long as cells and the solves for twenty to thirty columns.
const PRODUCTS: f64 = 300.0;
const FILL: f64 = 16.0;

/// The most work that a factor may need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Multiplications of the factorization.
    pub products: f64,
    /// Entries of the factor.
    pub entries: usize,
    /// Whether graphs with hubs are ordered. Elements at a hub are read again with each of its neighbors.
    pub hubs: bool,
}

impl Budget {
    /// At most `max_fill` entries for each edge and row.
    pub fn of_fill<T>(adjacency: &Csr<T>, max_fill: f64) -> Self {
        let entries = (max_fill * (adjacency.nnz() / 2 + adjacency.n_rows()) as f64) as usize;
        Self { products: f64::INFINITY, entries, hubs: true }
    }

    /// As much as some iterations with another preconditioner cost, and at most `max_fill` entries for each edge and row.
    pub fn small<T>(adjacency: &Csr<T>, max_fill: f64) -> Self {
        let fill = max_fill.min(FILL);
        Self { products: PRODUCTS * adjacency.nnz() as f64, hubs: false, ..Self::of_fill(adjacency, fill) }
    }
}

/// Columns that are eliminated together.
#[derive(Debug)]
pub(super) struct Front {
    /// Their positions in the order of elimination.
    pub columns: Range<usize>,
    /// Their common neighbors among later positions, a range of [`Fronts::rows`], ascending.
    pub rows: Range<usize>,
    /// The front that takes up what this one leaves: a later one.
    pub parent: Option<u32>,
}

/// The structure of a factor.
#[derive(Debug)]
pub(super) struct Fronts {
    /// The vertex of each position (n).
    pub order: Vec<u32>,
    /// The fronts in the order of their columns; each comes after those it is the parent of.
    pub fronts: Vec<Front>,
    /// Rows of the fronts, as positions.
    pub rows: Vec<u32>,
    /// Entries of the factor below its diagonal.
    pub n_entries: usize,
}

impl Fronts {
    /// Orders a graph; `None` if its factor exceeds the budget.
    pub fn new<T>(adjacency: &Csr<T>, budget: Budget, run: &Run) -> Result<Option<Self>> {
        let n = adjacency.n_rows();
        let hub = LEAST_HUB.max((HUB * (n as f64).sqrt()) as usize);
        if !budget.hubs && (0..n).any(|v| adjacency.row(v).0.len() > hub) {
            return Ok(None);
        }
        let mut quotient = Quotient::new(adjacency);
        let (mut products, mut n_entries) = (0.0, 0);
        while let Some(pivot) = quotient.next_pivot() {
            if quotient.pivots.len().is_multiple_of(UNCHECKED) {
                run.check()?;
            }
            let (columns, rows) = quotient.eliminate(pivot);
            n_entries += columns * rows + columns * (columns - 1) / 2;
            products += (0..columns).map(|column| ((rows + column + 1) as f64).powi(2) / 2.0).sum::<f64>();
            if n_entries > budget.entries || products > budget.products {
                return Ok(None);
            }
        }
        Ok(Some(Self::assembled(&quotient, n_entries)))
    }

    /// The fronts, in an order in which those with the same parent precede it directly: they are still in the cache then.
    fn assembled(quotient: &Quotient, n_entries: usize) -> Self {
        let (n, n_fronts) = (quotient.next.len(), quotient.pivots.len());
        let mut number = vec![NONE; n];
        quotient.pivots.iter().enumerate().for_each(|(front, &pivot)| number[pivot as usize] = front as u32);
        let parent = |&pivot: &u32| match quotient.parent[pivot as usize] {
            NONE => NONE,
            parent => number[parent as usize],
        };
        let parents: Vec<u32> = quotient.pivots.iter().map(parent).collect();
        let places = postorder(&parents);
        let (mut order, mut positions) = (Vec::with_capacity(n), vec![0; n]);
        let (mut fronts, mut rows) = (Vec::with_capacity(n_fronts), Vec::with_capacity(quotient.rows.len()));
        for &front in &places.order {
            let first = order.len();
            let mut member = quotient.pivots[front as usize];
            while member != NONE {
                positions[member as usize] = order.len() as u32;
                order.push(member);
                member = quotient.next[member as usize];
            }
            let begin = rows.len();
            let old = if front == 0 { 0 } else { quotient.row_ends[front as usize - 1] };
            rows.extend_from_slice(&quotient.rows[old..quotient.row_ends[front as usize]]);
            let parent = parents[front as usize];
            let parent = (parent != NONE).then(|| places.place[parent as usize]);
            fronts.push(Front { columns: first..order.len(), rows: begin..rows.len(), parent });
        }
        for front in &fronts {
            let rows = &mut rows[front.rows.clone()];
            rows.iter_mut().for_each(|row| *row = positions[*row as usize]);
            rows.sort_unstable();
        }
        Self { order, fronts, rows, n_entries }
    }
}

/// An order of fronts, and the place of each in it.
struct Places {
    order: Vec<u32>,
    place: Vec<u32>,
}

/// Every front after the ones it is the parent of, and directly after the last of them. Parents have larger numbers.
fn postorder(parents: &[u32]) -> Places {
    let n = parents.len();
    // Lists of the fronts with the same parent; the roots are those of number n.
    let (mut head, mut next) = (vec![NONE; n + 1], vec![NONE; n]);
    for (front, &parent) in parents.iter().enumerate() {
        let list = &mut head[(parent as usize).min(n)];
        next[front] = std::mem::replace(list, front as u32);
    }
    let (mut order, mut stack) = (Vec::with_capacity(n), Vec::new());
    stack.push(head[n]);
    while let Some(front) = stack.last().copied() {
        if front == NONE {
            stack.pop();
            let Some(done) = stack.last_mut() else { break };
            order.push(*done);
            *done = next[*done as usize];
        } else {
            stack.push(head[front as usize]);
        }
    }
    let mut place = vec![0; n];
    order.iter().enumerate().for_each(|(at, &front)| place[front as usize] = at as u32);
    Places { order, place }
}
