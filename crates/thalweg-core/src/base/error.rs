//! What can go wrong, said so that a person can mend it: the thing, its value, and what is allowed.

use std::path::{Path, PathBuf};

use crate::base::names::{line, lines, short, shown};

/// The library's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that the library refuses or cannot do. The library never panics on input and never prints.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value outside what is allowed.
    #[error("{} = {}: allowed is {}", short(.name), short(.value), lines(.allowed))]
    Value {
        /// The parameter, key or option, with its owner (`droplets.inertia`).
        name: String,
        /// The value as given.
        value: String,
        /// What would have been accepted.
        allowed: String,
    },
    /// A name that does not exist.
    #[error("unknown {what} `{}`{}", short(.name), lines(&hint(.nearest, .known)))]
    Unknown {
        /// The kind of thing: parameter, model, preset, key, layer.
        what: &'static str,
        /// The name as given.
        name: String,
        /// The nearest name that exists, if one is near.
        nearest: Option<String>,
        /// All names that exist.
        known: Vec<String>,
    },
    /// A setting that does not go with the others: one excludes it, or one that it needs is absent.
    #[error("{} {}", line(.setting), lines(.problem))]
    Conflict {
        /// The option, parameter or key, with its value if it has one: `--no-outlines`, `edges = shared`.
        setting: String,
        /// The rest of the sentence: why it does not apply, and what to do instead.
        problem: String,
    },
    /// A combination that cannot be done, although each part of it is valid: a file format without a place for such
    /// data, a model that cannot work tile by tile.
    #[error("{} {}", line(.subject), lines(.problem))]
    Unsupported {
        /// The thing that cannot do it, or that cannot be done.
        subject: String,
        /// The rest of the sentence: what is not possible, and what to do instead.
        problem: String,
    },
    /// A file, layer or value that is needed and absent.
    #[error("{} is missing: {}", line(.input), lines(.need))]
    MissingInput {
        /// What is missing, with its kind: ``layer `hardness` ``.
        input: String,
        /// What needs it, or what to give.
        need: String,
    },
    /// A layer that does not fit.
    #[error("layer `{}`: {}", short(.name), lines(.problem))]
    Layer {
        /// The layer's name.
        name: String,
        /// What is wrong with it and what is needed.
        problem: String,
    },
    /// A model that breaks one of the laws.
    #[error("{} breaks the law of {law}: {}", line(.model), lines(.how))]
    Law {
        /// The model's name.
        model: &'static str,
        /// The law's name.
        law: &'static str,
        /// What was seen.
        how: String,
    },
    /// A recipe that cannot be understood: what is wrong with it.
    #[error("recipe: {}", lines(.0))]
    Recipe(String),
    /// A file whose content is not what it should be.
    #[error("{}: {}", shown(.path), lines(.problem))]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what is allowed.
        problem: String,
    },
    /// Content whose file is not known and that is not what it should be: bytes, or a map that is held in memory.
    #[error("the {what} {}", lines(.problem))]
    Content {
        /// What it is of: `file`, `mask`, `sidecar`, `map`.
        what: &'static str,
        /// What is wrong with it and what is allowed.
        problem: String,
    },
    /// A file that the system would not let us read or write.
    #[error("{}: cannot {action}: {source}", shown(.path))]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried: `read`, `write`, `rename` …
        action: &'static str,
        /// The system's own words.
        source: std::io::Error,
    },
    /// More than the machine, or a format, can hold.
    #[error("{} needs {need}; there is room for {have}", line(.what))]
    TooLarge {
        /// What was asked for.
        what: String,
        /// How much it needs, in words.
        need: String,
        /// How much there is room for, in words.
        have: String,
    },
    /// An operation that its caller stopped, for example through a [`Progress`](crate::Progress).
    #[error("{} was stopped", line(.what))]
    Stopped {
        /// What was being done.
        what: String,
    },
}

fn hint(nearest: &Option<String>, known: &[String]) -> String {
    match nearest {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.is_empty() => "; none exist".to_string(),
        None => format!("; known are {}", known.join(", ")),
    }
}

impl Error {
    /// A value outside what is allowed.
    pub fn value(name: impl Into<String>, value: impl ToString, allowed: impl Into<String>) -> Self {
        Self::Value { name: name.into(), value: value.to_string(), allowed: allowed.into() }
    }

    /// A name that is not among `known`. The nearest is offered when it may be a slip: at a similarity of 0.5 or more of 1
    /// (normalized Damerau–Levenshtein).
    pub fn unknown<'a>(what: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<String> = known.into_iter().map(String::from).collect();
        let nearest = known
            .iter()
            .filter(|k| name.len() <= 3 * k.len()) // a far longer name is no slip, and costs to compare
            .map(|k| (strsim::normalized_damerau_levenshtein(k, name), k))
            .filter(|(score, _)| *score >= 0.5)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, k)| k.clone());
        Self::Unknown { what, name: name.to_string(), nearest, known }
    }

    /// A setting that does not go with the others. Together, `setting` and `problem` are a sentence.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::base::error::Error;
    ///
    /// let error = Error::conflict("--level", "only applies when the output is a Zarr store (--out DIR.zarr)");
    /// assert_eq!(error.to_string(), "--level only applies when the output is a Zarr store (--out DIR.zarr)");
    /// ```
    pub fn conflict(setting: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Conflict { setting: setting.into(), problem: problem.into() }
    }

    /// A combination that cannot be done. Together, `subject` and `problem` are a sentence.
    pub fn unsupported(subject: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Unsupported { subject: subject.into(), problem: problem.into() }
    }

    /// A file, layer or value that is needed and absent; `need` says what needs it, or what to give.
    pub fn missing(input: impl Into<String>, need: impl Into<String>) -> Self {
        Self::MissingInput { input: input.into(), need: need.into() }
    }

    /// A layer that a model needs and that is absent; `meaning` says what the layer holds.
    pub fn missing_layer(layer: &str, model: &str, meaning: &str) -> Self {
        Self::missing(format!("layer `{layer}`"), format!("`{model}` needs it ({})", meaning.trim_end_matches('.')))
    }

    /// A layer that does not fit.
    pub fn layer(name: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Layer { name: name.into(), problem: problem.into() }
    }

    /// A file whose content is not what it should be.
    pub fn file(path: impl AsRef<Path>, problem: impl Into<String>) -> Self {
        Self::File { path: path.as_ref().to_path_buf(), problem: problem.into() }
    }

    /// Content whose file is not known and that is not what it should be.
    pub fn content(what: &'static str, problem: impl Into<String>) -> Self {
        Self::Content { what, problem: problem.into() }
    }

    /// The same said of the file at `path`, where it is of content; other errors stay what they are.
    #[must_use]
    pub fn of_file(self, path: impl AsRef<Path>) -> Self {
        match self {
            Self::Content { problem, .. } => Self::file(path, problem),
            other => other,
        }
    }

    /// A file that the system would not let us use; for `map_err`. `action` is the verb after "cannot".
    pub fn io(path: impl AsRef<Path>, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| Self::Io { path, action, source }
    }
}
