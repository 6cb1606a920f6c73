//! Exports a terrain as files for another program: in a size that it accepts, in tiles if requested, with instructions
//! and the numbers to enter there.
//!
//! The requirements of the programs are declared in [`TARGETS`]. An [`Export`] is stepped by its caller: first all
//! samples are examined, to determine one range for all tiles, then the tiles are written one after the other. A file
//! that exists under its name is complete. The manifest is written last, and a second run after an interruption resumes
//! the export.
//!
//! ```
//! use std::sync::Arc;
//! use thalweg_export::export::{Export, ExportOptions, ExportTarget};
//! use thalweg_core::terrain::field::Field;
//! use thalweg_core::terrain::grid::Grid;
//! use thalweg_core::terrain::height::Height;
//! use thalweg_core::terrain::Terrain;
//!
//! let ground = Field::generate([100, 100], |i, j| Height::saturating((i * j) as f64 / 10.0));
//! let terrain = Terrain::from_ground(Grid::new([100, 100], 10.0)?, ground)?;
//! let folder = tempfile::tempdir().unwrap();
//! let target = ExportTarget::find("unity")?;
//! let mut export = Export::of(Arc::new(terrain), folder.path(), target, ExportOptions::default())?;
//! while export.step()?.is_some() {}
//! let done = export.finish()?;
//! assert_eq!(done.manifest["samples"], serde_json::json!([129, 129]));
//! assert!(done.how.contains("Resolution 129"));
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

mod beside;
mod encode;
mod fit;
mod job;
mod layout;
mod levels;
mod manifest;
mod map;
mod options;
mod sampling;
mod sides;
mod source;
mod styles;
mod target;
mod words;

use std::path::PathBuf;

use rayon::prelude::*;
use serde_json::{Value, json};

use self::beside::{Drawn, style_name, write_lines, write_style};
use self::encode::{Coding, MapBand, Seen, write_heights, write_map, write_picture};
use self::manifest::{Claimed, checksum};
use self::sampling::{Between, Piece, Sampling};
use self::source::{GoingLayer, Ground};
use self::words::Facts;
use thalweg_core::base::memory;
use thalweg_core::declare::operation::Operation as _;
use thalweg_core::{Cell, CellRect, Error, Georeference, Height, MapPoint, Result, Size};
use thalweg_io::{FilePath, Format, SampleType, output};

pub use self::fit::fit_recipe;
pub use self::job::Export;
pub use self::layout::{ExportLayout, ExportTiles};
pub use self::manifest::MANIFEST;
pub use self::options::{ExportOptions, TileEdges};
pub use self::sides::SideRule;
pub use self::target::{ExportTarget, HeightFile, LayerPlace, NameRule, Numbering, Seams, TARGETS};
pub use self::words::table;

/// The progress of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportProgress {
    /// The current phase: `looking` or `writing`.
    pub doing: &'static str,
    /// The work done and the total. For files: tiles examined and tiles written together, of twice the number of tiles.
    /// For a map's pyramid each phase counts separately: bands of rows examined, then tiles written.
    pub tiles: [u64; 2],
}

/// The result of an export.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// The absolute paths of the files, the manifest last.
    pub files: Vec<PathBuf>,
    /// The content of the manifest, as JSON.
    pub manifest: Value,
    /// Instructions for importing the files, with the numbers to enter.
    pub how: String,
    /// Warnings about what was left out or had to be changed; those of [`Export::warnings`] are not repeated.
    pub warnings: Vec<String>,
}

/// An export of files with one common range in progress: the implementation of [`Export`] for all targets except maps.
struct SheetExport {
    target: &'static ExportTarget,
    options: ExportOptions,
    folder: FilePath,
    name: String,
    file: HeightFile,
    ground: Ground,
    layers: Vec<GoingLayer>,
    layout: ExportLayout,
    spacing: [f64; 2],
    tiles: Vec<Cell>,
    /// The sampling of the heights, followed by those of the layers.
    samplings: Vec<Sampling>,
    warnings: Vec<String>,
    /// The feature collections of the folder that are exported too.
    collections: Vec<PathBuf>,
    /// The statistics of the heights and of each layer, for each examined tile.
    seen: Vec<Vec<Seen>>,
    plan: Option<Plan>,
    written: usize,
}

