//! Answers to command lines with a verb that has moved or is mistyped: the line to type instead.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use thalweg_core::Error;
use thalweg_core::base::names::{format_short, quote_for_shell};
use thalweg_io::Format;
use thalweg_models::model::Family;
use thalweg_models::models::find_model;

use crate::commands::VERBS;
use crate::recipes::preset_names;
use crate::stores::is_store_name;
use crate::verb::{Entry, EntryKind};

/// A verb that has moved, or an option that another verb has now.
struct Moved {
    /// The verb, and the arguments with which it has moved: an option must be among its arguments, and another word
    /// stands for an argument at that place.
    old: &'static str,
    /// The words that replace the verb.
    new: &'static str,
    /// The options that have another name, or are left out if it is empty.
    options: &'static [(&'static str, &'static str)],
}

/// The verbs and options that have moved. The first entry that applies to a line is used.
const MOVED: &[Moved] = &[
    Moved { old: "shade", new: "render map", options: &[] },
    Moved { old: "view", new: "render perspective", options: &[] },
    Moved { old: "compare --sheet", new: "render sheet", options: &[("--sheet", "")] },
    Moved { old: "compare --caption", new: "render sheet", options: &[] },
    Moved { old: "compare A B C", new: "render sheet", options: &[] },
    Moved { old: "compare", new: "render pair", options: &[] },
    #[cfg(feature = "studio")]
    Moved { old: "picture --natural", new: "render natural", options: &[("--natural", "")] },
    #[cfg(feature = "studio")]
    Moved { old: "picture", new: "render studio", options: &[] },
    Moved { old: "plan", new: "job plan", options: &[] },
    Moved { old: "stage", new: "job run", options: &[] },
    Moved { old: "verify", new: "job verify", options: &[] },
    Moved {
        old: "build --tile-dir",
        new: "tile",
        options: &[("--tile-dir", "-o"), ("--tile-level", "--level"), ("--tile-within", "--within")],
    },
];

impl Moved {
    /// Returns true if the entry applies to a verb and the words after it.
    fn applies_to(&self, verb: &OsStr, rest: &[OsString]) -> bool {
        let mut words = self.old.split(' ');
        words.next().is_some_and(|name| verb == name)
            && words.enumerate().all(|(place, word)| match word.starts_with('-') {
                true => rest.iter().any(|typed| value_of_option(typed, word).is_some()),
                false => rest.get(place).is_some_and(|typed| !typed.as_encoded_bytes().starts_with(b"-")),
            })
    }

    /// Returns the words after the verb with the new names of options.
    fn rename_options(&self, rest: &[OsString]) -> Vec<OsString> {
        let rename = |word: &OsString| {
            let found = self.options.iter().find_map(|(old, new)| Some((value_of_option(word, old)?, *new)));
            match found {
                None => Some(word.clone()),
                Some((_, "")) => None,
                Some((value, new)) => Some(format!("{new}{value}").into()),
            }
        };
        rest.iter().filter_map(rename).collect()
    }
}

/// Returns what follows the name of an option in a typed word: nothing, or `=` and a value. Returns `None` if the word
/// is not that option.
fn value_of_option<'a>(word: &'a OsStr, option: &str) -> Option<&'a str> {
    let value = word.to_str()?.strip_prefix(option)?;
    (value.is_empty() || value.starts_with('=')).then_some(value)
}

