//! Text in blocks that end with a line.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::cells::BYTE_ORDER_MARK;
use super::rewrite::Rewrite;
use crate::format::open::{encoding_of_file, open_text};
use crate::format::start::{is_packed, not_text};
use crate::format::{is_rereadable, is_stdin, only_once};
use crate::lines::text_error;
use encoding_rs::Encoding;
use lapwing_core::mapped::open;
use lapwing_core::{Error, Result, lock};

/// Bytes of a block, about.
pub(super) const BLOCK_BYTES: usize = 1 << 20;

/// Bytes of a block of a pipe, whose writer may wait.
const PIPE_BYTES: usize = 1 << 16;

/// Bytes of the longest line; a longer one follows a quote that is not closed.
pub(super) const MAX_LINE_BYTES: usize = 1 << 28;

/// A text that has not been read.
type Unread = Box<dyn Read + Send>;

/// Where a text comes from.
#[derive(Clone)]
pub(crate) enum Text {
    /// A file, with its encoding if that is not UTF-8.
    File(PathBuf, Option<&'static Encoding>),
    /// What a pipe or standard input held.
    Held(PathBuf, Arc<[u8]>),
    /// A pipe or standard input, until it is read.
    Once(PathBuf, Arc<Mutex<Option<Unread>>>),
}

impl Text {
    /// The text of a file. A pipe, which can be read only once, is read into memory.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if is_rereadable(path) {
            return Ok(Self::File(path.to_owned(), encoding_of_file(path)?));
        }
        let mut bytes = Vec::new();
        open_text(path)?.read_to_end(&mut bytes).map_err(|e| text_error(path, None, e))?;
        if let Some(error) = not_text(path, &bytes) {
            return Err(error);
        }
        Ok(Self::Held(path.to_owned(), bytes.into()))
    }

    /// The text of a file. A pipe can be read once.
    pub(crate) fn open_once(path: &Path) -> Result<Self> {
        match is_rereadable(path) {
            true => Self::open(path),
            false => Ok(Self::Once(path.to_owned(), Arc::new(Mutex::new(Some(Box::new(open_text(path)?)))))),
        }
    }

    /// The first block, which [`Self::blocks`] yields again.
    pub(crate) fn first(&self) -> Result<Option<Block>> {
        let mut blocks = self.blocks(0)?;
        let block = blocks.next()?;
        if let (Self::Once(_, unread), Some(block)) = (self, &block) {
            let bytes = [&block.bytes[..], &blocks.left].concat();
            *lock(unread) = Some(Box::new(std::io::Cursor::new(bytes).chain(blocks.reader)));
        }
        Ok(block)
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::File(path, _) | Self::Held(path, _) | Self::Once(path, _) => path,
        }
    }

    /// Bytes of the text as stored, if known.
    pub(crate) fn stored_bytes(&self) -> u64 {
        match self {
            Self::File(path, _) => std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
            Self::Held(_, bytes) => bytes.len() as u64,
            Self::Once(..) => 0,
        }
    }

    /// The encoding of the file, if it is known and not UTF-8.
    pub(super) fn encoding(&self) -> Option<&'static str> {
        match self {
            Self::File(_, encoding) => encoding.map(Encoding::name),
            Self::Held(..) | Self::Once(..) => None,
        }
    }

    /// Whether reading can start at any byte.
    pub(super) fn is_seekable(&self) -> bool {
        match self {
            Self::File(path, encoding) => encoding.is_none() && !is_packed(path),
            Self::Held(..) => true,
            Self::Once(..) => false,
        }
    }

    /// Whether it can be read only once.
    pub(crate) fn is_once(&self) -> bool {
        matches!(self, Self::Once(..))
    }

    /// Blocks from byte `start` on, which must be 0 if the text is not seekable.
    pub(super) fn blocks(&self, start: u64) -> Result<Blocks> {
        use std::io::{Seek, SeekFrom};
        let path = self.path().to_owned();
        let reader: Box<dyn Read + Send> = match self {
            Self::Held(_, bytes) => {
                let mut text = std::io::Cursor::new(bytes.clone());
                text.set_position(start);
                Box::new(text)
            }
            Self::Once(_, unread) => lock(unread).take().ok_or_else(|| only_once(&path))?,
            Self::File(path, encoding) if encoding.is_some() || is_packed(path) || is_stdin(path) => {
                Box::new(open_text(path)?)
            }
            Self::File(path, _) => {
                let mut file = open(path)?;
                file.seek(SeekFrom::Start(start)).map_err(|e| Error::io(path, e))?;
                Box::new(file)
            }
        };
        let block_bytes = if self.is_once() { PIPE_BYTES } else { BLOCK_BYTES };
        let (left, rewrites) = (Vec::new(), Vec::new());
        Ok(Blocks { path, reader, block_bytes, left, start, is_ended: false, rewrites })
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Text").field(&self.path()).finish()
    }
}

