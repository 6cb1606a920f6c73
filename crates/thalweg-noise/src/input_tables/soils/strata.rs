//! [`Strata`]: rock beds of differing hardness, stacked on each other, inclined and gently warped.

use serde_json::Map;

use crate::fractal::{Fractal, FractalSettings};
use crate::input_tables::Given;
use crate::input_tables::rows::{self, ColumnSpec};
use crate::input_tables::soils::degrees_to_slope;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Column, Table};
use thalweg_core::{Cell, Error, Field, Grid, Result, Terrain};

/// The name of a terrain's table of beds, one row per bed, the lowest first. Its columns are the fields of [`Bed`].
pub const STRATA: &str = "strata";

/// The name of a terrain's table, of one row, that describes the orientation of the beds. Its columns are the fields
/// of [`BedOrientation`]. Without it the beds are level, starting at elevation 0.
pub const STRATA_ORIENTATION: &str = "strata_lie";

/// The largest number of beds.
const MAX_BEDS: usize = 1000;

/// The largest total thickness of the beds in metres: the range of accepted elevations.
const MAX_THICKNESS: f64 = 32_000.0;

/// The syntax of a bed in a recipe.
const WRITTEN: &str = "{ thickness = metres, hardness = share, talus = degrees }";

/// A rock bed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bed {
    /// The thickness in metres, 0.1 to 10 000.
    pub thickness: f64,
    /// The share of erosion that the bed resists, like the layer `hardness`: 0 erodes like sediment, 1 does not
    /// erode. For example, 0.5 halves every cut.
    pub hardness: f32,
    /// The steepest stable slope in the bed, in degrees from horizontal, 1 to 89.
    pub talus: f32,
}

const ENTRIES: [ColumnSpec; 3] = [
    ColumnSpec {
        name: "thickness",
        unit: "m",
        min: 0.1,
        max: 10_000.0,
        about: "Thickness; the lowest bed comes first.",
    },
    ColumnSpec { name: "hardness", unit: "1", min: 0.0, max: 1.0, about: "Share of a cut that it withstands." },
    ColumnSpec { name: "talus", unit: "°", min: 1.0, max: 89.0, about: "Steepest slope that stands in it." },
];

impl Bed {
    fn to_numbers(self) -> [f32; 3] {
        [self.thickness as f32, self.hardness, self.talus]
    }

    fn from_numbers([thickness, hardness, talus]: [f32; 3]) -> Self {
        Self { thickness: thickness.into(), hardness, talus }
    }

    /// Returns the thickness in fixed-point units.
    fn thickness_units(&self) -> i64 {
        libm::round(self.thickness * UNITS) as i64
    }
}

/// The orientation of the beds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BedOrientation {
    /// The elevation in metres, −16 000 to 16 000, of the bottom of the lowest bed in the world's north-western
    /// corner. For example, with a base of −200 m, a lowest bed of 300 m ends at 100 m there.
    pub base: f64,
    /// The dip of the beds, as fall over run, 0 to 1 m/m.
    pub dip: f64,
    /// The dip direction in degrees clockwise from north, 0 to 360.
    pub direction: f64,
    /// The amplitude of the vertical warp in metres, 0 to 10 000: three standard deviations.
    pub warp: f64,
    /// The wavelength of the warp in metres, 1 to 10 000 000.
    pub wavelength: f64,
    /// The seed of the warp's noise.
    pub seed: i64,
}

const ORIENTATION_ENTRIES: [ColumnSpec; 5] = [
    ColumnSpec { name: "base", unit: "m", min: -16_000.0, max: 16_000.0, about: "" },
    ColumnSpec { name: "dip", unit: "m/m", min: 0.0, max: 1.0, about: "" },
    ColumnSpec { name: "direction", unit: "°", min: 0.0, max: 360.0, about: "" },
    ColumnSpec { name: "warp", unit: "m", min: 0.0, max: 10_000.0, about: "" },
    ColumnSpec { name: "wavelength", unit: "m", min: 1.0, max: 1e7, about: "" },
];

