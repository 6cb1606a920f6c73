//! The plainest driver: all layers in memory. For small maps, and to try that tiles do not show.

use std::collections::BTreeMap;

use crate::base::error::{Error, Result};
use crate::flow::Link;
use crate::io::Samples;
use crate::products::lakes::LakeOutline;
use crate::survey::SurveyOptions;
use crate::terrain::Terrain;
use crate::terrain::field::{Size, Window};
use crate::tiled::layer::NO_HEIGHT;
use crate::tiled::stream_paths::StreamPath;
use crate::tiled::tiling::Tiling;
use crate::tiled::{Product, TileLayer, drainage};

/// What comes of draining a map by tiles.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Drained {
    /// All layers, row-major over the map.
    pub layers: BTreeMap<TileLayer, Samples>,
    /// Number of basins.
    pub basins: u64,
    /// All streams.
    pub streams: Vec<StreamPath>,
    /// All lakes, without their outlines.
    pub lakes: Vec<LakeOutline>,
}

impl Drained {
    /// The streams as [`links`](crate::flow::links::links) has them; `cell` is the side of a cell in metres.
    pub fn links(&self, cell: f64) -> Vec<Link> {
        self.streams.iter().enumerate().map(|(id, path)| path.link(id as u32, cell)).collect()
    }
}

/// Takes every step of [`drainage::steps`] over a terrain in tiles of `side` cells, the tiles in the order that `order` puts them in.
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
        let mut made: Vec<Samples> = step.writes().iter().map(|layer| whole(*layer, size)).collect();
        let mut summaries = vec![Vec::new(); tiling.count()];
        order(&mut tiles);
        for tile in &tiles {
            let inputs = step.reads().iter().map(|(layer, more)| {
                let whole = drained.layers.get(layer);
                let whole = whole.ok_or_else(|| Error::layer(layer.name(), "is read before it is written"))?;
                Ok(cut(whole, size, tiling.around(*tile, *more)))
            });
            let (parts, summary) = step.tile(*tile, inputs.collect::<Result<_>>()?, &answers[*tile])?;
            made.iter_mut().zip(&parts).for_each(|(whole, part)| put(whole, size, part, tiling.window(*tile)));
            summaries[*tile] = summary;
        }
        drained.layers.extend(step.writes().iter().copied().zip(made));
        begins("solve");
        let solved = step.solve(summaries)?;
        answers = solved.answers;
        match solved.product {
            Some(Product::Basins(count)) => drained.basins = count,
            Some(Product::Streams(streams)) => drained.streams = streams,
            Some(Product::Lakes(lakes)) => drained.lakes = lakes,
            None => {}
        }
    }
    Ok(drained)
}

/// Runs the same expression on the vectors of two samples of one type.
macro_rules! pairs {
    ($one:expr, $other:expr, $a:ident, $b:ident => $do:expr, $($kind:ident),+) => {
        match ($one, $other) {
            $( (Samples::$kind($a), Samples::$kind($b)) => $do, )+
            _ => {}
        }
    };
}

/// A layer over a map, where nothing is known yet.
fn whole(layer: TileLayer, [rows, cols]: Size) -> Samples {
    let count = rows * cols;
    let mut samples = empty(layer.kind());
    let fill = layer.fill();
    match &mut samples {
        Samples::U8(v) => v.resize(count, fill as u8),
        Samples::U16(v) => v.resize(count, fill as u16),
        Samples::I16(v) => v.resize(count, fill as i16),
        Samples::I32(v) => v.resize(count, fill as i32),
        Samples::U32(v) => v.resize(count, fill as u32),
        Samples::F32(v) => v.resize(count, fill as f32),
        Samples::F64(v) => v.resize(count, fill),
    }
    samples
}

fn empty(kind: crate::io::SampleType) -> Samples {
    use crate::io::SampleType::{F32, F64, I16, I32, U8, U16, U32};
    match kind {
        U8 => Samples::U8(Vec::new()),
        U16 => Samples::U16(Vec::new()),
        I16 => Samples::I16(Vec::new()),
        I32 => Samples::I32(Vec::new()),
        U32 => Samples::U32(Vec::new()),
        F32 => Samples::F32(Vec::new()),
        F64 => Samples::F64(Vec::new()),
    }
}

/// The samples of a window of a map of that size.
fn cut(whole: &Samples, [_, cols]: Size, Window { start: [top, left], size }: Window) -> Samples {
    let mut part = empty(whole.kind());
    let rows = (top..top + size[0]).map(|i| i * cols + left..i * cols + left + size[1]);
    pairs!(whole, &mut part, from, to => rows.for_each(|row| to.extend_from_slice(&from[row])), U8, U16, I16, I32, U32, F32, F64);
    part
}

/// Puts the samples of a window into a map of that size.
fn put(whole: &mut Samples, [_, cols]: Size, part: &Samples, Window { start: [top, left], size }: Window) {
    let rows = (0..size[0]).map(|i| (i * size[1], (top + i) * cols + left));
    pairs!(part, whole, from, to => rows.for_each(|(at, k)| to[k..k + size[1]].copy_from_slice(&from[at..at + size[1]])), U8, U16, I16, I32, U32, F32, F64);
}
