//! Parameters of the simple methods that others are measured against.

use clap::Args;
use lapwing::models::MethodOptions;
use lapwing::models::baselines::{EigenfunctionParams, SimpleHarmonicParams, SubsamplingParams};

use super::number::{count, real};

/// Parameters of the baselines.
#[derive(Args)]
#[command(next_help_heading = "Baselines")]
pub struct BaselineOptions {
    /// subsampling: rows in the graph [default: the larger of 2000 and four times the labels]
    #[arg(long, value_name = "N", value_parser = count)]
    pub subsample: Option<usize>,

    /// simple-harmonic: eigenvectors of the graph [default: the least of half the labels, three times
    /// their root and 100; at least one for each class]
    #[arg(long, value_name = "N", value_parser = count)]
    pub eigenvectors: Option<usize>,

    /// eigenfunction: functions
    #[arg(long, value_name = "N", default_value_t = EigenfunctionParams::default().n_eigenfunctions, value_parser = count)]
    pub eigenfunctions: usize,

    /// eigenfunction: principal axes [default: all, and 64 of more]
    #[arg(long, value_name = "N", value_parser = count)]
    pub components: Option<usize>,

    /// eigenfunction: bins along an axis
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = count)]
    pub bins: usize,

    /// eigenfunction: width of the kernel between bins, in units of their mean distance
    #[arg(long, value_name = "SIGMA", default_value_t = 0.2, value_parser = real)]
    pub relative_bandwidth: f64,

    /// eigenfunction: what is added to the share of every bin
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = real)]
    pub density_floor: f64,

    /// eigenfunction: percent of the rows that are clipped at either end of an axis
    #[arg(long, value_name = "PERCENT", default_value_t = 2.5, value_parser = real)]
    pub clip: f64,

    /// eigenfunction: weight of the given labels against smoothness
    #[arg(long, value_name = "W", default_value_t = 100.0, value_parser = real)]
    pub fit_weight: f64,

    /// eigenfunction: fit no constant
    #[arg(long)]
    pub no_constant: bool,
}

impl BaselineOptions {
    /// Writes them into what every method is given.
    pub fn add_to(&self, options: &mut MethodOptions) {
        options.subsampling = SubsamplingParams { n_subsample: self.subsample };
        options.simple_harmonic =
            SimpleHarmonicParams { n_eigenvectors: self.eigenvectors, ..SimpleHarmonicParams::default() };
        options.eigenfunction = EigenfunctionParams {
            n_eigenfunctions: self.eigenfunctions,
            n_components: self.components,
            n_bins: self.bins,
            relative_bandwidth: self.relative_bandwidth,
            density_floor: self.density_floor,
            clip: self.clip,
            fit_weight: self.fit_weight,
            constant: !self.no_constant,
        };
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        baselines: BaselineOptions,
    }

    #[test]
    fn defaults_are_those_of_the_library() {
        let mut options = MethodOptions::default();
        Options::parse_from(["lapwing"]).baselines.add_to(&mut options);
        assert_eq!(options.subsampling, SubsamplingParams::default());
        assert_eq!(options.simple_harmonic, SimpleHarmonicParams::default());
        assert_eq!(options.eigenfunction, EigenfunctionParams::default());
    }
}
