//! The water of a whole run, reckoned on the ground that it leaves.
//!
//! Drops do the work of far more years than `years`. While they run, silt lifts the lakes, and basins grow and shrink under water
//! that has come already. What stands at the end would be the water of ground that is gone.

use crate::base::error::Result;
use crate::declare::codec::{column, not_held};
use crate::flow::Land;
use crate::flow::pools::{self, Arrival, Stock};
use crate::model::{Budget, Tick};
use crate::models::hydrology::Hydrology;
use crate::models::hydrology::lakes::Lakes;
use crate::models::hydrology::rules::Rules;
use crate::models::hydrology::state::{State, amounts_of, table_of};
use crate::models::hydrology::weather;
use crate::terrain::field::Field;
use crate::terrain::height::Height;
use crate::terrain::{Column, Table, Terrain};

/// The table of water that stood when the run began: `row`, `column`, `stood` (units × cells).
pub const STOOD: &str = "stood";

/// The table of what batches have booked of water so far: `rained`, `poured`, `evaporated`, `infiltrated`, `drained` (m³),
/// each the sum of its rows.
pub const BOOKED: &str = "booked";

/// Parts of the years that are reckoned one after the other: the volume of a lake that is as old as it takes to settle is then
/// wrong by 1 in 100.
const PARTS: i64 = 32;

const AMOUNTS: [&str; 5] = ["rained", "poured", "evaporated", "infiltrated", "drained"];

/// What a reckoning begins with, and what it sets right.
#[derive(Default)]
pub struct Past {
    stood: Vec<Arrival>,
    booked: [f64; 5],
}

impl Past {
    /// At the beginning of a run, on the ground of that time: what stands, at the lowest place of each hollow.
    pub fn begin(terrain: &Terrain, stock: &Stock, lakes: &mut Option<Lakes>) -> Self {
        let depths = stock.depth.as_slice();
        if depths.iter().all(|depth| depth.0 == 0) {
            return Self { stood: stock.held.clone(), ..Self::default() };
        }
        let hierarchy = Lakes::at(lakes, &Land::of(terrain)).pools().hierarchy();
        let mut sums = vec![0i64; hierarchy.leaves()];
        let mut stood = stock.held.clone();
        for ((k, depth), leaf) in (0..).zip(depths).zip(hierarchy.leaf.as_slice()).filter(|((_, depth), _)| depth.0 > 0)
        {
            match sums.get_mut(*leaf as usize) {
                Some(sum) => *sum += i64::from(depth.0),
                None => stood.push(Arrival { cell: k, water: i64::from(depth.0) }),
            }
        }
        let pits = sums.iter().zip(&hierarchy.depressions);
        stood.extend(pits.map(|(water, leaf)| Arrival { cell: leaf.pit, water: *water }));
        stood.retain(|stood| stood.water > 0);
        Self { stood, ..Self::default() }
    }

    /// Out of a terrain's tables; nothing if they are not there.
    pub fn take(terrain: &mut Terrain) -> Result<Self> {
        let stood = terrain.tables.remove(STOOD);
        let stood = stood.map(|table| amounts_of(&table, STOOD, STOOD, &terrain.grid)).transpose()?;
        let booked = terrain.tables.remove(BOOKED).map(|table| booked_of(&table)).transpose()?;
        Ok(Self { stood: stood.unwrap_or_default(), booked: booked.unwrap_or_default() })
    }

    /// Into a terrain's tables.
    pub fn give(&self, terrain: &mut Terrain) {
        if !self.stood.is_empty() {
            terrain.tables.insert(STOOD.to_string(), table_of(&self.stood, STOOD, &terrain.grid));
        }
        if self.booked.iter().any(|amount| *amount > 0.0) {
            terrain.tables.insert(BOOKED.to_string(), booked_table(&self.booked));
        }
    }

