//! Files as a ZIP archive, for programs that can hand over only a single file, for example a web page.

use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use thalweg_core::base::memory;
use thalweg_core::{Error, Result};

/// The extensions of files that are compressed already and are stored as they are.
const PACKED: [&str; 4] = ["png", "tif", "exr", "fgb"];

/// Returns the files as a ZIP archive, in this order, with their paths from its root. The same files make the same
/// bytes: no times are written.
///
/// # Errors
/// Returns an error if a path leads out of the archive or occurs twice, or if the archive does not fit into memory.
pub fn zip_files(files: &[(PathBuf, Arc<[u8]>)]) -> Result<Vec<u8>> {
    let bytes = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    memory::check_memory("an archive", bytes)?;
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, bytes) in files {
        let name = archive_name(path)
            .ok_or_else(|| Error::invalid_file(path, "leads out of the archive; use a relative path without .."))?;
        let is_packed = path.extension().is_some_and(|ending| PACKED.iter().any(|packed| ending == *packed));
        let method = if is_packed { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        let options = SimpleFileOptions::default().compression_method(method);
        archive.start_file(name, options).map_err(|error| Error::invalid_file(path, error.to_string()))?;
        archive.write_all(bytes).map_err(Error::io(path, "write"))?;
    }
    let done = archive.finish().map_err(|error| Error::invalid_file("archive", error.to_string()))?;
    Ok(done.into_inner())
}

/// Joins a path's parts as archives do; `None` if the path has parts other than names.
fn archive_name(path: &Path) -> Option<String> {
    use std::path::Component;
    let part = |part: Component<'_>| match part {
        Component::Normal(name) => name.to_str().map(String::from),
        _ => None,
    };
    let parts: Vec<String> = path.components().map(part).collect::<Option<_>>()?;
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn file(path: &str, bytes: &[u8]) -> (PathBuf, Arc<[u8]>) {
        (path.into(), bytes.into())
    }

    #[test]
    fn an_archive_holds_what_was_put_in_and_is_the_same_twice() {
        let noise: Vec<u8> = (0..5000_u32).map(|k| (k.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let files = [
            file("a/height.raw", &[7; 4000]),
            file("a/map.png", &noise),
            file("empty.txt", b""),
            file("bär.txt", b"x"),
        ];
        let archive = zip_files(&files).unwrap();
        assert!(archive.len() < noise.len() + 1500, "{}", archive.len());
        assert!(archive == zip_files(&files).unwrap());
        let mut read = zip::ZipArchive::new(Cursor::new(archive)).unwrap();
        assert_eq!(read.len(), files.len());
        for (k, (path, bytes)) in files.iter().enumerate() {
            let mut found = read.by_index(k).unwrap();
            assert_eq!(Path::new(&*found.name().unwrap()), path);
            let mut all = Vec::new();
            found.read_to_end(&mut all).unwrap();
            assert!(all == **bytes, "{}", path.display());
        }
    }

    #[test]
    fn no_path_leads_out_and_none_comes_twice() {
        for path in ["../a", "/a", ""] {
            assert!(zip_files(&[file(path, b"x")]).is_err(), "{path}");
        }
        assert!(zip_files(&[file("a", b"x"), file("a", b"y")]).is_err());
    }
}
