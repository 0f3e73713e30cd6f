//! Coordinates of the rows of a graph in a plane, for pictures: joined rows lie together, other rows apart.
//!
//! **Hubs.** In graphs of texts some rows have hundreds of neighbors, most of other classes, which pull everything into one place.
//! If a row has more than ten times as many neighbors as the mean row, only those edges are used that are among the five strongest
//! of either end by w/√(dᵤ·dᵥ), all with equal weight.
//!
//! **Start.** Random columns x, smoothed by x ← (x + D⁻¹·W·x)/2 and freed of their mean in each component, weighted by degrees,
//! come near the space of the smoothest eigenvectors of the normalized Laplacian: a block power iteration. Rows get length 1, so
//! that rows of high degree do not outweigh the others (Ng, Jordan & Weiss 2002), and then their first two principal components.
//! The largest component lies in the middle, the others around it, each on a disk whose area is its share of the rows.
//!
//! **Layout.** Two directions cannot separate more than a few classes. So the start is improved by steps along the gradient of
//!
//! ```text
//! Σ over edges −log(1 + d²)  +  Σ over random pairs log(d² / (1 + d²)),   d the distance in the plane
//! ```
//!
//! edge by edge, where an edge takes part as often as its weight says (LargeVis, Tang et al. 2016).
//!
//! The axes have no meaning and no unit. Cost: 60·m·w operations for w = 16 columns, parallel over rows; then at most 2·10⁷ steps
//! for an edge with ten random rows each, on one thread, because each step needs the one before. From some millions of edges on
//! there are fewer smoothing steps and no further ones. Memory: 16·n·(w + 2) bytes. The same bits for any number of threads.
//!
//! For eigenvectors to a tolerance: [`crate::eigen`].

use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result, Run, Stream};
use rand::{Rng, RngExt};

use crate::blocks::BLOCK_ROWS;
use crate::dense::principal_axes;
use crate::{Components, Graph};

/// Times the mean number of neighbors that make a hub, and the edges of each row that are used where there are hubs. Newsgroups
/// (5,000 rows, 15 neighbors by cosine): most of the ten nearest points have the class of the row for 18 % of the rows with all
/// edges, 26 % with five. Without hubs fewer edges are worse: MNIST 84 % and 79 %.
const HUB: usize = 10;
const STRONGEST: usize = 5;
/// Columns that are smoothed.
const WIDTH: usize = 16;
/// Smoothing steps, and the fewest of them on large graphs.
const SMOOTHING: usize = 30;
const LEAST_SMOOTHING: usize = 4;
/// Most entries of the graph that smoothing reads.
const MOST_READ: usize = 60_000_000;
/// Most steps for an edge of the layout, most of them for each edge, and the fewest for which they begin.
const MOST_STEPS: usize = 20_000_000;
const MOST_ROUNDS: usize = 300;
const LEAST_ROUNDS: usize = 4;
/// Random rows that either end of an edge is moved away from.
const REPELLED: usize = 5;
/// Longest move along an axis.
const LONGEST: f64 = 4.0;
/// Radius of the start.
const RADIUS: f64 = 8.0;
/// Turn between one component and the next around the largest: the golden angle.
const TURN: f64 = 2.399_963_229_728_653;

/// Coordinates of the rows of `graph` in a plane (n); see the [module](self).
///
/// # Errors
/// [`lapwing_core::Error::Interrupted`].
///
/// # Example
/// ```
/// use lapwing_core::Run;
/// use lapwing_solve::{Graph, layout::layout};
///
/// let path = Graph::from_edges(30, &(0..29).map(|u| (u, u + 1, 1.0)).collect::<Vec<_>>())?;
/// let points = layout(&path, &Run::new(None, 0)?)?;
/// let distance = |a: usize, b: usize| (points[a][0] - points[b][0]).hypot(points[a][1] - points[b][1]);
/// assert!(distance(0, 1) < distance(0, 29));
/// # Ok::<(), lapwing_core::Error>(())
/// ```
pub fn layout(graph: &Graph, run: &Run) -> Result<Vec<[f64; 2]>> {
    run.install(|| {
        let thinned = without_hubs(graph)?;
        let graph = thinned.as_ref().unwrap_or(graph);
        let mut points = start(graph, run)?;
        improve(graph, &mut points, run)?;
        Ok(points)
    })
}

