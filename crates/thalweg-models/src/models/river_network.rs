//! Rivers that are planned and carved into a terrain: see [`RiverNetwork`].

use crate::model::{About, Family, MassBalance, Model, Stepper, Tick};
use crate::process::slopes::replace_ground;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::{Cells, Column, DISCHARGE, HARDNESS, LayerSpec, PROTECT, RAIN, SEDIMENT, Table, WATER};
use thalweg_core::{Field, Grid, Result, Terrain, choice, params};
use thalweg_flow::Land;
use thalweg_flow::breach::BreachLimits;
use thalweg_noise::input_tables::springs::{self, SPRINGS};
use thalweg_rivers as rivers;
use thalweg_rivers::sampled::{self, RiverSampling, SourceRule};
use thalweg_rivers::waypoints::{self, MOUTHS, PASSES};
use thalweg_rivers::{Carved, Design, Network, Site, distance};

choice! {
    /// The method by which rivers are located.
    pub enum Method {
        /// From the drainage of the land: lakes, smooth lines, and widths in metres from real discharges.
        Drainage = "drainage",
        /// From sampled points and shortest paths, as in the report.
        Sampled = "sampled",
    }
}

params! {
    /// Adds rivers and lakes to a terrain that has none, and carves them: every river reaches the sea, a lake or the
    /// edge, and none flows uphill.
    ///
    /// Location: the ground is smoothed to remove roughness of up to `noise`, depressions are drained by channels that
    /// are at most `breach_depth` deep and reach at most `breach_length` from the pit, and a depression that remains
    /// and is deeper than `lake` is a lake, with its inlets and its outlet. A river is where a drainage area of at
    /// least `catchment` drains (D8). Drainage area × `runoff` × the layer `rain` is its discharge Q, and springs add
    /// to it. The river's line passes through cell centres, is smoothed along the stream, and meanders on gentle
    /// ground: bends about 11 widths long, within the level valley floor, and never across another river, itself or
    /// higher ground.
    ///
    /// Size: w = `width`·Q^½ wide and `depth`·Q^0.4 deep. Rivers are torrents on slopes above 0.065, steps and pools
    /// above 0.02, braided (1.8 times as wide, 0.7 times as deep) above 0.0125·Q^−0.44 where the floor is broad, and
    /// otherwise meandering. Gentle rivers widen towards the sea by up to `estuary` widths. With a discharge of `delta`
    /// or more over level ground they divide there into two or three arms, each of which takes a third of the water
    /// that arrives where it branches off.
    ///
    /// Carving: the water surface is 0.15 of the depth below the lower bank and never rises downstream. The bed is one
    /// depth below the surface in the middle and rises to either side as a parabola. Floodplains (6 widths to each side
    /// of meandering rivers, 4 of braided, 1 of stepped ones, none of torrents) rise with a slope of 0.01, or with the
    /// river's own slope if that is greater, and are no wider than the level valley floor. Beyond them banks rise with
    /// the slope `bank` and fade out in valley sides that are steeper; a deep cut also lowers the ground within three
    /// cells of it. A fall that is steeper than `fall` and than twice the river's slope around it is cut back, by at
    /// most `grading`·(1 − hardness): waterfalls remain where the rock is hard. Nothing is raised except levees: beside
    /// meandering rivers with a floodplain, by `levees` × the river's depth at the water's edge, decreasing outward
    /// over two widths (at least one and a half cells, but no farther than the floodplain).
    ///
    /// Depressions that remain are drained. From each of them a channel is cut at the level of its lowest point, along
    /// the path that removes the least material, to lower ground, a river, a lake or out of the map. For depressions at
    /// least as deep as `lake` the channel must be within `breach_depth` and `breach_length`; if there is none, the
    /// depression becomes a lake. The rim of a lake is not cut, nor is protected ground. A river that such a channel
    /// reaches, or whose bank it cuts, is lowered to it.
    ///
    /// Source: Eymard & Peurière (student report, Université Claude Bernard Lyon 1), without the limits of their
    /// method; widths and depths by Leopold & Maddock (1953, USGS Prof. Paper 252) and Moody & Troutman (2002); bends
    /// by Leopold & Wolman (1960); kinds of rivers by Montgomery & Buffington (1997) and Leopold & Wolman (1957);
    /// breaching by Lindsay & Dhun (2015, doi:10.1080/13658816.2014.975715).
    ///
    /// `method = "sampled"` follows the report instead. Points are at least r = `spacing` apart, and each is joined to
    /// all within 1.9·r (about six). Dijkstra's algorithm finds the cheapest paths from all of them to the sea (or,
    /// where there is none, to open edges); an edge costs w = ‖a‖·(1 − ½·â·z), with a its vector in the direction of
    /// flow, â the unit vector of a, and z the upward unit vector; times C² uphill and divided by C downhill.
    /// Elevations are corrected so that no path rises. Paths are drawn with Bresenham's lines; the drainage D of a
    /// point is 1 plus that of the points that flow into it, and Q = √D. Within R = Q metres the ground becomes
    /// (1 − α)·ground + α·(h − R), α = (1 − (r/R)²)³. With this method D takes the place of the discharge, there are no
    /// lakes, and of the tables only `springs` and `mouths` are used.
    ///
    /// It needs no layers. It uses `sediment` (which is eroded first), `hardness` (also on floodplains), `protect`
    /// (where it is ½ or more, rivers avoid it if there is another path; floodplains and banks are cut less by that
    /// share) and `rain`; and the tables `springs`, `mouths` and `passes` (in a recipe
    /// `tables = { mouths = [{ x = 0.0, y = 800.0 }], passes = [{ x = 900.0, y = 700.0, reach = 300.0 }] }`).
    /// It writes `river`, `lake`, `river_distance`, `water`, `discharge` and the table `rivers`, with a row for each
    /// point of a river. Rivers carry the eroded material out of the map, or, if no edge is open and no data is
    /// missing, to the lowest ground. Limits: a cell through which a river passes has one water level and one bed,
    /// those of the lowest point of the line in it; rivers narrower than a cell are cut to their depth over the whole
    /// cell.
    pub struct RiverNetwork {
        /// Drainage area from which on there is a river: less gives more and smaller ones. At least 16 cells are always
        /// required.
        catchment: f64 = 1.0, within 0.0..=1e6, unit "km²", scales Size^2, source "ours";
        /// Water that runs off in a year: more makes wider and deeper rivers.
        runoff: f64 = 0.5, within 0.0..=20.0, unit "m/a", scales Rain, source "ours";
        /// Greatest depth of a channel that is cut to drain a depression.
        breach_depth: f64 = 12.0, within 0.0..=16_000.0, unit "m", source "ours";
        /// Greatest straight-line distance from the pit that a channel that drains a depression may reach.
        breach_length: f64 = 1000.0, within 0.0..=1e6, unit "m", scales Size, source "ours";
        /// Height of the roughness of the ground that is smoothed before rivers are located.
        noise: f64 = 2.0, within 0.0..=1000.0, unit "m", source "ours";
        /// Depth from which on a remaining depression is a lake.
        lake: f64 = 2.0, within 0.0..=1000.0, unit "m", source "ours";
        /// Width of a river with a discharge of 1 m³/s.
        width: f64 = 7.2, within 0.0..=1000.0, unit "m", source "Moody & Troutman 2002";
        /// Depth of a river with a discharge of 1 m³/s.
        depth: f64 = 0.27, within 0.0..=100.0, unit "m", source "Moody & Troutman 2002";
        /// Factor on the size of meanders: 0 for none, 1 for the usual size in nature.
        meander: f64 = 1.0, within 0.0..=3.0, unit "1", source "Leopold & Wolman 1960";
        /// Width of floodplains on either side, as a factor on the usual width: 0 makes none.
        floodplain: f64 = 1.0, within 0.0..=10.0, unit "1", source "ours";
        /// Height of levees beside meandering rivers, as a share of their depth: 0 makes none.
        levees: f64 = 0.0, within 0.0..=2.0, unit "1", source "ours";
        /// Slope of banks beyond floodplains, as rise over run: less cuts valleys with gentler sides.
        bank: f64 = 0.5, within 0.05..=10.0, unit "1", scales Repose, source "ours";
        /// Slope of a river, as fall over run, above which it is cut back in soft rock.
        fall: f64 = 0.5, within 0.0..=10.0, unit "1", source "ours";
        /// Greatest depth of a cut that makes such a fall gentler.
        grading: f64 = 15.0, within 0.0..=1000.0, unit "m", source "ours";
        /// Discharge from which on a gentle river divides into arms at the sea; with 0 none does.
        delta: f64 = 5.0, within 0.0..=1e6, unit "m³/s", source "ours";
        /// Widening of a gentle river towards the sea, in multiples of its own width.
        estuary: f64 = 2.0, within 0.0..=20.0, unit "1", source "ours";
        /// Method by which rivers are located. With `sampled` the parameters above have no effect; with `drainage`
        /// those below have none.
        method: Method = Method::Drainage, within .., unit "1", source "ours";
        /// Least distance r between two sampled points; where points are closest, it is at least four cells.
        spacing: f64 = 500.0, within 0.0..=1e6, unit "m", scales Size, source "ours";
        /// Reduction of the distance between sampled points on steep ground, as a share of the distance.
        closeness: f64 = 0.0, within 0.0..=0.75, unit "1", source "ours";
        /// The factor C on the cost of climbs: more keeps rivers from climbing, at the price of long detours.
        climb: f64 = 2.0, within 1.0..=1000.0, unit "1", source "ours";
        /// Number of sampled points at which rivers begin, in addition to springs; 0 takes all.
        sources: u32 = 0, within 0..=1_000_000, unit "1", source "ours";
        /// The sampled points at which rivers begin, if `sources` is not 0.
        source: SourceRule = SourceRule::Any, within .., unit "1", source "ours";
    }
}

