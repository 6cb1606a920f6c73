//! Files next to a raster that describe it, as other programs write them: GDAL's `.aux.xml`, world files, and `.prj`.
//!
//! As in GDAL, what the `.aux.xml` states replaces what the raster itself states, and a world file counts only where
//! neither states a position. A `.prj` file counts only where no other file states a coordinate system.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use roxmltree::{Document, Node};

use super::facts::FactSource;
use super::raster::parse_scaling;
use super::world_file::parse_world_file;
use super::{FilePath, Format, Raster, geokeys, keywords, mask_path, plain, wkt};
use thalweg_core::base::names;
use thalweg_core::terrain::grid::PixelIs;
use thalweg_core::{Error, Georeference, Result};

/// The greatest size of an `.aux.xml` file, which may contain histograms and tables.
const MAX_XML_BYTES: u64 = 64 << 20;

/// The greatest size of a world file or a `.prj` file.
const MAX_TEXT_BYTES: u64 = 1 << 20;

/// The description of a raster in the files next to it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct SideFiles {
    auxiliary: Auxiliary,
    /// The transform of the world file.
    world: Option<[f64; 6]>,
    /// The coordinate system of the `.prj` file, without a transform.
    projection: Option<Georeference>,
    warnings: Vec<String>,
    /// The files that were read: the `.aux.xml`, the world file, and the `.prj`.
    paths: [PathBuf; 3],
}

/// The content of an `.aux.xml` file, as far as it is used: what it states about the raster and its first band.
#[derive(Debug, Default, PartialEq)]
struct Auxiliary {
    /// The coordinate system, without a transform.
    crs: Option<Georeference>,
    transform: Option<[f64; 6]>,
    pixel: Option<PixelIs>,
    nodata: Option<f64>,
    scale: Option<f64>,
    offset: Option<f64>,
    unit: Option<String>,
}

impl SideFiles {
    /// Reads the files next to a raster. Rasters that describe themselves completely (HGT, DTED, VRT) have none.
    ///
    /// # Errors
    /// Returns an error that names the file if one of them cannot be read or is broken.
    pub(super) fn read_for(path: impl Into<FilePath>) -> Result<Self> {
        let path = &path.into();
        let mut found = Self::default();
        if !has_side_files(path) {
            return Ok(found);
        }
        let auxiliary = path.with_suffix(AUXILIARY);
        if let Some(bytes) = plain::read_if_exists(&auxiliary, MAX_XML_BYTES)? {
            let refuse = |problem: String| Error::invalid_file(&*auxiliary, problem);
            let text = String::from_utf8(bytes).map_err(|_| refuse("is not UTF-8 text".to_string()))?;
            found.auxiliary = Auxiliary::parse(&text).map_err(refuse)?;
            found.paths[0] = auxiliary.to_path_buf();
        }
        if let Some((file, text)) = read_first_text(path, &world_extensions(path))? {
            found.paths[1] = file.to_path_buf();
            found.world = Some(parse_world_file(&text).map_err(|problem| Error::invalid_file(&*file, problem))?);
        }
        // The readers of text and binary grids read their `.prj` themselves.
        let is_read_elsewhere = matches!(Format::from_path(&**path)?, Format::Ascii | Format::Xyz | Format::Bil);
        let projection = if is_read_elsewhere { None } else { read_first_text(path, &PROJECTION.map(OsString::from))? };
        if let Some((file, text)) = projection {
            found.paths[2] = file.to_path_buf();
            // Old programs of Esri wrote keywords instead of WKT.
            let is_wkt = text.contains(['[', '(']) || text.trim().is_empty();
            found.projection = keywords::parse_keywords(&text).filter(|_| !is_wkt);
            if is_wkt {
                let crs = wkt::georeference_from_wkt(&text);
                found.projection = crs.map_err(|problem| Error::invalid_file(&*file, problem))?;
            } else if found.projection.is_none() {
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                found.warnings.push(format!(
                    "has the coordinate system of {name}, which is not WKT and is ignored; replace it, for example \
                     with `gdalsrsinfo -o wkt1 EPSG:CODE`"
                ));
            }
        }
        Ok(found)
    }

    /// Returns the value for no data that replaces that of the raster.
    pub(super) fn nodata(&self) -> Option<f64> {
        self.auxiliary.nodata
    }

