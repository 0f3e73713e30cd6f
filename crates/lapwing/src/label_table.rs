//! The table of labels, whole or in blocks of rows, in one file or in as many as the input has.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lapwing_core::communicator::agree;
use lapwing_core::publish::{Staged, is_stdout};
use lapwing_core::{ClassNames, Communicator, Error, Matrix, Result, RowNames, RowSource, Run};
use lapwing_models::label_loop::PredictionSets;
use lapwing_models::{Classifier, Labeling};
use lapwing_table::read::{ReadOptions, TableFile, is_divided};
use lapwing_table::write::{ColumnTable, KeptColumns, LabelColumns, LabelWriter, LabeledRows, ending};

use crate::label_journal::LabelJournal;

/// What is between the classes of a set.
const BETWEEN_CLASSES: &str = "|";

/// Rows that are written at a time.
const WRITTEN_ROWS: usize = 1 << 18;

/// Rows that a process labels before it sends them to the one that writes.
const PIECE_ROWS: usize = 1 << 15;

/// Bytes of all pieces that are sent at a time, unless even the smallest take more.
const ROUND_BYTES: usize = 1 << 25;

/// Bytes of a row that is sent, without probabilities.
const ROW_BYTES: usize = 13;

/// Pieces begin at multiples of it, as blocks do.
const ALIGNED_ROWS: usize = 1 << 10;

/// Whether the name of a class can stand in a set.
pub fn fits_a_set(class: &str) -> bool {
    !class.contains(BETWEEN_CLASSES)
}

/// A table of labels, confidences and reached rows. `names`, or kept columns of the input, stand in the place of row numbers.
pub struct LabelTable<'a> {
    pub path: &'a Path,
    pub classes: &'a ClassNames,
    /// Whether each class has a column with its share.
    pub probabilities: bool,
    pub names: Option<&'a Arc<RowNames>>,
    pub kept: Option<KeptColumns>,
    /// The input, whose files those of the table are named after if `path` is a folder.
    pub data: Option<&'a Path>,
}

/// A table of labels that is complete but for its name.
pub struct LabeledTable {
    pub files: Vec<Staged>,
    /// Rows that no label reaches.
    pub n_unreached: usize,
    /// Reached rows whose label is not certified, if labels are.
    pub n_open: Option<usize>,
}

/// Writes the labels that a model gives to the rows of `source`, as [`RowLabels::write`].
pub fn write_predictions(
    classifier: &Classifier<'_>,
    source: &dyn RowSource,
    (probabilities, fills): (bool, bool),
    table: Option<LabelTable<'_>>,
    communicator: &dyn Communicator,
    run: &Run,
) -> Result<LabeledTable> {
    let (classes, certifies) = (&classifier.classes, classifier.extension.certifies());
    let each: &LabelsOf<'_> = &|rows, run, take| classifier.predict_rows(source, rows, run, take);
    let labels = RowLabels { source, classes, probabilities, fills, certifies, kept: None, each };
    labels.write(table, communicator, run, &mut |_, _| {})
}

/// Rows whose labels are found in blocks, in one process or several.
pub struct RowLabels<'a> {
    pub source: &'a dyn RowSource,
    pub classes: &'a ClassNames,
    /// Whether each class has a column with its share.
    pub probabilities: bool,
    /// Whether a row that no label reaches gets the most frequent class of the prior.
    pub fills: bool,
    pub certifies: bool,
    /// Where labels are kept until all are written, and what identifies them; those kept by an earlier run are not found again.
    pub kept: Option<(&'a Path, &'a str)>,
    /// Finds the labels of a range of the rows.
    pub each: &'a LabelsOf<'a>,
}

/// Hands on the labels of a range of rows, block by block.
pub type LabelsOf<'a> = dyn Fn(Range<usize>, &Run, Take<'_>) -> Result<()> + Sync + 'a;
type Take<'a> = &'a mut (dyn FnMut(usize, Labeling) -> Result<()> + Send);