/// The number of the river, from 1 on, to which a cell's water belongs; 0 elsewhere.
pub const RIVER: LayerSpec = LayerSpec::counts(
    "river",
    "1",
    "Number of the river, from 1, that covers the cell; 0 on dry ground, in lakes and in the sea.",
)
.following_water();
/// The number of the lake, from 1 on, in which a cell is; 0 elsewhere.
pub const LAKE: LayerSpec =
    LayerSpec::counts("lake", "1", "Number of the lake, from 1; 0 elsewhere.").following_water();
/// The distance from a cell to the nearest river in metres; the sum of the map's width and height if there is no
/// river.
pub const RIVER_DISTANCE: LayerSpec = LayerSpec::floats(
    "river_distance",
    "m",
    "Distance to the nearest river; the map's width plus its height if there is no river.",
)
.following_water();

/// The name of the table of the rivers' vertices: one row per vertex, ordered by river. Its columns are `row` and
/// `column` (map cell), `river` and `name` (numbers), `x` and `y` (metres eastward and southward from the map's
/// north-western corner), `discharge` (m³/s), `width` and `depth` (m), `bed` and `surface` (elevations in m).
pub const RIVERS: &str = "rivers";

impl RiverNetwork {
    /// Returns the design parameters of the networks, in the units of [`Design`]; `method` has no influence on it.
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

