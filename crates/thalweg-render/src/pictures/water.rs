//! Water on pictures: standing water, and streams by their discharge.

use crate::pictures::sample::quantile_of_sorted;
use thalweg_core::terrain::{DISCHARGE, POOL, WATER};
use thalweg_core::{Error, Field, Height, Result, Terrain};
use thalweg_models::models::glacier::ICE;

/// The shares of a map's cells with a higher discharge than those at which streams begin to appear and at which they
/// are opaque, if a cell is a pixel.
const STREAM_CELL_SHARES: [f64; 2] = [0.035, 0.005];
/// The opacity of a stream above which narrow standing water in it is drawn as part of the stream.
const PUDDLE: f32 = 0.25;

/// The water and ice on a terrain.
///
/// # Examples
/// The depths of a cell on dry land, one under the sea, and one in a pool.
///
/// ```
/// use thalweg_core::terrain::{Cells, POOL};
/// use thalweg_core::{Field, Grid, Height, Terrain};
/// use thalweg_render::pictures::water::Water;
///
/// let mut terrain = Terrain::from_metres(Grid::new([1, 3], 10.0)?, &[5.0, -2.0, 8.0])?;
/// terrain.grid.sea_level = Some(Height::ZERO);
/// let pools = Field::from_fn([1, 3], |_, j| Height::from_metres_clamped(if j == 2 { 1.5 } else { 0.0 }));
/// terrain.insert_layer(&POOL, Cells::Height(pools))?;
/// assert_eq!(Water::compute_depths(&terrain).as_slice(), [0.0, 2.0, 1.5]);
/// assert!(Water::from_terrain(&terrain).pools.is_some());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Water<'a> {
    /// The depth of standing or flowing water per cell in metres ([`WATER`]).
    pub depth: Option<&'a Field<f32>>,
    /// The depth of standing water per cell ([`POOL`]).
    pub pools: Option<&'a Field<Height>>,
    /// The streams.
    pub streams: Option<Streams<'a>>,
    /// The thickness of ice on the ground per cell ([`ICE`]).
    pub ice: Option<&'a Field<Height>>,
}

/// Streams drawn by their discharge: opacity increases smoothly with its logarithm, and width is that of natural
/// streams ([`hydraulic::channel_width`](thalweg_flow::hydraulic::channel_width)) where that is more than a pixel.
///
/// # Examples
/// Streams of 1 m³/s and more, drawn over a map.
///
/// ```
/// use thalweg_core::{Field, Grid, Terrain};
/// use thalweg_render::pictures::drawn_land::DrawnLand;
/// use thalweg_render::pictures::shade::{ShadeOptions, draw_map};
/// use thalweg_render::pictures::water::{Streams, Water};
///
/// let terrain = Terrain::new(Grid::new([16, 16], 10.0)?);
/// let discharge = Field::from_fn([16, 16], |_, j| if j == 8 { 5.0 } else { 0.0 });
/// let streams = Streams { threshold: Some(1.0), ..Streams::from_discharge(&discharge) };
/// let water = Water { streams: Some(streams), ..Water::default() };
/// let map = draw_map(DrawnLand { water, ..(&terrain).into() }, &ShadeOptions::default())?;
/// assert_ne!(map.rgb[(4, 8)], map.rgb[(4, 2)]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Streams<'a> {
    /// The discharge per cell in m³/s ([`DISCHARGE`]); NaN counts as none.
    pub discharge: &'a Field<f32>,
    /// The discharges in m³/s at which streams begin to appear and at which they are opaque, both above 0; `None`
    /// derives them from the map, so that the same share of it is drawn whatever its size.
    pub range: Option<[f32; 2]>,
    /// The discharge in m³/s from which on streams are drawn, all of them opaque; `range` is ignored if it is set.
    pub threshold: Option<f32>,
}

impl<'a> Streams<'a> {
    /// Creates streams of the given discharge in m³/s, with all other parameters derived from the map.
    pub fn from_discharge(discharge: &'a Field<f32>) -> Self {
        Self { discharge, range: None, threshold: None }
    }
}

impl<'a> Water<'a> {
    /// Returns the water in the terrain's layers.
    pub fn from_terrain(terrain: &'a Terrain) -> Self {
        Self {
            depth: terrain.float_layer(&WATER),
            pools: terrain.height_layer(&POOL),
            streams: terrain.float_layer(&DISCHARGE).map(Streams::from_discharge),
            ice: terrain.height_layer(&ICE),
        }
    }

    /// Returns the depth of water over each cell in metres: of the sea, a pool, or flowing water, whichever is
    /// greatest; 0 where it is dry.
    pub fn compute_depths(terrain: &'a Terrain) -> Field<f32> {
        let water = Self::from_terrain(terrain);
        let sea = terrain.grid.sea_level;
        Field::from_fn(terrain.grid.size, |i, j| {
            let ground = terrain.ground[(i, j)];
            let sunk = sea.map_or(0.0, |level| (level.metres() - ground.metres()) as f32);
            let pool = water.pools.filter(|f| f.size() == terrain.grid.size).map_or(0.0, |f| f[(i, j)].metres_f32());
            let flow = water.depth.filter(|f| f.size() == terrain.grid.size).map_or(0.0, |f| f[(i, j)]);
            // NaN counts as dry.
            sunk.max(pool).max(flow).max(0.0)
        })
    }

