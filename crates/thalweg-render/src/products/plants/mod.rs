//! [`PlantShape`]: the shape of a plant as a few triangles, grown by an L-system with one grammar per kind.
//!
//! L-systems: Lindenmayer (1968, doi:10.1016/0022-5193(68)90079-9); turtle graphics as in Prusinkiewicz & Lindenmayer
//! (1990, *The Algorithmic Beauty of Plants*, sections 1.3 to 1.7). A word is rewritten a few times, each letter by
//! one of its rules, and then interpreted letter by letter. The choice of rules and the deviation of each angle are
//! drawn from the key, so plants differ, and the same key gives the same plant.

mod grammars;
mod turtle;

use thalweg_core::base::rng::RandomKey;
use thalweg_models::process::forest::KINDS;

/// The largest number of triangles of a plant.
pub const MAX_TRIANGLES: usize = 300;

/// A plant as triangles, with y up: its foot is at the origin, and it is 1 high and 1 wide at its widest.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlantShape {
    /// The vertices (x, y, z) from its foot: y in heights of the plant, x and z in its widths.
    pub positions: Vec<[f32; 3]>,
    /// The unit normals, one per vertex; leaves are lit from both sides.
    pub normals: Vec<[f32; 3]>,
    /// Red, green and blue in linear light (0 to 1), one colour per vertex, darker inside the crown.
    pub colours: Vec<[f32; 3]>,
    /// Triangles as three vertex indices each.
    pub indices: Vec<u32>,
}

/// Returns the lowest and highest coordinate of points along each axis.
pub fn compute_bounds(points: &[[f32; 3]]) -> [[f32; 3]; 2] {
    points.iter().fold([[f32::MAX; 3], [f32::MIN; 3]], |[low, high], p| {
        [[0, 1, 2].map(|k| low[k].min(p[k])), [0, 1, 2].map(|k| high[k].max(p[k]))]
    })
}

impl PlantShape {
    /// Grows a plant of a kind (an index into [`KINDS`]; the first kind if it is out of range). The same key gives
    /// the same plant.
    pub fn grow(kind: u8, key: RandomKey) -> Self {
        let grammar = grammars::find_grammar(KINDS.get(usize::from(kind)).unwrap_or(&KINDS[0]).form);
        let word = grammar.derive_word(key);
        let mut plant = turtle::draw_word(&word, grammar, key.derive_key(1));
        plant.scale_to_unit_size();
        plant
    }

    /// Returns the number of triangles.
    pub fn triangle_count(&self) -> usize {
        self.indices.len() / 3
    }

    /// Returns the lowest and highest coordinate along each axis, in the units of [`PlantShape::positions`].
    pub fn bounds(&self) -> [[f32; 3]; 2] {
        compute_bounds(&self.positions)
    }

    /// Scales the plant to a height and width of 1.
    fn scale_to_unit_size(&mut self) {
        let [[_, low, _], [_, high, _]] = self.bounds();
        // The width is twice the largest distance from the axis, because the plant may be rotated about it.
        let wide = self.positions.iter().map(|p| p[0] * p[0] + p[2] * p[2]).fold(0.0, f32::max).sqrt();
        let scale = [0.5 / wide.max(1e-6), 1.0 / (high - low).max(1e-6), 0.5 / wide.max(1e-6)];
        for p in &mut self.positions {
            *p = [p[0] * scale[0], (p[1] - low) * scale[1], p[2] * scale[2]];
        }
        // Normals are scaled by the reciprocals and normalised, so that they remain perpendicular to the surface.
        for n in &mut self.normals {
            *n = turtle::normalise_vector([0, 1, 2].map(|k| n[k] / scale[k]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_a_small_whole_plant() {
        for kind in 0..KINDS.len() as u8 {
            for n in 0..40 {
                let plant = PlantShape::grow(kind, RandomKey::new(n, "plant"));
                let name = KINDS[usize::from(kind)].name;
                assert!((20..=MAX_TRIANGLES).contains(&plant.triangle_count()), "{name}: {}", plant.triangle_count());
                let corners = plant.positions.len();
                assert!(plant.normals.len() == corners && plant.colours.len() == corners);
                assert!(plant.indices.iter().all(|k| (*k as usize) < corners));
                let [low, high] = plant.bounds();
                assert!(low[1] == 0.0 && (high[1] - 1.0).abs() < 1e-6, "{name}: {low:?} {high:?}");
                assert!((0..3).step_by(2).all(|k| low[k] >= -0.5001 && high[k] <= 0.5001), "{name}");
                // The crown is above the foot, not to one side of it.
                let middle = [0, 2].map(|k| plant.positions.iter().map(|p| p[k]).sum::<f32>() / corners as f32);
                assert!(middle.iter().all(|x| x.abs() < 0.2), "{name}: {middle:?}");
                for (n, c) in plant.normals.iter().zip(&plant.colours) {
                    assert!((n.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-4, "{name}: {n:?}");
                    assert!(c.iter().all(|x| (0.0..=1.0).contains(x)), "{name}: {c:?}");
                }
            }
        }
    }

    #[test]
    fn keys_tell_plants_apart_and_nothing_else_does() {
        for kind in 0..KINDS.len() as u8 {
            let plant = |n| PlantShape::grow(kind, RandomKey::new(n, "plant"));
            assert_eq!(plant(1), plant(1));
            assert_ne!(plant(1), plant(2));
        }
        assert_eq!(PlantShape::grow(200, RandomKey::ZERO), PlantShape::grow(0, RandomKey::ZERO));
    }
}