    /// Keeps what a batch has booked.
    pub fn book(&mut self, budget: &Budget) {
        self.booked.iter_mut().zip(amounts(budget)).for_each(|(sum, amount)| *sum += amount);
    }

    /// Books so much that the run's books are those of the last reckoning.
    pub fn settle(self, books: &Budget, budget: &mut Budget) {
        let [rained, poured, evaporated, infiltrated, drained] = amounts(books);
        let [rained_before, poured_before, evaporated_before, infiltrated_before, drained_before] = self.booked;
        budget.rained += rained - rained_before;
        budget.poured += poured - poured_before;
        budget.evaporated += evaporated - evaporated_before;
        budget.infiltrated += infiltrated - infiltrated_before;
        budget.drained += drained - drained_before;
    }
}

/// Lets the climate of all years come to the lakes of the ground as it is now, from what stood when the run began: the state's
/// water is then what stands. None stands in hollows that are filled within the years `passes`. The books, in units × cells.
pub fn reckon(
    lakes: &mut Option<Lakes>,
    terrain: &Terrain,
    state: &mut State,
    stream: &Field<f32>,
    (model, rules): (&Hydrology, &Rules),
    (tick, passes): (Tick, f64),
) -> Result<Budget> {
    let land = Land::of(terrain);
    let pools = Lakes::at(lakes, &land).pools();
    let mut books = Budget::default();
    let when = (0..tick.step + 1, tick.key);
    let come = weather::come(terrain, model, rules, pools, (&state.stock.depth, stream), when, &mut books)?;
    let mut stock = Stock { depth: Field::new(terrain.grid.size, Height::ZERO), held: state.past.stood.clone() };
    let part = model.years / PARTS as f64;
    for n in 0..PARTS {
        // Whole units, which add up.
        let until = |water: i64, n: i64| (i128::from(water) * i128::from(n) / i128::from(PARTS)) as i64;
        let comes = |all: &Arrival| Arrival { water: until(all.water, n + 1) - until(all.water, n), ..*all };
        let arrivals: Vec<Arrival> = come.iter().map(comes).collect();
        let evaporation = model.dries(part * n as f64, part * (n + 1) as f64);
        let how = pools::Rules { evaporation, release: 1.0, least: 1 };
        let balance = pools.balance(&land, &mut stock, &arrivals, &how, passes / part)?;
        books.evaporated += balance.evaporated as f64;
        books.drained += balance.left as f64;
    }
    state.stock = stock;
    Ok(books)
}

fn amounts(budget: &Budget) -> [f64; 5] {
    [budget.rained, budget.poured, budget.evaporated, budget.infiltrated, budget.drained]
}

/// Three numbers of 24 bits hold the 53 of each amount.
fn booked_table(booked: &[f64; 5]) -> Table {
    let column = |(name, amount): (&&str, &f64)| {
        let mut rest = *amount;
        let rows = (0..3).map(|_| {
            let row = rest as f32;
            rest -= f64::from(row);
            row
        });
        (name.to_string(), "m³".to_string(), Column::Float(rows.collect()))
    };
    Table { columns: AMOUNTS.iter().zip(booked).map(column).collect() }
}

fn booked_of(table: &Table) -> Result<[f64; 5]> {
    let mut booked = [0.0; 5];
    for (name, sum) in AMOUNTS.iter().zip(&mut booked) {
        *sum = column::<f32>(BOOKED, table, name)?.iter().map(|part| f64::from(*part)).sum();
        if !(0.0..1e30).contains(sum) {
            return Err(not_held(BOOKED, name, 0, *sum));
        }
    }
    Ok(booked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_booked_is_kept_to_the_last_bit() {
        for amount in [0.0, 1.0 / 3.0, 123_456_789_012.345_68, 7e20 / 3.0] {
            let booked = [amount, 0.0, amount * 0.7, amount / 7.0, amount * 3.1];
            assert_eq!(booked_of(&booked_table(&booked)).ok(), Some(booked));
        }
    }
}
