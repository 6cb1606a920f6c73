//! Geomorphometric measurements of a terrain: slopes, hypsometry, drainage, channel network and roughness.
//!
//! [`measure_terrain`] takes a terrain and returns a list of [`Measure`]s, each with its unit, its usual range in
//! nature and the source of that range, and the [`Curve`]s behind them. A measure that cannot be determined (for a
//! single cell, a plain, or too small an area) is absent, with a reason, instead of having a meaningless value. Each
//! file here contains one topic: the estimation method and the declarations. Sums are taken in row order, so the
//! results are bit-identical for any number of threads.

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

pub use list::list_specs;
pub use sheet::draw_measures;
pub use spec::{AxisScale, Curve, Difference, Group, Measure, MeasureOptions, Measures, PowerLaw, Spec};

use std::ops::Range;
use thalweg_core::declare::operation::Operation as _;

use crate::products::measure::curvature::Curvatures;
use crate::products::measure::drainage::MeasuredDrainage;
use crate::products::measure::geomorphons::Forms;
use crate::products::measure::ground::MeasuredLand;
use crate::products::measure::hypsometry::Hypsometry;
use crate::products::measure::network::Channels;
use crate::products::measure::quantiles::PASSES;
use crate::products::measure::rim::RimStatistics;
use crate::products::measure::slope::SlopeStatistics;
use thalweg_core::{Grid, Result, Terrain};
use thalweg_flow::Land;

/// Measures a terrain.
///
/// Land is every cell that has data and is above the sea. Takes about 70 bytes of memory per cell while running.
///
/// # Errors
/// Returns an error if a setting is out of range ([`MeasureOptions`]), or if the terrain's fields differ in size.
///
/// # Examples
/// A plane that falls from 15 m to 0 m.
///
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_render::products::measure::{MeasureOptions, measure_terrain};
///
/// let heights: Vec<f32> = (0..16 * 16).map(|k| (k / 16) as f32).collect();
/// let terrain = Terrain::from_metres(Grid::new([16, 16], 10.0)?, &heights)?;
/// let measures = measure_terrain(&terrain, &MeasureOptions::default())?;
/// assert_eq!(measures.value("relief"), Some(15.0));
/// assert_eq!(measures.value("mean_height"), Some(7.5));
/// assert_eq!(measures.value("hypsometric_integral"), Some(0.5));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn measure_terrain(terrain: &Terrain, settings: &MeasureOptions) -> Result<Measures> {
    settings.check_ranges()?;
    Land::from_terrain(terrain).check()?;
    let mut all = Measures::new(&terrain.grid, settings);
    let ground = MeasuredLand::new(terrain);
    let local = LocalMeasures::from_passes(settings, &mut |look| {
        look(&ground);
        Ok(())
    })?;
    // From here on, measures are added in the order of `list_specs`.
    local.report_measures(&mut all);
    spectrum::measure_spectrum(&ground, &mut all);
    let catchments = MeasuredDrainage::new(&ground);
    catchments.report_drainage(&ground, local.level, &mut all);
    let channels = Channels::trace(&ground, &catchments, settings);
    channels.report_density(&ground, &mut all);
    concavity::measure_concavity(&ground, &catchments.drainage, &channels, &mut all);
    hack::measure_hack_law(&ground, &catchments, &channels, &mut all);
    horton::measure_horton_laws(&channels, &mut all);
    plan_form::measure_plan_form(&channels, &mut all);
    trunk::measure_trunk(&ground, &catchments.drainage, &channels, &mut all);
    local.rim.report_measures(terrain.grid.size, &mut all);
    Ok(all)
}

/// The reason for the absence of measures that need the whole map, when the map is read by rows.
const BY_ROWS: &str = "left out: it needs the whole map in memory";

/// The number of rows that are measured at once.
const BAND: usize = 256;

