//! Divides a harmonic problem into linear systems: the rows of the graph that are solved together, and their labels.

use std::borrow::Cow;

use lapwing_core::{Matrix, Result, Targets};
use lapwing_graph::{Components, Graph};

/// The rows of one system and their labels.
pub(crate) struct Labeled {
    /// The rows, ascending; `None` for all reached rows.
    rows: Option<Vec<u32>>,
    /// Whether these are all rows of the graph.
    is_whole: bool,
    /// Positions of the labels among all labels.
    labels: Vec<usize>,
}

/// The labeled components, each by itself.
pub(crate) fn by_component(components: &Components, targets: &Targets) -> Vec<Labeled> {
    let mut number = vec![u32::MAX; components.sizes.len()];
    let mut parts: Vec<Labeled> = Vec::new();
    for (at, &row) in targets.rows().iter().enumerate() {
        let id = components.id[row as usize] as usize;
        if number[id] == u32::MAX {
            number[id] = parts.len() as u32;
            let is_whole = components.sizes.len() == 1;
            let rows = Vec::with_capacity(components.sizes[id]);
            parts.push(Labeled { rows: Some(rows), is_whole, labels: Vec::new() });
        }
        parts[number[id] as usize].labels.push(at);
    }
    for (row, &id) in components.id.iter().enumerate() {
        if let Some(rows) = parts.get_mut(number[id as usize] as usize).and_then(|part| part.rows.as_mut()) {
            rows.push(row as u32);
        }
    }
    parts
}

impl Labeled {
    /// All reached rows in one system.
    pub fn all(reached: &[bool], targets: &Targets) -> Self {
        let is_whole = reached.iter().all(|reached| *reached);
        Self { rows: None, is_whole, labels: (0..targets.rows().len()).collect() }
    }

    pub fn rows<'a>(&'a self, reached: &'a [bool]) -> Box<dyn Iterator<Item = usize> + 'a> {
        match &self.rows {
            Some(rows) => Box::new(rows.iter().map(|&row| row as usize)),
            None => Box::new((0..reached.len()).filter(|&row| reached[row])),
        }
    }

    /// The common value of the labels if they are all equal.
    pub fn only_value<'t>(&self, targets: &'t Targets) -> Option<&'t [f64]> {
        let (first, rest) = self.labels.split_first()?;
        let value = targets.values().row(*first);
        rest.iter().all(|&at| targets.values().row(at) == value).then_some(value)
    }

    /// Weighted mean of the labels (c).
    pub fn mean(&self, targets: &Targets) -> Vec<f64> {
        let total: f64 = self.labels.iter().map(|&at| targets.weights()[at]).sum();
        let mut mean = vec![0.0; targets.n_columns()];
        for &at in &self.labels {
            let weight = targets.weights()[at] / total;
            mean.iter_mut().zip(targets.values().row(at)).for_each(|(mean, y)| *mean += weight * y);
        }
        mean
    }
}

/// The subgraph of one system.
pub(crate) struct Part<'a> {
    /// Row numbers in the whole graph; `None` if the part is the whole graph.
    pub rows: Option<Vec<u32>>,
    pub graph: Cow<'a, Graph>,
    /// Labeled rows, by their number in the part.
    pub labeled: Vec<u32>,
    /// Positions of these labels among all labels.
    pub labels: Vec<usize>,
}

impl<'a> Part<'a> {
    /// Cuts the part out of the graph; `place` is scratch space of [`Graph::part`].
    pub fn new(
        graph: &'a Graph,
        labeled: Labeled,
        reached: &[bool],
        targets: &Targets,
        place: &mut Vec<u32>,
    ) -> Result<Self> {
        let Labeled { rows, is_whole, labels } = labeled;
        let row_of = |at: &usize| targets.rows()[*at];
        if is_whole {
            let graph = Cow::Borrowed(graph);
            return Ok(Self { rows: None, graph, labeled: labels.iter().map(row_of).collect(), labels });
        }
        let rows = rows.unwrap_or_else(|| kept_rows(reached));
        let graph = Cow::Owned(graph.part(&rows, place)?);
        let labeled = labels.iter().map(|at| place[row_of(at) as usize]).collect();
        Ok(Self { rows: Some(rows), graph, labeled, labels })
    }

    pub fn n(&self) -> usize {
        self.graph.n_samples()
    }

    /// Number in the whole graph of row `row` of the part.
    pub fn whole(&self, row: usize) -> usize {
        self.rows.as_ref().map_or(row, |rows| rows[row] as usize)
    }

    /// Writes the scores of the part's rows, `centered` plus `level`. If the last column was not solved for, it is minus the sum
    /// of the others.
    pub fn spread(&self, centered: &Matrix, level: &[f64], is_last_implied: bool, scores: &mut Matrix) {
        let solved = centered.n_cols();
        for (row, values) in centered.rows().enumerate() {
            let out = scores.row_mut(self.whole(row));
            out[..solved].copy_from_slice(values);
            if is_last_implied {
                out[solved] = -values.iter().sum::<f64>();
            }
            out.iter_mut().zip(level).for_each(|(out, level)| *out += level);
        }
    }
}

/// Rows below n that are not among `rows`; both ascending.
pub(crate) fn rows_beside(n: usize, rows: &[u32]) -> Vec<u32> {
    let mut rest = rows.iter().peekable();
    (0..n as u32).filter(|row| rest.next_if_eq(&row).is_none()).collect()
}

/// Numbers of the rows where `keep` holds, ascending.
pub(crate) fn kept_rows(keep: &[bool]) -> Vec<u32> {
    (0..keep.len() as u32).filter(|&row| keep[row as usize]).collect()
}
