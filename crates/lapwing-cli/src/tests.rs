//! How arguments are parsed.

use std::path::{Path, PathBuf};

use lapwing::graph::sparsify::Budget;
use lapwing::models::Settings;

use super::*;
use crate::outcome::DONE;

#[test]
fn arguments_are_consistent() {
    Cli::command().debug_assert();
}

/// Markdown files below a folder of the repository, without the pages of the commands, which a built site leaves there.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .flat_map(|path| match path.is_dir() {
            true if path.ends_with("reference/cli") => Vec::new(),
            true => pages(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect()
}

/// Commands of the program in the code blocks of a page, or in the examples of a help.
fn commands(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(|line| line.rsplit(" | ").next().unwrap_or(line).trim());
    let lines = lines.filter(|line| line.starts_with("lapwing ") && !line.contains('…') && !line.contains("COMMAND"));
    // The rest of a line after one of these is an explanation, a comment or a redirection.
    let ends = ["  ", " #", " > ", " 2>", " < ", " | ", "`"];
    lines.map(|line| ends.iter().fold(line, |line, end| line.split(end).next().unwrap_or(line)).to_owned()).collect()
}

#[test]
fn commands_of_pages_and_examples_are_understood() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut texts: Vec<String> =
        pages(&root.join("docs")).iter().map(|page| std::fs::read_to_string(page).unwrap()).collect();
    texts.push(std::fs::read_to_string(root.join("README.md")).unwrap());
    let in_blocks = |text: &String| text.split("```").skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    // What fails on a page is there to show the message.
    let is_to_work = |block: &String| !block.starts_with("sh fails");
    let mut texts: Vec<String> = texts.iter().flat_map(in_blocks).filter(is_to_work).collect();
    texts.extend(Cli::command().get_subcommands().filter_map(|c| c.get_after_help()).map(|help| help.to_string()));
    let all: Vec<String> = texts.iter().flat_map(|text| commands(text)).collect();
    assert!(all.len() > 40, "{all:?}");
    for line in &all {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let used = parse(&words);
        if let Err(failure) = used
            && failure.code() != DONE
        {
            panic!("{line}: {}", failure.text().unwrap_or_default());
        }
    }
}

fn said(arguments: &str) -> (String, Vec<String>) {
    let arguments: Vec<OsString> = arguments.split_whitespace().map(OsString::from).collect();
    match parse(&arguments) {
        Err(failure @ Failure::Parse { .. }) => (failure.text().unwrap(), failure.hints()),
        other => panic!("{arguments:?}: {:?}", other.err()),
    }
}

#[test]
fn what_was_wrong_takes_one_line() {
    let (line, hints) = said("lapwing label in.csv --metric manhattan -o out.csv");
    assert!(
        line.starts_with("invalid value 'manhattan' for '--metric <METRIC>' [possible values: auto, euclidean"),
        "{line}"
    );
    assert_eq!(hints, ["lapwing label --help describes every option"]);
    let (line, _) = said("lapwing label in.csv");
    assert_eq!(line, "the following required arguments were not provided: --output <OUT>");
    for (name, answer) in [
        ("herta", "HERTA is --method unfolded-gnn --solver herta here"),
        ("twirls", "TWIRLS is --method unfolded-gnn here"),
        ("biglp", "BigLP is --method low-rank --factor nystrom here"),
        ("hfs", "HFS is --method harmonic --form plain here"),
        ("stable-hfs", "Stable-HFS is --method harmonic --form stable here"),
        (
            "label-propagation",
            "label propagation is --method harmonic --form plain --clamp hard --decision argmax here",
        ),
        ("lapsvmp", "lapsvmp is --method lapsvm --solver cg here"),
    ] {
        for command in ["label in.csv -o out.csv --method", "compare in.csv --methods", "methods"] {
            let (line, hints) = said(&format!("lapwing {command} {name}"));
            assert!(line.starts_with(&format!("invalid value '{name}' for")), "{line}");
            assert_eq!(hints[0], answer, "{line}");
        }
    }
    let (line, hints) = said("lapwing label in.csv -o out.csv --metrik cosine");
    assert_eq!(line, "unexpected argument '--metrik' found");
    assert!(hints[0].contains("--metric"), "{hints:?}");
    let (line, _) = said("lapwing sparsify");
    assert_eq!(line, "the following required arguments were not provided: --output <OUT>, <EDGES>");
    let (line, hints) = said("lapwing lable");
    assert!(line.contains("lable") && hints[0].contains("'label'"), "{line} {hints:?}");
    let (line, _) = said("lapwing label in.csv -o out.csv -k -3");
    assert!(line.starts_with("invalid value '-3' for '--n-neighbors <N>': expected a whole number"), "{line}");
    let (line, hints) = said("lapwing sparsify e.npy -o o.npz --edge-budget 100q");
    assert!(line.contains("'100q' for '--edge-budget <N>': expected a whole number"), "{line}");
    assert_eq!(hints, ["lapwing sparsify --help describes every option"]);
}

