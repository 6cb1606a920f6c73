//! Parsers of values that are typed on the command line.

use std::ffi::OsStr;
use std::ops::RangeInclusive;

use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use thalweg_core::declare::operation::parse_number_with_unit;
use thalweg_export::export::TARGETS;
use thalweg_models::models::Models;
use thalweg_sim::presets::PRESETS;

/// A parser that accepts any value and names the known ones. Shells complete to these, and with `hide_possible_values`
/// help stays short.
#[derive(Clone)]
pub struct Completed<P> {
    any: P,
    names: Vec<&'static str>,
}

impl Completed<StringValueParser> {
    /// Makes the parser of a word, for which these are known.
    pub fn with_names(names: Vec<&'static str>) -> Self {
        Self { any: StringValueParser::new(), names }
    }
}

impl<P: TypedValueParser> TypedValueParser for Completed<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        self.any.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names.iter().copied().map(PossibleValue::new)))
    }
}

/// Returns the parser of a recipe file or of the name of a preset.
pub fn recipe_parser() -> Completed<OsStringValueParser> {
    Completed { any: OsStringValueParser::new(), names: PRESETS.iter().map(|preset| preset.name).collect() }
}

/// Returns the parser of the name of a model.
pub fn model_parser() -> Completed<StringValueParser> {
    Completed::with_names(thalweg_models::models::all_models().map(|model| model.about().name).collect())
}

/// Returns the parser of the name of a layer.
pub fn layer_parser() -> Completed<StringValueParser> {
    let mut names: Vec<_> = Models::default().layers().map(|layer| layer.name).collect();
    names.sort_unstable();
    names.dedup();
    Completed::with_names(names)
}

/// Returns the parser of a whole number within limits, both included. The limit [`u64::MAX`] stands for no limit.
pub fn whole_number<T: TryFrom<u64>>(
    limits: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync {
    move |text| {
        let number = text.trim().parse::<u64>().ok().filter(|number| limits.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| match *limits.end() {
            u64::MAX => format!("must be a whole number of {} or more", limits.start()),
            end => format!("must be a whole number from {} to {end}", limits.start()),
        })
    }
}

/// Returns the parser of a number of threads, 1 to [`MAX_THREADS`].
pub fn thread_count_parser() -> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync {
    whole_number(1..=MAX_THREADS as u64)
}

/// The maximum number of threads.
pub const MAX_THREADS: usize = 1024;

/// The maximum number of cells on the long side of a world.
pub const MAX_CELLS: u64 = 1 << 20;

/// Returns the parser of the name of an export target.
pub fn target_parser() -> PossibleValuesParser {
    TARGETS.iter().map(|target| PossibleValue::new(target.name).help(target.about)).collect::<Vec<_>>().into()
}

/// Parses a time in seconds, 0 to 10⁹; returns a message for anything else.
pub fn parse_seconds(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|s| (0.0..=1e9).contains(s)).ok_or_else(|| "must be 0 to 1e9 seconds".into())
}

/// Parses bytes of memory, 1 MiB or more; returns a message for anything else.
pub fn parse_byte_count(text: &str) -> Result<u64, String> {
    let wrong = || "must be a number of bytes of at least 1M, such as 524288000, 500M or 2.5G".to_string();
    let bytes = parse_number_with_unit(text, "B").filter(|bytes| (1048576.0..1e18).contains(bytes));
    // The cast is safe: 10¹⁸ is below 2⁶⁴.
    bytes.map(|bytes| bytes as u64).ok_or_else(wrong)
}

/// Returns the parser of two numbers with a comma between them; `names` names them in the message.
pub fn two_numbers(names: &'static str) -> impl Fn(&str) -> Result<[f64; 2], String> + Clone + Send + Sync {
    move |text| {
        let numbers: Option<Vec<f64>> = text.split(',').map(|n| n.trim().parse().ok()).collect();
        let numbers = numbers.and_then(|n| <[f64; 2]>::try_from(n).ok());
        let finite = numbers.filter(|n| n.iter().all(|x| x.is_finite()));
        finite.ok_or_else(|| format!("must be {names}, two numbers"))
    }
}
