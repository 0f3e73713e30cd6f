//! The Laplacian solver by itself: `cargo run --release --example solver`.
//!
//! A square sheet of resistors, 300 by 300, with a current of 1 from one corner to the opposite one. The potentials solve L·x = b, and the
//! difference between the corners is the resistance of the sheet.

use lapwing::prelude::*;
use lapwing::solve::{LaplacianParams, LaplacianSolver};

const SIDE: u32 = 300;

fn main() -> lapwing::Result<()> {
    let run = Run::new(None, 0)?;
    let node = |row: u32, column: u32| row * SIDE + column;
    let across = (0..SIDE).flat_map(|row| (1..SIDE).map(move |column| (node(row, column - 1), node(row, column), 1.0)));
    let down = (1..SIDE).flat_map(|row| (0..SIDE).map(move |column| (node(row - 1, column), node(row, column), 1.0)));
    let edges: Vec<(u32, u32, f64)> = across.chain(down).collect();
    let n = (SIDE * SIDE) as usize;
    let sheet = Graph::from_edges(n, &edges)?;

    let params = LaplacianParams { tol: 1e-8, ..LaplacianParams::default() };
    let solver = LaplacianSolver::new(&sheet, None, params, &run)?;
    let mut current = Matrix::filled(n, 1, 0.0);
    (current.row_mut(0)[0], current.row_mut(n - 1)[0]) = (1.0, -1.0);
    let (potential, info) = solver.solve(&current, None, &run)?;

    println!("{n} nodes, {} resistors; preconditioner {:?}", sheet.n_edges(), solver.preconditioner());
    println!("{} iterations, relative residual {:.1e}", info.n_iter(), info.residuals[0]);
    println!("resistance from corner to corner: {:.6}", potential.row(0)[0] - potential.row(n - 1)[0]);
    // Power is current times voltage, and the sum of w·(difference)² over all resistors.
    let power: f64 =
        edges.iter().map(|&(u, v, w)| w * (potential.row(u as usize)[0] - potential.row(v as usize)[0]).powi(2)).sum();
    println!("the same from the power of all resistors: {power:.6}");
    Ok(())
}
