//! NumPy arrays (`.npy`, and the members of `.npz`): header, element types, values.
//!
//! The header is read by hand rather than by a parser of Python literals: three keys matter, nothing recurses, and no
//! length it states is believed before it has been held against the bytes there are.

use std::io::{ErrorKind, Read};
use std::path::Path;

use half::f16;

use super::literal;
use crate::{Error, Result, Run, memory};

/// Bytes decoded between two looks at the run's cancellation.
const CHUNK_BYTES: usize = 1 << 20;
/// Bytes of an element that NumPy allows at most.
const MOST_ITEM_BYTES: usize = i32::MAX as usize;

/// Which array an error is about.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    pub path: &'a Path,
    /// Name within an archive; empty for a file of its own.
    pub array: &'a str,
}

impl Origin<'_> {
    pub(super) fn error(&self, reason: impl std::fmt::Display) -> Error {
        let reason =
            if self.array.is_empty() { reason.to_string() } else { format!("array '{}': {reason}", self.array) };
        Error::format(self.path, None, reason)
    }

    /// An error of reading; what ends early or fails to decompress is a matter of the contents.
    pub(super) fn io(&self, error: std::io::Error) -> Error {
        match error.kind() {
            ErrorKind::UnexpectedEof => self.error("the file is truncated"),
            ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::Other => {
                self.error(format!("the file is damaged ({error})"))
            }
            _ => Error::io(self.path, error),
        }
    }
}

/// Kind of the elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Int,
    UInt,
    Float,
    /// Fixed-width UTF-32 (`<U`).
    Unicode,
    /// Fixed-width bytes (`|S`).
    Bytes,
}

/// Element type of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dtype {
    pub kind: Kind,
    /// Bytes of an element.
    pub size: usize,
    pub big_endian: bool,
}

/// What stands at each place of an array: a number or text ([`Dtype`]), or several of them side by side.
pub(super) trait Element: Sized {
    /// Understands a `descr`, a Python literal.
    fn parse(descr: &str) -> Result<Self, String>;

    /// Bytes of an element.
    fn size(&self) -> usize;
}

impl Element for Dtype {
    fn parse(descr: &str) -> Result<Self, String> {
        if descr.starts_with('[') {
            return Err("a structured array; expected a plain array of numbers".into());
        }
        Self::named(quoted(descr).ok_or("the header is damaged (descr)")?)
    }

    fn size(&self) -> usize {
        self.size
    }
}

impl Dtype {
    /// The type that NumPy calls `name`, such as `<f8`.
    pub(super) fn named(name: &str) -> Result<Self, String> {
        Self::understood(name).ok_or_else(|| match name {
            "|O" => "an array of Python objects; save it as numbers or fixed-width text".to_owned(),
            _ => format!("elements of type '{name}'; expected integers, f16, f32, f64, bool or fixed-width text"),
        })
    }

    fn understood(text: &str) -> Option<Self> {
        let (order, rest) = text.split_at_checked(1)?;
        let (kind, digits) = rest.split_at_checked(1)?;
        let count: usize = digits.parse().ok()?;
        let kind = match (kind, count) {
            ("b", 1) => Kind::Bool,
            ("i", 1 | 2 | 4 | 8) => Kind::Int,
            ("u", 1 | 2 | 4 | 8) => Kind::UInt,
            ("f", 2 | 4 | 8) => Kind::Float,
            ("U", _) => Kind::Unicode,
            ("S", _) => Kind::Bytes,
            _ => return None,
        };
        let size = if kind == Kind::Unicode { count.checked_mul(4)? } else { count };
        if size > MOST_ITEM_BYTES {
            return None;
        }
        let big_endian = match order {
            "<" | "|" => false,
            ">" => true,
            "=" => cfg!(target_endian = "big"),
            _ => return None,
        };
        Some(Self { kind, size, big_endian })
    }

    /// Whether the elements are numbers (or truth values).
    pub(super) fn is_number(self) -> bool {
        !matches!(self.kind, Kind::Unicode | Kind::Bytes)
    }

    /// Whether the elements are whole numbers (or truth values).
    pub(super) fn is_integer(self) -> bool {
        matches!(self.kind, Kind::Bool | Kind::Int | Kind::UInt)
    }
}

/// Header of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header<D = Dtype> {
    pub dtype: D,
    /// First index fastest.
    pub fortran: bool,
    pub shape: Vec<usize>,
}

impl<D: Element> Header<D> {
    fn parse(text: &str) -> Result<Self, String> {
        let found = literal::dictionary(text, ["descr", "fortran_order", "shape"]);
        let [descr, order, shape] =
            found.ok_or("the header is damaged (no dictionary of descr, fortran_order and shape)")?;
        let fortran = match order {
            "True" => true,
            "False" => false,
            _ => return Err("the header is damaged (fortran_order)".into()),
        };
        let shape = literal::lengths(shape).ok_or("the header is damaged (shape)")?;
        Ok(Self { dtype: D::parse(descr)?, fortran, shape })
    }

