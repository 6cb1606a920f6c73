//! [`FilePlan`]: the files of an export with their names and encodings, which follow from the statistics of all tiles.

use super::LayerPlace;
use super::beside::style_name;
use super::encode::{SampleEncoding, ValueStatistics};
use super::manifest::Claimed;
use super::sheets::SheetExport;
use super::source::GoingLayer;
use thalweg_core::{Cell, Error, Result};
use thalweg_io::{Format, SampleType};

/// The greatest number of classes of a layer that become masks.
pub(super) const MAX_MASKS: usize = 32;

/// The files to write, determined once all samples have been examined.
pub(super) struct FilePlan {
    pub(super) claimed: Claimed,
    pub(super) range: [f64; 2],
    pub(super) heights: ValueStatistics,
    pub(super) sheets: Vec<Coded>,
}

/// One of the rasters that are written, with a file for each tile.
pub(super) struct Coded {
    /// The index of the raster: 0 for heights, then the layers from 1.
    pub(super) of: usize,
    /// The prefix of the names of its files.
    pub(super) head: String,
    pub(super) ending: &'static str,
    pub(super) coding: SampleEncoding,
}

impl SheetExport {
    /// Determines the encoding of all files from the statistics of all tiles, and takes the folder.
    pub(super) fn plan_files(&self) -> Result<FilePlan> {
        let all = |of: usize| self.seen.iter().map(|seen| seen[of].clone()).reduce(ValueStatistics::merge);
        let none = || Error::invalid_file(&self.folder, "is not written: no cell has data");
        let heights = all(0).ok_or_else(none)?;
        let [low, high] = heights.range.ok_or_else(none)?;
        if let Some([minimum, maximum]) = self.options.range
            && (low < minimum || high > maximum)
        {
            // Rounded outward to three decimals, so that the range in the message contains all heights.
            let [low, high] = [(low * 1e3).floor() / 1e3, (high * 1e3).ceil() / 1e3];
            let allowed = format!("a range that contains all heights, {low} to {high} m");
            return Err(Error::invalid_value("range", format!("{minimum},{maximum}"), allowed));
        }
        // On flat land any range represents the height.
        let range = self.options.range.unwrap_or([low, if high > low { high } else { low + 1.0 }]);
        let coding = match self.file.sample {
            SampleType::F32 if self.file.format == Format::Tiff => SampleEncoding::for_real_numbers(range),
            // An EXR file cannot mark cells without data: they get the lowest height.
            SampleType::F32 => SampleEncoding::Real(range[0]),
            kind => SampleEncoding::Range(range, kind),
        };
        let mut sheets = vec![Coded { of: 0, head: self.name.clone(), ending: self.file.ending, coding }];
        for (k, layer) in self.layers.iter().enumerate() {
            let seen = all(k + 1).ok_or_else(none)?;
            sheets.extend(self.encode_layer(k + 1, layer, &seen)?);
        }
        // The hash covers everything that determines the bytes of the files: target, layout, encodings and all values.
        // A second run therefore resumes only an export with the same files.
        let codings: Vec<_> = sheets.iter().map(|sheet| (&sheet.head, sheet.ending, &sheet.coding)).collect();
        let digests: Vec<u64> = (0..=self.layers.len()).filter_map(|of| Some(all(of)?.digest)).collect();
        let identity = format!("{} {:?} {:?} {codings:?} {digests:?}", self.target.name, self.layout, self.spacing);
        let plan = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(identity.as_bytes()));
        let (target, fresh) = (self.target.name, self.options.fresh);
        let names = [self.raster_file_names(&sheets), self.extra_file_names(&sheets)].concat();
        let claimed = Claimed::claim_folder(&self.folder, &plan, target, &names, fresh)?;
        Ok(FilePlan { claimed, range, heights, sheets })
    }

    /// Returns the files that a layer becomes.
    fn encode_layer(&self, of: usize, layer: &GoingLayer, seen: &ValueStatistics) -> Result<Vec<Coded>> {
        let head = format!("{}_{}", self.name, layer.name);
        let Some(range) = seen.range else { return Err(Error::invalid_layer(&layer.name, "has no data")) };
        let one = |ending, coding| Ok(vec![Coded { of, head: head.clone(), ending, coding }]);
        let widened = |[low, high]: [f64; 2]| [low, if high > low { high } else { low + 1.0 }];
        let whole = || {
            let found = SampleEncoding::for_integers(range, seen.missing > 0);
            found
                .ok_or_else(|| Error::invalid_layer(&layer.name, "contains whole numbers that do not fit into 32 bits"))
        };
        match self.target.layers {
            LayerPlace::None => Ok(Vec::new()),
            LayerPlace::Rasters if layer.whole => one("tif", whole()?),
            LayerPlace::Rasters => one("tif", SampleEncoding::for_real_numbers(range)),
            LayerPlace::Pictures if layer.whole => {
                // A PNG file cannot mark cells without data: they get 0.
                let kept = match SampleEncoding::for_integers(range, false) {
                    Some(SampleEncoding::Codes(kind @ (SampleType::U8 | SampleType::U16), _)) => {
                        SampleEncoding::Codes(kind, 0.0)
                    }
                    _ => {
                        return Err(Error::invalid_layer(
                            &layer.name,
                            "contains whole numbers outside 0 to 65535, which an image cannot store",
                        ));
                    }
                };
                one("png", kept)
            }
            LayerPlace::Pictures => one("png", SampleEncoding::Range(widened(range), SampleType::U16)),
            LayerPlace::Masks | LayerPlace::Texels if layer.whole => {
                let classes = seen.classes.iter().flatten().copied().collect::<Vec<_>>();
                if classes.is_empty() || classes.len() > MAX_MASKS {
                    let problem = format!(
                        "has more than {MAX_MASKS} classes, and each class becomes a mask; leave the layer out, or \
                         merge classes"
                    );
                    return Err(Error::invalid_layer(&layer.name, problem));
                }
                let mask = |class| Coded {
                    of,
                    head: format!("{head}_{class}"),
                    ending: "png",
                    coding: SampleEncoding::Mask(class),
                };
                Ok(classes.into_iter().map(mask).collect())
            }
            LayerPlace::Masks | LayerPlace::Texels => {
                // A share keeps the scale from 0 to 1, so weights of several exports can be compared. Other amounts are
                // scaled from 0, or from the lowest value if it is negative, to the highest.
                let is_share = layer.unit == "1" && range[0] >= 0.0 && range[1] <= 1.0;
                let range = if is_share { [0.0, 1.0] } else { widened([range[0].min(0.0), range[1]]) };
                one("png", SampleEncoding::Range(range, SampleType::U8))
            }
        }
    }

    pub(super) fn file_name(&self, sheet: &Coded, tile: Cell) -> String {
        let [rows, cols] = self.layout.tiles;
        let suffix = if [rows, cols] == [1, 1] { String::new() } else { self.target.tile_suffix(tile, rows) };
        format!("{}{suffix}.{}", sheet.head, sheet.ending)
    }

    pub(super) fn raster_file_names(&self, sheets: &[Coded]) -> Vec<String> {
        sheets.iter().flat_map(|sheet| self.tiles.iter().map(|tile| self.file_name(sheet, *tile))).collect()
    }

    /// Returns the names of the files in addition to maps: their styles, and the GeoPackage of the features.
    pub(super) fn extra_file_names(&self, sheets: &[Coded]) -> Vec<String> {
        let maps = sheets.iter().filter(|_| self.target.layers == LayerPlace::Rasters);
        let styles = maps.flat_map(|sheet| self.tiles.iter().map(|tile| style_name(&self.file_name(sheet, *tile))));
        let package = (!self.collections.is_empty()).then(|| format!("{}.gpkg", self.name));
        styles.chain(package).collect()
    }
}
