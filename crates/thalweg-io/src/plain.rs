//! Plain files, opened without waiting and read up to a limit.
//!
//! A pipe would keep a reader waiting for ever, a device has no end, and some devices act when they are opened. So what a path
//! names is looked at before it is opened, opened so that nothing waits, and looked at again.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::Path;

use crate::store::FilePath;
use thalweg_core::base::memory;
use thalweg_core::{Error, Result};

/// Opens a plain file; returns it with its length in bytes.
///
/// # Errors
/// A file that is not there or may not be read; a folder, a pipe, a socket, a device.
pub fn open(path: &Path) -> Result<(File, u64)> {
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

/// The bytes of a plain file, or of one in memory.
///
/// # Errors
/// As [`open`]; a file of more than `most` bytes, or of more than there is memory for.
pub fn read(path: impl Into<FilePath>, most: u64) -> Result<Vec<u8>> {
    let path = &path.into();
    let too_long = |length: u64| Error::file(path, format!("has {length} bytes; at most {most} are read"));
    if let Some(files) = path.memory() {
        let bytes = files.get(path).ok_or_else(|| Error::io(path, "read")(ErrorKind::NotFound.into()))?;
        return if bytes.len() as u64 > most { Err(too_long(bytes.len() as u64)) } else { Ok(bytes.to_vec()) };
    }
    let (file, length) = open(path)?;
    if length > most {
        return Err(too_long(length));
    }
    memory::check_memory(&path.display().to_string(), length)?;
    let mut bytes = Vec::new();
    let size = usize::try_from(length).unwrap_or(usize::MAX);
    if bytes.try_reserve_exact(size).is_err() {
        return Err(Error::file(path, format!("has {length} bytes, for which there is no memory")));
    }
    // Some files say that they are empty and are not; and one may grow while it is read.
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(Error::io(path, "read"))?;
    if bytes.len() as u64 > most {
        return Err(too_long(bytes.len() as u64));
    }
    Ok(bytes)
}

/// The text of a plain file in UTF-8.
///
/// # Errors
/// As [`read`]; bytes that are no UTF-8.
pub fn read_text(path: impl Into<FilePath>, most: u64) -> Result<String> {
    let path = &path.into();
    String::from_utf8(read(path, most)?).map_err(|_| Error::file(path, "is no text in UTF-8"))
}

/// The bytes of a plain file; `None` where there is no file.
///
/// # Errors
/// As [`read`], but for a file that is not there.
pub fn read_if_there(path: impl Into<FilePath>, most: u64) -> Result<Option<Vec<u8>>> {
    match read(path, most) {
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// The first 300 characters of a text that may quote a whole file, with `…` where there are more.
pub fn clipped(text: &str) -> String {
    clipped_to(text, 300)
}

/// The first `most` characters of a text that may quote a whole file, with `…` where there are more.
pub fn clipped_to(text: &str, most: usize) -> String {
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
        return Err(Error::file(path, "is a folder; a file is needed"));
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
            return Err(Error::file(path, format!("is {what}, not a plain file; copy what it gives into a file")));
        }
    }
    Err(Error::file(path, "is not a plain file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_hold_to_the_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, [7; 100]).unwrap();
        assert_eq!(read(&path, 100).unwrap(), [7; 100]);
        let message = read(&path, 99).unwrap_err().to_string();
        assert!(message.contains("has 100 bytes; at most 99"), "{message}");
        assert!(read(folder.path(), 99).unwrap_err().to_string().contains("folder"));
        assert!(read_if_there(folder.path().join("b"), 1).unwrap().is_none());
        fs::write(&path, [0xff]).unwrap();
        assert!(read_text(&path, 9).unwrap_err().to_string().contains("UTF-8"));
        // A file as long as no memory is, which takes no room on the disk.
        File::create(&path).unwrap().set_len(1 << 42).unwrap();
        assert!(read(&path, u64::MAX).unwrap_err().to_string().contains("4398046511104 bytes"));
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
            let message = read(Path::new(path), 10).unwrap_err().to_string();
            assert!(message.contains(word) && message.contains("not a plain file"), "{message}");
        }
        // Says that it is empty, and is not.
        if Path::new("/proc/self/maps").exists() {
            assert!(read(Path::new("/proc/self/maps"), 10).unwrap_err().to_string().contains("at most 10"));
        }
    }
}
