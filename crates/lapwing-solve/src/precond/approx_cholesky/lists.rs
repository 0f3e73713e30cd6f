//! Lists of entries of a factor, one after another in shared arrays.

/// Lists of (row or column, share), one for each column of a part.
#[derive(Debug, Default)]
pub(super) struct Entries {
    pub starts: Vec<u32>,
    pub ids: Vec<u32>,
    shares: Vec<f32>,
}

/// Lists of (position, share) of those columns or rows of a part that have any.
#[derive(Debug, Default)]
pub(super) struct Few {
    pub owners: Vec<u32>,
    pub lists: Entries,
}

impl Entries {
    pub fn push_list(&mut self, list: impl Iterator<Item = (u32, f32)>) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        for (id, share) in list {
            self.ids.push(id);
            self.shares.push(share);
        }
        self.starts.push(self.ids.len() as u32);
    }

    #[inline(always)]
    pub fn list(&self, at: usize) -> (&[u32], &[f32]) {
        let range = self.starts[at] as usize..self.starts[at + 1] as usize;
        (&self.ids[range.clone()], &self.shares[range])
    }

    pub fn bytes(&self) -> usize {
        4 * self.starts.len() + 8 * self.ids.len()
    }
}

impl Few {
    pub fn push(&mut self, owner: u32, list: impl Iterator<Item = (u32, f32)>) {
        let before = self.lists.ids.len();
        self.lists.push_list(list);
        if self.lists.ids.len() > before {
            self.owners.push(owner);
        } else {
            self.lists.starts.pop();
        }
    }

    pub fn bytes(&self) -> usize {
        4 * self.owners.len() + self.lists.bytes()
    }
}
