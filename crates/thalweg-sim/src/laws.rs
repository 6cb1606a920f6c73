//! The laws that every model must obey, for tests of a caller's own models: the same bits for any number of threads,
//! state in the terrain only, exact mass balance, and no panic on any terrain.
//!
//! ```
//! use thalweg_sim::laws;
//! use thalweg_models::models::thermal::Thermal;
//!
//! # fn main() -> thalweg_core::base::error::Result<()> {
//! for law in laws::LAWS {
//!     law.check(&Thermal { distance: 90.0, ..Thermal::default() })?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Each law runs the model with its present parameters on small generated terrains, for a second or less in an
//! optimised build.

use crate::run::tiles;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::declare::params::{ParamKind, Value};
use thalweg_core::terrain::{CellType, Cells, HARDNESS, LayerSpec, Mass, PROTECT, RAIN, SEDIMENT, VectorPart};
use thalweg_core::{Cell, Edge, Error, Field, Grid, Height, Result, Terrain};
use thalweg_models::model::{Family, MassBalance, Model, Role, StepReach, Tick};

/// A property that every model must have.
///
/// # Examples
/// ```
/// use thalweg_models::models::thermal::Thermal;
/// use thalweg_sim::laws::LAWS;
///
/// let law = LAWS.iter().find(|law| law.name == "mass").unwrap();
/// law.check(&Thermal { steps: 3, ..Thermal::default() })?;
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Law {
    /// Its name, as used in errors.
    pub name: &'static str,
    /// Its requirement, in a sentence.
    pub says: &'static str,
    holds: fn(&dyn Model) -> Result<(), Violation>,
}

/// All laws.
pub const LAWS: &[Law] = &[
    Law { name: "threads", says: "Any number of threads gives the same bits.", holds: check_threads },
    Law {
        name: "state",
        says: "A stepper that is dropped between any two steps gives the same bits.",
        holds: check_state,
    },
    Law {
        name: "tiles",
        says: "Where its reach is finite, the model gives the same bits by tiles.",
        holds: check_tiles,
    },
    Law {
        name: "turns",
        says: "A model that draws nothing and knows no place gives the turned result of turned ground.",
        holds: check_symmetry,
    },
    Law {
        name: "loops",
        says: "A looped world has no seam: seen from another of its cells on it gives the same bits, on any number of threads.",
        holds: check_looped_worlds,
    },
    Law {
        name: "mass",
        says: "Ground after is ground before and what the mass balance says, to the unit.",
        holds: check_mass_balance,
    },
    Law {
        name: "any ground",
        says: "Any parameters in range on any ground give heights in range and finite layers, and no panic.",
        holds: check_awkward_terrains,
    },
    Law { name: "declaration", says: "What the model is, reads and leaves is declared.", holds: check_declaration },
    Law { name: "factors", says: "A layer that holds nothing back changes nothing.", holds: check_neutral_factors },
    Law {
        name: "family",
        says: "Base models and erosion change the ground of one land at least; analysis changes that of none.",
        holds: check_family,
    },
];

impl Law {
    /// Tests the law on a model.
    ///
    /// # Errors
    /// Returns [`Error::Law`], with a description, if the model breaks the law, or refuses to start or to step.
    ///
    /// # Panics
    /// Panics where the model does.
    pub fn check(&self, model: &dyn Model) -> Result<()> {
        let broken = |how| Error::Law { model: model.about().name, law: self.name, how };
        (self.holds)(model).map_err(|how| broken(how.0))
    }
}

/// A description of how a law is broken.
struct Violation(String);

impl<T: ToString> From<T> for Violation {
    fn from(how: T) -> Self {
        Self(how.to_string())
    }
}

/// Returns the description as an error unless `holds`.
fn ensure_holds(holds: bool, how: impl FnOnce() -> String) -> Result<(), Violation> {
    if holds { Ok(()) } else { Err(Violation(how())) }
}

