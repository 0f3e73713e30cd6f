//! Changed inputs, damaged files, sizes beyond the memory and counts beyond reason: refused in one line, never a signal.
#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, Ran, npy};

/// The program under limits of its own, as `ulimit` sets them.
fn limited(folder: &Folder, limits: &str, arguments: &str) -> Ran {
    let program = env!("CARGO_BIN_EXE_lapwing");
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{limits}; exec {program} {arguments} --threads 1")]).current_dir(folder.path(""));
    // One arena: those of every thread would take address space, not memory.
    command.env("MALLOC_ARENA_MAX", "1").env("NO_COLOR", "1").stdin(Stdio::null());
    Ran::from(command.output().unwrap())
}

/// Whether a run ended with a result, or with code 2 and one line that says so.
fn is_orderly(ran: &Ran) -> bool {
    let errors: Vec<&str> =
        ran.stderr.lines().filter(|line| !line.starts_with("warning: ") && !line.starts_with("hint: ")).collect();
    match ran.code {
        Some(0 | 1) => true,
        Some(2) => errors.len() == 1 && errors[0].starts_with("error: "),
        _ => false,
    }
}

#[test]
fn a_graph_of_a_billion_nodes_is_refused_in_units() {
    let folder = Folder::new();
    folder.write("one.csv", "0,1\n");
    folder.write("far.csv", "0,1\n1,1000000000\n");
    folder.write("known.csv", "0,a\n1,b\n");
    let given = "--nodes 1000000001";
    for arguments in [
        "sparsify far.csv -o out.npz",
        "sparsify one.csv -o out.npz",
        "label --graph far.csv --labels known.csv -o out.csv",
        "label --graph far.csv --labels known.csv --method sparse-harmonic -o out.csv",
        "label --graph far.csv --labels known.csv --method simple-harmonic -o out.csv",
        "graph --graph far.csv -o out.npz",
    ] {
        if arguments.contains("far") {
            // The number is asked for before memory is taken.
            let ran = limited(&folder, "ulimit -v 2097152", arguments);
            assert!(ran.code == Some(2) && is_orderly(&ran), "{arguments}: {ran:?}");
            assert!(
                ran.stderr.contains("far.csv, line 2: node 1000000000 would make 1000000001 nodes of only 2 edges")
            );
            assert!(ran.stderr.contains("--nodes 1000000001") && ran.stderr.contains("--nodes names"), "{arguments}");
        }
        let arguments = &format!("{arguments} {given}");
        let ran = limited(&folder, "ulimit -v 4194304", arguments);
        assert!(ran.code == Some(2) && is_orderly(&ran), "{arguments}: {ran:?}");
        let text = &ran.stderr;
        assert!(text.contains("GiB; ") && text.contains("are available; "), "{arguments}: {text}");
    }
    assert_eq!(folder.names(), ["far.csv", "known.csv", "one.csv"]);
    folder.write("nodes.csv", "node,label\n0,a\n1000000000,b\n");
    folder.ok("label --graph far.csv --nodes names --labels nodes.csv -o out.csv");
    assert!(folder.read("out.csv").lines().nth(3).unwrap().starts_with("1000000000,b,"));
}

#[test]
fn methods_under_limits_of_memory_end_in_order() {
    let folder = Folder::new();
    let (n, d) = (2000, 16);
    let mut noise = crate::common::Noise(3);
    folder.write("x.npy", npy(n, d, (0..n * d).map(|at| (at / d % 3 * 3) as f32 + noise.next() as f32)));
    let known: String = (0..60).map(|row| format!("{row},{}\n", ["a", "b", "c"][row % 3])).collect();
    folder.write("known.csv", known);
    for method in [
        "harmonic",
        "sparse-harmonic",
        "low-rank",
        "anchor",
        "nystrom",
        "glnp",
        "lapsvm",
        "lapsvm --solver newton --n-landmarks none",
        "laprls",
        "unfolded-gnn",
        "eigenfunction",
        "subsampling",
        "simple-harmonic",
        "nearest-label",
        "linear",
        "forest",
        "majority",
    ] {
        for mebibytes in [120, 400] {
            let arguments = format!("label x.npy --labels known.csv --method {method} -o out.csv");
            let ran = limited(&folder, &format!("ulimit -v {}", mebibytes << 10), &arguments);
            assert!(is_orderly(&ran), "{method} under {mebibytes} MiB: {ran:?}");
        }
    }
}