/// The graph of the strongest edges of each row; `None` if no row is a hub.
fn without_hubs(graph: &Graph) -> Result<Option<Graph>> {
    let (n, adjacency, degree) = (graph.n_samples(), graph.adjacency(), graph.degree());
    let most = (0..n).map(|row| adjacency.row(row).0.len()).max().unwrap_or(0);
    if most * n <= HUB * adjacency.nnz() {
        return Ok(None);
    }
    let (mut edges, mut own) = (Vec::with_capacity(STRONGEST * n), Vec::new());
    for row in 0..n {
        let (columns, weights) = adjacency.row(row);
        own.clear();
        own.extend(columns.iter().zip(weights).map(|(&column, w)| (w / degree[column as usize].sqrt(), column)));
        own.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let row = row as u32;
        edges.extend(own.iter().take(STRONGEST).map(|&(_, column)| (row.min(column), row.max(column), 1.0)));
    }
    edges.sort_unstable_by_key(|&(u, v, _)| (u, v));
    edges.dedup_by_key(|&mut (u, v, _)| (u, v));
    Graph::from_edges(n, &edges).map(Some)
}

/// The first two principal components of smoothed random columns, component by component of the graph.
fn start(graph: &Graph, run: &Run) -> Result<Vec<[f64; 2]>> {
    let (n, components) = (graph.n_samples(), graph.components());
    let mut rng = run.rng(Stream::Start, 0);
    let mut x: Vec<f64> = (0..n * WIDTH).map(|_| rng.random_range(-1.0..1.0f64)).collect();
    let mut next = vec![0.0; n * WIDTH];
    let n_steps = (MOST_READ / graph.adjacency().nnz().max(1)).clamp(LEAST_SMOOTHING, SMOOTHING);
    for step in 0..n_steps {
        run.check()?;
        // About a third of the time.
        run.share(0.3 * step as f64 / n_steps as f64, "");
        smooth(graph, &x, &mut next);
        std::mem::swap(&mut x, &mut next);
        subtract_means(&mut x, graph.degree(), &components);
    }
    x.par_chunks_exact_mut(WIDTH).with_min_len(BLOCK_ROWS).for_each(|row| {
        let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        row.iter_mut().for_each(|v| *v = if length > 0.0 { *v / length } else { 0.0 });
    });
    subtract_means(&mut x, &vec![1.0; n], &components);
    let x = Matrix::new(n, WIDTH, x)?;
    // Without any edge all rows are zero, and so are their axes.
    let axes = match x.values().iter().all(|v| *v == 0.0) {
        true => Matrix::filled(2, WIDTH, 0.0),
        false => principal_axes(&x, 2, &mut rng)?,
    };
    let places = places(&components);
    let along = |row: &[f64], axis: usize| row.iter().zip(axes.row(axis)).map(|(x, a)| x * a).sum::<f64>();
    let at = |(row, &id): (&[f64], &u32)| {
        let (center, radius) = places[id as usize];
        [0, 1].map(|axis| center[axis] + radius * along(row, axis))
    };
    Ok(x.rows().zip(&components.id).map(at).collect())
}

/// NEXT ← (X + D⁻¹·W·X)/2; rows without an edge stay.
fn smooth(graph: &Graph, x: &[f64], next: &mut [f64]) {
    let (adjacency, degree) = (graph.adjacency(), graph.degree());
    next.par_chunks_exact_mut(WIDTH).with_min_len(BLOCK_ROWS).enumerate().for_each(|(row, out)| {
        let own = &x[row * WIDTH..][..WIDTH];
        out.fill(0.0);
        let (columns, weights) = adjacency.row(row);
        for (&column, weight) in columns.iter().zip(weights) {
            let share = weight / degree[row];
            out.iter_mut().zip(&x[column as usize * WIDTH..][..WIDTH]).for_each(|(out, x)| *out += share * x);
        }
        let is_joined = !columns.is_empty();
        out.iter_mut().zip(own).for_each(|(out, own)| *out = if is_joined { (*out + own) / 2.0 } else { *own });
    });
}

