//! Harmonic functions without some of the labels: scores of labeled rows that did not see their own label, in folds.
//!
//! For forms and decisions without leave-one-out scores. Cost: one solve for each fold, so only for small problems.

use lapwing_core::{Matrix, Result, Run, Targets};
use lapwing_graph::{Components, Graph};

use super::function::solve;
use super::leave_one_out::center_rows;
use super::level::Level;
use super::params::{Certify, Form, HarmonicParams};
use super::prior::Prior;
use super::solving::Solving;
use crate::Rule;
use crate::core::calibration::has_enough;
use crate::core::held_out::Standings;
use crate::core::scores::present;

/// Most scores (rows × classes) of a problem that is solved again.
const MOST_VALUES: usize = 1 << 20;

/// Whether labels are enough for a temperature and the problem is small enough to be solved again.
pub(super) fn applies(targets: &Targets) -> bool {
    let c = targets.n_columns();
    c > 1 && has_enough(targets) && targets.n_samples().saturating_mul(c) <= MOST_VALUES
}

/// A problem to be solved without some of its labels.
pub(super) struct Refit<'r> {
    pub graph: &'r Graph,
    pub components: &'r Components,
    pub params: &'r HarmonicParams,
    pub prior: Option<Prior<'r>>,
    pub level: Level,
}

impl Refit<'_> {
    /// Scores of each label's row without the labels of its fold; `None` if labels are shares of classes.
    pub fn folded(&self, targets: &Targets, run: &Run) -> Result<Option<Standings>> {
        let c = targets.n_columns();
        let mean = targets.mean();
        let as_they_are = Rule {
            offset: vec![0.0; c],
            scale: present(&mean),
            temperature: None,
            flattened: false,
            venn_abers: None,
            prior: mean,
        };
        let params = HarmonicParams { certify: Certify::Off, ..self.params.clone() };
        Standings::by_folds(targets, &as_they_are, run, |kept, rows, run| {
            let solving = Solving {
                graph: self.graph,
                components: self.components,
                targets: kept,
                params: &params,
                prior: self.prior,
                refiner: None,
                influence: false,
                start: None,
            };
            let mut function = solve(&solving, run)?;
            if self.level.is_of_rows() && function.form != Form::Stable {
                center_rows(&mut function, self.level);
            }
            let scores = rows.iter().flat_map(|&row| function.scores.row(row as usize).to_vec()).collect();
            Matrix::new(rows.len(), c, scores)
        })
    }
}
