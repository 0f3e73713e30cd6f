//! Options of tables: which columns are features, how a text is written, and how values are scaled.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use lapwing::data::{Standardize, TermWeights};
use lapwing_table::read::{ReadAs, ReadOptions, split_columns};

use super::{IdOption, Names};

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

    /// Make numbers of categories, dates, texts and gaps [default: auto]
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
    #[arg(long, value_enum, value_name = "auto|on|off", num_args = 0..=1, require_equals = true)]
    #[arg(
        default_value = "auto",
        default_missing_value = "on",
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub standardize: StandardizeOption,

    /// Weigh counts of terms by how rare each term is (TF-IDF) first; for sparse rows [default: off, but auto for label --method auto;
    /// without a word: on]
    ///
    /// Auto does if the rows look like counts of terms or, without a graph beside them, tell by 0 and 1 which of many terms they hold.
    #[arg(long, value_enum, value_name = "auto|on|off", num_args = 0..=1, require_equals = true, hide_short_help = true)]
    #[arg(default_missing_value = "on", hide_possible_values = true)]
    pub tfidf: Option<TfidfOption>,
}

/// How the cells of a text are written, where the text does not tell it.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Input")]
pub struct TextOptions {
    /// Character between the cells of a text, or the word tab [default: told from the text]
    #[arg(long, value_name = "CHAR", hide_short_help = true)]
    pub delimiter: Option<Delimiter>,

    /// The first line of a text holds cells, not names of columns [default: told from the text]
    #[arg(long, hide_short_help = true, conflicts_with = "header")]
    pub no_header: bool,

    /// The first line of a text names the columns [default: told from the text]
    #[arg(long, hide_short_help = true)]
    pub header: bool,

    /// Mark before the decimals of a number in a text [default: told from the text]
    #[arg(long, value_enum, value_name = "point|comma", hide_possible_values = true, hide_short_help = true)]
    pub decimal: Option<Decimal>,

    /// Sheet of a spreadsheet [default: the first that holds anything]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub sheet: Option<String>,
}

impl TextOptions {
    /// Whether the first line of a text is a header, if an option says it.
    pub fn header(&self) -> Option<bool> {
        (self.no_header || self.header).then_some(self.header)
    }

    /// The byte between cells, if an option says it.
    pub fn delimiter(&self) -> Option<u8> {
        self.delimiter.map(|delimiter| delimiter.0)
    }

    /// The byte before decimals, if an option says it.
    pub fn decimal(&self) -> Option<u8> {
        self.decimal.map(|decimal| match decimal {
            Decimal::Point => b'.',
            Decimal::Comma => b',',
        })
    }

    /// Adds these options to those of a reader.
    pub fn apply(&self, options: &mut ReadOptions) {
        options.delimiter = self.delimiter();
        options.header = self.header();
        options.sheet.clone_from(&self.sheet);
        options.decimal = self.decimal();
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

impl FromStr for Nodes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "names" => Ok(Self::Names),
            text => super::count(text).map(Self::Count).map_err(|error| format!("{error}; or the word names")),
        }
    }
}

/// What columns are read as, by their names.
#[derive(Clone, Debug)]
pub struct ReadColumns(pub Vec<(String, ReadAs)>);

impl FromStr for ReadColumns {
    type Err = String;

    fn from_str(list: &str) -> Result<Self, String> {
        let one = |entry: &String| {
            let (name, word) = entry.rsplit_once('=').ok_or("expected a column, = and a kind, such as zip=text")?;
            Ok((name.to_owned(), ReadAs::parse(word).map_err(|error| error.to_string())?))
        };
        split_columns(list).map_err(|error| error.to_string())?.iter().map(one).collect::<Result<_, _>>().map(Self)
    }
}

/// The byte between two cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delimiter(u8);

impl FromStr for Delimiter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.as_bytes()) {
            ("tab" | "\\t", _) => Ok(Self(b'\t')),
            (_, [byte])
                if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !matches!(byte, b'"' | b'\n' | b'\r') =>
            {
                Ok(Self(*byte))
            }
            _ => Err("expected one character such as ; or |, or the word tab".into()),
        }
    }
}

/// The mark before the decimals of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Decimal {
    Point,
    Comma,
}

/// Whether the columns of a table are made numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PrepareOption {
    #[default]
    Auto,
    None,
}

/// Whether counts of terms are weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TfidfOption {
    Auto,
    On,
    Off,
}

/// Whether columns are standardized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum StandardizeOption {
    #[default]
    Auto,
    On,
    Off,
}

impl From<StandardizeOption> for Standardize {
    fn from(option: StandardizeOption) -> Self {
        match option {
            StandardizeOption::Auto => Self::Auto,
            StandardizeOption::On => Self::On,
            StandardizeOption::Off => Self::Off,
        }
    }
}

impl TableOptions {
    /// Whether the options ask for a scaling that needs all rows in memory.
    pub fn must_hold(&self) -> bool {
        self.standardize == StandardizeOption::On || self.tfidf == Some(TfidfOption::On)
    }

    /// Whether the columns of a table are made numbers.
    pub fn prepares(&self) -> bool {
        self.prepare == PrepareOption::Auto && self.tfidf != Some(TfidfOption::On)
    }

    /// Whether counts of terms are weighed, for a method that is chosen by the program or by the user.
    pub fn term_weights(&self, is_auto: bool) -> TermWeights {
        match self.tfidf {
            Some(TfidfOption::On) => TermWeights::On,
            Some(TfidfOption::Off) => TermWeights::Off,
            Some(TfidfOption::Auto) => TermWeights::Auto,
            None if is_auto => TermWeights::Auto,
            None => TermWeights::Off,
        }
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