impl Default for BedOrientation {
    fn default() -> Self {
        Self { base: 0.0, dip: 0.0, direction: 0.0, warp: 0.0, wavelength: 1000.0, seed: 0 }
    }
}

impl Given for Bed {
    const TABLE: &'static str = STRATA;
    const PASSING: bool = false;

    /// Parses the beds, the lowest first.
    fn parse(list: &toml::Value) -> Result<Vec<Self>> {
        let beds = rows::parse_rows(STRATA, list, MAX_BEDS, WRITTEN, |owner, row| {
            // The table of a terrain stores f32. Rounding here makes the beds of a recipe equal to those of a saved
            // terrain.
            Ok(Self::from_numbers(rows::parse_numbers(owner, row, &ENTRIES, &[])?.map(|x| x as f32)))
        })?;
        sum_thickness_units(&beds).map(|_| beds)
    }

    fn to_toml(&self) -> String {
        format!("{{ {} }}", rows::to_toml(self.to_numbers(), &ENTRIES))
    }

    fn schema() -> serde_json::Value {
        rows::build_schema(MAX_BEDS, &ENTRIES, Map::new())
    }

    fn fit(_: &[Self], terrain: &Terrain) -> Result<()> {
        read_strata(terrain).map(drop)
    }

    /// Replaces the beds that the terrain has.
    fn put(beds: &[Self], terrain: &mut Terrain) -> Result<()> {
        set_strata(terrain, beds)
    }
}

/// Sets the beds of a terrain, the lowest first, replacing any existing ones. They are level, starting at elevation
/// 0, until [`set_bed_orientation`] is called. Other values out of range, or more than 1000 beds, are rejected when the
/// table is read ([`read_strata()`]).
///
/// # Errors
/// Returns an error if there are no beds, or if their total thickness exceeds 32 000 m.
pub fn set_strata(terrain: &mut Terrain, beds: &[Bed]) -> Result<()> {
    sum_thickness_units(beds)?;
    let numbers: Vec<_> = beds.iter().copied().map(Bed::to_numbers).collect();
    terrain.tables.insert(STRATA.into(), rows::build_table(&numbers, &ENTRIES));
    // The orientation belonged to the beds that are replaced.
    terrain.tables.remove(STRATA_ORIENTATION);
    Ok(())
}

/// Sets the orientation of a terrain's beds.
///
/// # Errors
/// Returns an error if a value is out of the limits documented at [`BedOrientation`].
pub fn set_bed_orientation(terrain: &mut Terrain, lie: &BedOrientation) -> Result<()> {
    let values = [lie.base, lie.dip, lie.direction, lie.warp, lie.wavelength];
    let mut numbers = [0.0; 5];
    for ((number, entry), value) in numbers.iter_mut().zip(&ORIENTATION_ENTRIES).zip(values) {
        *number = entry.check(STRATA_ORIENTATION, value)? as f32;
    }
    let mut table = rows::build_table(&[numbers], &ORIENTATION_ENTRIES);
    table.columns.push(("seed".into(), "1".into(), Column::Int(vec![lie.seed])));
    terrain.tables.insert(STRATA_ORIENTATION.into(), table);
    Ok(())
}

/// Returns the total thickness of the beds in units, after which they repeat.
fn sum_thickness_units(beds: &[Bed]) -> Result<i32> {
    let sum: i64 = beds.iter().map(Bed::thickness_units).sum();
    let metres = sum as f64 / UNITS;
    match i32::try_from(sum) {
        Ok(sum) if !beds.is_empty() && metres <= MAX_THICKNESS => Ok(sum),
        _ => {
            let allowed = format!("1 bed or more, 0.1 to {MAX_THICKNESS} m thick in total");
            Err(Error::invalid_value(STRATA, format!("{} beds of {metres} m in total", beds.len()), allowed))
        }
    }
}

