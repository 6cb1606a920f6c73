//! Assembles the finished window: the wanted cells' ground, receivers, drainage areas, lakes and sand.

use crate::LocalWindow;
use crate::cell_flags::{LAKE, SEA};
use crate::ledger::Operator;
use crate::paths::CarvedPlanes;
use crate::plane::{PaddedPlane, PlanePart};
use crate::refinement::Refinement;
use crate::sand::Cover;
use crate::tree;
use thalweg_core::terrain::LakeRaster;
use thalweg_core::{Field, Height};
use thalweg_flow::OUT;

impl Refinement<'_> {
    /// Assembles the wanted cells with their tree.
    pub fn assemble_window(
        &mut self,
        carved: &CarvedPlanes,
        raw: &PaddedPlane<i32>,
        ground: PaddedPlane<i32>,
        mut codes: PaddedPlane<u8>,
        sand: Option<&Cover>,
    ) -> LocalWindow {
        // Drainage areas of hills are counted up to that of the coarser level's smallest river: 4 fine cells for each
        // of its N cells. The rules limit N to 48, so the count fits a byte.
        let max_count = (4 * self.rules.river) as u8;
        let mut now = PaddedPlane::new(self.size, 1u8);
        let mut next = now.clone();
        for sweep in 1..=self.margins.tree {
            tree::sweep_upstream_counts(
                &now,
                &codes,
                max_count,
                &self.part_with_margin(self.margins.tree - sweep),
                &mut next,
            );
            std::mem::swap(&mut now, &mut next);
        }
        let cell = self.frame.cell_width(self.level) * self.frame.cell_width(self.level);
        let cell = cell as f32;
        let size = self.target_rect.size();
        let mut heights = Vec::with_capacity(size[0] * size[1]);
        let mut receivers = Vec::with_capacity(size[0] * size[1]);
        let mut area = Vec::with_capacity(size[0] * size[1]);
        let part = self.part_with_margin(0);
        for i in part.rows.clone() {
            for (j, code) in part.cols.clone().zip(codes.span_mut(i, &part.cols)) {
                let height = ground.value_at(i, j);
                let under = carved.flags.value_at(i, j) & SEA != 0;
                // A lake's bed stays above the sea level, so that it does not count as sea.
                let lowest =
                    if carved.flags.value_at(i, j) & LAKE != 0 { self.sea.saturating_add(1) } else { i32::MIN };
                // Under water the ground is that before carving, but never above the water's surface.
                let bed = sand.filter(|sand| sand.thick.value_at(i, j) > 0).map_or(raw, |sand| &sand.smooth);
                heights.push(Height(if under { bed.value_at(i, j).min(height).max(lowest) } else { height }));
                receivers.push(if height <= self.sea { OUT } else { *code });
                let counted = f32::from(now.value_at(i, j)) * cell;
                area.push(carved.area.value_at(i, j).max(counted));
            }
        }
        let lakes = carved.lakes.as_ref().and_then(|lakes| self.extract_lakes(lakes, &ground, &part));
        let heights = Field::from_vec(size, heights).unwrap_or_else(|_| Field::new(size, Height::ZERO));
        if let Some(ledger) = &mut self.ledger {
            let rows = heights.as_slice().iter().map(|h| h.0);
            ledger.record_change(Operator::Seabed, self.recorded_elevations.as_mut_slice(), rows);
        }
        LocalWindow {
            level: self.level,
            rect: self.target_rect,
            ground: heights,
            receivers: Field::from_vec(size, receivers).unwrap_or_else(|_| Field::new(size, OUT)),
            area: Field::from_vec(size, area).unwrap_or_else(|_| Field::new(size, cell)),
            lakes,
            loose: sand.and_then(|sand| Field::from_vec(size, sand.thicknesses(&part)).ok()),
        }
    }

    /// Returns the wanted cells' lakes; `None` if there are none.
    fn extract_lakes(
        &self,
        numbers: &PaddedPlane<u32>,
        ground: &PaddedPlane<i32>,
        part: &PlanePart,
    ) -> Option<LakeRaster> {
        let at = |i: usize, j: usize| (part.rows.start + i, part.cols.start + j);
        let size = self.target_rect.size();
        let id = Field::from_fn(size, |i, j| numbers.value_at(at(i, j).0, at(i, j).1));
        let level = |i: usize, j: usize| if id[(i, j)] == 0 { 0 } else { ground.value_at(at(i, j).0, at(i, j).1) };
        let level = Field::from_fn(size, |i, j| Height(level(i, j)));
        id.as_slice().iter().any(|id| *id != 0).then_some(LakeRaster { id, level })
    }
}
