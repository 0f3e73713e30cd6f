//! A mapped file that is cut short while it is read is an error that names it. Alone in its test program: the loss is told to every run
//! of the process that was going on.
#![cfg(unix)]

use std::fs::File;
use std::path::{Path, PathBuf};

use lapwing_core::mapped::check_files;
use lapwing_core::model_file::{ModelFile, Must};
use lapwing_core::{DenseValues, Error, Features, Run};
use lapwing_table::read::ReadOptions;
use lapwing_table::read_samples;

/// A `.npy` file of `n` rows and four columns of ones.
fn npy(folder: &tempfile::TempDir, name: &str, n: usize) -> PathBuf {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({n}, 4), }}");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{header:<117}\n").bytes());
    bytes.extend([1.0f32; 4].iter().cycle().take(4 * n).flat_map(|x| x.to_le_bytes()));
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn cut(path: &Path, length: u64) {
    File::options().write(true).open(path).unwrap().set_len(length).unwrap();
}

fn features(path: &Path, run: &Run) -> Features<'static> {
    read_samples(path, &ReadOptions::default(), run).unwrap().features
}

fn values<'f>(features: &'f Features<'_>) -> &'f [f32] {
    match features {
        Features::Dense(dense) => match dense.values() {
            DenseValues::F32(values) => values.as_slice(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn names(error: &Error, path: &Path) {
    assert!(matches!(error, Error::Io { path: named, .. } if named == path), "{error}");
    assert!(error.to_string().contains("cut short"), "{error}");
}

#[test]
fn a_file_that_is_cut_short_is_named() {
    let (folder, run) = (tempfile::tempdir().unwrap(), Run::new(Some(2), 0).unwrap());
    let [whole, short, small] = ["whole.npy", "short.npy", "small.npy"].map(|name| npy(&folder, name, 20_000));
    let (kept, lost) = (features(&whole, &run), features(&short, &run));
    assert!(values(&lost).iter().all(|x| *x == 1.0) && check_files().is_ok());
    cut(&short, 128 + 16 * 500);
    // Two threads come to what is gone.
    std::thread::scope(|scope| {
        let sums = [0, 1].map(|_| scope.spawn(|| values(&lost).iter().map(|x| f64::from(*x)).sum::<f64>()));
        sums.into_iter().for_each(|sum| assert_eq!(sum.join().unwrap(), 2000.0));
    });
    let later = Run::new(Some(1), 0).unwrap();
    for error in [run.check().unwrap_err(), lost.check(&later).unwrap_err(), check_files().unwrap_err()] {
        names(&error, &short);
    }
    // It is one file that is lost, and runs that begin later do without it.
    assert!(kept.check(&later).is_ok() && later.check().is_ok());
    drop(lost);
    names(&run.check().unwrap_err(), &short);

    // Within the last page nothing is told by the system.
    let tail = features(&small, &later);
    let length = std::fs::metadata(&small).unwrap().len();
    cut(&small, length - 4);
    names(&tail.check(&later).unwrap_err(), &small);

    // Models are mapped too.
    let path = folder.path().join("model");
    let mut model = ModelFile::new("harmonic", serde_json::json!({}));
    model.insert("scores", &[50_000, 1], vec![0.5f64; 50_000]).unwrap();
    model.save(&path).unwrap();
    let loaded = ModelFile::load(&path).unwrap();
    assert!(loaded.check_file().is_ok());
    cut(&path, 5000);
    let read =
        loaded.numbers::<f64>("scores", &[None, None], Must::Finite).map(|(_, values)| values.as_slice().to_vec());
    assert_eq!(read.unwrap()[49_999], 0.0);
    names(&loaded.check_file().unwrap_err(), &path);

    // The memory of what is gone serves again.
    let again = npy(&folder, "again.npy", 20_000);
    let fresh = Run::new(Some(1), 0).unwrap();
    assert!(features(&again, &fresh).check(&fresh).is_ok());
}

/// A fault that is none of ours ends the process as before.
#[test]
fn other_faults_stay_faults() {
    let folder = tempfile::tempdir().unwrap();
    let marker = "LAPWING_TEST_FAULT";
    if let Some(path) = std::env::var_os(marker) {
        let path = PathBuf::from(path);
        let run = Run::new(Some(1), 0).unwrap();
        let _mapped = features(&path, &run);
        let other = path.with_file_name("other");
        std::fs::write(&other, vec![1u8; 100_000]).unwrap();
        let file = File::open(&other).unwrap();
        // SAFETY: the pages are only read, and that is to fail.
        let map = unsafe { memmap2::Mmap::map(&file) }.unwrap();
        cut(&other, 0);
        std::process::exit(i32::from(map[50_000]));
    }
    let path = npy(&folder, "rows.npy", 2000);
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["other_faults_stay_faults", "--exact"])
        .env(marker, &path)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(status.signal(), Some(libc::SIGBUS), "{status:?}");
}
