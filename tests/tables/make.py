"""Writes the tables of this folder and the true labels in truth/.

Run: python tests/tables/make.py      (needs numpy, pandas and pyarrow)

Every value is drawn from a seeded generator: nothing is taken from real data. All tables are made the same way. First the true label of
every row is drawn, then a few hidden numbers around a center that belongs to the label, and the columns are written from the hidden
numbers: rescaled, cut into categories, turned into words. Columns without any connection to the label stand between them, and they often
have the largest numbers. Last, the labels of most rows and some cells are removed.
"""

import csv
import datetime as dt
import decimal
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent
TRUTH = HERE / "truth"


# ---------------------------------------------------------------------------------------------------------------- helpers


def draw_labels(rng, names, shares, rows):
    """Labels in the given shares, in random order."""
    counts = np.floor(np.array(shares) * rows).astype(int)
    counts[0] += rows - counts.sum()
    labels = np.repeat(np.arange(len(names)), counts)
    rng.shuffle(labels)
    return labels


def draw_hidden(rng, labels, centers, spread=1.0):
    """Hidden numbers of each row, around a center of its label. Each label has one or more centers."""
    width = len(centers[0][0])
    out = np.empty((len(labels), width))
    for row, label in enumerate(labels):
        center = centers[label][rng.integers(len(centers[label]))]
        out[row] = np.array(center) + spread * rng.standard_normal(width)
    return out


def choose_known(rng, labels, count, least=5):
    """Which rows keep their label: `count` in total, at least `least` of every class."""
    known = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        known[rng.choice(np.flatnonzero(labels == label), least, replace=False)] = True
    rest = np.flatnonzero(~known)
    known[rng.choice(rest, count - known.sum(), replace=False)] = True
    return known


def pick(rng, levels, chances):
    """One level for each row; `chances` has one row of weights for each row of the table."""
    chances = np.asarray(chances, dtype=float)
    chances = chances / chances.sum(axis=1, keepdims=True)
    places = (rng.random((len(chances), 1)) > chances.cumsum(axis=1)).sum(axis=1)
    return [levels[min(p, len(levels) - 1)] for p in places]


def by_label(labels, table):
    """Weights of the levels for each row, from one list of weights for each label."""
    return np.array(table, dtype=float)[labels]


def days(start, offsets):
    first = dt.date.fromisoformat(start)
    return [first + dt.timedelta(days=int(o)) for o in offsets]


def write_truth(name, labels, names):
    text = "label\n" + "".join(names[label] + "\n" for label in labels)
    (TRUTH / f"{name}.csv").write_bytes(text.encode())


def write_table(name, header, columns, delimiter=",", end="\n", quoting=csv.QUOTE_MINIMAL, before="", after=""):
    out = io.StringIO()
    out.write(before)
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerow(header)
    for row in zip(*columns, strict=True):
        writer.writerow(row)
    out.write(after)
    (HERE / name).write_bytes(out.getvalue().encode("utf-8"))


def shown(labels, names, known, hidden=""):
    return [names[label] if k else hidden for label, k in zip(labels, known, strict=True)]


# ----------------------------------------------------------------------------------------------------------------- tables


