//! `lapwing sparsify`: replaces a graph, which may be too large to hold, by one with fewer edges.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use lapwing::data::read::{EdgeFile, read_graph};
use lapwing::data::{EdgeSource, Phase, Report, RowNames, Warning};
use lapwing::graph::AffinityGraph;
use lapwing::graph::sparsify::{Checkpoint, Sparsifier, SparsifyParams, SparsifyReport};
use lapwing_core::peak_memory_bytes;
use lapwing_report::summary::{of_cost, of_graph, of_sparsifier, row};
use lapwing_table::write::{GRAPH_ENDINGS, check_named_graph, stage_named_graph};
use serde_json::json;

use crate::failure::Failure;
use crate::files::{ANY_ENDING, Files, check_checkpoint, is_matrix};
use crate::options::{Nodes, ParamsOptions, RunOptions, TextOptions, edge_options};
use crate::outcome::Outcome;
use crate::session::Session;
use crate::text::count;
use crate::written::{Written, check_stdout, is_stdout};

const EXAMPLES: &str = "\
Examples:
  lapwing sparsify edges.parquet -o sparse.npz
      keep enough edges for cuts and resistances within 1 ± 0.5 of those of the whole graph
  lapwing sparsify edges.npy --nodes 1000000 --memory 2G -o sparse.npz --checkpoint sparse.part
      in 2 GiB; the same command goes on where a killed one stopped
  zcat edges.txt.gz | lapwing sparsify - --nodes 1000000 --edge-budget 20000000 -o sparse.npy
      from a pipe, read once
  lapwing label --graph sparse.npz --labels known.csv -o labels.csv
      label the nodes of what was kept";

/// Replace a graph by one of fewer edges and nearly the same cuts and resistances
///
/// Edges are read once, in blocks: memory depends on the edges kept and the nodes, not on the size of the file. Kept edges get
/// larger weights, so that the expected Laplacian is that of the whole graph. Components do not change (except with the
/// sampler kelner-levin).
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Sparsify {
    /// Edges u, v[, weight], each undirected edge in one row; - reads CSV from standard input
    ///
    /// By the ending: .csv, .csv.gz, .csv.zst, .parquet or .npy (records or an array), nodes counted from 0, of any
    /// size; rows that repeat an edge, in either direction, add up. In .csv and .parquet nodes may have names, which OUT, then
    /// .csv or .parquet, has too. Or a symmetric sparse matrix saved by scipy as .npz, which is read whole.
    #[arg(value_name = "EDGES")]
    edges: PathBuf,

    #[command(flatten)]
    params: ParamsOptions,

    /// Number of nodes, or the word names if ids are names though they are numbers [default: counted in one more pass over the file]
    #[arg(long, value_name = "N|names")]
    nodes: Option<Nodes>,

    #[command(flatten)]
    text: TextOptions,

    #[command(flatten)]
    outputs: OutputOptions,

    #[command(flatten)]
    run: RunOptions,
}

#[derive(Args)]
#[command(next_help_heading = "Output")]
struct OutputOptions {
    /// Where the sparse graph goes: .npz for scipy, or edges as .parquet, .csv or .npy; - writes CSV to standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// Save the state in FILE while reading, and resume from it if it exists; removed when OUT is written
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,

    /// Exit with code 1 if a solve for effective resistances did not converge
    #[arg(long)]
    strict: bool,
}

/// What is read: a matrix, or the edges of a file.
struct Opened {
    edges: Box<dyn EdgeSource>,
    /// Names of the nodes, if they have any.
    names: Option<Arc<RowNames>>,
    /// What to look at in what was read.
    notes: Vec<Warning>,
    checkpoint: Option<Checkpoint>,
}

/// The sparse graph, and the row at which a checkpoint resumed.
struct Sparsified {
    graph: AffinityGraph,
    report: SparsifyReport,
    resumed_at: Option<u64>,
}

impl Sparsify {
    pub fn run(&self, params: &SparsifyParams) -> Result<Outcome, Failure> {
        params.validate()?;
        self.check()?;
        let session = Session::start(&self.run)?;
        let files = self.params.files(Files::default().read("EDGES", Some(&self.edges)));
        let files = files.write("--output", Some(&self.outputs.output), &GRAPH_ENDINGS);
        files.write("--checkpoint", self.outputs.checkpoint.as_deref(), ANY_ENDING).check()?;
        let mut report = Report::default();
        let opened = session.unless_interrupted(|| self.open(&mut report, &session))?;
        let Opened { edges, names, notes, checkpoint } = opened;
        let mut work = || sparsified(&*edges, params.clone(), checkpoint.as_ref(), &mut report, &session);
        let mut found = match &checkpoint {
            // Ctrl-C must not end the program while a checkpoint is being written.
            Some(_) => work().inspect_err(|failure| self.tell_how_to_go_on(failure, &session)),
            None => session.unless_interrupted(work),
        }?;
        drop(edges);

        session.run.check()?;
        let mut written = Written::default();
        let output = &self.outputs.output;
        let stage =
            |_: &mut Report| stage_named_graph(output, found.graph.graph.adjacency(), names.as_deref(), &session.run);
        written.add("graph", report.time("write", &session.run, stage)?);
        written.publish()?;
        if let Some(checkpoint) = &checkpoint {
            checkpoint.clear()?;
        }
        report.peak_bytes = peak_memory_bytes();
        let is_fine = found.report.warnings.is_empty();
        found.report.warnings.splice(0..0, notes);
        self.print(&session, &report, &found, &written)?;
        Ok(Outcome::of(self.outputs.strict, is_fine))
    }

