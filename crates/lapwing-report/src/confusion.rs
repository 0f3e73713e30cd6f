//! Which classes are taken for which others, where the truth is known.

use std::collections::BTreeMap;

use lapwing::data::Features;

use super::fitted_rows::FittedRows;
use super::page::{Figure, Table};
use super::palette::COLORS;
use super::sizes::shortened;
use super::svg::Svg;
use super::thumbnails;
use crate::text::{count, percent};

const LEFT: f64 = 120.0;
const TOP: f64 = 30.0;
const SIDE: f64 = 430.0;
/// The most characters of a class's name.
const NAME_CHARS: usize = 14;
/// Pairs of classes in the table.
const MOST_PAIRS: usize = 20;

/// Share of the labels that are right, of those without a given label whose truth is known; none if there are none.
pub fn accuracy(rows: &FittedRows<'_>) -> Option<f64> {
    let (right, all) = rows
        .checked()
        .fold((0usize, 0usize), |(right, all), (_, truth, label)| (right + usize::from(truth == label), all + 1));
    (all > 0).then(|| right as f64 / all as f64)
}

/// A square for each true class (line) and label (column), as dark as its share of the class; none with many classes.
pub fn figure(rows: &FittedRows<'_>, names: &[String]) -> Option<Figure> {
    let n = names.len();
    let mut counts = vec![vec![0usize; n]; n];
    rows.checked().for_each(|(_, truth, label)| counts[truth][label] += 1);
    let all: usize = counts.iter().flatten().sum();
    if all == 0 || !(2..=COLORS).contains(&n) {
        return None;
    }
    let title = "Right and wrong labels";
    let caption = format!(
        "True class (line) and label (column) of {} rows whose label was not given. Each square shows the share of the true class.",
        count(all)
    );
    let cell = (SIDE / n as f64).min(56.0);
    let mut svg = Svg::new(LEFT + cell * n as f64 + 10.0, TOP + cell * n as f64 + 8.0, title, &caption);
    for (line, (name, counts)) in names.iter().zip(&counts).enumerate() {
        let y = TOP + cell * line as f64;
        let total = counts.iter().sum::<usize>().max(1);
        svg.text((LEFT - 8.0, y + cell / 2.0 + 4.0), "label end", &shortened(name, NAME_CHARS));
        for (column, &at) in counts.iter().enumerate() {
            let (x, share) = (LEFT + cell * column as f64, at as f64 / total as f64);
            let tooltip = format!("{name}, labeled {}: {} rows ({})", names[column], count(at), percent(share));
            svg.shade((x + 0.5, y + 0.5), (cell - 1.0, cell - 1.0), share, &tooltip);
            if at > 0 && cell >= 24.0 {
                let class = if share > 0.5 { "on-shade middle" } else { "tick middle" };
                svg.text((x + cell / 2.0, y + cell / 2.0 + 4.0), class, &count(at));
            }
        }
        let heading = shortened(name, ((cell / 7.5) as usize).max(2));
        svg.text((LEFT + cell * (line as f64 + 0.5), TOP - 8.0), "label middle", &heading);
    }
    Some(Figure { layout: if n > 6 { " tall" } else { "" }, ..Figure::new(title, caption, svg) })
}

/// The most frequent errors, each with the row whose wrong label is the most confident; none without any error.
pub fn table(rows: &FittedRows<'_>, names: &[String], features: Option<&Features<'_>>) -> Option<Table> {
    let mut pairs: BTreeMap<(usize, usize), (usize, usize)> = BTreeMap::new();
    let mut sizes = vec![0usize; names.len()];
    for (row, truth, label) in rows.checked() {
        sizes[truth] += 1;
        if truth != label {
            let (n, surest) = pairs.entry((truth, label)).or_insert((0, row));
            *n += 1;
            if rows.confidence[row] > rows.confidence[*surest] {
                *surest = row;
            }
        }
    }
    let mut pairs: Vec<_> = pairs.into_iter().collect();
    pairs.sort_by(|a, b| b.1.0.cmp(&a.1.0).then(a.0.cmp(&b.0)));
    let line = thumbnails::lines(features);
    let lines = pairs.iter().take(MOST_PAIRS).map(|&((truth, label), (n, surest))| {
        let share = percent(n as f64 / sizes[truth] as f64);
        line(surest, vec![names[truth].clone(), names[label].clone(), count(n), share, rows.name(surest)])
    });
    let heads = ["true class", "label", "rows", "of the class", "such a row"];
    (!pairs.is_empty()).then(|| Table::new("Most frequent errors", &heads, lines))
}

#[cfg(test)]
mod tests {
    use lapwing::data::{ClassNames, Labels, Matrix};

    use super::*;

    #[test]
    fn only_rows_without_a_given_label_count() {
        let given = Labels { classes: ClassNames::Texts(vec!["a".into(), "b".into()]), index: vec![0, -1, -1, -1, -1] };
        let shares = Matrix::filled(5, 2, 0.5);
        let rows = FittedRows {
            given: &given,
            labels: &[Some(0), Some(0), Some(1), Some(1), None],
            shares: &shares,
            confidence: &[1.0, 0.9, 0.6, 0.8, 0.5],
            reached: &[true, true, true, true, false],
            truth: Some(&[1, 0, 0, 0, 1]),
            names: None,
        };
        assert_eq!(accuracy(&rows), Some(1.0 / 3.0));
        let names = given.classes.names();
        let table = table(&rows, &names, None).unwrap();
        assert_eq!(table.lines.len(), 1);
        assert_eq!(table.lines[0].cells, ["a", "b", "2", "66.7 %", "3"]);
        assert!(figure(&rows, &names).unwrap().svg.contains("a, labeled b: 2 rows (66.7 %)"));
        let unknown = FittedRows { truth: None, ..rows };
        assert!(accuracy(&unknown).is_none() && figure(&unknown, &names).is_none());
    }
}
