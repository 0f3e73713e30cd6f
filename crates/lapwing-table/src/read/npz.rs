//! Archives of arrays (`.npz`): samples and graphs.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use zip::ZipArchive;
use zip::read::ZipFile;
use zip::result::ZipError;

use super::array::converted;
use super::npy::{ArrayName, NpyReader, Number, Source};
use super::{ReadOptions, Samples, Size, columns, labels};
use lapwing_core::mapped::open_filled;
use lapwing_core::{Csr, Error, Features, Labels, Result, Run, memory};

/// Most bytes that one deflated byte can decode to, rounded up.
const MAX_DEFLATE_RATIO: u64 = 1040;

/// An open `.npz` file.
pub(super) struct Archive<'a> {
    path: &'a Path,
    zip: ZipArchive<BufReader<File>>,
    /// Names of the arrays, sorted.
    names: Vec<String>,
}

/// A member of an archive, whose length and CRC-32 the crate checks at its end.
pub(super) struct Member<'z>(ZipFile<'z, BufReader<File>>);

impl Read for Member<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

/// A member is read from its start to its end only.
impl Source for Member<'_> {
    fn go_to(&mut self, _: u64) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}

impl<'a> Archive<'a> {
    pub(super) fn open(path: &'a Path) -> Result<Self> {
        let mut file = BufReader::new(open_filled(path)?.0);
        let start = file.fill_buf().map_err(|e| Error::io(path, e))?;
        // ZIP allows bytes before the archive, NumPy does not. An archive without members starts in another way.
        if !start.starts_with(b"PK\x03\x04") && !start.starts_with(b"PK\x05\x06") {
            return Err(Error::format(path, None, "not an .npz archive (it starts with other bytes)"));
        }
        let mut zip = ZipArchive::new(file).map_err(|e| zip_error(path, e))?;
        // Otherwise, one changed byte could hide a member.
        zip.validate_header_consistency().map_err(|e| zip_error(path, e))?;
        let members: Vec<&[u8]> = zip.file_names_raw().collect();
        let array = |member: &&[u8]| Some(std::str::from_utf8(member).ok()?.strip_suffix(".npy")?.to_owned());
        let mut names: Vec<String> = members.iter().filter_map(array).collect();
        names.sort();
        // NumPy reads both `X` and `X.npy` as the array X, so an archive with both is ambiguous.
        if names.iter().any(|name| members.contains(&name.as_bytes())) {
            return Err(Error::format(path, None, "two members of the archive have the same name"));
        }
        Ok(Self { path, zip, names })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// The error for an archive without an expected array.
    pub(super) fn unknown(&self, expected: &str) -> Error {
        let found = if self.names.is_empty() { "nothing".to_owned() } else { self.names.join(", ") };
        Error::format(self.path, None, format!("expected {expected}; the archive holds {found}"))
    }

    /// Opens an array of numbers and reads its header.
    fn array<'s, 'n>(&'s mut self, name: &'n str) -> Result<NpyReader<'n, Member<'s>>>
    where
        'a: 'n,
    {
        self.open_array(name, false)
    }

    /// Opens an array, also one of records if `takes_records`, and reads its header.
    ///
    /// Reading all its values then checks the length and the CRC-32 of the member.
    pub(super) fn open_array<'s, 'n>(
        &'s mut self,
        name: &'n str,
        takes_records: bool,
    ) -> Result<NpyReader<'n, Member<'s>>>
    where
        'a: 'n,
    {
        let path = self.path;
        let origin = ArrayName { path, array: name };
        let file = format!("{name}.npy");
        let index = self.zip.index_for_name(&file);
        let index = index.ok_or_else(|| self.unknown(&format!("an array '{name}'")))?;
        let raw = self.zip.by_index_data(index).map_err(|e| zip_error(path, e))?;
        let limit = match raw.compression() {
            zip::CompressionMethod::Stored => raw.size().min(raw.compressed_size()),
            zip::CompressionMethod::Deflated => {
                raw.size().min(raw.compressed_size().saturating_mul(MAX_DEFLATE_RATIO).saturating_add(1024))
            }
            method => return Err(origin.error(format!("compressed by {method}; expected deflate or none"))),
        };
        let entry = self.zip.by_index(index).map_err(|e| zip_error(path, e))?;
        let mut reader = NpyReader::new(Member(entry), limit, origin, takes_records)?;
        reader.is_checked = true;
        Ok(reader)
    }

    /// Reads the sparse matrix that `scipy.sparse.save_npz` wrote; `None` if there is none.
    pub(super) fn scipy_sparse<N: Number + std::ops::Add<Output = N>>(&mut self, run: &Run) -> Result<Option<Csr<N>>> {
        match self.scipy_format(run)?.as_deref() {
            None => Ok(None),
            Some("csr") => self.csr("", false, run).map(Some),
            Some("csc") => {
                let transposed = self.csr("", true, run)?;
                self.check_size(transposed.n_cols(), transposed.nnz())?;
                transposed.transpose().map(Some)
            }
            Some("coo") => self.coo(run).map(Some),
            Some(other) => {
                let reason = format!("a sparse matrix in format '{other}'; save it as CSR (matrix.tocsr())");
                Err(Error::format(self.path, None, reason))
            }
        }
    }

    fn scipy_format(&mut self, run: &Run) -> Result<Option<String>> {
        if !["format", "shape", "data"].iter().all(|name| self.has(name)) {
            return Ok(None);
        }
        let format = self.array("format")?;
        let origin_error = format.origin.error("expected the name of a sparse format");
        if format.header.dtype.is_number() {
            return Err(origin_error);
        }
        let mut last = None;
        format.each_text(run, |text| last = Some(text.to_owned()))?;
        last.map(Some).ok_or(origin_error)
    }

    /// Number of rows and columns of a sparse matrix, the names of whose arrays begin with `prefix`.
    fn sparse_shape(&mut self, prefix: &str, run: &Run) -> Result<(usize, usize)> {
        let name = format!("{prefix}shape");
        let shape: Vec<i64> = self.array(&name)?.numbers(run)?;
        match shape[..] {
            [n_rows @ 0..=0xffff_ffff, n_cols @ 0..=0xffff_ffff] => Ok((n_rows as usize, n_cols as usize)),
            _ => Err(self.damaged(&name, &format!("{shape:?} is no shape of a matrix"))),
        }
    }

    fn damaged(&self, array: &str, reason: &str) -> Error {
        ArrayName { path: self.path, array }.error(reason)
    }

    /// A matrix in compressed rows, or (`by_column`) the transpose of a matrix in compressed columns.
    fn csr<N: Number + std::ops::Add<Output = N>>(
        &mut self,
        prefix: &str,
        by_column: bool,
        run: &Run,
    ) -> Result<Csr<N>> {
        let [data, indices, offsets] = ["data", "indices", "indptr"].map(|name| format!("{prefix}{name}"));
        let (mut n_rows, mut n_cols) = self.sparse_shape(prefix, run)?;
        if by_column {
            (n_rows, n_cols) = (n_cols, n_rows);
        }
        let indptr: Vec<i64> = self.array(&offsets)?.numbers(run)?;
        let indptr: Option<Vec<u64>> = indptr.into_iter().map(|offset| u64::try_from(offset).ok()).collect();
        let indptr = indptr.ok_or_else(|| self.damaged(&offsets, "a negative offset"))?;
        let indices = self.ids(&indices, n_cols, run)?;
        let values: Vec<N> = self.array(&data)?.numbers(run)?;
        let path = self.path;
        canonical(n_rows, n_cols, indptr, indices, values)
            .map_err(|error| Error::format(path, None, format!("not a sparse matrix: {error}")))
    }

    fn coo<N: Number + std::ops::Add<Output = N>>(&mut self, run: &Run) -> Result<Csr<N>> {
        let (n_rows, n_cols) = self.sparse_shape("", run)?;
        let rows = self.ids("row", n_rows, run)?;
        let cols = self.ids("col", n_cols, run)?;
        let values: Vec<N> = self.array("data")?.numbers(run)?;
        if rows.len() != values.len() || cols.len() != values.len() {
            return Err(self.damaged("row", "as many entries expected as in 'col' and 'data'"));
        }
        self.check_size(n_rows, values.len())?;
        let entries: Vec<(u32, u32, N)> =
            rows.iter().zip(&cols).zip(values).map(|((&row, &col), value)| (row, col, value)).collect();
        Csr::from_entries(n_rows, n_cols, &entries)
    }

    /// Refuses rows that few entries do not explain: memory for each is taken, and unlike compressed rows the file holds none.
    fn check_size(&self, n_rows: usize, n_entries: usize) -> Result<()> {
        if n_rows as u64 <= most_nodes(n_entries as u64) {
            return Ok(());
        }
        let reason =
            format!("a matrix of {n_rows} rows with only {n_entries} entries; save it as CSR (matrix.tocsr())");
        Err(Error::format(self.path, None, reason))
    }

    /// An array of row or column numbers below `end`, which is at most 2³² − 1.
    fn ids(&mut self, name: &str, end: usize, run: &Run) -> Result<Vec<u32>> {
        let reader = self.array(name)?;
        if !reader.header.dtype.is_integer() {
            return Err(reader.origin.error("expected integers"));
        }
        let path = reader.origin.path.display().to_string();
        let mut ids = memory::with_capacity(&path, reader.n_elements, "give fewer entries")?;
        let mut bad = None;
        reader.each_number(run, |id: i64| {
            if !(0..end as i64).contains(&id) {
                bad.get_or_insert(ids.len());
            }
            ids.push(id as u32);
        })?;
        match bad {
            Some(at) => Err(self.damaged(name, &format!("entry {at} is not between 0 and {}", end as i64 - 1))),
            None => Ok(ids),
        }
    }
}

/// Nodes that any list may have, and that it may have for each edge: nodes of which not one in ten has an edge are hardly meant, and
/// one wrong digit makes billions. Methods take some hundred bytes for each.
const FEW_NODES: u64 = 100_000;
const NODES_OF_EDGE: u64 = 20;

/// The most nodes that `n_edges` edges explain.
pub(super) fn most_nodes(n_edges: u64) -> u64 {
    NODES_OF_EDGE.saturating_mul(n_edges).saturating_add(FEW_NODES)
}

/// A matrix of compressed rows. SciPy allows unsorted and repeated columns: these are sorted and added.
fn canonical<N: Number + std::ops::Add<Output = N>>(
    n_rows: usize,
    n_cols: usize,
    indptr: Vec<u64>,
    indices: Vec<u32>,
    values: Vec<N>,
) -> Result<Csr<N>> {
    let fits = indptr.len() == n_rows + 1
        && indptr.is_sorted()
        && indptr[0] == 0
        && indptr[n_rows] == indices.len() as u64
        && indices.len() == values.len();
    let row = |row: usize| indptr[row] as usize..indptr[row + 1] as usize;
    if !fits || (0..n_rows).all(|at| indices[row(at)].is_sorted_by(|a, b| a < b)) {
        return Csr::new(n_rows, n_cols, indptr, indices, values);
    }
    let rows = (0..n_rows).flat_map(|at| row(at).map(move |_| at as u32));
    let entries: Vec<(u32, u32, N)> = rows.zip(indices).zip(values).map(|((row, col), x)| (row, col, x)).collect();
    Csr::from_entries(n_rows, n_cols, &entries)
}

fn zip_error(path: &Path, error: ZipError) -> Error {
    match error {
        ZipError::Io(e)
            if !matches!(e.kind(), std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::InvalidInput) =>
        {
            Error::io(path, e)
        }
        other => Error::format(path, None, format!("not an .npz archive, or truncated ({other})")),
    }
}

const EXPECTED: &str =
    "arrays X (and y), X_data, X_indices, X_indptr and X_shape (and y), or a matrix of scipy.sparse.save_npz";

/// Reads samples, with the labels `y` if there are any.
pub(crate) fn read_samples(path: &Path, options: &ReadOptions, run: &Run) -> Result<Samples> {
    let mut archive = Archive::open(path)?;
    let features = if archive.has("X") {
        converted(archive.array("X")?, run)?
    } else if archive.has("X_data") {
        Features::Sparse(Arc::new(archive.csr("X_", false, run)?))
    } else {
        let sparse = archive.scipy_sparse(run)?.ok_or_else(|| archive.unknown(EXPECTED))?;
        Features::Sparse(Arc::new(sparse))
    };
    let label = options.label_column.as_deref().or_else(|| archive.has("y").then_some("y"));
    let unlabeled = options.unlabeled.as_deref();
    let labels = label.map(|name| labels::from_array(archive.array(name)?, features.n_rows(), unlabeled, run));
    let labels = labels.transpose()?.map(Labels::from);
    let keep = columns::by_number(path, features.n_cols(), options)?;
    Samples::of_columns(path, features, keep, labels)
}

/// Size of the features, from the headers of the arrays.
pub(crate) fn probe(path: &Path, options: &ReadOptions) -> Result<Size> {
    let run = Run::new(Some(1), 0)?;
    let mut archive = Archive::open(path)?;
    let size = if archive.has("X") {
        let reader = archive.array("X")?;
        let (n_rows, n_cols) = reader.header.feature_shape(reader.origin)?;
        Size::dense(n_rows, n_cols, reader.header.dtype.feature_bytes())
    } else {
        let prefix = if archive.has("X_data") { "X_" } else { "" };
        let [data, shape] = ["data", "shape"].map(|name| format!("{prefix}{name}"));
        if !archive.has(&data) || !archive.has(&shape) {
            return Err(archive.unknown(EXPECTED));
        }
        let (n_rows, n_cols) = archive.sparse_shape(prefix, &run)?;
        Size::sparse(n_rows, n_cols, archive.array(&data)?.n_elements)
    };
    match columns::by_number(path, size.n_cols, options)? {
        None => Ok(size),
        // The number of entries in the chosen columns of a sparse matrix is unknown; the number of all is an upper
        // bound.
        Some(keep) if size.n_entries.is_some() => Ok(Size { n_cols: keep.len(), ..size }),
        Some(keep) => {
            Ok(Size::dense(size.n_rows, keep.len(), size.bytes_in_memory / (size.n_rows * size.n_cols).max(1)))
        }
    }
}
