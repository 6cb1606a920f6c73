//! [`OperationArgs`]: the arguments of an operation, made from its declared options.

use std::ffi::OsStr;
use std::ops::Deref;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser as _, ValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use serde_json::{Value as Json, json};
use thalweg_core::Error;
use thalweg_core::base::names::to_text;
use thalweg_core::declare::operation::{
    Arity, Operation, OptionKind, OptionSpec, OptionType as _, WorkForm, find_option,
};
use thalweg_core::declare::option_types::NamedFile;

/// The options of an operation as arguments of a command that writes files or a store.
pub struct OperationArgs<T>(T);

/// The options of an operation as arguments of a command that writes a store only. If the command has options of
/// several operations, an option that some of them have in common is a single argument.
pub struct StoreOperationArgs<T>(T);

/// Implements the traits of arguments for a wrapper whose options have an effect in one of these forms. The function
/// adds the options to a command.
macro_rules! arguments {
    ($wrapper:ident, $forms:expr, $add:ident) => {
        impl<T> Deref for $wrapper<T> {
            type Target = T;

            fn deref(&self) -> &T {
                &self.0
            }
        }

        impl<T: Operation + Default + Clone> Args for $wrapper<T> {
            fn augment_args(command: Command) -> Command {
                $add(command, &T::default(), &$forms)
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
                for option in list_options(&self.0, &$forms) {
                    // Only options that were typed are set. The others keep the defaults of the declaration, which clap
                    // shows but which need not be read.
                    if matches.value_source(option.name) == Some(ValueSource::CommandLine) {
                        let set = self.0.set(option.name, &get_value(&option, matches));
                        set.map_err(|error| {
                            clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("{error}\n"))
                        })?;
                    }
                }
                Ok(())
            }
        }

        impl<T: Operation> $wrapper<T> {
            /// Replaces the name of an option in an error of the library by the flag.
            pub fn as_typed(&self, error: Error) -> Error {
                name_flag(error, &self.0)
            }
        }
    };
}

arguments!(OperationArgs, [WorkForm::Folder, WorkForm::Store], add_arguments);
arguments!(StoreOperationArgs, [WorkForm::Store], add_shared_arguments);

/// The group of options that are listed under a heading of their own.
const KNOBS: &str = "knobs";

/// Returns the flag of an option as it is typed.
pub fn typed_flag(option: &OptionSpec) -> String {
    format!("--{}", option.command_flag())
}

/// Replaces the name in an error, if `rename` returns another one.
pub fn rename_setting(error: Error, rename: impl Fn(&str) -> Option<String>) -> Error {
    // The name in an error may be followed by a value, as in `sample type = u8`.
    let typed = |name: String| match name.split_once(" = ") {
        Some((setting, value)) => rename(setting).map(|flag| format!("{flag} = {value}")).unwrap_or(name),
        None => rename(&name).unwrap_or(name),
    };
    match error {
        Error::Value { name, value, allowed } => Error::Value { name: typed(name), value, allowed },
        Error::Conflict { setting, problem } => Error::Conflict { setting: typed(setting), problem },
        Error::Unsupported { subject, problem } => Error::Unsupported { subject: typed(subject), problem },
        Error::MissingInput { input, need } => Error::MissingInput { input: typed(input), need },
        other => other,
    }
}

/// Replaces the name of an option of an operation in an error by its flag.
fn name_flag(error: Error, operation: &dyn Operation) -> Error {
    let mut options = operation.declared();
    // An option that is missing was not typed. In other errors, a name that was not typed may be a key of a recipe.
    if !matches!(error, Error::MissingInput { .. }) {
        options = operation.changed_options().into_iter().map(|(option, _)| option).collect();
    }
    // The names of knobs also stand for other values, for example the size of a grid.
    options.retain(|option| option.group != Some(KNOBS));
    rename_setting(error, |name| {
        options.iter().find(|option| option.name == name || option.flag == Some(name)).map(typed_flag)
    })
}

