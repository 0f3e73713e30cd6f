//! Models and checkpoints: changes to the header (JSON), to the settings in it and to the arrays, with correct offsets.

use serde_json::{Map, Value, json};

use super::Mutator;
use super::havoc::write_number;
use super::npy::value;
use crate::rng::Rng;

/// Numbers that stand nowhere in a sound model, or hardly anywhere.
const FORGED: [f64; 10] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 1e300, -1e300, 3e38, 1e-300, 4e9];

/// A model whose container is sound and in which one to four numbers are forged.
pub fn forged_model(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    let Some(mut parts) = Parts::new(bytes) else { return mutator.blindly(bytes) };
    for _ in 0..mutator.some_times() {
        let (rng, mut places) = (&mut mutator.rng, Vec::new());
        numbers(&parts.settings, &mut Vec::new(), &mut places);
        let filled: Vec<usize> = (0..parts.arrays.len()).filter(|at| parts.arrays[*at].len() > 0).collect();
        let value = if rng.one_in(3) { rng.below(2001) as f64 / 100.0 - 10.0 } else { rng.of(&FORGED) };
        if !places.is_empty() && (filled.is_empty() || rng.one_in(3)) {
            let path = &places[rng.below(places.len())];
            put(&mut parts.settings, path, value);
        } else if !filled.is_empty() {
            let array = &mut parts.arrays[filled[rng.below(filled.len())]];
            let place = rng.below(array.len());
            array.put(place, value);
        }
    }
    *bytes = parts.sealed();
}

/// Calls `take` with files like this one in which one number is forged, and with what that is: at the first, the middle and the last
/// place of every array, and at every place of the settings.
pub fn each_forged(bytes: &[u8], mut take: impl FnMut(&str, Vec<u8>)) {
    let Some(parts) = Parts::new(bytes) else { return };
    for (at, array) in parts.arrays.iter().enumerate() {
        let n = array.len();
        let mut places: Vec<usize> = [0, n / 2, n.saturating_sub(1)].into_iter().filter(|place| *place < n).collect();
        places.dedup();
        for (place, value) in places.iter().flat_map(|place| FORGED.map(|value| (*place, value))) {
            let mut other = parts.clone();
            other.arrays[at].put(place, value);
            take(&format!("{}[{place}] = {value:?}", array.name), other.sealed());
        }
    }
    let mut places = Vec::new();
    numbers(&parts.settings, &mut Vec::new(), &mut places);
    for (path, value) in places.iter().flat_map(|path| FORGED.map(|value| (path, value))) {
        let mut other = parts.clone();
        put(&mut other.settings, path, value);
        take(&format!("{path:?} = {value:?}"), other.sealed());
    }
}

/// The first number of a model, by its array and place, that no sound model holds: NaN beside other numbers in a row of scores or
/// anywhere else, and an infinite number that is no bound.
pub fn unsound_number(bytes: &[u8]) -> Option<String> {
    let parts = Parts::new(bytes)?;
    parts.arrays.iter().find_map(|array| {
        let values = array.reals();
        let width = array.shape.last().map_or(1, |&width| (width as usize).max(1));
        let is_sound = |row: &[f64]| match array.name.as_str() {
            "scores" => row.iter().all(|x| x.is_finite()) || row.iter().all(|x| x.is_nan()),
            "errors" => row.iter().all(|x| *x >= 0.0),
            _ => row.iter().all(|x| x.is_finite()),
        };
        let row = values.chunks(width).position(|row| !is_sound(row))?;
        let shown: Vec<&f64> = values[row * width..].iter().take(width.min(8)).collect();
        Some(format!("row {row} of {}: {shown:?}", array.name))
    })
}

/// A place in settings: keys of objects and places in lists.
type Path = Vec<String>;

/// Adds the places of all numbers, behind `here`.
fn numbers(settings: &Value, here: &mut Path, places: &mut Vec<Path>) {
    let mut below = |key: String, value: &Value| {
        here.push(key);
        numbers(value, here, places);
        here.pop();
    };
    match settings {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| below(key.clone(), value)),
        Value::Array(items) => items.iter().enumerate().for_each(|(at, value)| below(at.to_string(), value)),
        Value::Number(_) => places.push(here.clone()),
        _ => {}
    }
}

/// Replaces the number at a place by `value`, which stays a whole number if it was one; JSON has no NaN and no infinity.
fn put(settings: &mut Value, path: &Path, value: f64) {
    let found = path.iter().try_fold(settings, |value, key| match value {
        Value::Object(fields) => fields.get_mut(key),
        Value::Array(items) => items.get_mut(key.parse::<usize>().ok()?),
        _ => None,
    });
    if let Some(number) = found {
        *number = if number.is_f64() { json!(value) } else { json!(value as i64) };
    }
}

/// The parts of a file.
#[derive(Clone)]
struct Parts {
    /// Metadata, as texts.
    metadata: Map<String, Value>,
    /// The settings, which are JSON within the metadata.
    settings: Value,
    arrays: Vec<Array>,
}

