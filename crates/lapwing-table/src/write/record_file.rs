//! A labeled table that several processes write at once, each its own rows.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::encode::encode_rows;
use super::npy::{NO_CLASS, Records};
use super::table::{LABEL_ENDINGS, LabelColumns, LabeledRows, ending};
use super::writer::{LabelWriter, Table};
use lapwing_core::publish::{Place, Staged, Storage, beside, check_writable, create, is_stdout};
use lapwing_core::{ClassNames, Error, Matrix, Result, Run};

/// Bytes of records read at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// A file with one record for each row of a table, which several processes write.
///
/// One process creates the file, and then the others open it. Each process writes its rows and [syncs](Self::sync)
/// them. After all processes have synced, one of them commits the file as a `.npy` of records, or transcodes it into a
/// `.csv` or `.parquet`. The caller must synchronize the processes.
///
/// The file is called `.NAME.part` and lies in the folder of the final file, so that a later run replaces the file of a
/// run that was killed. If the creator drops the file before the end, it is removed.
///
/// # Complexity
/// A record takes 17 bytes, plus the label (4 bytes, or in `.npy` 8, or 4 for each letter of the longest name), 8 bytes
/// for each probability, and 1 for the column `certified`. Memory for some thousand rows.
///
/// # Example
/// ```
/// use lapwing_core::{ClassNames, Run};
/// use lapwing_table::write::{LabelColumns, LabeledRows, RecordFile};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("labels.csv");
/// let classes = ClassNames::Integers(vec![3, 8]);
/// let block = |labels| LabeledRows {
///     classes: &classes, labels, confidence: &[0.5], reached: &[true], certified: None, probabilities: None,
/// };
/// let mut first = RecordFile::create_shared(&path, &classes, 2, LabelColumns::default())?;
/// let mut second = RecordFile::open_shared(&path, &classes, 2, LabelColumns::default())?; // in another process
/// second.write_at(1, &block(&[Some(0)]))?;
/// second.sync()?;
/// first.write_at(0, &block(&[Some(1)]))?;
/// first.transcode(&path, &Run::new(None, 0)?)?;
/// assert_eq!(std::fs::read_to_string(&path)?, "row,label,confidence,reached\n0,8,0.5,true\n1,3,0.5,true\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RecordFile {
    shape: Table,
    records: Records,
    /// Whether the labels are class numbers.
    by_index: bool,
    file: Storage,
    part: PathBuf,
    place: Place,
    /// Removes the file when its creator drops it.
    owned: Option<TempPath>,
}

impl RecordFile {
    /// Creates a table of `n_rows` rows that will become `path`, for all processes.
    ///
    /// # Errors
    /// [`Error::Param`] for an unknown ending, or a path that is no file; [`Error::TooLarge`];
    /// [`Error::Io`] when the file cannot be written.
    pub fn create_shared(path: &Path, classes: &ClassNames, n_rows: usize, columns: LabelColumns) -> Result<Self> {
        Self::new(path, classes, n_rows, columns, |part, place, records, length| {
            // Removed, not overwritten: a process of a killed run may still write to the old file.
            match std::fs::remove_file(part) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
            let mut file = Storage::new(create(part, place)?);
            let owned = TempPath::try_from_path(part)?;
            file.write_all(records.header())?;
            file.set_len(length)?;
            // Row numbers identify rows that were never written: theirs are 0. The first row gets another number.
            if length > records.header().len() as u64 {
                file.write_all(&(-1i64).to_le_bytes())?;
            }
            Ok((file, Some(owned)))
        })
    }

    /// Opens the table that another process created with the same arguments.
    ///
    /// # Errors
    /// [`Error::Format`] if the file is another table; [`Error::Io`] if there is none.
    pub fn open_shared(path: &Path, classes: &ClassNames, n_rows: usize, columns: LabelColumns) -> Result<Self> {
        let mut opened = Self::new(path, classes, n_rows, columns, |part, _, _, _| {
            File::options().read(true).write(true).open(part).map(|file| (Storage::new(file), None))
        })?;
        let is_same = opened.is_same().map_err(|e| Error::io(&opened.part, e))?;
        is_same.then_some(()).ok_or_else(|| Error::format(&opened.part, None, "begun for another table of labels"))?;
        Ok(opened)
    }

