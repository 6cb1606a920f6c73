//! [`Refinement`]: the inputs and constants from which one window is computed, its stages in their order, and its mass
//! balance.

use crate::carving::CarvedTerrain;
use crate::ledger::{Ledger, Operator};
use crate::margins::{FINE_MARGIN_CELLS, Margins};
use crate::plane::{PaddedPlane, PlanePart};
use crate::rock::RockBeds;
use crate::{Frame, LocalWindow, Rules, beds, check_window, needed_window, overbank_deposition};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Cell, CellRect, Error, Field, Height, Result, Size};

/// The inputs, derived constants and bookkeeping of one refinement.
pub(super) struct Refinement<'a> {
    pub frame: &'a Frame,
    pub rules: &'a Rules,
    pub coarse: &'a LocalWindow,
    /// The cells of the level that are computed.
    pub target_rect: CellRect<i64>,
    /// Coarse cells whose blocks are carved (`blocks`), and those for which the planes have fine terrain (`all`).
    pub blocks: CellRect<i64>,
    pub all: CellRect<i64>,
    pub level: u32,
    /// Width of the level's cells in metres.
    pub width: f32,
    pub sea: i32,
    /// The least height of land adjacent to a lake above its level, in units.
    pub clear: i32,
    pub key: RandomKey,
    pub seed: u32,
    /// Seed of the meanders, which is the same on all levels.
    pub meanders: u32,
    /// World cell of the planes' first cell, and the planes' size.
    pub origin: Cell<i64>,
    pub size: Size,
    pub margins: Margins,
    /// True if a river floods its floor on this level.
    pub is_flooded: bool,
    /// The mass balance, if it was requested, and the target cells' elevation when it was last updated.
    pub ledger: Option<Ledger>,
    pub recorded_elevations: Field<Height>,
}

impl<'a> Refinement<'a> {
    /// Checks the inputs and derives the constants.
    pub fn new(
        frame: &'a Frame,
        rules: &'a Rules,
        key: RandomKey,
        coarse: &'a LocalWindow,
        target_rect: CellRect<i64>,
    ) -> Result<Self> {
        let level = coarse.level.saturating_add(1);
        rules.check()?;
        coarse.check_sizes()?;
        frame.check(level)?;
        check_window(target_rect, frame.world_rect(level))?;
        rules.joins.check(level, frame.cell_width(level))?;
        let needed = needed_window(frame, rules, level, target_rect);
        if !coarse.rect.contains(&needed) {
            let [rows, cols] = [0, 1].map(|axis| format!("{} to {}", needed.start[axis], needed.end[axis]));
            let present = format!(
                "rows {} to {}, columns {} to {}",
                coarse.rect.start[0], coarse.rect.end[0], coarse.rect.start[1], coarse.rect.end[1]
            );
            return Err(Error::invalid_value("coarse window", present, format!("rows {rows}, columns {cols} or more")));
        }
        let width = frame.cell_width(level) as f32;
        let start = [0, 1].map(|axis| (needed.start[axis] - coarse.rect.start[axis]) as usize);
        let rows = (start[0]..start[0] + needed.size()[0])
            .map(|row| &coarse.area.row(row)[start[1]..start[1] + needed.size()[1]]);
        // Without a river that floods its floor, the margins are narrower and less terrain is computed. The result of
        // the target cells is the same.
        let is_flooded = rows.flatten().any(|area| overbank_deposition::has_flooded_floor(rules, width, *area));
        let margins = Margins::with_floods(rules, level, frame.cell_width(level), is_flooded);
        let blocks = target_rect.grow_within(margins.carved, frame.world_rect(level)).to_coarser_level();
        // The planes include the rings that carving reads, so their size has to be checked as well.
        let all = blocks.grow_within(FINE_MARGIN_CELLS, frame.world_rect(level - 1));
        check_window(all.to_finer_level(), frame.world_rect(level))?;
        let fine = all.to_finer_level();
        // The largest drainage area of a hill's cell.
        let widest = rules.river as f32 * (frame.cell_width(level - 1) * frame.cell_width(level - 1)) as f32;
        Ok(Self {
            frame,
            rules,
            coarse,
            target_rect,
            blocks,
            all,
            level,
            width,
            sea: frame.sea_units(),
            clear: beds::incision_clearance(frame, level, widest),
            key: key.derive_key(level.into()),
            // Every level has random numbers of its own, except for the meanders, which several levels move in the same
            // way.
            seed: key.derive_key(level.into()).random_bits() as u32,
            meanders: key.random_bits() as u32,
            origin: fine.start,
            size: fine.size(),
            margins,
            is_flooded,
            ledger: None,
            recorded_elevations: Field::new([0, 0], Height::ZERO),
        })
    }

    /// Returns the part of the planes that extends `beyond` cells beyond the target ones.
    pub fn part_with_margin(&self, beyond: i64) -> PlanePart {
        PlanePart::from_rect(self.target_rect.grow_within(beyond, self.frame.world_rect(self.level)), self.origin)
    }

    /// Runs all stages and returns the finished window.
    pub fn run(&mut self) -> LocalWindow {
        let width = self.frame.cell_width(self.level);
        let rock = self.rules.strata.as_ref().map(|strata| RockBeds::new(strata, self.origin, self.size, width));
        let CarvedTerrain { mut carved, slope, balance, raw, sand } = self.carve_paths(rock.as_ref());
        let cells = self.part_with_margin(self.margins.carved);
        self.incise_beds(&mut carved, &cells);
        self.record_operator(Operator::Beds, &carved.ground);
        let (ground, codes) = self.erode_terrain(&carved, slope, balance, rock.as_ref(), sand.as_ref());
        self.assemble_window(&carved, &raw, ground, codes, sand.as_ref())
    }

    /// Starts the mass balance: each target cell is as high as the coarse cell of which it is a part.
    pub fn start_ledger(&mut self) {
        let Some(ledger) = &mut self.ledger else { return };
        let size = self.target_rect.size();
        self.recorded_elevations = Field::from_fn(size, |i, j| {
            let world = [self.target_rect.start[0] + i as i64, self.target_rect.start[1] + j as i64];
            // World cells may be negative, so the division rounds down.
            let [r, c] = [0, 1].map(|axis| (world[axis].div_euclid(2) - self.coarse.rect.start[axis]) as usize);
            self.coarse.ground[(r, c)]
        });
        ledger.before = self.recorded_elevations.as_slice().iter().map(|h| i128::from(h.0)).sum();
    }

    /// Records an operator's change to the target cells.
    pub fn record_operator(&mut self, operator: Operator, ground: &PaddedPlane<i32>) {
        let part = self.part_with_margin(0);
        let Some(ledger) = &mut self.ledger else { return };
        for (i, row) in part.rows.clone().enumerate() {
            ledger.record_change(
                operator,
                self.recorded_elevations.row_mut(i),
                ground.span(row, &part.cols).iter().copied(),
            );
        }
    }
}
