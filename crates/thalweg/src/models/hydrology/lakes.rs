//! [`Lakes`]: water at rest between rounds; what lakes cannot hold sets out again at their sills.

use crate::error::Result;
use crate::field::Field;
use crate::flow::Land;
use crate::flow::pools::{self, Arrival, Overflow, Pools, Stock};
use crate::height::Height;
use crate::model::{Budget, Tick};
use crate::models::hydrology::drop::{self, Drop, portions};
use crate::models::hydrology::grade::{Grading, Way};
use crate::models::hydrology::ground::Ground;
use crate::models::hydrology::rules::Rules;
use crate::rng::Key;
use crate::terrain::Terrain;

/// The hollows of the ground as it was when water last came to rest.
pub struct Lakes {
    pools: Pools,
    ground: Field<Height>,
}

/// A settling: when it is, and what it does beside.
pub struct Settling {
    /// The batch's, for keys.
    pub tick: Tick,
    /// Number of the round, which no other one of the run has.
    pub round: u64,
    /// Units that evaporate from each wet cell.
    pub evaporation: i32,
    /// Share of what is over a sill that leaves.
    pub release: f64,
    /// Drops at most that set out over one sill.
    pub most: u64,
}

impl Lakes {
    /// Hands the water of drops at rest to what stands on the ground; the drops that set out over sills.
    ///
    /// `lakes` are those of the settling before, if there was one: nothing but quicker with them.
    pub fn settle(
        lakes: &mut Option<Self>,
        terrain: &Terrain,
        stock: &mut Stock,
        resting: &[Drop],
        rules: &Rules,
        settling: &Settling,
        budget: &mut Budget,
    ) -> Result<Vec<Drop>> {
        let land = Land::of(terrain);
        let pools = &match lakes {
            Some(lakes) => {
                lakes.follow(&land);
                lakes
            }
            None => lakes.insert(Self { pools: Pools::of(&land), ground: terrain.ground.clone() }),
        }
        .pools;
        let grid = &terrain.grid;
        let arrival = |drop: &Drop| {
            let [i, j] = [0, 1].map(|a| (drop.cell[a] - grid.origin[a]) as u32);
            Arrival { cell: i * grid.cols() as u32 + j, water: drop.water.into() }
        };
        let arrivals: Vec<Arrival> = resting.iter().map(arrival).collect();
        let least = rules.drop.into();
        let how = pools::Rules { evaporation: settling.evaporation, release: settling.release, least };
        let settled = pools.settle(&land, stock, &arrivals, &how)?;
        budget.evaporated += settled.evaporated as f64;
        budget.drained += settled.left as f64;

        let mut drops = Vec::new();
        let mut number = drop::OVERFLOW | settling.round << drop::COUNT_BITS;
        for overflow in settled.overflow {
            if overflow.toward == overflow.cell {
                budget.drained += overflow.water as f64;
                continue;
            }
            for water in portions(overflow.water, rules.drop, settling.most) {
                drops.push(over_the_sill(terrain, &overflow, water, rules, settling.tick.key, number));
                number += 1;
            }
        }
        Ok(drops)
    }

    /// Evens beds below dry pits of the ground that was followed last, as [`Grading`] does; how many.
    pub fn grade(
        &self,
        terrain: &mut Terrain,
        depth: &Field<Height>,
        rules: &Rules,
        way: Way,
        passes: impl Fn(usize) -> bool,
        budget: &mut Budget,
    ) -> Result<usize> {
        let ground = Ground::of(terrain, rules.tan_talus)?;
        let grading = Grading { pools: &self.pools, depth, ground: &ground, rules, way };
        Ok(grading.grade(terrain, passes, budget))
    }

    /// Brings the hollows up to the ground as it is now.
    pub fn follow(&mut self, land: &Land<'_>) {
        let cells = self.ground.as_slice().iter().zip(land.ground.as_slice());
        let changed: Vec<bool> = cells.map(|(before, now)| before != now).collect();
        let changed = Field::from_vec(land.ground.size(), changed);
        self.pools.update(land, changed.as_ref().ok());
        self.ground.as_mut_slice().copy_from_slice(land.ground.as_slice());
    }
}

/// A drop on a sill, about to go where it falls off.
fn over_the_sill(terrain: &Terrain, overflow: &Overflow, water: i32, rules: &Rules, key: Key, number: u64) -> Drop {
    let grid = &terrain.grid;
    let cell = |k: u32| grid.world_cell(k as usize / grid.cols(), k as usize % grid.cols());
    let (here, there) = (cell(overflow.cell), cell(overflow.toward));
    let unit = [0, 1].map(|a| (there[a] - here[a]) as f32);
    // Round the middle: a step of √2 cells then leads to the neighbour.
    let part = key.and(number).pair().map(|x| 0.42 + 0.16 * x as f32);
    let ground = terrain.ground.as_slice()[overflow.cell as usize];
    Drop { part, speed: unit, spilled: true, ..Drop::new(number, here, ground, water, rules.turns) }
}
