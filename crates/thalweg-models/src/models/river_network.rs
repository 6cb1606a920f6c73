//! Rivers put into a terrain: see [`RiverNetwork`].

use crate::model::{About, Family, MassBalance, Model, Stepper, Tick};
use crate::process::slopes::reshape;
use thalweg_core::base::rng::Key;
use thalweg_core::terrain::{Cells, Column, DISCHARGE, HARDNESS, LOOSE, LayerSpec, PROTECT, RAIN, Table, WATER};
use thalweg_core::{Field, Grid, Result, Terrain, choice, params};
use thalweg_flow::Land;
use thalweg_flow::breach::BreachLimits;
use thalweg_noise::given::springs::{self, SPRINGS};
use thalweg_rivers as rivers;
use thalweg_rivers::sampled::{self, Rule, Sampling};
use thalweg_rivers::waypoints::{self, MOUTHS, PASSES};
use thalweg_rivers::{Carved, Design, Network, Site, distance};

choice! {
    /// How rivers are found.
    pub enum Method {
        /// By the drainage of the land: lakes, smooth lines, widths in metres of real discharge.
        Drainage = "drainage",
        /// By sampled points and shortest paths, as the report has it.
        Sampled = "sampled",
    }
}

params! {
    /// Puts rivers and lakes into a terrain that has none, and carves them: every river reaches the sea, a lake or the edge, and
    /// none runs uphill.
    ///
    /// Where they run: the ground is freed of roughness up to `noise`, its hollows are drained by channels of at most
    /// `breach_depth` and `breach_length`, and what is left and deeper than `lake` is a lake, with its inlets and its outlet. A river
    /// is where a catchment of `catchment` or more drains (D8); catchment × `runoff` × the layer `rain` is its discharge Q, to
    /// which springs add. Its line goes by the cells' middles, smoothed along the stream, and wanders on gentle ground: bends some
    /// 11 widths long, within the level floor of the valley, and never across another river, itself or higher ground.
    ///
    /// What they are: w = `width`·Q^½ wide and `depth`·Q^0.4 deep; torrents on slopes over 0.065, steps and pools over 0.02, braided
    /// (1.8 times as wide, 0.7 as deep) over 0.0125·Q^−0.44 where the floor is broad, else meandering. Gentle rivers widen
    /// towards the sea by up to `estuary` widths; with `delta` m³/s and more over level ground they part there into two or three
    /// arms, each of which takes a third of the water that comes to it.
    ///
    /// What is cut: the water stands 0.15 of its depth under the lower bank and never rises downstream. The bed lies its depth
    /// lower, rising to either side as a parabola. Floodplains (6 widths to a side of meandering rivers, 4 of braided, 1 of stepped
    /// ones, none of torrents) rise by 0.01, or as steeply as the river falls, no broader than the level floor of the valley; beyond
    /// them banks by `bank`, which run out in valley sides steeper than they; a deep cut draws the ground within three cells after
    /// it. A fall steeper than `fall` and than twice the river's slope around it is cut back, by at most `grading`·(1 − hardness):
    /// waterfalls stay where the rock is hard. Nothing is raised but levees: beside meandering rivers with a floodplain, by
    /// `levees` × their depth at the water's edge, and outward ever less, over two widths (one and a half cells at least, no farther than
    /// the plain).
    ///
    /// What the land then holds back is let go: from every hollow that is left a channel as low as it is cut, by the way for which the least
    /// ground goes, to lower ground, a river, a lake or out; of hollows as deep as `lake` within `breach_depth` and `breach_length`, and where
    /// these leave no way the hollow is a lake. What holds a lake back is not cut, nor is protected ground. A river that such a channel comes to,
    /// or whose bank it cuts, is lowered to it.
    ///
    /// Source: Eymard & Peurière (student report, Université Claude Bernard Lyon 1), whose limits it is free of; widths and depths
    /// by Leopold & Maddock (1953, USGS Prof. Paper 252) and Moody & Troutman (2002); bends by Leopold & Wolman (1960); kinds by Montgomery
    /// & Buffington (1997) and Leopold & Wolman (1957); breaching by Lindsay & Dhun (2015, doi:10.1080/13658816.2014.975715).
    ///
    /// `method = "sampled"` follows the report instead: points r = `spacing` apart at least, each joined to all within
    /// 1.9·r (some six), Dijkstra's ways from all of them to the sea (or, where there is none, to open edges) with
    /// w = ‖a‖·(1 − ½·â·z) times C² uphill and over C downhill, heights corrected so that none rises, Bresenham's
    /// lines, drainage D of 1 and what flows in, Q = √D, and within R = Q metres the ground (1 − α)·ground + α·(h − R),
    /// α = (1 − (r/R)²)³. There D stands for the discharge, lakes are none, and of the tables it heeds `springs` and `mouths`.
    ///
    /// It needs nothing. It heeds `loose` (which gives first), `hardness` (also on floodplains), `protect` (from ½ on rivers go
    /// round it where there is a way, and no plain or bank is cut by that share) and `rain`; the tables `springs`, `mouths` and
    /// `passes` (in a recipe `tables = { mouths = [{ x = 0.0, y = 800.0 }], passes = [{ x = 900.0, y = 700.0, reach = 300.0 }] }`).
    /// It leaves `river`, `lake`, `river_distance`, `water`, `discharge` and the table `rivers`, a row to a point of a river. What is
    /// cut the rivers carry off: out of the world, or, where no edge is open and no data is missing, to the lowest ground.
    /// A cell that a river passes has one level of water and one bed, those of the lowest point of the line in it; rivers narrower than a
    /// cell are cut as deep as they are over the whole cell.
    pub struct RiverNetwork {
        /// Catchment from which on there is a river: less draws more and finer ones. Under 16 cells it counts as that.
        catchment: f64 = 1.0, within 0.0..=1e6, unit "km²", scales Size^2, source "ours";
        /// Water that runs off in a year: more makes wider and deeper rivers.
        runoff: f64 = 0.5, within 0.0..=20.0, unit "m/a", scales Rain, source "ours";
        /// Deepest channel that is cut to drain a hollow.
        breach_depth: f64 = 12.0, within 0.0..=16_000.0, unit "m", source "ours";
        /// How far from the hollow a channel that drains it may lead.
        breach_length: f64 = 1000.0, within 0.0..=1e6, unit "m", scales Size, source "ours";
        /// Roughness of the ground that has no say in where rivers run.
        noise: f64 = 2.0, within 0.0..=1000.0, unit "m", source "ours";
        /// Depth from which on a hollow that is left is a lake.
        lake: f64 = 2.0, within 0.0..=1000.0, unit "m", source "ours";
        /// Width of a river of 1 m³/s.
        width: f64 = 7.2, within 0.0..=1000.0, unit "m", source "Moody & Troutman 2002";
        /// Depth of a river of 1 m³/s.
        depth: f64 = 0.27, within 0.0..=100.0, unit "m", source "Moody & Troutman 2002";
        /// How far rivers wander, as a factor: 0 not at all, 1 as is usual.
        meander: f64 = 1.0, within 0.0..=3.0, unit "1", source "Leopold & Wolman 1960";
        /// Breadth of floodplains on either side, as a factor on what is usual: 0 makes none.
        floodplain: f64 = 1.0, within 0.0..=10.0, unit "1", source "ours";
        /// Height of levees beside meandering rivers, as a share of their depth: 0 raises none.
        levees: f64 = 0.0, within 0.0..=2.0, unit "1", source "ours";
        /// Rise of banks beyond floodplains, as rise over run: less cuts valleys with gentler sides.
        bank: f64 = 0.5, within 0.05..=10.0, unit "1", scales Repose, source "ours";
        /// Slope of a river, as fall over run, above which it is cut back over soft rock.
        fall: f64 = 0.5, within 0.0..=10.0, unit "1", source "ours";
        /// Deepest cut that takes such a fall back.
        grading: f64 = 15.0, within 0.0..=1000.0, unit "m", source "ours";
        /// Discharge from which on a gentle river parts into arms at the sea; 0 parts none.
        delta: f64 = 5.0, within 0.0..=1e6, unit "m³/s", source "ours";
        /// How many of its widths a gentle river gains at the sea.
        estuary: f64 = 2.0, within 0.0..=20.0, unit "1", source "ours";
        /// How rivers are found. With `sampled` what stands above does nothing, and what follows does.
        method: Method = Method::Drainage, within .., unit "1", source "ours";
        /// Least distance r of two sampled points; where they lie closest it counts as four cells at least.
        spacing: f64 = 500.0, within 0.0..=1e6, unit "m", scales Size, source "ours";
        /// By how much closer sampled points lie on steep ground, as a share of the distance.
        closeness: f64 = 0.0, within 0.0..=0.75, unit "1", source "ours";
        /// The factor C on the cost of climbs: more keeps rivers from climbing, at the price of long ways round.
        climb: f64 = 2.0, within 1.0..=1000.0, unit "1", source "ours";
        /// How many sampled points rivers begin at, beside springs; 0 takes all.
        sources: u32 = 0, within 0..=1_000_000, unit "1", source "ours";
        /// Which sampled points rivers begin at, where `sources` is not 0.
        source: Rule = Rule::Any, within .., unit "1", source "ours";
    }
}

