//! The model file: one versioned container for the program, Rust and Python.
//!
//! It is a safetensors file (typed arrays behind a JSON header), so that other tools can read it. The header's metadata
//! has additional entries: `lapwing.format_version`, `lapwing.kind`, `lapwing.program_version`, `lapwing.meta`, a JSON
//! value that the kind defines, and a checksum of the whole file. Saving streams the arrays, and loading maps the file:
//! neither needs a second copy in memory. Equal models give equal bytes.

mod checksum;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit};
use memmap2::{Mmap, MmapMut};
use safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};

use self::checksum::Checked;
use crate::read::format::{map, open_filled};
use crate::write::{Staged, stage_atomic};
use crate::{Buffer, Csr, Error, Result};

/// Version of the container; raised when older programs cannot read new files.
pub const FORMAT_VERSION: u64 = 1;

/// An array of a model file.
#[derive(Clone, Debug)]
pub struct Tensor {
    shape: Vec<usize>,
    values: TensorValues,
}

/// Values of an array in their type; row-major.
#[derive(Clone, Debug)]
pub enum TensorValues {
    /// Double precision.
    F64(Buffer<'static, f64>),
    /// Single precision.
    F32(Buffer<'static, f32>),
    /// Bytes.
    U8(Buffer<'static, u8>),
    /// Row and class numbers.
    U32(Buffer<'static, u32>),
    /// Offsets.
    U64(Buffer<'static, u64>),
    /// Signed integers.
    I64(Buffer<'static, i64>),
}

/// Element types of the arrays in model files.
pub trait Element: AnyBitPattern + NoUninit + sealed::Sealed {
    /// Name of the type in messages.
    const NAME: &'static str;
    /// The values, if they are of this type.
    fn of(values: &TensorValues) -> Option<&Buffer<'static, Self>>;
    /// Wraps values of this type.
    fn wrap(values: Buffer<'static, Self>) -> TensorValues;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! element {
    ($($type:ident => $variant:ident),*) => {
        $(
            impl sealed::Sealed for $type {}
            impl Element for $type {
                const NAME: &'static str = stringify!($type);
                fn of(values: &TensorValues) -> Option<&Buffer<'static, Self>> {
                    match values {
                        TensorValues::$variant(values) => Some(values),
                        _ => None,
                    }
                }
                fn wrap(values: Buffer<'static, Self>) -> TensorValues {
                    TensorValues::$variant(values)
                }
            }
        )*

        impl TensorValues {
            fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $type::NAME,)*
                }
            }

            /// Number of values.
            fn len(&self) -> usize {
                match self {
                    $(Self::$variant(values) => values.as_slice().len(),)*
                }
            }

            fn bytes(&self) -> &[u8] {
                match self {
                    $(Self::$variant(values) => bytemuck::cast_slice(values.as_slice()),)*
                }
            }

            fn dtype(&self) -> Dtype {
                match self {
                    $(Self::$variant(_) => Dtype::$variant,)*
                }
            }

            /// The values in `range` of a mapped file: mapped if they are aligned, else copied; `None` for a type that
            /// model files do not use.
            fn read(map: &Arc<Mmap>, range: std::ops::Range<usize>, dtype: Dtype) -> Option<Self> {
                match dtype {
                    $(Dtype::$variant => {
                        let mapped = Buffer::<$type>::mapped(map.clone(), range.clone());
                        let elements = map[range].chunks_exact(size_of::<$type>());
                        let copied = || elements.map(bytemuck::pod_read_unaligned).collect::<Vec<$type>>().into();
                        Some(Self::$variant(mapped.unwrap_or_else(copied)))
                    })*
                    _ => None,
                }
            }
        }
    };
}
element!(f64 => F64, f32 => F32, u8 => U8, u32 => U32, u64 => U64, i64 => I64);

/// A stored model: its kind, a JSON value of settings, and named arrays.
#[derive(Clone, Debug)]
pub struct ModelFile {
    /// Kind of the model, such as `harmonic`.
    pub kind: String,
    /// Settings and names, which the kind defines.
    pub meta: Value,
    tensors: BTreeMap<String, Tensor>,
    /// The file it was read from, for messages.
    path: PathBuf,
}

impl ModelFile {
    /// A model without arrays.
    pub fn new(kind: impl Into<String>, meta: Value) -> Self {
        Self { kind: kind.into(), meta, tensors: BTreeMap::new(), path: PathBuf::from("model") }
    }

    /// Adds an array, row-major; one of the same name is replaced.
    ///
    /// # Errors
    /// [`Error::Shape`] unless the number of values is that of the shape.
    pub fn insert<T: Element>(
        &mut self,
        name: impl Into<String>,
        shape: &[usize],
        values: impl Into<Buffer<'static, T>>,
    ) -> Result<()> {
        let (name, values) = (name.into(), T::wrap(values.into()));
        let count = shape.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim));
        if count != Some(values.len()) {
            let got = format!("{} values", values.len());
            return Err(Error::shape(format!("array '{name}'"), shape_text(shape.iter().map(|&dim| Some(dim))), got));
        }
        self.tensors.insert(name, Tensor { shape: shape.to_vec(), values });
        Ok(())
    }

    /// Adds a sparse matrix as the arrays `<name>.indptr`, `.indices`, `.values` and `.shape`, which are copied.
    ///
    /// # Errors
    /// None in practice; see [`insert`](Self::insert).
    pub fn insert_csr<T: Element>(&mut self, name: &str, matrix: &Csr<T>) -> Result<()> {
        self.insert(format!("{name}.indptr"), &[matrix.n_rows() + 1], matrix.indptr().to_vec())?;
        self.insert(format!("{name}.indices"), &[matrix.nnz()], matrix.indices().to_vec())?;
        self.insert(format!("{name}.values"), &[matrix.nnz()], matrix.values().to_vec())?;
        self.insert(format!("{name}.shape"), &[2], vec![matrix.n_rows() as u64, matrix.n_cols() as u64])
    }

    /// Names of the arrays, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Whether there is an array `name`.
    pub fn contains(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// The array `name` and its shape, which must equal `shape` in all lengths that are not `None`.
    ///
    /// # Errors
    /// [`Error::Format`] naming an array that is missing, of another type or of another shape.
    pub fn array<T: Element>(&self, name: &str, shape: &[Option<usize>]) -> Result<(&[usize], &Buffer<'static, T>)> {
        let tensor = self.tensors.get(name).ok_or_else(|| self.error(format!("the array '{name}' is missing")))?;
        let values = T::of(&tensor.values).ok_or_else(|| {
            self.error(format!("the array '{name}' holds {}; expected {}", tensor.values.name(), T::NAME))
        })?;
        let agrees = |(found, wanted): (&usize, &Option<usize>)| wanted.is_none_or(|wanted| wanted == *found);
        if tensor.shape.len() != shape.len() || !tensor.shape.iter().zip(shape).all(agrees) {
            let (found, wanted) = (tensor.shape.iter().map(|&dim| Some(dim)), shape.iter().copied());
            let reason = format!("the array '{name}' has shape {}; expected {}", shape_text(found), shape_text(wanted));
            return Err(self.error(reason));
        }
        Ok((&tensor.shape, values))
    }

    /// A sparse matrix stored by [`insert_csr`](Self::insert_csr).
    ///
    /// # Errors
    /// [`Error::Format`] if an array is missing or the matrix is malformed.
    pub fn csr<T: Element>(&self, name: &str) -> Result<Csr<T>> {
        let values =
            |part: &str| self.array::<T>(&format!("{name}.{part}"), &[None]).map(|(_, v)| v.as_slice().to_vec());
        let shape = self.array::<u64>(&format!("{name}.shape"), &[Some(2)])?.1.as_slice();
        let indptr = self.array::<u64>(&format!("{name}.indptr"), &[None])?.1.as_slice().to_vec();
        let indices = self.array::<u32>(&format!("{name}.indices"), &[None])?.1.as_slice().to_vec();
        let bad = |reason: String| self.error(format!("the matrix '{name}' is not in order: {reason}"));
        let dims: Option<Vec<usize>> = shape.iter().map(|&dim| usize::try_from(dim).ok()).collect();
        match dims.as_deref() {
            Some(&[n_rows, n_cols]) if indptr.len().checked_sub(1) == Some(n_rows) => {
                Csr::new(n_rows, n_cols, indptr, indices, values("values")?).map_err(|e| bad(e.to_string()))
            }
            _ => Err(bad(format!("shape {shape:?} with {} offsets", indptr.len()))),
        }
    }

    /// An error about the contents of this file, for code that checks the settings of a kind.
    pub fn error(&self, reason: impl Into<String>) -> Error {
        Error::format(&self.path, None, reason)
    }

    /// Writes the model under a temporary name, syncs it and renames it.
    ///
    /// # Errors
    /// [`Error::Io`]; no partial file remains.
    pub fn save(&self, path: &Path) -> Result<()> {
        self.stage(path)?.publish()
    }

    /// [`save`](Self::save) without the renaming: [`publish_all`](crate::write::publish_all) renames several files
    /// together.
    ///
    /// # Errors
    /// As [`save`](Self::save).
    pub fn stage(&self, path: &Path) -> Result<Staged> {
        stage_atomic(path, |out| self.write(out))
    }

    /// The bytes that [`save`](Self::save) writes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes).expect("memory takes what it is given");
        bytes
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        // Wider types first, so that every array starts at a multiple of its element size.
        let mut order: Vec<(&String, &Tensor)> = self.tensors.iter().collect();
        order.sort_by_key(|(name, tensor)| (std::cmp::Reverse(tensor.values.dtype().bitsize()), *name));
        let mut header = json!({ "__metadata__": {
            "lapwing.format_version": FORMAT_VERSION.to_string(),
            "lapwing.kind": self.kind,
            "lapwing.program_version": env!("CARGO_PKG_VERSION"),
            "lapwing.meta": self.meta.to_string(),
            (checksum::KIND_NAME): checksum::KIND,
            (checksum::NAME): checksum::UNKNOWN,
        } });
        let mut end = 0;
        for (name, tensor) in &order {
            let start = end;
            end += tensor.values.bytes().len();
            header[name.as_str()] = json!({
                "dtype": tensor.values.dtype(), "shape": tensor.shape, "data_offsets": [start, end],
            });
        }
        let mut header = header.to_string().into_bytes();
        header.resize(header.len().next_multiple_of(8), b' ');
        let start = (header.len() as u64).to_le_bytes();
        checksum::seal(&start, &mut header, order.iter().map(|(_, tensor)| tensor.values.bytes()));
        out.write_all(&start)?;
        out.write_all(&header)?;
        order.iter().try_for_each(|(_, tensor)| out.write_all(tensor.values.bytes()))
    }

    /// Reads a model. Arrays stay in the file and are mapped.
    ///
    /// # Errors
    /// [`Error::Format`] for a file that is no model file, damaged or truncated; [`Error::Version`] for a file of a
    /// newer program; [`Error::Io`].
    ///
    /// # Complexity
    /// Reads the file once for its checksum, and keeps nothing of it in memory.
    pub fn load(path: &Path) -> Result<Self> {
        let (file, length) = open_filled(path)?;
        let checked = checksum::check(file, length).map_err(|e| Error::io(path, e))?;
        Self::of_map(&map(path)?, checked, path)
    }

    /// Reads a model from the bytes of its file, which are copied; messages call it `name`.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Self> {
        let name = Path::new(name);
        // Some systems refuse mappings of no bytes.
        let mut map = MmapMut::map_anon(bytes.len().max(1)).map_err(|e| Error::io(name, e))?;
        map[..bytes.len()].copy_from_slice(bytes);
        let map = map.make_read_only().map_err(|e| Error::io(name, e))?;
        let checked = checksum::check(bytes, bytes.len() as u64).map_err(|e| Error::io(name, e))?;
        Self::of_map(&Arc::new(map), checked, name)
    }

