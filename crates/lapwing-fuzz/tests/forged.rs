//! A model of every kind with one number forged, in a container that is sound: it is refused, or its predictions are finite shares.

use lapwing_fuzz::judge::judge;
use lapwing_fuzz::mutate::each_forged;
use lapwing_fuzz::{Bench, Target};

#[test]
fn every_number_of_every_kind_is_checked() {
    let bench = Bench::new().unwrap();
    let target = Target::named("forged-model").unwrap();
    let seeds = (target.seeds)(&bench);
    assert!(seeds.len() > 12, "{}", seeds.len());
    let mut defects = Vec::new();
    for (kind, bytes) in &seeds {
        let (mut n_files, mut n_refused) = (0, 0);
        each_forged(bytes, |what, file| match judge(&bench, target, &file) {
            Ok(answer) => {
                n_files += 1;
                n_refused += usize::from(answer == lapwing_fuzz::judge::Answer::Refused);
            }
            Err(defect) => defects.push(format!("{kind}, {what}: {}", defect.words)),
        });
        assert!(n_files > 40 && n_refused > 10, "{kind}: {n_refused} of {n_files} refused");
    }
    assert!(defects.is_empty(), "{} defects:\n{}", defects.len(), defects.join("\n"));
}
