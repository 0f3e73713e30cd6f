//! Edges in memory as a stream: shared by the tests of several crates.

use lapwing_core::{Edge, EdgeReader, EdgeSource, Result, Run};

/// Edges among so many nodes.
pub struct Edges<'a>(pub usize, pub &'a [Edge]);

impl EdgeSource for Edges<'_> {
    fn n_nodes(&self) -> usize {
        self.0
    }

    fn n_edges(&self) -> Option<u64> {
        Some(self.1.len() as u64)
    }

    fn open<'s>(&'s self, _: &Run) -> Result<Box<dyn EdgeReader + 's>> {
        Ok(Box::new(Rest(self.1)))
    }
}

/// The edges that have not been read.
struct Rest<'a>(&'a [Edge]);

impl EdgeReader for Rest<'_> {
    fn read(&mut self, most: usize, out: &mut Vec<Edge>, run: &Run) -> Result<()> {
        run.check()?;
        out.extend(self.0.split_off(..most.min(self.0.len())).unwrap_or_default());
        Ok(())
    }
}
