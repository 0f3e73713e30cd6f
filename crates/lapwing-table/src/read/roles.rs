//! Which columns of a small table hold what: the ends and the weight of an edge, a row and its label.
//!
//! Columns are found by their names. Where these say nothing, ends stand before the weight, and must look like ids. What the file
//! leaves open is noted, or refused with the names that would tell it.

use crate::cell::is_missing;

/// Pairs of names of the ends of edges, without the words of [`STEMS`].
const ENDS: [(&str, &str); 20] = [
    ("source", "target"),
    ("source", "destination"),
    ("source", "dest"),
    ("source", "sink"),
    ("src", "dst"),
    ("src", "dest"),
    ("src", "tgt"),
    ("from", "to"),
    ("u", "v"),
    ("head", "tail"),
    ("tail", "head"),
    ("origin", "destination"),
    ("start", "end"),
    ("row", "col"),
    ("row", "column"),
    ("left", "right"),
    ("ltable", "rtable"),
    ("parent", "child"),
    ("i", "j"),
    ("a", "b"),
];

/// Words that names of ends have besides: `source_id`, `from node`.
const STEMS: [&str; 5] = ["id", "node", "vertex", "name", "key"];

/// Last letters of two names that are equal else: `node1`, `node2`.
const NUMBERED: [(char, char); 3] = [('1', '2'), ('0', '1'), ('a', 'b')];

/// Most columns for which pairs of names such as `node1`, `node2` are looked for.
const MOST_COMPARED: usize = 64;

/// Names of weights: those in front are sure.
const WEIGHTS: [&str; 14] = [
    "weight",
    "weights",
    "w",
    "wt",
    "edgeweight",
    "value",
    "val",
    "similarity",
    "sim",
    "strength",
    "affinity",
    "score",
    "count",
    "correlation",
];
const SURE_WEIGHTS: usize = 5;

/// Names of columns that say something about edges that is no weight, and of those that number them.
const KINDS: [&str; 5] = ["label", "class", "type", "kind", "relation"];
const NUMBERS: [&str; 7] = ["id", "index", "idx", "rowid", "rownames", "edgeid", "eid"];

/// Names of the column of labels and of that of rows, the likeliest first.
const LABELS: [&str; 5] = ["label", "labels", "class", "target", "y"];
const ROWS: [&str; 7] = ["row", "node", "id", "name", "key", "index", ""];

/// What the cells of a column look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cells {
    /// Whole numbers that count the rows: 0, 1, 2, … or 1, 2, 3, …
    Counting,
    /// The same whole number in every row.
    Same,
    /// Whole numbers as a program writes them.
    Whole,
    /// Whole numbers written otherwise: 007, +7, 7.0.
    Odd,
    /// Other numbers.
    Number,
    /// Anything else.
    Text,
}

impl Cells {
    /// Those of column `at` of some records, missing ones aside; whole numbers if there are none.
    pub(super) fn of(records: &[Vec<String>], at: usize) -> Self {
        // Infinite numbers say nothing about the type of their column either.
        let is_missing =
            |cell: &str| is_missing(cell.as_bytes()) || cell.parse::<f64>().is_ok_and(|number| !number.is_finite());
        let cells = || records.iter().filter_map(|record| record.get(at)).filter(|cell| !is_missing(cell));
        let kind = cells().map(|cell| Self::of_cell(cell)).max().unwrap_or(Self::Whole);
        let first = cells().next().and_then(|cell| cell.parse::<i64>().ok());
        let (Self::Whole, Some(first), 3..) = (kind, first, records.len()) else { return kind };
        let counts = |(row, cell): (i64, &String)| cell.parse::<i64>() == Ok(first + row);
        if (0..=1).contains(&first) && (0..).zip(cells()).all(counts) {
            Self::Counting
        } else if cells().all(|cell| cell.parse::<i64>() == Ok(first)) {
            Self::Same
        } else {
            kind
        }
    }

    fn of_cell(cell: &str) -> Self {
        let may_be = cell.bytes().next().is_some_and(|byte| byte.is_ascii_digit() || b"+-.".contains(&byte));
        match cell.parse::<f64>() {
            Ok(_) if may_be && is_canonical(cell) => Self::Whole,
            Ok(number) if may_be && number.fract() == 0.0 => Self::Odd,
            Ok(_) if may_be => Self::Number,
            _ => Self::Text,
        }
    }

    /// Whether cells can be numbers of rows.
    pub(super) fn are_whole(self) -> bool {
        self <= Self::Whole
    }
}

