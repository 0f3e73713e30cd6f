"""Puts the common parts of the benchmarks and those of `accuracy` on the module search path; imported before them."""

import sys
from pathlib import Path

BENCHES = Path(__file__).resolve().parents[1]
sys.path += [str(BENCHES), str(BENCHES / "accuracy")]
