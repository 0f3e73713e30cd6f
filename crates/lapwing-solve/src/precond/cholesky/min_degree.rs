//! An order of elimination that keeps a complete factor small: approximate minimum degree (Amestoy, Davis & Duff 1996).
//!
//! Eliminating a vertex joins all its neighbors. These cliques are never written down: the eliminated vertex becomes an *element*, the list
//! of its neighbors at that time, and takes the place of the elements it had itself. Vertices with the same neighbors are merged and
//! eliminated together; their columns form a [`Front`] of the factor. A degree is bounded by the sizes of the elements at a vertex,
//! because counting their union would take longer than the elimination.
//!
//! Cost: about O(m) for graphs with small separators. The lists of all elements are kept, because they are the rows of the factor.

use std::ops::Range;

use lapwing_data::{Csr, Result, Run};

/// No vertex.
const NONE: u32 = u32::MAX;
/// Fronts between two looks whether to stop.
const UNCHECKED: usize = 1024;
/// The degree of a hub is above this many √n, and above [`LEAST_HUB`]. Elements at a hub are read again with each of its neighbors.
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
    /// Whether graphs with hubs are ordered.
    pub hubs: bool,
}

impl Budget {
    pub const UNLIMITED: Self = Self { products: f64::INFINITY, entries: usize::MAX, hubs: true };

    /// At most so many entries for each edge and row.
    pub fn of_fill<T>(adjacency: &Csr<T>, max_fill: f64) -> Self {
        let entries = (max_fill * (adjacency.nnz() / 2 + adjacency.n_rows()) as f64) as usize;
        Self { entries, ..Self::UNLIMITED }
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
        while let Some(pivot) = quotient.queue.first() {
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
        Ok(Some(quotient.assembled(n_entries)))
    }
}

/// The graph during the elimination: vertices with their remaining edges and elements.
struct Quotient {
    /// Where the list of a vertex or element begins in `ids`, its length, and how many elements a vertex begins with.
    start: Vec<usize>,
    len: Vec<u32>,
    n_elements: Vec<u32>,
    ids: Vec<u32>,
    /// Number of merged vertices that one stands for; 0 if it was merged into another or eliminated.
    weight: Vec<u32>,
    /// A bound on the degree of a vertex, or the size of an element.
    degree: Vec<u32>,
    /// Whether an element is part of the graph.
    is_element: Vec<bool>,
    /// The next vertex merged into the same one, and the last of them.
    next: Vec<u32>,
    last: Vec<u32>,
    /// The front being eliminated has this number in `in_front`.
    in_front: Vec<u32>,
    /// Marks: values of at least `mark` were written in the present step.
    marks: Vec<u64>,
    mark: u64,
    queue: Queue,
    left: u32,
    /// Eliminated vertices, one for each front; the element into which each was absorbed; and the rows of the fronts, as vertices.
    pivots: Vec<u32>,
    parent: Vec<u32>,
    rows: Vec<u32>,
    row_ends: Vec<usize>,
}

impl Quotient {
    fn new<T>(adjacency: &Csr<T>) -> Self {
        let n = adjacency.n_rows();
        let (mut start, mut ids) = (Vec::with_capacity(n), Vec::with_capacity(2 * adjacency.nnz()));
        let mut len = Vec::with_capacity(n);
        for v in 0..n {
            start.push(ids.len());
            ids.extend(adjacency.row(v).0.iter().copied().filter(|&u| u as usize != v));
            len.push((ids.len() - start[v]) as u32);
        }
        Self {
            queue: Queue::new(&len),
            degree: len.clone(),
            start,
            len,
            n_elements: vec![0; n],
            ids,
            weight: vec![1; n],
            is_element: vec![false; n],
            next: vec![NONE; n],
            last: (0..n as u32).collect(),
            in_front: vec![NONE; n],
            marks: vec![0; n],
            mark: 1,
            left: n as u32,
            pivots: Vec::new(),
            parent: vec![NONE; n],
            rows: Vec::new(),
            row_ends: Vec::new(),
        }
    }

    fn list(&self, v: u32) -> Range<usize> {
        let start = self.start[v as usize];
        start..start + self.len[v as usize] as usize
    }

    /// Eliminates a vertex and those merged with it; returns the numbers of columns and rows of their front.
    fn eliminate(&mut self, pivot: u32) -> (usize, usize) {
        let first = self.ids.len();
        let mut size = self.gather(pivot);
        self.count_outside(first);
        size -= self.update(pivot, first);
        self.merge_equal(first);
        let columns = self.weight[pivot as usize];
        self.left -= columns;
        // The list keeps the vertices that stand for themselves.
        let mut kept = first;
        for at in first..self.ids.len() {
            let v = self.ids[at];
            let weight = self.weight[v as usize];
            if weight == 0 {
                continue;
            }
            self.ids[kept] = v;
            kept += 1;
            let degree = &mut self.degree[v as usize];
            *degree = (*degree + size - weight).min(self.left - weight);
            self.queue.insert(v, *degree);
            let mut member = v;
            while member != NONE {
                self.rows.push(member);
                member = self.next[member as usize];
            }
        }
        self.ids.truncate(kept);
        let at = pivot as usize;
        (self.start[at], self.len[at], self.degree[at]) = (first, (kept - first) as u32, size);
        (self.weight[at], self.is_element[at]) = (0, true);
        self.pivots.push(pivot);
        self.row_ends.push(self.rows.len());
        (columns as usize, size as usize)
    }