def messy():
    rng = np.random.default_rng(101)
    rows, names = 600, ["stays", "grows", "leaves"]
    labels = draw_labels(rng, names, [0.55, 0.3, 0.15], rows)
    hidden = draw_hidden(
        rng,
        labels,
        [
            [[0, 0, 0, 0, 0], [0.5, -1.2, 0.4, 1.2, 0]],
            [[2.6, 1.6, 0.3, 1.0, 1.5]],
            [[-1.6, 1.0, -2.6, -1.6, -1.5]],
        ],
        0.95,
    )
    columns = {
        "id": [f"C-{i + 1:04d}" for i in range(rows)],
        "signup": [d.isoformat() for d in days("2022-01-01", np.clip(500 + 170 * hidden[:, 4] + 100 * rng.standard_normal(rows), 0, 1200))],
        "plan": pick(
            rng,
            ["free", "starter", "team", "business"],
            by_label(labels, [[4, 5, 2, 1], [1, 2, 5, 5], [7, 3, 1, 0.5]]),
        ),
        "active": pick(rng, ["yes", "no"], by_label(labels, [[85, 15], [97, 3], [22, 78]])),
        "income": [f"{v:.0f}" for v in 42000 * np.exp(0.28 * hidden[:, 0] + 0.05 * rng.standard_normal(rows))],
        "visits_per_week": [f"{max(0, v):.1f}" for v in 6 + 1.9 * hidden[:, 1] + 0.3 * rng.standard_normal(rows)],
        "storage_bytes": [f"{v:.0f}" for v in np.exp(rng.normal(19, 1.5, rows))],
        "minutes": [f"{v:.0f}" for v in 90 * np.exp(0.4 * hidden[:, 2])],
        "satisfaction": [f"{1 / (1 + np.exp(-0.8 * v)):.3f}" for v in hidden[:, 3]],
        "distance_m": [f"{v:.0f}" for v in rng.uniform(200, 900000, rows)],
    }
    for name in list(columns)[1:]:
        cells = columns[name]
        for row in np.flatnonzero(rng.random(rows) < 0.1):
            cells[row] = ["", "", "", "NA", "n/a"][rng.integers(5)]
    known = choose_known(rng, labels, 60)
    columns["y"] = shown(labels, names, known)
    write_table("messy.csv", list(columns), list(columns.values()))
    write_truth("messy", labels, names)


def european():
    rng = np.random.default_rng(102)
    rows, names = 500, ["gelegentlich", "häufig", "selten"]
    labels = draw_labels(rng, names, [0.4, 0.35, 0.25], rows)
    hidden = draw_hidden(
        rng,
        labels,
        [[[0, 0, 0, 0]], [[2.3, 1.6, -1.2, 1.2]], [[-1.9, 1.2, 2.0, -1.6]]],
        0.95,
    )

    def german(value, places=2):
        return f"{value:,.{places}f}".replace(",", "_").replace(".", ",").replace("_", ".")

    towns = ["Mühlbach", "Grünfelde", "Königsried", "Weißenau", "Tannhöhe", "Altersee"]
    remarks = [
        "Lieferung ab Rampe; bitte vorher anrufen",
        "zahlt bar",
        "Rechnung per Post; zweifach",
        "",
        "",
        "wünscht Rückruf",
        'nannte sich „Stammgast"; sehr höflich',
        "Tür links; Klingel defekt",
    ]
    columns = {
        "Kundennummer": [f"K{100000 + 7 * i}" for i in range(rows)],
        "Ort": pick(rng, towns, by_label(labels, [[2, 5, 5, 2, 1, 1], [6, 3, 1, 1, 4, 1], [1, 1, 2, 6, 1, 5]])),
        "Kunde seit": [d.strftime("%d.%m.%Y") for d in days("2015-03-01", np.clip(1600 + 420 * hidden[:, 3], 0, 3600))],
        "Umsatz (€)": [german(v) for v in 2300 * np.exp(0.5 * hidden[:, 0])],
        "Größe (m²)": [german(max(8, 85 + 22 * v), 1) for v in hidden[:, 1]],
        "Grundstückswert": [german(v) for v in np.exp(rng.normal(12.3, 0.9, rows))],
        "Rabatt": [german(max(0, 6 + 1.9 * v), 1) for v in hidden[:, 2]],
        "Geprüft": pick(rng, ["ja", "nein"], by_label(labels, [[5, 5], [8, 2], [3, 7]])),
        "Bemerkung": [remarks[rng.integers(len(remarks))] for _ in range(rows)],
    }
    for name in ["Ort", "Kunde seit", "Umsatz (€)", "Größe (m²)", "Rabatt"]:
        for row in np.flatnonzero(rng.random(rows) < 0.04):
            columns[name][row] = ""
    known = choose_known(rng, labels, 50)
    columns["klasse"] = shown(labels, names, known)
    write_table("european.csv", list(columns), list(columns.values()), delimiter=";")
    write_truth("european", labels, names)


