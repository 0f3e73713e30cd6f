"""Whether a change slows a kernel down: the ratio of its time to that at an earlier revision, in one run.

The benchmark of kernels is built twice, from a revision and from the working tree, and both programs run in turns. A stored figure
would hold for one machine, and there for one hour. A kernel that became more than 5 % slower in every round is an error.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "target" / "regress"
RUN = ("--bench", "--noplot", "--warm-up-time", "1", "--measurement-time", "2")
MOST = 1.05
"""Times a kernel may take as long as before."""


def main() -> None:
    """Measure both programs in turns."""
    parser = argparse.ArgumentParser(prog="cargo xtask bench regress", description=__doc__)
    parser.add_argument("revision", nargs="?", default="HEAD", help="compared with the working tree (default HEAD)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each program (default 3)")
    parser.add_argument("--only", help="a part of the names of kernels")
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error("--rounds needs a number above 0")
    shutil.rmtree(FOLDER / "criterion", ignore_errors=True)
    sides = {"before": built(checked_out(args.revision), FOLDER / "build"), "after": built(ROOT, ROOT / "target")}
    rounds = []
    for number in range(1, args.rounds + 1):
        for name, program in sides.items():
            print(f"round {number} of {args.rounds}, {name}", file=sys.stderr)
            run(program, *RUN, "--save-baseline", name, *([args.only] if args.only else []), stdout=subprocess.DEVNULL)
        rounds.append((medians("before"), medians("after")))
    kernels = sorted(set.intersection(*[before.keys() & after.keys() for before, after in rounds]))
    ratios = {kernel: [after[kernel] / before[kernel] for before, after in rounds] for kernel in kernels}
    print("| kernel | ms | times as long as before: median | least | most |\n|---|---|---|---|---|")
    for kernel, found in ratios.items():
        figures = (rounds[-1][1][kernel] / 1e6, statistics.median(found), min(found), max(found))
        print(f"| {kernel} | {' | '.join(f'{figure:.3f}' for figure in figures)} |")
    slower = [kernel for kernel, found in ratios.items() if min(found) > MOST]
    if slower:
        sys.exit(f"more than 5 % slower than before in every round: {', '.join(slower)}")


def run(*words: object, **options: object) -> subprocess.CompletedProcess[str]:
    """A program that must succeed."""
    environment = {**os.environ, "CRITERION_HOME": str(FOLDER / "criterion")}
    return subprocess.run(list(map(str, words)), **{"check": True, "text": True, "env": environment, **options})


def checked_out(revision: str) -> Path:
    """A working tree of a revision."""
    commit = run("git", "rev-parse", "--verify", f"{revision}^{{commit}}", cwd=ROOT, stdout=subprocess.PIPE).stdout.strip()
    tree = FOLDER / "tree"
    if (tree / ".git").exists():
        run("git", "checkout", "--quiet", "--detach", commit, cwd=tree)
    else:
        run("git", "worktree", "prune", cwd=ROOT)
        run("git", "worktree", "add", "--quiet", "--detach", tree, commit, cwd=ROOT)
    return tree


def built(tree: Path, target: Path) -> str:
    """The program that measures the kernels of the sources in `tree`."""
    # Asked for the workspace, cargo picks the features of all other builds and compiles no other crate again.
    words = ("--locked", "--workspace", "--bench", "kernels", "--no-run", "--message-format", "json")
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    messages = run("cargo", "bench", *words, cwd=tree, env=environment, stdout=subprocess.PIPE).stdout.splitlines()
    told = [json.loads(line) for line in messages if line.startswith("{")]
    return next(one["executable"] for one in told if one.get("executable") and one["target"]["name"] == "kernels")


def medians(baseline: str) -> dict[str, float]:
    """Median nanoseconds of each kernel in a baseline that Criterion saved."""
    files = (FOLDER / "criterion").glob(f"*/*/{baseline}/estimates.json")
    return {f"{file.parts[-4]} / {file.parts[-3]}": json.loads(file.read_text())["median"]["point_estimate"] for file in files}


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"`{' '.join(error.cmd)}` failed")