/// Subtracts the weighted mean of each component from its rows.
fn subtract_means(x: &mut [f64], weights: &[f64], components: &Components) {
    let mut sums = vec![[0.0; WIDTH]; components.sizes.len()];
    let mut totals = vec![0.0; components.sizes.len()];
    for ((row, weight), &id) in x.chunks_exact(WIDTH).zip(weights).zip(&components.id) {
        totals[id as usize] += weight;
        sums[id as usize].iter_mut().zip(row).for_each(|(sum, x)| *sum += weight * x);
    }
    for (row, &id) in x.chunks_exact_mut(WIDTH).zip(&components.id) {
        let total = totals[id as usize];
        if total > 0.0 {
            row.iter_mut().zip(&sums[id as usize]).for_each(|(x, sum)| *x -= sum / total);
        }
    }
}

/// Center and radius of each component: the largest in the middle, the others around it by descending size.
fn places(components: &Components) -> Vec<([f64; 2], f64)> {
    let n = components.id.len().max(1) as f64;
    let mut order: Vec<usize> = (0..components.sizes.len()).collect();
    order.sort_by_key(|&id| std::cmp::Reverse(components.sizes[id]));
    let mut places = vec![([0.0; 2], 0.0); order.len()];
    let mut covered = 0.0;
    for (rank, &id) in order.iter().enumerate() {
        let size = components.sizes[id] as f64;
        let away = if rank == 0 { 0.0 } else { RADIUS * ((covered + size / 2.0) / n).sqrt() };
        let angle = rank as f64 * TURN;
        places[id] = ([away * angle.cos(), away * angle.sin()], RADIUS * (size / n).sqrt());
        covered += size;
    }
    places
}

/// Moves the ends of edges together and either end away from random rows.
fn improve(graph: &Graph, points: &mut [[f64; 2]], run: &Run) -> Result<()> {
    let (n, adjacency) = (graph.n_samples(), graph.adjacency());
    let n_rounds = (MOST_STEPS / graph.n_edges().max(1)).min(MOST_ROUNDS);
    if n_rounds < LEAST_ROUNDS || n < 3 {
        return Ok(());
    }
    let largest = |row: usize| adjacency.row(row).1.iter().copied().fold(0.0, f64::max);
    let largest: Vec<f64> = (0..n).map(largest).collect();
    let mut rng = run.rng(Stream::Start, 1);
    for round in 0..n_rounds {
        run.check()?;
        run.share(0.3 + 0.7 * round as f64 / n_rounds as f64, "");
        let rate = 1.0 - round as f64 / n_rounds as f64;
        for row in 0..n {
            let (columns, weights) = adjacency.row(row);
            for (&column, weight) in columns.iter().zip(weights).filter(|(column, _)| **column as usize > row) {
                let other = column as usize;
                // The strongest edge of either end always takes part.
                if rng.random::<f64>() * largest[row].min(largest[other]) <= *weight {
                    attract(points, row, other, rate);
                    repel(points, row, rate, &mut rng);
                    repel(points, other, rate, &mut rng);
                }
            }
        }
    }
    Ok(())
}

fn attract(points: &mut [[f64; 2]], a: usize, b: usize, rate: f64) {
    let (difference, square) = between(points[a], points[b]);
    for axis in 0..2 {
        let step = rate * (-2.0 * difference[axis] / (1.0 + square)).clamp(-LONGEST, LONGEST);
        points[a][axis] += step;
        points[b][axis] -= step;
    }
}

/// Moves a row away from random rows.
fn repel(points: &mut [[f64; 2]], row: usize, rate: f64, rng: &mut impl Rng) {
    /// Keeps the force between equal points finite.
    const NEAR: f64 = 1e-3;
    for _ in 0..REPELLED {
        let other = ((u64::from(rng.next_u32()) * points.len() as u64) >> 32) as usize;
        let (difference, square) = between(points[row], points[other]);
        for axis in 0..2 {
            let force = 2.0 * difference[axis] / ((NEAR + square) * (1.0 + square));
            points[row][axis] += rate * force.clamp(-LONGEST, LONGEST);
        }
    }
}

