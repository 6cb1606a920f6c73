//! Rain by latitude, wind and relief: see [`Climate`].

mod air;
mod belts;

use rayon::prelude::*;

use crate::model::{About, Family, MassBalance, Model, StepReach, Stepper, Tick};
use crate::models::climate::air::MoistureTransport;
use crate::process::coarse;
use crate::process::interpolation::interpolate_bilinear;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Cells, RAIN};
use thalweg_core::{Field, Grid, Result, Terrain, choice, params};

choice! {
    /// How the wind direction is determined.
    pub enum Winds {
        /// By latitude: trade winds to 30°, westerlies to 60°, polar easterlies beyond.
        Belts = "belts",
        /// The same direction everywhere, given by `azimuth`.
        From = "from",
    }
}

params! {
    /// Computes how much rain falls at each place, from the latitude, the distance from the sea along the wind and the
    /// slopes that the wind climbs; the ground is not changed.
    ///
    /// Open sea at latitude φ receives 0.35 + 1.5·e^−(φ/10°)² + 0.75·e^−((|φ| − 45°)/16°)² m/a of rain, times `amount`.
    /// The wind u carries moisture w, relative to that over open sea: u·∇w − D·∇²w = (1 − w)/fill over sea, and
    /// −(1 − returned)·r·w on land, with D the parameter `mixing` and r = max(least/reach, 1/reach + u·∇h/rise). Air
    /// that climbs the ground h loses its moisture over `rise` metres of height; air that descends keeps most of it,
    /// which leaves a rain shadow behind mountains. The rain is r·w·reach times that of open sea. The layer `rain` is
    /// this rain divided by `most`, at most 1. The equation is solved on coarse cells of width `stride`, by upwind
    /// differences and Gauss–Seidel sweeps from all four corners, and interpolated smoothly between them. Beyond the
    /// map there is open sea.
    ///
    /// Source: Smith & Barstad (2004), *A linear theory of orographic precipitation*,
    /// doi:10.1175/1520-0469(2004)061<1377:ALTOOP>2.0.CO;2, where lifted air condenses and descending air evaporates;
    /// Roe (2005), *Orographic precipitation*, doi:10.1146/annurev.earth.33.092203.122541, for the upslope model with
    /// depletion; zonal means after Adler et al. (2003), *The version-2 Global Precipitation Climatology Project
    /// monthly precipitation analysis*, doi:10.1175/1525-7541(2003)004<1147:TVGPCP>2.0.CO;2. Deviations: there are no
    /// waves over mountains, and rain is not carried downwind while it forms and falls; moisture is used up, which the
    /// linear theory leaves out.
    ///
    /// Layers: it needs none and uses none. It writes `rain`, which models of water use: `stream_power` where its own
    /// `rain` is above 0, `drainage`, `droplets` and `hydrology`.
    ///
    /// Limits: there are no seasons, so no monsoon and no shift of the belts. Winds do not flow around mountains. On
    /// maps narrower than a few strides, one latitude and one wind direction determine everything.
    pub struct Climate {
        /// Latitude of the centre of the map, which determines its position in the wind and rain belts.
        latitude: f64 = 45.0, within -90.0..=90.0, unit "°", source "ours";
        /// How the wind direction is determined.
        winds: Winds = Winds::Belts, within .., unit "1", source "ours";
        /// Direction that the wind comes from, clockwise from north, for `winds = "from"`.
        azimuth: f64 = 270.0, within -360.0..=360.0, unit "°", source "ours";
        /// Factor on the rain; 1 is the rain of the Earth.
        amount: f64 = 1.0, within 0.0..=100.0, unit "1", scales Rain, source "Adler et al. 2003";
        /// Rain at which the layer has the value 1; where more falls the layer stays at 1.
        most: f64 = 4.0, within 0.01..=100.0, unit "m/a", source "ours";
        /// Distance over level land on which rain reduces the moisture of the air to 1/e, if no rain evaporates again.
        reach: f64 = 1.5e6, within 1e3..=1e8, unit "m", scales Size, source "ours; water stays in the air for 8 to 9 days";
        /// Share of the rain over level land that falls even where air descends, from clouds that rise over warm
        /// ground.
        least: f64 = 0.15, within 0.0..=1.0, unit "1", source "ours";
        /// Distance over sea on which the moisture deficit of dry air falls to 1/e.
        fill: f64 = 4e5, within 1e3..=1e8, unit "m", scales Size, source "ours";
        /// Height that air must climb to lose all but 1/e of its moisture: lower values give wetter slopes and drier
        /// rain shadows.
        rise: f64 = 4500.0, within 100.0..=1e5, unit "m", scales Relief,
            source "Roe 2005: a scale height of 2 to 3 km, and half of what condenses falls";
        /// Share of the rain on land that evaporates again there.
        returned: f64 = 0.5, within 0.0..=1.0, unit "1", source "Trenberth et al. 2007: 0.65 of land's rain";
        /// Distance over which eddies mix the air.
        mixing: f64 = 1e5, within 0.0..=1e7, unit "m", scales Size, source "ours";
        /// Width of the cells on which the moisture is computed; at least a 512th of the map.
        stride: f64 = 16_000.0, within 0.01..=1e6, unit "m", scales Size, source "ours";
    }
}

/// Maximum number of cells a side of the grid on which moisture is computed.
const MAX_COARSE_CELLS_PER_SIDE: usize = 512;

