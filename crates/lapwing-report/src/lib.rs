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
mod picture;
mod reliability;
mod sizes;
pub mod summary;
mod svg;
pub mod text;
mod thumbnails;

use std::path::Path;

use lapwing::data::{Report, Result};
use lapwing_core::publish::{Staged, stage_atomic};

pub use audit::AuditPage;
pub use compare::ComparePage;
pub use confusion::accuracy;
pub use coordinates::{Axes, Picture};
pub use doubt::by_doubt;
pub use fit::{FitPage, Origin};
pub use fitted_rows::FittedRows;
pub use graph::graph_page;
pub use page::Table;
pub use sizes::ClassSize;

/// Writes a complete page under a temporary name.
pub fn stage_page(path: &Path, html: &str) -> Result<Staged> {
    stage_atomic(path, |out| out.write_all(html.as_bytes()))
}

/// The texts of the warnings of a report.
pub fn texts(report: &Report) -> Vec<String> {
    report.warnings.iter().map(ToString::to_string).collect()
}

/// The number of colors for classes (see `style.css`). Further classes share a gray.
const COLORS: usize = 20;

/// Style class for the color of the class or method of this rank.
fn color(rank: usize) -> String {
    if rank < COLORS { format!("k{rank}") } else { "other".into() }
}

/// Ranks of the classes, which decide on their colors: by class order, or by size if there are more classes than colors.
struct Palette(Vec<usize>);

impl Palette {
    fn new(classes: &[ClassSize]) -> Self {
        let mut rank: Vec<usize> = (0..classes.len()).collect();
        if classes.len() > COLORS {
            let mut order = rank.clone();
            order.sort_by_key(|&class| std::cmp::Reverse(classes[class].inferred));
            order.into_iter().enumerate().for_each(|(at, class)| rank[class] = at);
        }
        Self(rank)
    }

    /// Classes that have a color of their own, in class order.
    fn colored(&self) -> impl Iterator<Item = usize> {
        (0..self.0.len()).filter(|&class| self.has_color(class))
    }

    fn has_color(&self, class: usize) -> bool {
        self.0[class] < COLORS
    }

    /// Style class for the color of a class.
    fn color(&self, class: usize) -> String {
        self.0.get(class).map_or_else(|| color(COLORS), |&rank| color(rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_classes_are_colored() {
        let class = |i: usize| ClassSize { name: i.to_string(), given: 1, inferred: i };
        let few = Palette::new(&(0..3).map(class).collect::<Vec<_>>());
        assert_eq!([few.color(0), few.color(2)], ["k0", "k2"]);
        let many = Palette::new(&(0..25).map(class).collect::<Vec<_>>());
        assert_eq!([many.color(24), many.color(5), many.color(4)], ["k0", "k19", "other"]);
        assert_eq!(many.colored().collect::<Vec<_>>(), (5..25).collect::<Vec<_>>());
    }
}
