//! [`Error`]: everything that can go wrong. Each message names the item, its value and what is allowed, so that a user
//! can fix it.

use std::path::{Path, PathBuf};

use crate::base::names::{format_line, format_lines, format_path, format_short};

/// The library's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that the library refuses or cannot do. The library never panics on input and never prints.
///
/// # Examples
/// ```
/// use thalweg_core::{Error, Grid};
///
/// let error = Grid::new([0, 5], 10.0).unwrap_err();
/// assert!(matches!(&error, Error::Value { name, .. } if name == "size"));
/// assert_eq!(error.to_string(), "size = 0 × 5 cells: must be 1 to 4294967296 cells in all");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value outside what is allowed.
    #[error("{} = {}: must be {}", format_short(.name), format_short(.value), format_lines(.allowed))]
    Value {
        /// The parameter, key or option, with its owner (`droplets.inertia`).
        name: String,
        /// The value as given.
        value: String,
        /// What would have been accepted.
        allowed: String,
    },
    /// A name that does not exist.
    #[error("unknown {what} `{}`{}", format_short(.name), format_lines(&suggest_known_name(.nearest, .known)))]
    Unknown {
        /// The kind of name: parameter, model, preset, key, layer.
        what: &'static str,
        /// The name as given.
        name: String,
        /// The nearest name that exists, if one is similar enough.
        nearest: Option<String>,
        /// All names that exist.
        known: Vec<String>,
    },
    /// A setting that cannot be combined with the others: one excludes it, or one that it needs is absent.
    #[error("{} {}", format_line(.setting), format_lines(.problem))]
    Conflict {
        /// The option, parameter or key, with its value if it has one: `--no-outlines`, `edges = shared`.
        setting: String,
        /// The rest of the sentence: why it does not apply, and what to do instead.
        problem: String,
    },
    /// A combination that is not possible, although each part of it is valid, for example a file format that cannot
    /// store such data, or a model that cannot work tile by tile.
    #[error("{} {}", format_line(.subject), format_lines(.problem))]
    Unsupported {
        /// The subject that cannot do it, or that cannot be done.
        subject: String,
        /// The rest of the sentence: what is not possible, and what to do instead.
        problem: String,
    },
    /// A file, layer or value that is required and absent.
    #[error("{} is missing: {}", format_line(.input), format_lines(.need))]
    MissingInput {
        /// What is missing, with its kind: ``layer `hardness` ``.
        input: String,
        /// What requires it, or what to give.
        need: String,
    },
    /// A layer that does not fit.
    #[error("layer `{}` {}", format_short(.name), format_lines(.problem))]
    Layer {
        /// The layer's name.
        name: String,
        /// What is wrong with it and what is needed.
        problem: String,
    },
    /// A model that breaks one of the laws.
    #[error("{} breaks the law of {law}: {}", format_line(.model), format_lines(.how))]
    Law {
        /// The model's name.
        model: &'static str,
        /// The law's name.
        law: &'static str,
        /// A description of the violation.
        how: String,
    },
    /// A recipe that cannot be interpreted: what is wrong with it.
    #[error("recipe: {}", format_lines(.0))]
    Recipe(String),
    /// A file with invalid content. For example, a GeoTIFF may end in the middle of a strip.
    #[error("{}: {}", format_path(.path), format_lines(.problem))]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what is allowed.
        problem: String,
    },
    /// Invalid content that does not come from a known file: bytes, or a map in memory.
    #[error("the {what} {}", format_lines(.problem))]
    Content {
        /// What the content is: `file`, `mask`, `sidecar`, `map`.
        what: &'static str,
        /// What is wrong with it and what is allowed.
        problem: String,
    },
    /// A file operation that the operating system refused. For example, the folder may be read-only.
    #[error("{}: cannot {action}: {source}", format_path(.path))]
    Io {
        /// The file.
        path: PathBuf,
        /// The operation: `read`, `write`, `rename` …
        action: &'static str,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A request that exceeds what the machine, or a format, can hold. For example, a grid of 65 536 × 65 536 cells
    /// needs 16 GiB for its ground alone.
    #[error("not enough room for {}: {need} required, {have} available", format_line(.what))]
    TooLarge {
        /// What needs the memory or the space.
        what: String,
        /// How much it needs, in words.
        need: String,
        /// How much there is room for, in words.
        have: String,
    },
    /// An operation that its caller stopped, for example through a [`Progress`](crate::Progress).
    #[error("{} was stopped", format_line(.what))]
    Stopped {
        /// The operation that was stopped.
        what: String,
    },
}