/// Returns the beds of a terrain; `None` if it has no such table.
///
/// # Errors
/// Returns an error if the tables, which may come from an untrusted source, lack a column or have columns of different
/// lengths, have too many rows (for the orientation: not exactly one) or a number out of range; also returns the errors
/// of [`Strata::new`].
pub fn read_strata(terrain: &Terrain) -> Result<Option<Strata>> {
    let Some(table) = terrain.tables.get(STRATA) else { return Ok(None) };
    let beds: Vec<_> =
        rows::read_numbers(STRATA, table, &ENTRIES, MAX_BEDS)?.into_iter().map(Bed::from_numbers).collect();
    let lie = terrain.tables.get(STRATA_ORIENTATION).map(read_orientation).transpose()?.unwrap_or_default();
    Strata::new(&beds, &lie, &terrain.grid).map(Some)
}

/// Reads the orientation of the beds from a table.
fn read_orientation(table: &Table) -> Result<BedOrientation> {
    let rows = rows::read_numbers(STRATA_ORIENTATION, table, &ORIENTATION_ENTRIES, 1)?;
    let ([[base, dip, direction, warp, wavelength]], Some([seed])) = (rows.as_slice(), table.int_column("seed")) else {
        return Err(Error::invalid_layer(
            STRATA_ORIENTATION,
            "must be a table with one row and with the column seed (whole numbers)",
        ));
    };
    let [base, dip, direction, warp, wavelength] = [base, dip, direction, warp, wavelength].map(|x| f64::from(*x));
    Ok(BedOrientation { base, dip, direction, warp, wavelength, seed: *seed })
}

/// Beds prepared for look-up: finding the bed at an elevation takes one division and a step or two through a table.
#[derive(Debug, Clone)]
pub struct Strata {
    /// The top of each bed in units above the bottom of the lowest one.
    tops: Vec<i32>,
    hardness: Vec<f32>,
    tan_talus: Vec<f32>,
    /// The bed at the bottom of each interval of 2^`shift` units.
    first: Vec<u16>,
    shift: u32,
    period: i32,
    /// The units to add per world row and column.
    slope: [f64; 2],
    /// The units to add in the world's cell (0, 0), without the warp.
    offset: f64,
    warp: Option<BedWarp>,
}

/// The least number of intervals of the table, unless beds are very thin; so many that few beds share an interval.
const PIECES: i32 = 2048;

impl Strata {
    /// Prepares beds, the lowest first, for the world of a grid. Their values must be within the limits documented at
    /// [`Bed`] and [`BedOrientation`].
    ///
    /// # Errors
    /// Returns an error if there are none or more than 1000, if one of them has no thickness, or if their total
    /// thickness exceeds 32 000 m.
    pub fn new(beds: &[Bed], lie: &BedOrientation, grid: &Grid) -> Result<Self> {
        let period = sum_thickness_units(beds)?;
        if beds.len() > MAX_BEDS {
            return Err(Error::invalid_value(STRATA, format!("{} beds", beds.len()), format!("up to {MAX_BEDS}")));
        }
        if let Some((n, bed)) = beds.iter().enumerate().find(|(_, bed)| bed.thickness_units() < 1) {
            let name = format!("{STRATA}, bed {}, thickness", n + 1);
            return Err(Error::invalid_value(name, format!("{} m", bed.thickness), "above 0 m"));
        }
        let tops: Vec<i32> = beds
            .iter()
            .scan(0, |top, bed| {
                *top += bed.thickness_units() as i32;
                Some(*top)
            })
            .collect();
        // Intervals are a power of two of units, so a look-up needs a shift and no division.
        let shift = (period / PIECES).max(1).ilog2();
        // At most MAX_BEDS beds exist, so 16 bits hold an index.
        let bed_at = |units: i32| tops.partition_point(|top| *top <= units) as u16;
        let first = (0..=(period - 1) >> shift).map(|piece| bed_at(piece << shift)).collect();
        let (sin, cos) = libm::sincos(lie.direction.to_radians());
        // Beds fall towards the dip direction. The amount of that fall is added to an elevation, so that beds can be
        // looked up as if they were level.
        let slope = [-cos, sin].map(|part| part * lie.dip * grid.cell * UNITS);
        Ok(Self {
            hardness: beds.iter().map(|bed| bed.hardness).collect(),
            tan_talus: beds.iter().map(|bed| degrees_to_slope(bed.talus)).collect(),
            first,
            shift,
            period,
            // Half a cell in both directions leads from the corner of world cell (0, 0) to its centre.
            offset: 0.5 * (slope[0] + slope[1]) - lie.base * UNITS,
            slope,
            warp: (lie.warp > 0.0).then(|| BedWarp::new(lie, grid)),
            tops,
        })
    }