// Any fixed seed serves: it makes a failure repeatable.
const SEED: u64 = 20_260_701;

/// Returns terrain with slopes, depressions and roughness in cells of 30 m, and every input layer that the model
/// knows.
fn create_rough_terrain(model: &dyn Model, size: [usize; 2]) -> Result<Terrain, Violation> {
    let key = RandomKey::new(SEED, "rough");
    let height = |i: usize, j: usize| {
        let (y, x) = (i as f64 / 9.0, j as f64 / 11.0);
        // Waves in oblique directions make hills and depressions, the last term a slope to the west.
        let hills = 60.0 * (libm::sin(y) + libm::cos(x * 1.3 + y)) + 2.0 * j as f64;
        Height::from_metres_clamped(hills + 9.0 * key.for_cell([i as i64, j as i64]).uniform_signed())
    };
    let mut terrain = Terrain::from_ground(Grid::new(size, 30.0)?, Field::from_fn(size, height))?;
    fill_input_layers(model, &mut terrain)?;
    Ok(terrain)
}

/// Gives the terrain each layer that the model needs or uses, with values that affect the result.
fn fill_input_layers(model: &dyn Model, terrain: &mut Terrain) -> Result<()> {
    let size = terrain.grid.size;
    for spec in model.about().needs.iter().chain(model.about().uses) {
        let key = RandomKey::new(SEED, spec.name);
        let unit = |i: usize, j: usize| key.for_cell([i as i64, j as i64]).uniform_unit();
        let floats = |greatest: f64| Cells::Float(Field::from_fn(size, |i, j| (greatest * unit(i, j)) as f32));
        let cells = match spec.cells {
            CellType::Height => {
                Cells::Height(Field::from_fn(size, |i, j| Height::from_metres_clamped(3.0 * unit(i, j))))
            }
            CellType::Float if spec.traits.mass == Mass::Water => {
                Cells::Float(Field::from_fn(size, |i, j| 3.0 * unit(i, j) as f32))
            }
            CellType::Float if spec.unit == "m" => Cells::Float(Field::from_fn(size, |i, j| 500.0 * unit(i, j) as f32)),
            CellType::Float => floats(1.0),
            // There are six kinds of soil, so their numbers are below 6.
            CellType::Count => Cells::Count(Field::from_fn(size, |i, j| (6.0 * unit(i, j)) as u32)),
        };
        terrain.insert_layer(spec, cells)?;
    }
    Ok(())
}

fn create_step_context(step: u32) -> Tick {
    Tick { key: RandomKey::new(SEED, "law"), step }
}

/// Takes all the model's steps.
fn run_all_steps(model: &dyn Model, terrain: &mut Terrain) -> Result<()> {
    let mut stepper = model.start(&terrain.grid)?;
    (0..model.steps(&terrain.grid)).try_for_each(|step| stepper.run_step(terrain, create_step_context(step)).map(drop))
}

/// Returns an error if two terrains differ in any bit.
fn ensure_same(one: &Terrain, other: &Terrain, how: &str) -> Result<(), Violation> {
    let (one, other) = (one.fingerprints(), other.fingerprints());
    let names = one.keys().chain(other.keys());
    let differs = names.into_iter().find(|name| one.get(*name) != other.get(*name));
    ensure_holds(differs.is_none(), || format!("{} differs {how}", differs.map_or("nothing", String::as_str)))
}

fn check_threads(model: &dyn Model) -> Result<(), Violation> {
    let with = |threads: usize| {
        // Seven divides neither side, so with seven threads the shares of work differ.
        let mut terrain = create_rough_terrain(model, [150, 170])?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        pool.install(|| run_all_steps(model, &mut terrain))?;
        Ok::<_, Violation>(terrain)
    };
    let one = with(1)?;
    [2, 7].into_iter().try_for_each(|count| ensure_same(&one, &with(count)?, &format!("with {count} threads")))
}