    fn new(
        path: &Path,
        classes: &ClassNames,
        n_rows: usize,
        columns: LabelColumns,
        open: impl FnOnce(&Path, &Place, &Records, u64) -> io::Result<(Storage, Option<TempPath>)>,
    ) -> Result<Self> {
        let is_file = || Error::param("output", path.display(), "a file, which several processes can write");
        if is_stdout(path) {
            return Err(is_file());
        }
        check_writable(path, &LABEL_ENDINGS)?;
        let place = Place::from_path(path).map_err(|e| Error::io(path, e))?.ok_or_else(is_file)?;
        let part = part_of(&place.target);
        let shape = Table { path: path.to_owned(), classes: classes.clone(), n_rows, columns, names: None };
        let by_index = ending(path).as_deref() != Some("npy");
        let records = if by_index { Records::by_index } else { Records::new }(classes, n_rows, columns);
        let length = length_of(&records, n_rows).ok_or_else(|| Error::TooLarge {
            what: path.display().to_string(),
            bytes: u64::MAX,
            limit: i64::MAX as u64,
            advice: "write fewer rows at a time".into(),
        })?;
        let (file, owned) = open(&part, &place, &records, length).map_err(|e| Error::io(&part, e))?;
        Ok(Self { shape, records, by_index, file, part, place, owned })
    }

    /// Whether the file has the expected header and length.
    fn is_same(&mut self) -> io::Result<bool> {
        let expected = self.records.header();
        let mut header = Vec::new();
        (&mut self.file).take(expected.len() as u64).read_to_end(&mut header)?;
        Ok(header == expected && Some(self.file.len()?) == length_of(&self.records, self.shape.n_rows))
    }

    /// Writes the rows of `block` as the rows from `first_row` on. Blocks may be written in any order and repeatedly.
    ///
    /// The threads of the current pool encode the rows; without a pool, one thread does.
    ///
    /// # Errors
    /// [`Error::Shape`] and [`Error::Labels`] for rows that do not fit together or into the table, [`Error::Io`] when
    /// the file cannot be written.
    pub fn write_at(&mut self, first_row: usize, block: &LabeledRows<'_>) -> Result<()> {
        self.shape.check(first_row, block)?;
        let (start, file) = (self.byte_of(first_row), &mut self.file);
        let written = file
            .seek(SeekFrom::Start(start))
            .and_then(|_| encode_rows(&self.records, first_row, block, |bytes| file.write_all(bytes)));
        written.map_err(|e| Error::io(&self.part, e))
    }

