"""Sets of classes that hold the right one in a given share of the rows."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Literal, TypedDict, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from . import _lapwing
from ._arguments import choice, number
from ._control import Self, Unpack
from ._looped import BY_CHANCE, KeepsGraph, LoopState
from ._shared import row_numbers
from ._warnings import warn

_Sets = NDArray[np.bool_]


class _SetOptions(TypedDict, total=False):
    method: Literal["leave-one-out", "split"]
    by_class: bool
    check_rows: ArrayLike | None


class PredictsSets(KeepsGraph):
    """Mixin of the harmonic classifiers: sets of classes."""

    @overload
    def predict_sets(
        self, level: float = ..., X: Any = ..., *, return_report: Literal[False] = ..., **options: Unpack[_SetOptions]
    ) -> _Sets: ...
    @overload
    def predict_sets(
        self, level: float = ..., X: Any = ..., *, return_report: Literal[True], **options: Unpack[_SetOptions]
    ) -> tuple[_Sets, dict[str, Any]]: ...
    @overload
    def predict_sets(
        self, level: float = ..., X: Any = ..., *, return_report: bool, **options: Unpack[_SetOptions]
    ) -> _Sets | tuple[_Sets, dict[str, Any]]: ...
    def predict_sets(
        self,
        level: float = 0.9,
        X: Any = None,
        *,
        method: Literal["leave-one-out", "split"] = "leave-one-out",
        by_class: bool = False,
        check_rows: ArrayLike | None = None,
        return_report: bool = False,
    ) -> _Sets | tuple[_Sets, dict[str, Any]]:
        """Sets of classes that hold the right one in a share `level` of the rows.

        Parameters
        ----------
        level : float in (0, 1), default=0.9
            Share of the rows whose set is to hold their class. It needs 1/(1 − level) − 1 labels: 9 for 0.9, 19 for 0.95.
        X : array-like of shape (m, n_features), default=None
            New rows; None for the rows of the fit.
        method : {"leave-one-out", "split"}, default="leave-one-out"
            How labels are held out: by scores that did not see them, or by a fit to half of the labels. The sets of the second are larger,
            and have a guarantee for rows that are drawn like the labels, of classes that have one: coverage of at least `level` on
            average over draws.
        by_class : bool, default=False
            Whether the level holds in each class, which needs that many labels of each.
        check_rows : array-like of int or mask of shape (n_samples,), default=None
            Rows of the fit that were drawn at random, if the others were not: only their labels calibrate the sets. None takes those
            of :meth:`suggest` with the reason "check", where rows of the fit were suggested by it and then added by :meth:`add_labels`.
        return_report : bool, default=False
            Whether to return what is known of the sets as well.

        Returns
        -------
        sets : ndarray of shape (n_samples, n_classes), bool
            Whether the class is in the set of the row. All classes in rows that no label reaches.
        report : dict
            `level`, `expected` (the 5 and 95 % points of the coverage given these labels), `n_held_out`, `n_classes_seen`, `mean_size`,
            `n_unreached`, and by which labels the sets were calibrated.

        Raises
        ------
        ValueError
            If there are too few held-out labels for the level; the message says how many are needed.

        Notes
        -----
        Coverage holds for labels that are drawn like the rows. If rows were suggested by :meth:`suggest` and added by
        :meth:`add_labels`, those with the reason "check" calibrate the sets where they are enough; else a warning says that the level may
        not hold. A new fit does not know which rows were suggested: give `check_rows`.
        """
        state = self._looped()
        if not 0 < number("level", level) < 1:
            raise ValueError(f"level is {level}; expected a number above 0 and below 1")
        fitted = self
        if choice("method", method, ("leave-one-out", "split")) == "split":
            fitted, rows, classes, shares = self._split(state)
        elif not isinstance(state.labels.argument, tuple):
            raise ValueError("sets need one class for each label, not shares of classes")
        else:
            fitted, held_out = self._left_out(state)
            rows, classes, shares = (held_out[name] for name in ("rows", "classes", "shares"))
        used, source = self._fair(state, rows, classes, level, by_class, check_rows)
        if by_class:
            self._enough_of_each(classes[used], level)
        labeling = fitted._apply(X) if X is not None else None
        distributions = fitted.label_distributions_ if labeling is None else labeling["label_distributions"]
        reached = fitted.reached_ if labeling is None else labeling["reached"]
        options = {"level": level, "by_class": by_class}
        sets, summary = _lapwing.prediction_sets(
            np.ascontiguousarray(classes[used]), np.ascontiguousarray(shares[used]), distributions, reached, options
        )
        return (sets, {**json.loads(summary), "method": method, "calibration": source}) if return_report else sets

    def _fair(
        self,
        state: LoopState,
        rows: NDArray[np.uint32],
        classes: NDArray[np.uint32],
        level: float,
        by_class: bool,
        check_rows: Any,
    ) -> tuple[NDArray[np.int64], str]:
        """Which of the held-out rows calibrate sets: those drawn at random if others were suggested and these are enough."""
        least = _lapwing.least_labels(level)
        if len(rows) < least:
            # The compiled part says how many are needed.
            return np.arange(len(rows)), "all labels"
        if check_rows is not None:
            drawn = np.isin(rows, row_numbers(check_rows, state.n_samples, "check_rows"))
            if drawn.sum() < least:
                raise ValueError(f"check_rows has {drawn.sum()} rows with a held-out label; the level {level} needs at least {least}")
            return np.flatnonzero(drawn), "check labels"
        reasons = [state.reasons.get(int(row), "") for row in rows]
        suggested = np.array([reason not in ("", *BY_CHANCE) for reason in reasons], dtype=bool)
        checks = np.flatnonzero([reason == "check" for reason in reasons])
        everything = np.arange(len(rows))
        if not suggested.any():
            return everything, "all labels"
        counts = np.bincount(classes[checks], minlength=int(classes.max()) + 1)[np.unique(classes)] if by_class and len(checks) else [len(checks)]
        if np.min(counts) >= least:
            return checks, "check labels"
        warn(
            "labels were suggested, not drawn at random, and too few of them are check rows, so that sets may hold the right class less "
            "often than the level says; suggest some rows with check=0.2",
        )
        return everything, "suggested labels"

    def _enough_of_each(self, classes: NDArray[np.uint32], level: float) -> None:
        """An error that names the class with too few held-out labels for sets by class."""
        least = _lapwing.least_labels(level)
        for code, count in zip(*np.unique(classes, return_counts=True), strict=True):
            if count < least:
                raise ValueError(
                    f"class {self.classes_[code].item()!r} has {count} held-out labels; by_class needs at least {least} of each class "
                    f"for the level {level}"
                )

    def _left_out(self, state: LoopState) -> tuple[Self, dict[str, Any]]:
        """A fit that left out every label, and what it found of them: this one, unless it left out a part of them only."""
        n_labeled = len(state.labeled())
        n_left_out = 0 if state.held_out is None else len(state.held_out["rows"])
        if n_left_out == n_labeled or self.calibration != "auto" or self.prior is not None:
            fitted, held_out = self, state.held_out
        else:
            if state.left_out is None:
                fitted = clone(self).set_params(certify=False)
                fitted._fit_again(self, state, state.labels, for_sets=True)
                state.left_out = fitted
            fitted = state.left_out
            held_out = fitted._state.held_out or state.held_out
        if held_out is None:
            few = n_labeled < 2 * len(self.classes_) or len(self.classes_) < 2
            raise ValueError(
                f"{n_labeled} labels of {len(self.classes_)} classes are too few to hold any out; sets need two classes, two labels per class "
                "on average"
                if few
                else "with these parameters, a fit holds out no label; take the defaults of form, clamp, graph_reg and calibration, and no prior"
            )
        return fitted, held_out

    def _split(self, state: LoopState) -> tuple[Self, NDArray[Any], NDArray[Any], NDArray[Any]]:
        """A fit to half of the labels, and classes and shares of the other half."""
        if not isinstance(state.labels.argument, tuple):
            raise ValueError("sets need one class for each label, not shares of classes")
        labeled = state.labeled()
        order = np.random.default_rng(self._control()["seed"]).permutation(labeled)
        held: NDArray[np.bool_] = np.zeros(state.n_samples, dtype=bool)
        held[order[: len(order) // 2]] = True
        codes = np.where(held, np.int32(-1), state.labels.codes)
        if len(labeled) < 2:
            raise ValueError("a single label leaves none to hold out")
        if self.prior is not None:
            raise ValueError("method='split' fits again to half of the labels, which the prior has seen; take method='leave-one-out'")
        half = clone(self)
        half._fit_again(self, state, replace(state.labels, codes=codes, argument=(codes, state.labels.argument[1])))
        rows = np.flatnonzero(held).astype(np.uint32)
        return half, rows, state.labels.codes[rows].astype(np.uint32), half.label_distributions_[rows]
