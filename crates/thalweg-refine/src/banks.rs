//! Banks: the least elevation of cells beside rivers and lakes.

use multiversion::multiversion;

use crate::cell_flags::{FREE, GUARDED, LAKE, RIVER, SEA};
use crate::nodes::Nodes;
use crate::paths::CarvedPlanes;
use crate::plane::{LANES, PaddedPlane, PlanePart, read_lanes, write_lanes};
use thalweg_core::{Cell, CellRect};

impl CarvedPlanes {
    /// Raises hills' cells above their block's node and above adjacent rivers and lakes, in the blocks of the coarse
    /// cells of `rect`. It needs rivers one fine cell beyond; `banks` is scratch memory.
    pub fn raise_hills(&mut self, nodes: &Nodes, rect: CellRect<i64>, banks: &mut PaddedPlane<i32>) {
        self.compute_bank_levels(&PlanePart::from_rect(rect.to_finer_level(), self.origin), i32::MIN, banks);
        for i in rect.start[0]..rect.end[0] {
            for j in rect.start[1]..rect.end[1] {
                let cell = Cell::new(i, j);
                let Some(node) = nodes.get(cell) else { continue };
                let Cell { row: r, col: c } = self.first_child(cell);
                for child in (0..4u8).filter(|child| *child != node.child) {
                    let (i, j) = (r + usize::from(child >> 1), c + usize::from(child & 1));
                    let flags = self.flags.value_at(i, j);
                    if flags & (RIVER | SEA) == 0 {
                        let lowest = if flags & FREE == 0 { node.bed.saturating_add(1) } else { i32::MIN };
                        self.ground.set(i, j, self.ground.value_at(i, j).max(lowest).max(banks.value_at(i, j)));
                    }
                }
            }
        }
    }

    /// Computes the lowest elevation to which each cell of a part may be incised: above adjacent rivers and lakes,
    /// and above the sea.
    pub fn compute_incision_floors(&self, part: &PlanePart, sea: i32, floor: &mut PaddedPlane<i32>) {
        self.compute_bank_levels(part, sea.saturating_add(1), floor);
        for i in part.rows.clone() {
            for (floor, here) in floor.span_mut(i, &part.cols).iter_mut().zip(self.ground.span(i, &part.cols)) {
                // The floor is never above the present elevation, because incision must not raise a cell.
                *floor = (*floor).min(*here);
            }
        }
    }

    /// Computes the least elevation of each cell of a part above adjacent guarded rivers and lakes; `lowest` where
    /// there are none.
    fn compute_bank_levels(&self, part: &PlanePart, lowest: i32, out: &mut PaddedPlane<i32>) {
        for i in part.rows.clone() {
            let (near, flags) = (self.ground.neighbour_rows(i, &part.cols), self.flags.neighbour_rows(i, &part.cols));
            compute_bank_row(near, flags, lowest, self.clear, out.span_mut(i, &part.cols));
        }
    }
}

/// Returns the least elevation of a cell adjacent to one at `near`: one unit above a guarded river, `clear` (1 or
/// more) above a lake; `lowest` otherwise.
#[inline(always)]
pub(super) fn min_bank_level(near: i32, flags: u8, clear: i32, lowest: i32) -> i32 {
    let over = near.wrapping_add(if flags & LAKE != 0 { clear } else { 1 });
    if flags & (GUARDED | LAKE) != 0 { over } else { lowest }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn compute_bank_row(near: [&[i32]; 8], flags: [&[u8]; 8], lowest: i32, clear: i32, out: &mut [i32]) {
    for x in (0..out.len()).step_by(LANES) {
        let mut banks = [lowest; LANES];
        for k in 0..8 {
            let (near, flags) = (read_lanes::<_, LANES>(near[k], x), read_lanes::<_, LANES>(flags[k], x));
            for l in 0..LANES {
                // Computing both cases and choosing without a branch lets the compiler vectorise the loop.
                banks[l] = banks[l].max(min_bank_level(near[l], flags[l], clear, lowest));
            }
        }
        write_lanes(out, x, &banks);
    }
}
