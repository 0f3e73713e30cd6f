//! What a campaign leaves behind: inputs that showed a defect, one for each place, and a sample of those accepted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Target;
use crate::judge::{Answer, Defect};
use crate::rng::Rng;

/// Accepted inputs of which all are kept; of later ones fewer and fewer.
const SAMPLE: usize = 300;

/// Folders of a target in the folder of a campaign.
#[derive(Debug)]
pub struct Found {
    defects: PathBuf,
    accepted: PathBuf,
    ending: &'static str,
    n_accepted: usize,
    rng: Rng,
}

impl Found {
    /// The folders of `target` in `folder`, made where they are missing.
    ///
    /// # Errors
    /// When they cannot be made.
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

    /// Keeps what is worth it. Nothing is kept where the disk takes no more.
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

    /// Keeps the smallest input that shows a defect, and says in a text beside it what happened.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn defect(&self, bytes: &[u8], defect: &Defect) -> io::Result<()> {
        let path = self.defects.join(name_of(defect.place.as_bytes(), self.ending));
        if fs::metadata(&path).is_ok_and(|known| known.len() <= bytes.len() as u64) {
            return Ok(());
        }
        fs::write(words_of(&path), format!("{}\n", defect.words))?;
        fs::write(path, bytes)
    }
}

/// The text beside an input.
pub fn words_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".txt");
    name.into()
}

/// Inputs that showed a defect, by path, with what happened.
///
/// # Errors
/// When the folder cannot be read.
pub fn defects(folder: &Path, target: &Target) -> io::Result<Vec<(PathBuf, String)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder.join("defects").join(target.name))? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "txt") {
            continue;
        }
        let words = fs::read_to_string(words_of(&path)).unwrap_or_default();
        found.push((path, words.trim().to_owned()));
    }
    found.sort();
    Ok(found)
}

/// A name that tells `bytes` from others, with the ending of the format.
pub fn name_of(bytes: &[u8], file: &str) -> String {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let ending = file.split_once('.').map_or("", |(_, ending)| ending);
    format!("{hash:016x}.{ending}")
}