    /// Returns the pools as they are drawn, `None` without pools. Standing water narrower than three cells in a
    /// clearly visible stream is omitted, because it belongs to the stream: otherwise an uneven bed would have dark
    /// puddles in its light blue.
    pub fn drawn_pools(&self) -> Option<Field<Height>> {
        let pools = self.pools?;
        let Some(streams) = self.streams else { return Some(pools.clone()) };
        let [rows, cols] = pools.size();
        let near = |i: usize, j: usize| {
            (i.saturating_sub(1)..(i + 2).min(rows))
                .flat_map(move |r| (j.saturating_sub(1)..(j + 2).min(cols)).map(move |c| (r, c)))
        };
        let opacity = streams.compute_opacities(1.0);
        // A cell is broad if it and all its neighbours are wet; a puddle has no broad cell next to it.
        let broad = Field::from_fn([rows, cols], |i, j| near(i, j).all(|at| pools[at].0 > 0));
        let puddle = |i: usize, j: usize| opacity[(i, j)] > PUDDLE && !near(i, j).any(|at| broad[at]);
        Some(Field::from_fn([rows, cols], |i, j| if puddle(i, j) { Height::ZERO } else { pools[(i, j)] }))
    }

    /// Checks sizes and ranges.
    ///
    /// # Errors
    /// Returns an error if the size of a layer differs from the terrain's, if the range of streams is not two ascending
    /// numbers above 0, or if their threshold is not a number above 0.
    pub fn check(&self, terrain: &Terrain) -> Result<()> {
        let sizes = [
            (WATER.name, self.depth.map(Field::size)),
            (POOL.name, self.pools.map(Field::size)),
            (DISCHARGE.name, self.streams.map(|streams| streams.discharge.size())),
            (ICE.name, self.ice.map(Field::size)),
        ];
        let [want_rows, want_cols] = terrain.ground.size();
        for (name, size) in sizes {
            if let Some([rows, cols]) = size.filter(|size| *size != [want_rows, want_cols]) {
                let problem = format!("is {rows} × {cols} cells; the terrain is {want_rows} × {want_cols}");
                return Err(Error::invalid_layer(name, problem));
            }
        }
        let Some(streams) = self.streams else { return Ok(()) };
        if let Some([low, high]) = streams.range.filter(|[low, high]| !(*low > 0.0 && low < high && high.is_finite())) {
            let allowed = "two discharges above 0 m³/s in rising order";
            return Err(Error::invalid_value("range of streams", format!("{low},{high}"), allowed));
        }
        match streams.threshold.filter(|least| !(*least > 0.0 && least.is_finite())) {
            Some(least) => Err(Error::invalid_value("threshold of streams", least, "a discharge above 0 m³/s")),
            None => Ok(()),
        }
    }
}

impl Streams<'_> {
    /// Returns the opacity of each cell, 0 to 1, if a cell is `scale` pixels.
    pub(super) fn compute_opacities(&self, scale: f32) -> Field<f32> {
        if let Some(least) = self.threshold {
            return self.discharge.map(|q| f32::from(u8::from(*q >= least)));
        }
        let [low, high] = self.range.unwrap_or_else(|| self.choose_range(scale));
        let (from, to) = (libm::logf(low), libm::logf(high));
        self.discharge.map(|q| {
            if *q > low {
                // A smooth step avoids a visible edge where streams begin.
                let t = ((libm::logf(*q) - from) / (to - from)).min(1.0);
                t * t * (3.0 - 2.0 * t)
            } else {
                0.0
            }
        })
    }

    /// Returns the range for which streams cover a suitable share of the map.
    pub(super) fn choose_range(&self, scale: f32) -> [f32; 2] {
        let cells = self.discharge.as_slice();
        // An odd interval, which does not divide the usual row lengths; otherwise only a few columns would be
        // sampled.
        let step = (cells.len() / (1 << 18)).max(1) | 1;
        let mut values: Vec<f32> = cells.iter().step_by(step).map(|q| if *q > 0.0 { *q } else { 0.0 }).collect();
        values.sort_by(f32::total_cmp);
        // On a reduced map a stream covers more of the picture than of the cells, so the shares decrease with the
        // scale.
        let [low, high] =
            STREAM_CELL_SHARES.map(|share| quantile_of_sorted(&values, 1.0 - share * f64::from(scale.min(1.0))));
        let greatest = values.last().copied().filter(|q| *q > 0.0 && q.is_finite()).unwrap_or(1.0);
        let high = if high > 0.0 && high.is_finite() { high } else { greatest };
        // Few and scattered streams, or the same discharge everywhere, have no such quantiles.
        [if low > 0.0 && low < 0.8 * high { low } else { high / 30.0 }, high]
    }
}
