//! Binary grids with a header beside them, as ESRI's programs write them: `.bil`, `.bip`, `.bsq` or `.flt` with `.hdr`.
//!
//! The header names the size, the type and order of the samples, and the position. Absent keys have the values that
//! GDAL assumes.

use std::collections::BTreeMap;

use super::text::{NumberReader, decode_text};
use super::{Raster, SampleType, Samples, check_size};
use thalweg_core::Georeference;
use thalweg_core::base::names;

/// The keys of a header, in lower case, with the words after them.
struct Header<'a>(BTreeMap<String, &'a str>);

impl<'a> Header<'a> {
    fn parse(text: &'a str) -> Self {
        let lines = text.split(['\n', '\r']).filter_map(|line| {
            let (key, value) = line.trim().split_once(|c: char| c.is_ascii_whitespace())?;
            Some((key.to_ascii_lowercase(), value.split_ascii_whitespace().next()?))
        });
        Self(lines.collect())
    }

    /// Returns the word of the first of these keys that is present.
    fn word(&self, keys: &[&str]) -> Option<&'a str> {
        keys.iter().find_map(|key| self.0.get(*key).copied())
    }

    /// Returns the number of the first of these keys that is present.
    fn number(&self, keys: &[&str]) -> Result<Option<f64>, String> {
        let Some(word) = self.word(keys) else { return Ok(None) };
        let number = NumberReader::default().parse(word).filter(|number| number.is_finite());
        let name = keys.first().copied().unwrap_or_default().to_ascii_uppercase();
        number
            .map(Some)
            .ok_or_else(|| format!("has {name} `{}` in its header; a number is required", names::format_short(word)))
    }

    /// Returns a whole number of 0 or more.
    fn count(&self, key: &str) -> Result<Option<u64>, String> {
        let whole = |number: f64| (number.fract() == 0.0 && (0.0..=1e15).contains(&number)).then_some(number as u64);
        match self.number(&[key])? {
            None => Ok(None),
            Some(number) => whole(number).map(Some).ok_or_else(|| {
                format!(
                    "has {} {number} in its header; a whole number of 0 or more is required",
                    key.to_ascii_uppercase()
                )
            }),
        }
    }

    /// Returns the first letter of a word in upper case.
    fn letter(&self, key: &str) -> Option<char> {
        self.word(&[key])?.chars().next().map(|letter| letter.to_ascii_uppercase())
    }

    /// Returns the transform; `None` if no position and no cell size is stated.
    fn transform(&self, rows: u64) -> Result<Option<[f64; 6]>, String> {
        let both = self.number(&["cellsize"])?;
        let width = self.number(&["xdim"])?.or(both);
        let height = self.number(&["ydim"])?.or(both);
        let west = self.number(&["ulxmap", "xllcenter", "xllcorner"])?;
        let north = self.number(&["ulymap"])?;
        let south = self.number(&["yllcenter", "yllcorner"])?;
        if [width, height, west, north, south].iter().all(Option::is_none) {
            return Ok(None);
        }
        let (width, height) = (width.unwrap_or(1.0), height.unwrap_or(1.0));
        if !(width > 0.0 && height > 0.0) {
            return Err(format!("has cells of {width} × {height} in its header; their sides must be above 0"));
        }
        let is_corner = self.word(&["ulxmap"]).is_none() && self.word(&["xllcorner"]).is_some();
        let shift = if is_corner { 0.0 } else { 0.5 };
        // ULXMAP and ULYMAP are the centre of the north-western cell, and without them GDAL places that at 0.5, 0.5.
        let west = west.unwrap_or(0.5) - shift * width;
        let north = match south {
            Some(south) => south - shift * height + rows as f64 * height,
            None => north.unwrap_or(0.5) + shift * height,
        };
        let transform = [west, width, 0.0, north, 0.0, -height];
        if transform.iter().any(|x| !x.is_finite()) {
            return Err("has a position in its header that is not finite".to_string());
        }
        Ok(Some(transform))
    }
}

