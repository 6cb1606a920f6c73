//! What a geomorphologist would print of a terrain: slopes, hypsometry, drainage, its network and its roughness.
//!
//! [`measure`] takes a terrain and gives a list of [`Measure`]s, each with its unit, what is usual in nature and by whom that
//! was found, and the [`Curve`]s behind them. What cannot be had (of one cell, of a plain, of too small a land) is missing
//! with a reason, never a number that means nothing. Each file here holds one idea: how it is estimated, and its
//! declarations. Sums run in the order of rows, so the figures are the same bits for any number of threads.

mod chart;
mod concavity;
mod curvature;
mod drainage;
mod fit;
mod geomorphons;
mod ground;
mod hack;
mod horton;
mod hypsometry;
mod list;
mod network;
mod plan_form;
mod quantiles;
mod rim;
mod sheet;
mod slope;
mod spec;
mod spectrum;
mod svg;
mod tree;
mod trunk;

#[cfg(test)]
mod testing;

pub use list::specs;
pub use sheet::draw_measures;
pub use spec::{Curve, Difference, Group, Measure, MeasureSettings, Measures, PowerLaw, Scale, Spec};

use std::ops::Range;

use crate::products::measure::curvature::Curvatures;
use crate::products::measure::drainage::Catchments;
use crate::products::measure::geomorphons::Forms;
use crate::products::measure::ground::Ground;
use crate::products::measure::hypsometry::Hypsometry;
use crate::products::measure::network::Channels;
use crate::products::measure::quantiles::PASSES;
use crate::products::measure::rim::Rim;
use crate::products::measure::slope::Slopes;
use thalweg_core::{Grid, Result, Terrain};
use thalweg_flow::Land;

/// Measures a terrain.
///
/// Land is what has data and lies above the sea. Takes about 70 bytes a cell while it works.
///
/// # Errors
/// When a setting is out of range ([`MeasureSettings`]), or the terrain's parts are not of one size.
pub fn measure(terrain: &Terrain, settings: &MeasureSettings) -> Result<Measures> {
    settings.check()?;
    Land::of(terrain).check()?;
    let mut all = Measures::new(&terrain.grid, settings);
    let ground = Ground::of(terrain);
    let local = Local::of(settings, &mut |look| {
        look(&ground);
        Ok(())
    })?;
    local.take(&mut all);
    spectrum::measure(&ground, &mut all);
    let catchments = Catchments::of(&ground);
    catchments.measure(&ground, local.level, &mut all);
    let channels = Channels::trace(&ground, &catchments, settings);
    channels.measure(&ground, &mut all);
    concavity::measure(&ground, &catchments.drainage, &channels, &mut all);
    hack::measure(&ground, &catchments, &channels, &mut all);
    horton::measure(&channels, &mut all);
    plan_form::measure(&channels, &mut all);
    trunk::measure(&ground, &catchments.drainage, &channels, &mut all);
    local.rim.take(terrain.grid.size, &mut all);
    Ok(all)
}

/// Why measures of the whole map are missing where it is read by rows.
const BY_ROWS: &str = "left out: it needs the whole map in memory";

/// Rows that are measured at once.
const BAND: usize = 256;

/// Measures a terrain that need not be in memory, read by rows four times: what [`measure`] gives, to the bit, but for the spectrum,
/// pits and the drainage with its network, which are missing with that reason.
///
/// `read` gives the terrain of some of `grid`'s rows, all columns of them, with its sea. What it takes of memory [`measure_bytes`] tells.
///
/// # Errors
/// When a setting is out of range ([`MeasureSettings`]); what `read` meets.
pub fn measure_rows(
    grid: &Grid,
    settings: &MeasureSettings,
    read: &mut dyn FnMut(Range<usize>) -> Result<Terrain>,
) -> Result<Measures> {
    settings.check()?;
    let map = grid.size;
    // Neighbours are looked at in any case.
    let margin = settings.search.max(1);
    let local = Local::of(settings, &mut |look| {
        for first in (0..map[0]).step_by(BAND) {
            let last = (first + BAND).min(map[0]);
            let from = first.saturating_sub(margin);
            let terrain = read(from..(last + margin).min(map[0]))?;
            look(&Ground::rows(&terrain, map, from, first - from..last - from));
        }
        Ok(())
    })?;
    let mut all = Measures::new(grid, settings);
    local.take(&mut all);
    all.leave(&spectrum::SPECS, BY_ROWS);
    drainage::take_local(local.count, local.level, BY_ROWS, &mut all);
    all.leave(&network::SPECS, BY_ROWS);
    all.leave(&concavity::SPECS, BY_ROWS);
    all.leave(&hack::SPECS, BY_ROWS);
    all.leave(&horton::SPECS, BY_ROWS);
    all.leave(&plan_form::SPECS, BY_ROWS);
    all.leave(&trunk::SPECS, BY_ROWS);
    local.rim.take(map, &mut all);
    Ok(all)
}

/// Bytes of memory that [`measure_rows`] takes at the most over a map of so many columns, with the terrain of the rows at hand.
pub fn measure_bytes(cols: usize, settings: &MeasureSettings) -> u64 {
    /// Of a cell its height and mask, land, what is seen of it.
    const CELL: u64 = 12;
    /// Tables of quantiles.
    const TABLES: u64 = 16 << 20;
    ((BAND + 2 * settings.search) as u64).saturating_mul(cols as u64).saturating_mul(CELL).saturating_add(TABLES)
}

/// What is told of cells and of what lies near them.
struct Local {
    slopes: Slopes,
    heights: Hypsometry,
    curvatures: Curvatures,
    forms: Forms,
    rim: Rim,
    level: u64,
    count: usize,
}

/// Goes through all land once, in the order of rows.
type Through<'a> = dyn FnMut(&mut dyn FnMut(&Ground<'_>)) -> Result<()> + 'a;

impl Local {
    fn of(settings: &MeasureSettings, through: &mut Through<'_>) -> Result<Self> {
        let mut all = Self {
            slopes: Slopes::new(),
            heights: Hypsometry::default(),
            curvatures: Curvatures::new(),
            forms: Forms::default(),
            rim: Rim::default(),
            level: 0,
            count: 0,
        };
        for pass in 0..PASSES {
            through(&mut |ground| {
                all.slopes.look(ground, pass);
                all.heights.look(ground, pass);
                all.curvatures.look(ground, pass);
                if pass == 0 {
                    all.forms.look(ground, settings);
                    all.rim.look(ground);
                    all.level += drainage::level_cells(ground);
                    all.count += ground.count;
                }
            })?;
            all.slopes.end();
            all.curvatures.end();
        }
        Ok(all)
    }

    /// Takes what stands first in the list.
    fn take(&self, all: &mut Measures) {
        self.slopes.take(all);
        self.heights.take(all);
        self.curvatures.take(all);
        self.forms.take(all);
    }
}