    /// Number of elements and of bytes; `None` where they overflow.
    fn extent(&self) -> Option<(usize, usize)> {
        let count = self.shape.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim))?;
        Some((count, count.checked_mul(self.dtype.size())?))
    }

    /// The shape as Python writes it.
    pub(super) fn shape_text(&self) -> String {
        match self.shape[..] {
            [n] => format!("({n},)"),
            _ => format!("({})", self.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
        }
    }

    /// The two lengths of a table of samples.
    pub(super) fn matrix_shape(&self, origin: Origin<'_>) -> Result<(usize, usize)> {
        match self.shape[..] {
            [n_rows, n_cols] => Ok((n_rows, n_cols)),
            _ => Err(origin.error(format!("shape {}; expected two dimensions (rows, columns)", self.shape_text()))),
        }
    }
}

/// The inside of a text that is all there is.
fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].strip_suffix(quote).filter(|inner| !inner.contains(quote))
}

/// An array whose header has been read and whose values come next.
pub(super) struct NpyReader<'a, R, D = Dtype> {
    pub header: Header<D>,
    /// Number of elements; their bytes are known to fit what is left of the source.
    pub n_elements: usize,
    /// Bytes of the header, where the values start.
    pub offset: usize,
    pub origin: Origin<'a>,
    pub source: R,
    /// Whether the source is read to its end behind the values, where it checks what was read.
    pub is_checked: bool,
}

impl<'a, R: Read, D: Element> NpyReader<'a, R, D> {
    /// Reads the header of an array that takes at most `limit` bytes.
    pub(super) fn new(mut source: R, limit: u64, origin: Origin<'a>) -> Result<Self> {
        let mut read = |n: usize| {
            let mut bytes = vec![0; n];
            source.read_exact(&mut bytes).map(|()| bytes).map_err(|e| origin.io(e))
        };
        let start = read(8)?;
        if start[..6] != *b"\x93NUMPY" {
            return Err(origin.error("not a NumPy array (.npy)"));
        }
        let length_bytes = match (start[6], start[7]) {
            (1, 0) => 2,
            (2 | 3, 0) => 4,
            (version, _) => return Err(origin.error(format!(".npy version {version}; expected 1, 2 or 3"))),
        };
        let length = read(length_bytes)?.iter().rev().fold(0, |total, &byte| total << 8 | usize::from(byte));
        let offset = 8 + length_bytes + length;
        if offset as u64 > limit {
            return Err(origin.error("the file is truncated"));
        }
        let text = read(length)?;
        if text.contains(&0) {
            return Err(origin.error("the header is damaged (a zero byte)"));
        }
        let header = Header::parse(&String::from_utf8_lossy(&text)).map_err(|reason| origin.error(reason))?;
        let needs_too_much =
            || origin.error(format!("the file is truncated: shape {} needs more", header.shape_text()));
        let (n_elements, bytes) = header.extent().ok_or_else(needs_too_much)?;
        if bytes as u64 > limit - offset as u64 {
            return Err(needs_too_much());
        }
        Ok(Self { header, n_elements, offset, origin, source, is_checked: false })
    }

    /// The bytes of the values as they are stored, for sources that cannot be gone back in.
    pub(super) fn bytes(mut self, run: &Run) -> Result<Vec<u8>> {
        let mut values = reserved(self.n_elements * self.header.dtype.size(), self.origin)?;
        self.each_chunk(run, |bytes| values.extend_from_slice(bytes))?;
        Ok(values)
    }

    /// Hands the bytes of the values over in pieces of whole elements.
    fn each_chunk(&mut self, run: &Run, mut take: impl FnMut(&[u8])) -> Result<()> {
        let size = self.header.dtype.size().max(1);
        let mut left = self.n_elements;
        // Nothing for no elements, whose size may then be any.
        let mut buffer = vec![0; (CHUNK_BYTES / size).max(1).min(left) * size];
        while left > 0 {
            run.check()?;
            let n = left.min(buffer.len() / size);
            let piece = &mut buffer[..n * size];
            self.source.read_exact(piece).map_err(|e| self.origin.io(e))?;
            take(piece);
            left -= n;
        }
        self.finish(run)
    }

    /// Reads what is left of a source that checks itself.
    fn finish(&mut self, run: &Run) -> Result<()> {
        let mut rest = [0; 1 << 12];
        while self.is_checked {
            run.check()?;
            match self.source.read(&mut rest) {
                Ok(0) => break,
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(self.origin.io(e)),
            }
        }
        Ok(())
    }
}