fn check_state(model: &dyn Model) -> Result<(), Violation> {
    let mut whole = create_rough_terrain(model, [90, 70])?;
    let mut dropped = whole.clone();
    run_all_steps(model, &mut whole)?;
    for step in 0..model.steps(&dropped.grid) {
        model.start(&dropped.grid)?.run_step(&mut dropped, create_step_context(step))?;
    }
    ensure_same(&whole, &dropped, "if the stepper is restarted for each step")
}

fn check_tiles(model: &dyn Model) -> Result<(), Violation> {
    // The terrain is six tiles wide, so most tiles have neighbours on both sides.
    let mut whole = create_rough_terrain(model, [50, 660])?;
    if model.reach(&whole.grid) == StepReach::Whole {
        return Ok(());
    }
    let mut swept = whole.clone();
    run_all_steps(model, &mut whole)?;
    tiles::run_by_tiles(model, &mut swept, create_step_context(0).key, 110)?;
    ensure_same(&whole, &swept, "if the model runs by tiles")
}

fn check_symmetry(model: &dyn Model) -> Result<(), Violation> {
    if model.about().placed {
        return Ok(());
    }
    let about = model.about();
    // The vectors among these layers must be turned as well as moved.
    let specs = remove_duplicate_specs(&[about.needs, about.uses, about.writes].concat());
    let start = create_rough_terrain(model, [47, 61])?;
    let mut straight = start.clone();
    run_all_steps(model, &mut straight)?;
    for (turn, said) in [(rotate_cell as Turn, "on rotated terrain"), (mirror_cell, "on mirrored terrain")] {
        let mut other = transform_terrain(&specs, &start, turn);
        run_all_steps(model, &mut other)?;
        ensure_same(&transform_terrain(&specs, &straight, turn), &other, said)?;
    }
    Ok(())
}

fn check_looped_worlds(model: &dyn Model) -> Result<(), Violation> {
    if !model.about().loops {
        return Ok(());
    }
    // Sizes that are multiples of two, three and six cells, and shifts by multiples of these and by other numbers.
    let size = [60, 72];
    for looped in [[true, false], [false, true], [true, true]] {
        let mut start = create_rough_terrain(model, size)?;
        for axis in (0..2).filter(|axis| looped[*axis]) {
            (start.grid.edges[axis], start.grid.edges[axis + 2]) = (Edge::Looped, Edge::Looped);
        }
        start.grid.sea_level = Some(Height::from_metres_clamped(-90.0));
        // Where there are no edges, water leaves over a cell without data.
        start.nodata = Some(Field::from_fn(size, |i, j| (i, j) == (0, 40)));
        for by in [[0, 0], [0, 1], [59, 0], [17, 31], [18, 30]] {
            let by = [0, 1].map(|axis| if looped[axis] { by[axis] } else { 0 });
            let mut other = shift_terrain(&start, by);
            if model.check(&other.grid).is_err() {
                continue;
            }
            let mut here = start.clone();
            run_all_steps(model, &mut here)?;
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build()?;
            let (before, mut budget) = (other.sum_solid(), MassBalance::default());
            pool.install(|| {
                let mut stepper = model.start(&other.grid)?;
                (0..model.steps(&other.grid)).try_for_each(|step| {
                    budget += stepper.run_step(&mut other, create_step_context(step))?;
                    Ok::<_, Error>(())
                })
            })?;
            ensure_same(
                &shift_terrain(&here, by),
                &other,
                &format!("if a world looped {looped:?} is shifted by {by:?}"),
            )?;
            ensure_holds(other.sum_solid() - before == budget.solid_change(), || {
                "mass does not close in a looped world".into()
            })?;
        }
    }
    Ok(())
}

