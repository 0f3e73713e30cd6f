//! Model files are read back as they were written, and damaged ones are refused.

use proptest::prelude::*;

use super::*;

fn model() -> ModelFile {
    let mut model = ModelFile::new("harmonic", json!({ "classes": [1, 2] }));
    model.insert("bytes", &[3], vec![1u8, 2, 3]).unwrap();
    model.insert("scores", &[2, 2], vec![0.5f64, 1.5, -2.0, 0.25]).unwrap();
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
    let (shape, scores) = loaded.numbers::<f64>("scores", &[None, Some(2)], Must::Finite).unwrap();
    assert_eq!((shape, &scores.as_slice()[..3]), (&[2, 2][..], &[0.5, 1.5, -2.0][..]));
    assert!(matches!(scores, Buffer::Mapped(_)));
    assert_eq!(loaded.array::<u8>("bytes", &[Some(3)]).unwrap().1.as_slice(), [1, 2, 3]);
    assert_eq!(loaded.csr::<f64>("graph", Must::Finite).unwrap(), model().csr("graph", Must::Finite).unwrap());
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
    assert!(text(model.numbers::<f64>("absent", &[], Must::Finite).unwrap_err()).contains("'absent' is missing"));
    assert!(
        text(model.numbers::<f32>("scores", &[None, None], Must::Finite).unwrap_err())
            .contains("holds f64; expected f32")
    );
    let shape = model.numbers::<f64>("scores", &[None, Some(3)], Must::Finite).unwrap_err();
    assert!(text(shape).contains("has shape (2, 2); expected (any, 3)"));
    assert!(text(model.csr::<f32>("graph", Must::Finite).unwrap_err()).contains("graph.values"));
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
            let _ = (model.csr::<f64>("graph", Must::Finite), model.numbers::<f64>("scores", &[None, None], Must::Finite));
        }
    }
}

#[test]
fn a_model_file_is_complete_or_the_older_one_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.lapwing");
    let mut file = ModelFile::new("harmonic", json!({"a": 1}));
    file.insert("scores", &[300_000, 1], vec![0.5; 300_000]).unwrap();
    let mut n_failed = 0;
    crate::publish::faults::each_call_fails(
        || {
            std::fs::write(&path, "older").unwrap();
            file.save(&path)
        },
        |call, done| {
            n_failed += usize::from(call.is_some());
            assert_eq!(done.is_err(), call.is_some(), "call {call:?}");
            assert_eq!(std::fs::read(&path).unwrap() == b"older", call.is_some(), "call {call:?}");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "call {call:?}");
        },
    );
    // Creating, writing, syncing and renaming a file take at least one call each.
    assert!(n_failed >= 4, "{n_failed} calls");
}
