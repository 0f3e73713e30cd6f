//! Small trees of crates that keep the rules or break one.

use super::*;
use crate::process::target;

/// A tree of these files.
fn tree(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let root = target().join("tests/layers").join(name);
    let _ = std::fs::remove_dir_all(&root);
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    root
}

/// What the check says of one crate, `lapwing-a`, with modules `low` and `high` and these texts of the files.
fn said(name: &str, files: &[(&str, &str)]) -> String {
    let mut all = vec![
        ("layers.txt", "lapwing-a\n  low # below\n  high\n"),
        ("crates/lapwing-a/src/lib.rs", "mod high;\nmod low;\n"),
        ("crates/lapwing-a/src/low.rs", "pub struct Low;\n"),
        ("crates/lapwing-a/src/high.rs", "use crate::low::Low;\npub struct High(Low);\n"),
    ];
    for (path, text) in files {
        let path: &'static str = format!("crates/lapwing-a/src/{path}").leak();
        all.retain(|file| file.0 != path);
        all.push((path, text));
    }
    check_tree(&tree(name, &all), &[]).err().unwrap_or_default()
}

#[test]
fn uses_of_what_is_below_are_allowed() {
    assert_eq!(said("fine", &[]), "");
}

#[test]
fn uses_upward_name_both_files_and_the_name() {
    let up = "a/low.rs uses `High` of lapwing-a/high.rs, but high is above low";
    let cases = [
        ("use", "use super::high::High;"),
        ("path", "fn low(_: &crate::high::High) {}"),
        ("macro", "fn low() -> String { format!(\"{}\", crate::high::High) }"),
        ("module", "use crate::high as above;\nfn low(_: &above::High) {}"),
        ("block", "fn low() { use crate::high::High as Above; Above; }"),
        ("handed", "pub use crate::high::High;\nfn low(_: &High) {}"),
    ];
    for (name, text) in cases {
        let found = said(name, &[("low.rs", text)]);
        assert!(found.contains(up), "{name}: {found}");
    }
}

#[test]
fn tests_are_left_out_and_re_exports_followed() {
    let low = "#[cfg(test)]\nuse crate::high::High;\n#[cfg(test)]\nmod tests { use crate::high::High; }\n";
    assert_eq!(said("tests", &[("low.rs", low)]), "");
    // `high` hands on what `low` defines: that is no use of `high`.
    let files = [
        ("low.rs", "mod part;\npub use part::Low;\n"),
        ("low/part.rs", "pub struct Low;\nuse crate::high::Low as Own;\n"),
    ];
    assert_eq!(said("followed", &[&files[..], &[("high.rs", "pub use crate::low::Low;\n")]].concat()), "");
}

#[test]
fn circles_are_small_and_within_a_folder() {
    let part = |next: usize| format!("use super::p{next}::P as Next;\npub struct P(Next);\n");
    let files = |n: usize| -> Vec<(String, String)> {
        let parts = (0..n).map(|at| (format!("low/p{at}.rs"), part((at + 1) % n)));
        let modules: String = (0..n).map(|at| format!("mod p{at};\n")).collect();
        parts.chain([("low.rs".into(), format!("pub struct Low;\n{modules}"))]).collect()
    };
    let said_of = |name: &str, files: &[(String, String)]| {
        said(name, &files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>())
    };
    assert_eq!(said_of("four", &files(4)), "");
    let found = said_of("five", &files(5));
    assert!(found.contains("circle of more than 4 files (5)") && found.contains("low/p4.rs uses `P` of"), "{found}");
    let mut nested = files(1);
    nested.push(("low/p0.rs".into(), "mod deep;\npub struct P;\n".into()));
    nested.push(("low/p0/deep.rs".into(), "use crate::low::Low;\npub struct Deep(Low);\n".into()));
    nested.push(("low.rs".into(), "mod p0;\npub struct Low;\nfn low(_: &p0::P) {}\n".into()));
    nested.remove(0);
    nested.remove(0);
    assert_eq!(said_of("no-circle", &nested), "");
    nested[0].1 = "mod deep;\npub struct P(deep::Deep);\n".into();
    let found = said_of("folders", &nested);
    assert!(found.contains("a circle of files of several folders (3)"), "{found}");
}

#[test]
fn crates_and_modules_have_a_layer() {
    let found = said("undeclared", &[("lib.rs", "mod high;\nmod low;\nmod other;\n"), ("other.rs", "")]);
    assert!(found.contains("layers.txt: other of lapwing-a has no layer"), "{found}");
    let found = said("surplus", &[("lib.rs", "mod low;\n")]);
    assert!(found.contains("layers.txt: lapwing-a has no module high"), "{found}");
    for (text, expected) in
        [("  a\n", "layers.txt:1: a layer of no crate"), ("a b\n", ":1: write"), ("a\n  b b\n", "twice")]
    {
        assert!(Order::parsed(text).err().unwrap().contains(expected), "{text}");
    }
}

#[test]
fn crates_use_those_below_and_open_ones_are_left_until_they_are_mended() {
    let files = |layers| {
        [
            ("layers.txt", layers),
            ("crates/lapwing-a/src/lib.rs", "pub use lapwing_b::B;\n"),
            ("crates/lapwing-b/src/lib.rs", "pub struct B;\n"),
        ]
    };
    let said = |layers, named: &[&str]| check_tree(&tree("crates", &files(layers)), named).err().unwrap_or_default();
    assert_eq!(said("lapwing-b\nlapwing-a\n", &[]), "");
    let up = "lapwing-a/lib.rs uses B of lapwing-b, which is a crate above: move B down";
    assert_eq!(said("lapwing-a\nlapwing-b\n", &[]), up);
    assert_eq!(said("lapwing-a open\nlapwing-b\n", &[]), "");
    assert_eq!(said("lapwing-a open\nlapwing-b\n", &["lapwing-a"]), up);
    assert!(said("lapwing-b open\nlapwing-a\n", &[]).contains("lapwing-b keeps all rules; take `open` away"));
    assert!(said("lapwing-b\n", &[]).contains("put the crate lapwing-a above those that it uses"));
    assert!(said("lapwing-b\nlapwing-a\nlapwing-c\n", &[]).contains("there is no crate lapwing-c"));
    assert!(said("lapwing-b\nlapwing-a\n", &["b"]).contains("there is no crate b; there are: lapwing-a, lapwing-b"));
}

#[test]
fn what_stands_apart_in_a_folder_is_kept_apart() {
    let said = |name: &str, order: &str| {
        let all = [
            ("layers.txt", order),
            ("crates/lapwing-a/src/lib.rs", "mod high;\n"),
            ("crates/lapwing-a/src/high/mod.rs", "mod left;\nmod right;\n"),
            ("crates/lapwing-a/src/high/left.rs", "pub struct Left;\n"),
            ("crates/lapwing-a/src/high/right.rs", "use super::left::Left;\npub struct Right(Left);\n"),
        ];
        check_tree(&tree(name, &all), &[]).err().unwrap_or_default()
    };
    assert_eq!(said("together", "lapwing-a\n  high\n"), "");
    let found = said("apart", "lapwing-a\n  high/\n");
    assert!(found.contains("high/right.rs uses `Left` of lapwing-a/high/left.rs"), "{found}");
}
