//! Parquet tables.

mod footer;
mod pages;
mod scan;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, RowGroups, RowSelection, RowSelector,
};
use ::parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use ::parquet::file::metadata::RowGroupMetaData;
use arrow_schema::SchemaRef;

use self::footer::parquet_error;
use self::pages::CheckedGroups;
use super::batches::{Batches, guarded};
use lapwing_core::mapped::open_filled;
use lapwing_core::{Error, Result};

/// A file whose footer has been read: schema, number of rows, row groups.
#[derive(Debug)]
pub(super) struct Table {
    pub path: PathBuf,
    metadata: ArrowReaderMetadata,
    pub n_rows: usize,
}

impl Table {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let (file, length) = open_filled(path)?;
        let load = || {
            let footer = Arc::new(footer::read(path, &file, length)?);
            ArrowReaderMetadata::try_new(footer, Default::default()).map_err(|e| parquet_error(path, e))
        };
        let metadata = guarded(path, load)?;
        let n_rows = usize::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or(0);
        let mut in_groups = metadata.metadata().row_groups().iter().map(|group| usize::try_from(group.num_rows()).ok());
        if in_groups.try_fold(0usize, |sum, rows| sum.checked_add(rows?)) != Some(n_rows) {
            let reason = format!("the file is damaged (it states {n_rows} rows, and others in its parts)");
            return Err(Error::format(path, None, reason));
        }
        Ok(Self { path: path.to_owned(), metadata, n_rows })
    }

    /// The columns, with their stored types.
    pub(super) fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    /// Starts to read the chosen columns behind the first `skip` rows, at most `batch_rows` rows at a time. Skips whole
    /// row groups without reading them, and does not read the footer again.
    fn batches(&self, columns: &[usize], skip: usize, batch_rows: usize) -> Result<Batches> {
        let (file, _) = open_filled(&self.path)?;
        let metadata = self.metadata.metadata();
        let mut skipped = skip;
        let is_skipped = |group: &&RowGroupMetaData| match skipped.checked_sub(group.num_rows() as usize) {
            Some(left) => {
                skipped = left;
                true
            }
            None => false,
        };
        let first = metadata.row_groups().iter().take_while(is_skipped).count();
        let numbers = first..metadata.num_row_groups();
        let groups = CheckedGroups { file: Arc::new(file), metadata: metadata.clone(), numbers };
        let skipped = skipped.min(groups.num_rows());
        let selection = (skipped > 0).then(|| {
            RowSelection::from(vec![RowSelector::skip(skipped), RowSelector::select(groups.num_rows() - skipped)])
        });
        Batches::open(&self.path, columns, |columns| {
            let schema = self.metadata.parquet_schema();
            let mask = ProjectionMask::roots(schema, columns);
            let reader = parquet_to_arrow_field_levels(schema, mask, Some(self.schema().fields())).and_then(|levels| {
                ParquetRecordBatchReader::try_new_with_row_groups(&levels, &groups, batch_rows, selection)
            });
            Ok(Box::new(reader.map_err(|e| parquet_error(&self.path, e))?))
        })
    }

    /// Bytes that columns take in the file.
    pub(super) fn bytes_of(&self, columns: &[usize]) -> u64 {
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), columns.iter().copied());
        let leaves = self.metadata.metadata().row_groups().iter().flat_map(|group| group.columns().iter().enumerate());
        let kept = leaves.filter(|(leaf, _)| mask.leaf_included(*leaf));
        kept.map(|(_, chunk)| u64::try_from(chunk.compressed_size()).unwrap_or(0)).sum()
    }

    /// The error for a table that holds `found` rows and states others.
    fn rows_error(&self, found: usize) -> Error {
        let reason = format!("the file is damaged (it states {} rows and holds {found})", self.n_rows);
        Error::format(&self.path, None, reason)
    }
}