/// Returns the message with the line to type instead of one that clap has refused, if its verb has moved or is unknown.
pub fn suggest_line(error: &clap::Error, typed: &[OsString]) -> Option<String> {
    let at = find_verb_word(error, typed)?;
    let (before, verb, rest) = (&typed[1..at], &typed[at], &typed[at + 1..]);
    let family = before.iter().find_map(|word| find_family(word));
    if let Some(moved) = MOVED.iter().find(|moved| family.is_none() && moved.applies_to(verb, rest)) {
        let new: Vec<OsString> = moved.new.split(' ').map(OsString::from).collect();
        let line = quote_line([before.to_vec(), new, moved.rename_options(rest)].concat());
        return Some(format!("`{}` is now `{}`; type: {line}", moved.old, moved.new));
    }
    // An unknown option of a known verb is left to clap.
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let words = match family {
        Some(family) => find_nearest_name(&verb.to_string_lossy(), family).map(|near| vec![near.into()]),
        None => find_nearest_words(verb, before.iter().any(|word| word == "help")),
    };
    // `render a.tif` would be refused, because a view must follow `render`.
    let is_complete = |words: &Vec<OsString>| match words.last().and_then(|word| find_family(word)) {
        Some(family) => rest.first().is_some_and(|next| family.iter().any(|verb| *next == *verb.name)),
        None => true,
    };
    let words = words.filter(is_complete);
    let line = match words {
        Some(words) => quote_line([before.to_vec(), words, rest.to_vec()].concat()),
        // Nothing is similar, so the line prints the commands to choose from.
        None => {
            let family = before.iter().find(|word| find_family(word).is_some()).cloned();
            quote_line(["help".into()].into_iter().chain(family).collect())
        }
    };
    Some(format!("unknown command `{}`; type: {line}", format_short(&verb.to_string_lossy())))
}

/// Returns the words to type instead of an unknown verb: a view or a task with the word before it, the verb to which a
/// preset, a model or a file belongs, or the most similar verb.
fn find_nearest_words(word: &OsString, is_help: bool) -> Option<Vec<OsString>> {
    let name = word.to_string_lossy();
    let families = || {
        VERBS.iter().filter_map(|entry| match entry.kind {
            EntryKind::Family(verbs) => Some((entry.name, verbs)),
            EntryKind::Verb(_) => None,
        })
    };
    let with_family = |family: &str, verb: &str| Some(vec![OsString::from(family), OsString::from(verb)]);
    if let Some((family, _)) = families().find(|(_, verbs)| verbs.iter().any(|verb| name == verb.name)) {
        return with_family(family, &name);
    }
    // There is no help about a preset, a model or a file.
    if let Some(verb) = find_verb_for(word).filter(|_| !is_help) {
        return Some(vec![verb.into(), word.clone()]);
    }
    if let Some(near) = find_nearest_name(&name, VERBS) {
        return Some(vec![near.into()]);
    }
    families().find_map(|(family, verbs)| with_family(family, &find_nearest_name(&name, verbs)?))
}

/// Returns the verb that takes a word as its first argument, if the word is the name of a preset or of a model, a
/// recipe file or an elevation file.
fn find_verb_for(word: &OsStr) -> Option<&'static str> {
    let (name, path) = (word.to_str()?, Path::new(word));
    if preset_names().any(|preset| preset == name) || path.extension().is_some_and(|ending| ending == "toml") {
        return Some("build");
    }
    if let Ok(model) = find_model(name) {
        return Some(if model.about().family == Family::Base { "generate" } else { "apply" });
    }
    (Format::from_path(path).is_ok() || is_store_name(path)).then_some("info")
}

/// Returns the place of the verb among the typed words, or of the word that clap takes for one.
fn find_verb_word(error: &clap::Error, typed: &[OsString]) -> Option<usize> {
    let is_verb = |word: &OsString| match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(unknown))) => word.to_string_lossy() == *unknown,
        (ErrorKind::UnknownArgument, _) => VERBS.iter().any(|entry| word == entry.name),
        _ => false,
    };
    // The first word is the program.
    Some(typed.iter().skip(1).position(is_verb)? + 1)
}

/// Returns the verbs of which one follows a word such as `render`.
fn find_family(word: &OsStr) -> Option<&'static [Entry]> {
    VERBS.iter().find_map(|entry| match entry.kind {
        EntryKind::Family(verbs) if word == entry.name => Some(verbs),
        _ => None,
    })
}

fn find_nearest_name(name: &str, entries: &[Entry]) -> Option<String> {
    match Error::unknown_name("command", name, entries.iter().map(|entry| entry.name)) {
        Error::Unknown { nearest, .. } => nearest,
        _ => None,
    }
}

