//! [`Verb`]: what the file of a verb declares. The command line, its help and the call of the verb that was typed are
//! all made from one list of verbs.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, Args, Command};
use thalweg_core::Result;

use crate::console::Reporter;

/// A verb of the command. The type that implements it has the arguments of the verb as its fields.
pub trait Verb: Args + 'static {
    /// The word that is typed.
    const NAME: &'static str;
    /// The group in which the help lists the verb.
    const GROUP: Group;
    /// The summary in the help, without a full stop.
    const ABOUT: &'static str;
    /// The default number of threads; `None` for one per core.
    const THREADS: Option<usize> = None;

    /// Returns the text at the end of the verb's help. `typed` is the command line.
    fn help_end(_typed: &[OsString]) -> Option<String> {
        None
    }

    /// Does the work; returns the exit code of the process.
    ///
    /// # Errors
    /// Returns an error if the work cannot be done.
    fn run(&self, voice: Reporter) -> Result<ExitCode>;
}

/// A group of verbs in the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Verbs that make terrain.
    Make,
    /// Verbs that read a terrain.
    Analyse,
    /// Verbs that draw a terrain.
    Draw,
    /// Verbs that write a terrain for other programs.
    Export,
    /// Verbs for stores, clusters and web maps.
    Large,
    /// Verbs that print declarations.
    LookUp,
}

impl Group {
    /// All groups, in the order of the help.
    pub const ALL: [Self; 6] = [Self::Make, Self::Analyse, Self::Draw, Self::Export, Self::Large, Self::LookUp];

    /// Returns the heading in the help.
    pub fn title(self) -> &'static str {
        match self {
            Self::Make => "Make a world",
            Self::Analyse => "Analyse a terrain",
            Self::Draw => "Draw a terrain",
            Self::Export => "Export a terrain",
            Self::Large => "Work on large data",
            Self::LookUp => "Look up models, presets and commands",
        }
    }
}

/// An entry of a list of verbs.
pub struct Entry {
    /// The word that is typed.
    pub name: &'static str,
    /// The summary in the help.
    pub about: &'static str,
    /// The verb, or the verbs of which one follows.
    pub kind: EntryKind,
}

/// The kind of an entry.
pub enum EntryKind {
    /// A verb.
    Verb(ListedVerb),
    /// Verbs that follow a word, such as `map` after `render`.
    Family(&'static [Entry]),
}

/// What a verb declares in addition to its name and its summary, as a value.
pub struct ListedVerb {
    /// The group in which the help lists the verb.
    pub group: Group,
    /// The default number of threads; `None` for one per core.
    pub threads: Option<usize>,
    /// Reads the arguments and returns the work that they request.
    pub prepare: fn(&ArgMatches) -> Result<Work, clap::Error>,
    augment_args: fn(Command) -> Command,
    help_end: fn(&[OsString]) -> Option<String>,
}

/// The work of a verb with its arguments.
pub type Work = Box<dyn FnOnce(Reporter) -> Result<ExitCode>>;

/// Returns the entry of a verb.
pub const fn verb<V: Verb>() -> Entry {
    let listed = ListedVerb {
        group: V::GROUP,
        threads: V::THREADS,
        prepare: prepare::<V>,
        augment_args: V::augment_args,
        help_end: V::help_end,
    };
    Entry { name: V::NAME, about: V::ABOUT, kind: EntryKind::Verb(listed) }
}

/// Returns the entry of a word that is followed by one of several verbs.
pub const fn family(name: &'static str, about: &'static str, verbs: &'static [Entry]) -> Entry {
    Entry { name, about, kind: EntryKind::Family(verbs) }
}

fn prepare<V: Verb>(matches: &ArgMatches) -> Result<Work, clap::Error> {
    let args = V::from_arg_matches(matches)?;
    Ok(Box::new(move |voice| args.run(voice)))
}

impl Entry {
    /// Returns the entry as a command of clap. `typed` is the command line.
    pub fn to_command(&self, typed: &[OsString]) -> Command {
        let command = Command::new(self.name);
        let command = match &self.kind {
            EntryKind::Verb(verb) => {
                let command = (verb.augment_args)(command);
                match (verb.help_end)(typed) {
                    Some(text) => command.after_help(text),
                    None => command,
                }
            }
            EntryKind::Family(verbs) => command
                .subcommand_required(true)
                .arg_required_else_help(true)
                .subcommands(verbs.iter().map(|entry| entry.to_command(typed))),
        };
        // This is last, because clap takes the comments on structs of arguments for summaries too.
        command.about(self.about).long_about(None::<&'static str>)
    }
}

/// Returns the words of all verbs of a list, such as `render map`, each with its group and its summary. `before`
/// precedes the words.
pub fn list_verbs(entries: &'static [Entry], before: &str) -> Vec<(String, Group, &'static str)> {
    let listed = |entry: &'static Entry| {
        let words = format!("{before}{}", entry.name);
        match &entry.kind {
            EntryKind::Verb(verb) => vec![(words, verb.group, entry.about)],
            EntryKind::Family(verbs) => list_verbs(verbs, &(words + " ")),
        }
    };
    entries.iter().flat_map(listed).collect()
}

/// Returns the verb that was typed, with the matches of its arguments; `None` if none was.
pub fn find_typed_verb<'a>(
    entries: &'static [Entry],
    matches: &'a ArgMatches,
) -> Option<(&'static ListedVerb, &'a ArgMatches)> {
    let (name, matches) = matches.subcommand()?;
    match &entries.iter().find(|entry| entry.name == name)?.kind {
        EntryKind::Verb(verb) => Some((verb, matches)),
        EntryKind::Family(verbs) => find_typed_verb(verbs, matches),
    }
}