    /// Completes and replaces the metadata of a raster.
    pub(super) fn apply_to(&self, raster: &mut Raster) {
        if *self == Self::default() {
            return;
        }
        let Auxiliary { crs, transform, pixel, nodata, scale, offset, unit } = &self.auxiliary;
        raster.nodata = nodata.or(raster.nodata);
        raster.scale = [scale.unwrap_or(raster.scale[0]), offset.unwrap_or(raster.scale[1])];
        raster.unit = unit.clone().or(raster.unit.take());
        raster.scaled |= scale.is_some() || offset.is_some() || unit.is_some();
        raster.warnings.extend(self.warnings.iter().cloned());
        let own = raster.georeference.take().unwrap_or_default();
        let [auxiliary, world, projected] = &self.paths;
        let mut note = |name, path: &Path| raster.facts.record_source(name, FactSource::Sidecar(path.to_path_buf()));
        let system = match (crs, &self.projection) {
            (Some(crs), _) => {
                note("crs", auxiliary);
                crs
            }
            (None, Some(projection)) if !geokeys::has_crs(&own) => {
                note("crs", projected);
                projection
            }
            _ => &own,
        };
        let stated = [
            ("nodata", nodata.is_some()),
            ("scale", scale.is_some()),
            ("offset", offset.is_some()),
            ("unit", unit.is_some()),
            ("transform", transform.is_some()),
            ("pixel", pixel.is_some()),
        ];
        stated.iter().filter(|(_, is_stated)| *is_stated).for_each(|(name, _)| note(name, auxiliary));
        if transform.or(own.transform).is_none() && self.world.is_some() {
            note("transform", world);
        }
        let mut place =
            Georeference { transform: transform.or(own.transform).or(self.world), pixel: own.pixel, ..system.clone() };
        geokeys::set_pixel(&mut place, pixel.unwrap_or(own.pixel));
        raster.georeference = (place != Georeference::default()).then_some(place);
    }
}

/// The endings of the files, which are appended to the whole name or replace its extension.
const AUXILIARY: &str = ".aux.xml";
const PROJECTION: [&str; 2] = ["prj", "PRJ"];

/// Returns the existing files next to a raster that are read with it: its mask, and the files that describe it.
pub fn list_side_files(path: &Path) -> Vec<PathBuf> {
    let suffixed = |suffix: &str| {
        let mut name = OsString::from(path);
        name.push(suffix);
        PathBuf::from(name)
    };
    let mut files = vec![mask_path(path), suffixed(".json")];
    if Format::from_path(path).is_ok_and(|format| format == Format::Bil) {
        files.push(path.with_extension("hdr"));
    }
    if has_side_files(path) {
        files.push(suffixed(AUXILIARY));
        // Only the first of these world files is read, and of these projections.
        for extensions in [world_extensions(path), PROJECTION.map(OsString::from).to_vec()] {
            files.extend(extensions.iter().map(|extension| path.with_extension(extension)).find(|file| file.is_file()));
        }
    }
    if Format::from_path(path).is_ok_and(|format| format == Format::Bil) {
        files.push(path.with_extension("hdr"));
    }
    files.retain(|file| file.is_file());
    files
}

/// Returns true if the format of a raster leaves something for the files next to it to describe.
fn has_side_files(path: &Path) -> bool {
    Format::from_path(path).is_ok_and(|format| !matches!(format, Format::Hgt | Format::Vrt | Format::Dted))
}

/// Returns the extensions of world files in the order in which GDAL looks for them: for `tif`, these are `tfw`, `tifw`
/// and `wld`, in lower and upper case.
fn world_extensions(path: &Path) -> Vec<OsString> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let ends = extension.chars().next().into_iter().chain(extension.chars().last());
    let short: String = ends.chain(['w']).collect();
    let names = [short, format!("{extension}w"), "wld".to_string()];
    names.into_iter().flat_map(|name| [OsString::from(name.to_uppercase()), name.into()].into_iter().rev()).collect()
}