/// The difference of two points, and its square.
fn between(a: [f64; 2], b: [f64; 2]) -> ([f64; 2], f64) {
    let difference = [a[0] - b[0], a[1] - b[1]];
    (difference, difference[0] * difference[0] + difference[1] * difference[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{nasty_graphs, neighbor_graph};

    fn clique(first: u32, size: u32) -> impl Iterator<Item = (u32, u32, f64)> {
        (first..first + size).flat_map(move |u| (u + 1..first + size).map(move |v| (u, v, 1.0)))
    }

    fn distance(points: &[[f64; 2]], a: usize, b: usize) -> f64 {
        between(points[a], points[b]).1.sqrt()
    }

    #[test]
    fn two_cliques_lie_apart() {
        let run = Run::new(Some(1), 0).unwrap();
        for bridge in [Some((0, 25, 0.5)), None] {
            let edges: Vec<_> = clique(0, 20).chain(clique(20, 20)).chain(bridge).collect();
            let points = layout(&Graph::from_edges(40, &edges).unwrap(), &run).unwrap();
            let inside = (0..19).chain(20..39).map(|row| distance(&points, row, row + 1)).fold(0.0, f64::max);
            let across = (0..20).map(|row| distance(&points, row, row + 20)).fold(f64::INFINITY, f64::min);
            assert!(inside < across, "{bridge:?}: {inside} {across}");
        }
    }

    #[test]
    fn hubs_do_not_pull_classes_together() {
        // A hundred cliques, and a row that is joined weakly to all of them.
        let hub = (0..1200).map(|row| (row, 1200, 0.1));
        let cliques = (0..100).flat_map(|at| clique(12 * at, 12));
        let graph = Graph::from_edges(1201, &cliques.chain(hub).collect::<Vec<_>>()).unwrap();
        let thinned = without_hubs(&graph).unwrap().unwrap();
        let of_cliques = (0..1200).all(|row| thinned.adjacency().row(row).0.iter().filter(|&&v| v < 1200).count() >= 5);
        assert!(of_cliques && thinned.adjacency().row(1200).0.len() < 1200);
        assert!(without_hubs(&Graph::from_edges(40, &clique(0, 40).collect::<Vec<_>>()).unwrap()).unwrap().is_none());
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let graph = neighbor_graph(5000, 4, 6, 8);
        let points = |threads, seed| layout(&graph, &Run::new(Some(threads), seed).unwrap()).unwrap();
        let first = points(1, 3);
        assert_eq!(first, points(2, 3));
        assert_eq!(first, points(7, 3));
        assert_ne!(first, points(1, 4));
    }

    #[test]
    fn neighbors_lie_together() {
        let graph = neighbor_graph(2000, 6, 12, 8);
        let points = layout(&graph, &Run::new(Some(2), 0).unwrap()).unwrap();
        let mean = |pairs: &mut dyn Iterator<Item = (usize, usize)>| {
            let (sum, n) = pairs.fold((0.0, 0.0), |(sum, n), (a, b)| (sum + distance(&points, a, b), n + 1.0));
            sum / n
        };
        let adjacency = graph.adjacency();
        let joined = mean(&mut (0..2000).flat_map(|u| adjacency.row(u).0.iter().map(move |&v| (u, v as usize))));
        let any = mean(&mut (0..2000).map(|u| (u, (u * 7 + 311) % 2000)));
        assert!(joined < any / 6.0, "{joined} {any}");
    }

    #[test]
    fn every_graph_has_finite_coordinates() {
        let run = Run::new(Some(1), 0).unwrap();
        for (name, graph) in nasty_graphs() {
            let points = layout(&graph, &run).unwrap();
            assert_eq!(points.len(), graph.n_samples());
            assert!(points.iter().flatten().all(|x| x.is_finite()), "{name}");
        }
        assert!(layout(&Graph::from_edges(0, &[]).unwrap(), &run).unwrap().is_empty());
        assert_eq!(layout(&Graph::from_edges(3, &[]).unwrap(), &run).unwrap().len(), 3);
    }
}
