//! [`MaterialPlanes`]: material properties of the terrain, as drops use them in a round.

use thalweg_core::base::cast::clamp_share;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{HARDNESS, PROTECT, TREE_DENSITY};
use thalweg_core::{Cell, Field, Height, Result, Terrain};
use thalweg_noise::input_tables::soils::{self, strata};

/// Sediment thickness from which its own slope counts, and not that of the rock strata below it: one metre.
pub const COVER: Height = Height(UNITS as i32);

/// Planes of material properties. A plane is `None` where the parameters hold for the whole terrain.
pub struct MaterialPlanes {
    /// Multiplier of the erosion by drops, from soil, roots, `hardness` and `protect`.
    pub yields: Option<Field<f32>>,
    /// The same for the bedrock below sediment.
    pub rock: Option<Field<f32>>,
    /// Maximum stable height difference in units between orthogonal neighbours.
    pub talus: Option<Field<f32>>,
}

impl MaterialPlanes {
    /// Computes the planes for the current terrain. `talus` is the steepest stable slope, as rise over run, of ground
    /// without a soil kind or strata.
    ///
    /// # Errors
    /// Returns an error if the soils or the strata of the terrain are not valid.
    pub fn from_terrain(terrain: &Terrain, talus: f64) -> Result<Self> {
        let size = terrain.grid.size;
        let layers: Vec<&Field<f32>> =
            [HARDNESS, PROTECT, TREE_DENSITY].iter().filter_map(|spec| terrain.float_layer(spec)).collect();
        let (soil, beds) = (soils::read_soil_numbers(terrain)?, strata::read_strata(terrain)?);
        let kinds = soil.map(|soil| Ok((soil, soils::SoilProperties::from_terrain(terrain)?))).transpose()?;
        // Protections multiply: two layers that each stop half of the erosion leave a quarter of it.
        let free = |i: usize, j: usize| layers.iter().map(|layer| 1.0 - clamp_share(layer[(i, j)])).product::<f32>();
        let bed = beds.as_ref().map(|beds| {
            move |i: usize, j: usize| {
                let Cell { row, col: column } = terrain.grid.world_cell(i, j);
                terrain.ground[(i, j)].0 + beds.elevation_offset(row, column)
            }
        });
        let yields = |i: usize, j: usize| match &kinds {
            Some((soil, kinds)) => {
                let kind = soil[(i, j)] as usize;
                free(i, j) * kinds.erodibility[kind] * (1.0 - kinds.cohesion[kind])
            }
            None => free(i, j),
        };
        let rock = beds
            .as_ref()
            .zip(bed.as_ref())
            .map(|(beds, bed)| Field::from_fn(size, |i, j| free(i, j) * (1.0 - beds.hardness(bed(i, j)))));
        let is_bare = |i: usize, j: usize| terrain.loose.as_ref().is_none_or(|loose| loose[(i, j)] < COVER);
        let slope = |i: usize, j: usize| match (&beds, &bed, &kinds) {
            // Bare rock comes first: a soil's slope counts only where a metre of sediment covers the strata.
            (Some(beds), Some(bed), _) if is_bare(i, j) => beds.talus(bed(i, j)),
            (_, _, Some((soil, kinds))) => kinds.tan_talus[soil[(i, j)] as usize],
            _ => talus as f32,
        };
        let metre = (terrain.grid.cell * UNITS) as f32;
        let made = kinds.is_some() || beds.is_some();
        Ok(Self {
            yields: (made || !layers.is_empty()).then(|| Field::from_fn(size, yields)),
            rock,
            talus: made.then(|| Field::from_fn(size, |i, j| slope(i, j) * metre)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Grid;
    use thalweg_core::terrain::Cells;

    #[test]
    fn what_is_no_number_holds_nothing() {
        let mut terrain = Terrain::new(Grid::new([1, 5], 10.0).unwrap());
        let hardness = Field::from_vec([1, 5], vec![f32::NAN, -1.0, 0.25, 1.0, 2.0]).unwrap();
        terrain.insert_layer(&HARDNESS, Cells::Float(hardness)).unwrap();
        let yields = MaterialPlanes::from_terrain(&terrain, 0.7).unwrap().yields.unwrap();
        assert_eq!(yields.as_slice(), [1.0, 1.0, 0.75, 0.0, 0.0]);
    }
}