/// Reads the first of the files with these extensions that exists.
fn read_first_text(path: &FilePath, extensions: &[OsString]) -> Result<Option<(FilePath, String)>> {
    for extension in extensions {
        let file = path.with_extension(extension);
        if *file == **path {
            continue;
        }
        if let Some(bytes) = plain::read_if_exists(&file, MAX_TEXT_BYTES)? {
            return Ok(Some((file, String::from_utf8_lossy(&bytes).into_owned())));
        }
    }
    Ok(None)
}

impl Auxiliary {
    fn parse(text: &str) -> Result<Self, String> {
        let document = Document::parse(text.trim_start_matches('\u{feff}'));
        let document = document.map_err(|problem| format!("is not valid XML: {problem}"))?;
        let root = document.root_element();
        // Other programs write files of this name with other contents.
        if !root.has_tag_name("PAMDataset") {
            return Ok(Self::default());
        }
        let band = find_children(root, "PAMRasterBand").find(|band| matches!(band.attribute("band"), None | Some("1")));
        let value = |name: &str| {
            let node = band.and_then(|band| find_children(band, name).next())?;
            Some((node, node.text().unwrap_or_default().trim()))
        };
        let scaling = |name: &str, is_scale| {
            let item = format!("item {name} of band 1");
            value(name).map(|(_, text)| parse_scaling(text, is_scale, &item)).transpose()
        };
        let crs = find_children(root, "SRS").next().and_then(|node| node.text()).map(str::trim);
        let crs = crs.filter(|text| !text.is_empty()).map(wkt::georeference_from_wkt).transpose()?;
        let transform = find_children(root, "GeoTransform").next().map(|node| node.text().unwrap_or_default());
        let metadata = find_children(root, "Metadata").filter(|node| node.attribute("domain").is_none());
        let pixel =
            metadata.flat_map(|node| node.children()).find(|node| node.attribute("key") == Some("AREA_OR_POINT"));
        Ok(Self {
            crs: crs.flatten(),
            transform: transform.map(parse_transform).transpose()?,
            pixel: pixel.map(|node| match node.text().unwrap_or_default().trim() {
                "Point" => PixelIs::Point,
                _ => PixelIs::Area,
            }),
            nodata: value("NoDataValue").map(|(node, text)| parse_nodata(node, text)).transpose()?,
            scale: scaling("Scale", true)?,
            offset: scaling("Offset", false)?,
            unit: value("UnitType").map(|(_, text)| text.to_string()).filter(|unit| !unit.is_empty()),
        })
    }
}

/// Parses the value for no data of a band. GDAL states its bits, too, if its decimal digits are rounded.
fn parse_nodata(node: Node<'_, '_>, text: &str) -> Result<f64, String> {
    let bits = node.attribute("le_hex_equiv").filter(|digits| digits.len() == 16);
    let bits = bits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let exact = bits.map(|bits| f64::from_bits(bits.swap_bytes()));
    let number = exact.or_else(|| text.parse::<f64>().ok());
    number.ok_or_else(|| format!("has NoDataValue `{}`, which is not a number", names::format_short(text)))
}

fn parse_transform(text: &str) -> Result<[f64; 6], String> {
    let numbers = text.split(',').map(|number| number.trim().parse::<f64>().ok().filter(|x| x.is_finite()));
    let numbers: Option<Vec<f64>> = numbers.collect();
    numbers.and_then(|numbers| <[f64; 6]>::try_from(numbers).ok()).ok_or_else(|| {
        format!("has GeoTransform `{}`; six numbers separated by commas are required", names::format_short(text.trim()))
    })
}

