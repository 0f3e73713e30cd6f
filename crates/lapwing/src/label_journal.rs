//! Labels that were found before a run was stopped, so that the next run need not find them again.
//!
//! The file begins with a line that says what the labels are of. Every record is a block of rows: the number of its first row (8 bytes),
//! its length and its CRC-32 (4 bytes each), and its bytes. A record that a kill has cut short ends the file. Cost: 13 bytes a row, and 8
//! for each probability.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};

use lapwing_core::{Error, Result};

/// How the file begins.
const BEGINS: &str = "lapwing labels of ";

/// Most bytes of a record: what is longer was not written here.
const MOST_BYTES: u32 = 1 << 30;

/// A file that blocks of labels are added to.
pub struct LabelJournal {
    path: PathBuf,
    file: File,
}

impl LabelJournal {
    /// The journal beside a checkpoint.
    pub fn beside(checkpoint: &Path) -> PathBuf {
        let mut path = checkpoint.as_os_str().to_owned();
        path.push(".labels");
        path.into()
    }

    /// Opens the journal of the labels that `of` names, and hands on the blocks in it, first row and bytes, whose rows follow each other.
    /// A journal of other labels begins anew.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] for a file that is no journal, which stays as it is; those of `take`, which says how many rows it took.
    pub fn open(path: &Path, of: &str, mut take: impl FnMut(usize, &[u8]) -> Result<usize>) -> Result<(Self, usize)> {
        let failed = |e| Error::io(path, e);
        let head = format!("{BEGINS}{of}\n");
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        let mut reader = BufReader::new(&file);
        let (mut held, mut next, mut rows) = (Vec::new(), 0, 0);
        (&mut reader).take(head.len() as u64).read_to_end(&mut held).map_err(failed)?;
        // A kill may have cut it short.
        if !held.iter().zip(BEGINS.as_bytes()).all(|(is, wanted)| is == wanted) {
            let reason = "no labels of an earlier run; move it, or give the checkpoint another name";
            return Err(Error::format(path, None, reason));
        }
        if held == head.as_bytes() {
            next = head.len() as u64;
            while let Some((first, bytes)) = record(&mut reader).filter(|(first, _)| *first == rows as u64) {
                rows += take(first as usize, &bytes)?;
                next += (RECORD_HEAD + bytes.len()) as u64;
            }
        }
        let mut journal = Self { path: path.into(), file };
        journal.file.set_len(next).and_then(|()| journal.file.seek(std::io::SeekFrom::End(0))).map_err(failed)?;
        if next == 0 {
            journal.file.write_all(head.as_bytes()).map_err(failed)?;
        }
        Ok((journal, rows))
    }

    /// Adds a block whose first row is `first`.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn add(&mut self, first: usize, bytes: &[u8]) -> Result<()> {
        let mut record = Vec::with_capacity(RECORD_HEAD + bytes.len());
        record.extend((first as u64).to_le_bytes());
        record.extend((bytes.len() as u32).to_le_bytes());
        record.extend(crc32fast::hash(bytes).to_le_bytes());
        record.extend(bytes);
        self.file.write_all(&record).map_err(|e| Error::io(&self.path, e))
    }
}

const RECORD_HEAD: usize = 16;

/// The next record: first row and bytes. `None` at the end, or for one that is not whole.
fn record(reader: &mut impl Read) -> Option<(u64, Vec<u8>)> {
    let mut head = [0; RECORD_HEAD];
    reader.read_exact(&mut head).ok()?;
    let (first, rest) = head.split_first_chunk()?;
    let (len, rest) = rest.split_first_chunk()?;
    let len = u32::from_le_bytes(*len);
    let mut bytes = Vec::new();
    reader.take(len.min(MOST_BYTES).into()).read_to_end(&mut bytes).ok()?;
    let is_whole = bytes.len() == len as usize && rest.first_chunk() == Some(&crc32fast::hash(&bytes).to_le_bytes());
    is_whole.then_some((u64::from_le_bytes(*first), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks of a journal, and the rows in them.
    fn held(path: &Path, of: &str) -> (Vec<(usize, Vec<u8>)>, usize, LabelJournal) {
        let mut blocks = Vec::new();
        let (journal, rows) = LabelJournal::open(path, of, |first, bytes| {
            blocks.push((first, bytes.to_vec()));
            Ok(bytes.len())
        })
        .unwrap();
        (blocks, rows, journal)
    }

    #[test]
    fn a_journal_holds_whole_blocks_up_to_the_first_that_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = LabelJournal::beside(&folder.path().join("c.part"));
        assert!(path.ends_with("c.part.labels"));
        let mut journal = held(&path, "a").2;
        journal.add(0, b"abc").unwrap();
        journal.add(3, b"defgh").unwrap();
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(held(&path, "a").1, 8);
        // Cut anywhere, or with a byte changed, it holds the blocks before.
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let (blocks, rows, mut journal) = held(&path, "a");
            assert_eq!(rows, blocks.iter().map(|block| block.1.len()).sum::<usize>());
            assert!(rows == 0 || rows == 3, "{cut}: {rows}");
            journal.add(rows, b"xy").unwrap();
            assert_eq!(held(&path, "a").1, rows + 2);
            let mut other = whole.clone();
            other[cut] ^= 1;
            std::fs::write(&path, other).unwrap();
            if cut < BEGINS.len() {
                // A file of something else is refused, and stays.
                assert!(LabelJournal::open(&path, "a", |_, bytes| Ok(bytes.len())).is_err());
                assert_eq!(std::fs::read(&path).unwrap().len(), whole.len());
            } else {
                assert!(held(&path, "a").1 < 8, "{cut}");
            }
        }
        std::fs::write(&path, &whole).unwrap();
        // Of other labels.
        assert_eq!(held(&path, "b").1, 0);
        assert_eq!(held(&path, "a").1, 0);
    }
}
