"""Threads, seed and progress of one call, in the form that the compiled part takes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

if sys.version_info >= (3, 11):
    from typing import Self as Self
    from typing import Unpack as Unpack
elif TYPE_CHECKING:
    from typing_extensions import Self as Self
    from typing_extensions import Unpack as Unpack
else:
    Self = Any  # what Python 3.10 does not have yet

    class Unpack:
        def __class_getitem__(cls, options):
            return options


class HasArray(Protocol):
    """Arrays, data frames and other objects of which NumPy makes arrays; no texts, which stand for choices."""

    def __array__(self) -> NDArray[Any]: ...


Event = dict[str, Any]
Callback = Callable[[Event], object]
Seed = int | np.integer[Any] | np.random.RandomState | np.random.Generator | None


def run_control(
    n_jobs: int | None, random_state: Seed, verbose: int | bool = 0, callback: Callback | None = None
) -> dict[str, Any]:
    """Check the common arguments of long calls."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable, not {type(callback).__name__}")
    listeners = [listener for listener in (_Printer() if verbose else None, callback) if listener is not None]

    def tell(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return {
        "threads": _threads(n_jobs),
        "seed": _seed(random_state),
        "callback": tell if listeners else None,
    }


def _threads(n_jobs: int | None) -> int | None:
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)):
        raise TypeError(f"n_jobs must be an integer or None, not {type(n_jobs).__name__}")
    if n_jobs == -1:
        return None
    if not 1 <= n_jobs <= 4096:
        raise ValueError(f"n_jobs is {n_jobs}; expected None or -1 for all processors, or between 1 and 4096")
    return int(n_jobs)


def _seed(random_state: Seed) -> int:
    """An integer is the seed itself, as on the command line; a generator draws one."""
    if isinstance(random_state, (int, np.integer)):
        if not 0 <= random_state < 2**64:
            raise ValueError(f"random_state is {random_state}; expected between 0 and 2**64 - 1")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    return int(check_random_state(random_state).randint(2**63, dtype=np.int64))


class _Printer:
    """Writes a line to standard error at the end of each phase."""

    def __init__(self) -> None:
        self._phase, self._start = "", time.perf_counter()

    def __call__(self, event: Event) -> None:
        if event["phase"] != self._phase:
            self._phase, self._start = event["phase"], time.perf_counter()
        elif event["finished"]:
            note = f" ({event['note']})" if event["note"] else ""
            seconds = time.perf_counter() - self._start
            print(f"[lapwing] {self._phase}: {seconds:.2f} s{note}", file=sys.stderr)
            self._phase = ""
