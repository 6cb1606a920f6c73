//! Paths as text: lossless where a program reads them again, free of control characters where a person reads them.
//!
//! A path need not be valid text: on Unix it is a sequence of bytes. In recipes, checkpoints and reports a path that is
//! not UTF-8 is written as `file:` followed by its bytes; bytes that are no plain letters become `%` and two
//! hexadecimal digits. In messages, characters that would move the cursor, reverse the direction of the text or change
//! its colour are written as `\u{1b}` and so on.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The prefix of a path that is written byte by byte.
const BYTES: &str = "file:";

/// The greatest number of characters of a value that a message shows.
const MAX_SHOWN_CHARS: usize = 160;

/// The greatest number of characters of a number that is written out in full.
const DIGITS: usize = 24;

/// Converts a path to text that [`from_text`] reads back, on Unix for any bytes. UTF-8 that does not begin with `file:`
/// stays as it is.
pub fn to_text(path: &Path) -> String {
    match path.to_str() {
        Some(text) if !text.starts_with(BYTES) => text.to_string(),
        _ => {
            let mut text = BYTES.to_string();
            for byte in path.as_os_str().as_encoded_bytes() {
                // The per cent sign is not among the plain characters, so decoding is unambiguous.
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

/// Returns the path that [`to_text`] wrote. Text that does not begin with `file:`, or is not well formed after it, is
/// taken as the path itself.
pub fn from_text(text: &str) -> PathBuf {
    text.strip_prefix(BYTES).and_then(decode_path).unwrap_or_else(|| text.into())
}

/// Decodes the text after `file:` to a path; `None` if it is not well formed.
fn decode_path(text: &str) -> Option<PathBuf> {
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

/// On other systems a path is not a sequence of bytes: a path that is not UTF-8 cannot be restored.
#[cfg(not(unix))]
fn from_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

/// Formats a path for display: on one line, without characters that control a terminal.
pub fn format_path(path: &Path) -> String {
    let mut out = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        out.push_str(&format_line(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// Formats a value for display: on one line, without characters that control a terminal. The value is not shortened;
/// see [`format_short`].
pub fn format_line(text: &str) -> Cow<'_, str> {
    escape_control_chars(text, |c| c == '\n' || c == '\t')
}

/// Formats text of several lines for display: line breaks and tabs stay, other characters that control a terminal are
/// escaped.
pub fn format_lines(text: &str) -> Cow<'_, str> {
    escape_control_chars(text, |_| false)
}

/// Formats a value as [`format_line()`] does and cuts it after 160 characters; a number of more than 24 characters is
/// written with an exponent.
pub fn format_short(text: &str) -> Cow<'_, str> {
    let line = format_line(text);
    if let (true, Ok(number)) = (line.len() > DIGITS, line.parse::<f64>()) {
        return Cow::Owned(format!("{number:e}"));
    }
    match line.char_indices().nth(MAX_SHOWN_CHARS) {
        None => line,
        // The cut is at a character's first byte, so no character is split.
        Some((end, _)) => Cow::Owned(format!("{}… ({} characters)", &line[..end], text.chars().count())),
    }
}

/// Returns a name in code as a title: the words begin with a capital letter and have spaces between them.
///
/// # Examples
/// ```
/// use thalweg_core::base::names::title_from_name;
///
/// assert_eq!(title_from_name("lake_depth"), "Lake depth");
/// ```
pub fn title_from_name(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Returns a count with its noun, which takes an `s` in the plural.
///
/// # Examples
/// ```
/// use thalweg_core::base::names::format_count;
///
/// assert_eq!([0, 1, 2].map(|count| format_count(count, "tile")), ["0 tiles", "1 tile", "2 tiles"]);
/// ```
pub fn format_count<N: std::fmt::Display>(count: N, noun: &str) -> String {
    let count = count.to_string();
    let ending = if count == "1" { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

fn escape_control_chars(text: &str, also: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_bad = |c: char| also(c) || (c.is_control() && c != '\n' && c != '\t') || is_bidi_or_line_break(c);
    if !text.contains(is_bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_bad(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Returns true for characters that reverse a line's direction or break it, although they are no control characters.
fn is_bidi_or_line_break(c: char) -> bool {
    // These are the marks of direction, the line and paragraph separators, embeddings, overrides and isolates, and the
    // byte-order mark.
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Quotes a path as one word of a shell command.
///
/// A path of plain characters stays as it is. On Windows, any other path is put in double quotes. Elsewhere it is put
/// in single quotes; if it has bytes that are not text or that control a terminal, it is written as `$'…'`, which bash
/// and zsh read.
pub fn quote_for_shell(path: &Path) -> String {
    let text = path.to_str();
    let plain = |c: char| c.is_alphanumeric() || "/._-:+=@%,".contains(c) || (cfg!(windows) && c == '\\');
    match text {
        Some(text) if !text.is_empty() && text.chars().all(plain) => text.to_string(),
        Some(text) if cfg!(windows) => format!("\"{text}\""),
        Some(text) if format_line(text) == text => format!("'{}'", text.replace('\'', r"'\''")),
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
            // A digit that follows is not part of the escape: `\x` reads two digits at most.
            word + "'"
        }
    }
}

/// For `#[serde(with)]`: a path as written by [`to_text`].
pub mod path {
    use super::{Path, PathBuf, from_text, to_text};
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the path as text.
    ///
    /// # Errors
    /// Returns an error of the serializer.
    pub fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&to_text(path))
    }

    /// Reads a path as [`from_text`] does.
    ///
    /// # Errors
    /// Returns an error if the value is not text, or an error of the deserializer.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Ok(from_text(&String::deserialize(from)?))
    }
}

/// For `#[serde(with)]`: an optional path as written by [`to_text`].
pub mod path_option {
    use super::{PathBuf, from_text, to_text};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the path as text, or nothing for `None`.
    ///
    /// # Errors
    /// Returns an error of the serializer.
    pub fn serialize<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
        path.as_deref().map(to_text).serialize(to)
    }

    /// Reads a path as [`from_text`] does; `None` where there is none.
    ///
    /// # Errors
    /// Returns an error if the value is not text, or an error of the deserializer.
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
        // Text that `to_text` never writes is taken as the path itself.
        assert_eq!(from_text("file:%4"), Path::new("file:%4"));
    }

    #[test]
    #[cfg(unix)]
    fn a_terminal_obeys_nothing() {
        assert_eq!(format_path(&bytes(b"a\x1b[31m\n\xffb")), "a\\u{1b}[31m\\n\\xffb");
        assert_eq!(format_line("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(format_lines("a\n\x07"), "a\n\\u{7}");
        assert!(matches!(format_line("für 5 m²"), Cow::Borrowed(_)));
        assert_eq!(
            [1e300, 1e-300, 2.5].map(|x: f64| format_short(&x.to_string()).into_owned()),
            ["1e300", "1e-300", "2.5"]
        );
        let long = format_short(&"x".repeat(5000)).into_owned();
        assert!(long.chars().count() < 190 && long.ends_with("(5000 characters)"), "{long}");
    }

    /// bash itself parses the quoted path.
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
            let line = format!("printf %s {}", quote_for_shell(&bytes(name)));
            let Ok(said) = std::process::Command::new("bash").arg("-c").arg(&line).output() else { return };
            assert_eq!(said.stdout, name, "{line}");
        }
    }
}