/// The files to write, determined once all samples have been examined.
struct Plan {
    claimed: Claimed,
    range: [f64; 2],
    heights: Seen,
    sheets: Vec<Coded>,
}

/// One of the rasters that are written, with a file for each tile.
struct Coded {
    /// The index of the raster: 0 for heights, then the layers from 1.
    of: usize,
    /// The prefix of the names of its files.
    head: String,
    ending: &'static str,
    coding: Coding,
}

/// The greatest number of classes of a layer that become masks.
const MOST_MASKS: usize = 32;

/// The bytes of memory that a sample of a tile needs while it is processed.
const NEED: u64 = 64;

impl SheetExport {
    fn begin(ground: Ground, folder: FilePath, target: &'static ExportTarget, options: ExportOptions) -> Result<Self> {
        let file = target.height_file(options.format.as_deref())?;
        let name = options.name.clone().unwrap_or_else(|| ground.name.clone());
        target.check_name(&name)?;
        check_range(options.range)?;
        options.check_ranges()?;
        let source = ground.sheet.size();
        let layout = {
            let shared = options.edges.map(|edges| edges == TileEdges::Shared);
            ExportLayout::choose(target, source, options.tiles.unwrap_or_default(), options.size, shared)?
        };
        if target.layers == LayerPlace::None && !options.layers.is_empty() {
            let problem = format!("is not supported: {} only takes heights", target.name);
            return Err(Error::unsupported(format!("layers = {}", options.layers.join(",")), problem));
        }
        let layers = options.layers.iter().map(|layer| ground.layer(layer)).collect::<Result<Vec<_>>>()?;
        for (k, layer) in layers.iter().enumerate() {
            target.check_name(&format!("{name}_{}", layer.name))?;
            if layers[..k].iter().any(|other| other.name == layer.name) {
                return Err(Error::layer(&layer.name, "is named twice"));
            }
        }
        let spacing = layout.spacing(source, ground.grid.cell);
        let most = layout.side[0] as u64 * layout.side[1] as u64;
        memory::check_memory(
            &format!("a tile of {} × {} samples", layout.side[1], layout.side[0]),
            NEED.saturating_mul(most),
        )?;
        let texels = target.layers == LayerPlace::Texels;
        let of_layer = |layer: &GoingLayer| {
            let between = if layer.whole { Between::Nearest } else { Between::Convex };
            Sampling::new(source, texel_total(&layout, texels), between, texels)
        };
        let heights = Sampling::new(source, layout.total(), Between::Smooth, false);
        let samplings = std::iter::once(heights).chain(layers.iter().map(of_layer)).collect();
        output::make_folder(&folder)?;
        manifest::check(&folder, target.name, options.fresh)?;
        let is_map = target.layers == LayerPlace::Rasters;
        let collections = beside::collections(ground.folder().filter(|_| is_map))?;
        let warnings = ground.warnings.clone();
        let (folder, tiles) = (folder.absolute()?, layout.all().collect());
        let (seen, plan, written) = (Vec::new(), None, 0);
        let mut export = Self {
            target,
            options,
            folder,
            name,
            file,
            ground,
            layers,
            layout,
            spacing,
            tiles,
            samplings,
            warnings,
            collections,
            seen,
            plan,
            written,
        };
        export.warn_of_size(source);
        Ok(export)
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn step(&mut self) -> Result<Option<ExportProgress>> {
        let all = self.tiles.len();
        if self.seen.len() < all {
            let some = self.some(self.seen.len());
            let seen = some.par_iter().map(|tile| self.look(*tile)).collect::<Result<Vec<_>>>()?;
            self.seen.extend(seen);
            return Ok(Some(self.progress("looking")));
        }
        if self.plan.is_none() {
            self.plan = Some(self.settle()?);
        }
        let Some(plan) = self.plan.as_ref().filter(|_| self.written < all) else { return Ok(None) };
        let some = self.some(self.written);
        some.par_iter().try_for_each(|tile| self.write(plan, *tile))?;
        self.written += some.len();
        Ok(Some(self.progress("writing")))
    }

    fn finish(mut self) -> Result<Exported> {
        while self.step()?.is_some() {}
        let Some(plan) = self.plan.take() else {
            return Err(Error::value("tiles", 0, "one at least"));
        };
        let said = self.warnings.len();
        self.warn_of_holes(&plan);
        // The first tile with data.
        let full = self.seen.iter().position(|seen| seen[0].range.is_some()).unwrap_or(0);
        let first = self.file_name(&plan.sheets[0], self.tiles[full]);
        let facts = Facts {
            layout: &self.layout,
            spacing: self.spacing,
            range: plan.range,
            sea: self.ground.grid.sea_level.map(Height::metres),
            file: &first,
            name: &plan.sheets[0].head,
            metres: self.file.sample == SampleType::F32,
            crs: &self.crs(),
        };
        let how = words::how(self.target, &facts);
        self.write_beside(&plan)?;
        let mut files = [self.names(&plan.sheets), self.beside(&plan.sheets)].concat();
        let manifest = self.manifest(&plan, &facts, &how)?;
        plan.claimed.finish(&manifest)?;
        files.push(MANIFEST.to_string());
        let files = files.iter().map(|file| self.folder.join(file).into()).collect();
        Ok(Exported { files, manifest, how, warnings: self.warnings.split_off(said) })
    }

    fn progress(&self, doing: &'static str) -> ExportProgress {
        let done = self.seen.len() + self.written;
        ExportProgress { doing, tiles: [done as u64, 2 * self.tiles.len() as u64] }
    }

    /// Returns the next tiles, as many as there are threads and as memory allows.
    fn some(&self, from: usize) -> Vec<Cell> {
        let need = NEED * (self.layout.side[0] * self.layout.side[1]) as u64;
        let room = memory::available().map_or(1, |free| free / 2 / need.max(1));
        let count = rayon::current_num_threads().min(usize::try_from(room).unwrap_or(1)).max(1);
        self.tiles[from..self.tiles.len().min(from + count)].to_vec()
    }

    /// Reads the values of the heights (0) or of a layer (from 1) in a tile.
    fn piece(&self, of: usize, tile: Cell) -> Result<Piece> {
        let sheet = of.checked_sub(1).map_or(&self.ground.sheet, |k| &self.layers[k].sheet);
        let texels = of > 0 && self.target.layers == LayerPlace::Texels;
        let window = if texels { texel_window(&self.layout, tile) } else { self.layout.window(tile) };
        self.samplings[of].window(&**sheet, window)
    }

    fn look(&self, tile: Cell) -> Result<Vec<Seen>> {
        let whole = |of: usize| of.checked_sub(1).is_some_and(|k| self.layers[k].whole);
        // Samples shared by neighbours belong to the later tile, so that each is counted once.
        let own = [0, 1].map(|k| {
            let last = tile[k] + 1 == self.layout.tiles[k];
            self.layout.side[k] - usize::from(self.layout.shared && !last)
        });
        (0..=self.layers.len()).map(|of| Ok(Seen::of(&self.piece(of, tile)?, whole(of), own))).collect()
    }

    /// Determines the encoding of all files from the statistics of all tiles, and takes the folder.
    fn settle(&self) -> Result<Plan> {
        let all = |of: usize| self.seen.iter().map(|seen| seen[of].clone()).reduce(Seen::merge);
        let none = || Error::file(&self.folder, "is not written: no cell has data");
        let heights = all(0).ok_or_else(none)?;
        let [low, high] = heights.range.ok_or_else(none)?;
        if let Some([minimum, maximum]) = self.options.range
            && (low < minimum || high > maximum)
        {
            // Rounded outward to three decimals, so that the range in the message contains all heights.
            let [low, high] = [(low * 1e3).floor() / 1e3, (high * 1e3).ceil() / 1e3];
            let allowed = format!("a range that contains all heights, {low} to {high} m");
            return Err(Error::value("range", format!("{minimum},{maximum}"), allowed));
        }
        // On flat land any range represents the height.
        let range = self.options.range.unwrap_or([low, if high > low { high } else { low + 1.0 }]);
        let coding = match self.file.sample {
            SampleType::F32 if self.file.format == Format::Tiff => Coding::real(range),
            // An EXR file cannot mark cells without data: they get the lowest height.
            SampleType::F32 => Coding::Real(range[0]),
            kind => Coding::Range(range, kind),
        };
        let mut sheets = vec![Coded { of: 0, head: self.name.clone(), ending: self.file.ending, coding }];
        for (k, layer) in self.layers.iter().enumerate() {
            let seen = all(k + 1).ok_or_else(none)?;
            sheets.extend(self.coded(k + 1, layer, &seen)?);
        }
        let codings: Vec<_> = sheets.iter().map(|sheet| (&sheet.head, sheet.ending, &sheet.coding)).collect();
        let digests: Vec<u64> = (0..=self.layers.len()).filter_map(|of| Some(all(of)?.digest)).collect();
        let told = format!("{} {:?} {:?} {codings:?} {digests:?}", self.target.name, self.layout, self.spacing);
        let plan = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(told.as_bytes()));
        let (target, fresh) = (self.target.name, self.options.fresh);
        let names = [self.names(&sheets), self.beside(&sheets)].concat();
        let claimed = Claimed::take(&self.folder, &plan, target, &names, fresh)?;
        Ok(Plan { claimed, range, heights, sheets })
    }

