//! [`SheetExport`]: an export of files with one common range. First all tiles are examined, then all are written.

use std::path::PathBuf;

use rayon::prelude::*;

use super::beside;
use super::encode::ValueStatistics;
use super::file_plan::FilePlan;
use super::instructions::{self, ImportFacts};
use super::manifest::{self, MANIFEST};
use super::sampling::{Between, WindowSampler, WindowValues};
use super::source::{ExportSource, GoingLayer};
use super::{ExportLayout, ExportOptions, ExportProgress, ExportTarget, Exported, HeightFile, LayerPlace, TileEdges};
use thalweg_core::base::memory;
use thalweg_core::declare::operation::Operation as _;
use thalweg_core::{Cell, CellRect, Error, Height, Result, Size};
use thalweg_io::{FilePath, Format, SampleType, output};

/// The bytes of memory that a sample of a tile needs while it is processed.
const BYTES_PER_SAMPLE: u64 = 64;

/// An export of files with one common range in progress: the implementation of [`Export`](super::Export) for all
/// targets except maps.
pub(super) struct SheetExport {
    pub(super) target: &'static ExportTarget,
    pub(super) options: ExportOptions,
    pub(super) folder: FilePath,
    pub(super) name: String,
    pub(super) file: HeightFile,
    pub(super) ground: ExportSource,
    pub(super) layers: Vec<GoingLayer>,
    pub(super) layout: ExportLayout,
    pub(super) spacing: [f64; 2],
    pub(super) tiles: Vec<Cell>,
    /// The sampling of the heights, followed by those of the layers.
    samplings: Vec<WindowSampler>,
    warnings: Vec<String>,
    /// The feature collections of the folder that are exported too.
    pub(super) collections: Vec<PathBuf>,
    /// The statistics of the heights and of each layer, for each examined tile.
    pub(super) seen: Vec<Vec<ValueStatistics>>,
    plan: Option<FilePlan>,
    written: usize,
}

