//! Models and checkpoints: changes to the settings (JSON in the header) and to the arrays, with correct offsets and checksum.

use std::collections::HashMap;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};

use super::Mutator;

/// Numbers that stand nowhere in a sound model, or hardly anywhere.
pub const FORGED: [f64; 10] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 1e300, -1e300, 3e38, 1e-300, 4e9];

/// The text before the digits of the checksum in the header.
const CHECKSUM: &[u8] = b"\"lapwing.checksum\":\"";

/// A model in which one to four numbers are forged, and all else is sound.
pub fn forged_model(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    let Some(mut parts) = Parts::new(bytes) else { return mutator.blindly(bytes) };
    for _ in 0..=mutator.place(4) {
        let numbers = parts.numbers();
        let filled: Vec<usize> = (0..parts.arrays.len()).filter(|at| parts.arrays[*at].n_values() > 0).collect();
        let value =
            if mutator.one_in(3) { mutator.rng.f64() * 20.0 - 10.0 } else { FORGED[mutator.place(FORGED.len())] };
        if !numbers.is_empty() && (filled.is_empty() || mutator.one_in(3)) {
            parts.put(&numbers[mutator.place(numbers.len())], value);
        } else if !filled.is_empty() {
            let array = &mut parts.arrays[filled[mutator.place(filled.len())]];
            array.put(mutator.place(array.n_values()), value);
        }
    }
    *bytes = parts.sealed().unwrap_or_default();
}

/// A model or a checkpoint: a change to its settings, to the size or the values of an array, or to bytes anywhere.
pub fn model(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    let parts = Parts::new(bytes).filter(|parts| !parts.arrays.is_empty() && !mutator.one_in(8));
    let Some(mut parts) = parts else {
        mutator.blindly(bytes);
        return seal(bytes);
    };
    let at = mutator.place(parts.arrays.len());
    match mutator.place(8) {
        0..3 => changed(mutator, &mut parts.settings),
        3 => drop(parts.arrays.remove(at)),
        4..6 => parts.arrays[at].resized(mutator),
        _ => {
            let length = parts.arrays[at].data.len();
            mutator.blindly(&mut parts.arrays[at].data);
            parts.arrays[at].data.resize(length, 0);
        }
    }
    *bytes = parts.sealed().unwrap_or_default();
}

/// Replaces, removes or repeats a value of the settings.
fn changed(mutator: &mut Mutator<'_>, value: &mut Value) {
    match value {
        Value::Object(fields) if !fields.is_empty() && !mutator.one_in(12) => {
            let key = fields.keys().nth(mutator.place(fields.len())).cloned().unwrap_or_default();
            match fields.get_mut(&key) {
                Some(field) if !mutator.one_in(12) => changed(mutator, field),
                _ => drop(fields.remove(&key)),
            }
        }
        Value::Array(items) if !items.is_empty() && !mutator.one_in(6) => {
            let at = mutator.place(items.len());
            match mutator.place(8) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                _ => changed(mutator, &mut items[at]),
            }
        }
        _ => {
            let number = value.as_f64().unwrap_or(1.0);
            let others = [
                json!(null),
                json!(true),
                json!(""),
                json!(["a", "b"]),
                json!([]),
                json!({}),
                json!("auto"),
                json!("rbf"),
            ];
            let numbers = [0.0, -1.0, 1e300, 1e-300, number * 2.0, number * 0.5, -number].map(|number| json!(number));
            let wholes = [0, 1, 2, u64::MAX, (number as u64).saturating_add(1), (number as u64).saturating_sub(1)]
                .map(|number| json!(number));
            let all = [&others[..], &numbers, &wholes].concat();
            *value = all[mutator.place(all.len())].clone();
        }
    }
}

/// The parts of a file.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Metadata, as texts.
    metadata: HashMap<String, String>,
    /// The settings, which are JSON within the metadata.
    settings: Value,
    /// The arrays.
    pub arrays: Vec<Array>,
}

/// An array of a file.
#[derive(Clone, Debug)]
pub struct Array {
    /// Its name.
    pub name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    data: Vec<u8>,
}