/// Returns the options that have an effect in one of the forms.
fn list_options(operation: &dyn Operation, forms: &[WorkForm]) -> Vec<OptionSpec> {
    let mut options = operation.declared();
    options.retain(|option| option.forms.iter().any(|form| forms.contains(form)));
    options
}

/// Adds the options of an operation to a command.
fn add_arguments(command: Command, operation: &dyn Operation, forms: &[WorkForm]) -> Command {
    let options = list_options(operation, forms);
    command.args(options.iter().map(|option| make_argument(option, format_help(option, &options, forms))))
}

/// Adds the options of an operation to a command that may have some of them already, as options of another operation.
fn add_shared_arguments(mut command: Command, operation: &dyn Operation, forms: &[WorkForm]) -> Command {
    let options = list_options(operation, forms);
    for option in &options {
        let help = format_help(option, &options, forms);
        let known = command.get_arguments().find(|arg| arg.get_id().as_str() == option.name);
        command = match known.map(|arg| arg.get_help().map(ToString::to_string).unwrap_or_default()) {
            None => command.arg(make_argument(option, help)),
            Some(first) if first == help => command,
            Some(first) => {
                // The argument has the default of the first operation.
                let default = match option.arity {
                    Arity::One => format!(" [default: {}]", option.format_typed(&option.default)),
                    Arity::Optional | Arity::List => String::new(),
                };
                command.mut_arg(option.name, |arg| {
                    arg.help(format!("{first}; with `{}`: {help}{default}", operation.name()))
                })
            }
        };
    }
    command
}

/// Makes the argument of an option.
fn make_argument(option: &OptionSpec, help: String) -> Arg {
    let arg = Arg::new(option.name).long(option.command_flag()).help(help).required(option.is_required);
    let arg = option.alias.map_or(arg.clone(), |alias| arg.alias(alias.replace('_', "-")));
    let arg = if option.group == Some(KNOBS) { arg.help_heading("Knobs") } else { arg };
    if option.kind == OptionKind::Switch {
        return arg.action(ArgAction::SetTrue);
    }
    let arg = arg.value_name(option.value_name()).value_parser(build_value_parser(option));
    // Coordinates and heights may be negative.
    let is_text = matches!(option.kind, OptionKind::Text | OptionKind::Path | OptionKind::Form(_));
    let arg = arg.allow_hyphen_values(!is_text);
    match (option.arity, &option.default) {
        (Arity::List, _) if option.is_comma_separated() => arg.action(ArgAction::Append).value_delimiter(','),
        (Arity::List, _) => arg.action(ArgAction::Append),
        (_, Json::Null) => arg,
        (_, default) => arg.default_value(option.format_typed(default)),
    }
}

/// Returns the help of an option: its meaning, how several values are typed, its range and unit, the options that it
/// requires, and those that exclude it.
fn format_help(option: &OptionSpec, options: &[OptionSpec], forms: &[WorkForm]) -> String {
    // The meaning has the names of other options as they are in code.
    let meaning = options
        .iter()
        .fold(option.meaning.to_string(), |text, other| text.replace(&format!("`{}`", other.name), &typed_flag(other)));
    let sentences: Vec<&str> = [meaning.as_str()].into_iter().chain(option.value_syntax()).collect();
    let find_flag = |name: &&str| find_option(options, name).ok().map(typed_flag);
    let needed = option.needs.iter().filter_map(find_flag);
    let is_of_stores = forms.contains(&WorkForm::Folder) && !option.forms.contains(&WorkForm::Folder);
    let lists = [
        ("requires", needed.chain(is_of_stores.then(|| "-o DIR.zarr".to_string())).collect::<Vec<_>>()),
        ("not with", option.excludes.iter().filter_map(find_flag).collect()),
    ];
    let lists = lists.iter().filter(|(_, flags)| !flags.is_empty());
    let lists: String = lists.map(|(title, flags)| format!(" [{title}: {}]", flags.join(", "))).collect();
    format!("{}{}{lists}", sentences.join(" ").trim_end_matches('.'), describe_range(option))
}