#[derive(Clone)]
struct Array {
    name: String,
    dtype: String,
    shape: Vec<u64>,
    data: Vec<u8>,
}

/// Element types and their bytes.
const DTYPES: &[(&str, usize)] =
    &[("F64", 8), ("F32", 4), ("U8", 1), ("U32", 4), ("U64", 8), ("I64", 8), ("F16", 2), ("BOOL", 1), ("I32", 4)];

/// A model or a checkpoint.
pub fn model(mutator: &mut Mutator<'_>, bytes: &mut Vec<u8>) {
    let Some(mut parts) = Parts::new(bytes) else { return mutator.blindly(bytes) };
    for _ in 0..mutator.some_times() {
        match mutator.rng.below(12) {
            0 => parts.metadata_changed(&mut mutator.rng),
            1..=4 => settings(&mut mutator.rng, &mut parts.settings),
            _ => parts.array_changed(mutator),
        }
    }
    *bytes = parts.written();
    match mutator.rng.below(16) {
        // A damaged file with a correct checksum tests the checks behind the checksum.
        0 => {
            mutator.blindly(bytes);
            reseal(bytes);
        }
        1 => header(&mut mutator.rng, bytes),
        _ => reseal(bytes),
    }
}

/// The text before the digits of the checksum in the header.
const CHECKSUM: &[u8] = b"\"lapwing.checksum\":\"";

/// Corrects the checksum of a file, if there is one: the CRC-32 of all bytes in eight hexadecimal digits, computed with
/// zeros in their place. Damage then reaches the checks behind the checksum.
fn reseal(bytes: &mut [u8]) {
    let found = bytes.windows(CHECKSUM.len()).position(|part| part == CHECKSUM);
    let Some(start) = found.map(|at| at + CHECKSUM.len()).filter(|start| start + 8 <= bytes.len()) else { return };
    bytes[start..start + 8].fill(b'0');
    let mut sum = flate2::Crc::new();
    sum.update(bytes);
    bytes[start..start + 8].copy_from_slice(format!("{:08x}", sum.sum()).as_bytes());
}

/// Kinds of files.
const KINDS: &str =
    "harmonic;low-rank;lapsvm;laprls;unfolded-gnn;eigenfunction;linear;forest;majority;sparsifier;low-rank-sums";
/// Values of settings.
const VALUES: &str = "gaussian;self-tuning;cosine;binary;euclidean;rbf;linear;poly;auto;c";

impl Parts {
    fn new(bytes: &[u8]) -> Option<Self> {
        let length = usize::try_from(u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?)).ok()?;
        let end = length.checked_add(8)?;
        let Ok(Value::Object(mut header)) = serde_json::from_slice(bytes.get(8..end)?) else { return None };
        let Some(Value::Object(metadata)) = header.remove("__metadata__") else { return None };
        let settings = serde_json::from_str(metadata.get("lapwing.meta")?.as_str()?).ok()?;
        let data = &bytes[end..];
        let array = |(name, info): (String, Value)| {
            let offsets = |at: usize| usize::try_from(info["data_offsets"][at].as_u64()?).ok();
            Some(Array {
                name,
                dtype: info["dtype"].as_str()?.to_owned(),
                shape: info["shape"].as_array()?.iter().filter_map(Value::as_u64).collect(),
                data: data.get(offsets(0)?..offsets(1)?)?.to_vec(),
            })
        };
        let mut arrays = header.into_iter().map(array).collect::<Option<Vec<Array>>>()?;
        arrays.sort_by_key(|array| (std::cmp::Reverse(width_of(&array.dtype)), array.name.clone()));
        Some(Self { metadata, settings, arrays })
    }

    fn written(mut self) -> Vec<u8> {
        self.metadata.insert("lapwing.meta".into(), Value::String(self.settings.to_string()));
        let mut header = Map::from_iter([("__metadata__".to_owned(), Value::Object(self.metadata))]);
        let mut data = Vec::new();
        for array in self.arrays {
            let start = data.len();
            data.extend(array.data);
            let info = json!({ "dtype": array.dtype, "shape": array.shape, "data_offsets": [start, data.len()] });
            header.insert(array.name, info);
        }
        let mut text = Value::Object(header).to_string().into_bytes();
        text.resize(text.len().next_multiple_of(8), b' ');
        [&(text.len() as u64).to_le_bytes()[..], &text, &data].concat()
    }

    /// The file with its checksum.
    fn sealed(self) -> Vec<u8> {
        let mut bytes = self.written();
        reseal(&mut bytes);
        bytes
    }

    fn metadata_changed(&mut self, rng: &mut Rng) {
        let keys: Vec<String> = self.metadata.keys().cloned().collect();
        if keys.is_empty() {
            return;
        }
        let key = keys[rng.below(keys.len())].clone();
        let new = rng.word(";0;1;2;-1;{};null");
        match rng.below(3) {
            0 => drop(self.metadata.remove(&key)),
            1 => drop(self.metadata.insert("lapwing.kind".into(), rng.word(KINDS).into())),
            _ => drop(self.metadata.insert(key, new.into())),
        }
    }

    fn array_changed(&mut self, mutator: &mut Mutator<'_>) {
        if self.arrays.is_empty() {
            return;
        }
        let at = mutator.rng.below(self.arrays.len());
        let rng = &mut mutator.rng;
        match rng.below(10) {
            0 => drop(self.arrays.remove(at)),
            1 => self.arrays[at].retyped(rng),
            2 => self.arrays[at].reshaped(rng),
            3..=4 => self.arrays[at].resized(rng),
            5 => {
                let other = rng.below(self.arrays.len());
                self.arrays[at].name = self.arrays[other].name.clone();
            }
            6 => mutator.blindly(&mut self.arrays[at].data),
            _ => value(rng, &mut self.arrays[at].data),
        }
    }
}