def survey():
    rng = np.random.default_rng(103)
    rows, names = 450, ["loyal", "bargain hunter", "skeptic", "newcomer"]
    labels = draw_labels(rng, names, [0.35, 0.3, 0.2, 0.15], rows)
    likert = ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"]
    items = [
        "The shop is easy to use",
        "I trust the shop",
        "Prices are fair",
        "I compare prices first",
        "I wait for sales",
        "Delivery is fast",
        "I would recommend it",
        "I read the newsletter",
        "Support answers well",
        "I know the range well",
        "I buy for my family",
        "I like the music",
    ]
    means = np.array(
        [
            [4.4, 4.5, 3.8, 2.1, 2.0, 3.8, 4.5, 3.6, 4.0, 4.4, 3.2, 3.0],
            [3.8, 3.2, 2.4, 4.6, 4.6, 3.0, 3.2, 4.2, 3.1, 3.4, 3.4, 3.0],
            [2.0, 1.6, 1.9, 3.2, 2.6, 2.4, 1.6, 1.6, 2.0, 3.2, 3.0, 3.0],
            [3.0, 3.3, 3.6, 3.3, 2.9, 3.6, 3.2, 1.8, 3.0, 1.5, 2.4, 3.0],
        ]
    )
    answers = np.clip(np.rint(means[labels] + 1.05 * rng.standard_normal((rows, 12))), 1, 5).astype(int)
    columns = {"respondent": [4001 + 3 * i for i in range(rows)]}
    for place, item in enumerate(items):
        cells = [likert[a - 1] for a in answers[:, place]]
        for row in np.flatnonzero(rng.random(rows) < 0.02):
            cells[row] = "no answer"
        columns[item] = cells
    columns["age group"] = pick(
        rng,
        ["under 25", "25-39", "40-59", "60 and over"],
        by_label(labels, [[1, 3, 4, 2], [3, 4, 2, 1], [1, 2, 3, 4], [5, 3, 1, 1]]),
    )
    columns["gender"] = pick(rng, ["woman", "man", "other", "prefer not to say"], np.tile([48, 46, 3, 3], (rows, 1)))
    comments = [
        [
            "Keep it up!",
            "Always happy, never had a problem",
            "My first address for gifts",
            'They said "tomorrow" and it was there',
        ],
        [
            "Too expensive without a coupon",
            "More sales, please",
            "Cheaper elsewhere, but slower",
            "I wait for the summer sale",
        ],
        ["Parcel came broken", "Nobody answers", "I do not believe the reviews", "Last time, sorry"],
        ["Just found you", "First order, let's see", "Have not seen much yet", "A friend told me about it"],
    ]
    texts = []
    for label in labels:
        draw = rng.random()
        if draw < 0.7:
            texts.append("")
        elif draw < 0.76:
            texts.append("-")
        else:
            texts.append(comments[label if rng.random() < 0.8 else rng.integers(4)][rng.integers(4)])
    columns["comment"] = texts
    known = choose_known(rng, labels, 48)
    columns["segment"] = shown(labels, names, known)
    write_table("survey.csv", list(columns), list(columns.values()))
    write_truth("survey", labels, names)