/// Reads the first band of a grid from its bytes and those of its header.
pub(super) fn read_grid(bytes: &[u8], header: &[u8]) -> Result<Raster, String> {
    let text = decode_text(header).map_err(|problem| format!("has a header that {problem}"))?;
    if text.trim_start().starts_with("ENVI") {
        return Err("has a header of ENVI; convert it with `gdal_translate IN OUT.tif`".to_string());
    }
    let header = Header::parse(text);
    let (Some(rows), Some(cols)) = (header.count("nrows")?, header.count("ncols")?) else {
        return Err("has a header without NROWS and NCOLS".to_string());
    };
    let bands = header.count("nbands")?.unwrap_or(1).max(1);
    let skip = header.count("skipbytes")?.unwrap_or(0);
    let nodata = header.number(&["nodata", "nodata_value"])?;
    let kind = find_type(&header, [rows, cols, bands], bytes.len() as u64, nodata)?;
    let sample_bytes = kind.bytes() as u64;

    // The first band's samples: their distance in a row, and the distance of rows, both in samples.
    let layout = header.word(&["layout"]).unwrap_or("BIL").to_ascii_uppercase();
    let (step, line) = match layout.as_str() {
        "BIL" => (1, cols.saturating_mul(bands)),
        "BIP" => (bands, cols.saturating_mul(bands)),
        "BSQ" => (1, cols),
        _ => {
            let layout = names::format_short(&layout);
            return Err(format!("has LAYOUT `{layout}` in its header; it must be BIL, BIP or BSQ"));
        }
    };
    let expected = line.saturating_mul(sample_bytes);
    for (key, expected) in [("totalrowbytes", expected), ("bandgapbytes", 0)] {
        if header.count(key)?.is_some_and(|found| found != expected && !(found == 0 && key == "totalrowbytes")) {
            return Err(format!(
                "has {} = {} in its header; only rows without padding are read, which have {expected}",
                key.to_ascii_uppercase(),
                header.word(&[key]).map(names::format_short).unwrap_or_default()
            ));
        }
    }
    let data = usize::try_from(skip).ok().and_then(|skip| bytes.get(skip..)).unwrap_or_default();
    let cells = check_size([rows, cols], sample_bytes, data.len(), 1)?;
    let size = [rows as usize, cols as usize];
    // The last sample of the first band must be inside the file.
    let last = (rows - 1).saturating_mul(line).saturating_add((cols - 1).saturating_mul(step));
    if last.saturating_add(1).saturating_mul(sample_bytes) > data.len() as u64 {
        return Err(format!(
            "is truncated: {cols} × {rows} samples of {bands} bands do not fit in {} bytes",
            bytes.len()
        ));
    }
    let is_little = match header.letter("byteorder") {
        Some('I' | 'L') => true,
        Some('M' | 'B') | None => false,
        Some(other) => {
            return Err(format!(
                "has BYTEORDER `{other}` in its header; it must be I (little-endian) or M (big-endian)"
            ));
        }
    };
    let samples = if step == 1 && line == cols {
        Samples::from_bytes(kind, &data[..cells * kind.bytes()], !is_little)
    } else {
        let width = kind.bytes();
        let mut band = Vec::with_capacity(cells * width);
        for row in 0..size[0] {
            for col in 0..size[1] {
                let at = (row * line as usize + col * step as usize) * width;
                band.extend_from_slice(&data[at..at + width]);
            }
        }
        Samples::from_bytes(kind, &band, !is_little)
    };
    // Unsigned samples of 8 and 16 bits would be taken for codes, but those of these grids are values.
    let samples = match samples {
        Samples::U8(samples) => Samples::I16(samples.into_iter().map(i16::from).collect()),
        Samples::U16(samples) => Samples::I32(samples.into_iter().map(i32::from).collect()),
        other => other,
    };
    let mut raster = Raster::new(size, samples);
    raster.nodata = nodata;
    raster.georeference =
        header.transform(rows)?.map(|t| Georeference { transform: Some(t), ..Georeference::default() });
    if bands > 1 {
        raster.warnings.push(format!("has {bands} bands; the first is read"));
    }
    Ok(raster)
}

