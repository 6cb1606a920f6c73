//! Formats of other programs that are not read, recognised so that the message can state how to convert them.

use std::path::Path;

use thalweg_core::base::names::quote_for_shell;

/// Formats that GDAL reads: their names, the extensions of their files in lower case, and the first bytes of these.
const FORMATS: [(&str, &[&str], &[&[u8]]); 16] = [
    ("NetCDF", &["nc", "nc4", "cdf"], &[b"CDF\x01", b"CDF\x02", b"CDF\x05"]),
    ("HDF5 or NetCDF", &["h5", "hdf5", "he5"], &[b"\x89HDF\r\n\x1a\n"]),
    ("HDF4", &["hdf", "hdf4"], &[b"\x0e\x03\x13\x01"]),
    ("GRIB", &["grib", "grb", "grib2", "grb2"], &[b"GRIB"]),
    ("ERDAS Imagine", &["img"], &[b"EHFA_HEADER_TAG"]),
    ("GeoPackage", &["gpkg"], &[b"SQLite format 3\0"]),
    ("MBTiles", &["mbtiles"], &[]),
    ("USGS DEM", &["dem"], &[]),
    ("JPEG 2000", &["jp2", "j2k"], &[b"\0\0\0\x0cjP  "]),
    ("Surfer or GMT grid", &["grd"], &[b"DSAA", b"DSBB", b"DSRB"]),
    ("Terragen", &["ter", "terrain"], &[b"TERRAGEN"]),
    ("ArcInfo binary grid", &["adf"], &[]),
    ("SAGA grid", &["sdat", "sgrd"], &[]),
    ("Idrisi", &["rst"], &[]),
    ("VTP binary terrain", &["bt"], &[b"binterr1."]),
    ("MrSID or ECW", &["sid", "ecw"], &[]),
];

/// Archives, which have to be unpacked.
const ARCHIVES: [&str; 8] = ["zip", "gz", "tgz", "tar", "7z", "bz2", "xz", "rar"];

/// Returns the problem with a file of a format that is not read, if its extension is that of one.
pub(super) fn refuse_extension(path: &Path) -> Option<String> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    if ARCHIVES.contains(&ending.as_str()) {
        return Some("is an archive; extract the elevation model from it (only .hgt.zip and .hgt.gz are read)".into());
    }
    if ending == "hdr" {
        return Some("is the header of another file; give that file, such as .bil or .flt".into());
    }
    if ending == "npz" {
        return Some(format!(
            "is an archive of NumPy arrays; save one of them with `python -c \"import numpy; a = numpy.load('{}'); \
             numpy.save('{}', a[a.files[0]])\"`",
            path.display(),
            path.with_extension("npy").display()
        ));
    }
    let (name, ..) = FORMATS.iter().find(|(_, endings, _)| endings.contains(&ending.as_str()))?;
    Some(advise_conversion(name, Some(path)))
}

/// Returns the problem with bytes of a format that is not read, if they begin as those of one; `path` is the file, if
/// there is one.
pub(super) fn refuse_content(bytes: &[u8], path: Option<&Path>) -> Option<String> {
    let (name, ..) = FORMATS.iter().find(|(_, _, starts)| starts.iter().any(|start| bytes.starts_with(start)))?;
    Some(advise_conversion(name, path))
}

fn advise_conversion(name: &str, path: Option<&Path>) -> String {
    let [from, to] = match path {
        Some(path) if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("tif")) => {
            [quote_for_shell(path), "OUT.tif".to_string()]
        }
        Some(path) => [quote_for_shell(path), quote_for_shell(&path.with_extension("tif"))],
        None => ["IN".to_string(), "OUT.tif".to_string()],
    };
    format!("is {name}, which is not read; convert it with `gdal_translate {from} {to}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_has_the_name_of_the_file() {
        let problem = |path: &str| refuse_extension(Path::new(path)).unwrap_or_default();
        assert!(
            problem("a b/dem.NC").contains("`gdal_translate 'a b/dem.NC' 'a b/dem.tif'`"),
            "{}",
            problem("a b/dem.NC")
        );
        assert!(problem("x.gpkg").contains("is GeoPackage") && problem("x.zip").contains("archive"));
        assert!(problem("x.npz").contains("numpy.save('x.npy'"), "{}", problem("x.npz"));
        for path in ["x", "x.tif", "x.foo"] {
            assert_eq!(problem(path), "", "{path}");
        }
        let content = refuse_content(b"\x89HDF\r\n\x1a\n rest", Some(Path::new("a.tif"))).unwrap();
        assert!(content.contains("`gdal_translate a.tif OUT.tif`"), "{content}");
        assert_eq!(refuse_content(b"II*\0", None), None);
    }

    #[test]
    fn each_ending_is_listed_once() {
        let mut endings: Vec<&str> = FORMATS.iter().flat_map(|(_, endings, _)| endings.iter().copied()).collect();
        endings.extend(ARCHIVES);
        endings.sort_unstable();
        assert!(endings.windows(2).all(|pair| pair[0] < pair[1]), "{endings:?}");
        assert!(endings.iter().all(|ending| !crate::Format::EXTENSIONS.iter().any(|(known, _)| known == ending)));
    }
}