/// Which river's water a cell is: the river's number from 1 on, else 0.
pub const RIVER: LayerSpec = LayerSpec::counts(
    "river",
    "1",
    "Number of the river, from 1 on, whose water the cell is; 0 on dry ground, in lakes and the sea.",
)
.following_water();
/// Which lake a cell is in: the lake's number from 1 on, else 0.
pub const LAKE: LayerSpec =
    LayerSpec::counts("lake", "1", "Number of the lake, from 1 on; 0 elsewhere.").following_water();
/// How far a cell is from the nearest river, in metres.
pub const RIVER_DISTANCE: LayerSpec = LayerSpec::floats(
    "river_distance",
    "m",
    "Distance to the nearest river; the length of the world's sides together where there is none.",
)
.following_water();

/// The table of rivers' points, a row a point, river by river. Its columns are `row` and `column` (world cell), `river` and `name`
/// (numbers), `x` and `y` (metres eastward and southward from the world's north-western corner), `discharge` (m³/s), `width` and
/// `depth` (m), `bed` and `surface` (elevations in m).
pub const RIVERS: &str = "rivers";

impl RiverNetwork {
    /// The design of its networks, in the units of [`Design`]; `method` has no say in it.
    pub fn design(&self) -> Design {
        Design {
            catchment: self.catchment * 1e6,
            runoff: self.runoff,
            breach: BreachLimits { depth: self.breach_depth, length: self.breach_length },
            noise: self.noise,
            lake: self.lake,
            width: self.width,
            depth: self.depth,
            meander: self.meander,
            floodplain: self.floodplain,
            levees: self.levees,
            bank: self.bank,
            fall: self.fall,
            grading: self.grading,
            delta: self.delta,
            estuary: self.estuary,
        }
    }