    /// Returns the files that a layer becomes.
    fn coded(&self, of: usize, layer: &GoingLayer, seen: &Seen) -> Result<Vec<Coded>> {
        let head = format!("{}_{}", self.name, layer.name);
        let Some(range) = seen.range else { return Err(Error::layer(&layer.name, "has no data")) };
        let one = |ending, coding| Ok(vec![Coded { of, head: head.clone(), ending, coding }]);
        let widened = |[low, high]: [f64; 2]| [low, if high > low { high } else { low + 1.0 }];
        let whole = || {
            let found = Coding::codes(range, seen.missing > 0);
            found.ok_or_else(|| Error::layer(&layer.name, "contains whole numbers that do not fit into 32 bits"))
        };
        match self.target.layers {
            LayerPlace::None => Ok(Vec::new()),
            LayerPlace::Rasters if layer.whole => one("tif", whole()?),
            LayerPlace::Rasters => one("tif", Coding::real(range)),
            LayerPlace::Pictures if layer.whole => {
                // A PNG file cannot mark cells without data: they get 0.
                let kept = match Coding::codes(range, false) {
                    Some(Coding::Codes(kind @ (SampleType::U8 | SampleType::U16), _)) => Coding::Codes(kind, 0.0),
                    _ => {
                        return Err(Error::layer(
                            &layer.name,
                            "contains whole numbers that an image cannot contain; allowed is 0 to 65535",
                        ));
                    }
                };
                one("png", kept)
            }
            LayerPlace::Pictures => one("png", Coding::Range(widened(range), SampleType::U16)),
            LayerPlace::Masks | LayerPlace::Texels if layer.whole => {
                let classes = seen.classes.iter().flatten().copied().collect::<Vec<_>>();
                if classes.is_empty() || classes.len() > MOST_MASKS {
                    let problem = format!("has more than {MOST_MASKS} classes, each of which would be a mask");
                    return Err(Error::layer(&layer.name, problem));
                }
                let mask =
                    |class| Coded { of, head: format!("{head}_{class}"), ending: "png", coding: Coding::Mask(class) };
                Ok(classes.into_iter().map(mask).collect())
            }
            LayerPlace::Masks | LayerPlace::Texels => {
                let is_share = layer.unit == "1" && range[0] >= 0.0 && range[1] <= 1.0;
                let range = if is_share { [0.0, 1.0] } else { widened([range[0].min(0.0), range[1]]) };
                one("png", Coding::Range(range, SampleType::U8))
            }
        }
    }

