//! The files that a campaign keeps: the smallest input for each defect, and a sample of accepted inputs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Target;
use crate::judge::{Answer, Defect};
use crate::replay::files_of;
use crate::rng::Rng;

/// The number of accepted inputs of which all are kept; later ones are kept with a falling probability.
const SAMPLE: usize = 300;

/// The kept files of a target.
#[derive(Debug)]
pub struct Found {
    defects: PathBuf,
    accepted: PathBuf,
    ending: &'static str,
    n_accepted: usize,
    rng: Rng,
}

impl Found {
    /// Opens the folders of `target` in the folder of a campaign, or makes them.
    pub fn open(folder: &Path, target: &Target) -> io::Result<Self> {
        let found = Self {
            defects: folder.join("defects").join(target.name),
            accepted: folder.join("accepted").join(target.name),
            ending: target.file,
            n_accepted: 0,
            rng: Rng::new(std::process::id().into()),
        };
        fs::create_dir_all(&found.defects)?;
        fs::create_dir_all(&found.accepted)?;
        Ok(found)
    }

    /// Keeps an input that showed a defect, or that belongs to the sample. Errors of the disk are ignored.
    pub fn note(&mut self, bytes: &[u8], outcome: &Result<Answer, Defect>) {
        match outcome {
            Ok(Answer::Refused) => {}
            Ok(Answer::Accepted) => {
                self.n_accepted += 1;
                if self.rng.below(self.n_accepted) < SAMPLE {
                    let _ = fs::write(self.accepted.join(name_of(bytes, self.ending)), bytes);
                }
            }
            Err(defect) => {
                let _ = self.defect(bytes, defect);
            }
        }
    }

    /// Keeps the smallest input that shows a defect, with a text beside it.
    pub fn defect(&self, bytes: &[u8], defect: &Defect) -> io::Result<()> {
        let path = self.defects.join(name_of(defect.place.as_bytes(), self.ending));
        if fs::metadata(&path).is_ok_and(|known| known.len() <= bytes.len() as u64) {
            return Ok(());
        }
        fs::write(words_of(&path), format!("{}\n", defect.words))?;
        fs::write(path, bytes)
    }
}

/// The path of the text beside an input.
pub fn words_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".txt");
    name.into()
}

/// Inputs that showed a defect, sorted by path, with their texts.
pub fn defects(folder: &Path, target: &Target) -> io::Result<Vec<(PathBuf, String)>> {
    let mut files = files_of(&folder.join("defects").join(target.name))?;
    files.retain(|path| path.extension().is_none_or(|ending| ending != "txt"));
    let with_text = |path: PathBuf| {
        let words = fs::read_to_string(words_of(&path)).unwrap_or_default();
        (path, words.trim().to_owned())
    };
    Ok(files.into_iter().map(with_text).collect())
}

/// A file name from the hash of `bytes`, with the ending of the format.
fn name_of(bytes: &[u8], file: &str) -> String {
    let fnv = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, fnv);
    let ending = file.split_once('.').map_or("", |(_, ending)| ending);
    format!("{hash:016x}.{ending}")
}
