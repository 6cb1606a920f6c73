//! [`MapExport`]: a terrain as pyramids of map tiles, with a web page that shows them.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use rayon::prelude::*;
use serde_json::{Value, json};

use super::encode::ValueStatistics;
use super::levels::SheetLevels;
use super::manifest::{self, Claimed, MANIFEST, checksum_file};
use super::source::ExportSource;
use super::{ExportOptions, ExportProgress, ExportTarget, Exported, TileEdges};
use thalweg_core::{Error, MapPoint, Point, Result};
use thalweg_io::atomic::remove_stale_temporaries;
use thalweg_io::{FilePath, disk, has_crs, output, save_place, write_atomically, write_text};
use thalweg_render::web::{
    KNOWN_CODES, LonLat, LonLatBounds, MAP_LAYERS, MAX_ZOOM, MapLand, MapLayer, MapPage, MapPlace, MapTile,
    MapTileRange, MeshTile, PAGE, SIDE, TileHeights, geographic_bounds, ground_scale, mesh_range, mesh_zoom,
    pixel_size, tile_range,
};

/// The description of the tiles that the page reads.
const TILES: &str = "tiles.json";

/// The extension of mesh tiles; the next constant is the file that globes read about them.
const MESH: &str = "terrain";
const GLOBE: &str = "layer.json";

/// The greatest number of tiles of a pyramid.
const MAX_PYRAMID_TILES: u64 = 1 << 20;

/// The number of tiles that are made between two progress reports, for each thread.
const TILES_PER_THREAD: usize = 4;

/// A pyramid export in progress.
pub(super) struct MapExport {
    target: &'static ExportTarget,
    options: ExportOptions,
    folder: FilePath,
    name: String,
    place: MapPlace,
    /// True if the tiles are meshes for globes.
    mesh: bool,
    /// The coordinate system of the heights, in words.
    crs: String,
    /// True if the position on Earth is invented.
    invented: bool,
    recipe: Option<(u64, String)>,
    land: SheetLevels,
    warnings: Vec<String>,
    seen: Option<ValueStatistics>,
    plan: Option<PyramidPlan>,
    written: usize,
    /// The tiles with data.
    there: Vec<PyramidTile>,
}

/// A tile: images, or a mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PyramidTile {
    Pixels(MapTile),
    Mesh(MeshTile),
}

struct PyramidPlan {
    claimed: Claimed,
    zooms: [u32; 2],
    /// All tiles that may intersect the land, the coarse ones first.
    tiles: Vec<PyramidTile>,
    /// The metres of the lowest and the highest code of a mesh.
    range: [f64; 2],
}

/// Returns the pyramids that are written.
fn written_layers() -> impl Iterator<Item = &'static MapLayer> {
    MAP_LAYERS.iter().filter(|layer| layer.written)
}

impl PyramidTile {
    /// Returns the files of the tile, by layer.
    fn file_names(self) -> Vec<(&'static str, String)> {
        match self {
            Self::Pixels(MapTile { zoom, column, row }) => written_layers()
                .map(|layer| (layer.name, format!("{}/{zoom}/{column}/{row}.{}", layer.name, layer.ending)))
                .collect(),
            Self::Mesh(MeshTile { zoom, column, row }) => vec![(MESH, format!("{zoom}/{column}/{row}.{MESH}"))],
        }
    }

    fn tile_indices(self) -> [u32; 3] {
        match self {
            Self::Pixels(MapTile { zoom, column, row }) | Self::Mesh(MeshTile { zoom, column, row }) => {
                [zoom, column, row]
            }
        }
    }
}

