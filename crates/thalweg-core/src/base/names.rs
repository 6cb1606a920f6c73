//! Names of files as text: lossless in what is read again, harmless in what a person reads.
//!
//! A path need not be text: on Unix it is bytes. In recipes, checkpoints and reports a path that is no UTF-8 stands as `file:`
//! and its bytes, those that are no plain letters as `%` and two hexadecimal digits. In messages what would move the cursor,
//! turn the line round or change its colour stands as `\u{1b}` and the like.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Begins a path that is written byte by byte.
const BYTES: &str = "file:";

/// Most characters of a value that a message shows.
const SHOWN: usize = 160;

/// Most digits that a number is written out with.
const DIGITS: usize = 24;

/// A path as text that [`from_text`] reads back, on Unix whatever its bytes. UTF-8 that does not begin with `file:` stands as
/// it is.
pub fn to_text(path: &Path) -> String {
    match path.to_str() {
        Some(text) if !text.starts_with(BYTES) => text.to_string(),
        _ => {
            let mut text = BYTES.to_string();
            for byte in path.as_os_str().as_encoded_bytes() {
                if byte.is_ascii_alphanumeric() || b"/._-\\:".contains(byte) {
                    text.push(char::from(*byte));
                } else {
                    let _ = write!(text, "%{byte:02X}");
                }
            }
            text
        }
    }
}

/// The path that [`to_text`] wrote. Text that does not begin with `file:`, or is not well formed after it, is a path as it
/// stands.
pub fn from_text(text: &str) -> PathBuf {
    text.strip_prefix(BYTES).and_then(decoded).unwrap_or_else(|| text.into())
}

/// The bytes behind `file:` as a path, if they are well formed.
fn decoded(text: &str) -> Option<PathBuf> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            byte => byte,
        });
    }
    from_bytes(bytes)
}

#[cfg(unix)]
fn from_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    Some(PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes)))
}

/// Elsewhere a path is no row of bytes: what is no UTF-8 cannot be had back.
#[cfg(not(unix))]
fn from_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

/// A path for a person: on one line, without anything that a terminal obeys.
pub fn shown(path: &Path) -> String {
    let mut out = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        out.push_str(&line(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// A value for a person: on one line, without anything that a terminal obeys. It is not cut; [`short`] cuts.
pub fn line(text: &str) -> Cow<'_, str> {
    harmless(text, |c| c == '\n' || c == '\t')
}

/// Text of several lines for a person: line breaks and tabs stay, all else that a terminal obeys does not.
pub fn lines(text: &str) -> Cow<'_, str> {
    harmless(text, |_| false)
}

/// A value as [`line()`] gives it, cut after 160 characters; a number of more than 24 characters stands with an exponent.
pub fn short(text: &str) -> Cow<'_, str> {
    let line = line(text);
    if let (true, Ok(number)) = (line.len() > DIGITS, line.parse::<f64>()) {
        return Cow::Owned(format!("{number:e}"));
    }
    match line.char_indices().nth(SHOWN) {
        None => line,
        Some((end, _)) => Cow::Owned(format!("{}… ({} characters)", &line[..end], text.chars().count())),
    }
}