/// Returns the range of an option and its unit, in brackets after a space; nothing if its words or its placeholder show
/// the accepted values.
fn describe_range(option: &OptionSpec) -> String {
    match (option.kind, option.typed_examples()) {
        (OptionKind::Numbers(_), _) if option.unit != "1" => format!(" [unit: {}]", option.unit),
        (_, Some(examples)) => format!(" [allowed: {}, such as {examples}]", option.describe_allowed()),
        (
            OptionKind::Number { .. }
            | OptionKind::NumberOr { .. }
            | OptionKind::Count { .. }
            | OptionKind::OneOf(_)
            | OptionKind::Span { .. }
            | OptionKind::Tiles
            | OptionKind::Limits(_),
            None,
        ) => format!(" [allowed: {}]", option.allowed_text()),
        _ => String::new(),
    }
}

/// Returns the parser of a value, which converts it to JSON.
fn build_value_parser(option: &OptionSpec) -> ValueParser {
    let words: &'static [(&'static str, &'static str)] = match option.kind {
        OptionKind::Choice(words) => words,
        OptionKind::Form(form) => form.words,
        _ => &[],
    };
    if !words.is_empty() {
        let words = words.iter().map(|(word, meaning)| PossibleValue::new(*word).help(meaning.trim_end_matches('.')));
        return PossibleValuesParser::from(words.collect::<Vec<_>>()).map(Json::from).into();
    }
    let option = option.clone();
    if option.kind == OptionKind::Path || option.kind == NamedFile::kind(..) {
        return OsStringValueParser::new().try_map(move |text| parse_path(&option, &text)).into();
    }
    ValueParser::from(move |text: &str| {
        // `vary` has the same options, with lists of values.
        if option.group == Some(KNOBS) && option.arity != Arity::List && text.contains(',') {
            return Err("must be one value; use `thalweg vary` for a list of values".to_string());
        }
        option.parse_text(text)
    })
}

/// Parses a path, or NAME=FILE. A path may consist of any bytes.
fn parse_path(option: &OptionSpec, text: &OsStr) -> Result<Json, String> {
    match option.kind {
        OptionKind::Path => Ok(to_text(text.as_ref()).into()),
        _ => split_named_file(text).ok_or_else(|| format!("must be {}", option.allowed_text())),
    }
}

/// Splits NAME=FILE; returns `None` for other text.
fn split_named_file(text: &OsStr) -> Option<Json> {
    // The bytes are split instead of the text, because the name of a file need not be valid UTF-8.
    let bytes = text.as_encoded_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=')?;
    let name = std::str::from_utf8(&bytes[..at]).ok()?.trim();
    // Blanks around a path that is valid text are removed, as in other pairs.
    let path = text.to_str().map_or_else(|| path_after(text, at + 1), |text| PathBuf::from(text[at + 1..].trim()));
    Some(json!([name, to_text(&path)]))
}

/// Returns the part of a text that starts at this byte.
fn path_after(text: &OsStr, at: usize) -> PathBuf {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        PathBuf::from(OsStr::from_bytes(&text.as_bytes()[at..]))
    }
    #[cfg(not(unix))]
    PathBuf::from(text.to_string_lossy().chars().skip(at).collect::<String>())
}

