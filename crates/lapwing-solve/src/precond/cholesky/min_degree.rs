//! An order of elimination that keeps a complete factor small: approximate minimum degree (Amestoy, Davis & Duff 1996).
//!
//! Eliminating a vertex joins all its neighbors. These cliques are never written down: the eliminated vertex becomes an *element*, the list
//! of its neighbors at that time, and takes the place of the elements it had itself. Vertices with the same neighbors are merged and
//! eliminated together; their columns form a [`Front`](super::fronts::Front) of the factor. A degree is bounded by the sizes of the elements at a vertex,
//! because counting their union would take longer than the elimination.
//!
//! Cost: about O(m) for graphs with small separators. The lists of all elements are kept, because they are the rows of the factor.

use std::ops::Range;

use lapwing_core::Csr;

use crate::precond::queue::{DegreeQueue, Link};

/// No vertex.
pub(super) const NONE: u32 = u32::MAX;

/// The graph during the elimination: vertices with their remaining edges and elements.
pub(super) struct Quotient {
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
    pub next: Vec<u32>,
    last: Vec<u32>,
    /// The front being eliminated has this number in `in_front`.
    in_front: Vec<u32>,
    /// Marks: values of at least `mark` were written in the present step.
    marks: Vec<u64>,
    mark: u64,
    /// The vertices that are left and stand for themselves, by degree.
    queue: DegreeQueue,
    links: Vec<Link>,
    /// Number of vertices that are left.
    left: u32,
    /// Eliminated vertices, one for each front.
    pub pivots: Vec<u32>,
    /// The element that absorbed an element.
    pub parent: Vec<u32>,
    /// Rows of the fronts, as vertices, and where those of each front end.
    pub rows: Vec<u32>,
    pub row_ends: Vec<usize>,
}

impl Quotient {
    pub fn new<T>(adjacency: &Csr<T>) -> Self {
        let n = adjacency.n_rows();
        let (mut start, mut ids) = (Vec::with_capacity(n), Vec::with_capacity(2 * adjacency.nnz()));
        let mut len = Vec::with_capacity(n);
        for v in 0..n {
            start.push(ids.len());
            ids.extend(adjacency.row(v).0.iter().copied().filter(|&u| u as usize != v));
            len.push((ids.len() - start[v]) as u32);
        }
        let mut links: Vec<Link> = (0..n).map(|_| Link::default()).collect();
        Self {
            queue: DegreeQueue::new(&len, &mut links),
            links,
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

    /// A vertex of about the least degree, which leaves the queue.
    pub fn next_pivot(&mut self) -> Option<u32> {
        self.queue.pop(&mut self.links)
    }

    /// Eliminates a vertex and those merged with it; returns the numbers of columns and rows of their front.
    pub fn eliminate(&mut self, pivot: u32) -> (usize, usize) {
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
            self.queue.insert(v, *degree, &mut self.links);
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
        self.in_front[pivot as usize] = front;
        let mut add = |this: &mut Self, v: u32| {
            if this.weight[v as usize] > 0 && this.in_front[v as usize] != front {
                this.in_front[v as usize] = front;
                this.queue.remove(v, &mut this.links);
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
}