impl RowLabels<'_> {
    /// Finds the labels of all rows and writes them, in blocks: memory does not grow with the rows. Processes take pieces of the rows in
    /// turns; rank 0 writes to `table`, which it alone has, and tells `note` of every block.
    pub fn write(
        &self,
        table: Option<LabelTable<'_>>,
        communicator: &dyn Communicator,
        run: &Run,
        note: &mut (dyn FnMut(usize, &LabeledRows<'_>) + Send),
    ) -> Result<LabeledTable> {
        let &Self { source, classes, probabilities, certifies, .. } = self;
        let (n, size, is_root) = (source.n_rows(), communicator.size(), communicator.is_root());
        let mut writer = agree(communicator, table.map(|table| table.writer(n, certifies)).transpose())?;
        let (mut n_unreached, mut n_open) = (0, 0);
        let mut write_block = |first: usize, block: &LabeledRows<'_>| {
            n_unreached += block.reached.iter().filter(|reached| !**reached).count();
            let certified = block.certified.into_iter().flatten().zip(block.reached);
            n_open += certified.filter(|(is_certain, reached)| **reached && !**is_certain).count();
            note(first, block);
            writer.as_mut().map_or(Ok(()), |writer| writer.write(first, block))
        };
        let has = (certifies, probabilities);
        let open = |(path, of): (&Path, &str)| {
            LabelJournal::open(path, &format!("{of}, {n} rows, {has:?}, {}", self.fills), |first, bytes| {
                run.check()?;
                unpack(bytes, classes, has, |block| write_block(first, block).map(|()| block.labels.len()))
            })
        };
        let opened = agree(communicator, self.kept.filter(|_| is_root).map(open).transpose())?;
        let (mut journal, known) = opened.map_or((None, 0), |(journal, known)| (Some(journal), known));
        let known = communicator.broadcast(known.to_le_bytes().to_vec())?;
        let known = known.first_chunk().map_or(0, |bytes| usize::from_le_bytes(*bytes));
        let mut write = |first: usize, block: &LabeledRows<'_>| {
            if let Some(journal) = &mut journal {
                let mut packed = Vec::new();
                pack(block, &mut packed);
                journal.add(first, &packed)?;
            }
            write_block(first, block)
        };
        // What is read from its start for every piece is labeled by the one that writes.
        if size == 1 || !source.is_seekable() {
            let labeled = if is_root { self.blocks(known..n, run, &mut write) } else { Ok(()) };
            agree(communicator, labeled)?;
        } else {
            let row_bytes = ROW_BYTES + if probabilities { 8 * classes.len() } else { 0 };
            let most = (ROUND_BYTES / (size * row_bytes)).clamp(ALIGNED_ROWS, PIECE_ROWS);
            let step = n.div_ceil(size).clamp(1, most).next_multiple_of(ALIGNED_ROWS);
            let (done, quiet) = (run.counter(n, "rows"), run.quiet());
            done.add(known);
            for first in (known..n).step_by(step * size) {
                let own = (first + communicator.rank() * step).min(n);
                let (own, mut packed) = (own..n.min(own + step), Vec::new());
                let labeled = self.blocks(own, &quiet, &mut |_, block| {
                    pack(block, &mut packed);
                    Ok(())
                });
                agree(communicator, labeled)?;
                // Only rank 0 gets any.
                let parts = communicator.gather(&packed)?;
                let written = (first..).step_by(step).zip(&parts).try_for_each(|(first, part)| {
                    unpack(part, classes, has, |block| run.install(|| write(first, block)).map(|()| 0)).map(drop)
                });
                agree(communicator, written)?;
                done.add((step * size).min(n - first));
            }
        }
        let staged = run.check().and_then(|()| writer.map(|writer| writer.stage()).transpose());
        let files = agree(communicator, staged)?.unwrap_or_default();
        Ok(LabeledTable { files, n_unreached, n_open: certifies.then_some(n_open) })
    }

    /// Finds the labels of the rows `rows`, and hands them on in blocks.
    fn blocks(
        &self,
        rows: Range<usize>,
        run: &Run,
        take: &mut (dyn FnMut(usize, &LabeledRows<'_>) -> Result<()> + Send),
    ) -> Result<()> {
        (self.each)(rows, run, &mut |first, labeling| {
            let labels = chosen(&labeling, self.fills);
            take(first, &block(self.classes, &labels, &labeling, self.probabilities))
        })
    }
}

/// Class of each row; none for rows that no label reaches, unless `fills` gives them that of the prior.
pub fn chosen(labeling: &Labeling, fills: bool) -> Vec<Option<usize>> {
    if fills { labeling.labels.iter().map(|&class| Some(class as usize)).collect() } else { labeling.chosen() }
}

/// Rows of a labeling, with these labels.
fn block<'a>(
    classes: &'a ClassNames,
    labels: &'a [Option<usize>],
    labeling: &'a Labeling,
    probabilities: bool,
) -> LabeledRows<'a> {
    LabeledRows {
        classes,
        labels,
        confidence: &labeling.confidence,
        reached: &labeling.reached,
        certified: labeling.certified.as_deref(),
        probabilities: probabilities.then_some(&labeling.label_distributions),
    }
}

