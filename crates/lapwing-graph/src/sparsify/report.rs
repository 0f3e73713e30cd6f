//! Report of a sparsifier: counts, comparison of the probes, warnings.

use lapwing_core::{Run, Warning};

use super::edge::SampledEdge;
use super::stream::Counts;
use super::{Sampler, Sparsifier, SparsifyReport};

/// Tolerance above which resistances are not to be trusted.
const MOST_TOL: f64 = 1e-4;

impl Sparsifier {
    /// The report on the edges added so far.
    pub fn report(&self, run: &Run) -> SparsifyReport {
        let parts: Vec<&[SampledEdge]> = self.levels.iter().chain([&self.block]).map(Vec::as_slice).collect();
        self.report_on(&parts, &self.block[self.state.n_sampled..], run)
    }

    /// The report on the sparsifier of all `parts`; the probes do not include the `new` edges yet.
    pub(super) fn report_on(&self, parts: &[&[SampledEdge]], new: &[SampledEdge], run: &Run) -> SparsifyReport {
        let n_held = parts.iter().map(|edges| edges.len()).sum();
        let Counts { rows, dropped, rounds, peak, solve_seconds, .. } = self.state.counts;
        let n_copies = f64::from(self.sizes.n_copies);
        let probes = self.probes.as_ref().filter(|_| rounds > 0);
        let ratios = probes.and_then(|probes| probes.ratios(parts, new, |edge| edge.current(n_copies), run));
        let sampler = match self.state.params.sampler {
            Sampler::Auto if self.state.has_weak_cut => Sampler::Streaming,
            Sampler::Auto => Sampler::Degree,
            sampler => sampler,
        };
        SparsifyReport {
            sampler: sampler.name().into(),
            n_nodes: self.state.n_nodes,
            n_edges: rows - dropped,
            n_dropped: dropped,
            n_kept: n_held,
            edge_budget: self.sizes.edge_budget,
            capacity: self.sizes.capacity,
            peak_edges: peak.max(n_held),
            rounds,
            solve_seconds,
            seconds: self.seconds(),
            probe_ratios: ratios,
            n_probes: probes.map_or(0, |probes| probes.forms.len()),
            warnings: self.warnings(probes.is_none() || ratios.is_some()),
        }
    }

    fn warnings(&self, is_compared: bool) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let tol = self.state.params.tol;
        if self.state.counts.rounds > 0 && self.state.params.solves() && tol > MOST_TOL {
            warnings.push(Warning::CoarseResistances { tol, most: MOST_TOL });
        }
        let effect = "the probabilities of edges are less exact than asked";
        warnings.extend(self.state.unconverged.iter().map(|system| system.warning(tol, effect)));
        if !is_compared {
            warnings.push(Warning::NotCompared {});
        }
        warnings
    }

    /// Seconds since the sparsifier was made, in this process and those before it.
    pub(super) fn seconds(&self) -> f64 {
        self.state.counts.seconds_before + self.start.elapsed().as_secs_f64()
    }
}