/// Returns the value of an option that was typed.
fn get_value(option: &OptionSpec, matches: &ArgMatches) -> Json {
    if option.kind == OptionKind::Switch {
        return matches.get_flag(option.name).into();
    }
    let mut values = matches.get_many::<Json>(option.name).into_iter().flatten().cloned();
    match option.arity {
        Arity::List => values.collect(),
        Arity::One | Arity::Optional => values.next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::declare::operation::options_for;
    use thalweg_core::declare::option_types::Setting;
    use thalweg_core::terrain::BoundaryOptions;
    use thalweg_core::{Cell, Edge};
    use thalweg_export::build::BuildOptions;
    use thalweg_export::export::ExportOptions;
    use thalweg_export::mesh_file::MeshFileOptions;
    use thalweg_export::rivers::RiversOptions;
    use thalweg_export::survey::{DrainOptions, FlowMethod};
    use thalweg_export::vary::{Seeds, VaryOptions};
    use thalweg_io::reshape::CropOptions;
    use thalweg_render::products::normals::NormalOptions;
    use thalweg_sim::single_model::ApplyOptions;

    fn parse_words<T: Operation + Default + Clone>(words: &[&OsStr]) -> Result<T, clap::Error> {
        let command = OperationArgs::<T>::augment_args(Command::new("verb").no_binary_name(true));
        Ok(OperationArgs::<T>::from_arg_matches(&command.try_get_matches_from(words)?)?.0)
    }

    fn parse<T: Operation + Default + Clone>(typed: &str) -> Result<T, String> {
        parse_words(&typed.split_whitespace().map(OsStr::new).collect::<Vec<_>>()).map_err(|error| error.to_string())
    }

    #[test]
    fn every_option_of_drain_is_an_argument() {
        let typed = "--threshold 0.5km2 --outlet 1,2 --outlet 3,4 --outlet-at -5,6.5 --breach 2,300 --method mfd \
                     --exponent 2 --runoff 300 --depressions --no-outlines";
        let options = parse::<DrainOptions>(typed).unwrap();
        assert_eq!((options.threshold, options.outlets.len(), options.outlets_at[0].x), (Some(5e5), 2, -5.0));
        assert_eq!((options.method, options.exponent, options.runoff), (FlowMethod::Multiple, 2.0, Some(300.0)));
        assert!(options.depressions && options.skip_lake_outlines && options.breach.is_some());
        let shown = options_for(&DrainOptions::default(), WorkForm::Store).len();
        let plan = StoreOperationArgs::<DrainOptions>::augment_args(Command::new("plan"));
        assert_eq!(plan.get_arguments().count(), shown);
    }

    #[test]
    fn values_of_every_form_are_parsed() {
        let typed = "--edges closed --sea-level -2.5 --set noise=0 --mouth 29,8 --mouth-at -5,6 --spring 2,8,0.5 \
                     --layer rain=a=b.tif --catchment 0.25km2";
        let options = parse::<RiversOptions>(typed).unwrap();
        assert_eq!(options.boundary, BoundaryOptions { edges: [Edge::Closed; 4], sea_level: Some(-2.5) });
        assert_eq!((options.set, options.catchment), (vec![Setting::new("noise", 0u32)], Some(250_000.0)));
        assert_eq!((options.mouths[0], options.springs[0]), (Cell::new(29, 8), (Cell::new(2, 8), 0.5)));
        assert_eq!((&*options.layers[0].name, options.layers[0].path.to_str()), ("rain", Some("a=b.tif")));
        assert!(parse::<RiversOptions>("--edges looped").unwrap_err().contains("[possible values: open, closed]"));
        let vary = parse::<VaryOptions>("--age 0.5,2 --age 3 --rock shale,ash --seeds 3,5 --set a.b=1,2").unwrap();
        let given: Vec<(&str, usize)> =
            vary.knobs.list_given().iter().map(|(option, values)| (option.name, values.len())).collect();
        assert_eq!((given, vary.seeds), (vec![("age", 3), ("rock", 2)], Some(Seeds::List(vec![3, 5]))));
        assert!(parse::<BuildOptions>("--age 1,2").unwrap_err().contains("use `thalweg vary` for a list of values"));
        assert!(parse::<CropOptions>("").unwrap_err().contains("--window <COL,ROW,COLS,ROWS>"));
    }

    #[test]
    #[cfg(unix)]
    fn the_file_of_a_layer_may_have_any_bytes() {
        use std::os::unix::ffi::OsStrExt as _;
        let options = parse_words::<ApplyOptions>(&[OsStr::new("--layer"), OsStr::from_bytes(b"rain= \xff=.tif")]);
        let layer = options.unwrap().layers.remove(0);
        assert_eq!((&*layer.name, layer.path.as_os_str()), ("rain", OsStr::from_bytes(b" \xff=.tif")));
    }

    #[test]
    fn errors_name_the_flags_that_were_typed() {
        let named = |typed: &str, name: &str| {
            let options = OperationArgs(parse::<BuildOptions>(typed).unwrap());
            options.as_typed(Error::invalid_value(name, 3, "less")).to_string()
        };
        assert_eq!(named("--cells 3", "cells"), "--cells = 3: must be less");
        assert_eq!(named("--for unity", "for"), "--for = 3: must be less");
        assert_eq!(named("--seed 3", "cells"), "cells = 3: must be less");
        assert_eq!(named("--size 3", "size"), "size = 3: must be less");
        let missing = OperationArgs(BuildOptions::default()).as_typed(Error::missing_input("rect", "give it"));
        assert_eq!(missing.to_string(), "--rect is missing: give it");
    }

    /// Returns the help of each argument with this name.
    fn help_of(command: &Command, name: &str) -> Vec<String> {
        let found = command.get_arguments().filter(|arg| arg.get_id().as_str() == name);
        found.map(|arg| arg.get_help().unwrap().to_string()).collect()
    }

    #[test]
    fn help_contains_the_accepted_values() {
        let command = OperationArgs::<MeshFileOptions>::augment_args(Command::new("mesh"));
        assert!(help_of(&command, "precision")[0].ends_with(" [allowed: 0.000001 to 512 m, or float]"));
        let command = OperationArgs::<NormalOptions>::augment_args(Command::new("normals"));
        assert!(help_of(&command, "bits")[0].ends_with(" [allowed: one of 8, 16]"));
        let command = OperationArgs::<ExportOptions>::augment_args(Command::new("export"));
        assert!(help_of(&command, "zoom")[0].contains(" [allowed: a whole number from 0 to "));
        assert!(help_of(&command, "range")[0].ends_with(" [unit: m]"));
        assert!(help_of(&command, "layers")[0].ends_with(" are separated by commas, or the option is repeated"));
        let command = OperationArgs::<DrainOptions>::augment_args(Command::new("drain"));
        let areas = " [allowed: 0 to 1e15 m², such as 250000, 250000m2 or 0.25km2]";
        assert!(help_of(&command, "threshold")[0].ends_with(areas));
        assert!(help_of(&command, "skip_lake_outlines")[0].ends_with(" [requires: -o DIR.zarr]"));
    }

    #[test]
    fn help_names_other_options_as_they_are_typed() {
        let command = OperationArgs::<BuildOptions>::augment_args(Command::new("build"));
        assert!(help_of(&command, "origin")[0].contains("coordinate system of --crs [requires: --crs]"));
        assert!(help_of(&command, "target")[0].ends_with(" [not with: --preview, --level, --rect]"));
    }

    #[test]
    fn an_option_of_several_operations_is_one_argument() {
        let command = StoreOperationArgs::<BuildOptions>::augment_args(Command::new("plan"));
        let command = OperationArgs::<BoundaryOptions>::augment_args(command);
        let edges = help_of(&command, "edges");
        let command = StoreOperationArgs::<ApplyOptions>::augment_args(command);
        let help = help_of(&command, "seed");
        assert!(help.len() == 1 && help[0].contains("; with `apply`: Seed of the model's"), "{help:?}");
        assert!(help[0].ends_with(" [default: 1]"), "{help:?}");
        // The same help is not repeated.
        assert_eq!(help_of(&command, "edges"), edges);
        let matches = command.try_get_matches_from(["plan", "--seed", "7", "--edges", "closed"]).unwrap();
        let build = StoreOperationArgs::<BuildOptions>::from_arg_matches(&matches).unwrap();
        let apply = StoreOperationArgs::<ApplyOptions>::from_arg_matches(&matches).unwrap();
        assert_eq!((build.recipe.seed, apply.seed, apply.boundary.edges), (Some(7), 7, [Edge::Closed; 4]));
    }
}