    fn file_name(&self, sheet: &Coded, tile: Cell) -> String {
        let [rows, cols] = self.layout.tiles;
        let suffix = if [rows, cols] == [1, 1] { String::new() } else { self.target.suffix(tile, rows) };
        format!("{}{suffix}.{}", sheet.head, sheet.ending)
    }

    fn names(&self, sheets: &[Coded]) -> Vec<String> {
        sheets.iter().flat_map(|sheet| self.tiles.iter().map(|tile| self.file_name(sheet, *tile))).collect()
    }

    /// Returns the names of the files in addition to maps: their styles, and the GeoPackage of the features.
    fn beside(&self, sheets: &[Coded]) -> Vec<String> {
        let maps = sheets.iter().filter(|_| self.target.layers == LayerPlace::Rasters);
        let styles = maps.flat_map(|sheet| self.tiles.iter().map(|tile| style_name(&self.file_name(sheet, *tile))));
        let package = (!self.collections.is_empty()).then(|| format!("{}.gpkg", self.name));
        styles.chain(package).collect()
    }

    fn write_beside(&self, plan: &Plan) -> Result<()> {
        if self.target.layers != LayerPlace::Rasters {
            return Ok(());
        }
        for sheet in &plan.sheets {
            let Some(seen) = self.seen.iter().map(|seen| seen[sheet.of].clone()).reduce(Seen::merge) else { continue };
            let Some(range) = seen.range else { continue };
            let layer = sheet.of.checked_sub(1).map(|k| &self.layers[k]);
            for tile in &self.tiles {
                let map = Drawn {
                    file: self.file_name(sheet, *tile),
                    range,
                    unit: layer.map_or("m", |layer| layer.unit.as_str()).to_string(),
                    classes: seen.classes.as_ref().map(|classes| classes.iter().copied().collect()),
                    ground: layer.is_none(),
                };
                write_style(&self.folder, &map)?;
            }
        }
        if self.collections.is_empty() {
            return Ok(());
        }
        let epsg = self.ground.grid.georeference.as_ref().and_then(Georeference::epsg);
        write_lines(self.folder.join(format!("{}.gpkg", self.name)), &self.collections, epsg)
    }

