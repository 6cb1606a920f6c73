//! Plain files: opened without blocking and read up to a limit.
//!
//! Reading a pipe could block forever, a device has no end, and some devices act when they are opened. Therefore the
//! type of a path is checked before it is opened, it is opened in non-blocking mode, and its type is checked again.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::Path;

use crate::store::FilePath;
use thalweg_core::base::memory;
use thalweg_core::{Error, Result};

/// Opens a plain file; returns it with its length in bytes.
///
/// # Errors
/// Returns an error if the file does not exist or may not be read, or if it is a folder, a pipe, a socket or a device.
pub fn open_plain_file(path: &Path) -> Result<(File, u64)> {
    is_plain(path, fs::metadata(path).map_err(Error::io(path, "read"))?.file_type())?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path).map_err(Error::io(path, "read"))?;
    let about = file.metadata().map_err(Error::io(path, "read"))?;
    is_plain(path, about.file_type())?;
    Ok((file, about.len()))
}

/// Reads the bytes of a plain file or of a file in memory.
///
/// # Errors
/// Returns the errors of [`open_plain_file`]; an error if the file has more than `most` bytes or does not fit into
/// memory.
pub fn read_plain_file(path: impl Into<FilePath>, most: u64) -> Result<Vec<u8>> {
    let path = &path.into();
    let too_long = |length: u64| Error::invalid_file(path, format!("has {length} bytes; at most {most} are allowed"));
    if let Some(files) = path.memory_store() {
        let bytes = files.get(path).ok_or_else(|| Error::io(path, "read")(ErrorKind::NotFound.into()))?;
        return if bytes.len() as u64 > most { Err(too_long(bytes.len() as u64)) } else { Ok(bytes.to_vec()) };
    }
    let (file, length) = open_plain_file(path)?;
    if length > most {
        return Err(too_long(length));
    }
    memory::check_memory(&path.display().to_string(), length)?;
    let mut bytes = Vec::new();
    let size = usize::try_from(length).unwrap_or(usize::MAX);
    if bytes.try_reserve_exact(size).is_err() {
        return Err(Error::invalid_file(path, format!("has {length} bytes, which do not fit in memory")));
    }
    // Some files report a length of 0 and are not empty (for example in /proc), and a file may grow while it is read.
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(Error::io(path, "read"))?;
    if bytes.len() as u64 > most {
        return Err(too_long(bytes.len() as u64));
    }
    Ok(bytes)
}

/// Reads the text of a plain file in UTF-8.
///
/// # Errors
/// Returns the errors of [`read_plain_file`]; an error if the bytes are not UTF-8.
pub fn read_text(path: impl Into<FilePath>, most: u64) -> Result<String> {
    let path = &path.into();
    String::from_utf8(read_plain_file(path, most)?).map_err(|_| Error::invalid_file(path, "is not UTF-8 text"))
}

/// Reads the bytes of a plain file; `None` if there is no file.
///
/// # Errors
/// Returns the errors of [`read_plain_file`], except for a missing file.
pub fn read_if_exists(path: impl Into<FilePath>, most: u64) -> Result<Option<Vec<u8>>> {
    match read_plain_file(path, most) {
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Returns the first 300 characters of a text that may quote a whole file, followed by `…` if there are more.
pub fn clip_text(text: &str) -> String {
    clip_text_to(text, 300)
}

/// Returns the first `most` characters of a text that may quote a whole file, followed by `…` if there are more.
pub fn clip_text_to(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

fn is_plain(path: &Path, kind: FileType) -> Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(Error::invalid_file(path, "is a folder; a file is required"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kinds = [
            (kind.is_fifo(), "a pipe"),
            (kind.is_socket(), "a socket"),
            (kind.is_char_device(), "a device"),
            (kind.is_block_device(), "a device"),
        ];
        if let Some((_, what)) = kinds.iter().find(|(is, _)| *is) {
            return Err(Error::invalid_file(
                path,
                format!("is {what}, not a regular file; copy its content into a file"),
            ));
        }
    }
    Err(Error::invalid_file(path, "is not a regular file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_hold_to_the_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, [7; 100]).unwrap();
        assert_eq!(read_plain_file(&path, 100).unwrap(), [7; 100]);
        let message = read_plain_file(&path, 99).unwrap_err().to_string();
        assert!(message.contains("has 100 bytes; at most 99"), "{message}");
        assert!(read_plain_file(folder.path(), 99).unwrap_err().to_string().contains("folder"));
        assert!(read_if_exists(folder.path().join("b"), 1).unwrap().is_none());
        fs::write(&path, [0xff]).unwrap();
        assert!(read_text(&path, 9).unwrap_err().to_string().contains("UTF-8"));
        // A file larger than any memory, which is sparse and takes no space on the disk.
        File::create(&path).unwrap().set_len(1 << 42).unwrap();
        assert!(read_plain_file(&path, u64::MAX).unwrap_err().to_string().contains("4398046511104 bytes"));
    }

    #[test]
    #[cfg(unix)]
    fn nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for (path, word) in
            [("/dev/zero", "a device"), ("/dev/null", "a device"), (socket.to_str().unwrap(), "a socket")]
        {
            let message = read_plain_file(Path::new(path), 10).unwrap_err().to_string();
            assert!(message.contains(word) && message.contains("not a regular file"), "{message}");
        }
        // A file that reports a length of 0 and is not empty.
        if Path::new("/proc/self/maps").exists() {
            assert!(read_plain_file(Path::new("/proc/self/maps"), 10).unwrap_err().to_string().contains("at most 10"));
        }
    }
}
