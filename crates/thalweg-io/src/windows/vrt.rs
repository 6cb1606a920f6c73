//! GDAL's virtual rasters (`.vrt`): XML that describes a mosaic of other files, supported to the extent that
//! `gdalbuildvrt` and `gdal_translate` write it (GDAL's "VRT -- GDAL Virtual Format").

use std::path::{Path, PathBuf};

use roxmltree::{Document, Node};

use crate::SampleType;
use crate::raster::parse_scaling;
use thalweg_core::base::names;
use thalweg_core::{Cell, CellRect, Size};

/// The content of a virtual raster.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mosaic {
    pub size: Size,
    pub kind: SampleType,
    /// The sample that stands for no data.
    pub nodata: Option<f64>,
    /// GDAL's geotransform.
    pub transform: Option<[f64; 6]>,
    /// The CRS as WKT; empty if there is none.
    pub crs: String,
    /// True if its samples are points (AREA_OR_POINT = Point).
    pub is_point: bool,
    pub scale: [f64; 2],
    /// True if it specifies a scale, an offset or a unit.
    pub scaled: bool,
    pub unit: Option<String>,
    /// True if it has a mask: cells that no file covers are then no data.
    pub masked: bool,
    pub bands: usize,
    /// The files in the order in which they are placed; the last is on top.
    pub parts: Vec<MosaicPart>,
}

/// A window of another file, and its position in the mosaic.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MosaicPart {
    pub path: PathBuf,
    /// The cells of the file.
    pub from: CellRect,
    /// The position of the first of these cells in the mosaic.
    pub to: Cell,
    /// The sample that is left out.
    pub nodata: Option<f64>,
}

/// The tolerance, in cells, of the position of a window: programs that write it divide coordinates.
const POSITION_TOLERANCE_CELLS: f64 = 0.01;

impl Mosaic {
    /// Parses the text of a virtual raster whose relative paths begin at `folder`. The error is the problem in words.
    pub fn parse(xml: &str, folder: &Path) -> Result<Self, String> {
        let document = Document::parse(xml).map_err(|problem| format!("is not valid XML: {problem}"))?;
        let root = document.root_element();
        if !root.has_tag_name("VRTDataset") {
            return Err(format!("contains <{}>, not <VRTDataset>", names::format_short(root.tag_name().name())));
        }
        check_not_computed(root)?;
        let side = |name| -> Result<usize, String> {
            let text = root.attribute(name).unwrap_or_default();
            // GDAL's sizes are signed integers of 32 bits.
            let found = text.parse::<usize>().ok().filter(|n| (1..=i32::MAX as usize).contains(n));
            found.ok_or_else(|| format!("has {name}=\"{}\"; it must be 1 to {}", names::format_short(text), i32::MAX))
        };
        let size = [side("rasterYSize")?, side("rasterXSize")?];
        let mut bands = find_children(root, "VRTRasterBand");
        let band = bands.next().ok_or("has no bands")?;
        check_not_computed(band)?;
        if matches!(child_text(band, "ColorInterp"), "Red" | "Palette") {
            return Err("is a colour picture, not heights".to_string());
        }
        let said = |name| Some(child_text(band, name)).filter(|text| !text.is_empty());
        let value = |name| said(name).map(|text| parse_number(text, name)).transpose();
        let scaling = |name, is_scale| {
            let item = format!("item {name} of its band");
            said(name).map(|text| parse_scaling(text, is_scale, &item)).transpose()
        };
        let (factor, offset) = (scaling("Scale", true)?, scaling("Offset", false)?);
        let unit = said("UnitType").map(str::to_string);
        let parts = band.children().filter(|node| node.is_element() && node.tag_name().name().ends_with("Source"));
        let parts = parts.map(|node| MosaicPart::parse(node, size, folder)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            size,
            kind: parse_sample_type(band.attribute("dataType").unwrap_or("Byte"))?,
            nodata: value("NoDataValue")?,
            transform: parse_transform(child_text(root, "GeoTransform"))?,
            crs: child_text(root, "SRS").to_string(),
            is_point: root.descendants().any(|node| {
                node.attribute("key") == Some("AREA_OR_POINT") && node.text().is_some_and(|text| text.trim() == "Point")
            }),
            scale: [factor.unwrap_or(1.0), offset.unwrap_or(0.0)],
            scaled: factor.is_some() || offset.is_some() || unit.is_some(),
            unit,
            masked: [root, band].into_iter().any(|node| find_children(node, "MaskBand").next().is_some()),
            bands: 1 + bands.count(),
            parts: parts.into_iter().filter(|part| !part.from.size().contains(&0)).collect(),
        })
    }

    /// Returns the EPSG code of the CRS, if it has one: the outermost of the WKT, which is at its end.
    pub fn epsg(&self) -> Option<u16> {
        let crs = self.crs.trim();
        if let Some(code) = crs.strip_prefix("EPSG:") {
            return code.parse().ok();
        }
        let at = crs.rfind("[\"EPSG\",")?;
        let code = crs[at + 8..].trim_end_matches(']').trim_matches('"');
        code.parse().ok()
    }

    /// Returns true if the CRS is geographic (in degrees).
    pub fn is_geographic(&self) -> bool {
        ["GEOGCS[", "GEOGCRS[", "GEODCRS["].iter().any(|word| self.crs.trim_start().starts_with(word))
    }
}

