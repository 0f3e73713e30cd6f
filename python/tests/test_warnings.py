"""Warnings of reports become Python's by their kinds."""

import re
import warnings
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from lapwing._warnings import warn_of
from lapwing.exceptions import UnreachedWarning

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "output.md"


def test_the_kind_decides_the_class():
    table = PAGE.read_text(encoding="utf-8").partition("| kind of a warning |")[2].partition("\n\n")[0]
    expected = dict.fromkeys(re.findall(r"^\| `(.+?)` \|", table, re.MULTILINE), UserWarning)
    assert {"unreached", "not-converged"} < set(expected)
    expected |= {"unreached": UnreachedWarning, "not-converged": ConvergenceWarning}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of([{"kind": kind, "text": f"no label reaches {kind}"} for kind in expected])
    assert {str(found.message).split()[-1]: found.category for found in caught} == expected
    assert {found.filename for found in caught} == {__file__}