fn harmless(text: &str, also: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_bad = |c: char| also(c) || (c.is_control() && c != '\n' && c != '\t') || turns(c);
    if !text.contains(is_bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_bad(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Characters that turn a line's direction round or break it, though they are no control characters.
fn turns(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A path as one word of a shell's command line.
///
/// On Windows it stands between double quotes; elsewhere, where it needs to, between single ones, and where it holds bytes
/// that are no text or that a terminal would obey, as `$'…'`, which bash and zsh read.
pub fn quoted(path: &Path) -> String {
    let text = path.to_str();
    let plain = |c: char| c.is_alphanumeric() || "/._-:+=@%,".contains(c) || (cfg!(windows) && c == '\\');
    match text {
        Some(text) if !text.is_empty() && text.chars().all(plain) => text.to_string(),
        Some(text) if cfg!(windows) => format!("\"{text}\""),
        Some(text) if line(text) == text => format!("'{}'", text.replace('\'', r"'\''")),
        _ => {
            let mut word = "$'".to_string();
            for byte in path.as_os_str().as_encoded_bytes() {
                match byte {
                    b'\'' | b'\\' => word.extend(['\\', char::from(*byte)]),
                    b' '..=b'~' => word.push(char::from(*byte)),
                    byte => {
                        let _ = write!(word, "\\x{byte:02x}");
                    }
                }
            }
            // A digit that follows is no part of it: two are read at most.
            word + "'"
        }
    }
}

/// For `#[serde(with)]`: a path as [`to_text`] writes it.
pub mod path {
    use super::{Path, PathBuf, from_text, to_text};
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the path as text.
    ///
    /// # Errors
    /// What the serializer refuses.
    pub fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&to_text(path))
    }

    /// Reads a path as [`from_text`] does.
    ///
    /// # Errors
    /// What is no text, and what the deserializer refuses.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Ok(from_text(&String::deserialize(from)?))
    }
}

/// The same for a path that may be missing.
pub mod path_option {
    use super::{PathBuf, from_text, to_text};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the path as text, or nothing for `None`.
    ///
    /// # Errors
    /// What the serializer refuses.
    pub fn serialize<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
        path.as_deref().map(to_text).serialize(to)
    }

    /// Reads a path as [`from_text`] does; `None` where there is none.
    ///
    /// # Errors
    /// What is no text, and what the deserializer refuses.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<String>::deserialize(from)?.as_deref().map(from_text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    fn bytes(bytes: &[u8]) -> PathBuf {
        from_bytes(bytes.to_vec()).unwrap()
    }

    #[test]
    #[cfg(unix)]
    fn any_bytes_come_back() {
        for name in [&b"a.tif"[..], b"\xff\xfe", b"file:x", b"a b\n%41\xc3\x28/\xf0\x9f", "für".as_bytes(), b"%FF"] {
            let text = to_text(&bytes(name));
            assert_eq!(from_text(&text), bytes(name), "{text}");
        }
        let all: Vec<u8> = (1..=255).collect();
        assert_eq!(from_text(&to_text(&bytes(&all))), bytes(&all));
        assert_eq!(to_text(Path::new("für/a b.tif")), "für/a b.tif");
        // What to_text never writes is a path as it stands.
        assert_eq!(from_text("file:%4"), Path::new("file:%4"));
    }

    #[test]
    #[cfg(unix)]
    fn a_terminal_obeys_nothing() {
        assert_eq!(shown(&bytes(b"a\x1b[31m\n\xffb")), "a\\u{1b}[31m\\n\\xffb");
        assert_eq!(line("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(lines("a\n\x07"), "a\n\\u{7}");
        assert!(matches!(line("für 5 m²"), Cow::Borrowed(_)));
        assert_eq!([1e300, 1e-300, 2.5].map(|x: f64| short(&x.to_string()).into_owned()), ["1e300", "1e-300", "2.5"]);
        let long = short(&"x".repeat(5000)).into_owned();
        assert!(long.chars().count() < 190 && long.ends_with("(5000 characters)"), "{long}");
    }

    /// The shell itself says what it reads.
    #[test]
    #[cfg(unix)]
    fn a_shell_reads_the_same_path() {
        for name in [
            &b"plain/a-b_c.tif"[..],
            b"two words",
            b"it's",
            b"$HOME `id` \"x\" \\ !",
            b"new\nline",
            b"\xff1\xfea\x1b[2J'\\",
            b"*?[a]{b}~#&;|<>()",
        ] {
            let line = format!("printf %s {}", quoted(&bytes(name)));
            let Ok(said) = std::process::Command::new("bash").arg("-c").arg(&line).output() else { return };
            assert_eq!(said.stdout, name, "{line}");
        }
    }
}
