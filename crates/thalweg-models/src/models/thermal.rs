//! Thermal erosion, the collapse of oversteepened slopes: see [`Thermal`].

use multiversion::multiversion;
use rayon::prelude::*;

use crate::model::{About, Family, Local, MassBalance, Model, StepReach, Stepper, Tick};
use crate::process::slopes::find_float_layer;
use thalweg_core::base::cast::{self, clamp_share};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{HARDNESS, PROTECT, SEDIMENT};
use thalweg_core::{Error, Field, Grid, Height, Result, Terrain, params};
use thalweg_flow::D8;
use thalweg_flow::padded_rows::{BLOCK, Block, HERE, NEIGHBOURS, Near, read_block, round_up_to_blocks};

params! {
    /// Moves material that is steeper than its angle of repose to its lower neighbours: scree under cliffs, slopes of
    /// even steepness.
    ///
    /// For each of the eight neighbours k at distance dₖ (dx, or √2·dx) the excess is eₖ = max(0, z − zₖ −
    /// tan(talus)·dₖ). The cell gives rate·eₖ/8 to each. Sediment is moved first. Bedrock gives no more than
    /// rate·Σ max(0, z − zₖ − tan(rock_talus)·dₖ)/8 · (1 − hardness), and what it gives becomes sediment. With eighths,
    /// no cell ever rises above its highest neighbour or falls below its lowest one, so nothing oscillates, and slopes
    /// converge to the angle of repose: talus for sediment, rock_talus for bare rock, along all eight directions.
    ///
    /// Source: Musgrave, Kolb & Mace (1989), *The synthesis and rendering of eroded fractal terrains*, SIGGRAPH, §5,
    /// doi:10.1145/74334.74337; division by excess as in Olsen (2004), *Realtime procedural terrain generation*.
    /// Deviations: diagonal neighbours count over their own distance; all excesses, not only the largest one, determine
    /// the amount; and sediment is kept apart from bedrock, so that cliffs stand above their scree. Angles: dry sand
    /// 34°, scree 35–40°, wet clay 15–25°.
    ///
    /// It needs no layers, uses `sediment`, `hardness` and `protect`, and writes the ground and `sediment`. Nothing
    /// leaves the map: beyond an edge that is not looped, and at cells without data, there is no lower ground. Amounts
    /// below one height unit (1/65 536 m) do not move, so slopes end within 8/rate units of their angle. Limits: used
    /// alone it makes no valleys, and after many steps it turns the terrain into cones and pyramids.
    pub struct Thermal {
        /// How far material may slide in total. It determines the number of steps: material moves one cell per step.
        distance: f64 = 500.0, within 0.0..=1e6, unit "m", scales Age Size, source "ours";
        /// Number of steps, which replaces `distance`; with 0 the distance determines it.
        steps: u32 = 0, within 0..=1_000_000, unit "1", scales Age, source "ours";
        /// Angle of repose of sediment: scree and sand that are steeper slide.
        talus: f64 = 34.0, within 0.0..=89.0, unit "°", scales Repose, source "Musgrave 1989; dry sand";
        /// Angle above which bedrock crumbles into sediment, at least `talus`; at 90 no rock falls.
        rock_talus: f64 = 42.0, within 0.0..=90.0, unit "°", scales Slope, source "ours";
        /// Share of the greatest stable amount that slides in a step.
        rate: f64 = 1.0, within 0.0..=1.0, unit "1", source "ours";
    }
}

impl Model for Thermal {
    fn about(&self) -> About {
        About {
            name: "thermal",
            title: "Scree",
            summary: "Material slides where the slope exceeds the angle of repose: scree below cliffs, even slopes.",
            source: "Musgrave, Kolb & Mace (1989), The synthesis and rendering of eroded fractal terrains",
            family: Family::Erosion,
            uses: &[HARDNESS, PROTECT],
            writes: &[SEDIMENT],
            placed: false,
            loops: true,
            ..About::default()
        }
    }

    fn check(&self, _grid: &Grid) -> Result<()> {
        if self.rock_talus < self.talus {
            let allowed =
                format!("{}° (the talus angle) to 90°, because rock stands at least as steep as scree", self.talus);
            return Err(Error::invalid_value("thermal.rock_talus", format!("{}°", self.rock_talus), allowed));
        }
        Ok(())
    }

