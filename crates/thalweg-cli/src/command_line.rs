//! The command line: clap's command, which is made from the list of verbs, and the help in groups.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};
use thalweg_core::base::names;

use crate::args::CommonArgs;
use crate::commands::VERBS;
use crate::console::{Reporter, print_to_stderr};
use crate::moved::suggest_line;
use crate::verb::{Group, Work, find_typed_verb, list_verbs};

/// A parsed command line.
pub struct CommandLine {
    /// The work that was requested.
    pub work: Work,
    /// The number of threads; `None` for one per core.
    pub threads: Option<usize>,
    /// The requested output.
    pub voice: Reporter,
}

/// Parses the command line. If the arguments are invalid, or if help is requested, this ends the process.
pub fn parse_command_line() -> CommandLine {
    let typed: Vec<OsString> = std::env::args_os().collect();
    let matches = build_command(&typed).try_get_matches_from(&typed);
    matches.and_then(|matches| read_matches(&matches)).unwrap_or_else(|error| exit_with_error(&error, &typed))
}

fn read_matches(matches: &ArgMatches) -> Result<CommandLine, clap::Error> {
    let common = CommonArgs::from_arg_matches(matches)?;
    let typed = find_typed_verb(VERBS, matches);
    let (verb, matches) = typed.ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))?;
    let work = (verb.prepare)(matches)?;
    Ok(CommandLine { work, threads: common.threads.or(verb.threads), voice: common.into() })
}

/// Ends the process with the message about invalid arguments, or with the requested help. Arguments that contain
/// control characters are printed in an escaped form, so that they have no effect on the terminal.
fn exit_with_error(error: &clap::Error, typed: &[OsString]) -> ! {
    if let Some(message) = suggest_line(error, typed) {
        print_to_stderr(&format!("error: {}\n", names::format_lines(&message)));
        std::process::exit(error.exit_code())
    }
    let is_harmless = |word: &OsString| word.to_str().is_some_and(|word| names::format_line(word) == word);
    if typed.iter().all(is_harmless) {
        error.exit();
    }
    let text = error.render().to_string();
    print_to_stderr(&names::format_lines(&text));
    std::process::exit(error.exit_code())
}

/// Returns the whole command. `typed` is the command line, on which the help of some verbs depends.
pub fn build_command(typed: &[OsString]) -> Command {
    // clap lists commands without groups, so the list is part of the template.
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}\n\n\
         `thalweg help COMMAND` describes a command with its arguments and options.",
        list_by_group()
    );
    CommonArgs::augment_args(Command::new("thalweg"))
        .about("Makes terrain, erodes it, and writes it for game engines and GIS")
        .long_about(None::<&'static str>)
        .version(env!("CARGO_PKG_VERSION"))
        .max_term_width(120)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(VERBS.iter().map(|entry| entry.to_command(typed)))
        .help_template(template)
}

/// Lists the verbs by group, each with its summary.
fn list_by_group() -> String {
    let (verbs, mut text) = (list_verbs(VERBS, ""), String::new());
    let width = verbs.iter().map(|(words, ..)| words.len()).max().unwrap_or(0);
    for group in Group::ALL {
        text += &format!("{}:\n", group.title());
        for (words, _, about) in verbs.iter().filter(|(_, of, _)| *of == group) {
            let about = wrap_text(about, 80).join(&format!("\n{:1$}", "", width + 3));
            text += &format!("  {words:<width$} {about}\n");
        }
        text.push('\n');
    }
    text
}

/// Breaks a text into lines of at most `width` characters, unless a word is longer.
fn wrap_text(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => *line += &format!(" {word}"),
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the commands of all verbs, with the words that are typed before their arguments.
    fn list_commands(command: &Command, before: &str) -> Vec<(String, Command)> {
        let listed = |sub: &Command| match (sub.has_subcommands(), format!("{before}{}", sub.get_name())) {
            (true, words) => list_commands(sub, &format!("{words} ")),
            (false, words) => vec![(words, sub.clone())],
        };
        command.get_subcommands().flat_map(listed).collect()
    }

    #[test]
    fn the_help_of_an_argument_states_the_values_that_are_allowed() {
        let (mut checked, shows) = (0, ["[allowed: ", "[unit: ", "such as "]);
        for (words, command) in list_commands(&build_command(&[]), "") {
            for arg in command.get_arguments() {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                let name = format!("{words} {}", arg.get_id());
                assert!(!help.is_empty() && !help.ends_with('.') && !help.contains("Code "), "{name}: {help}");
                let Some(flag) = arg.get_long().filter(|_| arg.get_action().takes_values()) else { continue };
                let typed = ["verb".to_string(), format!("--{flag}=?")];
                let kind = command.clone().try_get_matches_from(typed).map_err(|error| error.kind());
                // Any text is allowed, or only the words that the help lists.
                if kind.err() != Some(ErrorKind::ValueValidation) {
                    continue;
                }
                let placeholder = arg.get_value_names().and_then(|names| names.first()).map(|name| name.to_string());
                let is_shown = placeholder.is_some_and(|name| name.contains([',', 'x', '=']));
                assert!(is_shown || shows.iter().any(|part| help.contains(part)), "{name}: {help}");
                checked += 1;
            }
        }
        assert!(checked > 100, "{checked}");
    }

    #[test]
    fn the_help_lists_every_verb_in_one_group() {
        build_command(&[]).debug_assert();
        let help = build_command(&[]).render_help().to_string();
        let groups = help.split("\n\n").filter(|part| Group::ALL.iter().any(|g| part.starts_with(g.title())));
        let groups: Vec<&str> = groups.collect();
        assert_eq!(groups.len(), Group::ALL.len(), "{help}");
        for (words, group, about) in list_verbs(VERBS, "") {
            let line = format!("\n  {words} ");
            let found: Vec<_> = groups.iter().filter(|part| part.contains(&line)).collect();
            assert!(found.len() == 1 && found[0].starts_with(group.title()), "{words}: {help}");
            assert!(!about.is_empty() && !about.ends_with('.'), "{words}: {about}");
        }
    }
}
