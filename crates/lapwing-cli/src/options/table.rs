//! Options of tables: which columns are features, how a text is written, and how values are scaled.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use lapwing::data::{Error, Standardize, TermWeights};
use lapwing_core::params::count;
use lapwing_table::read::ReadOptions;

use super::{IdOption, Names, ReadColumns};

/// Which columns are features, and how they are scaled.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Input")]
pub struct TableOptions {
    /// Further tables with the same columns, whose rows follow those of the first
    #[arg(value_name = "MORE", help_heading = None::<&str>)]
    pub more: Vec<PathBuf>,

    /// Feature columns, separated by commas: names, or numbers if the file has no names [default: all]
    ///
    /// Put a name with a comma in quotes: --columns 'width,"height, cm"'.
    #[arg(long, value_name = "A,B,…")]
    pub columns: Option<Vec<Names>>,

    /// Columns that are not features, separated by commas
    #[arg(long, value_name = "A,B,…")]
    pub drop: Vec<Names>,

    /// Make numbers of categories, dates, texts, gaps [default: auto]
    ///
    /// Auto decides for each column by its cells, and says what it does; lapwing describe shows it. Columns that are empty, constant or
    /// name the rows are left out, unless --columns names them. None takes numbers as they are, and refuses anything else.
    #[arg(long, value_enum, value_name = "auto|none", default_value = "auto")]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub prepare: PrepareOption,

    /// What columns are read as, where their cells tell something else: COLUMN=number, text, day-first or month-first, with commas between
    ///
    /// lapwing describe shows what cells are read as, and this option where they may be something else.
    #[arg(long, value_name = "COLUMN=KIND,…", hide_short_help = true)]
    pub read_as: Vec<ReadColumns>,

    #[command(flatten)]
    pub text: TextOptions,

    #[command(flatten)]
    pub id: IdOption,

    /// Scale numbers first [default: auto]
    ///
    /// On, or without a word: to mean 0 and deviation 1.
    ///
    /// Auto: to one width, if columns are in units so different that a few of them decide every distance. It leaves images, embeddings,
    /// sparse rows and arrays read in blocks as they are.
    #[arg(long, value_parser = auto_on_off(Standardize::parse), value_name = "auto|on|off", num_args = 0..=1)]
    #[arg(require_equals = true, default_value = "auto", default_missing_value = "on")]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub standardize: Standardize,

    /// Weigh counts of terms by how rare each term is (TF-IDF) first; for sparse rows [default: off, but auto for label --method auto;
    /// without a word: on]
    ///
    /// Auto does if the rows look like counts of terms or, without a graph beside them, tell by 0 and 1 which of many terms they hold.
    #[arg(long, value_parser = auto_on_off(TermWeights::parse), value_name = "auto|on|off", num_args = 0..=1)]
    #[arg(require_equals = true, default_missing_value = "on", hide_possible_values = true, hide_short_help = true)]
    pub tfidf: Option<TermWeights>,
}

/// How the cells of a text are written, where the text does not tell it.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Input")]
pub struct TextOptions {
    /// Character between the cells of a text, or the word tab [default: told from the text]
    #[arg(long, value_name = "CHAR", value_parser = delimiter, hide_short_help = true)]
    pub delimiter: Option<u8>,

    /// The first line of a text holds cells, not names of columns [default: told from the text]
    #[arg(long, hide_short_help = true, conflicts_with = "header")]
    pub no_header: bool,

    /// The first line of a text names the columns [default: told from the text]
    #[arg(long, hide_short_help = true)]
    pub header: bool,

    /// Mark before the decimals of a number in a text [default: told from the text]
    #[arg(long, value_parser = decimal(), value_name = "point|comma")]
    #[arg(hide_possible_values = true, hide_short_help = true)]
    pub decimal: Option<u8>,

    /// Sheet of a spreadsheet [default: the first that holds anything]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub sheet: Option<String>,
}

impl TextOptions {
    /// Whether the first line of a text is a header, if an option says it.
    pub fn header(&self) -> Option<bool> {
        (self.no_header || self.header).then_some(self.header)
    }

    /// The options of a reader.
    pub fn read_options(&self) -> ReadOptions {
        let Self { delimiter, decimal, sheet, .. } = self.clone();
        ReadOptions { delimiter, header: self.header(), sheet, decimal, ..ReadOptions::default() }
    }
}

/// One of the words auto, on and off.
fn auto_on_off<T: Clone + Default + Send + Sync + 'static>(
    parse: fn(&str) -> Result<T, Error>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(["auto", "on", "off"]).map(move |word| parse(&word).unwrap_or_default())
}

/// The mark before the decimals of a number, by its name.
fn decimal() -> impl TypedValueParser<Value = u8> {
    PossibleValuesParser::new(["point", "comma"]).map(|word| if word == "comma" { b',' } else { b'.' })
}

/// The byte between two cells.
fn delimiter(text: &str) -> Result<u8, String> {
    match (text, text.as_bytes()) {
        ("tab" | "\\t", _) => Ok(b'\t'),
        (_, [byte]) if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !matches!(byte, b'"' | b'\n' | b'\r') => {
            Ok(*byte)
        }
        _ => Err("expected one character such as ; or |, or the word tab".into()),
    }
}

/// The nodes of a graph alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nodes {
    /// So many, numbered from 0.
    Count(usize),
    /// Ids are names, even if they are numbers.
    Names,
}

impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(n) => n.fmt(f),
            Self::Names => f.write_str("names"),
        }
    }
}

impl FromStr for Nodes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "names" => Ok(Self::Names),
            text => count(text).map(Self::Count).map_err(|error| format!("{error}; or the word names")),
        }
    }
}

/// Whether the columns of a table are made numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PrepareOption {
    #[default]
    Auto,
    None,
}

impl TableOptions {
    /// Whether the options ask for a scaling that needs all rows in memory.
    pub fn must_hold(&self) -> bool {
        self.standardize == Standardize::On || self.tfidf == Some(TermWeights::On)
    }

    /// Whether the columns of a table are made numbers.
    pub fn prepares(&self) -> bool {
        self.prepare == PrepareOption::Auto && self.tfidf != Some(TermWeights::On)
    }

    /// Whether counts of terms are weighed, for a method that is chosen by the program or by the user.
    pub fn term_weights(&self, is_auto: bool) -> TermWeights {
        self.tfidf.unwrap_or(if is_auto { TermWeights::Auto } else { TermWeights::Off })
    }
}

/// The arguments with `--standardize WORD` and `--tfidf WORD` in one piece: without a word these take none of the arguments after them.
pub fn joined_words(arguments: &[OsString]) -> Vec<OsString> {
    let is_word = |word: &OsString| Standardize::NAMES.iter().any(|name| word == *name);
    let takes_word = |option: &OsString| option == "--standardize" || option == "--tfidf";
    let mut joined: Vec<OsString> = Vec::new();
    for word in arguments {
        match joined.last_mut() {
            Some(option) if takes_word(option) && is_word(word) => {
                option.push("=");
                option.push(word);
            }
            _ => joined.push(word.clone()),
        }
    }
    joined
}
