//! Checkpoints of a fit: files with its sums, from which another run continues to the same bytes, with any number of processes.
//!
//! Every process writes the sums of its own blocks, rank 0 to the given path, rank r to the same path with `.r` appended. A run
//! that finds such files reads all of them. The format is that of model files, with kind `low-rank-sums`.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use lapwing_core::communicator::agree;
use lapwing_core::model_file::ModelFile;
use lapwing_core::{Communicator, Error, Result, lock};
use lapwing_graph::low_rank::SumTree;
use serde_json::json;

const KIND: &str = "low-rank-sums";

/// Writing may take at most one part in so many of the time.
const SHARE: u32 = 20;
/// Least time between two writes.
const LEAST: Duration = Duration::from_millis(200);

/// Writes the sums of a fit to a file, and holds the sums read from files at the start.
#[derive(Debug)]
pub(super) struct Keeper {
    path: PathBuf,
    rank: usize,
    /// Identity of the fit. Files of another fit are refused.
    of: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Sums of each pass.
    trees: Vec<Option<SumTree>>,
    /// When the file was last written, and how long that took.
    written: Option<(Instant, Duration)>,
}

impl Keeper {
    /// Reads all existing files; `of` identifies this fit.
    ///
    /// # Errors
    /// [`Error::Format`] for a file of another fit, or damaged; [`Error::Io`].
    pub fn open(path: &Path, of: String, communicator: &dyn Communicator) -> Result<Self> {
        let found = files(path).and_then(|files| read(&files, &of));
        let trees = agree(communicator, found)?;
        let state = Mutex::new(State { trees, written: None });
        Ok(Self { path: path.to_owned(), rank: communicator.rank(), of, state })
    }

    /// The sums of a pass, if there are any with that many blocks and sums.
    pub fn tree(&self, pass: usize, n_blocks: usize, n_sums: usize) -> Option<SumTree> {
        let tree = lock(&self.state).trees.get(pass)?.clone()?;
        (tree.n_blocks() == n_blocks && tree.n_sums() == n_sums).then_some(tree)
    }

    /// Writes the file, unless that would take more than a twentieth of the time.
    ///
    /// # Errors
    /// [`Error::Io`]; the previous file is unchanged.
    pub fn keep(&self, pass: usize, tree: &Mutex<SumTree>) -> Result<()> {
        let is_due =
            |state: &State| state.written.is_none_or(|(when, took)| when.elapsed() >= (took * SHARE).max(LEAST));
        // While one thread writes, the others do not wait.
        let Ok(mut state) = self.state.try_lock() else { return Ok(()) };
        if !is_due(&state) {
            return Ok(());
        }
        let tree = lock(tree).clone();
        self.write(pass, tree, &mut state)
    }

    /// Writes the file at the end of a pass.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn keep_now(&self, pass: usize, tree: &SumTree) -> Result<()> {
        self.write(pass, tree.clone(), &mut lock(&self.state))
    }

    fn write(&self, pass: usize, tree: SumTree, state: &mut State) -> Result<()> {
        let start = Instant::now();
        if state.trees.len() <= pass {
            state.trees.resize(pass + 1, None);
        }
        state.trees[pass] = Some(tree);
        let mut file = ModelFile::new(KIND, json!({ "of": self.of, "passes": state.trees.len() }));
        for (pass, tree) in state.trees.iter().enumerate() {
            if let Some(tree) = tree {
                let bytes = tree.to_bytes();
                file.insert(format!("pass{pass}"), &[bytes.len()], bytes)?;
            }
        }
        file.save(&own(&self.path, self.rank))?;
        state.written = Some((Instant::now(), start.elapsed()));
        Ok(())
    }
}

/// Removes the files of all ranks, after the fit.
///
/// # Errors
/// [`Error::Io`].
pub fn remove(path: &Path) -> Result<()> {
    files(path)?.iter().try_for_each(|file| std::fs::remove_file(file).map_err(|e| Error::io(file, e)))
}

