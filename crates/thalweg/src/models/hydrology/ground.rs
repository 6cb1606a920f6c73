//! [`Ground`]: what the ground is made of, as drops meet it in a round.

use rayon::prelude::*;

use crate::error::Result;
use crate::field::Field;
use crate::height::UNITS;
use crate::soils::{self, strata};
use crate::terrain::{HARDNESS, PROTECT, TREE_DENSITY, Terrain};

/// Planes of what the ground does; none where all of it is as the parameters say.
pub struct Ground {
    /// Factor of what drops dig.
    pub yields: Option<Field<f32>>,
    /// Units by which a cell may stand over its neighbour before it slides.
    pub talus: Option<Field<f32>>,
}

impl Ground {
    /// Of a terrain as it lies now; `talus` is the steepest slope of ground that is of no kind, as rise over run.
    ///
    /// Where nothing loose lies on beds of rock, their hardness and slopes count; elsewhere those of the soil's kind.
    /// What the layers `hardness` and `protect` hold back, and roots, they hold back beside.
    pub fn of(terrain: &Terrain, talus: f64) -> Result<Self> {
        let layers: Vec<&Field<f32>> =
            [HARDNESS, PROTECT, TREE_DENSITY].iter().filter_map(|spec| terrain.float(spec)).collect();
        let (soil, beds) = (soils::soil(terrain)?, strata::strata(terrain)?);
        let kinds = soil.map(|soil| Ok((soil, soils::Ground::of(terrain)?))).transpose()?;
        let is_rock = |i: usize, j: usize| terrain.loose.as_ref().is_none_or(|loose| loose[(i, j)].0 == 0);
        // What lies at a cell: how much of it is dug, and its steepest slope.
        let matter = |i: usize, j: usize| {
            if let Some(beds) = beds.as_ref().filter(|_| is_rock(i, j)) {
                let [row, column] = terrain.grid.world_cell(i, j);
                let height = terrain.ground[(i, j)].0 + beds.lean(row, column);
                return (1.0 - beds.hardness(height), beds.talus(height));
            }
            match &kinds {
                Some((soil, kinds)) => {
                    let kind = soil[(i, j)] as usize;
                    (kinds.erodibility[kind] * (1.0 - kinds.cohesion[kind]), kinds.tan_talus[kind])
                }
                None => (1.0, talus as f32),
            }
        };
        let size = terrain.grid.size;
        let made = kinds.is_some() || beds.is_some();
        if !made && layers.is_empty() {
            return Ok(Self { yields: None, talus: None });
        }
        let mut yields = Field::new(size, 1.0f32);
        let mut slopes = made.then(|| Field::new(size, 0.0f32));
        let metre = (terrain.grid.cell * UNITS) as f32;
        let free =
            |i: usize, j: usize| layers.iter().map(|layer| (1.0 - layer[(i, j)]).clamp(0.0, 1.0)).product::<f32>();
        match &mut slopes {
            Some(slopes) => yields.par_rows_mut().zip(slopes.par_rows_mut()).for_each(|((i, yields), (_, slopes))| {
                for (j, (yields, slope)) in yields.iter_mut().zip(slopes).enumerate() {
                    let (share, tan) = matter(i, j);
                    (*yields, *slope) = (free(i, j) * share, tan * metre);
                }
            }),
            None => yields.par_rows_mut().for_each(|(i, yields)| {
                yields.iter_mut().enumerate().for_each(|(j, yields)| *yields = free(i, j));
            }),
        }
        Ok(Self { yields: Some(yields), talus: slopes })
    }
}