#[test]
fn every_count_ends_soon_or_is_refused() {
    let folder = Folder::with_clouds("x.csv", 90, 5);
    let options = [
        ("harmonic", "-k --max-iter"),
        ("sparse-harmonic", "--edge-budget --capacity --n-projections --refinements --memory"),
        ("low-rank", "--n-landmarks --fit-rows"),
        ("anchor", "--n-landmarks --n-nearest"),
        ("glnp", "--n-landmarks --glnp-max-iter"),
        ("lapsvm", "--n-landmarks --laplacian-power --max-iter"),
        ("lapsvm --kernel poly", "--degree"),
        ("unfolded-gnn", "--steps --hidden --max-iter"),
        ("eigenfunction", "--n-eigenfunctions"),
        ("subsampling", "--n-subsample"),
        ("simple-harmonic", "--n-eigenvectors"),
        ("forest", "--n-trees"),
    ];
    for (method, options) in options {
        for option in options.split(' ') {
            for value in ["0", "1", "1000000000", "1000000000000", "18446744073709551615"] {
                let arguments =
                    format!("label x.csv --label-column kind --method {method} {option} {value} -o out.csv");
                let start = Instant::now();
                let ran = limited(&folder, "ulimit -v 8388608; ulimit -t 20", &arguments);
                assert!(matches!(ran.code, Some(0..=2)), "{method} {option} {value}: {ran:?}");
                assert!(start.elapsed() < Duration::from_secs(60), "{method} {option} {value}");
            }
        }
    }
}

/// 40 rows of 65,536 columns: what grows with the square of the columns would take minutes.
#[test]
fn many_more_columns_than_rows_take_no_minutes() {
    let folder = Folder::new();
    let (n, d) = (40, 65_536);
    let mut noise = crate::common::Noise(5);
    folder.write("x.npy", npy(n, d, (0..n * d).map(|at| (at / d % 2) as f32 + noise.next() as f32)));
    folder.write("known.csv", "0,a\n1,b\n2,a\n3,b\n");
    let ran = limited(&folder, "ulimit -t 60", "label x.npy --labels known.csv --method eigenfunction -o out.csv");
    assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
}

/// Edges of 300 nodes, enough of them for several rounds.
fn edges(changed: Option<usize>) -> Vec<u8> {
    let header =
        "{'descr': [('u', '<u4'), ('v', '<u4'), ('weight', '<f4')], 'fortran_order': False, 'shape': (400000,), }";
    let padded = format!("{header:<117}\n");
    let mut out = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    out.extend(padded.as_bytes());
    let mut noise = crate::common::Noise(11);
    for row in 0..400_000usize {
        let (u, v) = ((noise.next() * 300.0) as u32, (noise.next() * 300.0) as u32);
        let weight = if changed == Some(row) { 7.0f32 } else { 1.0 };
        [u.to_le_bytes(), v.to_le_bytes(), weight.to_le_bytes()].iter().for_each(|bytes| out.extend(bytes));
    }
    out
}

/// The file keeps its length, and both of its ends.
#[test]
fn a_resumed_run_refuses_a_changed_input_and_takes_a_copy() {
    let folder = Folder::new();
    folder.write("edges.npy", edges(None));
    let arguments = "sparsify edges.npy --nodes 300 --edge-budget 2000 --capacity 4000 --sampler degree";
    folder.ok(&format!("{arguments} -o expected.npz"));
    let resumed = format!("{arguments} -o out.npz --checkpoint state");
    folder.kill_after("state", &resumed);

    folder.write("edges.npy", edges(Some(2500)));
    let ran = folder.run(&resumed);
    assert_eq!(ran.code, Some(2));
    let text = ran.stderr.lines().last().unwrap();
    assert!(text.starts_with("error: edges.npy: the first "), "{text}");
    assert!(text.contains("remove the checkpoint state"), "{text}");
    // Another file of the same contents, of another date.
    std::fs::remove_file(folder.path("edges.npy")).unwrap();
    folder.write("edges.npy", edges(None));
    folder.ok(&resumed);
    assert!(std::fs::read(folder.path("out.npz")).unwrap() == std::fs::read(folder.path("expected.npz")).unwrap());
}

#[test]
fn a_damaged_model_is_refused() {
    let folder = Folder::with_clouds("x.csv", 60, 5);
    folder.write("new.csv", "x,y\n0,0\n4,1\n");
    folder.ok("label x.csv --label-column kind --model m.lapwing -o out.csv");
    let bytes = std::fs::read(folder.path("m.lapwing")).unwrap();
    for at in (0..bytes.len()).step_by(bytes.len() / 23) {
        let mut other = bytes.clone();
        other[at] ^= 4;
        folder.write("m.lapwing", other);
        let text = folder.error("predict m.lapwing new.csv -o labels.csv");
        assert!(text.starts_with("m.lapwing: the file is damaged"), "byte {at}: {text}");
    }
    folder.write("m.lapwing", bytes);
    folder.ok("predict m.lapwing new.csv -o labels.csv");
}