/// Returns the same looped world, shifted by these numbers of rows and columns.
fn shift_terrain(terrain: &Terrain, by: [usize; 2]) -> Terrain {
    fn shift_field<T: Copy + Send + Sync + Default>(field: &Field<T>, by: [usize; 2]) -> Field<T> {
        let [rows, cols] = field.size();
        Field::from_fn([rows, cols], |i, j| field[((i + by[0]) % rows, (j + by[1]) % cols)])
    }
    let layers = terrain.layers.iter().map(|(name, layer)| {
        let cells = match &layer.cells {
            Cells::Height(f) => Cells::Height(shift_field(f, by)),
            Cells::Float(f) => Cells::Float(shift_field(f, by)),
            Cells::Count(f) => Cells::Count(shift_field(f, by)),
        };
        (name.clone(), layer.with_cells(cells))
    });
    let grid = &terrain.grid;
    let origin = Cell::from_axes(|axis| (grid.origin[axis] + by[axis] as i64) % grid.world[axis] as i64);
    Terrain {
        grid: Grid { origin, ..grid.clone() },
        ground: shift_field(&terrain.ground, by),
        loose: terrain.loose.as_ref().map(|loose| shift_field(loose, by)),
        nodata: terrain.nodata.as_ref().map(|mask| shift_field(mask, by)),
        layers: layers.collect(),
        tables: terrain.tables.clone(),
    }
}

/// Returns each declaration once: a model may both read and write a layer.
fn remove_duplicate_specs(specs: &[LayerSpec]) -> Vec<LayerSpec> {
    let mut once: Vec<LayerSpec> = Vec::new();
    for spec in specs {
        if !once.contains(spec) {
            once.push(*spec);
        }
    }
    once
}

/// Returns the size of a result, given the source's size, and the source's cell for the result's cell (i, j).
type Turn = fn([usize; 2], usize, usize) -> ([usize; 2], [usize; 2]);

fn rotate_cell([rows, cols]: [usize; 2], i: usize, j: usize) -> ([usize; 2], [usize; 2]) {
    ([cols, rows], [rows.wrapping_sub(1 + j), i])
}

fn mirror_cell([rows, cols]: [usize; 2], i: usize, j: usize) -> ([usize; 2], [usize; 2]) {
    ([rows, cols], [i, cols.wrapping_sub(1 + j)])
}

fn transform_terrain(specs: &[LayerSpec], terrain: &Terrain, turn: Turn) -> Terrain {
    fn transform_field<T: Copy + Send + Sync + Default>(field: &Field<T>, turn: Turn) -> Field<T> {
        let (size, _) = turn(field.size(), 0, 0);
        Field::from_fn(size, |i, j| {
            let (_, [si, sj]) = turn(field.size(), i, j);
            field[(si, sj)]
        })
    }
    let (size, _) = turn(terrain.grid.size, 0, 0);
    let mut other = Terrain::new(Grid { size, world: size, ..terrain.grid.clone() });
    other.ground = transform_field(&terrain.ground, turn);
    other.loose = terrain.loose.as_ref().map(|loose| transform_field(loose, turn));
    other.layers = terrain.layers.clone();
    for layer in other.layers.values_mut() {
        layer.cells = match &layer.cells {
            Cells::Height(f) => Cells::Height(transform_field(f, turn)),
            Cells::Float(f) => Cells::Float(transform_field(f, turn)),
            Cells::Count(f) => Cells::Count(transform_field(f, turn)),
        };
    }
    turn_vectors(specs, &mut other, turn);
    other
}

/// Rotates the components of vectors.
fn turn_vectors(specs: &[LayerSpec], terrain: &mut Terrain, turn: Turn) {
    // The directions to which a step eastward and a step southward from the centre of a 3 × 3 map lead.
    let [east, south] = [(1, 2), (2, 1)].map(|(i, j)| turn([3, 3], i, j).1.map(|k| k as f32 - 1.0));
    let parts = |part: VectorPart| specs.iter().filter(move |spec| spec.traits.part == part).map(|spec| spec.name);
    for names in parts(VectorPart::East).zip(parts(VectorPart::South)).map(|(x, y)| [x, y]) {
        let [Some(x), Some(y)] = names.map(|name| Some(terrain.layers.get(name)?.cells.to_float())) else {
            continue;
        };
        for (name, to) in names.into_iter().zip([east, south]) {
            // Adding 0.0 turns negative zero into positive zero.
            let part = Field::from_fn(x.size(), |i, j| to[1] * x[(i, j)] + to[0] * y[(i, j)] + 0.0);
            if let Some(layer) = terrain.layers.get_mut(name) {
                layer.cells = Cells::Float(part);
            }
        }
    }
}

