//! [`Past`]: what the reckoning of a whole run begins with, and what has been booked so far.

use crate::model::MassBalance;
use crate::models::hydrology::amounts::{amounts_of, table_of};
use crate::models::hydrology::lakes::Lakes;
use thalweg_core::declare::codec::{column, not_held};
use thalweg_core::terrain::{Column, Table};
use thalweg_core::{Result, Terrain};
use thalweg_flow::Land;
use thalweg_flow::pools::{Arrival, Stock};

/// The table of water that stood when the run began: `row`, `column`, `stood` (units × cells).
pub const STOOD: &str = "stood";

/// The table of what batches have booked of water so far: `rained`, `poured`, `evaporated`, `infiltrated`, `drained` (m³),
/// each the sum of its rows.
pub const BOOKED: &str = "booked";

const AMOUNTS: [&str; 5] = ["rained", "poured", "evaporated", "infiltrated", "drained"];

/// What a reckoning begins with, and what it sets right.
#[derive(Default)]
pub struct Past {
    pub(super) stood: Vec<Arrival>,
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
    pub fn book(&mut self, budget: &MassBalance) {
        self.booked.iter_mut().zip(amounts(budget)).for_each(|(sum, amount)| *sum += amount);
    }

    /// Books so much that the run's books are those of the last reckoning.
    pub fn settle(self, books: &MassBalance, budget: &mut MassBalance) {
        let [rained, poured, evaporated, infiltrated, drained] = amounts(books);
        let [rained_before, poured_before, evaporated_before, infiltrated_before, drained_before] = self.booked;
        budget.rained += rained - rained_before;
        budget.poured += poured - poured_before;
        budget.evaporated += evaporated - evaporated_before;
        budget.infiltrated += infiltrated - infiltrated_before;
        budget.drained += drained - drained_before;
    }
}

fn amounts(budget: &MassBalance) -> [f64; 5] {
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
