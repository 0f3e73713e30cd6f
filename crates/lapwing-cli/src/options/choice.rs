//! Words on the command line that stand for a choice of the library.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use lapwing::data::Result;

/// One of `words`, turned into a choice by the library's own `parse`; the help and completions list the words.
pub fn choice<T: Clone + Send + Sync + 'static>(
    words: &'static [&'static str],
    parse: fn(&str) -> Result<T>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(words).try_map(move |word| parse(&word))
}