/// Returns the type of the samples. Without a number of bits, the size of the file decides.
fn find_type(
    header: &Header<'_>,
    [rows, cols, bands]: [u64; 3],
    bytes: u64,
    nodata: Option<f64>,
) -> Result<SampleType, String> {
    let pixel = header.letter("pixeltype");
    let cells = rows.saturating_mul(cols).saturating_mul(bands).max(1);
    let (bits, pixel) = match (header.count("nbits")?, pixel) {
        (Some(bits), pixel) => (bits, pixel),
        (None, pixel) => match bytes / cells {
            4 => (32, pixel.or(Some('F'))),
            8 => (64, pixel.or(Some('F'))),
            2 => (16, pixel),
            _ => (8, pixel),
        },
    };
    // Headers of old models do not state that their samples are signed, but declare a negative value for no data.
    let is_signed = pixel == Some('S') || (pixel.is_none() && nodata.is_some_and(|nodata| nodata < 0.0));
    Ok(match (bits, pixel) {
        (32, Some('F')) => SampleType::F32,
        (64, Some('F')) => SampleType::F64,
        (8, _) if !is_signed => SampleType::U8,
        (16, _) => {
            if is_signed {
                SampleType::I16
            } else {
                SampleType::U16
            }
        }
        (32, _) => {
            if is_signed {
                SampleType::I32
            } else {
                SampleType::U32
            }
        }
        _ => {
            let pixel = header.word(&["pixeltype"]).map(names::format_short).unwrap_or_default();
            return Err(format!(
                "has samples of {bits} bits (PIXELTYPE {pixel}) in its header; integers of 8 unsigned, 16 or 32 bits \
                 and floats of 32 or 64 bits are read"
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_of_each_layout_by_hand() {
        let head = |layout: &str, more: &str| {
            format!(
                "NROWS 2\nNCOLS 2\r\nNBANDS 2\nNBITS 16\nPIXELTYPE SIGNEDINT\nBYTEORDER I\nLAYOUT {layout}\n\
                 ULXMAP 105\nULYMAP 215\nXDIM 10\nYDIM 10\nNODATA -9999\n{more}"
            )
        };
        for (layout, order) in
            [("BIL", [1, 2, 0, 0, 3, 4, 0, 0]), ("bip", [1, 0, 2, 0, 3, 0, 4, 0]), ("BSQ", [1, 2, 3, 4, 0, 0, 0, 0])]
        {
            let bytes: Vec<u8> = order.into_iter().flat_map(i16::to_le_bytes).collect();
            let raster = read_grid(&bytes, head(layout, "").as_bytes()).unwrap();
            assert_eq!(raster.samples, Samples::I16(vec![1, 2, 3, 4]), "{layout}");
            assert_eq!((raster.nodata, raster.warnings.len()), (Some(-9999.0), 1));
            assert_eq!(raster.georeference.unwrap().transform, Some([100.0, 10.0, 0.0, 220.0, 0.0, -10.0]));
            for length in 0..bytes.len() {
                let _ = read_grid(&bytes[..length], head(layout, "").as_bytes());
            }
            for bad in [
                "NROWS -1",
                "NROWS 1e9",
                "LAYOUT X",
                "BYTEORDER Q",
                "NBITS 7",
                "SKIPBYTES 99",
                "XDIM 0",
                "XDIM x",
                "TOTALROWBYTES 9",
                "NCOLS 1e14",
            ] {
                assert!(read_grid(&bytes, head(layout, bad).as_bytes()).is_err(), "{bad}");
            }
        }
    }

    #[test]
    fn what_the_header_leaves_out() {
        let bytes: Vec<u8> = [1.5f32, -2.0].into_iter().flat_map(f32::to_le_bytes).collect();
        let raster =
            read_grid(&bytes, b"ncols 2\nnrows 1\nxllcorner 100\nyllcorner 200\ncellsize 5\nbyteorder LSBFIRST\n")
                .unwrap();
        assert_eq!(raster.samples, Samples::F32(vec![1.5, -2.0]));
        assert_eq!(raster.georeference.unwrap().transform, Some([100.0, 5.0, 0.0, 205.0, 0.0, -5.0]));
        // Big-endian 16-bit samples are signed if the value for no data is negative.
        let raster = read_grid(&[0xd8, 0xf1, 0, 3], b"NROWS 1\nNCOLS 2\nNBITS 16\nNODATA -9999\n").unwrap();
        assert_eq!(raster.samples, Samples::I16(vec![-9999, 3]));
        assert!(read_grid(&bytes, b"ENVI\nsamples = 2\n").unwrap_err().contains("ENVI"));
        assert!(read_grid(&bytes, b"").unwrap_err().contains("NROWS"));
    }
}
