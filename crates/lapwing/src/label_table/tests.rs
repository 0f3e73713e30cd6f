//! Labels kept by a run that was stopped.

use std::sync::Mutex;

use lapwing_core::publish::publish_all;
use lapwing_core::{Alone, Features, GeneratedRows, Labels, Targets};
use lapwing_models::{MethodParams, Problem, method};

use super::*;

const N: usize = 5000;
const BLOCK: usize = 700;

#[test]
fn labels_that_an_earlier_run_kept_are_not_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let (kept, classes) = (folder.path().join("kept"), ClassNames::Integers(vec![0, 1]));
    let (source, run) = (GeneratedRows::new(N, 2, 2, 1).unwrap(), Run::new(Some(2), 0).unwrap());
    let fitted = Features::from_f32(100, 2, (0..200).map(|at| (at * 37 % 100) as f32 / 10.0).collect()).unwrap();
    let given = Labels::from_integers((0..100).map(|row| (row < 10).then_some(row % 2)));
    let targets = Targets::one_hot(&given, None).unwrap();
    let problem = Problem { features: Some(&fitted), ..Problem::new(&targets) };
    let fitted = method("harmonic", &MethodParams::default()).unwrap().fit(&problem, &run).unwrap();
    let classifier = Classifier::of(fitted, classes.clone()).unwrap();

    // Labels the rows up to `end`, and is stopped there.
    let write = |name: &str, kept: Option<(&Path, &str)>, end: usize| {
        let (path, starts) = (folder.path().join(name), Mutex::new(Vec::new()));
        let table =
            LabelTable { path: &path, classes: &classes, probabilities: true, names: None, kept: None, data: None };
        let each: &LabelsOf<'_> = &|rows, run, take| {
            starts.lock().unwrap().push(rows.start);
            for first in rows.clone().step_by(BLOCK) {
                if first >= end {
                    return Err(Error::Interrupted);
                }
                classifier.predict_rows(&source, first..rows.end.min(first + BLOCK), run, take)?;
            }
            Ok(())
        };
        let certifies = classifier.extension.certifies();
        let (source, classes) = (&source, &classes);
        let labels = RowLabels { source, classes, probabilities: true, fills: false, certifies, kept, each };
        let mut n_noted = 0;
        let table = labels.write(Some(table), &Alone, &run, &mut |_, block| n_noted += block.labels.len())?;
        let counts = (n_noted, table.n_unreached, table.n_open);
        publish_all(table.files)?;
        Ok::<_, Error>((std::fs::read(path).unwrap(), counts, starts.into_inner().unwrap()))
    };
    for name in ["labels.csv", "labels.parquet"] {
        let whole = write(name, None, N).unwrap();
        assert!(matches!(write(name, Some((&kept, name)), 4 * BLOCK), Err(Error::Interrupted)));
        let again = write(name, Some((&kept, name)), N).unwrap();
        assert!((&again.0, again.1) == (&whole.0, whole.1), "{name}");
        assert_eq!((whole.2, again.2), (vec![0], vec![4 * BLOCK]));
        // Other labels begin anew.
        assert_eq!(write(name, Some((&kept, "others")), N).unwrap().2, [0]);
    }
}
