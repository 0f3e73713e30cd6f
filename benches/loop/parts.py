"""The parts by name. A part is a module with

    TITLE, THREADS       of its table, of its processes (0: all processors)
    VERSION              counted up when its measurements change, so that kept results no longer count
    units(args)          what gets a process of its own: dictionaries with numbers and words
    methods(unit)        names of methods; those of peers begin with the name of their package (`keep.PACKAGES`)
    measure(unit, name)  the result of one method, a dictionary
    table(results)       Markdown, with the goals
    basis(unit)          optional: what else the results of a unit rest on
"""

from types import ModuleType

import certain
import clock
import cold
import copies
import doubts
import large
import rounds
import unseen
import values

PARTS: dict[str, ModuleType] = {
    "cold": cold,
    "rounds": rounds,
    "missing": unseen,
    "audit": doubts,
    "duplicates": copies,
    "sets": certain,
    "intervals": values,
    "scale": large,
    "timing": clock,
}
