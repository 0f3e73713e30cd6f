"""One program on one task, several times, in a process of its own.

The result file is written after every run, so that a time limit loses none of them.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import common
import harness
import mixture
import peer
import problem

TOL = 1e-6
SOLVERS = ("newton", "primal-dual")
ITERATIONS = 100
"""Iterations of the first-order method, to time one."""


def main() -> None:
    args = parse()
    record = harness.started()
    if args.program != "numpy":
        importlib.import_module("lapwing.graph")  # before the measurement
    TASKS[args.task](args, record)
    common.save(args.out, record)


def parse() -> argparse.Namespace:
    parser = harness.worker_parser(__doc__, TASKS)
    parser.add_argument("--program", default="lapwing", choices=list(PROGRAMS))
    parser.add_argument("--method", default="newton", choices=SOLVERS)
    parser.add_argument("--rows", type=int, help="rows of the mixture, or digits")
    parser.add_argument("--of", type=int, help="rows of the mixture that they are the first of")
    parser.add_argument("--repair", action="store_true", help="add pairs that should have been allowed")
    parser.add_argument("--check", action="store_true", help="also fit to neighbors, and look at the gap from outside")
    parser.add_argument("--weights", type=Path, help="where the weights of the last run go")
    return parser.parse_args()


# --- features to a graph ---------------------------------------------------------------------------------------------


def learner(repair: bool = False) -> Any:
    from lapwing.graph import GraphLearner

    factor = float(problem.FACTOR)
    return GraphLearner(problem.NEIGHBORS, support_factor=factor, tol=TOL, repair=repair, random_state=0)


def fits(args: argparse.Namespace, record: dict[str, Any]) -> None:
    """Rows of the mixture to a learned graph."""
    features = mixture.load(args.of)[0][: args.rows]
    record |= {"version": f"lapwing {importlib.metadata.version('lapwing')}", "baseline_bytes": common.peak_bytes()}
    warnings.simplefilter("ignore")
    for fitted, run in harness.repeated(args, record, lambda: learner(args.repair).fit(features)):
        run["report"] = fitted.report_
    if args.check:
        record["check"] = checked(features)


def checked(features: np.ndarray) -> common.Record:
    """A fit to given neighbors, with its gap recomputed from the weights and all allowed pairs."""
    from lapwing.graph import kneighbors

    distances, indices = kneighbors(features, problem.FACTOR * problem.NEIGHBORS, random_state=0)
    squares = distances.astype(np.float64) ** 2
    with common.Stopwatch() as watch:
        fitted = learner().fit((indices, squares))
    edges, allowed = problem.union(indices, squares)
    solved = problem.Problem(edges, fitted.sparsity_ * allowed, len(features))
    weights = problem.on_edges(fitted.graph_.to_scipy(), edges)
    return {**watch.record(), "gap": fitted.gap_, **problem.certificate(solved, weights)}


# --- edges and distances to weights ----------------------------------------------------------------------------------

Found = tuple[np.ndarray, common.Record]
"""Weights, and the report of the program."""
Program = Callable[[problem.Problem, str], Found]


def lapwing(n_jobs: int | None) -> Program:
    def run(given: problem.Problem, method: str) -> Found:
        from lapwing.graph import learn_weights

        # The first-order method never reaches this gap, so it does all its iterations.
        stop: dict[str, Any] = {"tol": TOL} if method == "newton" else {"tol": 1e-15, "max_iter": ITERATIONS}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            options: dict[str, Any] = {"solver": method, "n_jobs": n_jobs, **stop}
            weights, report = learn_weights(given.edges, given.distances, given.n_samples, **options)
        return weights, {key: report[key] for key in ("n_iter", "n_products", "gap")}

    return run


def numpy(given: problem.Problem, method: str) -> Found:
    if method == "newton":
        found = peer.newton(given.edges, given.distances, given.n_samples, TOL)
    else:
        found = peer.primal_dual(given.edges, given.distances, given.n_samples, ITERATIONS)
    return found.weights, {"n_iter": found.n_iter, "n_products": found.n_products, "gap": found.gap}


PROGRAMS: dict[str, Program] = {"lapwing": lapwing(None), "lapwing, 1 thread": lapwing(1), "numpy": numpy}


def solved(args: argparse.Namespace, record: dict[str, Any]) -> None:
    """The same problem to the same accuracy, or for the same number of iterations."""
    given = problem.digits(args.rows)
    package = args.program.partition(",")[0]
    record |= {"version": f"{package} {importlib.metadata.version(package)}", "baseline_bytes": common.peak_bytes()}
    for (weights, said), run in harness.repeated(args, record, lambda: PROGRAMS[args.program](given, args.method)):
        run.update(said)
    record |= {"n_edges": int((weights > 0).sum()), **problem.certificate(given, weights)}
    np.save(args.weights, weights)


EXACT: dict[str, dict[str, Any]] = {
    "newton": {"solver": "newton"},
    "newton, tol = 1e-14": {"solver": "newton", "tol": 1e-14},
    "primal-dual": {"solver": "primal-dual"},
}


def exactness(_: argparse.Namespace, record: dict[str, Any]) -> None:
    """Distance to the optimum of each golden problem."""
    from lapwing.graph import learn_weights

    for one in problem.golden():
        of_code = {"of_code": one.default_error, "iterations": one.default_iterations}
        line: common.Record = {"problem": one.name, "model": one.model, **of_code}
        given = one.problem
        for name, settings in EXACT.items():
            options: dict[str, Any] = {"model": one.model, "alpha": one.alpha, **settings}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                weights, report = learn_weights(given.edges, given.distances, given.n_samples, **options)
            error = float(np.linalg.norm(weights - one.exact) / np.linalg.norm(one.exact))
            line[name] = {"error": error, "gap": report["gap"], "n_iter": report["n_iter"]}
        record["runs"].append(line)


TASKS = {"fit": fits, "peer": solved, "exactness": exactness}

if __name__ == "__main__":
    main()
