//! The model file: one versioned container for the program, Rust and Python.
//!
//! It is a safetensors file (typed arrays behind a JSON header), so that other tools can read it. The header's metadata
//! has additional entries: `lapwing.format_version`, `lapwing.kind`, `lapwing.program_version`, `lapwing.meta`, a JSON
//! value that the kind defines, and a checksum of the whole file. Saving streams the arrays, and loading maps the file:
//! neither needs a second copy in memory. Equal models give equal bytes.

mod checksum;
mod must;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit};
use safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};

use self::checksum::Checked;
pub use self::must::{Must, Real, Whole};
use crate::mapped::{Mapped, open_filled};
use crate::publish::{Staged, stage_atomic};
use crate::{Buffer, Csr, Error, Matrix, Result};

/// Version of the container; raised when older programs cannot read new files.
const FORMAT_VERSION: u64 = 1;

/// An array of a model file.
#[derive(Clone, Debug)]
struct Tensor {
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

            fn check_file(&self) -> Result<()> {
                match self {
                    $(Self::$variant(values) => values.check_file(),)*
                }
            }

            /// The values in `range` of a mapped file: mapped if they are aligned, else copied; `None` for a type that
            /// model files do not use.
            fn read(map: &Arc<Mapped>, range: std::ops::Range<usize>, dtype: Dtype) -> Option<Self> {
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

    /// Name of the type of the array `name`, if there is one.
    pub fn type_of(&self, name: &str) -> Option<&'static str> {
        self.tensors.get(name).map(|tensor| tensor.values.name())
    }

    /// The array `name` of whole numbers and its shape, which must equal `shape` in all lengths that are not `None`.
    ///
    /// # Errors
    /// [`Error::Format`] naming an array that is missing, of another type or of another shape.
    pub fn array<T: Whole>(&self, name: &str, shape: &[Option<usize>]) -> Result<(&[usize], &Buffer<'static, T>)> {
        self.unchecked(name, shape)
    }

    /// As [`array`](Self::array), for an array whose numbers `must` all be so.
    ///
    /// # Errors
    /// As [`array`](Self::array); [`Error::Format`] naming the first number that is not so.
    pub fn numbers<T: Real>(
        &self,
        name: &str,
        shape: &[Option<usize>],
        must: Must,
    ) -> Result<(&[usize], &Buffer<'static, T>)> {
        let (shape, values) = self.unchecked::<T>(name, shape)?;
        let width = shape.last().copied().unwrap_or(1);
        match must.find(values.as_slice(), width) {
            None => Ok((shape, values)),
            Some(at) => {
                let value: f64 = values.as_slice()[at].into();
                let place = if shape.len() == 2 {
                    format!("row {}, column {}", at / width, at % width)
                } else {
                    format!("place {at}")
                };
                Err(self.error(format!("the array '{name}' holds {value} in {place}; expected {}", must.words())))
            }
        }
    }

    /// The values of [`numbers`](Self::numbers).
    ///
    /// # Errors
    /// As [`numbers`](Self::numbers).
    pub fn vector<T: Real>(&self, name: &str, shape: &[Option<usize>], must: Must) -> Result<Vec<T>> {
        Ok(self.numbers::<T>(name, shape, must)?.1.as_slice().to_vec())
    }

    /// A dense matrix in double precision, whose numbers `must` all be so; `shape` as for [`array`](Self::array).
    ///
    /// # Errors
    /// As [`numbers`](Self::numbers).
    pub fn matrix(&self, name: &str, shape: [Option<usize>; 2], must: Must) -> Result<Matrix> {
        let (shape, values) = self.numbers::<f64>(name, &shape, must)?;
        Matrix::new(shape[0], shape[1], values.as_slice().to_vec())
    }

    /// The setting `name`, which `must` be so.
    ///
    /// # Errors
    /// [`Error::Format`] naming it.
    pub fn setting(&self, name: &str, value: f64, must: Must) -> Result<f64> {
        match must.holds(&[value], 1) {
            true => Ok(value),
            false => Err(self.error(format!("the setting '{name}' is {value}; expected {}", must.words()))),
        }
    }

    fn unchecked<T: Element>(&self, name: &str, shape: &[Option<usize>]) -> Result<(&[usize], &Buffer<'static, T>)> {
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

    /// A sparse matrix stored by [`insert_csr`](Self::insert_csr), whose values `must` all be so.
    ///
    /// # Errors
    /// [`Error::Format`] if an array is missing or the matrix is malformed.
    pub fn csr<T: Real>(&self, name: &str, must: Must) -> Result<Csr<T>> {
        let values = || self.numbers::<T>(&format!("{name}.values"), &[None], must).map(|(_, v)| v.as_slice().to_vec());
        let shape = self.array::<u64>(&format!("{name}.shape"), &[Some(2)])?.1.as_slice();
        let indptr = self.array::<u64>(&format!("{name}.indptr"), &[None])?.1.as_slice().to_vec();
        let indices = self.array::<u32>(&format!("{name}.indices"), &[None])?.1.as_slice().to_vec();
        let bad = |reason: String| self.error(format!("the matrix '{name}' is not in order: {reason}"));
        let dims: Option<Vec<usize>> = shape.iter().map(|&dim| usize::try_from(dim).ok()).collect();
        match dims.as_deref() {
            Some(&[n_rows, n_cols]) if indptr.len().checked_sub(1) == Some(n_rows) => {
                Csr::new(n_rows, n_cols, indptr, indices, values()?).map_err(|e| bad(e.to_string()))
            }
            _ => Err(bad(format!("shape {shape:?} with {} offsets", indptr.len()))),
        }
    }

    /// An error about the contents of this file, for code that checks the settings of a kind.
    pub fn error(&self, reason: impl Into<String>) -> Error {
        Error::format(&self.path, None, reason)
    }

    /// An error if the file was cut short while its arrays were read.
    ///
    /// # Errors
    /// [`Error::Io`] naming the file.
    pub fn check_file(&self) -> Result<()> {
        self.tensors.values().try_for_each(|tensor| tensor.values.check_file())
    }

    /// Writes the model under a temporary name, syncs it and renames it.
    ///
    /// # Errors
    /// [`Error::Io`]; no partial file remains.
    pub fn save(&self, path: &Path) -> Result<()> {
        self.stage(path)?.publish()
    }

    /// [`save`](Self::save) without the renaming: [`publish_all`](crate::publish::publish_all) renames several files
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
        Self::from_map(&Mapped::open(path)?, checked, path)
    }

    /// Reads a model from the bytes of its file, which are copied; messages call it `name`.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Self> {
        let name = Path::new(name);
        let checked = checksum::check(bytes, bytes.len() as u64).map_err(|e| Error::io(name, e))?;
        Self::from_map(&Mapped::copied(bytes, name)?, checked, name)
    }

    fn from_map(map: &Arc<Mapped>, checked: Checked, path: &Path) -> Result<Self> {
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
mod tests;
