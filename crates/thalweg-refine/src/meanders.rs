//! Courses of rivers through their cells: the child through which a river flows, and how far meanders move it.

use crate::beds;
use crate::node_builder::NodeBuilder;
use thalweg_core::Cell;
use thalweg_core::base::cast;
use thalweg_core::base::power::log2;
use thalweg_flow::D8;
use thalweg_noise::gradient::{evaluate_noise, mix_bits};

/// Base-2 logarithms of the meander wavelengths, in fine cells, that one level creates.
// These are waves of 4 to 32 cells. Coarser levels create the longer ones and finer levels the shorter ones.
const WAVES: std::ops::RangeInclusive<i32> = 2..=5;

/// Ratio of wavelength to amplitude of the meanders for which a floor must have room.
const AMPLITUDE: f32 = 8.0;

/// Slope up to which a river meanders fully; at twice this slope it is straight.
const MAX_MEANDER_SLOPE: f32 = 0.006;

/// Displacement of a river's path by meanders, in coarse cells per unit of a noise with a standard deviation of 1/3.
const MEANDER_DISPLACEMENT: f32 = 1.5;

impl NodeBuilder<'_> {
    /// Returns the child through which a river cell's water flows: the one nearest to the sum of a quarter of the
    /// donor's position, half of the cell's own and a quarter of the receiver's, so that corners are cut. `wander`
    /// moves it across the direction of flow.
    pub fn choose_flow_child(&self, cell: Cell<i64>, donor: Option<D8>, code: u8, wander: f32) -> u8 {
        let mut target = [0.0f32; 2];
        let mut shift = self.jitter(cell);
        let add = |direction: D8| {
            let jitter = self.jitter(direction.adjacent_cell(cell));
            for axis in 0..2 {
                target[axis] += 0.25 * direction.offset()[axis] as f32;
                shift[axis] += 0.6 * jitter[axis];
            }
        };
        let receiver = D8::from_code(code);
        donor.into_iter().chain(receiver).for_each(add);
        // The vector from the donor to the receiver, rotated by a right angle.
        let step = |direction: Option<D8>, axis: usize| direction.map_or(0.0, |to| to.offset()[axis] as f32);
        let flow_vector = [0, 1].map(|axis| step(receiver, axis) - step(donor, axis));
        let length = (flow_vector[0] * flow_vector[0] + flow_vector[1] * flow_vector[1]).sqrt().max(1.0);
        let across = [-flow_vector[1] * (wander / length), flow_vector[0] * (wander / length)];
        // The random part is at most 0.16 · 2.2 = 0.35. It decides where donor and receiver are on opposite sides.
        let side = |axis: usize| u8::from(target[axis] + across[axis] + 0.16 * shift[axis] >= 0.0);
        2 * side(0) + side(1)
    }

    /// Returns how far meanders move a river cell's path to one side, over a cell's width. Their wavelength is some
    /// twelve river widths (Leopold & Wolman 1960, "River meanders"), rounded to a power of two of cells, so that
    /// several successive levels move it in the same way. A river meanders where its floor is wide enough and its
    /// slope gentle (Leopold & Wolman 1957, USGS Professional Paper 282-B).
    pub fn meander_offset(&self, cell: Cell<i64>, area: f32, on: i32) -> f32 {
        let fine = self.frame.cell_width(self.window.level + 1) as f32;
        let length = self.winding * beds::river_width(area);
        // Round the logarithm of the wavelength to the nearest whole number.
        let octave = cast::floor_to_int(log2((length / fine).max(1.0)) + 0.5);
        if !WAVES.contains(&octave) {
            return 0.0;
        }
        let slope = on as f32 / self.unit as f32;
        let room = AMPLITUDE * self.floor * area.sqrt() / length;
        let share = MEANDER_DISPLACEMENT * (2.0 - slope / MAX_MEANDER_SLOPE).clamp(0.0, 1.0) * room.min(1.0);
        if share <= 0.0 {
            return 0.0;
        }
        // Noise has waves about twice as long as its lattice is wide; a coarse cell is two fine ones.
        let side = 1i64 << (octave - WAVES.start());
        let of = |x: i64| (x.div_euclid(side) as i32, (x.rem_euclid(side) as f32 + 0.5) / side as f32);
        let ((row, y), (col, x)) = (of(cell.row), of(cell.col));
        let world = (self.window.level as i32).wrapping_sub(octave) as u32;
        share * evaluate_noise(col, row, x, y, mix_bits(self.meanders ^ mix_bits(world)))
    }
}