impl MapExport {
    pub fn from_source(
        ground: ExportSource,
        folder: FilePath,
        target: &'static ExportTarget,
        options: ExportOptions,
    ) -> Result<Self> {
        let name = options.name.clone().unwrap_or_else(|| ground.name.clone());
        target.check_name(&name)?;
        let mesh = target.height_file(options.format.as_deref())?.ending == MESH;
        let refused = |what: &str, value: String, reason: &str| {
            Err(Error::unsupported(
                format!("{what} = {value}"),
                format!("is not supported by {}, {reason}", target.name),
            ))
        };
        if let Some([rows, cols]) = options.size {
            return refused(
                "size",
                format!("{cols}x{rows}"),
                "whose tiles have 256 samples along a side; choose their zooms instead (--zoom, or zoom in Python)",
            );
        }
        if let Some(tiles) = options.tiles {
            let reason = "whose tiles follow a fixed grid; choose their zooms instead (--zoom, or zoom in Python)";
            return refused("tiles", tiles.to_string(), reason);
        }
        if let Some(edges) = options.edges {
            let edges = if edges == TileEdges::Shared { "shared" } else { "adjacent" };
            return refused("edges", edges.to_string(), "whose format fixes the edges of tiles; leave the option out");
        }
        if let Some([low, high]) = options.range {
            return refused("range", format!("{low},{high}"), "whose tiles store heights in metres without rescaling");
        }
        if !options.layers.is_empty() {
            return refused("layers", options.layers.join(","), "which accepts only heights; leave out the layers");
        }
        if let Some([first, last]) = options.zoom
            && (first > last || last > MAX_ZOOM)
        {
            return Err(Error::invalid_value(
                "zoom",
                format!("{first}-{last}"),
                format!("two zooms in rising order, 0 to {MAX_ZOOM}"),
            ));
        }
        if let Some([first, last]) = options.zoom.filter(|[first, _]| mesh && *first > 0) {
            return Err(Error::invalid_value(
                "zoom",
                format!("{first}-{last}"),
                format!("0-{last}, because the tiles of a globe must begin at zoom 0"),
            ));
        }
        let mut warnings = ground.warnings.clone();
        let (place, crs, invented) = locate_on_earth(&ground, options.origin, &mut warnings)?;
        let land = SheetLevels::new(ground.sheet, ground.grid.cell)?;
        output::make_folder(&folder)?;
        manifest::check_folder(&folder, target.name, options.fresh)?;
        let (folder, recipe) = (folder.to_absolute()?, ground.recipe);
        let (seen, plan, written, there) = (None, None, 0, Vec::new());
        Ok(Self {
            target,
            options,
            folder,
            name,
            place,
            mesh,
            crs,
            invented,
            recipe,
            land,
            warnings,
            seen,
            plan,
            written,
            there,
        })
    }

    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub fn advance(&mut self) -> Result<Option<ExportProgress>> {
        // First the raster is read once, for its range and its means on coarser cells.
        if let Some(seen) = self.land.scan_next_rows()? {
            self.seen = Some(match self.seen.take() {
                None => seen,
                Some(before) => before.merge(seen),
            });
            let tiles = self.land.scan_progress();
            return Ok(Some(ExportProgress { doing: "looking", tiles }));
        }
        // Then the tiles are determined and the folder is claimed.
        if self.plan.is_none() {
            self.plan = Some(self.plan_tiles()?);
        }
        let Some(plan) = self.plan.as_ref().filter(|plan| self.written < plan.tiles.len()) else { return Ok(None) };
        // Then the tiles are written, a few for each thread between two reports of progress.
        let end = plan.tiles.len().min(self.written + TILES_PER_THREAD * rayon::current_num_threads());
        let some = &plan.tiles[self.written..end];
        let made = some.par_iter().map(|tile| self.write_tile(plan, *tile)).collect::<Result<Vec<bool>>>()?;
        let there = some.iter().zip(made).filter(|(_, made)| *made).map(|(tile, _)| *tile);
        self.there.extend(there);
        let tiles = [end as u64, plan.tiles.len() as u64];
        self.written = end;
        Ok(Some(ExportProgress { doing: "writing", tiles }))
    }