/// Returns a line of the shell with these words after the program.
fn quote_line(words: Vec<OsString>) -> String {
    let words = words.iter().map(|word| quote_for_shell(Path::new(word)));
    std::iter::once("thalweg".to_string()).chain(words).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::build_command;

    /// Returns the answer to a line that clap refuses.
    fn answer(line: &str) -> Option<String> {
        let typed: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let error = build_command(&typed).try_get_matches_from(&typed).err();
        suggest_line(&error.unwrap_or_else(|| panic!("{line} is accepted")), &typed)
    }

    #[test]
    fn every_moved_verb_is_answered_with_a_line_that_is_a_command() {
        for Moved { old, new, .. } in MOVED {
            let old_line = format!("thalweg {old} x -o y");
            let message = answer(&old_line).unwrap_or_else(|| panic!("{old_line}: no answer"));
            let line = message.strip_prefix(&format!("`{old}` is now `{new}`; type: ")).unwrap_or_default();
            assert!(line.starts_with(&format!("thalweg {new} ")), "{message}");
            // Whatever else is missing or superfluous, the words of the new verb are known.
            let typed: Vec<&str> = line.split(' ').collect();
            let kind = build_command(&[]).try_get_matches_from(typed).err().map(|error| error.kind());
            assert_ne!(kind, Some(ErrorKind::InvalidSubcommand), "{message}");
        }
    }

    #[test]
    fn the_whole_line_is_answered() {
        for (line, said) in [
            ("thalweg shade a.tif -o a.png", "thalweg render map a.tif -o a.png"),
            ("thalweg --threads 2 view a.tif -o a.png", "thalweg --threads 2 render perspective a.tif -o a.png"),
            ("thalweg help shade", "thalweg help render map"),
            ("thalweg compare a b -o c.png", "thalweg render pair a b -o c.png"),
            ("thalweg compare a b c -o d.png", "thalweg render sheet a b c -o d.png"),
            ("thalweg compare a b --sheet -o c.png", "thalweg render sheet a b -o c.png"),
            ("thalweg compare a b --caption=x -o c.png", "thalweg render sheet a b --caption=x -o c.png"),
            ("thalweg stage p.json flow 3", "thalweg job run p.json flow 3"),
            (
                "thalweg build hills --tile-dir=t --tile-level 2 --tile-within -1,0,1,2 --size 2",
                "thalweg tile hills -o=t --level 2 --within -1,0,1,2 --size 2",
            ),
            ("thalweg biuld hills -o w", "thalweg build hills -o w"),
            ("thalweg rendr map x", "thalweg render map x"),
            ("thalweg render mpa x*y.tif -o x.png", "thalweg render map 'x*y.tif' -o x.png"),
            ("thalweg job vreify s.zarr", "thalweg job verify s.zarr"),
            ("thalweg map a.tif -o a.png", "thalweg render map a.tif -o a.png"),
            ("thalweg persepctive a.tif", "thalweg render perspective a.tif"),
            ("thalweg alpine -o w", "thalweg build alpine -o w"),
            ("thalweg -q r.toml", "thalweg -q build r.toml"),
            ("thalweg thermal a.tif -o b.tif", "thalweg apply thermal a.tif -o b.tif"),
            ("thalweg volcano -o b.tif", "thalweg generate volcano -o b.tif"),
            ("thalweg a.tif", "thalweg info a.tif"),
            ("thalweg a.zarr", "thalweg info a.zarr"),
            ("thalweg zzzz a", "thalweg help"),
            ("thalweg erode a.tif", "thalweg help"),
            ("thalweg help alpine", "thalweg help"),
            ("thalweg render zzzz", "thalweg help render"),
            ("thalweg help render zzzz", "thalweg help render"),
        ] {
            let message = answer(line).unwrap_or_else(|| panic!("{line}: no answer"));
            assert_eq!(message.split_once("; type: ").map(|(_, line)| line), Some(said), "{message}");
        }
        for line in ["thalweg", "thalweg build --no-such", "thalweg render", "thalweg tile x"] {
            assert_eq!(answer(line), None, "{line}");
        }
    }
}