/// Whether labels of `data` go to a folder `out`, in files with the names of those of `data`.
pub fn is_folder_of_labels(out: &Path, data: Option<&Path>) -> bool {
    !is_stdout(out) && ending(out).is_none() && data.is_some_and(is_divided)
}

/// The files of a folder `out`, named after those of `data`, each with its number of rows. Makes the folders.
fn files_in(out: &Path, data: &Path) -> Result<Vec<(PathBuf, usize)>> {
    let table = TableFile::open(data, &ReadOptions::default())?;
    let above = if data.is_dir() { data } else { data.parent().unwrap_or(Path::new("")) };
    let mut files = Vec::new();
    for (part, n_rows) in table.parts().unwrap_or_default() {
        let path = out.join(part.strip_prefix(above).unwrap_or(part));
        let n_rows = n_rows.ok_or_else(|| {
            let expected = format!(
                "the name of one file, such as labels.parquet: a folder of labels needs files that state their number of rows, as \
                 .parquet does, and {} does not",
                part.display()
            );
            Error::param("output", out.display(), expected)
        })?;
        if path == *part {
            return Err(Error::param("output", out.display(), "another folder than that of the rows"));
        }
        files.push((path, n_rows));
    }
    // Only when nothing is refused.
    for folder in files.iter().filter_map(|(path, _)| path.parent()) {
        std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    }
    Ok(files)
}

impl LabelTable<'_> {
    /// A writer of the table of `n_rows` rows.
    pub fn writer(self, n_rows: usize, certified: bool) -> Result<LabelWriter> {
        let Self { path, classes, probabilities, names, kept, data } = self;
        let columns = LabelColumns { certified, probabilities };
        let files = match data.filter(|_| is_folder_of_labels(path, data)) {
            Some(data) => files_in(path, data)?,
            None => Vec::new(),
        };
        let path = files.first().map_or(path, |(path, _)| path.as_path());
        let writer = match (kept, names) {
            (Some(kept), _) => LabelWriter::create_beside(path, classes, n_rows, columns, kept)?,
            (None, Some(names)) => LabelWriter::create_named(path, classes, names.clone(), columns)?,
            (None, None) => LabelWriter::create(path, classes, n_rows, columns)?,
        };
        Ok(if files.is_empty() { writer } else { writer.divided(files)? })
    }

    /// Writes the labels of all rows, with a column for certificates if there are any.
    pub fn stage(self, labels: &[Option<usize>], labeling: &Labeling, run: &Run) -> Result<Vec<Staged>> {
        let (n, classes, probabilities) = (labels.len(), self.classes, self.probabilities);
        let mut writer = self.writer(n, labeling.certified.is_some())?;
        run.progress().expect(n as u64);
        for first in (0..n).step_by(WRITTEN_ROWS) {
            run.check()?;
            let rows = first..(first + WRITTEN_ROWS).min(n);
            let shares = &labeling.label_distributions;
            let of_rows = || rows.clone().flat_map(|row| shares.row(row)).copied().collect();
            let shares = probabilities.then(|| Matrix::new(rows.len(), shares.n_cols(), of_rows())).transpose()?;
            let block = LabeledRows {
                classes,
                labels: &labels[rows.clone()],
                confidence: &labeling.confidence[rows.clone()],
                reached: &labeling.reached[rows.clone()],
                certified: labeling.certified.as_ref().map(|certified| &certified[rows.clone()]),
                probabilities: shares.as_ref(),
            };
            writer.write(first, &block)?;
            run.progress().update(rows.end as u64, "rows");
        }
        writer.stage()
    }

    /// As [`stage`](Self::stage), with a column `set`: the classes of the set of each row, with | between them.
    pub fn stage_with_sets(
        self,
        labels: &[Option<usize>],
        labeling: &Labeling,
        sets: &PredictionSets,
        run: &Run,
    ) -> Result<Vec<Staged>> {
        let rows: Vec<u32> = (0..labels.len() as u32).collect();
        let mut table = match self.kept {
            Some(kept) => {
                let mut table = ColumnTable::default();
                table.kept(kept, &rows, self.path, run)?;
                table
            }
            None => ColumnTable::of_rows(&rows, self.names.map(|names| &**names)),
        };
        match self.classes {
            ClassNames::Integers(names) => {
                table.integers("label", labels.iter().map(|class| class.map(|class| names[class])))
            }
            ClassNames::Texts(names) => {
                table.texts("label", labels.iter().map(|class| class.map(|class| &names[class])))
            }
        }
        let confidence = labels.iter().zip(&labeling.confidence);
        table.numbers("confidence", confidence.map(|(class, share)| class.map_or(f64::NAN, |_| *share)));
        table.flags("reached", labeling.reached.iter().copied());
        if let Some(certified) = &labeling.certified {
            table.flags("certified", certified.iter().copied());
        }
        let names = self.classes.names();
        let set = |holds: &[bool]| {
            let held = names.iter().zip(holds).filter(|(_, holds)| **holds).map(|(name, _)| name.as_str());
            Some(held.collect::<Vec<_>>().join(BETWEEN_CLASSES))
        };
        table.texts("set", sets.holds.chunks_exact(sets.n_classes.max(1)).map(set));
        if self.probabilities {
            for (class, name) in names.iter().enumerate() {
                table.numbers(&format!("p_{name}"), labeling.label_distributions.rows().map(|row| row[class]));
            }
        }
        Ok(vec![table.stage(self.path)?])
    }
}

