//! Loops in parallel on the current pool: rayon's iterators, whose entry into the pool is compiled once.
//!
//! rayon compiles what divides a loop, forks and joins anew for every loop: about two thousand lines of LLVM's code each, a quarter of what
//! the numerical crates were. Here a fork takes both halves by reference, so that the entry is compiled once for all loops. What a loop does
//! with its items is still compiled for each. Loops are divided as rayon divides them. Cost: an indirect call for each half of a fork.
//!
//! `use lapwing_core::parallel::*` replaces rayon's prelude: every loop begins with a [`Par`], which has all of rayon's methods. A method
//! of rayon that is called on its own adaptors, such as `zip` after `map`, works too, but is compiled as rayon compiles it.

use rayon::iter::plumbing::{Consumer, Folder, Producer, ProducerCallback, Reducer, UnindexedConsumer};
use rayon::iter::{Enumerate, MaxLen, MinLen, Zip};
pub use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use rayon::slice::{self, Chunks, ChunksExact, ChunksExactMut, ChunksMut, Windows};

/// A parallel iterator whose length is known.
#[derive(Clone)]
pub struct Par<I>(I);

// Adaptors of rayon that keep the length, so that what they return is driven from here too.
impl<I: IndexedParallelIterator> Par<I> {
    /// Items with those of `other`.
    pub fn zip<Z: rayon::iter::IntoParallelIterator>(self, other: Z) -> Par<Zip<I, Z::Iter>>
    where
        Z::Iter: IndexedParallelIterator,
    {
        Par(self.0.zip(other))
    }

    /// Items with their numbers.
    pub fn enumerate(self) -> Par<Enumerate<I>> {
        Par(self.0.enumerate())
    }

    /// Divided into no parts of fewer items.
    pub fn with_min_len(self, least: usize) -> Par<MinLen<I>> {
        Par(self.0.with_min_len(least))
    }

    /// Divided into no parts of more items.
    pub fn with_max_len(self, most: usize) -> Par<MaxLen<I>> {
        Par(self.0.with_max_len(most))
    }
}

impl<I: IndexedParallelIterator> ParallelIterator for Par<I> {
    type Item = I::Item;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        self.drive(consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

impl<I: IndexedParallelIterator> IndexedParallelIterator for Par<I> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn drive<C: Consumer<I::Item>>(self, consumer: C) -> C::Result {
        let len = self.0.len();
        self.0.with_producer(Whole { len, consumer })
    }

    fn with_producer<B: ProducerCallback<I::Item>>(self, callback: B) -> B::Output {
        self.0.with_producer(callback)
    }
}

/// Loops over a range, a vector, or references to the items of a collection.
pub trait IntoPar: rayon::iter::IntoParallelIterator<Iter: IndexedParallelIterator> + Sized {
    /// Over the items.
    fn into_par_iter(self) -> Par<Self::Iter> {
        Par(rayon::iter::IntoParallelIterator::into_par_iter(self))
    }
}

impl<T: rayon::iter::IntoParallelIterator<Iter: IndexedParallelIterator>> IntoPar for T {}

/// Loops over the items of a slice, or over pieces of it.
pub trait ParSlice<T: Sync>: slice::ParallelSlice<T> {
    /// Over the items.
    fn par_iter(&self) -> Par<slice::Iter<'_, T>> {
        self.as_parallel_slice().into_par_iter()
    }

    /// Over pieces of `size` items, of which the last may be shorter.
    fn par_chunks(&self, size: usize) -> Par<Chunks<'_, T>> {
        Par(slice::ParallelSlice::par_chunks(self, size))
    }

    /// Over pieces of `size` items; what is left over is left out.
    fn par_chunks_exact(&self, size: usize) -> Par<ChunksExact<'_, T>> {
        Par(slice::ParallelSlice::par_chunks_exact(self, size))
    }

    /// Over all runs of `size` items.
    fn par_windows(&self, size: usize) -> Par<Windows<'_, T>> {
        Par(slice::ParallelSlice::par_windows(self, size))
    }
}

impl<T: Sync> ParSlice<T> for [T] {}

/// Loops that change the items of a slice, or pieces of it.
pub trait ParSliceMut<T: Send>: slice::ParallelSliceMut<T> {
    /// Over the items.
    fn par_iter_mut(&mut self) -> Par<slice::IterMut<'_, T>> {
        self.as_parallel_slice_mut().into_par_iter()
    }

    /// Over pieces of `size` items, of which the last may be shorter.
    fn par_chunks_mut(&mut self, size: usize) -> Par<ChunksMut<'_, T>> {
        Par(slice::ParallelSliceMut::par_chunks_mut(self, size))
    }

    /// Over pieces of `size` items; what is left over is left out.
    fn par_chunks_exact_mut(&mut self, size: usize) -> Par<ChunksExactMut<'_, T>> {
        Par(slice::ParallelSliceMut::par_chunks_exact_mut(self, size))
    }
}

impl<T: Send> ParSliceMut<T> for [T] {}

/// The consumer of all items of a loop, and their number.
struct Whole<C> {
    len: usize,
    consumer: C,
}

impl<T, C: Consumer<T>> ProducerCallback<T> for Whole<C> {
    type Output = C::Result;

