//! The terrain before erosion: the smooth terrain with noise, the flow paths carved into it, and rivers' incised beds.

use crate::cell_flags::RIVER;
use crate::ledger::Operator;
use crate::node_builder::NodeBuilder;
use crate::paths::CarvedPlanes;
use crate::plane::{NOWHERE, PaddedPlane, PlanePart, WALL};
use crate::refinement::Refinement;
use crate::rock::RockBeds;
use crate::sand::{Cover, CoverInputs};
use crate::{beds, smooth};
use thalweg_core::Height;
use thalweg_core::terrain::height::UNITS_F32;
use thalweg_noise::gradient::mix_bits;

/// The smooth terrain with noise, before flow paths are carved into it.
struct NoisyTerrain {
    ground: PaddedPlane<i32>,
    slope: PaddedPlane<f32>,
    /// The slope at which uplift and incision balance.
    balance: PaddedPlane<f32>,
    sand: Option<Cover>,
}

/// The terrain before erosion.
pub(super) struct CarvedTerrain {
    pub carved: CarvedPlanes,
    /// Slope of the smooth terrain, and the slope at which uplift and incision balance.
    pub slope: PaddedPlane<f32>,
    pub balance: PaddedPlane<f32>,
    /// The elevation before carving, used for the bed under water; empty if there can be no water.
    pub raw: PaddedPlane<i32>,
    pub sand: Option<Cover>,
}

impl Refinement<'_> {
    /// Computes the smooth terrain with noise, and carves the flow paths of rivers and hills into it.
    pub fn carve_paths(&mut self, rock: Option<&RockBeds<'_>>) -> CarvedTerrain {
        let NoisyTerrain { ground, slope, balance, sand } = self.smooth_with_noise();
        // The elevation before carving becomes the bed under water.
        let (sea, lakes) = (self.frame.sea.is_some(), self.coarse.lakes.is_some());
        let raw = if sea || lakes { ground.clone() } else { PaddedPlane::new([0, 0], 0) };
        let carved = self.carve_ground(ground, rock);
        self.record_operator(Operator::Paths, &carved.ground);
        CarvedTerrain { carved, slope, balance, raw, sand }
    }

    /// Computes the smooth terrain with noise.
    fn smooth_with_noise(&mut self) -> NoisyTerrain {
        let (world, fine) = (self.frame.world_rect(self.level - 1), self.all.to_finer_level());
        let mut ground = PaddedPlane::new(self.size, WALL);
        let mut slope = PaddedPlane::new(self.size, 0.0);
        let mut balance = slope.clone();
        // The smooth terrain, with the slope that scales the noise, and the slope in balance that scales the uplift.
        let in_balance = smooth::SlopeBalance {
            width: self.frame.cell_width(self.level - 1) as f32,
            exponent: self.rules.exponent,
            area: self.rules.balance * self.width * self.width,
            limit: self.rules.limit,
            sea: self.sea,
        };
        let out = smooth::Smooth { ground: &mut ground, slope: &mut slope, balance: &mut balance };
        smooth::smooth_terrain(self.coarse, world, self.all, self.origin, &in_balance, out);
        self.start_ledger();
        self.record_operator(Operator::Smooth, &ground);
        let whole = PlanePart::from_rect(fine, self.origin);
        // Sand has no noise: its share reduces the slope to which the amplitude of the noise is proportional.
        let sand = self.rules.sand.zip(self.coarse.loose.as_ref()).map(|(sand, sediment)| {
            Cover::from_window(&CoverInputs {
                window: self.coarse,
                sediment,
                world,
                all: self.all,
                origin: self.origin,
                sand,
                width: self.width,
                smooth: &ground,
            })
        });
        if let Some(sand) = &sand {
            sand.scale_by_bare_share(&mut slope, &whole);
        }
        let amplitude = self.rules.roughness * self.width * UNITS_F32;
        for i in whole.rows.clone() {
            let [row, col] = [self.origin[0] + i as i64 - 1, self.origin[1]];
            let seed = mix_bits(self.seed ^ 0x6e6f_6973);
            smooth::add_noise(ground.span_mut(i, &whole.cols), slope.span(i, &whole.cols), row, col, amplitude, seed);
        }
        self.record_operator(Operator::Noise, &ground);
        NoisyTerrain { ground, slope, balance, sand }
    }

    /// Carves the flow paths of rivers and hills into the terrain.
    fn carve_ground(&self, ground: PaddedPlane<i32>, rock: Option<&RockBeds<'_>>) -> CarvedPlanes {
        let world = self.frame.world_rect(self.level - 1);
        let maker = NodeBuilder::new(
            self.coarse,
            self.frame,
            self.rules,
            &ground,
            self.origin,
            rock,
            [mix_bits(self.seed ^ 0x6e6f_6465), self.meanders],
        );
        let mut nodes = maker.build_nodes(self.all);
        let mut carved = CarvedPlanes {
            origin: self.origin,
            ground,
            flags: PaddedPlane::new(self.size, 0),
            receivers: PaddedPlane::new(self.size, NOWHERE),
            area: PaddedPlane::new(self.size, 0.0),
            clear: self.clear,
            lakes: self.coarse.lakes.is_some().then(|| PaddedPlane::new(self.size, 0)),
        };
        // Each pass reads what the one before has set in adjacent blocks, so each runs on one ring of blocks less.
        let ring = |by| self.blocks.grow_within(by, world);
        carved.carve_rivers(&nodes, self.frame, ring(4));
        carved.extend_lakes(&nodes, ring(3));
        carved.raise_hills(&nodes, ring(2), &mut PaddedPlane::new(self.size, 0));
        carved.find_hollows(&mut nodes, ring(1));
        carved.carve_hollows(&nodes, ring(0));
        carved
    }

    /// Incises rivers' beds, deeper the larger the river, so that no river rises on its way; not below the sea.
    pub fn incise_beds(&self, carved: &mut CarvedPlanes, cells: &PlanePart) {
        let lowest = self.sea.saturating_add(1);
        for i in cells.rows.clone() {
            for j in cells.cols.clone() {
                let area = carved.area.value_at(i, j);
                if area > 0.0 && carved.flags.value_at(i, j) & RIVER != 0 {
                    let height = carved.ground.value_at(i, j);
                    // A cell that is already as low as the sea keeps its elevation.
                    let lower = height.saturating_sub(beds::incision_depth(area, self.width)).max(lowest.min(height));
                    carved.ground.set(i, j, lower.max(Height::MIN.0));
                }
            }
        }
    }
}