fn check_mass_balance(model: &dyn Model) -> Result<(), Violation> {
    let size = [80, 120];
    for (edge, sea) in [Edge::Open, Edge::Closed].into_iter().flat_map(|edge| [None, Some(40.0)].map(|sea| (edge, sea)))
    {
        let mut terrain = create_rough_terrain(model, size)?;
        terrain.grid.edges = [edge; 4];
        terrain.grid.sea_level = sea.map(Height::from_metres_clamped);
        terrain.loose = Some(Field::new(size, Height::from_metres_clamped(0.5)));
        let before = terrain.sum_solid();
        let mut stepper = model.start(&terrain.grid)?;
        let mut budget = MassBalance::default();
        for step in 0..model.steps(&terrain.grid) {
            budget += stepper.run_step(&mut terrain, create_step_context(step))?;
            let (change, said) = (terrain.sum_solid() - before, budget.solid_change());
            ensure_holds(change == said, || {
                format!(
                    "after step {step} the solid volume has changed by {change}, and the mass balance states {said}"
                )
            })?;
        }
        ensure_holds(edge == Edge::Open || budget.exported == 0, || {
            format!("{} units left across closed edges", budget.exported)
        })?;
        let is_whole = terrain.loose.iter().all(|loose| loose.as_slice().iter().all(|h| h.0 >= 0));
        ensure_holds(is_whole, || "the thickness of sediment is negative".into())?;
    }
    Ok(())
}

/// Returns terrains of awkward shapes and sizes.
fn create_awkward_terrains() -> Result<Vec<(&'static str, Terrain)>> {
    let ground = |size: [usize; 2], height: &(dyn Fn(usize, usize) -> f64 + Sync)| {
        let field = Field::from_fn(size, |i, j| Height::from_metres_clamped(height(i, j)));
        Terrain::from_ground(Grid::new(size, 10.0)?, field)
    };
    // Voids are scattered, so that most cells have one among their neighbours.
    let mut some_void = ground([20, 30], &|i, j| (i * j % 17) as f64)?;
    some_void.nodata = Some(Field::from_fn([20, 30], |i, j| (i + j) % 5 == 0));
    let mut sunk = ground([30, 30], &|i, _| i as f64 - 15.0)?;
    sunk.grid.sea_level = Some(Height::ZERO);
    Ok(vec![
        ("flat", ground([33, 40], &|_, _| 100.0)?),
        ("spike", ground([40, 33], &|i, j| if (i, j) == (20, 16) { 16_000.0 } else { -16_000.0 })?),
        ("pit", ground([40, 33], &|i, j| if (i, j) == (20, 16) { -16_000.0 } else { 16_000.0 })?),
        ("cliff", ground([40, 80], &|_, j| if j < 40 { -9_000.0 } else { 9_000.0 })?),
        ("checkerboard", ground([30, 30], &|i, j| if (i + j) % 2 == 0 { -16_000.0 } else { 16_000.0 })?),
        ("holes in the data", some_void),
        ("half under the sea", sunk),
        ("1×1", ground([1, 1], &|_, _| 5.0)?),
        ("2×3", ground([2, 3], &|i, j| (i + 2 * j) as f64)?),
        ("1×n", ground([1, 70], &|_, j| (j % 7) as f64)?),
        ("n×1", ground([70, 1], &|i, _| (i % 5) as f64)?),
        ("2×n", ground([2, 70], &|i, j| (i * 3 + j % 7) as f64)?),
    ])
}