impl<R: Read> NpyReader<'_, R> {
    /// The values as numbers of type `N`, in C order.
    pub(super) fn numbers<N: Number>(mut self, run: &Run) -> Result<Vec<N>> {
        if !self.header.dtype.is_number() {
            return Err(self.origin.error("holds text; expected numbers"));
        }
        let dtype = self.header.dtype;
        let mut values = reserved(self.n_elements, self.origin)?;
        if let (true, [n_rows, n_cols]) = (self.header.fortran, &self.header.shape[..]) {
            let (n_rows, n_cols) = (*n_rows, *n_cols);
            values.resize(self.n_elements, N::default());
            let (mut row, mut col) = (0, 0);
            self.each_chunk(run, |bytes| {
                decode(bytes, dtype, |value| {
                    values[row * n_cols + col] = value;
                    row += 1;
                    if row == n_rows {
                        (row, col) = (0, col + 1);
                    }
                });
            })?;
        } else {
            self.each_chunk(run, |bytes| decode(bytes, dtype, |value| values.push(value)))?;
        }
        Ok(values)
    }

    /// Calls `visit` with each number in turn, in the order of the file.
    pub(super) fn each_number<N: Number>(mut self, run: &Run, mut visit: impl FnMut(N)) -> Result<()> {
        let dtype = self.header.dtype;
        self.each_chunk(run, |bytes| decode(bytes, dtype, &mut visit))
    }

    /// The values as text; numbers are an error.
    pub(super) fn texts(self, run: &Run) -> Result<Vec<String>> {
        let mut values = reserved(self.n_elements, self.origin)?;
        self.each_text(run, |text| values.push(text.to_owned()))?;
        Ok(values)
    }

    /// Calls `visit` with each text in turn.
    pub(super) fn each_text(mut self, run: &Run, mut visit: impl FnMut(&str)) -> Result<()> {
        let dtype = self.header.dtype;
        if dtype.size == 0 {
            (0..self.n_elements).for_each(|_| visit(""));
            return self.finish(run);
        }
        let mut text = String::new();
        self.each_chunk(run, |bytes| {
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
        })
    }
}

fn reserved<T>(n: usize, origin: Origin<'_>) -> Result<Vec<T>> {
    memory::with_capacity(&origin.path.display().to_string(), n, "give fewer rows or columns")
}

/// Numbers that array elements are read as.
pub(super) trait Number: Copy + Default {
    fn of_f64(value: f64) -> Self;
    fn of_i64(value: i64) -> Self;
    fn of_u64(value: u64) -> Self;
}

macro_rules! number {
    ($($type:ty),*) => {$(
        impl Number for $type {
            fn of_f64(value: f64) -> Self {
                value as $type
            }
            fn of_i64(value: i64) -> Self {
                value as $type
            }
            fn of_u64(value: u64) -> Self {
                value as $type
            }
        }
    )*};
}
number!(f32, f64, u8, u32, i64);

/// Calls `visit` with each element in turn.
#[inline]
pub(super) fn decode<N: Number>(bytes: &[u8], dtype: Dtype, visit: impl FnMut(N)) {
    let big = dtype.big_endian;
    match (dtype.kind, dtype.size) {
        (Kind::Float, 2) => each(bytes, big, |b| N::of_f64(f16::from_le_bytes(b).to_f64()), visit),
        (Kind::Float, 4) => each(bytes, big, |b| N::of_f64(f32::from_le_bytes(b).into()), visit),
        (Kind::Float, _) => each(bytes, big, |b| N::of_f64(f64::from_le_bytes(b)), visit),
        (Kind::Int, 1) => each(bytes, big, |b| N::of_i64(i8::from_le_bytes(b).into()), visit),
        (Kind::Int, 2) => each(bytes, big, |b| N::of_i64(i16::from_le_bytes(b).into()), visit),
        (Kind::Int, 4) => each(bytes, big, |b| N::of_i64(i32::from_le_bytes(b).into()), visit),
        (Kind::Int, _) => each(bytes, big, |b| N::of_i64(i64::from_le_bytes(b)), visit),
        // Any byte but 0 is true.
        (Kind::Bool, _) => each(bytes, big, |[b]: [u8; 1]| N::of_u64((b != 0).into()), visit),
        (Kind::UInt, 2) => each(bytes, big, |b| N::of_u64(u16::from_le_bytes(b).into()), visit),
        (Kind::UInt, 4) => each(bytes, big, |b| N::of_u64(u32::from_le_bytes(b).into()), visit),
        (Kind::UInt, 8) => each(bytes, big, |b| N::of_u64(u64::from_le_bytes(b)), visit),
        _ => each(bytes, big, |[b]: [u8; 1]| N::of_u64(b.into()), visit),
    }
}

#[inline]
fn each<N, const SIZE: usize>(bytes: &[u8], big: bool, value: impl Fn([u8; SIZE]) -> N, mut visit: impl FnMut(N)) {
    for element in bytes.as_chunks::<SIZE>().0 {
        let mut element = *element;
        if big {
            element.reverse();
        }
        visit(value(element));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::npy_header;

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

    fn open(bytes: &[u8]) -> Result<NpyReader<'static, &[u8]>> {
        NpyReader::new(bytes, bytes.len() as u64, Origin { path: Path::new("a.npy"), array: "" })
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
        assert_eq!(open(&text).unwrap().texts(&run).unwrap(), ["h"]);
        let fortran = array("'|u1'", &[2, 3], true, &[0, 10, 1, 11, 2, 12]);
        assert_eq!(open(&fortran).unwrap().numbers::<u8>(&run).unwrap(), [0, 1, 2, 10, 11, 12]);
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
    }
}
