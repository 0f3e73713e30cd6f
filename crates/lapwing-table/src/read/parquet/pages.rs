//! A check of the pages of a Parquet file before the parquet crate decodes them.
//!
//! Texts in a delta encoding have streams of lengths, and the crate allocates memory for as many lengths as a stream
//! states: a damaged one ends the process. This check refuses a stream that states more lengths than its page has
//! values. Cost: one test per page, and a walk over the blocks of pages in the rare encodings `DELTA_BYTE_ARRAY` and
//! `DELTA_LENGTH_BYTE_ARRAY`.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use ::parquet::arrow::arrow_reader::RowGroups;
use ::parquet::basic::Encoding;
use ::parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use ::parquet::file::serialized_reader::SerializedPageReader;

use super::footer::number;

/// Row groups of a file whose pages are checked.
#[derive(Clone)]
pub(super) struct CheckedGroups {
    pub file: Arc<File>,
    pub metadata: Arc<ParquetMetaData>,
    /// Numbers of the groups.
    pub numbers: Range<usize>,
}

impl RowGroups for CheckedGroups {
    fn num_rows(&self) -> usize {
        self.row_groups().map(|group| usize::try_from(group.num_rows()).unwrap_or(0)).sum()
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        Ok(Box::new(Chunks { groups: self.clone(), column }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.metadata.row_groups()[self.numbers.clone()].iter())
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The parts of a column, one in each row group.
struct Chunks {
    groups: CheckedGroups,
    column: usize,
}

impl Iterator for Chunks {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let group = self.groups.metadata.row_group(self.groups.numbers.next()?);
        let chunk = group.column(self.column);
        let rows = usize::try_from(group.num_rows()).unwrap_or(0);
        let (descr, file) = (chunk.column_descr(), self.groups.file.clone());
        let has_levels = [descr.max_rep_level() > 0, descr.max_def_level() > 0];
        let pages = SerializedPageReader::new(file, chunk, rows, None);
        Some(pages.map(|pages| Box::new(CheckedPages { pages, has_levels }) as Box<dyn PageReader>))
    }
}

impl PageIterator for Chunks {}

/// Pages of one part of a column.
struct CheckedPages {
    pages: SerializedPageReader<File>,
    /// Whether there are repetition and definition levels before the values.
    has_levels: [bool; 2],
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        match page.as_ref().is_none_or(|page| is_sound(page, self.has_levels)) {
            true => Ok(page),
            false => Err(ParquetError::General("a page of texts states other lengths than it has".into())),
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.pages.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> Result<Option<Page>> {
        self.pages.take_deferred_dictionary()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

/// Whether no stream of lengths of a page states more lengths than the page has values.
fn is_sound(page: &Page, has_levels: [bool; 2]) -> bool {
    let n_streams = match page.encoding() {
        Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
        // Lengths of the prefixes that texts share with the text before, and of the rest.
        Encoding::DELTA_BYTE_ARRAY => 2,
        _ => return true,
    };
    let values = values_of(page, has_levels);
    values
        .is_some_and(|mut values| (0..n_streams).all(|_| pass_stream(&mut values, page.num_values().into()).is_some()))
}

/// The bytes of a page behind its levels.
fn values_of(page: &Page, has_levels: [bool; 2]) -> Option<&[u8]> {
    let mut bytes: &[u8] = page.buffer();
    match page {
        Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
            bytes.get((*def_levels_byte_len as usize).checked_add(*rep_levels_byte_len as usize)?..)
        }
        _ => {
            // The length of each kind of levels precedes them.
            for _ in has_levels.iter().filter(|has| **has) {
                let (length, rest) = bytes.split_first_chunk::<4>()?;
                bytes = rest.get(u32::from_le_bytes(*length) as usize..)?;
            }
            Some(bytes)
        }
    }
}

/// Passes over a stream in the encoding `DELTA_BINARY_PACKED`; `None` if it has more than `most` numbers, or too few bytes.
///
/// A header (numbers per block, parts per block, total of numbers, first number), then blocks: the least difference,
/// the bits of a difference in each part, the parts. Parts without numbers take no bytes.
fn pass_stream(bytes: &mut &[u8], most: u64) -> Option<()> {
    let (block, parts, count, _first) = (number(bytes)?, number(bytes)?, number(bytes)?, number(bytes)?);
    let in_part = block.checked_div(parts).filter(|in_part| *in_part > 0 && count <= most)?;
    let mut left = count.saturating_sub(1);
    while left > 0 {
        let _least = number(bytes)?;
        for &bits in bytes.split_off(..usize::try_from(parts).ok()?)? {
            if left > 0 {
                bytes.split_off(..usize::try_from(in_part.checked_mul(bits.into())?.div_ceil(8)).ok()?)?;
                left = left.saturating_sub(in_part);
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_end_where_their_blocks_do() {
        let behind_stream = |bytes, most| {
            let mut rest: &[u8] = bytes;
            pass_stream(&mut rest, most).map(|()| rest)
        };
        // 128 numbers in a block of 4 parts; 3 numbers: one part of 2 bits, three without numbers.
        let short = [&[0x80, 1, 4, 3, 10, 0, 2, 0, 0, 0][..], &[0xff; 8], b"rest"].concat();
        assert_eq!(behind_stream(&short, 3), Some(&b"rest"[..]));
        assert_eq!(behind_stream(&short, 2), None);
        assert_eq!(behind_stream(&short[..12], 3), None);
        // One number has no block, none has none either.
        assert_eq!(behind_stream(&[0x80, 1, 4, 1, 10, 7], 9), Some(&[7][..]));
        assert_eq!(behind_stream(&[0x80, 1, 4, 0, 0], 9), Some(&[][..]));
        // 130 numbers: a whole block of differences, and one more.
        let long =
            [&[0x80, 1, 4, 0x82, 1, 10][..], &[0, 1, 0, 0, 0], &[0; 4], &[0, 8, 0, 0, 0], &[0; 32], b"x"].concat();
        assert_eq!(behind_stream(&long, 130), Some(&b"x"[..]));
        for header in [&[0x80, 1, 0, 3, 10][..], &[0, 4, 3, 10], &[0x80, 1, 0x80, 0x80, 4, 3, 10], &[0xff; 12], &[]] {
            assert_eq!(behind_stream(header, 1 << 40), None, "{header:?}");
        }
    }
}