    fn callback<P: Producer<Item = T>>(self, items: P) -> C::Result {
        let division = Division::new(self.len, items.min_len(), items.max_len());
        let mut whole = Part { len: self.len, open: Some((items, self.consumer)), result: None };
        whole.work(division);
        whole.done()
    }
}

/// A part of a loop: before the work its items and their consumer, afterwards the result.
struct Part<P, C, R> {
    len: usize,
    open: Option<(P, C)>,
    result: Option<R>,
}

impl<P: Producer, C: Consumer<P::Item>> Work for Part<P, C, C::Result> {
    fn work(&mut self, mut division: Division) {
        let Some((items, consumer)) = self.open.take() else { return };
        self.result = Some(if consumer.full() {
            consumer.into_folder().complete()
        } else if division.halve(self.len) {
            let middle = self.len / 2;
            let ((first, last), (of_first, of_last, reducer)) = (items.split_at(middle), consumer.split_at(middle));
            let mut first = Self { len: middle, open: Some((first, of_first)), result: None };
            let mut last = Self { len: self.len - middle, open: Some((last, of_last)), result: None };
            fork(division, &mut first, &mut last);
            reducer.reduce(first.done(), last.done())
        } else {
            items.fold_with(consumer.into_folder()).complete()
        });
    }
}

impl<P, C, R> Part<P, C, R> {
    fn done(self) -> R {
        let Some(result) = self.result else { unreachable!("a fork works on both parts or passes a panic on") };
        result
    }
}

/// A part of a loop, whatever its items.
trait Work: Send {
    fn work(&mut self, division: Division);
}

/// Works on both parts, at the same time if another thread is free.
fn fork(division: Division, first: &mut dyn Work, last: &mut dyn Work) {
    rayon::join_context(
        |context| first.work(division.of_part(context.migrated())),
        |context| last.work(division.of_part(context.migrated())),
    );
}

/// How far a part is still divided: a loop into about as many parts as there are threads, a part that another thread takes into as many again.
#[derive(Clone, Copy)]
struct Division {
    /// Parts that are still wanted.
    rest: usize,
    /// The fewest items of a part.
    least: usize,
}

impl Division {
    fn new(len: usize, least: usize, most: usize) -> Self {
        Self { rest: rayon::current_num_threads().max(len / most.max(1)), least: least.max(1) }
    }

    /// Whether a part of `len` items is divided. Leaves the division of each half.
    fn halve(&mut self, len: usize) -> bool {
        let is_divided = len / 2 >= self.least && self.rest > 0;
        self.rest /= 2;
        is_divided
    }

    /// The division of a part that another thread took if `is_stolen`.
    fn of_part(mut self, is_stolen: bool) -> Self {
        if is_stolen {
            self.rest = self.rest.max(2 * rayon::current_num_threads());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;

    #[test]
    fn loops_do_what_those_of_rayon_do_on_any_number_of_threads() {
        for threads in [1, 2, 7] {
            let run = Run::new(Some(threads), 0).unwrap();
            for n in [0usize, 1, 2, 63, 1000] {
                let numbers: Vec<usize> = run.install(|| (0..n).into_par_iter().map(|i| i * i).collect());
                assert!(numbers.iter().enumerate().all(|(i, &square)| square == i * i) && numbers.len() == n);
                let mut sums = vec![0; n.div_ceil(4)];
                let chunks = |sums: &mut [usize]| {
                    let both = sums.par_iter_mut().zip(numbers.par_chunks(4)).enumerate().with_min_len(3);
                    both.for_each(|(at, (sum, chunk))| *sum += at + chunk.iter().sum::<usize>());
                };
                run.install(|| chunks(&mut sums));
                assert!(numbers.chunks(4).enumerate().all(|(at, chunk)| sums[at] == at + chunk.iter().sum::<usize>()));
                let odd: Vec<usize> = run.install(|| numbers.par_iter().copied().filter(|x| x % 2 == 1).collect());
                assert_eq!(odd, numbers.iter().copied().filter(|x| x % 2 == 1).collect::<Vec<_>>());
                let first = run.install(|| numbers.par_iter().position_first(|&x| x > 100));
                assert_eq!(first, (n > 11).then_some(11));
            }
        }
    }

    #[test]
    fn parts_keep_the_lengths_that_are_asked_for() {
        let run = Run::new(Some(3), 0).unwrap();
        let lens = |range: Par<MinLen<rayon::range::Iter<usize>>>| -> Vec<usize> {
            run.install(|| range.fold(|| 0, |count, _| count + 1).collect())
        };
        let lens = lens((0..1000).into_par_iter().with_min_len(200));
        assert!(lens.iter().sum::<usize>() == 1000 && lens.iter().all(|&len| len >= 200), "{lens:?}");
        let single =
            run.install(|| (0..50).into_par_iter().with_max_len(1).fold(|| 0, |n, _| n + 1).collect::<Vec<_>>());
        assert_eq!(single, vec![1; 50]);
    }

    #[test]
    fn a_panic_and_an_error_leave_the_loop() {
        let run = Run::new(Some(2), 0).unwrap();
        let failing = || run.install(|| (0..100usize).into_par_iter().for_each(|i| assert!(i != 57)));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(failing)).is_err());
        let done =
            run.install(|| (0..100usize).into_par_iter().try_for_each(|i| if i == 57 { Err(i) } else { Ok(()) }));
        assert_eq!(done, Err(57));
    }
}