    /// Writes those files of a tile that do not exist yet.
    fn write(&self, plan: &Plan, tile: Cell) -> Result<()> {
        for of in 0..=self.layers.len() {
            let missing = |sheet: &&Coded| sheet.of == of && !plan.claimed.has(&self.file_name(sheet, tile));
            let sheets: Vec<&Coded> = plan.sheets.iter().filter(missing).collect();
            if sheets.is_empty() {
                continue;
            }
            let piece = self.piece(of, tile)?;
            let cols = piece.values.cols();
            for sheet in sheets {
                let path = self.folder.join(self.file_name(sheet, tile));
                let samples = sheet.coding.samples(&piece);
                match (sheet.ending, of) {
                    ("tif", _) => {
                        let (unit, whole) = of
                            .checked_sub(1)
                            .map_or(("m", false), |k| (self.layers[k].unit.as_str(), self.layers[k].whole));
                        // A map without missing data needs no value for it.
                        let holes = self.seen.iter().any(|seen| seen[of].missing > 0);
                        let nodata = sheet.coding.nodata().filter(|_| holes);
                        let name = of.checked_sub(1).map_or("height", |k| self.layers[k].name.as_str());
                        let about = MapBand { name, unit, whole };
                        write_map(&path, &samples, cols, self.place(self.layout.window(tile)), nodata, about)?;
                    }
                    (_, 0) => write_heights(&path, self.file, self.target.rows, samples, cols)?,
                    _ => write_picture(&path, samples, cols)?,
                }
                plan.claimed.note(&self.file_name(sheet, tile))?;
            }
        }
        Ok(())
    }

