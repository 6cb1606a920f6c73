//! The plainest driver: all layers in memory. For small maps, and to try that tiles do not show.

use std::collections::BTreeMap;

use crate::layer::NO_HEIGHT;
use crate::stream_paths::StreamPath;
use crate::tiling::Tiling;
use crate::{Product, TileLayer, drainage};
use thalweg_core::{Error, Result, Terrain};
use thalweg_export::survey::SurveyOptions;
use thalweg_flow::Link;
use thalweg_io::Samples;
use thalweg_render::products::lakes::LakeOutline;
use thalweg_render::products::nested::NestedDepression;

/// What comes of draining a map by tiles.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Drained {
    /// All layers, row-major over the map.
    pub layers: BTreeMap<TileLayer, Samples>,
    /// Number of basins.
    pub basins: u64,
    /// All streams, each at the place that [`StreamPath::downstream`] counts by.
    pub streams: Vec<StreamPath>,
    /// All lakes, by their numbers from 1.
    pub lakes: Vec<LakeOutline>,
    /// All depressions; none if they were not asked for.
    pub depressions: Vec<NestedDepression>,
}

impl Drained {
    /// The streams as [`links`](thalweg_flow::links::links) has them; `cell` is the side of a cell in metres.
    pub fn links(&self, cell: f64) -> Vec<Link> {
        self.streams.iter().enumerate().map(|(id, path)| path.link(id as u32, cell)).collect()
    }
}

/// Takes every step of [`drainage::steps`] over a terrain in tiles of `side` cells, the tiles in the order that `order` puts their numbers
/// in at each step.
/// `begins` is called with the name of each step before it begins, and with `solve` before it is solved.
///
/// # Errors
/// As [`drainage::steps`], and an outlet without data.
pub fn drain_in_memory(
    terrain: &Terrain,
    options: &SurveyOptions,
    side: usize,
    order: impl Fn(&mut [usize]),
    mut begins: impl FnMut(&'static str),
) -> Result<Drained> {
    let steps = drainage::steps(&terrain.grid, side, options)?;
    let size = terrain.grid.size;
    let tiling = Tiling::new(size, side)?;
    let mut drained = Drained::default();
    let void = |k: usize| terrain.nodata.as_ref().is_some_and(|mask| mask[k]);
    let heights = terrain.ground.as_slice().iter().enumerate();
    let heights = heights.map(|(k, height)| if void(k) { NO_HEIGHT } else { height.0 });
    drained.layers.insert(TileLayer::Height, Samples::I32(heights.collect()));
    let mut answers = vec![Vec::new(); tiling.count()];
    let mut tiles: Vec<usize> = (0..tiling.count()).collect();
    for step in &steps {
        begins(step.name());
        let made = step.writes().iter().map(|layer| Samples::filled(layer.kind(), size[0] * size[1], layer.fill()));
        let mut made = made.collect::<Result<Vec<_>>>()?;
        let mut summaries = vec![Vec::new(); tiling.count()];
        order(&mut tiles);
        for tile in &tiles {
            let inputs = step.reads().iter().map(|(layer, more)| {
                let whole = drained.layers.get(layer);
                let whole = whole.ok_or_else(|| Error::layer(layer.name(), "is read before it is written"))?;
                whole.window(size, tiling.around(*tile, *more))
            });
            let (parts, summary) = step.tile(*tile, inputs.collect::<Result<_>>()?, &answers[*tile])?;
            let window = tiling.window(*tile);
            for (whole, part) in made.iter_mut().zip(&parts) {
                whole.paste(size, window, part, window.size(), [0, 0])?;
            }
            summaries[*tile] = summary;
        }
        drained.layers.extend(step.writes().iter().copied().zip(made));
        begins("solve");
        answers = step.solve(&summaries, &mut |product| {
            match product {
                Product::Basins(count) => drained.basins = count,
                Product::Stream(stream) => drained.streams.push(stream),
                Product::Lake(lake) => drained.lakes.push(lake),
                Product::Depression(one) => drained.depressions.push(one),
                Product::Shore { begins, points } => {
                    let outline = drained.lakes.last_mut().map(|lake| &mut lake.outline);
                    outline.into_iter().for_each(|outline| match outline.last_mut() {
                        Some(line) if !begins => line.extend(&points),
                        _ => outline.push(points.clone()),
                    });
                }
            }
            Ok(())
        })?;
        answers.resize(tiling.count(), Vec::new());
    }
    Ok(drained)
}
