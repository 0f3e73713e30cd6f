//! The label loop: which rows to label next, which labels to doubt, and sets of classes that hold the right one.
//!
//! People label some rows, look, and label more. [`Suggester`] says which rows to look at next, [`audit()`] which of the given
//! labels are probably wrong, and [`prediction_sets()`] which classes a row may have. All of them work on one graph and on one matrix,
//! that of `core/smoother/`; its potential is large where labels are far, and its diagonal gives the scores of every labeled row
//! without its own label.

mod audit;
mod cover;
mod jackknife;
mod plan;
mod sets;
mod suggest;

pub use crate::core::smoother::leave_one_out::{Centering, leave_one_out_scores};
pub use audit::{Audit, AuditParams, AuditSummary, ClassPair, NewClass, RegressionAudit, audit, audit_regression};
pub use jackknife::{Intervals, jackknife_plus};
pub use plan::plan_loop;
pub use sets::{PredictionSets, SetsParams, SetsSummary, least_labels, prediction_sets};
pub use suggest::{Reason, Strategy, SuggestParams, SuggestSummary, Suggester, Suggestion, Suggestions, Wanted};