impl Array {
    /// Number of elements.
    fn len(&self) -> usize {
        self.data.len() / width_of(&self.dtype)
    }

    /// Writes an element in its type.
    fn put(&mut self, place: usize, value: f64) {
        let width = width_of(&self.dtype);
        let bytes = match self.dtype.as_str() {
            "F64" => value.to_le_bytes().to_vec(),
            "F32" => (value as f32).to_le_bytes().to_vec(),
            _ if value < 0.0 => vec![0xFF; width],
            _ => (value as u64).to_le_bytes()[..width].to_vec(),
        };
        self.data[place * width..][..width].copy_from_slice(&bytes);
    }

    /// The values of a floating-point type; none of others.
    fn reals(&self) -> Vec<f64> {
        match self.dtype.as_str() {
            "F64" => self.data.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect(),
            "F32" => self.data.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes).into()).collect(),
            _ => Vec::new(),
        }
    }

    /// Makes the bytes those of another type, with a fitting last dimension.
    fn retyped(&mut self, rng: &mut Rng) {
        let (name, width) = rng.of(DTYPES);
        let before: u64 = self.shape.iter().rev().skip(1).product::<u64>().max(1);
        if let Some(last) = self.shape.last_mut() {
            *last = self.data.len() as u64 / width as u64 / before;
        }
        name.clone_into(&mut self.dtype);
    }

    /// Changes the shape and keeps the values.
    fn reshaped(&mut self, rng: &mut Rng) {
        match rng.below(4) {
            0 => self.shape.reverse(),
            1 => self.shape.push(1),
            2 => drop(self.shape.pop()),
            _ => {
                let at = rng.below(self.shape.len());
                if let Some(dim) = self.shape.get_mut(at) {
                    *dim = rng.edge(*dim);
                }
            }
        }
    }

    /// Changes the length of a dimension, with as many values as the shape needs.
    fn resized(&mut self, rng: &mut Rng) {
        let at = rng.below(self.shape.len());
        let Some(dim) = self.shape.get_mut(at) else { return };
        *dim = match rng.below(4) {
            0 => 0,
            1 => *dim + 1,
            2 => *dim * 2,
            _ => dim.saturating_sub(1),
        };
        let count = self.shape.iter().try_fold(width_of(&self.dtype) as u64, |count, &dim| count.checked_mul(dim));
        if let Some(length) = count.filter(|count| *count < 1 << 14) {
            self.data.resize(length as usize, 0);
        }
    }
}

fn width_of(dtype: &str) -> usize {
    DTYPES.iter().find(|(name, _)| *name == dtype).map_or(1, |(_, width)| *width)
}

/// Replaces, removes or repeats one value of the settings.
fn settings(rng: &mut Rng, value: &mut Value) {
    match value {
        Value::Object(fields) if !fields.is_empty() && !rng.one_in(12) => {
            let keys: Vec<String> = fields.keys().cloned().collect();
            let key = &keys[rng.below(keys.len())];
            if rng.one_in(12) {
                fields.remove(key);
            } else if let Some(field) = fields.get_mut(key) {
                settings(rng, field);
            }
        }
        Value::Array(items) if !items.is_empty() && !rng.one_in(6) => {
            let at = rng.below(items.len());
            match rng.below(8) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                _ => settings(rng, &mut items[at]),
            }
        }
        _ => *value = other(rng, value),
    }
}

fn other(rng: &mut Rng, value: &Value) -> Value {
    let number = value.as_f64().unwrap_or(1.0);
    match rng.below(12) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(""),
        3 => json!(["a", "b"]),
        4 => json!([]),
        5 => json!({}),
        6 => json!(rng.of(&[0.0, -0.0, -1.0, 1e300, -1e300, 1e-300, 5e-324, 0.5, 1e18])),
        7 => json!(number * rng.of(&[2.0, 0.5, -1.0, 1e9, 1e-9])),
        8 => json!(rng.word(VALUES)),
        _ => json!(rng.edge(value.as_u64().unwrap_or(1))),
    }
}

/// Changes the length of the header, or bytes anywhere.
fn header(rng: &mut Rng, bytes: &mut [u8]) {
    let at = if rng.one_in(2) { rng.below(8) } else { rng.below(bytes.len()) };
    write_number(rng, &mut bytes[at..]);
}