    /// Appends the neighbors of the pivot to `ids` and absorbs its elements; returns how many vertices the neighbors stand for.
    fn gather(&mut self, pivot: u32) -> u32 {
        let (front, list) = (self.pivots.len() as u32, self.list(pivot));
        let n_elements = self.n_elements[pivot as usize] as usize;
        let mut size = 0;
        self.queue.remove(pivot);
        self.in_front[pivot as usize] = front;
        let mut add = |this: &mut Self, v: u32| {
            if this.weight[v as usize] > 0 && this.in_front[v as usize] != front {
                this.in_front[v as usize] = front;
                this.queue.remove(v);
                size += this.weight[v as usize];
                this.ids.push(v);
            }
        };
        for at in list.clone().skip(n_elements) {
            let v = self.ids[at];
            add(self, v);
        }
        for at in list.take(n_elements) {
            let element = self.ids[at];
            if self.is_element[element as usize] {
                for at in self.list(element) {
                    let v = self.ids[at];
                    add(self, v);
                }
                self.absorb(element, pivot);
            }
        }
        size
    }

    fn absorb(&mut self, element: u32, pivot: u32) {
        self.is_element[element as usize] = false;
        self.parent[element as usize] = pivot;
    }

    /// Marks each element at a neighbor of the pivot with the number of its vertices outside the front.
    fn count_outside(&mut self, first: usize) {
        for at in first..self.ids.len() {
            let v = self.ids[at];
            let weight = u64::from(self.weight[v as usize]);
            for at in self.list(v).take(self.n_elements[v as usize] as usize) {
                let element = self.ids[at] as usize;
                if self.is_element[element] {
                    let is_new = self.marks[element] < self.mark;
                    let known = if is_new { self.mark + u64::from(self.degree[element]) } else { self.marks[element] };
                    self.marks[element] = known - weight;
                }
            }
        }
    }

    /// Shortens the lists of the neighbors, and bounds their degrees outside the front. Eliminates those with no other neighbors; returns
    /// how many vertices these stand for.
    fn update(&mut self, pivot: u32, first: usize) -> u32 {
        let (front, mut gone) = (self.pivots.len() as u32, 0);
        for at in first..self.ids.len() {
            let v = self.ids[at];
            let (list, n_elements) = (self.list(v), self.n_elements[v as usize] as usize);
            let (mut kept, mut degree) = (list.start, 0);
            for at in list.clone().take(n_elements) {
                let element = self.ids[at];
                if !self.is_element[element as usize] {
                    continue;
                }
                match (self.marks[element as usize] - self.mark) as u32 {
                    // All its vertices lie in the front.
                    0 => self.absorb(element, pivot),
                    outside => {
                        degree += outside;
                        self.ids[kept] = element;
                        kept += 1;
                    }
                }
            }
            let elements_end = kept;
            for at in list.clone().skip(n_elements) {
                let u = self.ids[at];
                if self.weight[u as usize] > 0 && self.in_front[u as usize] != front {
                    degree += self.weight[u as usize];
                    self.ids[kept] = u;
                    kept += 1;
                }
            }
            let weight = self.weight[v as usize];
            if degree == 0 {
                self.weight[pivot as usize] += weight;
                self.join(v, pivot);
                gone += weight;
                continue;
            }
            // The pivot, or an element that it absorbed, has left the list, so that there is room for the new element.
            self.ids[kept] = self.ids[elements_end];
            self.ids[elements_end] = self.ids[list.start];
            self.ids[list.start] = pivot;
            self.n_elements[v as usize] = (elements_end + 1 - list.start) as u32;
            self.len[v as usize] = (kept + 1 - list.start) as u32;
            self.degree[v as usize] = degree.min(self.degree[v as usize]);
        }
        // Above all sizes of elements.
        self.mark += self.next.len() as u64 + 1;
        gone
    }

    /// Appends a vertex, and those it stands for, to the ones `to` stands for.
    fn join(&mut self, v: u32, to: u32) {
        self.weight[v as usize] = 0;
        let last = self.last[to as usize];
        self.next[last as usize] = v;
        self.last[to as usize] = self.last[v as usize];
    }