    fn of_map(map: &Arc<Mmap>, checked: Checked, path: &Path) -> Result<Self> {
        let damaged =
            || Error::format(path, None, "the file is damaged or cut short; write it anew, or bring back a copy of it");
        if checked == Checked::Damaged {
            return Err(damaged());
        }
        let (header_len, header) = SafeTensors::read_metadata(map).map_err(|e| match is_own(map) {
            true => damaged(),
            false => Error::format(path, None, format!("not a model file of lapwing, or truncated ({e})")),
        })?;
        let foreign = || Error::format(path, None, "not a model file of lapwing, though a safetensors file");
        let entries = header.metadata().as_ref().ok_or_else(foreign)?;
        if checked == Checked::Unknown && entries.contains_key(checksum::KIND_NAME) {
            return Err(damaged());
        }
        let entry = |name: &str| entries.get(&format!("lapwing.{name}")).ok_or_else(foreign);
        let version: u64 = entry("format_version")?.parse().map_err(|_| foreign())?;
        if version > FORMAT_VERSION {
            return Err(Error::Version { path: path.to_owned(), found: version, supported: FORMAT_VERSION });
        }
        let meta = serde_json::from_str(entry("meta")?)
            .map_err(|e| Error::format(path, None, format!("the settings are damaged ({e})")))?;
        let data_start = 8 + header_len;
        let mut tensors = BTreeMap::new();
        for (name, info) in header.tensors() {
            let range = data_start + info.data_offsets.0..data_start + info.data_offsets.1;
            let values = TensorValues::read(map, range, info.dtype).ok_or_else(|| {
                Error::format(path, None, format!("the array '{name}' has the unknown type {}", info.dtype))
            })?;
            tensors.insert(name, Tensor { shape: info.shape.clone(), values });
        }
        Ok(Self { kind: entry("kind")?.clone(), meta, tensors, path: path.to_owned() })
    }