    /// Returns the georeference of a window, for a map that keeps its cells.
    fn place(&self, window: CellRect) -> Option<Georeference> {
        let [i, j]: [f64; 2] = window.start.map(|n| n as f64).into();
        let mut place = self.ground.grid.georeference.clone().unwrap_or_default();
        let cell = self.ground.grid.cell;
        let [x, x_j, x_i, y, y_j, y_i] = place.transform.unwrap_or([0.0, cell, 0.0, 0.0, 0.0, -cell]);
        place.transform = Some([x + j * x_j + i * x_i, x_j, x_i, y + j * y_j + i * y_i, y_j, y_i]);
        Some(place)
    }

    fn crs(&self) -> String {
        let place = self.ground.grid.georeference.as_ref();
        let named = place.and_then(|place| place.epsg()).map(|code| format!("EPSG:{code}"));
        named.unwrap_or_else(|| "no reference system".to_string())
    }

    fn manifest(&self, plan: &Plan, facts: &Facts<'_>, how: &str) -> Result<Value> {
        let target = self.target;
        let [rows, columns] = self.layout.total();
        let mut files = Vec::new();
        for sheet in &plan.sheets {
            for (k, tile) in self.tiles.iter().enumerate() {
                let name = self.file_name(sheet, *tile);
                let (bytes, crc) = checksum(&self.folder.join(&name))?;
                let start = self.layout.window(*tile).start;
                let offset = [start[1] as f64 * self.spacing[1], start[0] as f64 * self.spacing[0]];
                let seen = &self.seen[k][sheet.of];
                let mut file = json!({
                    "file": name, "tile": [tile[1], tile[0]], "offset_m": offset, "bytes": bytes, "crc32": format!("{crc:08x}"),
                });
                if seen.missing > 0 {
                    file["nodata"] = seen.missing.into();
                }
                if let Some(layer) = sheet.of.checked_sub(1).map(|k| &self.layers[k]) {
                    file["layer"] = layer.name.as_str().into();
                }
                files.push(file);
            }
        }
        for name in self.beside(&plan.sheets) {
            let (bytes, crc) = checksum(&self.folder.join(&name))?;
            files.push(json!({"file": name, "bytes": bytes, "crc32": format!("{crc:08x}")}));
        }
        let layers: Vec<Value> =
            plan.sheets.iter().filter(|sheet| sheet.of > 0).map(|sheet| self.told(sheet)).collect();
        let numbers: serde_json::Map<String, Value> = words::numbers(facts)
            .into_iter()
            .filter(|(name, _)| {
                target.how.contains(&format!("{{{name}}}")) || target.how_tiles.contains(&format!("{{{name}}}"))
            })
            .map(|(name, value)| {
                (name.to_string(), value.parse::<f64>().map_or_else(|_| value.clone().into(), Value::from))
            })
            .collect();
        let mut manifest = json!({
            "thalweg": env!("CARGO_PKG_VERSION"),
            "target": target.name,
            "plan": "",
            "name": self.name,
            "samples": [columns, rows],
            "tiles": [self.layout.tiles[1], self.layout.tiles[0]],
            "tile_samples": [self.layout.side[1], self.layout.side[0]],
            "edges": if self.layout.shared { "shared" } else { "adjacent" },
            "spacing_m": [self.spacing[1], self.spacing[0]],
            "minimum": plan.range[0],
            "maximum": plan.range[1],
            "sample": self.file.sample,
            "byte_order": if self.file.ending == "png" { "big" } else { "little" },
            "first_row": target.rows,
            "nodata": plan.heights.once,
            "crs": self.crs(),
            "source_samples": [self.ground.grid.size[1], self.ground.grid.size[0]],
            "layers": layers,
            "import": how,
            "numbers": numbers,
            "files": files,
        });
        manifest["plan"] = plan.claimed.plan.as_str().into();
        if let Some(place) = self.corner() {
            manifest["first_sample"] = json!(place);
        }
        if let Some((seed, hash)) = &self.ground.recipe {
            manifest["seed"] = (*seed).into();
            manifest["recipe_hash"] = hash.as_str().into();
        }
        Ok(manifest)
    }

