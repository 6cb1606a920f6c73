//! [`OperationArgs`]: the arguments of an operation, made from its declared options.

use std::ops::Deref;

use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, ValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use serde_json::Value as Json;
use thalweg_core::base::names::to_text;
use thalweg_core::declare::operation::{Arity, Operation, OptionKind, OptionSpec, WorkForm};

/// The options of an operation as arguments of a command that writes a folder or a store.
pub struct OperationArgs<T>(T);

/// The options of an operation as arguments of a command that writes a store only.
pub struct StoreOperationArgs<T>(T);

/// Returns the flag of an option as it is typed.
pub fn typed_flag(option: &OptionSpec) -> String {
    format!("--{}", option.command_flag())
}

/// Implements the traits of arguments for a wrapper whose options have an effect in one of these forms.
macro_rules! arguments {
    ($wrapper:ident, $forms:expr) => {
        impl<T> Deref for $wrapper<T> {
            type Target = T;

            fn deref(&self) -> &T {
                &self.0
            }
        }

        impl<T: Operation + Default + Clone> Args for $wrapper<T> {
            fn augment_args(command: Command) -> Command {
                command.args(options::<T>(&$forms).iter().map(argument))
            }

            fn augment_args_for_update(command: Command) -> Command {
                Self::augment_args(command)
            }
        }

        impl<T: Operation + Default + Clone> FromArgMatches for $wrapper<T> {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
                let mut given = Self(T::default());
                given.update_from_arg_matches(matches)?;
                Ok(given)
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
                for option in options::<T>(&$forms) {
                    // Only options that were typed are set. The others keep the defaults of the declaration, which clap
                    // shows but which need not be parsed.
                    if matches.value_source(option.name) == Some(ValueSource::CommandLine) {
                        let set = self.0.set(option.name, &value(&option, matches));
                        set.map_err(|error| {
                            clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("{error}\n"))
                        })?;
                    }
                }
                Ok(())
            }
        }
    };
}

arguments!(OperationArgs, [WorkForm::Folder, WorkForm::Store]);
arguments!(StoreOperationArgs, [WorkForm::Store]);

/// Returns the options that have an effect in one of the forms.
fn options<T: Operation + Default>(forms: &[WorkForm]) -> Vec<OptionSpec> {
    let mut options = T::default().declared();
    options.retain(|option| option.forms.iter().any(|form| forms.contains(form)));
    options
}

/// Makes the argument of an option.
fn argument(option: &OptionSpec) -> Arg {
    let arg = Arg::new(option.name).long(option.command_flag()).help(format_help(option));
    let arg = option.alias.map_or(arg.clone(), |alias| arg.alias(alias.replace('_', "-")));
    if option.kind == OptionKind::Switch {
        return arg.action(ArgAction::SetTrue);
    }
    let arg = arg.value_name(option.value_name()).value_parser(build_value_parser(option));
    // Coordinates and heights may be negative.
    let arg = arg.allow_hyphen_values(!matches!(option.kind, OptionKind::Text | OptionKind::Path));
    match (option.arity, &option.default) {
        // Lists of words may be separated by commas. Lists of cells and points contain commas themselves, so their
        // option is repeated.
        (Arity::List, _) if option.kind == OptionKind::Text => arg.action(ArgAction::Append).value_delimiter(','),
        (Arity::List, _) => arg.action(ArgAction::Append),
        (_, Json::Null) => arg,
        (_, default) => arg.default_value(option.format_typed(default)),
    }
}

/// Returns the help of an option: its meaning, its unit or range, and how it is typed.
fn format_help(option: &OptionSpec) -> String {
    let syntax = option.value_syntax().map_or(String::new(), |syntax| format!("; {syntax}"));
    let allowed = match option.kind {
        OptionKind::Numbers(_) if option.unit != "1" => format!(" [{}]", option.unit),
        // The examples of a syntax show the unit already.
        OptionKind::Number { .. } | OptionKind::Count { .. } if syntax.is_empty() => {
            format!(" [allowed: {}]", option.describe_allowed())
        }
        _ => String::new(),
    };
    format!("{}{allowed}{syntax}", option.meaning.trim_end_matches('.'))
}

/// Checks a value as it is typed; the text itself is kept.
fn build_value_parser(option: &OptionSpec) -> ValueParser {
    match option.kind {
        OptionKind::Path => OsStringValueParser::new().into(),
        OptionKind::Choice(words) => {
            let words =
                words.iter().map(|(word, meaning)| PossibleValue::new(*word).help(meaning.trim_end_matches('.')));
            PossibleValuesParser::from(words.collect::<Vec<_>>()).into()
        }
        _ => {
            let option = option.clone();
            ValueParser::from(move |text: &str| option.parse_text(text).map(|_| text.to_string()))
        }
    }
}

/// Returns the given value as JSON.
fn value(option: &OptionSpec, matches: &ArgMatches) -> Json {
    match option.kind {
        OptionKind::Switch => matches.get_flag(option.name).into(),
        OptionKind::Path => {
            let path = matches.get_one::<std::ffi::OsString>(option.name);
            path.map_or(Json::Null, |path| to_text(path.as_ref()).into())
        }
        _ => {
            let texts = matches.get_many::<String>(option.name).into_iter().flatten();
            // The parser has accepted the texts.
            let mut values = texts.filter_map(|text| option.parse_text(text).ok());
            match option.arity {
                Arity::List => values.collect(),
                _ => values.next().unwrap_or_default(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use thalweg_core::declare::operation::options_for;
    use thalweg_export::survey::{DrainOptions, FlowMethod};

    #[derive(Parser)]
    struct Drain {
        #[command(flatten)]
        options: OperationArgs<DrainOptions>,
    }

    #[test]
    fn every_option_of_drain_is_an_argument() {
        let typed = "drain --threshold 0.5km2 --outlet 1,2 --outlet 3,4 --outlet-at -5,6.5 --breach 2,300 --method mfd \
                     --exponent 2 --runoff 300 --depressions --no-outlines";
        let drain = Drain::try_parse_from(typed.split_whitespace()).unwrap_or_else(|error| panic!("{error}"));
        let options = &*drain.options;
        assert_eq!((options.threshold, options.outlets.len(), options.outlets_at[0].x), (Some(5e5), 2, -5.0));
        assert_eq!((options.method, options.exponent, options.runoff), (FlowMethod::Multiple, 2.0, Some(300.0)));
        assert!(options.depressions && options.skip_lake_outlines && options.breach.is_some());
        let shown = options_for(&DrainOptions::default(), WorkForm::Store).len();
        let plan = StoreOperationArgs::<DrainOptions>::augment_args(Command::new("plan"));
        assert_eq!(plan.get_arguments().count(), shown);
    }
}
