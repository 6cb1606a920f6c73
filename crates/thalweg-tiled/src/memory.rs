//! The simplest driver, with all layers in memory: for small maps, and to test that results do not depend on tiles.

use std::collections::BTreeMap;

use crate::layer::NO_HEIGHT;
use crate::{LayerRead, Product, TileInput, TileLayer, TileOutput, drainage};
use thalweg_core::terrain::{ChannelNetwork, Lake, TileGrid};
use thalweg_core::{Error, Progress, ProgressReport, Result, Terrain};
use thalweg_export::survey::DrainOptions;
use thalweg_io::Samples;
use thalweg_render::products::nested::NestedDepression;

/// The result of draining a map by tiles.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Drained {
    /// All layers, row-major over the map.
    pub layers: BTreeMap<TileLayer, Samples>,
    /// The number of basins.
    pub basins: u64,
    /// All streams, reach by reach.
    pub channels: ChannelNetwork,
    /// All lakes, in the order of their numbers from 1.
    pub lakes: Vec<Lake>,
    /// All depressions; empty if they were not requested.
    pub depressions: Vec<NestedDepression>,
}

/// Runs every pass of [`drainage::tile_passes`] on a terrain in tiles of `side` cells. Before each pass, `order`
/// arranges the numbers of the tiles in the order in which they are run. `progress` receives a report with the name
/// of the pass before each tile, and one with the task `solve` before the pass is solved. For example, a test can run
/// the tiles in reverse and compare the results.
///
/// # Errors
/// Returns the errors of [`drainage::tile_passes`], an error if an outlet has no data, and [`Error::Stopped`] if
/// `progress` stops the run.
///
/// # Examples
/// ```
/// use thalweg_core::{Field, Grid, Height, NoProgress, Terrain};
/// use thalweg_export::survey::DrainOptions;
/// use thalweg_io::Samples;
/// use thalweg_tiled::TileLayer;
/// use thalweg_tiled::memory::drain_in_memory;
///
/// // A plane that falls to the north-west, where all 256 cells of 100 m² drain through the corner.
/// let ground = Field::from_fn([16, 16], |i, j| Height::from_metres_clamped((i + j) as f64));
/// let terrain = Terrain::from_ground(Grid::new([16, 16], 10.0)?, ground)?;
/// let options = DrainOptions::default();
/// let drained = drain_in_memory(&terrain, &options, 8, |_| {}, &mut NoProgress)?;
/// let Samples::F64(areas) = &drained.layers[&TileLayer::Area] else { unreachable!() };
/// assert_eq!((drained.basins, areas[0]), (1, 25_600.0));
/// // Other tiles in another order give the same bits.
/// let other = drain_in_memory(&terrain, &options, 5, |tiles| tiles.reverse(), &mut NoProgress)?;
/// assert_eq!(other.layers, drained.layers);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn drain_in_memory(
    terrain: &Terrain,
    options: &DrainOptions,
    side: usize,
    order: impl Fn(&mut [usize]),
    progress: &mut dyn Progress,
) -> Result<Drained> {
    let passes = drainage::tile_passes(&terrain.grid, side, options)?;
    let size = terrain.grid.size;
    let tiling = TileGrid::new(size, side)?;
    let mut drained = Drained::default();
    let void = |k: usize| terrain.nodata.as_ref().is_some_and(|mask| mask[k]);
    let heights = terrain.ground.as_slice().iter().enumerate();
    let heights = heights.map(|(k, height)| if void(k) { NO_HEIGHT } else { height.0 });
    drained.layers.insert(TileLayer::Height, Samples::I32(heights.collect()));
    // Each pass receives the answers of the previous one; the first pass receives empty ones.
    let mut answers = vec![Vec::new(); tiling.tile_count()];
    let mut tiles: Vec<usize> = (0..tiling.tile_count()).collect();
    let total = (passes.len() * (tiles.len() + 1)) as u64;
    let mut finished_tiles = 0;
    let mut begin = |task: &str| {
        ProgressReport::new(task, finished_tiles, total).send_to(progress)?;
        finished_tiles += 1;
        Result::Ok(())
    };
    for pass in &passes {
        // Layers that the pass writes are collected apart from those it reads, so a tile never reads what another tile
        // of the same pass has written.
        let written = pass.output_layers().iter().map(|name| TileLayer::from_name(name)).collect::<Result<Vec<_>>>()?;
        let made = written.iter().map(|layer| Samples::filled(layer.kind(), size[0] * size[1], layer.fill_value()));
        let mut made = made.collect::<Result<Vec<_>>>()?;
        let mut summaries = vec![Vec::new(); tiling.tile_count()];
        order(&mut tiles);
        for tile in &tiles {
            begin(pass.name())?;
            let layers = pass.input_layers().into_iter().map(|LayerRead { layer, halo }| {
                let whole = drained.layers.get(&TileLayer::from_name(&layer)?);
                let whole = whole.ok_or_else(|| {
                    Error::invalid_layer(layer, "is read by a pass before another pass has written it")
                })?;
                whole.copy_window(size, tiling.window_with_halo(*tile, halo))
            });
            let layers = layers.collect::<Result<_>>()?;
            let input = TileInput { tile: *tile, layers, answer: &answers[*tile], summaries: Vec::new() };
            let TileOutput { layers: parts, summary } = pass.run_tile(input)?;
            let window = tiling.tile_window(*tile);
            for (whole, part) in made.iter_mut().zip(&parts) {
                whole.paste(size, window, part, window.size(), [0, 0])?;
            }
            summaries[*tile] = summary;
        }
        // All tiles are done, so the layers can be read by the next pass.
        drained.layers.extend(written.into_iter().zip(made));
        begin("solve")?;
        answers = pass.solve(&summaries, &mut |product| {
            match product {
                Product::Basins(count) => drained.basins = count,
                Product::Reach(reach) => drained.channels.reaches.push(reach),
                Product::Lake(lake) => drained.lakes.push(lake),
                Product::Depression(one) => drained.depressions.push(one),
                // A piece belongs to the lake reported last: it continues the last line or begins a new one.
                Product::Shore { begins, points } => {
                    let outline = drained.lakes.last_mut().map(|lake| &mut lake.outline);
                    outline.into_iter().for_each(|outline| match outline.last_mut() {
                        Some(line) if !begins => line.extend(&points),
                        _ => outline.push(points.clone()),
                    });
                }
                Product::Figure(..) => {}
            }
            Ok(())
        })?;
        // A pass that returns no answers leaves empty ones for the next pass.
        answers.resize(tiling.tile_count(), Vec::new());
    }
    Ok(drained)
}