    fn steps(&self, grid: &Grid) -> u32 {
        if self.steps > 0 { self.steps } else { (self.distance / grid.cell).ceil().min(1e6) as u32 }
    }

    fn reach(&self, _grid: &Grid) -> StepReach {
        // A cell's change depends on what its neighbours give away, which depends on their neighbours.
        StepReach::Cells(2)
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        8 * grid.len() as u64
    }

    fn define_refinement(&self, local: &mut Local) -> Option<&'static str> {
        local.limit_slope(self.rock_talus);
        Some("the angle that rock stands at")
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        // A vertical limit, or one beyond the range of heights, becomes infinite: nothing exceeds it.
        let limit = |degrees: f64, distance: f64| {
            let drop = libm::tan(degrees.to_radians()) * distance * grid.cell * UNITS;
            if degrees >= 90.0 || drop > f64::from(i32::MAX) { f32::INFINITY } else { drop as f32 }
        };
        let drops = |degrees| D8::DISTANCES.map(|length| limit(degrees, length));
        Ok(Box::new(Slide {
            talus: drops(self.talus),
            rock: drops(self.rock_talus),
            // Eight neighbours may all be lower, so each one gets an eighth of the rate.
            share: (self.rate / 8.0) as f32,
            given: Field::new(grid.size, 0.0),
            next: Field::new(grid.size, Height::ZERO),
        }))
    }
}

/// The stable drops to a straight and to a diagonal neighbour, in height units.
type Drops = [f32; 2];

struct Slide {
    talus: Drops,
    rock: Drops,
    share: f32,
    /// The share of each excess that a cell gives away in this step.
    given: Field<f32>,
    next: Field<Height>,
}

/// The number of rows per parallel task; consecutive rows reuse the loaded neighbours.
const BAND: usize = 32;

/// The height used beyond edges and for cells without data: higher than any terrain, so nothing slides there, and such
/// cells give nothing. It is lower than the wall of [`thalweg_flow::near`], because differences from it must fit into
/// an `i32`.
const WALL: i32 = 1 << 30;

impl Stepper for Slide {
    fn run_step(&mut self, terrain: &mut Terrain, _: Tick) -> Result<MassBalance> {
        let size = terrain.grid.size;
        let loose = terrain.loose.get_or_insert_with(|| Field::new(size, Height::ZERO));
        let layers = &terrain.layers;
        let (hardness, protect) = (find_float_layer(layers, &HARDNESS), find_float_layer(layers, &PROTECT));
        let (ground, nodata) = (&terrain.ground, terrain.nodata.as_ref());
        let (talus, rock, share) = (self.talus, self.rock, self.share);
        let (cols, topology) = (size[1], terrain.grid.topology());

        // First pass: how much each cell gives, namely its full share, or less if it does not have enough movable
        // material.
        self.given.as_mut_slice().par_chunks_mut(BAND * cols).enumerate().for_each(|(band, given)| {
            let mut near = Near::new(topology, WALL);
            // Rows are padded to whole blocks; the padding keeps the softness 1 and the thickness 0 and is not copied
            // back.
            let count = round_up_to_blocks(cols);
            let (mut softness, mut thickness, mut parts) = (vec![1.0; count], vec![0; count], vec![0.0; count]);
            for (r, given) in given.chunks_mut(cols).enumerate() {
                let i = band * BAND + r;
                near.advance_to_row(i, r == 0, |i, row| read_heights(ground, nodata, i, row));
                for (to, from) in thickness.iter_mut().zip(loose.row(i)) {
                    *to = from.0;
                }
                if let Some(hardness) = hardness {
                    for (soft, hard) in softness.iter_mut().zip(hardness.row(i)) {
                        *soft = 1.0 - clamp_share(*hard);
                    }
                }
                compute_outflow_shares(&near.rows, &thickness, &softness, talus, rock, share, &mut parts);
                given.copy_from_slice(&parts[..cols]);
                if let Some(protect) = protect {
                    for (given, protect) in given.iter_mut().zip(protect.row(i)) {
                        *given *= 1.0 - clamp_share(*protect);
                    }
                }
                if let Some(nodata) = nodata {
                    for (given, void) in given.iter_mut().zip(nodata.row(i)) {
                        *given = if *void { 0.0 } else { *given };
                    }
                }
            }
        });

        // Second pass: move the material; each cell computes what it loses and what it receives from its neighbours.
        let given = &self.given;
        let bands = self.next.as_mut_slice().par_chunks_mut(BAND * cols);
        let moved: i64 = bands
            .zip(loose.as_mut_slice().par_chunks_mut(BAND * cols))
            .enumerate()
            .map(|(band, (next, loose))| {
                let mut near = Near::new(topology, WALL);
                let mut gives = Near::new(topology, 0.0);
                let (mut out, mut come) = (vec![0; round_up_to_blocks(cols)], vec![0; round_up_to_blocks(cols)]);
                let mut moved = 0;
                for (r, (next, loose)) in next.chunks_mut(cols).zip(loose.chunks_mut(cols)).enumerate() {
                    let i = band * BAND + r;
                    near.advance_to_row(i, r == 0, |i, row| read_heights(ground, nodata, i, row));
                    gives.advance_to_row(i, r == 0, |i, row| row.copy_from_slice(given.row(i)));
                    compute_flows(&near.rows, &gives.rows, talus, &mut out, &mut come);
                    for (j, ground) in ground.row(i).iter().enumerate() {
                        next[j] = Height(ground.0 - out[j] + come[j]);
                        loose[j] = Height((loose[j].0 - out[j]).max(0) + come[j]);
                        moved += i64::from(come[j]);
                    }
                }
                moved
            })
            .sum();
        // The new heights are in a second field, since neighbours still read the old ones; the fields change places.
        std::mem::swap(&mut terrain.ground, &mut self.next);
        Ok(MassBalance { eroded: moved.into(), deposited: moved.into(), ..MassBalance::default() })
    }
}

