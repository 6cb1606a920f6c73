//! [`PlantSite`]: the conditions of the ground for plants.

use super::ForestRules;
use super::kinds::{KINDS, PlantKind};
use thalweg_core::base::cast::clamp_share;
use thalweg_core::{Field, Grid, Height};
use thalweg_flow::D8;

/// The width of the range over which a kind's probability falls to zero towards its limits: in slope (tangent), in
/// wetness, and in shares of the tree line's elevation.
const SOFT: f32 = 0.1;

/// The least sine of the slope in the wetness formula: level ground drains through the slope of its water table.
const LEVEL: f32 = 0.01;

/// The ground on which plants grow, and the water on it. All fields have the grid's size.
#[derive(Debug, Clone, Copy)]
pub struct PlantSite<'a> {
    /// The grid, including its sea level.
    pub grid: &'a Grid,
    /// The elevation of the ground.
    pub ground: &'a Field<Height>,
    /// True where there is no data.
    pub nodata: Option<&'a Field<bool>>,
    /// The depth of standing water.
    pub pool: Option<&'a Field<Height>>,
    /// The depth of any water in metres.
    pub water: Option<&'a Field<f32>>,
    /// The discharge through each cell, in m³/s.
    pub discharge: Option<&'a Field<f32>>,
    /// The share of the seeds that the soil supports, 0 to 1.
    pub fertility: Option<&'a Field<f32>>,
}

impl PlantSite<'_> {
    /// Returns true if cell (i, j) is open water: sea, a pool, a stream, or water deeper than plants tolerate.
    pub fn is_wet(&self, i: usize, j: usize, rules: &ForestRules) -> bool {
        let over = |field: Option<&Field<f32>>, limit: f32| field.is_some_and(|field| field[(i, j)] > limit);
        self.grid.sea_level.is_some_and(|sea| self.ground[(i, j)] <= sea)
            || self.pool.is_some_and(|pool| pool[(i, j)].0 > 0)
            || over(self.water, rules.water)
            || over(self.discharge, rules.stream)
    }

    /// Returns true if plants can grow in cell (i, j), which is dry land with data.
    pub fn is_land(&self, i: usize, j: usize, rules: &ForestRules) -> bool {
        !self.nodata.is_some_and(|mask| mask[(i, j)]) && !self.is_wet(i, j, rules)
    }

    /// Returns the probability that a seed of each of [`KINDS`] takes root in cell (i, j), before crowding: 0 to 1.
    pub fn rooting_chances(&self, i: usize, j: usize, rules: &ForestRules) -> [f32; KINDS.len()] {
        if !self.is_land(i, j, rules) {
            return [0.0; KINDS.len()];
        }
        let slope = self.slope(i, j);
        let elevation = self.height_above_sea(i, j) / rules.tree_line.max(1.0);
        let wetness = self.wetness(i, j, slope, rules);
        let fertility = self.fertility.map_or(1.0, |field| clamp_share(field[(i, j)]));
        KINDS.map(|kind| {
            let chance = fertility
                * taper_within_limits(slope, [f32::NEG_INFINITY, kind.slope])
                * taper_within_limits(elevation, kind.elevation)
                * taper_within_limits(wetness, kind.wetness);
            // NaN in a layer gives a probability of zero.
            if chance > 0.0 && self.has_shore_nearby(i, j, &kind, rules) { chance } else { 0.0 }
        })
    }

    /// Returns the tangent of the ground's slope between the four neighbours.
    fn slope(&self, i: usize, j: usize) -> f32 {
        let [rows, cols] = self.grid.size;
        let (north, south) = (i.saturating_sub(1), (i + 1).min(rows - 1));
        let (west, east) = (j.saturating_sub(1), (j + 1).min(cols - 1));
        let rise = |a: Height, b: Height, cells: usize| {
            (b.metres_f32() - a.metres_f32()) / (cells.max(1) as f32 * self.grid.cell as f32)
        };
        let down = rise(self.ground[(north, j)], self.ground[(south, j)], south - north);
        let across = rise(self.ground[(i, west)], self.ground[(i, east)], east - west);
        (down * down + across * across).sqrt()
    }

    /// Returns the elevation in metres above the sea.
    fn height_above_sea(&self, i: usize, j: usize) -> f32 {
        let sea = self.grid.sea_level.unwrap_or(Height::ZERO);
        self.ground[(i, j)].metres_f32() - sea.metres_f32()
    }

    /// Returns the share of the soil's depth that is saturated by seepage: q/(T sin θ), where q is the discharge per
    /// metre of contour (Montgomery & Dietrich 1994), at most 1.
    fn wetness(&self, i: usize, j: usize, slope: f32, rules: &ForestRules) -> f32 {
        let Some(discharge) = self.discharge else { return 0.0 };
        // The sine is the tangent over √(1 + tangent²).
        let sine = (slope / (1.0 + slope * slope).sqrt()).max(LEVEL);
        (discharge[(i, j)] / self.grid.cell as f32 / (rules.transmissivity * sine)).clamp(0.0, 1.0)
    }

    /// Returns true if open water is as near as the kind needs it. Only the eight directions at that distance are
    /// tested; a neighbouring cell is always near enough.
    fn has_shore_nearby(&self, i: usize, j: usize, kind: &PlantKind, rules: &ForestRules) -> bool {
        let Some(shore) = kind.shore else { return true };
        // The distance is at least one cell, so that a shore is found on cells that are wider.
        let cells = (shore / self.grid.cell).round().max(1.0) as isize;
        let [rows, cols] = self.grid.size;
        D8::OFFSETS.iter().any(|[di, dj]| {
            let (r, c) = (i.checked_add_signed(di * cells), j.checked_add_signed(dj * cells));
            matches!((r, c), (Some(r), Some(c)) if r < rows && c < cols
                && !self.nodata.is_some_and(|mask| mask[(r, c)]) && self.is_wet(r, c, rules))
        })
    }
}

/// Returns 1 well inside two limits, falling linearly to 0 at the limits and beyond.
fn taper_within_limits(x: f32, [low, high]: [f32; 2]) -> f32 {
    ((x - low) / SOFT).min((high - x) / SOFT).clamp(0.0, 1.0)
}