    /// Returns the map coordinates of the first sample, which is the terrain's first sample.
    fn corner(&self) -> Option<MapPoint> {
        let [x, x_j, x_i, y, y_j, y_i] = self.ground.grid.georeference.as_ref()?.transform?;
        Some(MapPoint::new(x + 0.5 * x_j + 0.5 * x_i, y + 0.5 * y_j + 0.5 * y_i))
    }

    /// Describes the meaning of the samples of a layer's file.
    fn told(&self, sheet: &Coded) -> Value {
        let layer = &self.layers[sheet.of - 1];
        let mut told =
            json!({"layer": layer.name, "unit": layer.unit, "files": format!("{}*.{}", sheet.head, sheet.ending)});
        match &sheet.coding {
            Coding::Range([low, high], kind) => {
                told["sample"] = json!(kind);
                told["minimum"] = (*low).into();
                told["maximum"] = (*high).into();
            }
            Coding::Mask(class) => {
                told["sample"] = json!(SampleType::U8);
                told["class"] = (*class).into();
            }
            Coding::Codes(kind, _) => told["sample"] = json!(kind),
            Coding::Real(_) => told["sample"] = json!(SampleType::F32),
        }
        told
    }

    fn warn_of_size(&mut self, source: Size) {
        let [rows, cols] = self.layout.total();
        // A user who requested a size needs no warning.
        if [rows, cols] == source || self.options.size.is_some() {
            return;
        }
        let [down, across] = self.spacing;
        let said = format!(
            "{} × {} samples become {cols} × {rows}, as {} requires, {across:.4} × {down:.4} m apart; \
             corners do not move",
            source[1], source[0], self.target.name
        );
        self.warnings.push(said);
    }

    fn warn_of_holes(&mut self, plan: &Plan) {
        if plan.heights.missing == 0 {
            return;
        }
        let empty: Vec<String> = self
            .tiles
            .iter()
            .zip(&self.seen)
            .filter(|(_, seen)| seen[0].range.is_none())
            .map(|(tile, _)| self.file_name(&plan.sheets[0], *tile))
            .collect();
        let of = if empty.is_empty() { String::new() } else { format!("; no data in {}", empty.join(", ")) };
        let stand = if self.file.format == Format::Tiff { "are nodata" } else { "get the lowest height" };
        let said = format!("{} samples without data {stand}{of}", plan.heights.once);
        self.warnings.push(said);
    }
}

/// Returns the total size in texels, or in samples if `texels` is false.
fn texel_total(layout: &ExportLayout, texels: bool) -> Size {
    if texels { [0, 1].map(|k| layout.tiles[k] * (layout.side[k] - 1)) } else { layout.total() }
}

/// Returns the texels of a tile.
fn texel_window(layout: &ExportLayout, tile: Cell) -> CellRect {
    let size = layout.side.map(|n| n - 1);
    CellRect::new([0, 1].map(|k| tile[k] * size[k]), size)
}

fn check_range(range: Option<[f64; 2]>) -> Result<()> {
    match range {
        Some([low, high]) if low >= high || [low, high].iter().any(|h| Height::from_metres(*h).is_err()) => {
            Err(Error::value("range", format!("{low},{high}"), "two heights in rising order, -16000 to 16000 m"))
        }
        _ => Ok(()),
    }
}
