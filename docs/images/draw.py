"""Draws the pictures of the pages: ``python docs/images/draw.py [NAME …]``, all of them without a name.

It needs matplotlib and lapwing. Charts of results are read from the tables of the pages; after a change of a table, draw its
chart again.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import accuracy_charts
import landing
import method_pictures
import solver_pictures
import speed_charts
import style
import training_charts

PICTURES = {
    name: draw
    for module in (landing, accuracy_charts, speed_charts, training_charts, method_pictures, solver_pictures)
    for name, draw in module.PICTURES.items()
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    names = parser.parse_args().names or list(PICTURES)
    if unknown := set(names) - set(PICTURES):
        parser.error(f"no picture is called {', '.join(sorted(unknown))}; there are {', '.join(PICTURES)}")
    for name in names:
        path = style.save(PICTURES[name](), name)
        print(f"{path}: {path.stat().st_size / 1000:.1f} kB", file=sys.stderr)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