/// Returns a value from the parameter's range: one of the ends, or any value between.
fn draw_value(kind: &ParamKind, key: RandomKey) -> Value {
    // A quarter of the values each is the lower and the upper end, so that both are tested often.
    let u = match key.derive_key(1).random_bits() % 4 {
        0 => 0.0,
        1 => 1.0,
        _ => key.derive_key(2).uniform_unit(),
    };
    match kind {
        // Cubed, so that moderate values of wide ranges occur too.
        ParamKind::Number { min, max } => Value::Number((min + (max - min) * u * u * u).clamp(*min, *max)),
        ParamKind::Count { min, max } => Value::Count((f64::from(*min) + f64::from(max - min) * u * u * u) as u32),
        ParamKind::Switch => Value::Switch(u < 0.5),
        ParamKind::Choice(words) => {
            Value::Choice(words.get((u * (words.len() as f64 - 0.5)) as usize).map_or("", |w| w.0))
        }
    }
}

fn check_awkward_terrains(model: &dyn Model) -> Result<(), Violation> {
    /// Number of sets of parameters for each terrain; the first one is the model's own.
    const PARAMETER_SETS: u64 = 25;
    let owner = model.about().name;
    for (shape, (name, ground)) in create_awkward_terrains()?.into_iter().enumerate() {
        for draw in 0..PARAMETER_SETS {
            let mut model = model.clone_box();
            let key = RandomKey::new(SEED, owner).derive_key(shape as u64).derive_key(draw);
            for (number, param) in model.declared().iter().enumerate().filter(|_| draw > 0) {
                model.set(owner, param.name, &draw_value(&param.kind, key.derive_key(number as u64)).into())?;
            }
            if model.check(&ground.grid).is_err() {
                continue;
            }
            let values = || model.declared().iter().map(|p| (p.name, model.get(p.name))).collect::<Vec<_>>();
            few_steps(&*model, &ground).map_err(|how| format!("on {name}, draw {draw}: {}: {:?}", how.0, values()))?;
        }
    }
    Ok(())
}

/// Takes the first steps and the last one: the middle of a long run is like its beginning.
fn few_steps(model: &dyn Model, ground: &Terrain) -> Result<(), Violation> {
    let mut terrain = ground.clone();
    fill_input_layers(model, &mut terrain)?;
    let before = terrain.sum_solid();
    let mut stepper = model.start(&terrain.grid)?;
    let steps = model.steps(&terrain.grid);
    let mut change = 0;
    for step in (0..steps).take(5).chain(5.max(steps.saturating_sub(1))..steps) {
        change += stepper.run_step(&mut terrain, create_step_context(step))?.solid_change();
    }
    ensure_holds(terrain.sum_solid() - before == change, || "mass does not close".into())?;
    let is_in_range = terrain.ground.as_slice().iter().all(|h| (Height::MIN..=Height::MAX).contains(h));
    ensure_holds(is_in_range, || "a height is out of range".into())?;
    for (name, layer) in &terrain.layers {
        let is_finite = layer.cells.to_float().as_slice().iter().all(|x| x.is_finite());
        ensure_holds(is_finite, || format!("{name} is not finite"))?;
    }
    // Without a mask the iterator is empty and the check passes.
    let void = ground.nodata.iter().flat_map(|mask| mask.as_slice());
    let mut heights = ground.ground.as_slice().iter().zip(terrain.ground.as_slice()).zip(void);
    ensure_holds(heights.all(|((was, is), is_void)| !is_void || was == is), || "a cell without data has changed".into())
}