fn settings(arguments: &str) -> Result<Settings, String> {
    let words: Vec<OsString> =
        format!("lapwing label in.csv -o out.csv {arguments}").split(' ').map(Into::into).collect();
    match parse(&words) {
        Ok((_, Subject::Method(settings))) => Ok(*settings),
        Ok(_) => Err("no method".into()),
        Err(failure) => Err(failure.text().unwrap_or_default()),
    }
}

#[test]
fn each_method_has_its_own_options() {
    let refused = [
        (
            "--method lapsvm --n-nearest 3",
            "--n-nearest is no option of the method lapsvm; it is an option of low-rank and anchor",
        ),
        (
            "--degree 2",
            "--degree is no option of the method auto; it is an option of lapsvm and laprls: add --method lapsvm",
        ),
        ("--method nearest-label --n-neighbors 7", "it is an option of auto, harmonic"),
        ("--method lapsvm --degree 2", "--degree changes nothing for the method lapsvm without --kernel poly"),
        ("--method low-rank --glnp-tol 1e-3", "without --factor glnp"),
        ("--method lapsvm --class-prior 0.5,0.5", "without --decision sizes"),
        ("--method lapsvm --decision argmax", "[possible values: auto, sizes]"),
        ("--method harmonic --size-slack 0.1", "without --decision sizes and --class-prior a number"),
        ("--bandwidth 2 --weights binary", "without --weights self-tuning or gaussian"),
        ("--method sparse-harmonic --edge-budget 7 --memory 1G", "cannot be used with"),
        ("--method harmonic --tol 2", "--tol is 2; expected a number above 0 and below 1"),
    ];
    for (arguments, part) in refused {
        let text = settings(arguments)
            .and_then(|s| s.method().map(drop).map_err(|e| Failure::from(e).in_options(is_option).text().unwrap()));
        let text = text.expect_err(arguments);
        assert!(text.contains(part), "{arguments}: {text}");
    }
}

#[test]
fn options_set_parameters() {
    let taken = [
        "--method harmonic --tol 1e-3 --max-iter 9 --graph-reg 2 -k 3 --bandwidth 2 --class-prior 0.5,0.5",
        "--method lapsvm --graph-reg 2 --degree 2 --kernel poly --decision sizes --class-prior 0.5,0.5 --bias",
        "--method unfolded-gnn --graph-reg 2 --loss mse --steps 3 --bias=false",
        "--method low-rank --factor nystrom --landmarks uniform --class-prior 0.5,0.5",
        "--method nystrom --alpha 0.5 --n-landmarks 2k",
        "--method sparse-harmonic --edge-budget 700 --tol 1e-3",
        "--method nearest-label --metric cosine --zero-rows allow",
        "--method harmonic --form auto --decision auto",
        "--method auto --candidates harmonic,linear --budget 5m",
    ];
    for arguments in taken {
        settings(arguments).unwrap_or_else(|text| panic!("{arguments}: {text}")).method().unwrap();
    }
    let machine = settings("--method lapsvm --bandwidth 2 --graph-bandwidth 0.3").unwrap().params;
    assert_eq!((machine.lapsvm.bandwidth, machine.graph.bandwidth), (Some(2.0), Some(0.3)));
    let sparse = settings("--method sparse-harmonic --memory 2G").unwrap().params;
    assert_eq!(sparse.sparse.sparsify.budget, Budget::Memory(2 << 30));
    assert_eq!(settings("--method nystrom --n-landmarks 2k").unwrap().params.low_rank.n_landmarks, 2000);
}