fn suggest_known_name(nearest: &Option<String>, known: &[String]) -> String {
    match nearest {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.is_empty() => "; there are none".to_string(),
        None => format!("; the known names are {}", known.join(", ")),
    }
}

impl Error {
    /// Makes an error for a value outside what is allowed.
    pub fn invalid_value(name: impl Into<String>, value: impl ToString, allowed: impl Into<String>) -> Self {
        Self::Value { name: name.into(), value: value.to_string(), allowed: allowed.into() }
    }

    /// Makes an error for a name that is not among `known`. The nearest known name is suggested if it may be a typing
    /// error: if its similarity is 0.5 or more of 1 (normalized Damerau–Levenshtein).
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::Error;
    ///
    /// let error = Error::unknown_name("layer", "hardnes", ["water", "hardness"]);
    /// assert_eq!(error.to_string(), "unknown layer `hardnes`; did you mean `hardness`?");
    /// ```
    pub fn unknown_name<'a>(what: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<String> = known.into_iter().map(String::from).collect();
        // Without a similar name the message lists all known ones instead.
        let nearest = known
            .iter()
            .filter(|k| name.len() <= 3 * k.len()) // a far longer name is no typing error, and is slow to compare
            .map(|k| (strsim::normalized_damerau_levenshtein(k, name), k))
            // A lower similarity suggests unrelated names; a higher one misses typing errors in short names.
            .filter(|(score, _)| *score >= 0.5)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, k)| k.clone());
        Self::Unknown { what, name: name.to_string(), nearest, known }
    }

    /// Makes an error for a setting that cannot be combined with the others. Together, `setting` and `problem` are a
    /// sentence.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::base::error::Error;
    ///
    /// let error = Error::conflict("--level", "only applies when the output is a Zarr store (-o DIR.zarr)");
    /// assert_eq!(error.to_string(), "--level only applies when the output is a Zarr store (-o DIR.zarr)");
    /// ```
    pub fn conflict(setting: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Conflict { setting: setting.into(), problem: problem.into() }
    }

    /// Makes an error for a combination that is not possible. Together, `subject` and `problem` are a sentence.
    pub fn unsupported(subject: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Unsupported { subject: subject.into(), problem: problem.into() }
    }

    /// Makes an error for a file, layer or value that is required and absent; `need` states what requires it, or what
    /// to give. For example, the input ``layer `hardness` `` may be required by a model.
    pub fn missing_input(input: impl Into<String>, need: impl Into<String>) -> Self {
        Self::MissingInput { input: input.into(), need: need.into() }
    }

    /// Makes an error for a layer that a model requires and that is absent; `meaning` states what the layer contains.
    pub fn missing_layer(layer: &str, model: &str, meaning: &str) -> Self {
        Self::missing_input(
            format!("layer `{layer}`"),
            format!("the model `{model}` needs it ({})", meaning.trim_end_matches('.')),
        )
    }

    /// Makes an error for a layer that does not fit.
    pub fn invalid_layer(name: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Layer { name: name.into(), problem: problem.into() }
    }

    /// Makes an error for a file with invalid content.
    pub fn invalid_file(path: impl AsRef<Path>, problem: impl Into<String>) -> Self {
        Self::File { path: path.as_ref().to_path_buf(), problem: problem.into() }
    }

    /// Makes an error for invalid content that does not come from a known file.
    pub fn invalid_content(what: &'static str, problem: impl Into<String>) -> Self {
        Self::Content { what, problem: problem.into() }
    }

    /// Turns an error about content into an error about the file at `path`; other errors stay as they are.
    #[must_use]
    pub fn into_file_error(self, path: impl AsRef<Path>) -> Self {
        match self {
            Self::Content { problem, .. } => Self::invalid_file(path, problem),
            other => other,
        }
    }

    /// Makes a function for `map_err` that turns an error of the operating system into one about this file. `action` is
    /// the verb after "cannot". For example, `std::fs::read(path).map_err(Error::io(path, "read"))` names the file that
    /// could not be read.
    pub fn io(path: impl AsRef<Path>, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| Self::Io { path, action, source }
    }
}