    /// Returns the parameters of the method `sampled`, which follows the report of Eymard & Peurière.
    pub fn sampling(&self) -> RiverSampling {
        RiverSampling {
            spacing: self.spacing,
            relief: self.closeness,
            climb: self.climb,
            sources: self.sources,
            rule: self.source,
        }
    }

    /// Plans and carves the rivers of a terrain without changing the terrain. `key` is that of the stage.
    ///
    /// # Errors
    /// Returns the errors of [`rivers::plan_rivers`], or of [`sampled::make_network`] if that is the method. Also
    /// returns an error if one of the tables `springs`, `mouths` or `passes` has wrong columns or contains cells
    /// outside the terrain.
    pub fn plan_and_carve(&self, terrain: &Terrain, key: RandomKey) -> Result<(Network, Carved)> {
        let (springs, mouths, passes) =
            (springs::spring_sources(terrain)?, waypoints::read_mouths(terrain)?, waypoints::read_passes(terrain)?);
        let site = Site {
            land: Land { outlets: &mouths, ..Land::from_terrain(terrain) },
            rain: terrain.float_layer(&RAIN),
            hardness: terrain.float_layer(&HARDNESS),
            protect: terrain.float_layer(&PROTECT),
            springs: &springs,
            passes: &passes,
        };
        if self.method == Method::Sampled {
            return sampled::make_network(&site, &self.sampling(), key);
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
            title: "River network",
            summary: "Adds rivers and lakes to a terrain: smooth lines that follow it and are carved into it.",
            source: "Eymard & Peurière, Génération procédurale d'un réseau de rivières (Université Lyon 1); Leopold & Maddock (1953)",
            family: Family::Erosion,
            uses: &[RAIN, HARDNESS, PROTECT],
            writes: &[SEDIMENT, RIVER, LAKE, RIVER_DISTANCE, WATER, DISCHARGE],
            tables: &[SPRINGS, MOUTHS, PASSES, RIVERS],
            ..About::default()
        }
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        60 * grid.len() as u64
    }