/// Reads a row's heights, with walls where there is no data.
fn read_heights(ground: &Field<Height>, nodata: Option<&Field<bool>>, i: usize, row: &mut [i32]) {
    for (to, from) in row.iter_mut().zip(ground.row(i)) {
        *to = from.0;
    }
    if let Some(nodata) = nodata {
        for (to, void) in row.iter_mut().zip(nodata.row(i)) {
            *to = if *void { WALL } else { *to };
        }
    }
}

/// The neighbours in opposite pairs, straight ones first, instead of in the order of their direction codes.
/// [`sum_in_pairs`] adds floating-point numbers in this order, so that a rotated or mirrored terrain gives the same
/// bits.
const PAIRS: [D8; 8] =
    [D8::North, D8::South, D8::West, D8::East, D8::NorthWest, D8::SouthEast, D8::NorthEast, D8::SouthWest];

/// Returns the amount by which the drop to a neighbour exceeds the stable drop `stands`, at least 0.
#[inline(always)]
fn compute_excess(z: &Block<i32>, neighbour: &Block<i32>, stands: f32) -> Block<f32> {
    let mut excess = [0.0; BLOCK];
    for x in 0..BLOCK {
        // All differences fit into an `i32`, also those from a `WALL`, so a wrapping subtraction only saves the
        // overflow check.
        excess[x] = (z[x].wrapping_sub(neighbour[x]) as f32 - stands).max(0.0);
    }
    excess
}

/// Returns `part` of each excess, rounded down.
#[inline(always)]
fn scale_to_units(part: &Block<f32>, excess: &Block<f32>) -> Block<i32> {
    let mut units = [0; BLOCK];
    for x in 0..BLOCK {
        units[x] = cast::floor_to_int(part[x] * excess[x]);
    }
    units
}

/// Returns the sum over the eight neighbours, added in opposite pairs, so that a rotated or mirrored terrain gives
/// the same bits.
#[inline(always)]
fn sum_in_pairs(mut of: impl FnMut(usize) -> Block<f32>) -> Block<f32> {
    let mut total = [[0.0; BLOCK]; 2];
    for k in [0, 4] {
        let pairs = [[of(k), of(k + 1)], [of(k + 2), of(k + 3)]];
        for x in 0..BLOCK {
            total[k / 4][x] = (pairs[0][0][x] + pairs[0][1][x]) + (pairs[1][0][x] + pairs[1][1][x]);
        }
    }
    let mut sum = [0.0; BLOCK];
    for x in 0..BLOCK {
        sum[x] = total[0][x] + total[1][x];
    }
    sum
}