    /// How it follows the report where `method` is `sampled`.
    pub fn sampling(&self) -> Sampling {
        Sampling {
            spacing: self.spacing,
            relief: self.closeness,
            climb: self.climb,
            sources: self.sources,
            rule: self.source,
        }
    }

    /// Plans and carves a terrain's rivers, leaving the terrain as it is. `key` is that of the stage.
    ///
    /// # Errors
    /// As [`rivers::plan_rivers`], or [`sampled::make`] where that is the method; tables `springs`, `mouths` or `passes` of other columns than
    /// theirs, or with cells outside of the terrain.
    pub fn make(&self, terrain: &Terrain, key: Key) -> Result<(Network, Carved)> {
        let (springs, mouths, passes) =
            (springs::spring_sources(terrain)?, waypoints::mouths(terrain)?, waypoints::passes(terrain)?);
        let site = Site {
            land: Land { outlets: &mouths, ..Land::of(terrain) },
            rain: terrain.float(&RAIN),
            hardness: terrain.float(&HARDNESS),
            protect: terrain.float(&PROTECT),
            springs: &springs,
            passes: &passes,
        };
        if self.method == Method::Sampled {
            return sampled::make(&site, &self.sampling(), key);
        }
        let design = self.design();
        let mut network = rivers::plan_rivers(&site, &design, key)?;
        let carved = rivers::carve_rivers(&site, &design, &mut network);
        Ok((network, carved))
    }
}