def sensors():
    rng = np.random.default_rng(104)
    rows, names = 700, ["normal", "fault_a", "fault_b"]
    labels = []
    while len(labels) < rows:
        labels += [0] * int(rng.integers(15, 45))
        labels += [int(rng.integers(1, 3))] * int(rng.integers(5, 18))
    labels = np.array(labels[:rows])
    hidden = draw_hidden(
        rng,
        labels,
        [
            [[0, 0, 0, 0, 0], [-1.5, 0.3, 0, -1.0, 0]],
            [[1.5, -0.3, 2.4, 0.4, 1.6]],
            [[0.3, 2.6, -0.4, -2.2, -1.4]],
        ],
        1.0,
    )
    start = dt.datetime(2024, 2, 27, 22, 0)
    steps = np.arange(rows)
    columns = {"time": [(start + dt.timedelta(minutes=10 * int(i))).isoformat() for i in steps]}
    day = np.sin(2 * np.pi * steps / 144)
    values = {
        "temp_in": (54 + 4 * hidden[:, 0] + 0.8 * day, 1),
        "temp_out": (18 + 6 * day + rng.standard_normal(rows), 1),
        "pressure_pa": (101300 + 900 * hidden[:, 1], 0),
        "vibration": (0.021 * np.exp(0.45 * hidden[:, 2]), 4),
        "rpm": (2950 + 60 * hidden[:, 3], 0),
        "current_a": (7.2 + 0.9 * hidden[:, 4], 2),
        "humidity": (45 + np.cumsum(rng.standard_normal(rows)) % 30, 1),
        "level_mm": (np.full(rows, 812.0), 0),
    }
    for name, (numbers, places) in values.items():
        cells = [f"{v:.{places}f}" for v in numbers]
        for _ in range(int(rng.integers(4, 8))):
            first, length = int(rng.integers(rows)), int(rng.integers(3, 16))
            cells[first : first + length] = [""] * len(cells[first : first + length])
        columns[name] = cells
    columns["status"] = pick(
        rng,
        ["OK", "W12", "W31", "E07"],
        by_label(labels, [[90, 5, 4, 1], [40, 45, 5, 10], [45, 5, 40, 10]]),
    )
    known = choose_known(rng, labels, 60)
    columns["state"] = shown(labels, names, known)
    write_table("sensors.csv", list(columns), list(columns.values()))
    write_truth("sensors", labels, names)


