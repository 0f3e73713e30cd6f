//! Vertices by degree: the next one to eliminate.
//!
//! Doubly linked buckets: one for each degree below sixteen, four for each octave above. A vertex whose degree has grown moves
//! when it reaches the front of its bucket; one whose degree has fallen moves at once. Every operation takes O(1). Vertices
//! changed last come first within a bucket, because they are still in cache.

const NONE: u32 = u32::MAX;
/// Each degree below this has its own bucket.
const EXACT: u32 = 16;
/// Number of buckets: four for each further power of two.
const BUCKETS: usize = EXACT as usize + 4 * (32 - EXACT.ilog2() as usize);

/// A vertex in its bucket.
#[derive(Default)]
pub(super) struct Link {
    degree: u32,
    /// Its bucket, by the degree it had when it was put there.
    bucket: u32,
    next: u32,
    previous: u32,
}

/// Storage of a link for every vertex.
pub(super) trait Links {
    fn link(&mut self, v: u32) -> &mut Link;
}

pub(super) struct DegreeQueue {
    heads: Vec<u32>,
    lowest: usize,
}

fn bucket(degree: u32) -> u32 {
    match degree {
        0..EXACT => degree,
        _ => EXACT + 4 * (degree.ilog2() - EXACT.ilog2()) + (degree >> (degree.ilog2() - 2)) % 4,
    }
}

impl DegreeQueue {
    /// Inserts the vertices 0, 1, … with these degrees; those of equal degree by number.
    pub fn new(degrees: &[u32], links: &mut impl Links) -> Self {
        let mut queue = Self { heads: vec![NONE; BUCKETS], lowest: 0 };
        for (v, &degree) in degrees.iter().enumerate().rev() {
            queue.insert(v as u32, degree, links);
        }
        queue
    }

    /// The vertex that [`Self::pop`] takes next, if it is in the same bucket as the last one.
    pub fn peek(&self) -> Option<u32> {
        self.heads.get(self.lowest).copied().filter(|&v| v != NONE)
    }

    /// Takes a vertex of lowest degree.
    pub fn pop(&mut self, links: &mut impl Links) -> Option<u32> {
        loop {
            while *self.heads.get(self.lowest)? == NONE {
                self.lowest += 1;
            }
            let v = self.heads[self.lowest];
            self.remove(v, links);
            let Link { degree, bucket: old, .. } = *links.link(v);
            if bucket(degree) <= old {
                return Some(v);
            }
            self.insert(v, degree, links);
        }
    }

    /// Adds `change` to the degree of a vertex in the queue.
    pub fn change(&mut self, v: u32, change: i32, links: &mut impl Links) {
        let link = links.link(v);
        link.degree = link.degree.saturating_add_signed(change);
        let Link { degree, bucket: old, .. } = *link;
        if bucket(degree) < old {
            self.remove(v, links);
            self.insert(v, degree, links);
        }
    }

    /// Inserts a vertex that is not in the queue.
    pub fn insert(&mut self, v: u32, degree: u32, links: &mut impl Links) {
        let link = links.link(v);
        (link.degree, link.bucket) = (degree, bucket(degree));
        let at = link.bucket as usize;
        let head = self.heads[at];
        (links.link(v).next, links.link(v).previous) = (head, NONE);
        if head != NONE {
            links.link(head).previous = v;
        }
        self.heads[at] = v;
        self.lowest = self.lowest.min(at);
    }

    /// Removes a vertex that is in the queue.
    pub fn remove(&mut self, v: u32, links: &mut impl Links) {
        let Link { bucket, next, previous, .. } = *links.link(v);
        match previous {
            NONE => self.heads[bucket as usize] = next,
            previous => links.link(previous).next = next,
        }
        if next != NONE {
            links.link(next).previous = previous;
        }
    }
}

impl Links for Vec<Link> {
    fn link(&mut self, v: u32) -> &mut Link {
        &mut self[v as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_come_by_degree_as_it_is_when_they_come() {
        let mut links: Vec<Link> = (0..5).map(|_| Link::default()).collect();
        let mut queue = DegreeQueue::new(&[3, 1, 1, 70_000, 2], &mut links);
        assert_eq!(queue.pop(&mut links), Some(1));
        queue.change(0, -3, &mut links);
        queue.change(2, 5, &mut links);
        assert_eq!(bucket(15) + 1, bucket(16));
        assert_eq!((bucket(16), bucket(19), bucket(20), bucket(31), bucket(32)), (16, 16, 17, 19, 20));
        assert!((bucket(u32::MAX) as usize) < BUCKETS);
        queue.remove(4, &mut links);
        queue.insert(4, 2, &mut links);
        let order: Vec<u32> = std::iter::from_fn(|| queue.pop(&mut links)).collect();
        assert_eq!(order, [0, 4, 2, 3]);
    }
}
