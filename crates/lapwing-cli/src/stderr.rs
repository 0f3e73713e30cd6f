//! Lines on standard error.

use std::io::{IsTerminal, Write, stderr};

/// Prints a line on standard error. Unlike `eprintln!`, it does not panic when the reader has closed the stream.
pub fn say(line: &str) {
    let _ = writeln!(stderr().lock(), "{line}");
}

/// [`say`] with a word before the line, bold and in an ANSI color on terminals unless `NO_COLOR` is set.
pub fn say_after(word: &str, color: &str, line: &str) {
    let is_wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        && stderr().is_terminal();
    say(&if is_wanted { format!("\x1b[1;{color}m{word}\x1b[0m {line}") } else { format!("{word} {line}") });
}