/// Computes the share of each excess that the cells of a row give. Rows and results are whole blocks.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn compute_outflow_shares(
    near: &[Vec<i32>; 3],
    loose: &[i32],
    softness: &[f32],
    talus: Drops,
    rock: Drops,
    share: f32,
    given: &mut [f32],
) {
    for j in (0..given.len()).step_by(BLOCK) {
        let z = read_block(near, HERE, j);
        let wanted =
            sum_in_pairs(|k| compute_excess(&z, &read_block(near, NEIGHBOURS[PAIRS[k].index()], j), talus[k / 4]));
        let crumbling =
            sum_in_pairs(|k| compute_excess(&z, &read_block(near, NEIGHBOURS[PAIRS[k].index()], j), rock[k / 4]));
        // Available material: loose sediment, plus rock that exceeds the rock's own angle, scaled by its softness.
        for x in 0..BLOCK {
            let wanted = share * wanted[x];
            let there_is = loose[j + x] as f32 + softness[j + x] * (share * crumbling[x]);
            let part = share * (there_is / wanted);
            given[j + x] = if there_is >= wanted { share } else { part };
        }
    }
}

/// Computes what each cell of a row loses and receives, in height units.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn compute_flows(near: &[Vec<i32>; 3], gives: &[Vec<f32>; 3], talus: Drops, out: &mut [i32], come: &mut [i32]) {
    for j in (0..out.len()).step_by(BLOCK) {
        let (z, give) = (read_block(near, HERE, j), read_block(gives, HERE, j));
        let (mut lost, mut got) = ([0; BLOCK], [0; BLOCK]);
        for k in 0..8 {
            let (neighbour, given) =
                (read_block(near, NEIGHBOURS[PAIRS[k].index()], j), read_block(gives, NEIGHBOURS[PAIRS[k].index()], j));
            // Each flow is rounded down separately, so the giver and the receiver compute the same number.
            let down = scale_to_units(&give, &compute_excess(&z, &neighbour, talus[k / 4]));
            let up = scale_to_units(&given, &compute_excess(&neighbour, &z, talus[k / 4]));
            for x in 0..BLOCK {
                lost[x] += down[x];
                got[x] += up[x];
            }
        }
        out[j..j + BLOCK].copy_from_slice(&lost);
        come[j..j + BLOCK].copy_from_slice(&got);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;
    use thalweg_core::terrain::LayerSpec;

    const TICK: Tick = Tick { key: RandomKey::ZERO, step: 0 };

    fn metres(rows: &[&[f64]]) -> Terrain {
        let grid = Grid::new([rows.len(), rows[0].len()], 1.0).unwrap();
        let cells = rows.iter().flat_map(|row| row.iter().map(|m| Height::from_metres(*m).unwrap())).collect();
        Terrain::from_ground(grid.clone(), Field::from_vec(grid.size, cells).unwrap()).unwrap()
    }

    fn run(model: &Thermal, terrain: &mut Terrain, steps: u32) {
        let mut stepper = model.start(&terrain.grid).unwrap();
        for _ in 0..steps {
            stepper.run_step(terrain, TICK).unwrap();
        }
    }

    #[test]
    fn one_step_of_a_step_in_the_ground() {
        // A talus of 45° on cells of 1 m makes a drop of 1 m stable. The middle is 5 m above both neighbours, so the
        // excess is 4 m each, and an eighth of it, half a metre, moves to each side.
        let model = Thermal { talus: 45.0, rock_talus: 45.0, ..Thermal::default() };
        let mut terrain = metres(&[&[0.0, 5.0, 0.0]]);
        run(&model, &mut terrain, 1);
        let got: Vec<f64> = terrain.ground.as_slice().iter().map(|h| h.metres()).collect();
        // tan 45° in floating point is slightly below 1, so the excess is up to one unit greater.
        for (got, want) in got.iter().zip([0.5, 4.0, 0.5]) {
            assert!((got - want).abs() < 2.0 / UNITS, "{got} {want}");
        }
        assert_eq!(terrain.sum_solid(), 5 * 65_536);
    }

    #[test]
    fn diagonal_neighbours_count_over_their_own_distance() {
        // A diagonal drop of 1.4 m over √2 m is stable at 45°; a straight drop of 1.4 m is not.
        let model = Thermal { talus: 45.0, rock_talus: 45.0, ..Thermal::default() };
        let mut diagonal = metres(&[&[1.4, 1.4], &[1.4, 0.0]]);
        diagonal.ground[(0, 1)] = Height::from_metres(0.9).unwrap();
        diagonal.ground[(1, 0)] = Height::from_metres(0.9).unwrap();
        let before = diagonal.ground.clone();
        run(&model, &mut diagonal, 1);
        assert_eq!(diagonal.ground, before);
        let mut straight = metres(&[&[1.4, 0.0]]);
        run(&model, &mut straight, 1);
        assert!((straight.ground[(0, 1)].metres() - 0.05).abs() < 2.0 / UNITS);
    }

    #[test]
    fn slopes_converge_to_the_angle_of_repose() {
        let model = Thermal { talus: 30.0, rock_talus: 30.0, ..Thermal::default() };
        let grid = Grid::new([41, 41], 10.0).unwrap();
        let mut terrain = Terrain::new(grid);
        terrain.ground[(20, 20)] = Height::from_metres(2_000.0).unwrap();
        run(&model, &mut terrain, 4_000);
        let steepest = (0..41)
            .flat_map(|i| (0..40).map(move |j| (i, j)))
            .map(|(i, j)| (terrain.ground[(i, j + 1)].0 - terrain.ground[(i, j)].0).abs())
            .max()
            .unwrap();
        // Flows below one unit do not move: eight units of excess at rate 1, plus the rounding of the angle.
        let stands = libm::tan(30f64.to_radians()) * 10.0 * UNITS;
        assert!(f64::from(steepest) <= stands + 9.0, "{steepest} {stands}");
        assert!(f64::from(steepest) > 0.99 * stands, "a cone of the talus angle is left");
    }

    #[test]
    fn rock_stands_and_its_scree_does_not() {
        let rock = Thermal { talus: 30.0, rock_talus: 90.0, ..Thermal::default() };
        let mut cliff = metres(&[&[50.0, 50.0, 0.0, 0.0, 0.0, 0.0]]);
        run(&rock, &mut cliff, 50);
        assert_eq!(cliff.ground[(0, 1)].metres(), 50.0, "bare rock does not move");
        cliff.loose = Some(Field::new([1, 6], Height::ZERO));
        cliff.loose.as_mut().unwrap()[(0, 1)] = Height::from_metres(3.0).unwrap();
        run(&rock, &mut cliff, 2_000);
        assert!((cliff.ground[(0, 1)].metres() - 47.0).abs() < 0.01, "only the loose three metres fall");
        assert!(cliff.loose.as_ref().unwrap()[(0, 2)].metres() > 0.5, "and lie as scree below");
    }

    #[test]
    fn hard_and_protected_rock_gives_less() {
        let model = Thermal { talus: 45.0, rock_talus: 45.0, ..Thermal::default() };
        let fall = |name: &LayerSpec, factor: f32| {
            let mut terrain = metres(&[&[0.0, 5.0, 0.0]]);
            let cells = thalweg_core::terrain::Cells::Float(Field::new([1, 3], factor));
            terrain.insert_layer(name, cells).unwrap();
            run(&model, &mut terrain, 1);
            5.0 - terrain.ground[(0, 1)].metres()
        };
        for (factor, want) in [(0.0, 1.0), (0.5, 0.5), (1.0, 0.0)] {
            assert!((fall(&HARDNESS, factor) - want).abs() < 4.0 / UNITS);
            assert!((fall(&PROTECT, factor) - want).abs() < 4.0 / UNITS);
        }
    }

    #[test]
    fn cells_without_data_are_walls() {
        let model = Thermal { talus: 10.0, rock_talus: 10.0, ..Thermal::default() };
        let mut terrain = metres(&[&[9.0, 0.0, 9.0]]);
        terrain.nodata = Some(Field::from_vec([1, 3], vec![false, true, false]).unwrap());
        let before = terrain.ground.clone();
        run(&model, &mut terrain, 5);
        assert_eq!(terrain.ground, before);
    }

    #[test]
    fn rock_steeper_than_scree_only() {
        let model = Thermal { talus: 40.0, rock_talus: 30.0, ..Thermal::default() };
        assert!(model.check(&Grid::new([2, 2], 1.0).unwrap()).is_err());
    }
}