/// Weights at either end of f64, and subnormal ones: labels are those of weights of 1.
#[test]
fn the_unit_of_the_weights_does_not_show() {
    let folder = Folder::new();
    let path: Vec<(usize, usize)> = (1..40).map(|i| (i - 1, i)).collect();
    let cliques = [0, 6].iter().flat_map(|first| (0..6).flat_map(move |i| (0..i).map(move |j| (first + i, first + j))));
    let cliques: Vec<(usize, usize)> = cliques.chain([(0, 6)]).collect();
    for (edges, last) in [(path, 39), (cliques, 11)] {
        folder.write("known.csv", format!("0,a\n{last},b\n"));
        for method in ["harmonic", "sparse-harmonic", "simple-harmonic"] {
            let labels = |unit: &str| {
                let rows = edges.iter().map(|(u, v)| format!("{u},{v},{unit}\n")).collect::<String>();
                folder.write("edges.csv", format!("u,v,weight\n{rows}"));
                let ran =
                    folder.run(&format!("label --graph edges.csv --labels known.csv --method {method} -o out.csv"));
                assert_eq!(ran.code, Some(0), "{method} {unit}: {ran:?}");
                let table = folder.read("out.csv");
                table.lines().map(|line| line.split(',').nth(1).unwrap().to_owned()).collect::<Vec<_>>()
            };
            let expected = labels("1");
            assert!(expected.iter().filter(|label| *label == "a").count() >= 5);
            for unit in ["1e305", "1e300", "1e200", "1e-160", "1e-300", "1e-310", "5e-324"] {
                assert_eq!(labels(unit), expected, "{method} {unit}");
            }
        }
    }
}

/// The same for kernel machines, whose normalized Laplacian has no unit.
#[test]
fn the_unit_of_the_weights_does_not_show_in_kernel_machines() {
    let folder = Folder::with_clouds("x.csv", 60, 2);
    for method in ["lapsvm", "laprls"] {
        let run = |unit: &str, options: &str| {
            let rows: String = (3..60).map(|i| format!("{},{i},{unit}\n", i - 3)).collect();
            folder.write("edges.csv", format!("u,v,weight\n{rows}"));
            let data = "label x.csv --label-column kind --graph edges.csv";
            folder.run(&format!("{data} --method {method} {options} -o out.csv"))
        };
        let labels = |unit: &str| {
            let ran = run(unit, "");
            assert_eq!(ran.code, Some(0), "{method} {unit}: {ran:?}");
            folder.read("out.csv")
        };
        let expected = labels("1");
        for unit in ["1e305", "1e200", "1e-160", "1e-300", "5e-324"] {
            // A power of two from 1 changes no bit, others the last.
            let column =
                |table: &str| table.lines().map(|line| line.split(',').nth(1).unwrap().to_owned()).collect::<Vec<_>>();
            assert_eq!(column(&labels(unit)), column(&expected), "{method} {unit}");
        }
        let refused = run("1e-300", "--laplacian combinatorial");
        assert!(refused.code == Some(2) && refused.stderr.contains("scale them"), "{refused:?}");
    }
}

/// The graph network has a unit, its self-loop: weights far below it are pointed out.
#[test]
fn weights_far_below_the_self_loop_are_pointed_out() {
    let folder = Folder::with_clouds("x.csv", 60, 2);
    let run = |unit: &str| {
        let rows: String = (3..60).map(|i| format!("{},{i},{unit}\n", i - 3)).collect();
        folder.write("edges.csv", format!("u,v,weight\n{rows}"));
        folder.ok("label x.csv --label-column kind --graph edges.csv --method unfolded-gnn -o out.csv").stderr
    };
    for unit in ["1e-160", "1e-5"] {
        let words = run(unit);
        assert!(words.contains("self_loop is 1") && words.contains("neighbors have almost no effect"), "{words}");
    }
    assert!(!run("0.5").contains("self_loop"));
}

/// No unit brings these together: whatever the method, it ends in order.
#[test]
fn weights_too_far_apart_never_panic() {
    let folder = Folder::new();
    for n in [12, 700] {
        let rows: String =
            (1..n).map(|i| format!("{},{i},{}\n", i - 1, ["1e-300", "1e300", "5e-324"][i % 3])).collect();
        folder.write("edges.csv", format!("u,v,weight\n{rows}"));
        folder.write("known.csv", format!("0,a\n{},b\n", n - 1));
        for method in ["harmonic", "sparse-harmonic", "simple-harmonic"] {
            let ran = folder.run(&format!("label --graph edges.csv --labels known.csv --method {method} -o out.csv"));
            assert!(is_orderly(&ran), "{method}: {ran:?}");
            if ran.code == Some(0) {
                assert!(!folder.read("out.csv").contains("NaN"), "{method}");
            }
        }
    }
}
