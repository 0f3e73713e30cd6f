//! Reports of lapwing, for people: summaries as lines of name and value, and pages of HTML.
//!
//! A page is one file, which loads nothing and runs no script. The program and the Python package write the same pages.

mod audit;
mod axis;
mod compare;
mod confusion;
mod coordinates;
mod doubt;
mod fit;
mod fitted_rows;
mod graph;
mod histogram;
mod next;
mod page;
mod palette;
mod parts;
mod picture;
mod reliability;
mod sizes;
pub mod summary;
mod svg;
pub mod text;
mod thumbnails;

pub use audit::AuditPage;
pub use compare::comparison;
pub use confusion::accuracy;
pub use coordinates::{Axes, Picture};
pub use doubt::by_doubt;
pub use fit::{FitPage, Origin};
pub use fitted_rows::FittedRows;
pub use graph::graph_page;
pub use page::{Page, Table, stage_page};
pub use parts::Parts;
pub use sizes::ClassSize;
pub use summary::texts;