    /// Returns the offset, in [`Height`](thalweg_core::terrain::height::Height) units, to add to an elevation in
    /// world cell (row, column) before a call of [`Strata::hardness`] or [`Strata::talus`]. Whole repetitions of the
    /// beds are subtracted, so that the sum with any accepted elevation fits.
    #[inline]
    pub fn elevation_offset(&self, row: i64, column: i64) -> i32 {
        let plane = self.offset + self.slope[0] * row as f64 + self.slope[1] * column as f64;
        let units = plane - self.warp.as_ref().map_or(0.0, |warp| warp.interpolate_at(row, column));
        let period = i64::from(self.period);
        let over = (units.floor() as i64).rem_euclid(period);
        // The offset is within half a period, at most 16 000 m, and an accepted elevation is within 16 000 m: their sum
        // is below 2.1·10⁹ units and fits in 32 bits.
        (if over > period / 2 { over - period } else { over }) as i32
    }

    /// Returns the index of the bed, 0 being the lowest, at an elevation, in
    /// [`Height`](thalweg_core::terrain::height::Height) units, to which the cell's
    /// [offset](Strata::elevation_offset) is added.
    #[inline]
    pub fn bed(&self, height_plus_lean: i32) -> usize {
        let units = height_plus_lean.rem_euclid(self.period);
        let mut bed = usize::from(self.first[(units >> self.shift) as usize]);
        // The loop ends, because the last top equals the period, which is above `units`.
        while self.tops[bed] <= units {
            bed += 1;
        }
        bed
    }

    /// Returns the share of erosion, 0 to 1, that the rock at this elevation resists.
    #[inline]
    pub fn hardness(&self, height_plus_lean: i32) -> f32 {
        self.hardness[self.bed(height_plus_lean)]
    }

    /// Returns the steepest stable slope of the rock at this elevation, as rise over run (the tangent of its angle).
    #[inline]
    pub fn talus(&self, height_plus_lean: i32) -> f32 {
        self.tan_talus[self.bed(height_plus_lean)]
    }
}

/// The upward warp of the beds, computed at widely spaced points and interpolated bilinearly between them.
#[derive(Debug, Clone)]
struct BedWarp {
    /// The warp in units, by point.
    points: Field<f64>,
    /// The number of points per cell.
    pace: f64,
    /// The world number of the first row and column of points, less half a cell, in points.
    start: Cell<f64>,
}

/// The number of points per wavelength.
const POINTS: f64 = 8.0;

/// The number of octaves of the warp; finer ones would only roughen it.
const OCTAVES: u32 = 2;

impl BedWarp {
    fn new(lie: &BedOrientation, grid: &Grid) -> Self {
        // If a cell is wider than that, the grid cannot resolve the warp and the noise fades.
        let spacing = (lie.wavelength / POINTS).max(grid.cell);
        let noise = Fractal::new(
            &FractalSettings::fbm(OCTAVES, lie.wavelength, 0.4),
            None,
            RandomKey::ZERO.derive_key(lie.seed as u64),
            spacing,
        );
        let pace = grid.cell / spacing;
        // Points are the centres of cells of that spacing in the same world.
        let at = |cell: i64| (cell as f64 + 0.5) * pace - 0.5;
        let first = Cell::from_axes(|a| at(grid.origin[a]).floor());
        let size = [0, 1].map(|a| (at(grid.origin[a] + grid.size[a] as i64 - 1).floor() - first[a]) as usize + 2);
        let origin = first.map(|x| x as i64);
        let around = Grid { size, world: size, cell: spacing, origin, ..grid.clone() };
        let mut points = Field::new(size, 0.0);
        let mut line = vec![0.0; size[1]];
        for i in 0..size[0] {
            noise.fill_row(&around, i, &mut line);
            for (point, n) in points.row_mut(i).iter_mut().zip(&line) {
                *point = lie.warp * UNITS * f64::from(*n);
            }
        }
        Self { points, pace, start: first.map(|x| x + 0.5 - 0.5 * pace) }
    }