/// Whether a program writes a whole number so: `7`, but not `007`, `+7` or `7.0`.
pub(super) fn is_canonical(cell: &str) -> bool {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) && (cell == "0" || !digits.starts_with('0'))
}

/// The columns of a list of edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EdgeColumns {
    pub nodes: [usize; 2],
    pub weight: Option<usize>,
    /// What to look at in this choice.
    pub notes: Vec<String>,
}

/// Finds the ends and the weight among columns, whose names are empty if the file has none.
pub(super) fn edge_columns(names: &[String], cells: &[Cells]) -> Result<EdgeColumns, String> {
    let mut notes = Vec::new();
    let (nodes, weight) = match ends(names) {
        Some(nodes) => (nodes, weight_besides(names, cells, nodes, &mut notes)?),
        None => by_place(names, cells, &mut notes)?,
    };
    if let Some(&at) = nodes.iter().find(|&&at| cells[at] == Cells::Number) {
        let column = names.get(at).map_or_else(|| format!("column {}", at + 1), |name| format!("column '{name}'"));
        return Err(format!("{column} holds numbers with decimals, which are no ids of nodes; {NAME_THEM}"));
    }
    let is_unused = |at: &usize| !nodes.contains(at) && weight != Some(*at) && !is_pandas_index(&names[*at]);
    let unused: Vec<usize> = (0..names.len()).filter(is_unused).collect();
    if !unused.is_empty() {
        notes.push(format!("{} {} left out", listed(names, &unused), if unused.len() == 1 { "is" } else { "are" }));
    }
    Ok(EdgeColumns { nodes, weight, notes })
}

/// The weight beside ends that are known by their names.
fn weight_besides(
    names: &[String],
    cells: &[Cells],
    nodes: [usize; 2],
    notes: &mut Vec<String>,
) -> Result<Option<usize>, String> {
    let rest: Vec<usize> = (0..cells.len()).filter(|at| !nodes.contains(at)).collect();
    if let Some(at) = weight_by_name(names, &rest) {
        return Ok(Some(at));
    }
    let says_else = |at: usize| {
        let key = key(&names[at]);
        is_index(&names[at]) || KINDS.contains(&key.as_str()) || NUMBERS.contains(&key.as_str())
    };
    let numbers: Vec<usize> = rest.into_iter().filter(|&at| cells[at] != Cells::Text && !says_else(at)).collect();
    match numbers[..] {
        [] => Ok(None),
        [at] => {
            notes.push(format!("column '{}' is taken for the weight", names[at]));
            Ok(Some(at))
        }
        _ => {
            let listed = listed(names, &numbers);
            Err(format!("{listed} may all be the weight; call one of them 'weight', or leave the others out"))
        }
    }
}

/// The ends and the weight where no names tell the ends.
fn by_place(names: &[String], cells: &[Cells], notes: &mut Vec<String>) -> Result<([usize; 2], Option<usize>), String> {
    let mut rest: Vec<usize> = (0..cells.len()).collect();
    let weight = weight_by_name(names, &rest);
    rest.retain(|at| Some(*at) != weight);
    let is_no_end = |at: usize| {
        let Some(name) = names.get(at) else { return false };
        let key = key(name);
        let counts = NUMBERS.contains(&key.as_str()) && cells[at] == Cells::Counting;
        is_index(name) || counts || KINDS.contains(&key.as_str())
    };
    while rest.len() > 2
        && let Some(place) = rest.iter().rposition(|&at| is_no_end(at))
    {
        rest.remove(place);
    }
    let found = match rest[..] {
        [u, v] => ([u, v], weight),
        // Without names, the reader tells the line of a weight that is no number.
        [u, v, last] if weight.is_none() && (cells[last] != Cells::Text || names.is_empty()) => {
            note_places(names, cells, [u, v, last], notes);
            ([u, v], Some(last))
        }
        _ => return Err(width_text(cells.len())),
    };
    let is_known =
        |name: &str| ENDS.iter().any(|(u, v)| [u, v].iter().any(|end| end.len() > 1 && is_end(&key(name), end)));
    let missed = (0..names.len()).find(|at| !found.0.contains(at) && found.1 != Some(*at) && is_known(&names[*at]));
    match missed {
        Some(at) => {
            Err(format!("column '{}' may be an end of the edges, but not the other end; {NAME_THEM}", names[at]))
        }
        None => Ok(found),
    }
}

const NAME_THEM: &str = "name the columns 'source', 'target' and, if there is one, 'weight'";

/// The message for an edge list with `found` columns.
pub(super) fn width_text(found: usize) -> String {
    let advice = if found > 2 { format!("; {NAME_THEM}") } else { String::new() };
    format!("{found} columns; expected two nodes and perhaps a weight{advice}")
}

