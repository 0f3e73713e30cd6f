//! The HTML report: well formed, complete in itself, and safe against any class name.

use crate::common::{Folder, clouds};

/// Checks that every tag is closed in order.
fn assert_well_formed(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html.strip_prefix("<!DOCTYPE html>").expect("a document type");
    while let Some(at) = rest.find('<') {
        let end = at + rest[at..].find('>').expect("every tag ends");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "at …{}", &rest[..rest.len().min(80)]);
        } else if !tag.ends_with('/') && name != "meta" {
            open.push(name);
        }
        if name == "style" && !tag.starts_with('/') {
            rest = &rest[rest.find("</style>").expect("the style ends")..];
        }
    }
    assert!(open.is_empty(), "never closed: {open:?}");
}

fn assert_self_contained(html: &str) {
    for loads in ["http:", "https:", "<script", "<link", "<img", "@import", "url(", "src="] {
        assert!(!html.contains(loads), "{loads}");
    }
}

#[test]
fn report_of_a_fit() {
    let folder = Folder::new();
    folder.write("in.csv", clouds(300, 3).replace("birch", "<b>\"B\" & 'C'</b>"));
    folder.ok("label in.csv --label-column kind -o out.csv --method harmonic --report r.html");
    let html = folder.read("r.html");
    assert_well_formed(&html);
    assert_self_contained(&html);
    assert!(!html.contains("<b>") && html.contains("&lt;b&gt;"));
    for part in ["Rows in two dimensions", "Class sizes", "Confidence", "Degrees", "Residuals", "Summary", "Chosen by"]
    {
        assert!(html.contains(part), "{part}");
    }
    // Every drawing tells what it shows.
    assert_eq!(html.matches("<svg").count(), html.matches("<desc>").count());
    assert!(html.contains("prefers-color-scheme: dark") && html.contains("@media print"));
}

#[test]
fn reports_of_graphs_and_comparisons() {
    let folder = Folder::with_clouds("in.csv", 300, 100);
    folder.ok("graph in.csv --drop kind -o g.npz --report graph.html");
    folder.ok("compare in.csv --label-column kind --labeled 3,9 --repeats 2 --report compare.html");
    folder.write("labels.csv", "0,a\n1,b\n");
    folder.ok("label --graph g.npz --labels labels.csv -o out.csv --report label.html");
    for name in ["graph.html", "compare.html", "label.html"] {
        let html = folder.read(name);
        assert_well_formed(&html);
        assert_self_contained(&html);
    }
    let html = folder.read("label.html");
    // Without features the graph is laid out.
    assert!(html.contains("A layout of the graph") && html.contains("Look at this"));
    assert!(
        folder.read("compare.html").contains("Which method")
            && folder.read("compare.html").contains("next: lapwing label")
    );
}

#[test]
fn texts_are_laid_out_by_their_graph() {
    let folder = Folder::new();
    // Each class has ten words of its own; a text has four of them and one that all texts share.
    let mut rows = String::new();
    for row in 0..400 {
        let own: std::collections::BTreeSet<usize> =
            (0..4).map(|i| row % 4 * 10 + (row * 7 + i * (3 * i + row / 40)) % 10).collect();
        let words: String = own.iter().map(|word| format!(" {}:1", word + 1)).collect();
        let label = if row < 16 { (row % 4).to_string() } else { "-1".into() };
        rows += &format!("{label}{words} 41:1\n");
    }
    folder.write("texts.svm", rows);
    let run = "label texts.svm --metric cosine -o out.csv --report";
    folder.ok(&format!("{run} r.html --threads 1"));
    folder.ok(&format!("{run} again.html --threads 2"));
    let html = folder.read("r.html");
    assert_well_formed(&html);
    assert!(html.contains("A layout of the graph, of which the picture shows all 400 rows"));
    let circles =
        |html: &str| html.lines().filter(|line| line.contains("<circle")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(circles(&html), circles(&folder.read("again.html")));
}

#[test]
fn large_inputs_are_drawn_in_part() {
    let folder = Folder::new();
    folder.write("in.csv", clouds(12_000, 3));
    folder.ok("label in.csv --label-column kind -o out.csv --method harmonic --report r.html");
    let html = folder.read("r.html");
    assert!(html.contains("of 12,000 rows") && html.len() < 2_000_000, "{}", html.len());
}
