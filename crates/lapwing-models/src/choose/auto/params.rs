//! Parameters of the automatic choice.

use lapwing_core::params::{Domain, ParameterType, Parameters, Seconds, Value, above};
use lapwing_core::{Result, parameters};

/// Methods that may be candidates, in the order in which they are tried: the default first, then by what they cost.
pub(super) const CANDIDATES: &[&str] = &[
    "harmonic",
    "harmonic-plain",
    "harmonic-joined",
    "harmonic-prior",
    "prior",
    "majority",
    "nearest-label",
    "linear",
    "forest",
    "unfolded-gnn",
    "unfolded-joined",
    "laprls",
    "low-rank",
];

/// Which methods are tried.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Candidates {
    /// Those that suit the rows.
    #[default]
    Auto,
    /// These, by name.
    Given(Vec<String>),
}

impl ParameterType for Candidates {
    fn domain() -> Domain {
        Domain { is_list: true, ..Domain::default() }.or_words(&["auto"]).or_words(CANDIDATES)
    }

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::None => Some(Self::Auto),
            Value::Word(word) if word == "auto" => Some(Self::Auto),
            Value::Word(words) if Self::domain().has_word(words) => {
                let names: Vec<String> = words.split(',').map(|word| word.trim().to_owned()).collect();
                // Auto is all of them, not one of them.
                names.iter().all(|name| name != "auto").then_some(Self::Given(names))
            }
            _ => None,
        }
    }

    fn to_value(&self) -> Value {
        match self {
            Self::Auto => Value::Word("auto".into()),
            Self::Given(names) => Value::Word(names.join(",")),
        }
    }
}

parameters! {
    /// Parameters of the automatic choice.
    pub struct AutoParams {
        /// Time after which no further candidate is started. The first candidate is always tried. With a budget, the result depends
        /// on the speed of the machine.
        budget: Option<Seconds> = None, or "none", in above(0.0);
        /// Methods that are tried. Auto uses the methods that suit the rows: harmonic in two forms and majority; with features also
        /// nearest-label and linear; with features alone also forest and laprls; with features and a graph also unfolded-gnn. The
        /// candidates joined work on the sum of the given graph and that of the neighbors by features. A prior is a candidate too, alone
        /// and as the start of harmonic.
        candidates: Candidates = Candidates::Auto;
    }
}

impl AutoParams {
    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// [`Error::Param`](lapwing_core::Error::Param) naming the first one outside.
    pub fn validate(&self) -> Result<()> {
        self.check_ranges()
    }
}
