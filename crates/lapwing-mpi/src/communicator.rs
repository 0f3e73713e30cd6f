//! Collectives over MPI in which no rank waits for a rank that has failed.
//!
//! Before each collective, a small reduction compares which collective each rank is about to call. If they differ, every
//! rank gets an error and none waits without end: a rank has left with an error, or a fault of the program has brought the
//! ranks out of step. A rank that panics must call [`MpiCommunicator::abort`]. If the system kills a rank, `mpirun` (or
//! `srun`) ends the others. Errors inside of MPI end all ranks, as is the default of MPI.

use lapwing::data::{Communicator, Error, Result};
use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator as _, CommunicatorCollectives, Destination, Root, Source};

use crate::share::{own_processors, threads};

/// The most bytes of one message: MPI counts them in 31 bits.
const PIECE_BYTES: usize = 1 << 30;

/// The ranks of one MPI job, for use by the thread that started it.
pub struct MpiCommunicator {
    world: SimpleCommunicator,
    piece: usize,
    /// Ends MPI when dropped.
    _universe: Universe,
}

/// The collective that a rank is about to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Gather,
    Broadcast,
    Leave,
}

impl MpiCommunicator {
    /// Starts MPI, once in a process. A process without mpirun is rank 0 of 1.
    ///
    /// # Errors
    /// [`Error::Comm`] if MPI was started before, or has no support for threads.
    pub fn start() -> Result<Self> {
        let refused = |reason: &str| Error::Comm { rank: 0, reason: reason.into() };
        let (universe, threading) = mpi::initialize_with_threading(Threading::Funneled)
            .ok_or_else(|| refused("MPI has been started before in this process"))?;
        if threading == Threading::Single {
            return Err(refused("this MPI library allows no threads; one built with thread support is needed"));
        }
        Ok(Self { world: universe.world(), piece: PIECE_BYTES, _universe: universe })
    }

    /// The same ranks with messages of at most `bytes` bytes, between 1 and 2³¹ − 1; for tests of divided messages.
    #[must_use]
    pub fn with_pieces(mut self, bytes: usize) -> Self {
        self.piece = bytes.clamp(1, i32::MAX as usize);
        self
    }

    /// Worker threads for this rank, with those of other ranks on the machine taken into account; `None`, all processors of
    /// the process, for a single rank. A collective.
    pub fn threads(&self) -> Option<usize> {
        (self.size() > 1).then(|| {
            let machine = self.world.split_shared(0);
            let own = own_processors();
            let mut ranks = vec![0; own.len()];
            machine.all_reduce_into(&own[..], &mut ranks[..], SystemOperation::sum());
            threads(&own, &ranks, machine.size() as usize)
        })
    }

    /// Ends all ranks at once with an exit code, for faults after which no collective is possible.
    pub fn abort(&self, code: i32) -> ! {
        self.world.abort(code)
    }

    /// Compares the next collective of all ranks, and returns the largest of their numbers of bytes.
    fn agree_on(&self, step: Step, bytes: usize) -> Result<usize> {
        let leaver = if step == Step::Leave { self.size() - self.rank() } else { 0 };
        let step = step as u64;
        let mut most = [0u64; 4];
        let own = [step, u64::MAX - step, leaver as u64, bytes as u64];
        self.world.all_reduce_into(&own[..], &mut most[..], SystemOperation::max());
        let [last, first, leaver, bytes] = most;
        if last == u64::MAX - first {
            return Ok(bytes as usize);
        }
        Err(match leaver as usize {
            0 => Error::Internal { reason: "the ranks are out of step".into() },
            n => Error::Comm { rank: self.size() - n, reason: "has ended before the others".into() },
        })
    }

    fn receive_from(&self, rank: usize, length: u64) -> Vec<u8> {
        let sender = self.world.process_at_rank(rank as i32);
        let mut bytes = vec![0; length as usize];
        for piece in bytes.chunks_mut(self.piece) {
            sender.receive_into(piece);
        }
        bytes
    }
}

impl Communicator for MpiCommunicator {
    fn rank(&self) -> usize {
        self.world.rank() as usize
    }

    fn size(&self) -> usize {
        self.world.size() as usize
    }

    /// The root receives from one rank after the other. MPI's own gathering of unequal lengths does the same, with a limit
    /// of 2³¹ bytes for all of them.
    fn gather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.agree_on(Step::Gather, 0)?;
        let root = self.world.process_at_rank(0);
        let length = bytes.len() as u64;
        if !self.is_root() {
            root.gather_into(&length);
            let root = self.world.process_at_rank(0);
            bytes.chunks(self.piece).for_each(|piece| root.send(piece));
            return Ok(Vec::new());
        }
        let mut lengths = vec![0; self.size()];
        root.gather_into_root(&length, &mut lengths[..]);
        let others = lengths.iter().enumerate().skip(1).map(|(rank, &length)| self.receive_from(rank, length));
        Ok(std::iter::once(bytes.to_vec()).chain(others).collect())
    }

    fn broadcast(&self, mut bytes: Vec<u8>) -> Result<Vec<u8>> {
        let length = self.agree_on(Step::Broadcast, if self.is_root() { bytes.len() } else { 0 })?;
        // The root keeps its own length.
        bytes.resize(length, 0);
        let root = self.world.process_at_rank(0);
        for piece in bytes.chunks_mut(self.piece) {
            root.broadcast_into(piece);
        }
        Ok(bytes)
    }

    fn leave(&self) -> Result<()> {
        // While other ranks are at work, their collectives fail, and then they leave too.
        while self.agree_on(Step::Leave, 0).is_err() {}
        Ok(())
    }
}