fn check_declaration(model: &dyn Model) -> Result<(), Violation> {
    let about = model.about();
    let is_plain = about.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    ensure_holds(is_plain && !about.name.is_empty(), || "its name must consist of a-z, 0-9 and _".into())?;
    ensure_holds(model.page().contains("Source:"), || "its page must name its source".into())?;
    ensure_holds(about.summary.ends_with('.') && !about.source.is_empty(), || {
        "it must have a source and a summary that ends with a full stop".into()
    })?;
    for param in model.declared() {
        let is_said = param.meaning.len() > 10 && !param.unit.is_empty() && !param.source.is_empty();
        ensure_holds(is_said, || format!("{} must have a meaning, a unit and a source", param.name))?;
        model.clone_box().set(about.name, param.name, &param.default.into())?;
    }
    let mut terrain = create_rough_terrain(model, [40, 50])?;
    run_all_steps(model, &mut terrain)?;
    let known: Vec<&LayerSpec> = about.needs.iter().chain(about.uses).chain(about.writes).collect();
    for (name, layer) in &terrain.layers {
        let is_known =
            |spec: &&LayerSpec| (spec.name, spec.unit, spec.cells) == (name, &layer.unit, layer.cells.cell_type());
        ensure_holds(known.iter().any(is_known), || format!("{name} is written but not declared"))?;
    }
    ensure_holds(terrain.loose.is_none() || about.writes.contains(&SEDIMENT), || {
        "sediment is produced but not declared".into()
    })?;
    let is_exact = |spec: &LayerSpec| spec.traits.mass != Mass::Solid || spec.cells == CellType::Height;
    ensure_holds(about.writes.iter().all(is_exact), || {
        "a layer that counts as solid has cells other than heights".into()
    })?;
    let left = |(name, rows): (&String, &thalweg_core::terrain::Table)| {
        rows.carried_solid().is_some() || !about.tables.contains(&name.as_str())
    };
    ensure_holds(!terrain.tables.iter().any(left), || "it leaves a table that is internal or not declared".into())
}

fn check_neutral_factors(model: &dyn Model) -> Result<(), Violation> {
    let about = model.about();
    let size = [70, 80];
    // A mask without effect makes the model use its general code path, which must give the bits of the fast one.
    let mut plain = create_rough_terrain(model, size)?;
    plain.layers.retain(|name, _| about.needs.iter().any(|spec| spec.name == name));
    let mut masked = plain.clone();
    for (spec, factor) in [(HARDNESS, 0.0), (PROTECT, 0.0), (RAIN, 1.0)] {
        if about.uses.contains(&spec) {
            masked.insert_layer(&spec, Cells::Float(Field::new(size, factor)))?;
        }
    }
    run_all_steps(model, &mut plain)?;
    run_all_steps(model, &mut masked)?;
    ensure_holds(plain.ground == masked.ground, || {
        "the elevation differs where hardness and protect are 0 and rain is 1".into()
    })
}

fn check_family(model: &dyn Model) -> Result<(), Violation> {
    let land = |edit: fn(&mut Terrain)| {
        let mut terrain = create_rough_terrain(model, [90, 70])?;
        edit(&mut terrain);
        Ok::<_, Violation>(terrain)
    };
    let mut lands = vec![
        ("hills", land(|_| ())?),
        ("hills by the sea", land(|terrain| terrain.grid.sea_level = Some(Height::from_metres_clamped(40.0)))?),
        (
            "high mountains",
            land(|terrain| {
                terrain.ground = terrain.ground.map(|h| Height::from_metres_clamped(9.0 * h.metres() + 3000.0))
            })?,
        ),
    ];
    lands.extend(create_awkward_terrains()?);
    let only_looks = model.about().family == Family::Analysis;
    for (name, mut land) in lands.into_iter().filter(|(_, land)| model.check(&land.grid).is_ok()) {
        fill_input_layers(model, &mut land)?;
        let before = land.ground.clone();
        run_all_steps(model, &mut land)?;
        // One changed terrain decides: it fulfils the law for a base or erosion model and breaks it for an analysis.
        if land.ground != before {
            return ensure_holds(!only_looks, || format!("it changes the elevation of {name}"));
        }
    }
    // A model that only carries user edits does nothing by itself.
    ensure_holds(only_looks || model.plays_role(Role::Strokes), || {
        "it does not change the elevation of any terrain".into()
    })
}