impl Climate {
    /// Returns the number of grid cells per side of a cell of the coarser grid on which moisture is computed.
    fn coarsening_factor(&self, grid: &Grid) -> usize {
        let longest = grid.rows().max(grid.cols());
        // The blocks become larger than `stride` where the coarse grid would have more than 512 cells a side.
        let wanted = (self.stride / grid.cell).round().clamp(1.0, longest as f64) as usize;
        wanted.max(longest.div_ceil(MAX_COARSE_CELLS_PER_SIDE))
    }

    /// Returns the constants of moisture transport on cells of `cell` metres.
    fn moisture_transport(&self, cell: f64) -> MoistureTransport {
        let Self { reach, least, fill, rise, returned, mixing, .. } = *self;
        MoistureTransport { cell, reach, least, fill, rise, returned, mixing }
    }

    /// Returns the latitude at `y` metres southward in the world.
    fn latitude_at(&self, grid: &Grid, y: f64) -> f64 {
        belts::normalize_latitude(self.latitude + belts::southing_to_degrees(y - 0.5 * grid.map_extent().height))
    }

    /// Returns the wind at a latitude, eastward and southward.
    fn wind_at(&self, latitude: f64) -> [f64; 2] {
        match self.winds {
            Winds::Belts => belts::zonal_mean_wind(latitude),
            Winds::From => {
                let (sin, cos) = libm::sincos(self.azimuth.to_radians());
                // `azimuth` is where the wind comes from: a wind from the north (0°) blows southward.
                [-sin, cos]
            }
        }
    }
}

impl Model for Climate {
    fn about(&self) -> About {
        About {
            name: "climate",
            title: "Climate",
            summary: "Computes the distribution of rain by latitude, wind and relief.",
            source: "Smith & Barstad (2004), A linear theory of orographic precipitation; Roe (2005), Orographic precipitation",
            family: Family::Analysis,
            needs: &[],
            uses: &[],
            writes: &[RAIN],
            tables: &[],
            placed: true,
            loops: false,
        }
    }

    fn shift_map_origin(&mut self, [_, south]: [f64; 2]) {
        self.latitude = belts::normalize_latitude(self.latitude + belts::southing_to_degrees(south));
    }

    fn steps(&self, _grid: &Grid) -> u32 {
        1
    }

    fn reach(&self, _grid: &Grid) -> StepReach {
        StepReach::Whole
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // The rain, and on the coarser grid the ground, sea, rates, moisture and rain.
        4 * grid.len() as u64 + 40 * (coarse::coarsen_grid(grid, self.coarsening_factor(grid)).len() as u64)
    }

    fn start(&self, _grid: &Grid) -> Result<Box<dyn Stepper>> {
        Ok(Box::new(ClimateStepper(self.clone())))
    }
}

struct ClimateStepper(Climate);

impl Stepper for ClimateStepper {
    fn run_step(&mut self, terrain: &mut Terrain, _: Tick) -> Result<MassBalance> {
        let (model, fine) = (&self.0, &terrain.grid);
        let factor = model.coarsening_factor(fine);
        let small = coarse::coarsen_grid(fine, factor);
        // The equation is solved on the coarse cells; only the shares of rain are interpolated to the fine ones.
        let (ground, sea) = average_blocks(terrain, &small, factor);
        let latitudes: Vec<f64> = (0..small.rows()).map(|i| model.latitude_at(fine, small.row_center_y(i))).collect();
        let wind: Vec<[f64; 2]> = latitudes.iter().map(|latitude| model.wind_at(*latitude)).collect();
        let over_sea = model.moisture_transport(small.cell).compute_relative_rain(&ground, &sea, &wind);
        let share = |i: usize, j: usize| {
            (model.amount * belts::zonal_mean_rain(latitudes[i]) * over_sea[(i, j)] / model.most).clamp(0.0, 1.0) as f32
        };
        let shares = Field::from_fn(small.size, share);
        let rain = interpolate_bilinear(&shares, &small, fine);
        terrain.insert_layer(&RAIN, Cells::Float(rain))?;
        Ok(MassBalance::default())
    }
}

/// Returns the mean ground of each block, in metres above the sea (or above zero if there is none), and which blocks
/// are mostly sea.
fn average_blocks(terrain: &Terrain, small: &Grid, factor: usize) -> (Field<f64>, Field<bool>) {
    let fine = &terrain.grid;
    let sea = fine.sea_level;
    let side = factor as i64;
    let span = |block: usize, axis: usize| {
        // Blocks are anchored to world cells, so that those at a window's rim are cut off.
        let from = (small.origin[axis] + block as i64) * side - fine.origin[axis];
        let bound = |x: i64| x.clamp(0, fine.size[axis] as i64) as usize;
        bound(from)..bound(from + side)
    };
    let mut means = Field::new(small.size, (0.0, false));
    means.par_rows_mut().for_each(|(i, row)| {
        for (j, mean) in row.iter_mut().enumerate() {
            let (mut sum, mut count, mut wet) = (0i64, 0i64, 0i64);
            for r in span(i, 0) {
                for c in span(j, 1).filter(|c| !terrain.is_nodata(r, *c)) {
                    let height = terrain.ground[(r, c)];
                    let is_wet = sea.is_some_and(|sea| height <= sea);
                    let base = sea.map_or(0, |sea| sea.0);
                    // Heights are summed in whole units. The sea's surface counts as 0, whatever its depth: the wind
                    // blows over it.
                    sum += if is_wet { 0 } else { i64::from(height.0) - i64::from(base) };
                    wet += i64::from(is_wet);
                    count += 1;
                }
            }
            let metres = sum as f64 / UNITS / count.max(1) as f64;
            *mean = (metres, 2 * wet > count);
        }
    });
    (means.map(|(metres, _)| *metres), means.map(|(_, sea)| *sea))
}
