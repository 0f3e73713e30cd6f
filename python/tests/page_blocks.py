"""Runs the code blocks of a page, in Python and at the shell, in the order of the page and in one folder.

    python python/tests/page_blocks.py docs/learn/tables.md …      writes what the blocks print into these pages

A block ```text behind one of ```sh, or behind one of ```python that has a `print`, is what that block prints. A line with …
stands for any lines; lines with seconds or memory are those of some machine. What follows the language on the first line of a
block:

    no-run: REASON       the block is not run
    fails                the program ends with an error, which is part of what is printed
    needs: MODULE        a block ```python is not run where this module is not installed
    after-sh             takes files that a block ```sh wrote: not run where the program is not built
    varies: REASON       of a block ```text: what is printed depends on the versions of other packages, and is not compared
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits

from lapwing.graph import knn_graph

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(```)(\S*) ?(.*)\n((?:(?!```).*\n)*)```$", re.MULTILINE)


class Block(NamedTuple):
    language: str
    note: str
    code: str
    span: tuple[int, int]
    """Where the code stands in the page."""

    @property
    def runs(self) -> bool:
        return self.language in ("python", "sh") and not self.note.startswith("no-run")

    @property
    def shows(self) -> bool:
        """Whether a text behind it is what it prints."""
        return self.language == "sh" or self.language == "python" and "print(" in self.code


def blocks(page: Path) -> list[Block]:
    fences = FENCE.finditer(page.read_text(encoding="utf-8"))
    return [Block(fence[2], fence[3], fence[4], fence.span(4)) for fence in fences]


def program() -> Path | None:
    """The program `lapwing`: that of LAPWING_BIN, or the one that was built in this tree."""
    path = Path(os.environ.get("LAPWING_BIN", ROOT / "target/release/lapwing"))
    return path.resolve() if path.is_file() else None


def run(page: Path, folder: Path, names: dict[str, object]) -> list[tuple[Block, Block, str]]:
    """Runs the blocks of a page. Returns each block that shows what it prints, the text behind it, and what it printed."""
    found = blocks(page)
    put_files(folder)
    printed = []
    with _within(folder):
        for block, after in zip(found, [*found[1:], None]):
            if not block.runs or block.note == "after-sh" and program() is None:
                continue
            spec = find_spec(block.note.removeprefix("needs: ")) if block.note.startswith("needs: ") else None
            if block.note.startswith("needs: ") and (spec is None or spec.origin is None):
                continue
            output = _python(block, page.name, names) if block.language == "python" else _shell(block)
            if output is not None and block.shows and after and after.language == "text":
                printed.append((block, after, output))
    return printed


def put_files(folder: Path) -> None:
    """Files that pages take as given, besides those in `docs/learn/data`."""
    digits = "crates/lapwing-cli/data/digits.csv.gz"
    for given in [ROOT / digits, *(ROOT / "docs/learn/data").glob("*.csv")]:
        shutil.copy(given, folder)
    (folder / digits).parent.mkdir(parents=True)
    shutil.copy(ROOT / digits, folder / digits)
    X, truth = load_digits(return_X_y=True)
    for name in ("huge.npy", "rows.npy"):
        np.save(folder / name, X.astype(np.float32))
    u, v = sparse.triu(knn_graph(X, n_neighbors=10).to_scipy()).nonzero()
    np.save(folder / "edges.npy", np.column_stack([u, v]))
    known = "".join(f"{row},{truth[row]}\n" for row in range(100))
    (folder / "known.csv").write_text(f"row,label\n{known}", encoding="utf-8")
    rng = np.random.default_rng(0)
    classes = np.arange(400) % 4
    rows = rng.normal(size=(4, 8))[classes] + rng.normal(scale=0.4, size=(400, 8))
    cells = [",".join(f"{value:.3f}" for value in row) for row in rows]
    head = ",".join(f"x{column}" for column in range(8)) + ",y"
    table = [f"{row},{'abcd'[c] if at < 100 else ''}" for at, (row, c) in enumerate(zip(cells, classes))]
    for name, lines in {"train.csv": table, "new.csv": table[-5:]}.items():
        (folder / name).write_text("\n".join([head, *lines, ""]), encoding="utf-8")


def _python(block: Block, name: str, names: dict[str, object]) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(block.code, name, "exec"), names)
    return output.getvalue()


def _shell(block: Block) -> str | None:
    """What a script prints; None without the program. Commands of cargo and pip are left out."""
    path = program()
    if path is None:
        return None
    script = block.code.replace("cargo run --release --", "lapwing")
    script = "".join(f"{line}\n" for line in script.splitlines() if not line.startswith(("cargo ", "pip ")))
    search = f"{path.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": search, "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    fails = block.note.startswith("fails")
    done = subprocess.run(
        ["sh", "-e", "-c", script], env=environment, stdout=subprocess.PIPE, text=True,
        encoding="utf-8", stderr=subprocess.STDOUT if fails else subprocess.PIPE,
    )  # fmt: skip
    if (done.returncode != 0) != fails:
        raise AssertionError(f"exit code {done.returncode}:\n{script}\n{done.stdout}\n{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def _within(folder: Path):
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def missing(expected: str, printed: str) -> str | None:
    """The first line of the expected text that is not printed, after those before it."""
    found = (_words(line) for line in printed.splitlines() if not _is_of_the_machine(line))
    for line in expected.splitlines():
        if not _is_of_the_machine(line) and not any(_are_equal(words, _words(line)) for words in found):
            return line
    return None


def _is_of_the_machine(line: str) -> bool:
    return line.startswith("time") or "MiB" in line or "GiB" in line or "…" in line or line.endswith(" s")


def _words(line: str) -> list[str]:
    """The words of a line; of a line of `compare` those before the seconds."""
    return re.split(r"[\s,]+", line.partition("%")[0] if "±" in line else line)


def _are_equal(a: list[str], b: list[str]) -> bool:
    return len(a) == len(b) and all(left == right or _are_near(left, right) for left, right in zip(a, b))


def _are_near(a: str, b: str) -> bool:
    try:
        return abs(float(a) - float(b)) <= 1e-6
    except ValueError:
        return False


def write(page: Path, names: dict[str, object]) -> None:
    """Puts what the blocks of a page print into it, without phases of the time and with … for them."""
    with tempfile.TemporaryDirectory() as folder:
        printed = run(page, Path(folder), names)
    text = page.read_text(encoding="utf-8")
    for _, after, output in reversed(printed):
        start, end = after.span
        output = re.sub(r"^(time +.*\n)(?:  .*\n)+", r"\1  …\n", output, flags=re.MULTILINE)
        if missing(after.code, output) is not None or not after.code:
            text = text[:start] + output + text[end:]
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    from test_pages import what_examples_take_as_given

    for page in sys.argv[1:]:
        write(Path(page), what_examples_take_as_given())