    fn start(&self, _grid: &Grid) -> Result<Box<dyn Stepper>> {
        Ok(Box::new(RiverNetworkStepper(self.clone())))
    }
}

struct RiverNetworkStepper(RiverNetwork);

impl Stepper for RiverNetworkStepper {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let (network, carved) = self.0.plan_and_carve(terrain, tick.key)?;
        let Carved { ground, water, river, .. } = carved;
        // Levees consist of the material that the rivers have eroded.
        let mut budget = replace_ground(terrain, ground)?;
        let extent = terrain.grid.extent();
        let sides = extent.height + extent.width;
        let near = distance::distances_to_set(&river.map(|river| *river > 0), terrain.grid.cell);
        // Without a river the distance is infinite; the sum of the map's sides takes its place.
        let near = near.map(|metres| if metres.is_finite() { *metres } else { sides as f32 });
        let discharge = rasterize_discharges(&network, &river);
        terrain.insert_layer(&RIVER_DISTANCE, Cells::Float(near))?;
        terrain.insert_layer(&RIVER, Cells::Count(river))?;
        // The volume is measured before and after, as the layer may already have water.
        let stood = sum_water_volume(terrain);
        terrain.insert_layer(&WATER, Cells::Float(water.map(|depth| depth.metres_f32())))?;
        // Rivers and lakes are full from the start, so their water is booked as poured in.
        let more = sum_water_volume(terrain) - stood;
        budget.poured += more.max(0.0);
        budget.drained += (-more).max(0.0);
        terrain.insert_layer(&DISCHARGE, Cells::Float(discharge))?;
        terrain.tables.insert(RIVERS.to_string(), build_rivers_table(&network, &terrain.grid));
        terrain.insert_layer(&LAKE, Cells::Count(network.lake))?;
        Ok(budget)
    }
}

/// Returns the volume of water on the terrain in m³.
fn sum_water_volume(terrain: &Terrain) -> f64 {
    let depth = terrain.float_layer(&WATER).map_or(&[][..], |depth| depth.as_slice());
    depth.iter().map(|depth| f64::from(*depth)).sum::<f64>() * terrain.grid.cell_area()
}

/// Returns the discharge in m³/s in each cell of the rivers' paths, and 0 elsewhere.
fn rasterize_discharges(network: &Network, river: &Field<u32>) -> Field<f32> {
    let mut discharge = Field::new(river.size(), 0.0);
    for river in &network.rivers {
        for (k, vertex) in &river.path {
            discharge[*k as usize] = river.vertices[*vertex as usize].discharge() as f32;
        }
    }
    discharge
}

/// Builds the table [`RIVERS`] of the rivers' vertices.
fn build_rivers_table(network: &Network, grid: &Grid) -> Table {
    // One closure lists the vertices of all rivers in order, so that every column has the same rows.
    let points =
        || network.rivers.iter().zip(1i64..).flat_map(|(river, id)| river.vertices.iter().map(move |v| (id, river, v)));
    let ints = |name: &str, unit: &str, of: &dyn Fn((i64, &rivers::River, &rivers::Vertex)) -> i64| {
        (name.to_string(), unit.to_string(), Column::Int(points().map(of).collect()))
    };
    let floats = |name: &str, unit: &str, of: &dyn Fn(&rivers::Vertex) -> f64| {
        (name.to_string(), unit.to_string(), Column::Float(points().map(|(_, _, v)| of(v) as f32).collect()))
    };
    let cell = |v: &rivers::Vertex, axis: usize| v.cell(network.size)[axis] as i64 + grid.origin[axis];
    // Positions are in the window's cells; the table counts from the map's north-western corner.
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
