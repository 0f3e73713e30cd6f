//! An allocator that has nothing to give beyond a size: what asks for more says so instead of ending the process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use lapwing_core::{Csr, Error, Labels, Matrix, Run, Targets, memory};
use lapwing_graph::sparsify::{SparsifyParams, sparsify};
use lapwing_graph::{AffinityGraph, Graph, GraphParams};
use lapwing_models::baselines::{SimpleHarmonic, SimpleHarmonicParams};
use lapwing_models::{Harmonic, HarmonicParams, Method, Problem};
use lapwing_solve::eigen::{EigenParams, smallest_eigenpairs};

struct Limited;

/// Bytes above which nothing is given.
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);

// SAFETY: all calls go to the allocator of the system, or give the null pointer that says there is no memory.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > MOST.load(Ordering::Relaxed) {
            return std::ptr::null_mut();
        }
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() > MOST.load(Ordering::Relaxed) {
            return std::ptr::null_mut();
        }
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > MOST.load(Ordering::Relaxed) {
            return std::ptr::null_mut();
        }
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Limited = Limited;

/// The error of work that may not have more than `most` bytes in one piece.
fn refusal<T>(most: usize, work: impl FnOnce() -> Result<T, Error>) -> String {
    MOST.store(most, Ordering::SeqCst);
    let result = work();
    MOST.store(usize::MAX, Ordering::SeqCst);
    match result.map(|_| ()) {
        Err(error @ Error::TooLarge { .. }) => error.to_string(),
        other => panic!("expected a refusal, not {other:?}"),
    }
}

fn path(n: u32) -> Vec<(u32, u32, f64)> {
    (1..n).map(|i| (i - 1, i, 1.0)).collect()
}

/// One test, for all share the allocator.
#[test]
fn work_without_room_is_refused() {
    const MIB: usize = 1 << 20;
    let run = Run::new(Some(1), 0).unwrap();
    let n = 300_000u32;
    let says = |text: String| assert!(text.contains("are available; "), "{text}");
    says(refusal(MIB, || memory::zeros::<f64>("zeros", n as usize, "fewer")));
    says(refusal(MIB, || memory::filled("ones", n as usize, 1u64, "fewer")));
    says(refusal(MIB, || memory::with_capacity::<f64>("room", n as usize, "fewer")));
    says(refusal(MIB, || Csr::<f64>::from_entries(n as usize, n as usize, &[(0, 1, 1.0)])));
    let source = Csr::from_entries(n as usize, n as usize, &[(0, 1, 1.0), (1, 0, 1.0)]).unwrap();
    says(refusal(MIB, || sparsify(&source, SparsifyParams::default(), &run)));

    let graph = AffinityGraph::given(Graph::from_edges(n as usize, &path(n)).unwrap());
    let eigen = EigenParams::default();
    says(refusal(4 * MIB, || smallest_eigenpairs(&graph.graph, 2, &eigen, &run)));
    let labels = Labels::from_integers((0..n).map(|i| (i % (n - 1) == 0).then_some(i64::from(i > 0))));
    let targets = Targets::one_hot(&labels, None).unwrap();
    let problem = Problem { graph: Some(&graph), ..Problem::new(&targets) };
    let harmonic = Harmonic::new(HarmonicParams::default(), GraphParams::default()).unwrap();
    says(refusal(MIB, || harmonic.fit(&problem, &run)));
    let simple = SimpleHarmonic::new(SimpleHarmonicParams::default(), GraphParams::default()).unwrap();
    says(refusal(MIB, || simple.fit(&problem, &run)));
    // With room the same work is done.
    assert!(Matrix::new(1, 1, vec![0.0]).is_ok() && harmonic.fit(&problem, &run).is_ok());
}