impl Parts {
    /// Takes a file apart, if its container is sound.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let metadata = SafeTensors::read_metadata(bytes).ok()?.1.metadata().clone()?;
        let array = |(name, view): (&str, TensorView<'_>)| Array {
            name: name.to_owned(),
            dtype: view.dtype(),
            shape: view.shape().to_vec(),
            data: view.data().to_vec(),
        };
        let mut arrays: Vec<Array> = SafeTensors::deserialize(bytes).ok()?.iter().map(array).collect();
        arrays.sort_by(|a, b| a.name.cmp(&b.name));
        Some(Self { settings: serde_json::from_str(metadata.get("lapwing.meta")?).ok()?, metadata, arrays })
    }

    /// The file, with its checksum; `None` if values and shape of an array differ.
    pub fn sealed(mut self) -> Option<Vec<u8>> {
        self.metadata.insert("lapwing.meta".into(), self.settings.to_string());
        let mut views = Vec::new();
        for Array { name, dtype, shape, data } in &self.arrays {
            views.push((name.as_str(), TensorView::new(*dtype, shape.clone(), data).ok()?));
        }
        let mut bytes = safetensors::serialize(views, Some(self.metadata)).ok()?;
        seal(&mut bytes);
        Some(bytes)
    }

    /// The places of all numbers of the settings: pointers of JSON.
    pub fn numbers(&self) -> Vec<String> {
        fn add(value: &Value, here: &str, places: &mut Vec<String>) {
            match value {
                Value::Object(fields) => {
                    fields.iter().for_each(|(key, value)| add(value, &format!("{here}/{key}"), places))
                }
                Value::Array(items) => {
                    items.iter().zip(0..).for_each(|(value, at)| add(value, &format!("{here}/{at}"), places))
                }
                Value::Number(_) => places.push(here.to_owned()),
                _ => {}
            }
        }
        let mut places = Vec::new();
        add(&self.settings, "", &mut places);
        places
    }

    /// Replaces a number of the settings by `value`, which stays a whole number if it was one; JSON has no NaN and no infinity.
    pub fn put(&mut self, place: &str, value: f64) {
        if let Some(number) = self.settings.pointer_mut(place) {
            *number = if number.is_f64() { json!(value) } else { json!(value as i64) };
        }
    }
}

impl Array {
    /// Number of values.
    pub fn n_values(&self) -> usize {
        self.shape.iter().product()
    }

    /// Writes a value in the type of the array.
    pub fn put(&mut self, place: usize, value: f64) {
        let width = self.data.len() / self.n_values();
        let bytes = match self.dtype {
            Dtype::F64 => value.to_le_bytes().to_vec(),
            Dtype::F32 => (value as f32).to_le_bytes().to_vec(),
            _ if value < 0.0 => vec![0xFF; width],
            _ => (value as u64).to_le_bytes()[..width].to_vec(),
        };
        self.data[place * width..][..width].copy_from_slice(&bytes);
    }

    /// The values of a floating-point type, row after row; none of others.
    pub fn rows(&self) -> Vec<Vec<f64>> {
        let values: Vec<f64> = match self.dtype {
            Dtype::F64 => self.data.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect(),
            Dtype::F32 => self.data.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes).into()).collect(),
            _ => Vec::new(),
        };
        values.chunks(self.shape.last().map_or(1, |&width| width.max(1))).map(<[f64]>::to_vec).collect()
    }

    /// Changes the length of a dimension, with as many values as the shape needs.
    fn resized(&mut self, mutator: &mut Mutator<'_>) {
        let (before, bytes) = (self.n_values(), self.data.len());
        if before == 0 || self.shape.is_empty() {
            return;
        }
        let at = mutator.place(self.shape.len());
        let dim = &mut self.shape[at];
        *dim = [0, *dim + 1, *dim * 2, *dim - 1][mutator.place(4)];
        self.data.resize(self.n_values() * (bytes / before), 0);
    }
}

/// Corrects the checksum of a file, if there is one: the CRC-32 of all bytes in eight hexadecimal digits, computed with zeros in their
/// place. Damage then reaches the checks behind the checksum.
fn seal(bytes: &mut [u8]) {
    let found = bytes.windows(CHECKSUM.len()).position(|part| part == CHECKSUM);
    let Some(start) = found.map(|at| at + CHECKSUM.len()).filter(|start| start + 8 <= bytes.len()) else { return };
    bytes[start..start + 8].fill(b'0');
    let mut sum = flate2::Crc::new();
    sum.update(bytes);
    bytes[start..start + 8].copy_from_slice(format!("{:08x}", sum.sum()).as_bytes());
}
