//! Class sizes among given labels and among all labels.

use lapwing::data::ClassNames;
use serde::Serialize;

use super::page::Figure;
use super::palette::Palette;
use super::svg::Svg;
use crate::text::{count, percent};

const LEFT: f64 = 120.0;
const RIGHT: f64 = 118.0;
const WIDTH: f64 = 560.0;
const ROW: f64 = 30.0;

/// The size of a class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassSize {
    /// The name of the class.
    pub name: String,
    /// Rows with this label given.
    pub given: usize,
    /// Rows with this label at the end, given ones included.
    pub inferred: usize,
}

impl ClassSize {
    /// The sizes of all classes, from the given class of each row (negative for none) and its class at the end.
    pub fn of_rows(classes: &ClassNames, given: &[i32], labels: &[Option<usize>]) -> Vec<Self> {
        let mut sizes: Vec<Self> =
            classes.names().into_iter().map(|name| Self { name, given: 0, inferred: 0 }).collect();
        for &class in given {
            if let Some(size) = usize::try_from(class).ok().and_then(|class| sizes.get_mut(class)) {
                size.given += 1;
            }
        }
        for &class in labels.iter().flatten() {
            if let Some(size) = sizes.get_mut(class) {
                size.inferred += 1;
            }
        }
        sizes
    }
}

/// Two bars for each class: its share of the given labels, and of all labels at the end.
pub fn class_sizes(sizes: &[ClassSize], palette: &Palette) -> Figure {
    let given: usize = sizes.iter().map(|size| size.given).sum();
    let inferred: usize = sizes.iter().map(|size| size.inferred).sum();
    let share = |n: usize, of: usize| n as f64 / of.max(1) as f64;
    let shown = shown(sizes, palette);
    // The sum of the other classes is a text: a bar for it could be much longer than those of the classes.
    let most = shown
        .iter()
        .filter(|(class, _)| class.is_some())
        .map(|(_, s)| share(s.given, given).max(share(s.inferred, inferred)))
        .fold(1e-9, f64::max);
    let width = |share: f64| (share / most * (WIDTH - LEFT - RIGHT)).max(1.0);

    let caption = "Share of each class among the labels given (thin bar) and among all rows at the end (thick bar); the \
                   numbers are rows.";
    let height = ROW * shown.len() as f64 + 12.0;
    let mut svg = Svg::new(WIDTH, height, "Class sizes", caption);
    for (line, (class, size)) in shown.iter().enumerate() {
        let y = 6.0 + ROW * line as f64;
        svg.text((LEFT - 10.0, y + 18.0), "label end", &shortened(&size.name, 16));
        let text = format!("{} → {}", count(size.given), count(size.inferred));
        let Some(class) = class else {
            svg.text((LEFT, y + 18.0), "tick start", &text);
            continue;
        };
        let (before, after) = (share(size.given, given), share(size.inferred, inferred));
        let given_text = format!("{}: {} given ({})", size.name, count(size.given), percent(before));
        let inferred_text = format!("{}: {} at the end ({})", size.name, count(size.inferred), percent(after));
        let color = format!("mark {}", palette.color(*class));
        svg.rect((LEFT, y + 3.0), (width(before), 5.0), &format!("{color} pale"), &given_text);
        svg.rect((LEFT, y + 10.0), (width(after), 13.0), &color, &inferred_text);
        svg.text((LEFT + width(before.max(after)) + 8.0, y + 18.0), "tick start", &text);
    }
    let layout = if shown.len() > 12 { " tall" } else { "" };
    Figure { layout, ..Figure::new("Class sizes", caption.to_owned(), svg) }
}

/// The colored classes, and one line with the sum of the others.
fn shown(sizes: &[ClassSize], palette: &Palette) -> Vec<(Option<usize>, ClassSize)> {
    let mut shown: Vec<_> = palette.colored().map(|class| (Some(class), sizes[class].clone())).collect();
    let n_others = sizes.len() - shown.len();
    if n_others > 0 {
        let others = (0..sizes.len()).filter(|&class| !palette.has_color(class)).map(|class| &sizes[class]);
        let add = |sum: ClassSize, size: &ClassSize| ClassSize {
            given: sum.given + size.given,
            inferred: sum.inferred + size.inferred,
            ..sum
        };
        let none = ClassSize { name: format!("{} others", count(n_others)), given: 0, inferred: 0 };
        shown.push((None, others.fold(none, add)));
    }
    shown
}

/// A name, cut to `most` characters.
pub fn shortened(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.into();
    }
    name.chars().take(most - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_classes_are_summed_up() {
        let sizes: Vec<_> = (0..25).map(|i| ClassSize { name: i.to_string(), given: 1, inferred: 10 }).collect();
        let shown = shown(&sizes, &Palette::new(&[10; 25]));
        assert_eq!((shown.len(), shown[20].1.name.as_str(), shown[20].1.inferred), (21, "5 others", 50));
        assert_eq!(shortened("Iris versicolor", 8), "Iris ve…");
    }
}