    /// Determines which tiles there may be, and takes the folder.
    fn plan_tiles(&self) -> Result<PyramidPlan> {
        let Some([low, high]) = self.seen.as_ref().and_then(|seen| seen.range) else {
            return Err(Error::invalid_file(&self.folder, "is not written: no cell has data"));
        };
        let zooms = self.options.zoom.unwrap_or_else(|| self.choose_zooms());
        let rim = geographic_bounds(&self.land, &self.place);
        let mut tiles = Vec::new();
        let mut count = 0u64;
        for zoom in zooms[0]..=zooms[1] {
            let range = match self.mesh {
                // A globe requests both hemispheres at zoom 0.
                true if zoom == 0 => MapTileRange { columns: 0..=1, rows: 0..=0 },
                true => mesh_range(rim, zoom),
                false => tile_range(&self.land, &self.place, zoom),
            };
            // The number is checked before the tiles of a zoom are listed, so too fine a zoom does not exhaust the
            // memory.
            count = range.tile_count().saturating_add(count);
            if count > MAX_PYRAMID_TILES {
                let allowed = format!("zooms with at most {MAX_PYRAMID_TILES} tiles");
                return Err(Error::invalid_value(
                    "zoom",
                    format!("{}-{} ({count} or more tiles)", zooms[0], zooms[1]),
                    allowed,
                ));
            }
            // The number of columns is 2^zoom, or twice that on a globe, whose zoom 0 has two tiles.
            let all = 1u64 << (zoom + u32::from(self.mesh));
            let part = |row: u64, column: u64| {
                let (column, row) = ((column % all) as u32, row as u32);
                if self.mesh {
                    PyramidTile::Mesh(MeshTile { zoom, column, row })
                } else {
                    PyramidTile::Pixels(MapTile { zoom, column, row })
                }
            };
            // If the land is wider than the map, its columns wrap around, and the set removes duplicates.
            let MapTileRange { columns, rows } = range;
            let known: BTreeSet<PyramidTile> =
                rows.flat_map(|row| columns.clone().map(move |column| part(row, column))).collect();
            tiles.extend(known);
        }
        // Meshes store heights within their own range and have no such limit.
        if !self.mesh && low < DEEPEST {
            let allowed = format!("at least {DEEPEST} m, the lowest height that terrain-rgb encodes");
            return Err(Error::invalid_value("heights", format!("{low} m"), allowed));
        }
        let digest = self.seen.as_ref().map_or(0, |seen| seen.digest);
        let about =
            (self.target.name, &self.name, self.mesh, &self.place, self.land.cell_width(self.land.finest_level()));
        // The hash covers everything that determines the bytes of the tiles. A second run therefore resumes only an
        // export with the same tiles.
        let identity = format!("{about:?} {zooms:?} {digest}");
        let plan = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(identity.as_bytes()));
        let target = self.target.name;
        let files = [tile_file_names(&tiles), self.other_files()].concat();
        let claimed = Claimed::claim_folder(&self.folder, &plan, target, &files, self.options.fresh)?;
        // Removes temporary files that a killed run has left in the folders of the tiles.
        let folders: BTreeSet<PathBuf> = files
            .iter()
            .filter(|_| !self.folder.is_in_memory())
            .filter_map(|file| Some(self.folder.join(file).parent()?.to_path_buf()))
            .collect();
        folders.iter().for_each(|folder| remove_stale_temporaries(folder));
        Ok(PyramidPlan { claimed, zooms, tiles, range: [low, if high > low { high } else { low + 1.0 }] })
    }

    /// Returns the first and the last zoom: the last is the first zoom at which pixels are no wider than cells; the
    /// first is the finest zoom at which the land is no wider than one tile.
    fn choose_zooms(&self) -> [u32; 2] {
        let (wide, scale) = (self.land.cell_width(self.land.finest_level()), ground_scale(&self.land, &self.place));
        if self.mesh {
            return [0, mesh_zoom(wide)];
        }
        // The scale of the projection at the land's position converts pixels of the map to metres on the ground. The
        // tolerance prevents an additional zoom because of rounding errors.
        let metres = |zoom: u32| pixel_size(zoom) * scale;
        let last = (0..MAX_ZOOM).find(|zoom| metres(*zoom) <= wide * (1.0 + 1e-6)).unwrap_or(MAX_ZOOM);
        let long = self.land.size().into_iter().max().unwrap_or(1) as f64 * wide;
        let first = (0..=last).rev().find(|zoom| metres(*zoom) * SIDE as f64 >= long).unwrap_or(0);
        [first, last]
    }

    /// Returns the files other than tiles.
    fn other_files(&self) -> Vec<String> {
        let page = PAGE.iter().map(|(name, ..)| name.to_string()).chain([TILES.to_string()]);
        if self.mesh { vec![GLOBE.to_string()] } else { page.collect() }
    }

    /// Writes the files of a tile; returns false if the tile has no data. Files that a previous run has written stay.
    fn write_tile(&self, plan: &PyramidPlan, part: PyramidTile) -> Result<bool> {
        let files = part.file_names();
        if files.iter().all(|(_, file)| plan.claimed.has_file(file)) {
            return Ok(true);
        }
        let bodies = match part {
            PyramidTile::Mesh(tile) => vec![tile.encode_mesh(&self.land, &self.place, plan.range)?],
            PyramidTile::Pixels(tile) => {
                let Some(heights) = TileHeights::sample_tile(&self.land, &self.place, tile)? else { return Ok(false) };
                written_layers().map(|layer| heights.encode(layer.encoding)).collect::<Result<_>>()?
            }
        };
        for ((_, file), bytes) in files.iter().zip(bodies) {
            let path = self.folder.join(file);
            let folder = path.folder();
            disk::make_folders(&folder).map_err(Error::io(&folder, "create the folder"))?;
            write_atomically(&path, |out| out.write_all(&bytes).map_err(Error::io(&path, "write")))?;
            // The file is recorded only when it is complete.
            plan.claimed.record_file(file)?;
        }
        Ok(true)
    }

    pub fn finish(mut self) -> Result<Exported> {
        while self.advance()?.is_some() {}
        let (Some(plan), Some(ValueStatistics { range: Some(range), missing, .. })) =
            (self.plan.take(), self.seen.take())
        else {
            return Err(Error::invalid_value("tiles", 0, "1 or more"));
        };
        let mut warnings = Vec::new();
        if missing > 0 {
            let stands = if self.mesh {
                "at 0 m, clamped to the range of the heights"
            } else {
                "at 0 m, and the hillshade is transparent"
            };
            warnings.push(format!("{missing} cells have no data; the exported surface there is {stands}"));
        }
        let page = self.describe_page(&plan, range);
        if self.mesh {
            write_text(self.folder.join(GLOBE), &format!("{:#}\n", self.describe_globe(&plan)))?;
        } else {
            for (name, _, text) in PAGE {
                write_text(self.folder.join(name), text)?;
            }
            // The page reads the tiles from its own folder, so the address is relative.
            let described = page.to_tile_json("", &written_layers().copied().collect::<Vec<_>>());
            write_text(self.folder.join(TILES), &format!("{described:#}\n"))?;
        }
        let how = self.format_instructions(&plan);
        let of_part = |part: &PyramidTile| {
            part.file_names()
                .into_iter()
                .map(|(layer, file)| (file, Some((layer, part.tile_indices()))))
                .collect::<Vec<_>>()
        };
        let mut files: Vec<_> = self.there.iter().flat_map(of_part).collect();
        files.extend(self.other_files().into_iter().map(|name| (name, None)));
        let entries = files.par_iter().map(|(name, of)| {
            let (bytes, crc) = checksum_file(&self.folder.join(name))?;
            let mut file = json!({"file": name, "bytes": bytes, "crc32": format!("{crc:08x}")});
            if let Some((layer, tile)) = of {
                file["layer"] = (*layer).into();
                file["tile"] = json!(tile);
            }
            Ok(file)
        });
        let entries = entries.collect::<Result<Vec<Value>>>()?;
        let manifest = self.build_manifest(&plan, &page, range, missing, &how, entries);
        plan.claimed.finish(&manifest)?;
        let files = files.into_iter().map(|(name, _)| name).chain([MANIFEST.to_string()]);
        let files = files.map(|file| self.folder.join(file).into()).collect();
        Ok(Exported { files, manifest, how, warnings })
    }

    fn describe_page(&self, plan: &PyramidPlan, range: [f64; 2]) -> MapPage {
        let LonLatBounds { west, east, north, south } = geographic_bounds(&self.land, &self.place);
        let about = if self.invented {
            "An invented position: its degrees correspond to no place on Earth.".to_string()
        } else {
            format!("Heights from {}.", self.crs)
        };
        let attribution = if self.invented { "invented by thalweg".to_string() } else { self.name.clone() };
        MapPage {
            name: self.name.clone(),
            about,
            attribution,
            zooms: plan.zooms,
            bounds: [west, south, east, north].map(f64::to_degrees),
            range: Some(range),
        }
    }

    /// Returns the description that Cesium reads: the available tiles by zoom.
    fn describe_globe(&self, plan: &PyramidPlan) -> Value {
        let mut available = vec![Vec::new(); plan.zooms[1] as usize + 1];
        for [zoom, column, row] in self.there.iter().map(|part| part.tile_indices()) {
            let runs: &mut Vec<[u32; 3]> = &mut available[zoom as usize];
            // Tiles are ordered by column, each column from the south, so runs of rows can be merged.
            match runs.last_mut().filter(|run| run[0] == column && run[2] + 1 == row) {
                Some(run) => run[2] = row,
                None => runs.push([column, row, row]),
            }
        }
        let told =
            |[column, first, last]: &[u32; 3]| json!({"startX": column, "startY": first, "endX": column, "endY": last});
        let available: Vec<Vec<Value>> = available.iter().map(|runs| runs.iter().map(told).collect()).collect();
        json!({
            "tilejson": "2.1.0",
            "name": self.name,
            "version": "1.0.0",
            "format": "quantized-mesh-1.0",
            "scheme": "tms",
            "projection": "EPSG:4326",
            "tiles": [format!("{{z}}/{{x}}/{{y}}.{MESH}")],
            "extensions": ["octvertexnormals"],
            "bounds": [-180, -90, 180, 90],
            "minzoom": plan.zooms[0],
            "maxzoom": plan.zooms[1],
            "available": available,
        })
    }

    fn format_instructions(&self, plan: &PyramidPlan) -> String {
        let (target, [first, last]) = (self.target, plan.zooms);
        let text = if self.mesh { target.how_tiles } else { target.how };
        let file = if self.mesh { "quantized-mesh-1.0 with normals" } else { "terrain-rgb/{z}/{x}/{y}.png" };
        text.replace("{crs}", &format!("zoom {first} to {last}, from {}", self.crs)).replace("{file}", file)
    }

    fn build_manifest(
        &self,
        plan: &PyramidPlan,
        page: &MapPage,
        [low, high]: [f64; 2],
        missing: u64,
        how: &str,
        files: Vec<Value>,
    ) -> Value {
        let mut manifest = json!({
            "thalweg": env!("CARGO_PKG_VERSION"),
            "target": self.target.name,
            "plan": plan.claimed.plan,
            "name": self.name,
            "zooms": plan.zooms,
            "tile_samples": if self.mesh { [MeshTile::SIDE; 2] } else { [SIDE; 2] },
            "tiles": self.there.len(),
            "bounds": page.bounds,
            "minimum": low,
            "maximum": high,
            "nodata": missing,
            "sampling": "linear between the centres of cells, or the mean of such samples",
            "crs": if self.mesh { "EPSG:4326" } else { "EPSG:3857" },
            "source_crs": self.crs,
            "source_samples": [self.land.size()[1], self.land.size()[0]],
            "layers": if self.mesh { vec![MESH] } else { written_layers().map(|layer| layer.name).collect() },
            "import": how,
            "files": files,
        });
        if let Some((seed, hash)) = &self.recipe {
            manifest["seed"] = (*seed).into();
            manifest["recipe_hash"] = hash.as_str().into();
        }
        manifest
    }
}