    /// Returns the warp in units in a world cell. Outside the window it returns the value at the window's edge.
    #[inline]
    fn interpolate_at(&self, row: i64, column: i64) -> f64 {
        let size = self.points.size();
        let place = |cell: i64, axis: usize| {
            let x = (cell as f64 * self.pace - self.start[axis]).clamp(0.0, (size[axis] - 1) as f64);
            // On the last point the interval before it is used, with a fraction of 1.
            let from = (x as usize).min(size[axis] - 2);
            (from, x - from as f64)
        };
        let ((i, v), (j, u)) = (place(row, 0), place(column, 1));
        let along = |i: usize| {
            let row = &self.points.row(i)[j..j + 2];
            row[0] + u * (row[1] - row[0])
        };
        let (north, south) = (along(i), along(i + 1));
        north + v * (south - north)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::CellRect;

    fn bed(thickness: f64, hardness: f32, talus: f32) -> Bed {
        Bed { thickness, hardness, talus }
    }

    fn grid() -> Grid {
        Grid::new([60, 80], 25.0).unwrap()
    }

    /// Finds the bed by climbing from the bottom of the lowest one, repetition by repetition, in whole units.
    fn climbed(beds: &[Bed], height: i64) -> usize {
        let sum: i64 = beds.iter().map(Bed::thickness_units).sum();
        let mut foot = -sum * (1 + height.abs() / sum);
        loop {
            for (number, bed) in beds.iter().enumerate() {
                if height < foot + bed.thickness_units() {
                    return number;
                }
                foot += bed.thickness_units();
            }
        }
    }

    #[test]
    fn looked_up_beds_are_those_found_by_climbing() {
        let key = RandomKey::new(5, "beds");
        for (number, most) in [(1, 40.0), (2, 9.0), (7, 200.0), (400, 3.0), (1000, 32.0), (3, 10_000.0)] {
            let beds: Vec<_> = (0..number)
                .map(|n| {
                    let key = key.derive_key(number).derive_key(n);
                    bed(
                        0.1 + (most - 0.1) * key.uniform_unit(),
                        key.derive_key(1).uniform_unit() as f32,
                        1.0 + 80.0 * key.derive_key(2).uniform_unit() as f32,
                    )
                })
                .collect();
            let strata = Strata::new(&beds, &BedOrientation::default(), &grid()).unwrap();
            // Each boundary from both sides, and arbitrary elevations, which are reached by climbing through all
            // repetitions.
            let borders = strata.tops.iter().flat_map(|top| [*top - 1, *top, *top - strata.period]);
            let anywhere = (0..400).map(|n| (key.derive_key(n).random_bits() % (1 << 32)) as u32 as i32);
            for height in borders.chain(anywhere).chain([i32::MIN, i32::MAX, 0, -1]) {
                let want = climbed(&beds, height.into());
                assert_eq!(strata.bed(height), want, "{height} over {number} beds");
                assert_eq!(strata.hardness(height), beds[want].hardness);
                assert_eq!(strata.talus(height), degrees_to_slope(beds[want].talus));
            }
        }
    }

    #[test]
    fn a_bed_without_thickness_is_refused_by_its_number() {
        for thickness in [0.0, 1e-7, -3.0, f64::NAN] {
            let beds = [bed(20.0, 0.9, 70.0), bed(thickness, 0.1, 30.0)];
            let refused = Strata::new(&beds, &BedOrientation::default(), &grid()).err().map(|error| error.to_string());
            assert!(refused.as_ref().is_some_and(|text| text.contains("bed 2")), "{thickness}: {refused:?}");
        }
    }

    #[test]
    fn beds_fall_towards_their_direction() {
        let beds = [bed(20.0, 0.9, 70.0), bed(30.0, 0.1, 30.0)];
        let lie = |dip, direction| BedOrientation { dip, direction, ..BedOrientation::default() };
        // The beds fall to the east by a quarter: 40 cells of 25 m further on, the same bed is 250 m, or five
        // periods, lower.
        let strata = Strata::new(&beds, &lie(0.25, 90.0), &grid()).unwrap();
        for row in [0, 17, 59] {
            for (column, height) in [(0, 10), (3, 44), (30, -3)] {
                let near = height * 65_536 + strata.elevation_offset(row, column);
                let far = (height - 250) * 65_536 + strata.elevation_offset(row, column + 40);
                // The sine of a right angle is exact; the offset is rounded down in both places.
                assert!((near - far).rem_euclid(strata.period).min((far - near).rem_euclid(strata.period)) <= 1);
                assert_eq!(strata.bed(near), strata.bed(far));
            }
        }
        // At x metres to the east and elevation z the depth in the pile is z + x/4.
        for column in 0..80 {
            let x = (column as f64 + 0.5) * 25.0;
            let depth = (100.0 + 0.25 * x).rem_euclid(50.0);
            let want = usize::from(depth >= 20.0);
            if (depth - 20.0).abs() > 1e-3 && depth > 1e-3 && depth < 49.999 {
                assert_eq!(strata.bed(100 * 65_536 + strata.elevation_offset(7, column)), want, "{column}");
            }
        }
        // For a dip to the south the offset depends on rows, and for one to the north with the opposite sign.
        let [south, north] = [180.0, 0.0].map(|a| Strata::new(&beds, &lie(0.02, a), &grid()).unwrap());
        for strata in [&south, &north] {
            assert!((strata.elevation_offset(5, 3) - strata.elevation_offset(5, 60)).abs() <= 1);
        }
        assert!((south.elevation_offset(11, 0) - south.elevation_offset(1, 0) - 5 * 65_536).abs() <= 1);
        assert!((north.elevation_offset(11, 0) - north.elevation_offset(1, 0) + 5 * 65_536).abs() <= 1);
        // The base raises all the beds.
        let lifted = Strata::new(&beds, &BedOrientation { base: 13.0, ..BedOrientation::default() }, &grid()).unwrap();
        assert_eq!(lifted.bed(13 * 65_536 + lifted.elevation_offset(0, 0)), 0);
        assert_eq!(lifted.bed(13 * 65_536 - 1 + lifted.elevation_offset(0, 0)), 1);
        // Any accepted elevation plus any offset fits.
        let wide = Grid { world: [1 << 16, 1 << 16], ..Grid::new([60, 80], 1e5).unwrap() };
        let strata =
            Strata::new(&[bed(10_000.0, 0.5, 40.0), bed(9_000.0, 0.5, 40.0)], &lie(1.0, 200.0), &wide).unwrap();
        for at in [0, 1000, 65_535] {
            for height in [thalweg_core::terrain::height::Height::MIN.0, thalweg_core::terrain::height::Height::MAX.0] {
                assert!(height.checked_add(strata.elevation_offset(at, at)).is_some());
            }
        }
    }

    #[test]
    fn a_warp_is_that_of_the_world_whatever_the_window_and_nearly_so_whatever_the_cell() {
        let beds = [bed(500.0, 0.9, 70.0), bed(500.0, 0.1, 30.0)];
        let lie = BedOrientation { warp: 60.0, wavelength: 900.0, seed: 3, ..BedOrientation::default() };
        let whole = Strata::new(&beds, &lie, &grid()).unwrap();
        let window = CellRect::new([11, 23], [20, 31]);
        let part = Strata::new(&beds, &lie, &grid().window(window)).unwrap();
        let fine = Strata::new(&beds, &lie, &Grid::new([180, 240], 25.0 / 3.0).unwrap()).unwrap();
        let (mut low, mut high) = (i32::MAX, i32::MIN);
        for row in 0..60 {
            for column in 0..80 {
                let lean = whole.elevation_offset(row, column);
                (low, high) = (low.min(lean), high.max(lean));
                if (11..31).contains(&row) && (23..54).contains(&column) {
                    assert_eq!(lean, part.elevation_offset(row, column));
                }
                // The middle one of nine finer cells has the same centre.
                assert!((lean - fine.elevation_offset(3 * row + 1, 3 * column + 1)).abs() <= 1, "{row}, {column}");
            }
        }
        // 60 m are three standard deviations: over several wavelengths at least one of them is reached in both
        // directions, and never six.
        assert!(low < -10 * 65_536 && high > 10 * 65_536, "{low} {high}");
        assert!(low > -120 * 65_536 && high < 120 * 65_536);
        // Outside the window the value is that of its edge.
        assert_eq!(part.elevation_offset(-5, 30), part.elevation_offset(-9, 30));
    }

    #[test]
    fn beds_go_to_a_terrain_and_come_back() {
        let list = |text: &str| Bed::parse(&text.parse::<toml::Table>().unwrap()["strata"]);
        let text = "{ thickness = 40, hardness = 0.9, talus = 70.0 }, { thickness = 25.5, hardness = 0.2, talus = 30 }";
        let beds = list(&format!("strata = [{text}]")).unwrap();
        assert_eq!(beds, [bed(40.0, 0.9, 70.0), bed(25.5, 0.2, 30.0)]);
        let written: Vec<_> = beds.iter().map(Bed::to_toml).collect();
        assert_eq!(list(&format!("strata = [{}]", written.join(", "))).unwrap(), beds);
        let mut terrain = Terrain::new(grid());
        assert!(read_strata(&terrain).unwrap().is_none());
        set_strata(&mut terrain, &beds).unwrap();
        let lie = BedOrientation { base: 12.5, dip: 0.25, direction: 45.0, warp: 8.0, wavelength: 700.0, seed: -9 };
        set_bed_orientation(&mut terrain, &lie).unwrap();
        let (got, want) = (read_strata(&terrain).unwrap().unwrap(), Strata::new(&beds, &lie, &grid()).unwrap());
        for (row, column) in [(0, 0), (12, 70), (59, 79)] {
            assert_eq!(got.elevation_offset(row, column), want.elevation_offset(row, column));
        }
        set_strata(&mut terrain, &beds).unwrap();
        assert_eq!(read_strata(&terrain).unwrap().unwrap().elevation_offset(30, 30), 0, "new beds lie level");
        for (text, words) in [
            ("strata = []", "strata = 0 beds of 0 m in total: must be 1 bed or more"),
            ("strata = [{ thickness = 0, hardness = 0, talus = 30 }]", "strata[1].thickness = 0 m"),
            ("strata = [{ thickness = 9, hardness = 1.1, talus = 30 }]", "strata[1].hardness = 1.1"),
            ("strata = [{ thickness = 9, hardness = 1, talus = 0 }]", "strata[1].talus = 0°"),
            ("strata = [{ thicknes = 9 }]", "did you mean `thickness`"),
        ] {
            let message = list(text).unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        }
        let thick = vec![bed(10_000.0, 0.5, 40.0); 4];
        assert!(set_strata(&mut terrain, &thick).unwrap_err().to_string().contains("40000 m in total"));
        set_bed_orientation(&mut terrain, &lie).unwrap();
        let forge = |name: &str, column: usize, values: Column| {
            let mut other = terrain.clone();
            other.tables.get_mut(name).unwrap().columns[column].2 = values;
            read_strata(&other).unwrap_err().to_string()
        };
        assert!(forge(STRATA, 0, Column::Float(vec![0.0, 1.0])).contains("strata[1].thickness"));
        assert!(forge(STRATA, 0, Column::Float(vec![2.0])).contains("the same length"));
        assert!(forge(STRATA_ORIENTATION, 1, Column::Float(vec![-1.0])).contains("strata_lie[1].dip"));
        assert!(forge(STRATA_ORIENTATION, 5, Column::Float(vec![1.0])).contains("seed"));
    }
}