fn own(path: &Path, rank: usize) -> PathBuf {
    if rank == 0 {
        return path.to_owned();
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{rank}"));
    name.into()
}

/// All existing files, of any rank and any run.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_own = |other: &str| {
        let rest = other.strip_prefix(&name);
        let number = |rest: &str| rest.strip_prefix('.').is_some_and(|rank| rank.parse::<u32>().is_ok());
        rest.is_some_and(|rest| rest.is_empty() || number(rest))
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| Error::io(folder, e))? {
        let entry = entry.map_err(|e| Error::io(folder, e))?;
        if is_own(&entry.file_name().to_string_lossy()) {
            found.push(folder.join(entry.file_name()));
        }
    }
    found.sort();
    Ok(found)
}

fn read(files: &[PathBuf], of: &str) -> Result<Vec<Option<SumTree>>> {
    let mut trees: Vec<Option<SumTree>> = Vec::new();
    for path in files {
        let file = ModelFile::load(path)?;
        file.expect_kind(&[KIND])?;
        if file.meta["of"].as_str() != Some(of) {
            let reason = "a checkpoint of another fit: other rows, labels, parameters or seed; remove it, or go on with \
                          what it was made of";
            return Err(file.error(reason));
        }
        let passes = file.meta["passes"].as_u64().unwrap_or(0).min(16) as usize;
        trees.resize(trees.len().max(passes), None);
        for (pass, tree) in trees.iter_mut().enumerate() {
            let name = format!("pass{pass}");
            if !file.contains(&name) {
                continue;
            }
            let bytes = file.array::<u8>(&name, &[None])?.1;
            let found = SumTree::from_bytes(bytes.as_slice()).ok_or_else(|| file.error("its sums are damaged"))?;
            match tree {
                Some(tree) if (tree.n_blocks(), tree.n_sums()) != (found.n_blocks(), found.n_sums()) => {
                    return Err(file.error("its sums do not fit those of other processes"));
                }
                Some(tree) => tree.merge(found),
                None => *tree = Some(found),
            }
        }
    }
    Ok(trees)
}

#[cfg(test)]
mod tests {
    use lapwing_core::Alone;
    use lapwing_graph::low_rank::BlockSums;

    use super::*;

    fn tree(blocks: &[usize]) -> SumTree {
        blocks.iter().fold(SumTree::new(5, 1), |mut tree, &block| {
            tree.insert(block, BlockSums { added: vec![block as f64], least: 0.0 });
            tree
        })
    }

    #[test]
    fn sums_of_all_processes_are_found_and_those_of_other_fits_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sums");
        let keeper = Keeper::open(&path, "a".into(), &Alone).unwrap();
        assert!(keeper.tree(0, 5, 1).is_none());
        keeper.keep_now(0, &tree(&[0, 1, 2, 3, 4])).unwrap();
        keeper.keep_now(1, &tree(&[0, 2])).unwrap();
        let second = Keeper { rank: 1, ..Keeper::open(&path, "a".into(), &Alone).unwrap() };
        second.keep_now(1, &tree(&[4])).unwrap();
        std::fs::write(folder.path().join("sums.old"), "another program's").unwrap();

        let found = Keeper::open(&path, "a".into(), &Alone).unwrap();
        assert_eq!(found.tree(0, 5, 1).unwrap().total().unwrap().added, [10.0]);
        assert_eq!(found.tree(1, 5, 1).unwrap(), tree(&[0, 2, 4]));
        assert!(found.tree(1, 6, 1).is_none() && found.tree(2, 5, 1).is_none());
        let text = Keeper::open(&path, "b".into(), &Alone).unwrap_err().to_string();
        assert!(text.contains("a checkpoint of another fit"), "{text}");
        remove(&path).unwrap();
        assert!(!path.exists() && !folder.path().join("sums.1").exists() && folder.path().join("sums.old").exists());
    }

    #[test]
    fn every_changed_byte_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sums");
        Keeper::open(&path, "a".into(), &Alone).unwrap().keep_now(0, &tree(&[0, 2])).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1 << (at % 8);
            std::fs::write(&path, &other).unwrap();
            let text = Keeper::open(&path, "a".into(), &Alone).unwrap_err().to_string();
            assert!(text.contains("sums: the file is damaged or cut short"), "byte {at}: {text}");
        }
    }
}