/// A piece of text that ends with a line, or with the text.
pub(crate) struct Block {
    /// Place of its first byte in the text.
    pub start: u64,
    pub bytes: Vec<u8>,
    /// Whether the text ends with it.
    pub is_last: bool,
}

/// Reads a text block by block.
pub(super) struct Blocks {
    path: PathBuf,
    reader: Box<dyn Read + Send>,
    block_bytes: usize,
    /// Text behind the last block that has been read.
    left: Vec<u8>,
    /// Place of that text.
    start: u64,
    is_ended: bool,
    /// What is written anew, and whether the end of the last block stands in quotes for each.
    pub rewrites: Vec<(Rewrite, bool)>,
}

impl Blocks {
    /// The next block; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Block>> {
        let mut bytes = std::mem::take(&mut self.left);
        let mut most = self.block_bytes.max(bytes.len() + self.block_bytes / 4);
        loop {
            bytes.reserve_exact(most.saturating_sub(bytes.len()));
            // Whether more follows decides if the last line is complete.
            while bytes.len() < most && !self.is_ended {
                let read = self.reader.by_ref().take((most - bytes.len()) as u64).read_to_end(&mut bytes);
                self.is_ended = read.map_err(|e| text_error(&self.path, None, e))? == 0;
            }
            let end = if self.is_ended { Some(bytes.len()) } else { last_line(&bytes) };
            if let Some(end) = end {
                self.left = bytes.split_off(end);
                break;
            }
            if most > MAX_LINE_BYTES {
                let reason = format!("a line is longer than {} MiB; is this a text with lines?", MAX_LINE_BYTES >> 20);
                return Err(Error::format(&self.path, None, reason));
            }
            most *= 2;
        }
        let mut start = self.start;
        self.start += bytes.len() as u64;
        if start == 0 {
            // Some programs add a mark to a text that has one.
            let n_marks = bytes.chunks(BYTE_ORDER_MARK.len()).take_while(|mark| *mark == BYTE_ORDER_MARK).count();
            start = (n_marks * BYTE_ORDER_MARK.len()) as u64;
            bytes.drain(..start as usize);
        }
        for (rewrite, is_inside) in &mut self.rewrites {
            bytes = rewrite.apply(&bytes, is_inside);
        }
        let is_last = self.is_ended && self.left.is_empty();
        Ok((!bytes.is_empty()).then_some(Block { start, bytes, is_last }))
    }
}

/// End of the last complete line.
fn last_line(bytes: &[u8]) -> Option<usize> {
    let end = memchr::memrchr(b'\n', bytes).or_else(|| {
        // In a text whose lines end with `\r`, the last byte may be half of `\r\n`.
        memchr::memrchr(b'\r', &bytes[..bytes.len().saturating_sub(1)])
    });
    end.map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_end_with_lines_and_make_up_the_text() {
        for end in ["\n", "\r\n", "\r"] {
            let text: String = (0..200_000).map(|row| format!("{row},\"x\"{end}")).collect();
            let held = Text::Held("t.csv".into(), text.clone().into_bytes().into());
            let (mut blocks, mut found) = (held.blocks(0).unwrap(), Vec::new());
            let mut is_last = false;
            while let Some(block) = blocks.next().unwrap() {
                assert!(!is_last && block.start == found.len() as u64);
                assert!(block.bytes.ends_with(end.as_bytes()));
                found.extend(block.bytes);
                is_last = block.is_last;
            }
            assert!(found == text.as_bytes());
        }
    }
}