    /// Refuses options that do not go together, before anything is read.
    fn check(&self) -> Result<(), Failure> {
        let OutputOptions { output, checkpoint, .. } = &self.outputs;
        check_stdout("graph", Some(output), self.run.json)?;
        if checkpoint.is_some() { check_checkpoint(&self.edges) } else { Ok(()) }
    }

    /// The edges and the checkpoint.
    fn open(&self, report: &mut Report, session: &Session) -> Result<Opened, Failure> {
        let (run, options) = (&session.run, edge_options(self.nodes, &self.text));
        if is_matrix(&self.edges) {
            let matrix = report.time("read", run, |_| read_graph(&self.edges, options.n_nodes, run))?;
            return Ok(Opened { edges: Box::new(matrix), names: None, notes: Vec::new(), checkpoint: None });
        }
        let start = Instant::now();
        let file = EdgeFile::open_with(&self.edges, &options, run)?;
        if file.names().is_some() {
            check_named_graph(&self.outputs.output)?;
        }
        if options.n_nodes.is_none() {
            report.phases.push(Phase { name: "scan".into(), seconds: start.elapsed().as_secs_f64() });
        }
        let checkpoint = self.outputs.checkpoint.as_deref().filter(|_| file.is_rereadable());
        let (names, notes) = (file.names().cloned(), file.warnings());
        Ok(Opened { edges: Box::new(file), names, notes, checkpoint: checkpoint.map(Checkpoint::new) })
    }

    fn tell_how_to_go_on(&self, failure: &Failure, session: &Session) {
        let kept = self.outputs.checkpoint.as_deref().filter(|path| path.exists());
        if let (Failure::Interrupted, Some(path)) = (failure, kept) {
            session.note(&format!("kept in {}: the same command goes on from there", path.display()));
        }
    }

    fn print(&self, session: &Session, report: &Report, found: &Sparsified, written: &Written) -> Result<(), Failure> {
        let Sparsified { graph, report: sparsifier, resumed_at } = found;
        let summary = graph.summary(&graph.graph.components());
        let body = || {
            let body = json!({
                "n_samples": sparsifier.n_nodes, "sparsifier": sparsifier, "kept_share": sparsifier.kept_share(),
                "resumed_at": resumed_at, "graph": summary, "phases": report.phases,
                "peak_bytes": report.peak_bytes, "warnings": sparsifier.warnings,
            });
            (body, json!({}))
        };
        let rows = || {
            let mut rows = vec![row("nodes", count(sparsifier.n_nodes))];
            rows.extend(of_sparsifier(sparsifier));
            // The number of kept edges is already in the lines of the sparsifier.
            rows.extend(of_graph(&summary).into_iter().filter(|(what, _)| what != "edges"));
            rows.extend(of_cost(&report.phases, report.peak_bytes));
            rows
        };
        session.print_end("sparsify", &sparsifier.warnings, body, rows, (written, is_stdout(&self.outputs.output)))
    }
}

/// Reads all edges, from where the checkpoint stopped if there is one.
fn sparsified(
    source: &dyn EdgeSource,
    params: SparsifyParams,
    checkpoint: Option<&Checkpoint>,
    report: &mut Report,
    session: &Session,
) -> Result<Sparsified, Failure> {
    let (run, n_nodes) = (&session.run, source.n_nodes());
    let mut checkpoint = checkpoint.cloned();
    let mut sparsifier = Sparsifier::start(n_nodes, params, checkpoint.as_ref(), run)?;
    let resumed_at = Some(sparsifier.n_rows()).filter(|rows| *rows > 0);
    if let Some(row) = resumed_at {
        session.note(&format!("going on after {} rows, from the checkpoint", count(row as usize)));
    }
    let (graph, sparsifier) = report.time_steps("sparsify", source.n_edges().unwrap_or(0), run, |_| {
        sparsifier.read(source, checkpoint.as_mut(), run)?;
        sparsifier.finish(&run.quiet())
    })?;
    Ok(Sparsified { graph: AffinityGraph::given(graph), report: sparsifier, resumed_at })
}