impl MosaicPart {
    fn parse(node: Node<'_, '_>, size: Size, folder: &Path) -> Result<Self, String> {
        let name = node.tag_name().name();
        if !matches!(name, "SimpleSource" | "ComplexSource") {
            return Err(format!("contains a <{name}>, which computes its cells; {BAKE}"));
        }
        // A scale, an offset and an exponent are accepted only with the value that changes nothing.
        for (tag, plain) in [("ScaleRatio", "1"), ("ScaleOffset", "0"), ("Exponent", "1"), ("LUT", "")] {
            let text = child_text(node, tag);
            // No look-up table leaves every value as it is, so the tag alone is refused.
            let is_plain = || parse_number(text, tag).ok().is_some_and(|number| Ok(number) == plain.parse::<f64>());
            if !text.is_empty() && !is_plain() {
                return Err(format!("contains a <{tag}>, which changes the values of files; {BAKE}"));
            }
        }
        if !matches!(child_text(node, "SourceBand"), "" | "1") {
            return Err(format!(
                "uses band {} of a file; only band 1 is supported",
                names::format_short(child_text(node, "SourceBand"))
            ));
        }
        let file = find_children(node, "SourceFilename").next().ok_or("contains a source without a file name")?;
        let path = PathBuf::from(file.text().unwrap_or_default().trim());
        if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("vrt")) {
            return Err(format!("uses {}, another virtual raster; use the files themselves", path.display()));
        }
        let is_relative = file.attribute("relativeToVRT") == Some("1");
        // Without rectangles, a file covers the whole raster.
        let whole = [0.0, 0.0, size[0] as f64, size[1] as f64];
        let [from, to] =
            ["SrcRect", "DstRect"].map(|tag| parse_rectangle(node, tag).map(|found| found.unwrap_or(whole)));
        let (from, to) = (from?, to?);
        let is_whole = |x: f64| (x - x.round()).abs() <= POSITION_TOLERANCE_CELLS && x.abs() < f64::from(i32::MAX);
        // Rectangles of different sizes, or between cells, would need resampling, which is not supported.
        if (0..2).any(|k| (from[2 + k] - to[2 + k]).abs() > POSITION_TOLERANCE_CELLS)
            || from.iter().chain(&to).any(|x| !is_whole(*x))
        {
            let [a, b] = [from, to].map(|[i, j, rows, cols]| format!("{cols} × {rows} cells from {j}, {i}"));
            return Err(format!("places {} between cells ({a} to {b}); {BAKE}", path.display()));
        }
        let [from, to] = [from, to].map(|rectangle| rectangle.map(|x| x.round() as i64));
        // The part outside the raster is cut off.
        let cut = [0, 1].map(|k| (-to[k]).max(-from[k]).max(0));
        let side = |k: usize| (to[2 + k]).min(size[k] as i64 - to[k]) - cut[k];
        Ok(Self {
            path: if is_relative { folder.join(path) } else { path },
            from: CellRect::new([0, 1].map(|k| (from[k] + cut[k]) as usize), [0, 1].map(|k| side(k).max(0) as usize)),
            to: Cell::from_axes(|k| (to[k] + cut[k]) as usize),
            nodata: Some(child_text(node, "NODATA"))
                .filter(|text| !text.is_empty())
                .map(|x| parse_number(x, "NODATA"))
                .transpose()?,
        })
    }
}

/// The advice for a raster that does more than place files.
const BAKE: &str =
    "write it out with `gdal_translate IN.vrt OUT.tif`, or resample its files to one grid with `gdalwarp` first";

/// Rejects bands that are computed, not placed.
fn check_not_computed(node: Node<'_, '_>) -> Result<(), String> {
    match node.attribute("subClass") {
        Some(class) if class != "VRTSourcedRasterBand" => {
            Err(format!("is a {class}, which computes its cells; {BAKE}"))
        }
        _ => Ok(()),
    }
}

fn find_children<'a, 'input: 'a>(
    node: Node<'a, 'input>,
    name: &'a str,
) -> impl Iterator<Item = Node<'a, 'input>> + use<'a, 'input> {
    node.children().filter(move |child| child.has_tag_name(name))
}

/// Returns the text of the first child of this name; empty if there is none.
fn child_text<'a>(node: Node<'a, '_>, name: &'a str) -> &'a str {
    find_children(node, name).next().and_then(|child| child.text()).unwrap_or_default().trim()
}

fn parse_number(text: &str, name: &str) -> Result<f64, String> {
    text.parse::<f64>().map_err(|_| format!("has {name} `{}`, which is not a number", names::format_short(text)))
}