/// Notes what numbers alone do not tell about three columns that are taken by their places.
fn note_places(names: &[String], cells: &[Cells], [u, v, weight]: [usize; 3], notes: &mut Vec<String>) {
    if ![u, v, weight].iter().all(|&at| cells[at].are_whole()) {
        return;
    }
    match (names.is_empty(), cells[u]) {
        (false, _) => {
            let (ends, weight) = (listed(names, &[u, v]), listed(names, &[weight]));
            notes.push(format!(
                "{ends} are taken for the ends of edges and {weight} for the weight; if they are not, {NAME_THEM}"
            ));
        }
        (true, Cells::Counting) if cells[weight] != Cells::Same => {
            notes.push("the first column counts the lines, and is taken for an end of each edge; if it is an index, leave it out".into());
        }
        (true, Cells::Same) => {
            notes.push("the first column is the same in all lines, and is taken for an end of each edge; if it is a weight, put it last".into());
        }
        _ => {}
    }
}

/// The two columns that the names call ends.
pub(super) fn ends(names: &[String]) -> Option<[usize; 2]> {
    let keys: Vec<String> = names.iter().map(|name| key(name)).collect();
    let only = |end: &str| {
        let mut found = (0..keys.len()).filter(|&at| is_end(&keys[at], end));
        found.next().filter(|_| found.next().is_none())
    };
    let by_word = ENDS.iter().find_map(|(u, v)| Some([only(u)?, only(v)?]));
    let split = |at: usize| {
        let last = keys[at].chars().last()?;
        Some((keys[at].strip_suffix(last)?, last))
    };
    let are_pair = |at: usize, other: usize| {
        split(at).zip(split(other)).is_some_and(|((stem, u), (other, v))| {
            stem == other && !stem.is_empty() && !WEIGHTS.contains(&stem) && NUMBERED.contains(&(u, v))
        })
    };
    // The time grows with the square of the columns; a list of edges has few.
    let n_compared = if keys.len() > MOST_COMPARED { 0 } else { keys.len() };
    let pairs = || (0..n_compared).flat_map(|at| (0..n_compared).map(move |other| [at, other]));
    by_word.or_else(|| pairs().find(|&[at, other]| are_pair(at, other)))
}

/// Whether a column is called `end`, perhaps with a word such as `id` besides.
fn is_end(key: &str, end: &str) -> bool {
    let with_stem = |stem: &str| {
        let rest = key.strip_prefix(end).or_else(|| key.strip_suffix(end));
        end.len() > 1 && rest.is_some_and(|rest| rest == stem || rest.strip_suffix("id") == Some(stem))
    };
    key == end || STEMS.into_iter().any(with_stem)
}

/// The column of `among` that is the weight by its name.
fn weight_by_name(names: &[String], among: &[usize]) -> Option<usize> {
    let keys: Vec<(usize, String)> = among.iter().filter_map(|&at| Some((at, key(names.get(at)?)))).collect();
    let called = |words: &[&str]| -> Vec<usize> {
        keys.iter().filter(|(_, key)| words.contains(&key.as_str())).map(|(at, _)| *at).collect()
    };
    let sure = WEIGHTS[..SURE_WEIGHTS].iter().map(|word| called(&[*word])).find(|found| !found.is_empty());
    match sure.unwrap_or_else(|| called(&WEIGHTS))[..] {
        [at] => Some(at),
        _ => None,
    }
}

/// Whether a name is that of an index which a program added.
fn is_index(name: &str) -> bool {
    name.is_empty() || name.starts_with("Unnamed: ") || is_pandas_index(name)
}

/// The index that pandas stores in a table of types.
fn is_pandas_index(name: &str) -> bool {
    name.starts_with("__index_level_")
}