/// Measures a terrain that need not be in memory, by reading it by rows four times. The result is bit-identical to
/// that of [`measure_terrain`], except that the spectrum, pits, and the drainage with its network are absent, with that
/// reason.
///
/// `read` returns the terrain of some of `grid`'s rows, with all columns and its sea level. [`measure_bytes`] returns
/// the memory that is needed.
///
/// # Errors
/// Returns an error if a setting is out of range ([`MeasureOptions`]), and the errors of `read`.
pub fn measure_rows(
    grid: &Grid,
    settings: &MeasureOptions,
    read: &mut dyn FnMut(Range<usize>) -> Result<Terrain>,
) -> Result<Measures> {
    settings.check_ranges()?;
    let map = grid.size;
    // At least one row, because derivatives always use the neighbours.
    let margin = settings.search.max(1);
    let local = LocalMeasures::from_passes(settings, &mut |look| {
        for first in (0..map[0]).step_by(BAND) {
            let last = (first + BAND).min(map[0]);
            let from = first.saturating_sub(margin);
            // The margin contains the rows that lines of sight from this band cross.
            let terrain = read(from..(last + margin).min(map[0]))?;
            look(&MeasuredLand::from_rows(&terrain, map, from, first - from..last - from));
        }
        Ok(())
    })?;
    let mut all = Measures::new(grid, settings);
    local.report_measures(&mut all);
    all.mark_missing(&spectrum::SPECS, BY_ROWS);
    drainage::report_local(local.count, local.level, BY_ROWS, &mut all);
    all.mark_missing(&network::SPECS, BY_ROWS);
    all.mark_missing(&concavity::SPECS, BY_ROWS);
    all.mark_missing(&hack::SPECS, BY_ROWS);
    all.mark_missing(&horton::SPECS, BY_ROWS);
    all.mark_missing(&plan_form::SPECS, BY_ROWS);
    all.mark_missing(&trunk::SPECS, BY_ROWS);
    local.rim.report_measures(map, &mut all);
    Ok(all)
}

/// Returns the maximum memory in bytes that [`measure_rows`] takes for a map with this number of columns, including
/// the terrain of the rows in memory.
pub fn measure_bytes(cols: usize, settings: &MeasureOptions) -> u64 {
    /// The number of bytes per cell: its elevation and mask, the land mask, and results per cell.
    const CELL: u64 = 12;
    /// The number of bytes of the tables of quantiles.
    const TABLES: u64 = 16 << 20;
    ((BAND + 2 * settings.search) as u64).saturating_mul(cols as u64).saturating_mul(CELL).saturating_add(TABLES)
}

/// The measures that depend only on cells and their surroundings.
struct LocalMeasures {
    slopes: SlopeStatistics,
    heights: Hypsometry,
    curvatures: Curvatures,
    forms: Forms,
    rim: RimStatistics,
    level: u64,
    count: usize,
}

/// A function that visits all land once, in row order.
type LandVisitor<'a> = dyn FnMut(&mut dyn FnMut(&MeasuredLand<'_>)) -> Result<()> + 'a;

impl LocalMeasures {
    fn from_passes(settings: &MeasureOptions, through: &mut LandVisitor<'_>) -> Result<Self> {
        let mut all = Self {
            slopes: SlopeStatistics::new(),
            heights: Hypsometry::default(),
            curvatures: Curvatures::new(),
            forms: Forms::default(),
            rim: RimStatistics::default(),
            level: 0,
            count: 0,
        };
        // Each pass visits the same land in the same order, as `Quantiles` requires; single counts are taken in the
        // first.
        for pass in 0..PASSES {
            through(&mut |ground| {
                all.slopes.add_cells(ground, pass);
                all.heights.add_cells(ground, pass);
                all.curvatures.add_cells(ground, pass);
                if pass == 0 {
                    all.forms.add_cells(ground, settings);
                    all.rim.add_cells(ground);
                    all.level += drainage::level_cells(ground);
                    all.count += ground.count;
                }
            })?;
            all.slopes.end_pass();
            all.curvatures.end_pass();
        }
        Ok(all)
    }

    /// Takes the measures that are first in the list.
    fn report_measures(&self, all: &mut Measures) {
        self.slopes.report_measures(all);
        self.heights.report_measures(all);
        self.curvatures.report_measures(all);
        self.forms.report_measures(all);
    }
}