/// Returns the names of all files that the tiles may have.
fn tile_file_names(tiles: &[PyramidTile]) -> Vec<String> {
    tiles.iter().flat_map(|part| part.file_names()).map(|(_, file)| file).collect()
}

/// The elevation in metres below which terrain-rgb has no colours.
// Terrain-rgb encodes −10 000 m + 0.1 m times a number of 24 bits.
const DEEPEST: f64 = -10_000.0;

/// Returns the position of the ground, its coordinate system in words, and true if the position is invented.
fn locate_on_earth(
    ground: &ExportSource,
    origin: Option<LonLat>,
    warnings: &mut Vec<String>,
) -> Result<(MapPlace, String, bool)> {
    /// The latitude beyond which a Web Mercator map is of no use, north or south.
    // Web Mercator itself ends at 85.05°.
    const MAX_LATITUDE_DEG: f64 = 84.0;
    let place = save_place(&ground.grid);
    if has_crs(&place) {
        let code = place.epsg();
        let named = code.map_or("a system without an EPSG code".to_string(), |code| format!("EPSG:{code}"));
        if origin.is_some() {
            let problem = format!("only applies to heights without a coordinate system; these are in {named}");
            return Err(Error::conflict("origin", problem));
        }
        let [x, _, _, y, ..] = place.transform.unwrap_or_default();
        let found = code.and_then(|code| MapPlace::from_epsg(code, MapPoint::new(x, y)));
        let allowed = || format!("{KNOWN_CODES}; reproject it with `gdalwarp -r cubic -t_srs EPSG:326…`");
        let found = found.ok_or_else(|| Error::invalid_value("coordinate system", &named, allowed()))?;
        return Ok((found, named, false));
    }
    let at = origin.unwrap_or_default();
    let LonLat { longitude, latitude } = at;
    if !(-180.0..=180.0).contains(&longitude) || !(-MAX_LATITUDE_DEG..=MAX_LATITUDE_DEG).contains(&latitude) {
        let allowed = format!(
            "a longitude from -180 to 180 and a latitude from -{MAX_LATITUDE_DEG} to {MAX_LATITUDE_DEG} degrees"
        );
        return Err(Error::invalid_value("origin", format!("{longitude},{latitude}"), allowed));
    }
    if origin.is_none() {
        let warning = "the terrain has no position on Earth: its centre is placed at 0° N 0° E, in the sea off Africa; \
                       to place it elsewhere, give --origin LON,LAT, or origin in Python";
        warnings.push(warning.to_string());
    }
    let half = |n: usize| n as f64 * ground.grid.cell / 2.0;
    let middle = Point::new(half(ground.grid.cols()), half(ground.grid.rows()));
    Ok((MapPlace::from_lon_lat(at, middle), format!("local metres around {latitude}° N {longitude}° E"), true))
}
