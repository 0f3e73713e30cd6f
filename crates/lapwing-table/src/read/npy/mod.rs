//! NumPy arrays (`.npy`, and the members of `.npz`): header, element types, values.
//!
//! [`NpyReader`] reads elements of an array in any order, or all of them in pieces; [`ArrayScan`] reads rows of
//! features. No length that a header states is trusted before it is compared with the bytes of the source.

mod dtype;
mod header;
mod literal;
mod number;
mod record;
mod scan;

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

pub(super) use self::dtype::{Dtype, Kind, with_value_type};
pub(super) use self::header::Header;
pub(super) use self::number::{Number, decode_strided};
pub(super) use self::record::Field;
pub(super) use self::scan::ArrayScan;
use crate::lines::damage;
use lapwing_core::scan::pieces;
use lapwing_core::{Error, Result, Run, memory};

/// Bytes of elements read between two checks of the run's cancellation.
const CHUNK_BYTES: usize = 1 << 20;

/// The array that an error is about.
#[derive(Clone, Copy)]
pub(super) struct ArrayName<'a> {
    pub path: &'a Path,
    /// Name within an archive; empty for a file with one array.
    pub array: &'a str,
}

impl<'a> ArrayName<'a> {
    /// The array of a `.npy` file.
    pub(super) fn from_path(path: &'a Path) -> Self {
        Self { path, array: "" }
    }

    pub(super) fn error(&self, reason: impl std::fmt::Display) -> Error {
        let reason =
            if self.array.is_empty() { reason.to_string() } else { format!("array '{}': {reason}", self.array) };
        Error::format(self.path, None, reason)
    }

    /// An error of reading.
    pub(super) fn io(&self, error: io::Error) -> Error {
        damage(&error).map_or_else(|| Error::io(self.path, error), |reason| self.error(reason))
    }
}

/// Bytes of an array, read in order, and at other places if the source can seek.
pub(super) trait Source: Read {
    /// Continues at byte `at`.
    fn go_to(&mut self, at: u64) -> io::Result<()>;
}

impl<T: Read + Seek> Source for T {
    fn go_to(&mut self, at: u64) -> io::Result<()> {
        self.seek(SeekFrom::Start(at)).map(drop)
    }
}

/// An array whose header has been read.
pub(super) struct NpyReader<'a, R> {
    pub header: Header,
    /// Number of elements; the source is long enough for them.
    pub n_elements: usize,
    /// Byte of the source at which the values start.
    pub offset: usize,
    pub origin: ArrayName<'a>,
    /// Whether the source checks what was read when it is read to its end.
    pub is_checked: bool,
    source: R,
    /// Byte at which the source continues; `u64::MAX` if it is unknown.
    position: u64,
    /// Bytes to be converted, aligned for any element.
    scratch: Vec<u64>,
}

impl<'a, R: Source> NpyReader<'a, R> {
    /// Reads the header of an array that takes at most `limit` bytes; one of records is an error unless `takes_records`.
    pub(super) fn new(mut source: R, limit: u64, origin: ArrayName<'a>, takes_records: bool) -> Result<Self> {
        let (text, offset) = header::read_text(&mut source, limit, origin)?;
        let header = Header::parse(&text, takes_records).map_err(|reason| origin.error(reason))?;
        let needs_more = || origin.error(format!("the file is truncated: shape {} needs more", header.shape_text()));
        let (_, bytes) = header.extent().ok_or_else(needs_more)?;
        if bytes as u64 > limit - offset as u64 {
            return Err(needs_more());
        }
        Ok(Self { position: offset as u64, ..Self::reopened(source, header, offset, origin) })
    }

    /// An array whose header is known and whose values start at byte `offset` of a source that was opened again.
    pub(super) fn reopened(source: R, header: Header, offset: usize, origin: ArrayName<'a>) -> Self {
        let n_elements = header.extent().map_or(0, |(count, _)| count);
        let (is_checked, position, scratch) = (false, 0, Vec::new());
        Self { header, n_elements, offset, origin, is_checked, source, position, scratch }
    }

