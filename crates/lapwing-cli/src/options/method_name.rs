//! Values that are names of methods.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, StyledStr, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command, Error};
use lapwing::models::{PublishedName, method_names};

use crate::text::typed;

/// Takes the name of a method; a name of the literature is answered with the options that it is here.
#[derive(Clone)]
pub struct MethodName;

impl TypedValueParser for MethodName {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        PossibleValuesParser::new(method_names()).parse_ref(command, arg, value).map_err(|mut error| {
            if let Some(published) = value.to_str().and_then(PublishedName::find) {
                let options = published.parameters.iter().map(|(name, value)| format!(" {}", typed(name, value)));
                let answer = format!(
                    "{} is {}{} here",
                    published.name,
                    typed("method", published.method),
                    options.collect::<String>()
                );
                error.remove(ContextKind::SuggestedValue);
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(answer)]));
            }
            error
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(method_names().map(PossibleValue::new)))
    }
}