    /// Merges neighbors of the pivot with equal lists.
    fn merge_equal(&mut self, first: usize) {
        let mut hashes: Vec<(u32, u32)> = Vec::with_capacity(self.ids.len() - first);
        for &v in &self.ids[first..] {
            if self.weight[v as usize] > 0 {
                let hash = self.ids[self.list(v)].iter().fold(0u32, |hash, id| hash.wrapping_add(*id));
                hashes.push((hash, v));
            }
        }
        hashes.sort_unstable();
        for same in hashes.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
            for (at, &(_, v)) in same.iter().enumerate() {
                if self.weight[v as usize] == 0 {
                    continue;
                }
                self.mark += 1;
                for at in self.list(v) {
                    self.marks[self.ids[at] as usize] = self.mark;
                }
                for &(_, other) in &same[at + 1..] {
                    if self.weight[other as usize] > 0 && self.is_equal(v, other) {
                        let weight = self.weight[other as usize];
                        self.weight[v as usize] += weight;
                        self.degree[v as usize] = self.degree[v as usize].min(self.degree[other as usize]);
                        self.join(other, v);
                    }
                }
            }
        }
        self.mark += 1;
    }

    /// Whether the list of a vertex equals that of another, whose ids are marked.
    fn is_equal(&self, marked: u32, other: u32) -> bool {
        let sizes = |v: u32| (self.len[v as usize], self.n_elements[v as usize]);
        sizes(marked) == sizes(other)
            && self.ids[self.list(other)].iter().all(|&id| self.marks[id as usize] == self.mark)
    }

    /// The fronts, in an order in which those with the same parent precede it directly: they are still in the cache then.
    fn assembled(self, n_entries: usize) -> Fronts {
        let (n, n_fronts) = (self.next.len(), self.pivots.len());
        let mut number = vec![NONE; n];
        self.pivots.iter().enumerate().for_each(|(front, &pivot)| number[pivot as usize] = front as u32);
        let parents: Vec<u32> = self.pivots.iter().map(|&pivot| self.parent[pivot as usize]).collect();
        let parents: Vec<u32> =
            parents.into_iter().map(|pivot| if pivot == NONE { NONE } else { number[pivot as usize] }).collect();
        let places = postorder(&parents);
        let (mut order, mut positions) = (Vec::with_capacity(n), vec![0; n]);
        let (mut fronts, mut rows) = (Vec::with_capacity(n_fronts), Vec::with_capacity(self.rows.len()));
        for &front in &places.order {
            let first = order.len();
            let mut member = self.pivots[front as usize];
            while member != NONE {
                positions[member as usize] = order.len() as u32;
                order.push(member);
                member = self.next[member as usize];
            }
            let begin = rows.len();
            let old = if front == 0 { 0 } else { self.row_ends[front as usize - 1] };
            rows.extend_from_slice(&self.rows[old..self.row_ends[front as usize]]);
            let parent = parents[front as usize];
            let parent = (parent != NONE).then(|| places.place[parent as usize]);
            fronts.push(Front { columns: first..order.len(), rows: begin..rows.len(), parent });
        }
        for front in &fronts {
            let rows = &mut rows[front.rows.clone()];
            rows.iter_mut().for_each(|row| *row = positions[*row as usize]);
            rows.sort_unstable();
        }
        Fronts { order, fronts, rows, n_entries }
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

/// Vertices in lists by degree.
struct Queue {
    heads: Vec<u32>,
    before: Vec<u32>,
    after: Vec<u32>,
    degree: Vec<u32>,
    least: usize,
}

impl Queue {
    fn new(degrees: &[u32]) -> Self {
        let n = degrees.len();
        let degree = vec![NONE; n];
        let mut queue =
            Self { heads: vec![NONE; n.max(1)], before: vec![NONE; n], after: vec![NONE; n], degree, least: 0 };
        degrees.iter().enumerate().rev().for_each(|(v, &degree)| queue.insert(v as u32, degree));
        queue
    }

    /// A vertex of the least degree.
    fn first(&mut self) -> Option<u32> {
        while self.least < self.heads.len() {
            match self.heads[self.least] {
                NONE => self.least += 1,
                v => return Some(v),
            }
        }
        None
    }

    fn insert(&mut self, v: u32, degree: u32) {
        let head = std::mem::replace(&mut self.heads[degree as usize], v);
        if head != NONE {
            self.before[head as usize] = v;
        }
        (self.before[v as usize], self.after[v as usize], self.degree[v as usize]) = (NONE, head, degree);
        self.least = self.least.min(degree as usize);
    }

    /// Removes a vertex, if it is in a list.
    fn remove(&mut self, v: u32) {
        let degree = std::mem::replace(&mut self.degree[v as usize], NONE);
        if degree == NONE {
            return;
        }
        let (before, after) = (self.before[v as usize], self.after[v as usize]);
        match before {
            NONE => self.heads[degree as usize] = after,
            before => self.after[before as usize] = after,
        }
        if after != NONE {
            self.before[after as usize] = before;
        }
    }
}
