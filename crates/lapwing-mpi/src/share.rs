//! The number of threads of a rank: ranks on one machine share its processors.

use std::thread::available_parallelism;

/// The most processors of a machine that are distinguished.
const MOST_PROCESSORS: usize = 8192;

/// A 1 for every processor that this process may run on, a 0 for the others.
pub fn own_processors() -> Vec<u32> {
    marked(&allowed().unwrap_or_else(|| (0..available()).collect()))
}

/// Worker threads of a rank on the processors `own`: the sum of its shares of each processor, and at least 1. `ranks`
/// counts the ranks that may run on each processor, `n_ranks` all ranks of the machine.
///
/// Ranks that are bound to processors of their own, such as one per socket, use all of theirs. Ranks that may run anywhere
/// divide the machine.
pub fn threads(own: &[u32], ranks: &[u32], n_ranks: usize) -> usize {
    share(own, ranks, available(), n_ranks)
}

fn available() -> usize {
    available_parallelism().map_or(1, usize::from)
}

fn share(own: &[u32], ranks: &[u32], available: usize, n_ranks: usize) -> usize {
    let shares = own.iter().zip(ranks).filter(|(own, _)| **own > 0).map(|(_, &ranks)| 1.0 / f64::from(ranks.max(1)));
    // A small number in addition, so that three thirds count as one processor.
    let processors = (shares.sum::<f64>() + 1e-6) as usize;
    // Fewer are available than processors: all ranks share the limited time of a container.
    let is_limited = available < own.iter().filter(|own| **own > 0).count();
    let limit = if is_limited { available / n_ranks.max(1) } else { processors };
    processors.min(limit).max(1)
}

fn marked(processors: &[usize]) -> Vec<u32> {
    let mut marks = vec![0; MOST_PROCESSORS];
    for &processor in processors {
        if let Some(mark) = marks.get_mut(processor) {
            *mark = 1;
        }
    }
    marks
}

/// Processors on which this process may run, if the system reports them.
fn allowed() -> Option<Vec<usize>> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    numbers(list.trim()).filter(|processors| !processors.is_empty())
}

/// The numbers of a list such as `0-3,8`.
fn numbers(list: &str) -> Option<Vec<usize>> {
    let mut out = Vec::new();
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        out.extend(first.parse().ok()?..=last.parse::<usize>().ok()?.min(MOST_PROCESSORS));
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors() {
        assert_eq!(numbers("0-3,8"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(numbers("5"), Some(vec![5]));
        assert_eq!(numbers("all"), None);
    }

    #[test]
    fn this_process_may_run_somewhere() {
        let own = own_processors();
        assert_eq!(threads(&own, &own, 1), available());
        assert_eq!(threads(&own, &[1000; MOST_PROCESSORS], 1000), 1);
    }

    #[test]
    fn processors_are_shared_by_those_who_may_use_them() {
        let of = |own: &[u32], ranks: &[u32], available, n_ranks| share(own, ranks, available, n_ranks);
        assert_eq!(of(&[1, 1, 1, 1], &[1, 1, 1, 1], 4, 1), 4);
        // A socket of its own; anywhere, with one other and with two; more ranks than processors.
        assert_eq!(of(&[1, 1, 0, 0], &[1, 1, 1, 1], 2, 2), 2);
        assert_eq!(of(&[1, 1, 1, 1], &[2, 2, 2, 2], 4, 2), 2);
        assert_eq!(of(&[1, 1, 1], &[3, 3, 3], 3, 3), 1);
        assert_eq!(of(&[1, 1], &[4, 4], 2, 4), 1);
        // A container with the time of two processors on a machine of four.
        assert_eq!(of(&[1, 1, 1, 1], &[2, 2, 2, 2], 2, 2), 1);
    }
}
