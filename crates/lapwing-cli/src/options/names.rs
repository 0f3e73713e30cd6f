//! Parameters of methods in the words of the options that set them.

use lapwing::data::{Error, Result, Run};
use lapwing::graph::GraphParams;
use lapwing::models::baselines::{EIGENFUNCTION, SIMPLE_HARMONIC, SUBSAMPLING};
use lapwing::models::lapsvm::{LAPRLS, LAPSVM};
use lapwing::models::low_rank::LOW_RANK;
use lapwing::models::unfolded::UNFOLDED;
use lapwing::models::{FACTOR_METHODS, Fitted, Method, MethodOptions, Plan, Problem, ProblemSize, method};

use crate::failure::Failure;

/// The option that sets `parameter` of `method`, written as parameters are: several methods have parameters of one name, and each of
/// them an option of its own.
pub fn option_of<'a>(method: &str, parameter: &'a str) -> &'a str {
    match (method, parameter) {
        (LAPSVM | LAPRLS, "bandwidth") => "kernel_bandwidth",
        (LAPSVM | LAPRLS, "solver") => "kernel_solver",
        (LAPSVM | LAPRLS, "tol") => "gradient_tol",
        (LAPSVM | LAPRLS, "memory") => "gram_memory",
        (LAPSVM | LAPRLS, "n_landmarks") => "kernel_landmarks",
        (UNFOLDED, "solver") => "layer_solver",
        (UNFOLDED, "optimizer") => "layer_optimizer",
        (UNFOLDED, "steps") => "unfolding",
        (UNFOLDED, "edges") => "kept_edges",
        (UNFOLDED, "tol") => "train_tol",
        (UNFOLDED, "max_iter") => "train_max_iter",
        (EIGENFUNCTION, "n_eigenfunctions") => "eigenfunctions",
        (EIGENFUNCTION, "n_components") => "components",
        (EIGENFUNCTION, "n_bins") => "bins",
        (SIMPLE_HARMONIC, "n_eigenvectors") => "eigenvectors",
        (SUBSAMPLING, "n_subsample") => "subsample",
        (factor, "bandwidth") if factor == LOW_RANK || FACTOR_METHODS.contains(&factor) => "landmark_bandwidth",
        _ => parameter,
    }
}

/// An error of `method` that names the option instead of the parameter.
fn in_words_of(method: &str, error: Error) -> Error {
    match error {
        Error::Param { name, value, expected } => {
            Error::Param { name: option_of(method, &name).into(), value, expected }
        }
        error => error,
    }
}

/// A failure of `method` that names the option instead of the parameter.
pub fn failure_in_words_of(method: &str, failure: Failure) -> Failure {
    match failure {
        Failure::Library(error) => Failure::Library(in_words_of(method, error)),
        failure => failure,
    }
}

/// The method of that name; all that it refuses is told by the options of the program.
///
/// # Errors
/// As those of the library's own [`method`].
pub fn method_by_options(name: &str, options: &MethodOptions) -> Result<Box<dyn Method>> {
    let inner = method(name, options).map_err(|error| in_words_of(name, error))?;
    Ok(Box::new(ByOptions(inner)))
}

/// A method whose errors name options.
struct ByOptions(Box<dyn Method>);

impl Method for ByOptions {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn graph_params(&self) -> Option<&GraphParams> {
        self.0.graph_params()
    }

    fn needs_features(&self) -> bool {
        self.0.needs_features()
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        self.0.fit(problem, run).map_err(|error| in_words_of(self.name(), error))
    }

    fn reads_streams(&self) -> bool {
        self.0.reads_streams()
    }

    fn reads_rows(&self) -> bool {
        self.0.reads_rows()
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        self.0.plan(size)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::Cli;

    #[test]
    fn every_name_is_that_of_an_option_of_label_and_compare() {
        let parameters = [
            (LAPSVM, "bandwidth solver tol memory n_landmarks kernel ambient_reg degree laplacian_power max_iter"),
            (LAPRLS, "bandwidth solver tol memory n_landmarks stability_tol validation_share check_every stopping"),
            (
                UNFOLDED,
                "solver optimizer steps edges tol max_iter l2_reg learning_rate attention hidden sketch_size loss",
            ),
            (EIGENFUNCTION, "n_eigenfunctions n_components n_bins relative_bandwidth density_floor clip fit_weight"),
            (SIMPLE_HARMONIC, "n_eigenvectors tol max_iter"),
            (SUBSAMPLING, "n_subsample"),
            (LOW_RANK, "bandwidth n_landmarks alpha rcond head degree_policy glnp_tol glnp_max_iter fit_rows"),
            ("nystrom", "bandwidth"),
        ];
        for command in ["label", "compare"] {
            let cli = Cli::command();
            let command = cli.get_subcommands().find(|c| c.get_name() == command).unwrap();
            let longs: Vec<&str> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
            for (method, names) in parameters {
                for name in names.split(' ') {
                    let option = option_of(method, name).replace('_', "-");
                    assert!(longs.contains(&option.as_str()), "{} {method} {name}: {option}", command.get_name());
                }
            }
        }
    }
}
