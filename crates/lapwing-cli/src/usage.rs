//! Texts for arguments that cannot be parsed: one line with the error, then hints.

use clap::error::ErrorKind;

/// Whether this is an error; otherwise it is a request for help or the version.
pub fn is_wrong(error: &clap::Error) -> bool {
    error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}

/// The line, without `error:`, and the hints; `command` is the called command, such as `lapwing label`.
pub fn lines(error: &clap::Error, command: &str) -> (String, Vec<String>) {
    let text = error.render().to_string();
    // The usage is cut off; a hint points to it instead.
    let text = text.split("\n\nUsage:").next().unwrap_or_default();
    let text = text.split("\n\nFor more information").next().unwrap_or_default();
    let (mut words, mut hints) = (String::new(), Vec::new());
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(tip) = line.strip_prefix("tip: ") {
            hints.push(tip.to_owned());
        } else if words.is_empty() {
            words = line.strip_prefix("error: ").unwrap_or(line).to_owned();
        } else {
            words.push_str(if words.ends_with(':') || line.starts_with('[') { " " } else { ", " });
            words.push_str(line);
        }
    }
    hints.push(format!("{command} --help describes every option"));
    (words, hints)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use crate::failure::Failure;

    fn said(arguments: &str) -> (String, Vec<String>) {
        let arguments: Vec<OsString> = arguments.split_whitespace().map(OsString::from).collect();
        match crate::parse(&arguments) {
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
}