    /// Checks that the kind is one of `known`.
    ///
    /// # Errors
    /// [`Error::Format`] naming both.
    pub fn expect_kind(&self, known: &[&str]) -> Result<()> {
        if known.contains(&self.kind.as_str()) {
            return Ok(());
        }
        Err(self.error(format!("a model of kind '{}'; expected {}", self.kind, known.join(" or "))))
    }
}

fn shape_text(dims: impl Iterator<Item = Option<usize>>) -> String {
    let dims: Vec<String> = dims.map(|dim| dim.map_or("any".into(), |dim| dim.to_string())).collect();
    format!("({})", dims.join(", "))
}

/// Whether a malformed file was a model file: its header contains the name of an entry of model files.
fn is_own(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(1 << 16)];
    ["lapwing.checksum", "lapwing.meta"].iter().any(|name| start.windows(name.len()).any(|at| at == name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn model() -> ModelFile {
        let mut model = ModelFile::new("harmonic", json!({ "classes": [1, 2] }));
        model.insert("bytes", &[3], vec![1u8, 2, 3]).unwrap();
        model.insert("scores", &[2, 2], vec![0.5f64, 1.5, -2.0, f64::NAN]).unwrap();
        model.insert("ids", &[1], vec![7u32]).unwrap();
        model.insert("none", &[0, 4], Vec::<f32>::new()).unwrap();
        model.insert_csr("graph", &Csr::new(2, 2, vec![0, 1, 2], vec![1, 0], vec![0.5f64, 0.5]).unwrap()).unwrap();
        model
    }

    #[test]
    fn models_survive_and_stay_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.lapwing");
        model().save(&path).unwrap();
        let loaded = ModelFile::load(&path).unwrap();
        assert_eq!((loaded.kind.as_str(), &loaded.meta), ("harmonic", &json!({ "classes": [1, 2] })));
        let (shape, scores) = loaded.array::<f64>("scores", &[None, Some(2)]).unwrap();
        assert_eq!((shape, &scores.as_slice()[..3]), (&[2, 2][..], &[0.5, 1.5, -2.0][..]));
        assert!(matches!(scores, Buffer::Mapped(_)));
        assert_eq!(loaded.array::<u8>("bytes", &[Some(3)]).unwrap().1.as_slice(), [1, 2, 3]);
        assert_eq!(loaded.csr::<f64>("graph").unwrap(), model().csr("graph").unwrap());
        let first = std::fs::read(&path).unwrap();
        assert_eq!(model().to_bytes(), first);
        assert_eq!(ModelFile::from_bytes(&first, "a model").unwrap().to_bytes(), first);
        assert!(ModelFile::from_bytes(&[], "a model").unwrap_err().to_string().contains("a model"));
        loaded.save(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), first);
        assert_eq!(scores.as_slice()[0], 0.5, "the old map outlives its replacement");
    }

    #[test]
    fn wrong_arrays_are_named() {
        let model = model();
        let text = |e: Error| e.to_string();
        assert!(text(model.array::<f64>("absent", &[]).unwrap_err()).contains("'absent' is missing"));
        assert!(text(model.array::<f32>("scores", &[None, None]).unwrap_err()).contains("holds f64; expected f32"));
        let shape = model.array::<f64>("scores", &[None, Some(3)]).unwrap_err();
        assert!(text(shape).contains("has shape (2, 2); expected (any, 3)"));
        assert!(text(model.csr::<f32>("graph").unwrap_err()).contains("graph.values"));
        assert!(text(model.expect_kind(&["lapsvm"]).unwrap_err()).contains("expected lapsvm"));
        assert!(model.clone().insert("x", &[2], vec![1.0f64]).is_err());
    }

    #[test]
    fn foreign_newer_and_cut_files_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.lapwing");
        let load = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            ModelFile::load(&path)
        };
        model().save(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for len in 0..bytes.len() {
            assert!(matches!(load(&bytes[..len]), Err(Error::Format { .. })), "{len} of {} bytes", bytes.len());
        }
        let edited = |from: &str, to: &str| {
            let text: String = bytes.iter().map(|&b| char::from(b)).collect();
            sealed(text.replace(from, to).chars().map(|c| c as u8).collect())
        };
        let newer = load(&edited("\"lapwing.format_version\":\"1\"", "\"lapwing.format_version\":\"7\""));
        assert!(matches!(newer, Err(Error::Version { found: 7, supported: 1, .. })));
        let foreign = load(&edited("lapwing.kind", "another.kind")).unwrap_err().to_string();
        assert!(foreign.contains("not a model file of lapwing, though"), "{foreign}");
        assert!(load(b"PK\x03\x04 a zip file perhaps").unwrap_err().to_string().contains("not a model file"));
    }

    /// The bytes of a file that was changed on purpose, with the checksum of what it is now.
    fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
        let start: [u8; 8] = bytes[..8].try_into().unwrap();
        let (header, arrays) = bytes[8..].split_at_mut(u64::from_le_bytes(start) as usize);
        let digits = checksum::digits(header).unwrap();
        header[digits].copy_from_slice(checksum::UNKNOWN.as_bytes());
        checksum::seal(&start, header, [&*arrays].into_iter());
        bytes
    }

    #[test]
    fn every_changed_byte_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.lapwing");
        let bytes = model().to_bytes();
        assert_eq!(sealed(bytes.clone()), bytes);
        for (at, flip) in (0..bytes.len()).flat_map(|at| [1, 32, 255].map(|flip| (at, flip))) {
            let mut other = bytes.clone();
            other[at] ^= flip;
            let text = ModelFile::from_bytes(&other, "m.lapwing").unwrap_err().to_string();
            assert!(text.starts_with("m.lapwing: the file is damaged or cut short; "), "byte {at}: {text}");
            if at % 37 == 0 {
                std::fs::write(&path, &other).unwrap();
                assert!(ModelFile::load(&path).unwrap_err().to_string().contains("the file is damaged"));
            }
        }
    }

    #[test]
    fn files_without_a_checksum_are_read() {
        let text: String = model().to_bytes().iter().map(|&b| char::from(b)).collect();
        let start = text.find("\"lapwing.checksum\"").unwrap();
        let end = start + text[start..].find("\"lapwing.format_version\"").unwrap();
        let old = text.replacen(&text[start..end], &" ".repeat(end - start), 1);
        let old: Vec<u8> = old.chars().map(|c| c as u8).collect();
        assert_eq!(ModelFile::from_bytes(&old, "old").unwrap().to_bytes(), model().to_bytes());
        // Where only one of the two entries is gone, something has happened.
        let half = text.replacen("\"lapwing.checksum\"", "\"lapwing.checksun\"", 1);
        let half: Vec<u8> = half.chars().map(|c| c as u8).collect();
        assert!(ModelFile::from_bytes(&half, "half").unwrap_err().to_string().contains("damaged"));
    }

    proptest! {
        #[test]
        fn contents_that_make_no_sense_never_panic(at in 0usize..1200, flip in 1u8..=255) {
            let mut bytes = model().to_bytes();
            let at = at % bytes.len();
            bytes[at] ^= flip;
            let is_header = at < 8 || checksum::digits(&bytes[8..]).is_none();
            let bytes = if is_header { bytes } else { sealed(bytes) };
            if let Ok(model) = ModelFile::from_bytes(&bytes, "m.lapwing") {
                let _ = (model.csr::<f64>("graph"), model.array::<f64>("scores", &[None, None]));
            }
        }
    }
}