fn find_children<'a, 'input: 'a>(
    node: Node<'a, 'input>,
    name: &str,
) -> impl Iterator<Item = Node<'a, 'input>> + use<'a, 'input> {
    let name = name.to_string();
    node.children().filter(move |child| child.has_tag_name(name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryFiles, Samples, read_raster, write_raster};

    const AUX: &str = r#"<PAMDataset>
        <SRS dataAxisToSRSAxisMapping="1,2">EPSG:25832</SRS>
        <GeoTransform>  5.0e+02,  1.0e+01,  0.0,  9.0e+02,  0.0, -1.0e+01</GeoTransform>
        <Metadata domain="IMAGE_STRUCTURE"><MDI key="AREA_OR_POINT">Area</MDI></Metadata>
        <Metadata><MDI key="AREA_OR_POINT">Point</MDI></Metadata>
        <PAMRasterBand band="2"><NoDataValue>1</NoDataValue></PAMRasterBand>
        <PAMRasterBand band="1"><NoDataValue le_hex_equiv="000000000088C3C0">-9999</NoDataValue>
        <Offset>-3</Offset><Scale>0.5</Scale><UnitType>ft</UnitType></PAMRasterBand></PAMDataset>"#;

    /// Makes files with a raster of two cells and other files next to it.
    fn files(others: &[(&str, &str)]) -> MemoryFiles {
        let files = MemoryFiles::default();
        write_raster(files.path("a.png"), &Raster::new([1, 2], Samples::U16(vec![1, 2]))).unwrap();
        for (name, text) in others {
            files.insert(name, text.as_bytes());
        }
        files
    }

    #[test]
    fn an_auxiliary_file_describes_a_raster() {
        let files = files(&[("a.png.aux.xml", AUX), ("a.pgw", "1 0 0 -1 7 8"), ("a.prj", "EPSG:32632")]);
        let raster = read_raster(files.path("a.png")).unwrap();
        // The bits, which are −9 999 + 1 here, take precedence over the digits.
        assert_eq!(raster.nodata, Some(f64::from_bits(0xc0c3_8800_0000_0000)));
        assert_eq!((raster.scale, raster.scaled, raster.unit.as_deref()), ([0.5, -3.0], true, Some("ft")));
        let place = raster.georeference.unwrap();
        assert_eq!((place.epsg(), place.pixel), (Some(25_832), PixelIs::Point));
        assert_eq!(geokeys::find_short(&place, geokeys::key::RASTER_TYPE), Some(2));
        assert_eq!(place.transform, Some([500.0, 10.0, 0.0, 900.0, 0.0, -10.0]));
    }

    #[test]
    fn world_files_and_projections_fill_the_gaps() {
        for name in ["a.pgw", "a.pngw", "a.wld", "a.PGW"] {
            let files = files(&[(name, "10\n0\n0\n-10\n505\n895"), ("a.prj", "EPSG:32632")]);
            let place = read_raster(files.path("a.png")).unwrap().georeference.unwrap();
            assert_eq!((place.epsg(), place.transform), (Some(32_632), Some([500.0, 10.0, 0.0, 900.0, 0.0, -10.0])));
        }
        // The system of the `.aux.xml` comes before that of the `.prj`.
        let files =
            files(&[("a.png.aux.xml", "<PAMDataset><SRS>EPSG:25832</SRS></PAMDataset>"), ("a.prj", "EPSG:32632")]);
        assert_eq!(read_raster(files.path("a.png")).unwrap().georeference.unwrap().epsg(), Some(25_832));
    }

    #[test]
    fn broken_files_are_named() {
        for (name, text, word) in [
            ("a.png.aux.xml", &AUX[..300], "not valid XML"),
            ("a.png.aux.xml", "", "not valid XML"),
            ("a.png.aux.xml", "<!DOCTYPE x [<!ENTITY e \"1\">]><PAMDataset>&e;</PAMDataset>", "not valid XML"),
            ("a.png.aux.xml", &AUX.replace("0.5<", "0,5<"), "the scale `0,5` (item Scale of band 1)"),
            ("a.png.aux.xml", &AUX.replace("-3<", "nan<"), "the offset `nan`"),
            ("a.png.aux.xml", &AUX.replace("EPSG:25832", "PROJCS[\"x\""), "truncated"),
            ("a.png.aux.xml", &AUX.replace("5.0e+02,", ""), "six numbers"),
            ("a.pgw", "10\n0\n0\n", "3 words"),
            ("a.prj", "PROJCS[\"x\",", "truncated"),
        ] {
            let problem = read_raster(files(&[(name, text)]).path("a.png")).unwrap_err().to_string();
            assert!(problem.contains(name) && problem.contains(word), "{word}: {problem}");
        }
        // Files of the same name with other contents.
        let others = files(&[("a.png.aux.xml", "<other/>"), ("a.prj", "Projection UTM\nZone 32")]);
        let raster = read_raster(others.path("a.png")).unwrap();
        assert!(raster.georeference.is_none() && raster.warnings[0].contains("a.prj"), "{:?}", raster.warnings);
    }
}