def shop():
    rng = np.random.default_rng(105)
    rows, names = 400, ["Kitchen", "Garden", "Toys", "Electronics", "Clothing"]
    labels = draw_labels(rng, names, [0.25, 0.2, 0.2, 0.2, 0.15], rows)
    things = [
        "pan,pot,kettle,whisk,knife,bowl,ladle,toaster,cutting board,mug",
        "spade,hose,rake,planter,shears,wheelbarrow,watering can,trellis,lawn mower,seed tray",
        "puzzle,teddy bear,kite,doll,building blocks,toy train,board game,marble run,yo-yo,toy robot",
        "headphones,charger,keyboard,monitor,speaker,webcam,router,tablet,power bank,USB hub",
        "jacket,scarf,wool socks,T-shirt,jeans,raincoat,hoodie,mittens,belt,skirt",
    ]
    words = [
        "cooking,kitchen,steel,dishwasher,oven,soup,baking,handle,nonstick,stove,food,recipes,lid,boiling,chef",
        "garden,soil,plants,lawn,outdoor,roots,rust,flowers,hedge,compost,watering,beds,greenhouse,leaves,weeds",
        "children,play,fun,colorful,ages,imagination,parents,wooden,pieces,kids,game,learning,birthday,safe,cuddly",
        "wireless,battery,cable,bluetooth,screen,USB,volts,sound,plug,fast charging,display,devices,pixels,signal,LED",
        "cotton,wear,sizes,sleeves,warm,washable,pockets,zipper,fabric,winter,knit,fit,collar,soft,lining",
    ]
    things, words = [t.split(",") for t in things], [w.split(",") for w in words]
    common = (
        "quality,best,new,design,gift,perfect,everyday,easy,robust,light,compact,modern,classic,value,popular,lasting,"
        "small,large,home,use,ideal,set,premium,simple"
    ).split(",")
    adjectives = ["Red", "Blue", "Black", "Classic", "Compact", "Premium", "Eco", "Small", "Large", "Super"]
    starts, ends = ["Bra", "Nor", "Vel", "Tam", "Kor", "Lin", "Osa", "Zim"], ["do", "vor", "tec", "lund", "mont", "ari", "ex", "ona"]
    brands = [a + b for a in starts for b in ends]
    taste = rng.dirichlet(np.full(64, 0.5), 5) + 0.01
    titles, descriptions = [], []
    for label in labels:
        thing = things[label][rng.integers(10)]
        titles.append(f"{adjectives[rng.integers(10)]} {thing}, {rng.integers(1, 9)} pc" if rng.random() < 0.3 else f"{adjectives[rng.integers(10)]} {thing}")
        parts = []
        for _ in range(int(rng.integers(8, 15))):
            draw = rng.random()
            other = rng.integers(5)
            source = words[label] if draw < 0.32 else common if draw < 0.8 else words[other]
            parts.append(source[rng.integers(len(source))])
        text = " ".join(parts)
        if rng.random() < 0.1:
            text += f' with 5" edge'
        descriptions.append(text[0].upper() + text[1:] + ".")
    price = np.exp(rng.normal(3.6, 1.0, rows) + np.array([0, 0.3, -0.4, 1.4, 0.1])[labels])
    rating = np.clip(rng.normal(4.1, 0.5, rows), 1, 5)
    columns = {
        "sku": [f"{rng.integers(16**6):06X}" for _ in range(rows)],
        "title": titles,
        "description": descriptions,
        "price": [f"${v:,.2f}" for v in price],
        "brand": pick(rng, brands, taste[labels]),
        "in_stock": pick(rng, ["true", "false"], np.tile([8, 2], (rows, 1))),
        "rating": [f"{v:.1f}" if rng.random() > 0.25 else "" for v in rating],
    }
    known = choose_known(rng, labels, 60)
    columns["department"] = shown(labels, names, known)
    # Written without quotes, as such exports often are: a quote inside a cell is a plain character.
    lines = ["\t".join(columns)] + ["\t".join(row) for row in zip(*columns.values(), strict=True)]
    (HERE / "shop.tsv").write_bytes(("\n".join(lines) + "\n").encode())
    write_truth("shop", labels, names)


def friends():
    rng = np.random.default_rng(106)
    people, names = 300, ["chess club", "choir", "rowing", "book circle"]
    labels = draw_labels(rng, names, [0.35, 0.3, 0.2, 0.15], people)
    first = "al be ca do el fi go ha il jo ka lu mi no or pa ri sa te vi".split()
    last = "bin dra fen gor lia mus na pel ris tan vor wyn xa ylo zek".split()
    every = [a + b for a in first for b in last]
    called = [every[i] for i in rng.permutation(len(every))[:people]]
    edges = {}

    def join(a, b):
        if a != b and (b, a) not in edges:
            same = labels[a] == labels[b]
            edges.setdefault((a, b), float(np.clip(rng.beta(4, 2) if same else rng.beta(3, 3), 0.05, 1)))

    for person in range(people):
        inside = np.flatnonzero(labels == labels[person])
        for friend in rng.choice(inside, int(rng.integers(1, 4))):
            join(person, int(friend))
        if rng.random() < 0.9:
            join(person, int(rng.integers(people)))
    order = rng.permutation(len(edges))
    pairs = list(edges.items())
    lines = ["person,friend,closeness"]
    seen = []
    for place in order:
        (a, b), closeness = pairs[place]
        lines.append(f"{called[a]},{called[b]},{closeness:.2g}")
        seen += [p for p in (a, b) if p not in seen]
    assert len(seen) == people
    (HERE / "friends.csv").write_bytes(("\n".join(lines) + "\n").encode())
    known = choose_known(rng, labels, 30)
    given = [p for p in seen if known[p]]
    for path, some in [(HERE / "friends_labels.csv", given), (TRUTH / "friends.csv", seen)]:
        lines = ["person,group"] + [f"{called[p]},{names[labels[p]]}" for p in some]
        path.write_bytes(("\n".join(lines) + "\n").encode())