/// A name without case, spaces and marks.
fn key(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn listed(names: &[String], columns: &[usize]) -> String {
    let shown = |&at: &usize| match names.get(at).map_or("", String::as_str) {
        "" => format!("column {} without a name", at + 1),
        name => format!("column '{name}'"),
    };
    columns.iter().map(shown).collect::<Vec<_>>().join(" and ")
}

/// Whether a word names a column of labels.
pub(super) fn is_label_word(word: &str) -> bool {
    LABELS.iter().any(|label| word.eq_ignore_ascii_case(label))
}

/// The columns of rows and labels that names call so; `column` is that of the rows, if it is known.
pub(super) fn label_columns(names: &[String], column: Option<&str>) -> Option<[usize; 2]> {
    let find = |word: &str| names.iter().position(|name| name.trim().eq_ignore_ascii_case(word));
    let label = LABELS.into_iter().find_map(find)?;
    let exact = column.and_then(|column| names.iter().position(|name| name == column));
    let row = exact.or_else(|| ROWS.into_iter().find_map(find))?;
    (row != label).then_some([row, label])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(names: &str) -> Vec<String> {
        names.split(',').map(str::to_owned).collect()
    }

    #[test]
    fn edges_are_found_by_the_names_of_columns() {
        let whole = [Cells::Whole; 6];
        let places = |names: &str| {
            let names = if names.is_empty() { Vec::new() } else { texts(names) };
            edge_columns(&names, &whole[..names.len().max(1)]).map(|found| (found.nodes, found.weight))
        };
        for (names, nodes, weight) in [
            ("source,target", [0, 1], None),
            ("weight,source,target", [1, 2], Some(0)),
            (",target_id,source_id", [2, 1], None),
            ("Source,Target,Type,Id,Label,Weight", [0, 1], Some(5)),
            ("from node,W,to node", [0, 2], Some(1)),
            ("id,node1,node2,score", [1, 2], Some(3)),
            ("person_b,person_a", [1, 0], None),
            ("a1,weight,b7", [0, 2], Some(1)),
            ("u,v,how much", [0, 1], Some(2)),
            ("FromNodeId,ToNodeId,type", [0, 1], None),
            ("x,y,__index_level_0__", [0, 1], None),
            ("Unnamed: 0,x,y", [1, 2], None),
        ] {
            assert_eq!(places(names).unwrap(), (nodes, weight), "{names}");
        }
        for (names, says) in [
            ("source,target,x,y", "column 'x' and column 'y' may all be the weight; call one of them 'weight'"),
            ("p,q,r,s", "4 columns; expected two nodes and perhaps a weight"),
            ("x", "1 columns"),
        ] {
            assert!(places(names).unwrap_err().contains(says), "{names}: {:?}", places(names));
        }
    }

    #[test]
    fn edges_found_by_place_look_like_ids() {
        use Cells::*;
        let named = |names: &str, cells: &[Cells]| edge_columns(&texts(names), cells);
        let by_place = |cells: &[Cells]| edge_columns(&[], cells).map(|found| (found.weight, found.notes.len()));
        assert_eq!(by_place(&[Whole, Whole]), Ok((None, 0)));
        assert_eq!(by_place(&[Text, Odd, Number]), Ok((Some(2), 0)));
        assert_eq!(by_place(&[Counting, Whole, Whole]), Ok((Some(2), 1)));
        assert_eq!(by_place(&[Counting, Whole, Same]), Ok((Some(2), 0)));
        assert_eq!(by_place(&[Same, Whole, Whole]), Ok((Some(2), 1)));
        assert!(by_place(&[Number, Whole, Whole]).unwrap_err().contains("column 1 holds numbers with decimals"));
        assert!(named("x,y,z", &[Whole, Whole, Text]).unwrap_err().contains("3 columns; expected two nodes"));
        assert!(named("x,y,z", &[Whole, Whole, Whole]).unwrap().notes[0].contains("'x' and column 'y' are taken"));
        assert!(named("x,y,z", &[Whole, Whole, Number]).unwrap().notes.is_empty());
        assert!(named("key,x,source,weight", &[Text, Text, Text, Number]).is_err());
    }

    #[test]
    fn cells_look_like_ids_or_not() {
        let of = |cells: &[&str]| Cells::of(&cells.iter().map(|cell| vec![cell.to_string()]).collect::<Vec<_>>(), 0);
        assert_eq!(of(&["0", "1", "2"]), Cells::Counting);
        assert_eq!(of(&["4", "4", "4"]), Cells::Same);
        assert_eq!(of(&["4", "", "12345678901234567890"]), Cells::Whole);
        for odd in ["007", "+7", "7.0", "1e3", "-0"] {
            assert_eq!(of(&["4", odd]), Cells::Odd, "{odd}");
        }
        assert_eq!(
            (of(&["4", "0.5"]), of(&["4", "bob"]), of(&["4", "NA"])),
            (Cells::Number, Cells::Text, Cells::Whole)
        );
    }

    #[test]
    fn labels_are_found_by_the_names_of_columns() {
        let find = |names: &str, column| label_columns(&texts(names), column);
        assert_eq!(find("row,label", None), Some([0, 1]));
        assert_eq!(find("label,,x", None), Some([1, 0]));
        assert_eq!(find("id,class,key", Some("key")), Some([2, 1]));
        assert_eq!(find("who,what", None), None);
    }
}