/// Appends labeled rows as bytes: of each its class (4 bytes), confidence (8), whether it was reached and is certified (1), and
/// probabilities (8 each).
fn pack(block: &LabeledRows<'_>, out: &mut Vec<u8>) {
    let is_certain = |row: usize| block.certified.is_some_and(|certified| certified[row]);
    for (row, class) in block.labels.iter().enumerate() {
        out.extend(class.map_or(NO_CLASS, |class| class as u32).to_le_bytes());
        out.extend(block.confidence[row].to_le_bytes());
        out.push(u8::from(block.reached[row]) | u8::from(is_certain(row)) << 1);
        block.probabilities.iter().flat_map(|matrix| matrix.row(row)).for_each(|p| out.extend(p.to_le_bytes()));
    }
}

/// Stands for no class; there are fewer.
const NO_CLASS: u32 = u32::MAX;

/// What `take` makes of the rows that [`pack`] wrote; 0 if there are none.
fn unpack(
    bytes: &[u8],
    classes: &ClassNames,
    (certifies, has_probabilities): (bool, bool),
    take: impl FnOnce(&LabeledRows<'_>) -> Result<usize>,
) -> Result<usize> {
    let n_probabilities = if has_probabilities { classes.len() } else { 0 };
    let (mut labels, mut confidence, mut probabilities) = (Vec::new(), Vec::new(), Vec::new());
    let (mut reached, mut certified) = (Vec::new(), Vec::new());
    for row in bytes.chunks_exact(ROW_BYTES + 8 * n_probabilities) {
        let class = row.first_chunk().map_or(NO_CLASS, |bytes| u32::from_le_bytes(*bytes));
        labels.push(Some(class as usize).filter(|_| class != NO_CLASS));
        confidence.extend(row[4..].first_chunk().map(|bytes| f64::from_le_bytes(*bytes)));
        reached.push(row[12] & 1 != 0);
        certified.push(row[12] & 2 != 0);
        probabilities.extend(row[ROW_BYTES..].as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)));
    }
    if labels.is_empty() {
        return Ok(0);
    }
    let matrix = Matrix::new(labels.len(), n_probabilities, probabilities)?;
    let (labels, confidence, reached) = (&labels[..], &confidence[..], &reached[..]);
    let probabilities = has_probabilities.then_some(&matrix);
    let certified = certifies.then_some(&certified[..]);
    take(&LabeledRows { classes, labels, confidence, reached, certified, probabilities })
}

#[cfg(test)]
mod tests;