def embeddings():
    rng = np.random.default_rng(107)
    rows, names = 400, ["sports", "politics", "science", "cooking", "travel"]
    labels = draw_labels(rng, names, [0.3, 0.25, 0.2, 0.15, 0.1], rows)
    centers = [list(1.05 * rng.standard_normal((2, 32))) for _ in names]
    vectors = draw_hidden(rng, labels, centers, 1.2)
    vectors *= np.exp(rng.normal(0, 0.5, rows))[:, None]
    vectors = np.round(vectors, 2).astype(np.float32)
    known = choose_known(rng, labels, 50)
    table = pa.table(
        {
            "doc": pa.array([f"doc-{rng.integers(16**8):08x}" for _ in range(rows)]),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel(), pa.float32()), 32),
            "source": pa.array(pick(rng, ["web", "print", "radio", "mail"], np.tile([5, 3, 1, 1], (rows, 1)))).dictionary_encode(),
            "y": pa.array(shown(labels, names, known, None), pa.string()),
        }
    )
    pq.write_table(table, HERE / "embeddings.parquet", compression="snappy")
    write_truth("embeddings", labels, names)


def bank():
    rng = np.random.default_rng(108)
    rows, names = 600, ["no", "yes"]
    labels = draw_labels(rng, names, [0.72, 0.28], rows)
    hidden = draw_hidden(rng, labels, [[[0, 0, 0], [-1.8, 0.5, 0.8]], [[1.5, 2.0, -1.8], [-0.6, 2.6, -1.6]]], 1.2)
    trades = ["clerk", "farmer", "teacher", "driver", "nurse", "retired", "student", "unknown"]
    months = ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"]
    columns = {
        "age": [int(np.clip(44 + 11 * v, 18, 92)) for v in hidden[:, 0]],
        "trade": pick(rng, trades, by_label(labels, [[5, 3, 3, 5, 3, 1, 1, 1], [3, 1, 4, 1, 3, 4, 3, 1]])),
        "household": pick(rng, ["alone", "couple", "family", "unknown"], np.tile([4, 4, 5, 1], (rows, 1))),
        "schooling": pick(rng, ["basic", "middle", "higher", "unknown"], by_label(labels, [[4, 5, 2, 1], [1, 4, 5, 1]])),
        "balance": [int(v) for v in 1400 * np.sinh(0.6 * (hidden[:, 1] + 0.4))],
        "mortgage": pick(rng, ["yes", "no"], by_label(labels, [[65, 35], [25, 75]])),
        "card": pick(rng, ["yes", "no"], np.tile([7, 3], (rows, 1))),
        "branch_code": [int(v) for v in rng.integers(100000, 999999, rows)],
        "month": pick(rng, months, by_label(labels, [[2, 2, 2, 2, 6, 6, 6, 5, 2, 2, 2, 1], [1, 1, 5, 3, 1, 1, 1, 1, 5, 6, 2, 4]])),
        "calls": [int(max(1, np.rint(4 + 1.5 * v))) for v in hidden[:, 2]],
        "last_answer": pick(rng, ["none yet", "no", "yes", "unknown"], by_label(labels, [[6, 4, 0.5, 2], [3, 1, 5, 2]])),
        "reached_by": pick(rng, ["mobile", "landline", "unknown"], by_label(labels, [[5, 2, 4], [8, 2, 1]])),
    }
    known = choose_known(rng, labels, 60, least=12)
    columns["deposit"] = shown(labels, names, known)
    write_table("bank.csv", list(columns), list(columns.values()), delimiter=";", quoting=csv.QUOTE_NONNUMERIC)
    write_truth("bank", labels, names)