impl SheetExport {
    pub(super) fn from_source(
        ground: ExportSource,
        folder: FilePath,
        target: &'static ExportTarget,
        options: ExportOptions,
    ) -> Result<Self> {
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
        // All options are checked before the folder is created.
        let layers = open_layers(&ground, target, &options, &name)?;
        let spacing = layout.spacing(source, ground.grid.cell);
        let most = layout.side[0] as u64 * layout.side[1] as u64;
        memory::check_memory(
            &format!("a tile of {} × {} samples", layout.side[1], layout.side[0]),
            BYTES_PER_SAMPLE.saturating_mul(most),
        )?;
        let samplings = choose_samplings(source, &layout, &layers, target.layers == LayerPlace::Texels);
        output::make_folder(&folder)?;
        manifest::check_folder(&folder, target.name, options.fresh)?;
        let is_map = target.layers == LayerPlace::Rasters;
        let collections = beside::find_collections(ground.world_folder().filter(|_| is_map))?;
        let warnings = ground.warnings.clone();
        let (folder, tiles) = (folder.to_absolute()?, layout.iter_tiles().collect());
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

    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub(super) fn advance(&mut self) -> Result<Option<ExportProgress>> {
        let all = self.tiles.len();
        // All tiles are examined before the first is written, because all of them have one range.
        if self.seen.len() < all {
            // Tiles are examined in parallel, and their statistics are stored in the order of the tiles, on which the
            // hash depends.
            let some = self.next_tiles(self.seen.len());
            let seen = some.par_iter().map(|tile| self.examine_tile(*tile)).collect::<Result<Vec<_>>>()?;
            self.seen.extend(seen);
            return Ok(Some(self.report_progress("looking")));
        }
        if self.plan.is_none() {
            self.plan = Some(self.plan_files()?);
        }
        let Some(plan) = self.plan.as_ref().filter(|_| self.written < all) else { return Ok(None) };
        let some = self.next_tiles(self.written);
        some.par_iter().try_for_each(|tile| self.write_tile(plan, *tile))?;
        self.written += some.len();
        Ok(Some(self.report_progress("writing")))
    }

    pub(super) fn finish(mut self) -> Result<Exported> {
        while self.advance()?.is_some() {}
        let Some(plan) = self.plan.take() else {
            return Err(Error::invalid_value("tiles", 0, "1 or more"));
        };
        let said = self.warnings.len();
        self.warn_of_holes(&plan);
        // The first tile with data.
        let full = self.seen.iter().position(|seen| seen[0].range.is_some()).unwrap_or(0);
        let first = self.file_name(&plan.sheets[0], self.tiles[full]);
        let facts = ImportFacts {
            layout: &self.layout,
            spacing: self.spacing,
            range: plan.range,
            sea: self.ground.grid.sea_level.map(Height::metres),
            file: &first,
            name: &plan.sheets[0].head,
            metres: self.file.sample == SampleType::F32,
            crs: &self.describe_crs(),
        };
        let how = instructions::format_instructions(self.target, &facts);
        // The manifest is written last, so it exists only if all other files do.
        self.write_extra_files(&plan)?;
        let mut files = [self.raster_file_names(&plan.sheets), self.extra_file_names(&plan.sheets)].concat();
        let manifest = self.build_manifest(&plan, &facts, &how)?;
        plan.claimed.finish(&manifest)?;
        files.push(MANIFEST.to_string());
        let files = files.iter().map(|file| self.folder.join(file).into()).collect();
        Ok(Exported { files, manifest, how, warnings: self.warnings.split_off(said) })
    }

    fn report_progress(&self, doing: &'static str) -> ExportProgress {
        let done = self.seen.len() + self.written;
        ExportProgress { doing, tiles: [done as u64, 2 * self.tiles.len() as u64] }
    }

    /// Returns the next tiles, as many as there are threads and as memory allows.
    fn next_tiles(&self, from: usize) -> Vec<Cell> {
        // Half of the free memory remains for other uses. At least one tile is processed, because its memory was
        // checked at the beginning.
        let need = BYTES_PER_SAMPLE * (self.layout.side[0] * self.layout.side[1]) as u64;
        let room = memory::available_bytes().map_or(1, |free| free / 2 / need.max(1));
        let count = rayon::current_num_threads().min(usize::try_from(room).unwrap_or(1)).max(1);
        self.tiles[from..self.tiles.len().min(from + count)].to_vec()
    }

    /// Reads the values of the heights (0) or of a layer (from 1) in a tile.
    pub(super) fn read_tile(&self, of: usize, tile: Cell) -> Result<WindowValues> {
        let sheet = of.checked_sub(1).map_or(&self.ground.sheet, |k| &self.layers[k].sheet);
        let texels = of > 0 && self.target.layers == LayerPlace::Texels;
        let window = if texels { texel_window(&self.layout, tile) } else { self.layout.tile_window(tile) };
        self.samplings[of].sample_window(&**sheet, window)
    }

    fn examine_tile(&self, tile: Cell) -> Result<Vec<ValueStatistics>> {
        let whole = |of: usize| of.checked_sub(1).is_some_and(|k| self.layers[k].whole);
        // Samples shared by neighbours belong to the later tile, so that each is counted once.
        let own = [0, 1].map(|k| {
            let last = tile[k] + 1 == self.layout.tiles[k];
            self.layout.side[k] - usize::from(self.layout.shared && !last)
        });
        (0..=self.layers.len())
            .map(|of| Ok(ValueStatistics::from_window(&self.read_tile(of, tile)?, whole(of), own)))
            .collect()
    }

    fn warn_of_size(&mut self, source: Size) {
        let [rows, cols] = self.layout.total_size();
        // A user who requested a size needs no warning.
        if [rows, cols] == source || self.options.size.is_some() {
            return;
        }
        let [down, across] = self.spacing;
        let said = format!(
            "the map is resampled from {} × {} to {cols} × {rows} samples, as {} requires; the samples are \
             {across:.4} × {down:.4} m apart, and the corners keep their positions",
            source[1], source[0], self.target.name
        );
        self.warnings.push(said);
    }

    fn warn_of_holes(&mut self, plan: &FilePlan) {
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
        let of = match empty.is_empty() {
            true => String::new(),
            false => format!("; these tiles contain no data: {}", empty.join(", ")),
        };
        let stand = if self.file.format == Format::Tiff { "nodata" } else { "the lowest height" };
        let said = format!("{} samples without data are written as {stand}{of}", plan.heights.once);
        self.warnings.push(said);
    }
}

/// Opens the layers that are exported, and checks that the target accepts them and the names of their files.
fn open_layers(
    ground: &ExportSource,
    target: &ExportTarget,
    options: &ExportOptions,
    name: &str,
) -> Result<Vec<GoingLayer>> {
    if target.layers == LayerPlace::None && !options.layers.is_empty() {
        let problem = format!("is not supported: {} accepts only heights; leave out the layers", target.name);
        return Err(Error::unsupported(format!("layers = {}", options.layers.join(",")), problem));
    }
    let layers = options.layers.iter().map(|layer| ground.open_layer(layer)).collect::<Result<Vec<_>>>()?;
    for (k, layer) in layers.iter().enumerate() {
        target.check_name(&format!("{name}_{}", layer.name))?;
        if layers[..k].iter().any(|other| other.name == layer.name) {
            return Err(Error::invalid_layer(&layer.name, "is listed twice; list each layer once"));
        }
    }
    Ok(layers)
}

/// Returns the sampling of the heights, followed by those of the layers.
fn choose_samplings(source: Size, layout: &ExportLayout, layers: &[GoingLayer], texels: bool) -> Vec<WindowSampler> {
    // Heights may be interpolated beyond the range of their neighbours, shares and amounts must not be, and classes
    // are never interpolated.
    let of_layer = |layer: &GoingLayer| {
        let between = if layer.whole { Between::Nearest } else { Between::Convex };
        WindowSampler::new(source, texel_total(layout, texels), between, texels)
    };
    let heights = WindowSampler::new(source, layout.total_size(), Between::Smooth, false);
    std::iter::once(heights).chain(layers.iter().map(of_layer)).collect()
}

/// Returns the total size in texels, or in samples if `texels` is false.
fn texel_total(layout: &ExportLayout, texels: bool) -> Size {
    // A texel is the square between four samples, so there is one fewer along a side.
    if texels { [0, 1].map(|k| layout.tiles[k] * (layout.side[k] - 1)) } else { layout.total_size() }
}

/// Returns the texels of a tile.
fn texel_window(layout: &ExportLayout, tile: Cell) -> CellRect {
    let size = layout.side.map(|n| n - 1);
    CellRect::new([0, 1].map(|k| tile[k] * size[k]), size)
}

fn check_range(range: Option<[f64; 2]>) -> Result<()> {
    match range {
        Some([low, high]) if low >= high || [low, high].iter().any(|h| Height::from_metres(*h).is_err()) => Err(
            Error::invalid_value("range", format!("{low},{high}"), "two heights in rising order, -16000 to 16000 m"),
        ),
        _ => Ok(()),
    }
}