/// Returns the sample type for GDAL's name.
fn parse_sample_type(name: &str) -> Result<SampleType, String> {
    Ok(match name {
        "Byte" => SampleType::U8,
        "Int8" | "Int16" => SampleType::I16,
        "UInt16" => SampleType::U16,
        "Int32" => SampleType::I32,
        "UInt32" => SampleType::U32,
        "Float16" | "Float32" => SampleType::F32,
        "Float64" | "Int64" | "UInt64" => SampleType::F64,
        _ => return Err(format!("has samples of type {}, which cannot be heights", names::format_short(name))),
    })
}

fn parse_transform(text: &str) -> Result<Option<[f64; 6]>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let numbers: Vec<f64> = text.split(',').filter_map(|number| number.trim().parse().ok()).collect();
    match <[f64; 6]>::try_from(numbers) {
        Ok(numbers) if numbers.iter().all(|x| x.is_finite()) => Ok(Some(numbers)),
        _ => Err(format!("has GeoTransform `{}`; six numbers are required", names::format_short(text))),
    }
}

/// Returns the first row, the first column, and the numbers of rows and columns of a rectangle.
fn parse_rectangle(node: Node<'_, '_>, tag: &str) -> Result<Option<[f64; 4]>, String> {
    let Some(rectangle) = find_children(node, tag).next() else { return Ok(None) };
    let side = |name| parse_number(rectangle.attribute(name).unwrap_or_default(), name);
    Ok(Some([side("yOff")?, side("xOff")?, side("ySize")?, side("xSize")?]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = r#"<VRTDataset rasterXSize="7" rasterYSize="3">
      <SRS dataAxisToSRSAxisMapping="1,2">PROJCS["x",GEOGCS["y",AUTHORITY["EPSG","4326"]],AUTHORITY["EPSG","32632"]]</SRS>
      <GeoTransform> 5.0e+05, 1.0e+01, 0, 5.1e+06, 0, -1.0e+01</GeoTransform>
      <VRTRasterBand dataType="Int16" band="1">
        <NoDataValue>-9999</NoDataValue>
        <SimpleSource><SourceFilename relativeToVRT="1">a.tif</SourceFilename><SourceBand>1</SourceBand>
          <SrcRect xOff="0" yOff="0" xSize="4" ySize="3"/><DstRect xOff="0" yOff="0" xSize="4" ySize="3"/></SimpleSource>
        <ComplexSource><SourceFilename relativeToVRT="0">/far/b.tif</SourceFilename><SourceBand>1</SourceBand>
          <SrcRect xOff="0" yOff="1" xSize="5" ySize="2"/><DstRect xOff="3.9999999" yOff="-1" xSize="5" ySize="2"/>
          <NODATA>0</NODATA></ComplexSource>
      </VRTRasterBand></VRTDataset>"#;

    #[test]
    fn two_files_side_by_side() {
        let mosaic = Mosaic::parse(TWO, Path::new("/here")).unwrap();
        assert_eq!((mosaic.size, mosaic.kind, mosaic.nodata), ([3, 7], SampleType::I16, Some(-9999.0)));
        assert_eq!((mosaic.epsg(), mosaic.is_geographic()), (Some(32632), false));
        let [a, b] = &mosaic.parts[..] else { panic!("{mosaic:?}") };
        assert_eq!((a.path.as_path(), a.to, a.nodata), (Path::new("/here/a.tif"), Cell::new(0, 0), None));
        // One row and two columns are outside.
        assert_eq!(b.path, Path::new("/far/b.tif"));
        assert_eq!((b.from, b.to), (CellRect::new([2, 0], [1, 3]), Cell::new(0, 4)));
        assert_eq!(b.nodata, Some(0.0));
    }

    #[test]
    fn what_is_worked_out_is_refused() {
        for (old, new, word) in [
            ("<VRTDataset ", "<VRTDataset subClass=\"VRTWarpedDataset\" ", "VRTWarpedDataset"),
            ("<NODATA>0", "<ScaleRatio>2</ScaleRatio><NODATA>0", "ScaleRatio"),
            ("<NODATA>0", "<LUT>0:0,100:20</LUT><NODATA>0", "LUT"),
            ("<NODATA>0", "<NODATA>x", "NODATA `x`"),
            ("SimpleSource>", "AveragedSource>", "AveragedSource"),
            ("\"3.9999999\"", "\"3.5\"", "between cells"),
            ("xSize=\"5\" ySize=\"2\"/><Dst", "xSize=\"9\" ySize=\"2\"/><Dst", "between cells"),
            ("Int16", "CInt16", "CInt16"),
            ("<NoDataValue>", "<Scale>0</Scale><NoDataValue>", "scale `0`"),
            ("<NoDataValue>", "<Scale>0,1</Scale><NoDataValue>", "scale `0,1`"),
            ("a.tif", "a.vrt", "another virtual raster"),
            ("\"7\"", "\"0\"", "rasterXSize=\"0\""),
            ("5.0e+05,", "", "six numbers"),
            ("</VRTDataset>", "", "not valid XML"),
        ] {
            let problem = Mosaic::parse(&TWO.replace(old, new), Path::new("/here")).unwrap_err();
            assert!(problem.contains(word), "{word}: {problem}");
        }
    }
}
