//! The first line of a list of edges as text: a header, or an edge.

use crate::read::roles::{Cells, ends};
use lapwing_core::text::{option, quoted};

/// A first line that is or may be a header.
#[derive(Clone, Debug)]
pub(super) struct FirstLine {
    pub nodes: [String; 2],
    pub line: u64,
    /// Whether it rather is a header than an edge without a weight.
    pub is_header: bool,
    /// Whether it is an edge if one of its names comes again.
    pub is_open: bool,
    pub(super) is_sure: bool,
}

impl FirstLine {
    /// What to look at if no name comes again, and the line is taken for a header or not.
    pub(super) fn note(&self, is_header: bool) -> Option<String> {
        let [u, v] = self.nodes.each_ref().map(|node| quoted(node));
        let (what, name) = match is_header {
            true => ("a header; if it is an edge", "no_header"),
            false => ("an edge; if it names the columns", "header"),
        };
        (!self.is_sure).then(|| format!("the first line, {u} and {v}, is taken for {what}, pass {}", option(name, "")))
    }
}

/// What the first line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    Header,
    Edge,
    /// Two names: most likely a header, or an edge; and whether it is rather sure.
    Names {
        is_header: bool,
        is_sure: bool,
    },
}

/// Tells what the first of some lines is: its cells fit the types of the others, or they do not.
pub(super) fn first_line(lines: &[Vec<String>], has_header: Option<bool>) -> First {
    let Some((first, others)) = lines.split_first() else { return First::Edge };
    if let Some(has_header) = has_header {
        return if has_header { First::Header } else { First::Edge };
    }
    let is_number = |at: usize| Cells::of(&lines[..1], at) != Cells::Text && !first[at].is_empty();
    let are_known = ends(first).is_some();
    if others.is_empty() {
        return if are_known { First::Header } else { First::Edge };
    }
    // A node has a name, but a column may have none, such as the index that pandas writes. With two columns there is no index.
    let is_blank = |at: &usize| first[*at].trim().is_empty();
    if (0..first.len().min(2)).any(|at| is_blank(&at)) {
        let mut named = (0..first.len()).filter(|at| !is_blank(at)).peekable();
        let is_edge = first.len() == 2 && named.peek().is_some() && named.all(is_number);
        return if is_edge { First::Edge } else { First::Header };
    }
    let mut typed = (0..first.len()).filter(|&at| Cells::of(others, at) != Cells::Text).peekable();
    if typed.peek().is_some() {
        // No column is called 0.5.
        let has_decimals = (0..first.len()).any(|at| Cells::of(&lines[..1], at) == Cells::Number);
        return if has_decimals || typed.all(is_number) { First::Edge } else { First::Header };
    }
    let has_digit = |cell: &String| cell.contains(|c: char| c.is_ascii_digit());
    let numbered = |at: &usize| others.len() > 1 && others.iter().all(|record| record.get(*at).is_some_and(has_digit));
    let mut numbered = (0..first.len()).filter(numbered).peekable();
    if are_known {
        // A node may be called u.
        let is_short = |cell: &String| cell.chars().nth(1).is_none();
        let is_sure = !first.iter().any(is_short) || !others.iter().flatten().any(is_short);
        return First::Names { is_header: true, is_sure };
    }
    match numbered.peek().is_some() {
        // A third cell is a weight, or none, which its line tells.
        _ if first.len() > 2 => First::Edge,
        true if numbered.all(|at| has_digit(&first[at])) => First::Edge,
        true => First::Names { is_header: true, is_sure: false },
        false => First::Names { is_header: false, is_sure: false },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines_are_headers_or_edges() {
        let of = |text: &str| {
            let lines: Vec<Vec<String>> =
                text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect();
            first_line(&lines, None)
        };
        for header in [
            "u,v\n0,1",
            ",0,1\n0,5,7",
            ",b2\na3,b3",
            " ,a,b\n0,ann,bob",
            "source,target\n00701,02139",
            "a,b,c\nx,y,0.5",
            "source,target",
        ] {
            assert_eq!(of(header), First::Header, "{header:?}");
        }
        for edge in [
            "0,1\n1,2",
            "a1,b1\na2,b2\na3,b3",
            "ann,bob,1\nbob,cid,2",
            "ann,bob",
            "0,bob\n1,ann",
            "nan,1\ninf,2",
            ",5\n1,2",
        ] {
            assert_eq!(of(edge), First::Edge, "{edge:?}");
        }
        let names = |is_header, is_sure| First::Names { is_header, is_sure };
        assert_eq!(of("from,to\nann,bob"), names(true, true));
        assert_eq!(of("u,v\nann,bob"), names(true, true));
        assert_eq!(of("a,b\nc,d"), names(true, false));
        assert_eq!(of("paper,cites\np1,p2\np3,p4"), names(true, false));
        assert_eq!(of("buyer,seller\nann,bob"), names(false, false));
        assert_eq!(first_line(&[vec!["u".into(), "v".into()]], Some(false)), First::Edge);
    }
}
