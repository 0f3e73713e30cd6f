//! Vertices by degree: the next one to eliminate.
//!
//! Doubly linked buckets, one for each degree up to a cap; every operation takes O(1). Vertices touched last come first
//! within a bucket: they are still in cache.

const NONE: u32 = u32::MAX;
/// Degrees from here on share the last bucket.
const BUCKETS: usize = 1 << 12;

/// A vertex in its bucket.
pub(super) struct Link {
    degree: u32,
    next: u32,
    previous: u32,
}

pub(super) struct DegreeQueue {
    heads: Vec<u32>,
    lowest: usize,
}

fn bucket(degree: u32) -> usize {
    (degree as usize).min(BUCKETS - 1)
}

impl DegreeQueue {
    /// All vertices, those of one degree by number; `links` becomes the queue's own.
    pub fn new(degrees: &[u32], links: &mut Vec<Link>) -> Self {
        let mut queue = Self { heads: vec![NONE; BUCKETS], lowest: 0 };
        links.clear();
        links.extend(degrees.iter().map(|&degree| Link { degree, next: NONE, previous: NONE }));
        (0..degrees.len() as u32).rev().for_each(|v| queue.insert(v, links));
        queue
    }

    /// Takes a vertex of lowest degree.
    pub fn pop(&mut self, links: &mut [Link]) -> Option<u32> {
        while self.lowest < BUCKETS && self.heads[self.lowest] == NONE {
            self.lowest += 1;
        }
        let v = *self.heads.get(self.lowest)?;
        self.remove(v, links);
        Some(v)
    }

    /// Adds `change` to the degree of a vertex in the queue.
    pub fn change(&mut self, v: u32, change: i32, links: &mut [Link]) {
        let old = links[v as usize].degree;
        let new = old.saturating_add_signed(change);
        if bucket(old) == bucket(new) {
            links[v as usize].degree = new;
            return;
        }
        self.remove(v, links);
        links[v as usize].degree = new;
        self.insert(v, links);
    }

    fn insert(&mut self, v: u32, links: &mut [Link]) {
        let at = bucket(links[v as usize].degree);
        let head = self.heads[at];
        (links[v as usize].next, links[v as usize].previous) = (head, NONE);
        if head != NONE {
            links[head as usize].previous = v;
        }
        self.heads[at] = v;
        self.lowest = self.lowest.min(at);
    }

    fn remove(&mut self, v: u32, links: &mut [Link]) {
        let Link { degree, next, previous } = links[v as usize];
        match previous {
            NONE => self.heads[bucket(degree)] = next,
            previous => links[previous as usize].next = next,
        }
        if next != NONE {
            links[next as usize].previous = previous;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_come_by_degree_as_it_is_when_they_come() {
        let mut links = Vec::new();
        let mut queue = DegreeQueue::new(&[3, 1, 1, 70_000, 2], &mut links);
        assert_eq!(queue.pop(&mut links), Some(1));
        queue.change(0, -3, &mut links);
        queue.change(2, 5, &mut links);
        let order: Vec<u32> = std::iter::from_fn(|| queue.pop(&mut links)).collect();
        assert_eq!(order, [0, 4, 2, 3]);
    }
}