    /// The same array with all its bytes in memory, for sources that cannot seek.
    pub(super) fn held(mut self, run: &Run) -> Result<NpyReader<'a, io::Cursor<Vec<u8>>>> {
        let size = self.header.dtype.size;
        let mut bytes = reserved(self.n_elements * size, self.origin)?;
        for piece in self.chunks() {
            run.check()?;
            bytes.resize(piece.end * size, 0);
            self.read_bytes((piece.start * size) as u64, &mut bytes[piece.start * size..])?;
        }
        self.finish(run)?;
        Ok(NpyReader::reopened(io::Cursor::new(bytes), self.header, 0, self.origin))
    }

    /// Fills `bytes` with those of the values from byte `start` on.
    pub(super) fn read_bytes(&mut self, start: u64, bytes: &mut [u8]) -> Result<()> {
        let at = self.offset as u64 + start;
        let here = std::mem::replace(&mut self.position, u64::MAX);
        let ready = if here == at { Ok(()) } else { self.source.go_to(at) };
        ready.and_then(|()| self.source.read_exact(bytes)).map_err(|e| self.origin.io(e))?;
        self.position = at + bytes.len() as u64;
        Ok(())
    }

    /// The elements in pieces of about [`CHUNK_BYTES`].
    fn chunks(&self) -> impl Iterator<Item = Range<usize>> + use<R> {
        pieces(0..self.n_elements, CHUNK_BYTES / self.header.dtype.size.max(1))
    }

    /// Reads the rest of a source that checks itself.
    fn finish(&mut self, run: &Run) -> Result<()> {
        while self.is_checked {
            run.check()?;
            let piece = &mut self.source.by_ref().take(CHUNK_BYTES as u64);
            if io::copy(piece, &mut io::sink()).map_err(|e| self.origin.io(e))? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Reads the elements from element `first` on as numbers of type `N`.
    pub(super) fn load<N: Number>(&mut self, first: usize, values: &mut [N]) -> Result<()> {
        let dtype = self.header.dtype;
        let start = (first * dtype.size) as u64;
        if dtype.is_native(N::NATIVE) {
            return self.read_bytes(start, bytemuck::cast_slice_mut(values));
        }
        let n_bytes = values.len() * dtype.size;
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.resize(scratch.len().max(n_bytes.div_ceil(8)), 0);
        let bytes = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut scratch)[..n_bytes];
        let loaded = self.read_bytes(start, bytes);
        if loaded.is_ok() {
            number::convert(bytes, dtype, values);
        }
        self.scratch = scratch;
        loaded
    }

    /// Hands all elements to `take` as numbers of type `N`, piece by piece, in the order of the file.
    fn each_chunk<N: Number>(&mut self, run: &Run, mut take: impl FnMut(&[N])) -> Result<()> {
        let mut values = Vec::new();
        for piece in self.chunks() {
            run.check()?;
            values.resize(piece.len(), N::default());
            self.load(piece.start, &mut values)?;
            take(&values);
        }
        self.finish(run)
    }

    /// All elements as numbers of type `N`, in the order of the file.
    pub(super) fn numbers<N: Number>(mut self, run: &Run) -> Result<Vec<N>> {
        if !self.header.dtype.is_number() {
            return Err(self.origin.error("holds text; expected numbers"));
        }
        let mut numbers = reserved(self.n_elements, self.origin)?;
        self.each_chunk(run, |values| numbers.extend_from_slice(values))?;
        Ok(numbers)
    }

    /// Calls `visit` with each number in turn, in the order of the file.
    pub(super) fn each_number<N: Number>(mut self, run: &Run, mut visit: impl FnMut(N)) -> Result<()> {
        self.each_chunk(run, |values| values.iter().for_each(|&value| visit(value)))
    }

    /// Calls `visit` with each text in turn.
    pub(super) fn each_text(mut self, run: &Run, mut visit: impl FnMut(&str)) -> Result<()> {
        let dtype = self.header.dtype;
        if dtype.size == 0 {
            (0..self.n_elements).for_each(|_| visit(""));
            return self.finish(run);
        }
        let (mut text, mut bytes) = (String::new(), Vec::new());
        for piece in self.chunks() {
            run.check()?;
            bytes.resize(piece.len() * dtype.size, 0);
            self.read_bytes((piece.start * dtype.size) as u64, &mut bytes)?;
            for bytes in bytes.chunks_exact(dtype.size) {
                text.clear();
                match dtype.kind {
                    Kind::Unicode => text.extend(bytes.as_chunks::<4>().0.iter().map(|&code| {
                        let code = if dtype.big_endian { u32::from_be_bytes(code) } else { u32::from_le_bytes(code) };
                        char::from_u32(code).unwrap_or('\u{fffd}')
                    })),
                    _ => text.push_str(&String::from_utf8_lossy(bytes)),
                }
                visit(text.trim_end_matches('\0'));
            }
        }
        self.finish(run)
    }
}