impl Model for RiverNetwork {
    fn about(&self) -> About {
        About {
            name: "river_network",
            summary: "Puts rivers and lakes into a terrain: drawn as smooth lines, carved, and true to the land.",
            source: "Eymard & Peurière, Génération procédurale d'un réseau de rivières (Université Lyon 1); Leopold & Maddock (1953)",
            family: Family::Erosion,
            uses: &[RAIN, HARDNESS, PROTECT],
            writes: &[LOOSE, RIVER, LAKE, RIVER_DISTANCE, WATER, DISCHARGE],
            tables: &[SPRINGS, MOUTHS, PASSES, RIVERS],
            ..About::default()
        }
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        60 * grid.len() as u64
    }

    fn start(&self, _grid: &Grid) -> Result<Box<dyn Stepper>> {
        Ok(Box::new(Maker(self.clone())))
    }
}

struct Maker(RiverNetwork);

impl Stepper for Maker {
    fn step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let (network, carved) = self.0.make(terrain, tick.key)?;
        let Carved { ground, water, river, .. } = carved;
        // Levees are of what the rivers have cut.
        let mut budget = reshape(terrain, ground)?;
        let extent = terrain.grid.extent();
        let sides = extent.height + extent.width;
        let near = distance::to_set(&river.map(|river| *river > 0), terrain.grid.cell);
        let near = near.map(|metres| if metres.is_finite() { *metres } else { sides as f32 });
        let discharge = discharges(&network, &river);
        terrain.insert(&RIVER_DISTANCE, Cells::Float(near))?;
        terrain.insert(&RIVER, Cells::Count(river))?;
        let stood = standing(terrain);
        terrain.insert(&WATER, Cells::Float(water.map(|depth| depth.metres_f32())))?;
        // Rivers and lakes stand full from the start.
        let more = standing(terrain) - stood;
        budget.poured += more.max(0.0);
        budget.drained += (-more).max(0.0);
        terrain.insert(&DISCHARGE, Cells::Float(discharge))?;
        terrain.tables.insert(RIVERS.to_string(), table(&network, &terrain.grid));
        terrain.insert(&LAKE, Cells::Count(network.lake))?;
        Ok(budget)
    }
}

/// Water on the ground, in m³.
fn standing(terrain: &Terrain) -> f64 {
    let depth = terrain.float(&WATER).map_or(&[][..], |depth| depth.as_slice());
    depth.iter().map(|depth| f64::from(*depth)).sum::<f64>() * terrain.grid.cell_area()
}

/// The discharge in each cell of a river's path, in m³/s.
fn discharges(network: &Network, river: &Field<u32>) -> Field<f32> {
    let mut discharge = Field::new(river.size(), 0.0);
    for river in &network.rivers {
        for (k, vertex) in &river.path {
            discharge[*k as usize] = river.vertices[*vertex as usize].discharge() as f32;
        }
    }
    discharge
}

/// The rivers' points as a table.
fn table(network: &Network, grid: &Grid) -> Table {
    let points =
        || network.rivers.iter().zip(1i64..).flat_map(|(river, id)| river.vertices.iter().map(move |v| (id, river, v)));
    let ints = |name: &str, unit: &str, of: &dyn Fn((i64, &rivers::River, &rivers::Vertex)) -> i64| {
        (name.to_string(), unit.to_string(), Column::Int(points().map(of).collect()))
    };
    let floats = |name: &str, unit: &str, of: &dyn Fn(&rivers::Vertex) -> f64| {
        (name.to_string(), unit.to_string(), Column::Float(points().map(|(_, _, v)| of(v) as f32).collect()))
    };
    let cell = |v: &rivers::Vertex, axis: usize| v.cell(network.size)[axis] as i64 + grid.origin[axis];
    let metres = |v: &rivers::Vertex, axis: usize| (v.place[axis] + grid.origin[axis] as f64) * grid.cell;
    Table {
        columns: vec![
            ints("row", "cell", &|(_, _, v)| cell(v, 0)),
            ints("column", "cell", &|(_, _, v)| cell(v, 1)),
            ints("river", "1", &|(id, _, _)| id),
            ints("name", "1", &|(_, river, _)| i64::from(network.names[river.number as usize])),
            floats("x", "m", &|v| metres(v, 1)),
            floats("y", "m", &|v| metres(v, 0)),
            floats("discharge", "m³/s", &|v| v.discharge()),
            floats("width", "m", &|v| v.width),
            floats("depth", "m", &|v| v.depth),
            floats("bed", "m", &|v| v.bed.metres()),
            floats("surface", "m", &|v| v.surface.metres()),
        ],
    }
}
