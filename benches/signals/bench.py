"""The time between a signal and the end of the program: SIGTERM and Ctrl-C at random moments of `label`, with all methods and few to many classes.

Each method is run to its end once for each number of classes, up to a limit; the moments are random ones of that time. A run that does not
stop by itself in time is ended by a thread that waits for that: those are counted too.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import IO

import common
import harness
import numpy as np
from common import Record

PROGRAM = common.ROOT / "target" / "release" / "lapwing"
BIN = 0.1
"""Seconds of a bar of the histogram."""
PATIENCE = 0.7
"""Seconds that the program gives itself for an orderly end."""


def main() -> None:
    args = parse()
    report, rng = harness.Report("signals", args), random.Random(args.seed)
    methods = json.loads(subprocess.run([args.program, "methods", "--json"], capture_output=True, check=True).stdout)
    names = [method["name"] for method in methods if not args.methods or method["name"] in args.methods]
    with tempfile.TemporaryDirectory() as folder:
        problems = {classes: problem(Path(folder), classes, rng) for classes in args.classes}
        lasts: dict[tuple[str, int], float] = {}
        for at in range(args.runs):
            name, classes = names[at % len(names)], args.classes[(at + at // len(names)) % len(args.classes)]
            words = [args.program, "label", *problems[classes], "--method", name, "--threads", args.threads]
            words = [str(word) for word in [*words, "-o", f"{folder}/o.csv", "--model", f"{folder}/o.model", "--progress", "json"]]
            if (name, classes) not in lasts:
                lasts[name, classes] = duration(words, args.limit)
            record = {"method": name, "classes": classes, **interrupted(words, rng.random() * lasts[name, classes], at)}
            left = [path.name for path in Path(folder).glob("o.*")] + [path.name for path in Path(folder).glob(".*")]
            record["left"] = left if record["code"] != 0 else []
            for file in Path(folder).glob("o.*"):
                file.unlink()
            report.add(record)
            print(f"{at + 1:4} {line(record)}", file=sys.stderr, flush=True)
    print(f"{summary(report.results)}\n\n{report.machine()}")


def parse() -> argparse.Namespace:
    parser = harness.parser("signals", __doc__)
    parser.add_argument("--runs", type=int, default=100, help="signals in all (default 100)")
    parser.add_argument("--methods", nargs="+", metavar="M", help="(default: all)")
    parser.add_argument("--classes", nargs="+", type=int, default=[3, 100, 600, 2000], metavar="C")
    parser.add_argument("--limit", type=float, default=20, metavar="SECONDS", help="of the first run of each kind (default 20)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--program", type=Path, default=PROGRAM, help=argparse.SUPPRESS)
    return parser.parse_args()


def problem(folder: Path, classes: int, rng: random.Random) -> list[str]:
    """Two rows of each class or more, and one label or five of each."""
    draw = np.random.default_rng(rng.randrange(2**32))
    n, labels = max(2 * classes, 2000), classes * (5 if classes <= 100 else 1)
    own = np.arange(n) % classes
    rows = draw.normal(size=(classes, 16))[own] + 0.2 * draw.normal(size=(n, 16))
    np.save(folder / f"x{classes}.npy", rows.astype("f4"))
    (folder / f"k{classes}.csv").write_text("".join(f"{row},k{own[row]}\n" for row in range(labels)))
    return [str(folder / f"x{classes}.npy"), "--labels", str(folder / f"k{classes}.csv")]


def duration(words: list[str], limit: float) -> float:
    """Seconds of a run to its end, at most the limit."""
    begun = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        try:
            child.wait(limit)
        except subprocess.TimeoutExpired:
            child.kill()
    return time.perf_counter() - begun


def interrupted(words: list[str], after: float, at: int) -> Record:
    """A run that gets a signal `after` seconds, with the seconds until its end and the phase that it was in."""
    phase = [""]

    def listen(stream: IO[str]) -> None:
        for text in stream:
            event = json.loads(text) if text.startswith("{") else {}
            if event.get("event") == "start":
                phase[0] = event["phase"]

    sent = [signal.SIGTERM, signal.SIGINT][at % 2]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr
        listener = threading.Thread(target=listen, args=(child.stderr,))
        listener.start()
        time.sleep(after)
        ended, during, begun = child.poll() is not None, phase[0], time.perf_counter()
        child.send_signal(sent)
        code = child.wait()
        seconds = time.perf_counter() - begun
        listener.join()
    return {"signal": sent.name, "after": after, "phase": during, "code": code, "seconds": seconds, "late": ended}


def line(record: Record) -> str:
    words = [record["method"], f"{record['classes']} classes", record["signal"], f"after {record['after']:.2f} s"]
    return f"{', '.join(words)}, {record['phase'] or 'start'}: code {record['code']} in {1000 * record['seconds']:.0f} ms {record['left'] or ''}"


def summary(records: list[Record]) -> str:
    """A histogram of the seconds, and the slowest runs."""
    heard = [record for record in records if not record["late"]]
    bins = Counter(int(record["seconds"] / BIN) for record in heard)
    rows = [[f"{BIN * at:.1f} to {BIN * (at + 1):.1f} s", str(bins[at]), "#" * bins[at]] for at in range(max(bins, default=0) + 1)]
    slowest = sorted(heard, key=lambda record: -record["seconds"])[:10]
    waited = sum(record["seconds"] >= PATIENCE for record in heard)
    wrong = [record for record in heard if record["code"] not in (0, 130) or record["left"]]
    text = f"{len(heard)} signals during a run ({len(records) - len(heard)} came after its end); {waited} runs did not stop by themselves in {PATIENCE} s; "
    text += f"{len(wrong)} ended with another code or left files.\n\n{common.table(['until the end', 'runs', ''], rows)}\n"
    return text + "Slowest:\n" + "\n".join(map(line, slowest))


if __name__ == "__main__":
    sys.exit(main())