def log():
    rng = np.random.default_rng(109)
    rows, names = 400, ["harmless", "suspicious", "attack"]
    labels = draw_labels(rng, names, [0.6, 0.25, 0.15], rows)
    hidden = draw_hidden(rng, labels, [[[0, 0, 0], [1, -1.5, 0]], [[1.8, 1.6, 1.6]], [[-1.6, 3.4, -1.2]]], 0.9)
    agents = pick(rng, ["browser", "phone", "script", "robot"], by_label(labels, [[6, 4, 1, 1], [2, 1, 4, 3], [1, 0.3, 7, 3]]))
    status = pick(rng, [200, 302, 404, 500], by_label(labels, [[85, 8, 5, 2], [40, 15, 40, 5], [25, 5, 30, 40]]))
    logged = pick(rng, [True, False], by_label(labels, [[8, 2], [3, 7], [1, 9]]))
    known = choose_known(rng, labels, 48)
    now = dt.datetime(2024, 5, 6, 8, 0, 0)
    lines = []
    for row in range(rows):
        now += dt.timedelta(seconds=int(rng.exponential(400)))
        entry = {
            "at": now.isoformat() + "Z",
            "request": f"{rng.integers(16**8):08x}",
            "agent": agents[row],
            "status": status[row],
            "bytes": int(4000 * np.exp(1.2 * rng.standard_normal())),
            "millis": round(float(35 * np.exp(0.5 * hidden[row, 0])), 1),
            "tries": int(max(1, np.rint(2 + 2.2 * hidden[row, 1]))),
            "entropy": round(float(3.4 + 0.4 * hidden[row, 2]), 3),
            "signed_in": logged[row],
            "referrer": [None, "search", "mail"][rng.integers(3)],
        }
        for key in list(entry)[2:]:
            draw = rng.random()
            if draw < 0.05:
                del entry[key]
            elif draw < 0.08:
                entry[key] = None
        if known[row]:
            entry["verdict"] = names[labels[row]]
        elif rng.random() < 0.5:
            entry["verdict"] = None
        lines.append(json.dumps(entry))
    (HERE / "log.jsonl").write_bytes(("\n".join(lines) + "\n").encode())
    write_truth("log", labels, names)


def wide():
    rng = np.random.default_rng(110)
    rows, width, names = 300, 1200, ["alpha", "beta", "gamma"]
    labels = draw_labels(rng, names, [0.4, 0.35, 0.25], rows)
    hidden = draw_hidden(rng, labels, [list(2.0 * rng.standard_normal((2, 8))) for _ in names], 1.5)
    mix = rng.standard_normal((8, width)) * (rng.random(width) < 0.35)
    numbers = hidden @ mix + 5.0 * rng.standard_normal((rows, width))
    loud = rng.choice(width, 50, replace=False)
    numbers[:, loud] = 300 * rng.standard_normal((rows, 50))
    columns = [np.rint(4 * numbers[:, i]).astype(int) for i in range(width)]
    known = choose_known(rng, labels, 36)
    write_table("wide.csv", [f"f{i}" for i in range(width)] + ["target"], columns + [shown(labels, names, known)])
    write_truth("wide", labels, names)