    /// Syncs the rows that this process wrote, so that other machines see them.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn sync(&self) -> Result<()> {
        self.file.sync().map_err(|e| Error::io(&self.part, e))
    }

    /// Renames the file of a `.npy`, after all processes have written and synced their rows.
    ///
    /// # Errors
    /// [`Error::Shape`] if a row is missing; [`Error::Param`] for other endings, which must be transcoded;
    /// [`Error::Io`]; [`Error::Interrupted`]. The file is then removed, and an older file of the final name is
    /// unchanged.
    ///
    /// # Complexity
    /// One pass that checks for missing rows.
    pub fn commit(self, run: &Run) -> Result<()> {
        self.stage(run)?.publish()
    }

    /// [`commit`](Self::commit) without the renaming: [`publish_all`](lapwing_core::publish::publish_all) renames several files
    /// together.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn stage(mut self, run: &Run) -> Result<Staged> {
        let owned = self.take_part()?;
        if self.by_index {
            return Err(Error::param("output", self.shape.path.display(), "a .npy; others are transcoded"));
        }
        self.each_block(run, |_, _, _| Ok(()))?;
        let Self { shape, file, place, .. } = self;
        Staged::new(&shape.path, &file, owned, place).map_err(|e| Error::io(&shape.path, e))
    }

    /// Writes the records as the table `final_path`, in the format of its ending and with the same bytes as
    /// [`write_labels`](super::write_labels), and removes the file.
    ///
    /// # Errors
    /// [`Error::Shape`] if a row is missing; [`Error::Format`] for damaged records; [`Error::Param`] for a table
    /// created as `.npy`, which must be committed; [`Error::Io`]. The file is removed in any case.
    pub fn transcode(self, final_path: &Path, run: &Run) -> Result<()> {
        self.stage_transcoded(final_path, run)?.publish()
    }

    /// [`transcode`](Self::transcode) without the renaming: [`publish_all`](lapwing_core::publish::publish_all) renames several files
    /// together.
    ///
    /// # Errors
    /// As [`transcode`](Self::transcode).
    pub fn stage_transcoded(mut self, final_path: &Path, run: &Run) -> Result<Staged> {
        let _owned = self.take_part()?;
        if !self.by_index {
            return Err(Error::param("output", self.shape.path.display(), "a .csv or .parquet; a .npy is committed"));
        }
        let Table { classes, n_rows, columns, .. } = self.shape.clone();
        let mut writer = LabelWriter::create(final_path, &classes, n_rows, columns)?;
        let mut block = Block::default();
        self.each_block(run, |this, first_row, bytes| {
            block.decode(this, bytes)?;
            let probabilities = columns.probabilities.then(|| block.probabilities(classes.len())).transpose()?;
            let Block { labels, confidence, reached, certified, .. } = &block;
            let certified = columns.certified.then_some(certified.as_slice());
            let probabilities = probabilities.as_ref();
            let rows = LabeledRows { classes: &classes, labels, confidence, reached, certified, probabilities };
            run.install(|| writer.write(first_row, &rows))
        })?;
        writer.stage()
    }

    /// The name of the file, which is removed when this is dropped, also if another process created it.
    fn take_part(&mut self) -> Result<TempPath> {
        match self.owned.take() {
            Some(owned) => Ok(owned),
            None => TempPath::try_from_path(&self.part).map_err(|e| Error::io(&self.part, e)),
        }
    }

    /// Hands the records to the caller block by block, each with its first row.
    fn each_block(&mut self, run: &Run, mut take: impl FnMut(&Self, usize, &[u8]) -> Result<()>) -> Result<()> {
        let size = self.records.size;
        let block_rows = (BLOCK_BYTES / size).max(1);
        let mut bytes = Vec::new();
        for first_row in (0..self.shape.n_rows).step_by(block_rows) {
            run.check()?;
            bytes.resize(block_rows.min(self.shape.n_rows - first_row) * size, 0);
            let start = self.byte_of(first_row);
            let read = self.file.seek(SeekFrom::Start(start)).and_then(|_| self.file.read_exact(&mut bytes));
            read.map_err(|e| Error::io(&self.part, e))?;
            let mut numbers =
                bytes.chunks_exact(size).map(|record| record.first_chunk().copied().map(i64::from_le_bytes));
            if let Some(at) = numbers.by_ref().zip(first_row as i64..).position(|(found, row)| found != Some(row)) {
                let got = format!("none for row {}", first_row + at);
                return Err(Error::shape("the table of labels", format!("{} rows", self.shape.n_rows), got));
            }
            take(self, first_row, &bytes)?;
        }
        Ok(())
    }

    fn byte_of(&self, row: usize) -> u64 {
        (self.records.header().len() + row * self.records.size) as u64
    }
}

/// Bytes of a file of records.
fn length_of(records: &Records, n_rows: usize) -> Option<u64> {
    let length = n_rows.checked_mul(records.size)?.checked_add(records.header().len())?;
    i64::try_from(length).ok().map(|length| length as u64)
}

/// The hidden file, beside `target`, that will become `target`.
fn part_of(target: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(".part");
    beside(target, name)
}

/// Decoded records.
#[derive(Default)]
struct Block {
    labels: Vec<Option<usize>>,
    confidence: Vec<f64>,
    reached: Vec<bool>,
    certified: Vec<bool>,
    probabilities: Vec<f64>,
}

impl Block {
    /// Decodes records whose labels are class numbers.
    fn decode(&mut self, file: &RecordFile, bytes: &[u8]) -> Result<()> {
        let n_classes = file.shape.classes.len();
        *self = Self::default();
        for record in bytes.chunks_exact(file.records.size) {
            // Row (8 bytes), label (4), confidence (8), reached (1), perhaps certified (1), and probabilities (8 each).
            let class = record[8..].first_chunk().map_or(NO_CLASS, |bytes| u32::from_le_bytes(*bytes));
            if class != NO_CLASS && class as usize >= n_classes {
                return Err(Error::format(&file.part, None, format!("the file is damaged (class {class})")));
            }
            self.labels.push((class != NO_CLASS).then_some(class as usize));
            self.confidence.extend(record[12..20].first_chunk().map(|bytes| f64::from_le_bytes(*bytes)));
            self.reached.push(record[20] != 0);
            let (marks, probabilities) = record[21..].split_at(usize::from(file.shape.columns.certified));
            self.certified.extend(marks.iter().map(|mark| *mark != 0));
            self.probabilities.extend(probabilities.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)));
        }
        Ok(())
    }

    fn probabilities(&mut self, n_classes: usize) -> Result<Matrix> {
        Matrix::new(self.labels.len(), n_classes, std::mem::take(&mut self.probabilities))
    }
}
