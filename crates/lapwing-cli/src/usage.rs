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