def parts():
    rng = np.random.default_rng(111)
    rows, names = 600, ["repaid", "late", "lost"]
    labels = draw_labels(rng, names, [0.55, 0.28, 0.17], rows)
    hidden = draw_hidden(rng, labels, [[[0, 0, 0, 0]], [[1.8, -1.6, 1.3, 1.0]], [[-1.3, -2.0, -2.0, 1.6]]], 1.0)
    amount = [decimal.Decimal(f"{v:.2f}") for v in 5200 * np.exp(0.5 * hidden[:, 0])]
    income = [None if rng.random() < 0.12 else int(v) for v in 38000 * np.exp(0.3 * hidden[:, 1])]
    opened = days("2021-01-01", np.clip(550 + 140 * hidden[:, 2], 0, 1300))
    seen = [dt.datetime(2024, 1, 1) + dt.timedelta(seconds=int(v)) for v in rng.integers(0, 90 * 86400, rows)]
    rate = np.round(4 + 0.9 * hidden[:, 3], 3)
    insured = pick(rng, [True, False, None], by_label(labels, [[70, 25, 5], [40, 55, 5], [15, 80, 5]]))
    purpose = pick(
        rng,
        ["car", "kitchen", "travel", "studies", "roof"],
        by_label(labels, [[5, 3, 1, 2, 4], [2, 3, 5, 2, 1], [3, 1, 4, 4, 1]]),
    )
    account = rng.integers(10**9, 10**10, rows)
    known = choose_known(rng, labels, 60)
    outcome = shown(labels, names, known, None)
    (HERE / "parts").mkdir(exist_ok=True)
    for part in range(4):
        cut = slice(150 * part, 150 * (part + 1))
        table = pa.table(
            {
                "account": pa.array(account[cut], pa.int64()),
                "amount": pa.array(amount[cut], pa.decimal128(12, 2)),
                "income": pa.array(income[cut], pa.int32()),
                "rate": pa.array(rate[cut], pa.float64()),
                "opened": pa.array(opened[cut], pa.date32()),
                "last_seen": pa.array(seen[cut], pa.timestamp("us")),
                "insured": pa.array(insured[cut], pa.bool_()),
                "purpose": pa.array(purpose[cut]).dictionary_encode(),
                "outcome": pa.array(outcome[cut], pa.string()),
            }
        )
        pq.write_table(table, HERE / "parts" / f"part-{part}.parquet", compression="snappy")
    write_truth("parts", labels, names)


def spreadsheet():
    rng = np.random.default_rng(112)
    rows, names = 450, ["No", "Yes"]
    labels = draw_labels(rng, names, [0.68, 0.32], rows)
    hidden = draw_hidden(rng, labels, [[[0, 0, 0], [1.2, 1.2, -0.5]], [[-1.8, -1.6, 1.9], [0.2, -2.2, 2.2]]], 1.3)
    first, last = ["Anka", "Bero", "Cilla", "Dario", "Edda", "Falk", "Gesa", "Hiro"], ["Amsel", "Birk", "Dorn", "Esch", "Falter", "Gras", "Halm"]
    header = ["", "Row", "Client name", "Plan, tier", "Usage %", "Open balance", "Revenue (USD)", "Auto renew", "Notes", "Months", "Churned?"]
    known = choose_known(rng, labels, 50, least=10)
    columns = [
        list(range(rows)),
        list(range(1, rows + 1)),
        [f"{last[rng.integers(7)]}, {first[rng.integers(8)]}" for _ in range(rows)],
        pick(rng, ["Basic", "Plus", "Pro, yearly", "Pro, monthly"], by_label(labels, [[2, 3, 5, 2], [4, 3, 1, 5]])),
        [f"{np.clip(55 + 14 * v, 0, 100):.0f}%" for v in hidden[:, 1]],
        [f"{v:,.2f}" for v in 900 * np.exp(0.5 * hidden[:, 2])],
        [f"{v:,.2f}" for v in np.exp(rng.normal(11.5, 1.2, rows))],
        pick(rng, ["TRUE", "FALSE"], by_label(labels, [[8, 2], [2, 8]])),
        [""] * rows,
        [int(max(0, 26 + 8 * v)) for v in hidden[:, 0]],
        shown(labels, names, known),
    ]
    quoted = ",".join(f'"{h}"' for h in header)
    body = io.StringIO()
    csv.writer(body, lineterminator="\r\n").writerows(zip(*columns, strict=True))
    text = "\ufeff" + quoted + "\r\n" + body.getvalue() + "\r\n" * 3
    (HERE / "spreadsheet.csv").write_bytes(text.encode("utf-8"))
    write_truth("spreadsheet", labels, names)


if __name__ == "__main__":
    TRUTH.mkdir(exist_ok=True)
    for make in [messy, european, survey, sensors, shop, friends, embeddings, bank, log, wide, parts, spreadsheet]:
        make()