fn reserved<T>(n: usize, origin: ArrayName<'_>) -> Result<Vec<T>> {
    memory::with_capacity(&origin.path.display().to_string(), n, "give fewer rows or columns")
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::write::npy_header;
    use lapwing_core::Features;
    use lapwing_core::scan::KeptRows;

    fn array(descr: &str, shape: &[usize], fortran: bool, data: &[u8]) -> Vec<u8> {
        let text = npy_header(descr, shape);
        let mut bytes = if fortran {
            String::from_utf8_lossy(&text[10..]).replace("False", "True ").into_bytes()
        } else {
            text[10..].to_vec()
        };
        let mut all = text[..10].to_vec();
        all.append(&mut bytes);
        all.extend_from_slice(data);
        all
    }

    fn open(bytes: &[u8]) -> Result<NpyReader<'static, Cursor<&[u8]>>> {
        NpyReader::new(Cursor::new(bytes), bytes.len() as u64, ArrayName::from_path(Path::new("a.npy")), false)
    }

    #[test]
    fn every_element_type_is_read() {
        let run = Run::new(Some(1), 0).unwrap();
        let read = |descr: &str, data: &[u8]| {
            open(&array(&format!("'{descr}'"), &[2], false, data)).unwrap().numbers::<f64>(&run).unwrap()
        };
        assert_eq!(read("<f2", &[0, 0x3c, 0, 0xc0]), [1.0, -2.0]);
        assert_eq!(read(">f4", &[0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0]), [1.0, -2.0]);
        assert_eq!(read("<i2", &[1, 0, 0xff, 0xff]), [1.0, -1.0]);
        assert_eq!(read(">u2", &[1, 0, 0, 2]), [256.0, 2.0]);
        assert_eq!(read("|b1", &[0, 255]), [0.0, 1.0]);
        assert_eq!(read("|i1", &[0xff, 1]), [-1.0, 1.0]);
        assert_eq!(read("<i8", &[1, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]), [1.0, -1.0]);
        let text = array("'<U2'", &[1], false, &[b'h', 0, 0, 0, 0, 0, 0, 0]);
        open(&text).unwrap().each_text(&run, |text| assert_eq!(text, "h")).unwrap();
        let fortran = array("'|u1'", &[2, 3], true, &[0, 10, 1, 11, 2, 12]);
        let mut rows = KeptRows::<u8>::new("a.npy", 2, 3).unwrap();
        ArrayScan::new(open(&fortran).unwrap(), None).unwrap().read_all(&mut rows, &run).unwrap();
        let Features::Dense(rows) = rows.finish(2).unwrap() else { panic!("dense rows became sparse") };
        let mut values = [0f32; 6];
        rows.copy_rows_f32(0..2, &mut values);
        assert_eq!(values, [0.0, 1.0, 2.0, 10.0, 11.0, 12.0]);
    }

    #[test]
    fn headers_are_not_believed() {
        let text = |bytes: &[u8]| open(bytes).err().unwrap().to_string();
        assert!(text(&array("'<f8'", &[1 << 40, 1 << 40], false, &[])).contains("truncated"));
        assert!(text(&array("'<f8'", &[3], false, &[0; 23])).contains("shape (3,) needs more"));
        assert!(text(&array("'<c8'", &[1], false, &[0; 8])).contains("type '<c8'"));
        assert!(text(&array("'|O'", &[1], false, &[0; 8])).contains("Python objects"));
        assert!(text(&array("[('a', '<f8')]", &[1], false, &[0; 8])).contains("structured"));
        assert!(text(b"PK\x03\x04abcdefgh").contains("not a NumPy array"));
        assert!(text(b"\x93NUMPY\x09\x00aaaa").contains("version 9"));
        assert!(text(b"\x93NUMPY\x02\x00\xff\xff\xff\xff").contains("truncated"));
        assert!(text(b"\x93NUMPY\x03\x00\x04\x00\x00\x00{\xff}\n").contains("no UTF-8 text"));
    }
}
