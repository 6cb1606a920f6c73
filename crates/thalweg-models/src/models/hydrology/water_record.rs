//! [`WaterRecord`]: the water at the beginning of a run, and the water balance that the batches have booked so far.

use crate::model::MassBalance;
use crate::models::hydrology::amounts::{amounts_to_table, read_amounts};
use crate::models::hydrology::lakes::SettledLakes;
use thalweg_core::declare::codec::{read_column, stored_value_error};
use thalweg_core::terrain::{Column, Table};
use thalweg_core::{Result, Terrain};
use thalweg_flow::Land;
use thalweg_flow::pools::{Arrival, Stock};

/// Name of the table of water that stood when the run began. Columns: `row`, `column`, `stood` (units × cells).
pub const INITIAL_WATER_TABLE: &str = "stood";

/// Name of the table of the water balance that the batches have booked so far. Columns: `rained`, `poured`,
/// `evaporated`, `infiltrated`, `drained` (m³); each amount is the sum of its rows.
pub const BOOKED: &str = "booked";

const AMOUNTS: [&str; 5] = ["rained", "poured", "evaporated", "infiltrated", "drained"];

/// The initial water of the final computation, and the bookings that it corrects.
#[derive(Default)]
pub struct WaterRecord {
    pub(super) stood: Vec<Arrival>,
    booked: [f64; 5],
}

impl WaterRecord {
    /// Records the water that stands at the beginning of a run: the sum of each depression of the terrain at that
    /// time, at its lowest cell.
    pub fn from_initial_water(terrain: &Terrain, stock: &Stock, lakes: &mut Option<SettledLakes>) -> Self {
        let depths = stock.depth.as_slice();
        if depths.iter().all(|depth| depth.0 == 0) {
            return Self { stood: stock.held.clone(), ..Self::default() };
        }
        // Only the sum of a depression matters: the water settles again on other terrain. Water on cells that drain off
        // the land keeps its cell.
        let hierarchy = SettledLakes::update_or_create(lakes, &Land::from_terrain(terrain)).pools().hierarchy();
        let mut sums = vec![0i64; hierarchy.leaf_count()];
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

    /// Takes the record out of a terrain's tables. Missing tables count as empty.
    ///
    /// # Errors
    /// Returns an error if a table is not valid.
    pub fn take_from(terrain: &mut Terrain) -> Result<Self> {
        let stood = terrain.tables.remove(INITIAL_WATER_TABLE);
        let stood = stood
            .map(|table| read_amounts(&table, INITIAL_WATER_TABLE, INITIAL_WATER_TABLE, &terrain.grid))
            .transpose()?;
        let booked = terrain.tables.remove(BOOKED).map(|table| read_booked(&table)).transpose()?;
        Ok(Self { stood: stood.unwrap_or_default(), booked: booked.unwrap_or_default() })
    }

    /// Puts the record into a terrain's tables.
    pub fn store_in(&self, terrain: &mut Terrain) {
        if !self.stood.is_empty() {
            terrain.tables.insert(
                INITIAL_WATER_TABLE.to_string(),
                amounts_to_table(&self.stood, INITIAL_WATER_TABLE, &terrain.grid),
            );
        }
        if self.booked.iter().any(|amount| *amount > 0.0) {
            terrain.tables.insert(BOOKED.to_string(), booked_table(&self.booked));
        }
    }

    /// Adds the water balance of a batch to the bookings.
    pub fn book_batch(&mut self, budget: &MassBalance) {
        self.booked.iter_mut().zip(list_water_amounts(budget)).for_each(|(sum, amount)| *sum += amount);
    }

    /// Adds the difference between `books` and the bookings so far to `budget`, so that the mass balance of the whole
    /// run equals that of the final computation.
    pub fn correct_balance(self, books: &MassBalance, budget: &mut MassBalance) {
        let [rained, poured, evaporated, infiltrated, drained] = list_water_amounts(books);
        let [rained_before, poured_before, evaporated_before, infiltrated_before, drained_before] = self.booked;
        budget.rained += rained - rained_before;
        budget.poured += poured - poured_before;
        budget.evaporated += evaporated - evaporated_before;
        budget.infiltrated += infiltrated - infiltrated_before;
        budget.drained += drained - drained_before;
    }
}

fn list_water_amounts(budget: &MassBalance) -> [f64; 5] {
    [budget.rained, budget.poured, budget.evaporated, budget.infiltrated, budget.drained]
}

/// Returns the bookings as a table. Columns hold `f32`, so each amount is split into three numbers of 24 bits each,
/// which hold the 53 bits of an `f64` exactly.
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

fn read_booked(table: &Table) -> Result<[f64; 5]> {
    let mut booked = [0.0; 5];
    for (name, sum) in AMOUNTS.iter().zip(&mut booked) {
        *sum = read_column::<f32>(BOOKED, table, name)?.iter().map(|part| f64::from(*part)).sum();
        // The table may come from a file: the range excludes NaN, infinity and negative amounts.
        if !(0.0..1e30).contains(sum) {
            return Err(stored_value_error(BOOKED, name, 0, *sum));
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
            assert_eq!(read_booked(&booked_table(&booked)).ok(), Some(booked));
        }
    }
}
