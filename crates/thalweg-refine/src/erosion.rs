//! The operators that erode a level, in their order: uplift, incision, hillslope diffusion, deposition and sliding.

use crate::active::Active;
use crate::custom_operators::{PlaneConstraints, PlanePlacement};
use crate::ledger::Operator;
use crate::paths::CarvedPlanes;
use crate::plane::{NOWHERE, PaddedPlane, PlanePart, WALL};
use crate::refinement::Refinement;
use crate::rock::RockBeds;
use crate::sand::Cover;
use crate::uplift_targets::UpliftTargets;
use crate::{
    alluvial_fans, block_means, diffusion, floors, incision, limit, overbank_deposition, receivers, sand, uplift,
};
use thalweg_core::terrain::height::UNITS_F32;
use thalweg_noise::gradient::mix_bits;

/// Number of sliding sweeps after which the bed of rock at each cell's present elevation is looked up again.
// A smaller number follows the beds more closely, but each look-up visits every cell of the part.
const BEDS: i64 = 4;

impl Refinement<'_> {
    /// Applies uplift, incision, hillslope diffusion, deposition and sliding. Returns the finished elevation and its
    /// receivers.
    pub fn erode_terrain(
        &mut self,
        carved: &CarvedPlanes,
        slope: PaddedPlane<f32>,
        balance: PaddedPlane<f32>,
        rock: Option<&RockBeds<'_>>,
        sand: Option<&Cover>,
    ) -> (PaddedPlane<i32>, PaddedPlane<u8>) {
        let margins = self.margins;
        let flags = &carved.flags;
        // The receivers of the carved terrain: the order of the tree that all further sweeps preserve.
        let mut codes = PaddedPlane::new(self.size, NOWHERE);
        // Each use has a tag of four ASCII letters (here `rece`), so that its random numbers are independent of all
        // others.
        let seed = self.seed;
        let draw_seed = |tag: u32| mix_bits(seed ^ tag);
        receivers::compute_receivers(
            &carved.ground,
            flags,
            &carved.receivers,
            self.origin,
            draw_seed(0x7265_6365),
            &self.part_with_margin(margins.receivers),
            &mut codes,
        );
        let mut floor = PaddedPlane::new(self.size, i32::MIN);
        carved.compute_incision_floors(&self.part_with_margin(margins.cut), self.sea, &mut floor);
        let mut targets = self.find_targets(carved, &balance, &codes, rock);
        if let Some(sand) = sand {
            sand.damp_uplift_and_incision(&carved.ground, &self.part_with_margin(margins.rise), &mut targets);
        }
        let UpliftTargets { elevations, remaining_shares } = targets;
        drop(balance);
        // The steepest stable fall of each cell, for the slides at the end.
        let mut max_falls = PaddedPlane::new(self.size, 0.0);
        let terrain = floors::FloorTerrain {
            ground: &carved.ground,
            flags,
            receivers: &carved.receivers,
            area: &carved.area,
            slope: &slope,
        };
        floors::compute_steepest_slopes(
            self.rules,
            self.width,
            &terrain,
            &self.part_with_margin(margins.slide),
            &self.part_with_margin(margins.slide + floors::REACH),
            &mut max_falls,
        );
        if let Some(sand) = sand {
            sand.limit_to_repose(&mut max_falls, &self.part_with_margin(margins.slide));
        }
        let mut now = carved.ground.clone();
        let mut next = PaddedPlane::new(self.size, WALL);
        self.apply_uplift(elevations, &codes, &mut now, &mut next);
        self.apply_incision(&remaining_shares, &floor, &codes, &mut now, &mut next);
        self.restore_block_means(carved, &codes, &floor, &mut now, &mut next);
        self.diffuse_hillslopes(flags, &floor, &codes, &mut now, &mut next);
        self.return_sand(sand, flags, &floor, &codes, &mut now, &mut next);
        self.deposit_sediment(carved, &codes, &mut now, &mut max_falls);
        self.slide_slopes(rock, flags, &codes, &mut max_falls, &mut now, &mut next);
        if self.rules.joins.is_active(self.level, self.frame.cell_width(self.level)) {
            codes = self.apply_custom_operators(flags, codes, &floor, sand, &mut now, &mut next);
        }
        self.record_operator(Operator::Custom, &now);
        let mut finished = PaddedPlane::new(self.size, NOWHERE);
        receivers::compute_receivers(
            &now,
            flags,
            &codes,
            self.origin,
            draw_seed(0x7472_6565),
            &self.part_with_margin(margins.tree),
            &mut finished,
        );
        (now, finished)
    }

    /// Applies one step of uplift: cells rise to their targets.
    fn apply_uplift(
        &mut self,
        targets: PaddedPlane<i32>,
        codes: &PaddedPlane<u8>,
        now: &mut PaddedPlane<i32>,
        next: &mut PaddedPlane<i32>,
    ) {
        let margins = self.margins;
        for sweep in 1..=i64::from(self.rules.rise_sweeps) {
            uplift::raise_to_targets(now, &targets, codes, &self.part_with_margin(margins.rise - sweep), next);
            std::mem::swap(now, next);
        }
        drop(targets);
        self.record_operator(Operator::Uplift, now);
    }

    /// Applies implicit incision against the uplift.
    fn apply_incision(
        &mut self,
        remaining_shares: &PaddedPlane<f32>,
        floor: &PaddedPlane<i32>,
        codes: &PaddedPlane<u8>,
        now: &mut PaddedPlane<i32>,
        next: &mut PaddedPlane<i32>,
    ) {
        let margins = self.margins;
        // Incision starts from the raised terrain in every sweep, so more sweeps only carry it further upstream.
        let before = now.clone();
        for sweep in 1..=i64::from(self.rules.cut_sweeps) {
            incision::sweep_incision(
                now,
                &before,
                remaining_shares,
                floor,
                codes,
                &self.part_with_margin(margins.cut - sweep),
                next,
            );
            std::mem::swap(now, next);
        }
        self.record_operator(Operator::Incision, now);
    }

    /// Takes back most of what uplift and incision did to the means of coarse cells.
    fn restore_block_means(
        &mut self,
        carved: &CarvedPlanes,
        codes: &PaddedPlane<u8>,
        floor: &PaddedPlane<i32>,
        now: &mut PaddedPlane<i32>,
        next: &mut PaddedPlane<i32>,
    ) {
        let (margins, flags) = (self.margins, &carved.flags);
        let mut targets = PaddedPlane::new(self.size, 0);
        // Most of what both did to the means of coarse cells is taken back.
        let world = PlanePart::from_rect(self.all.to_finer_level(), self.origin);
        block_means::find_targets(
            &carved.ground,
            now,
            flags,
            &self.part_with_margin(margins.hold - block_means::REACH),
            &world,
            &mut targets,
        );
        for sweep in 1..=block_means::SWEEPS {
            let part = self.part_with_margin(margins.hold - block_means::REACH - sweep);
            uplift::raise_to_targets(now, &targets, codes, &part, next);
            std::mem::swap(now, next);
        }
        for sweep in 1..=block_means::SWEEPS {
            let part = self.part_with_margin(margins.creep + block_means::SWEEPS - sweep);
            diffusion::lower_to_targets(now, &targets, floor, codes, &part, next);
            std::mem::swap(now, next);
        }
        drop(targets);
        self.record_operator(Operator::Means, now);
    }

    /// Applies hillslope diffusion.
    fn diffuse_hillslopes(
        &mut self,
        flags: &PaddedPlane<u8>,
        floor: &PaddedPlane<i32>,
        codes: &PaddedPlane<u8>,
        now: &mut PaddedPlane<i32>,
        next: &mut PaddedPlane<i32>,
    ) {
        let margins = self.margins;
        // Hillslope diffusion in two passes: one only raises and the other only lowers, so each preserves the order
        // of the tree.
        let creep = self.rules.diffusion_share(self.width);
        if creep > 0.0 {
            diffusion::fill_concavities(now, flags, codes, creep, &self.part_with_margin(margins.creep - 1), next);
            std::mem::swap(now, next);
            diffusion::erode_crests(now, flags, floor, codes, creep, &self.part_with_margin(margins.creep - 2), next);
            std::mem::swap(now, next);
        }
        self.record_operator(Operator::Diffusion, now);
    }

    /// Lets sand return to where wind has piled it up.
    fn return_sand(
        &mut self,
        sand: Option<&Cover>,
        flags: &PaddedPlane<u8>,
        floor: &PaddedPlane<i32>,
        codes: &PaddedPlane<u8>,
        now: &mut PaddedPlane<i32>,
        next: &mut PaddedPlane<i32>,
    ) {
        let margins = self.margins;
        if let Some(sand) = sand {
            let mut targets = PaddedPlane::new(self.size, 0);
            sand.find_targets(now, flags, codes, &self.part_with_margin(margins.sand), &mut targets);
            for sweep in 1..=sand::SWEEPS {
                let part = self.part_with_margin(margins.sand - sweep);
                uplift::raise_to_targets(now, &targets, codes, &part, next);
                std::mem::swap(now, next);
            }
            for sweep in 1..=sand::SWEEPS {
                let part = self.part_with_margin(margins.fans + sand::SWEEPS - sweep);
                diffusion::lower_to_targets(now, &targets, floor, codes, &part, next);
                std::mem::swap(now, next);
            }
        }
        self.record_operator(Operator::Sand, now);
    }

    /// Deposits alluvial fans, then overbank deposits.
    fn deposit_sediment(
        &mut self,
        carved: &CarvedPlanes,
        codes: &PaddedPlane<u8>,
        now: &mut PaddedPlane<i32>,
        max_falls: &mut PaddedPlane<f32>,
    ) {
        let (margins, flags) = (self.margins, &carved.flags);
        // Alluvial fans, then overbank deposits. Both raise `max_falls` to their own slopes, so that they do not slide
        // again.
        let known = alluvial_fans::DepositionTerrain {
            beds: &carved.ground,
            flags,
            receivers: &carved.receivers,
            area: &carved.area,
            codes,
        };
        // Each sweep works on one cell less on each side than the one before.
        let parts = [0, 1, 2, 3, 4].map(|sweep| self.part_with_margin(margins.fans - sweep));
        let beyond = self.part_with_margin(margins.fans + alluvial_fans::REACH);
        alluvial_fans::deposit_fans(self.rules, self.width, &known, &parts, &beyond, now, max_falls);
        self.record_operator(Operator::Fans, now);
        if self.is_flooded {
            let parts: Vec<PlanePart> =
                (0..=overbank_deposition::SWEEPS).map(|sweep| self.part_with_margin(margins.floods - sweep)).collect();
            let beyond = self.part_with_margin(margins.floods + overbank_deposition::REACH);
            overbank_deposition::deposit_floods(self.rules, self.width, &known, &parts, &beyond, now, max_falls);
        }
        self.record_operator(Operator::Floods, now);
    }

    /// Lets slopes slide that are steeper than the rock can be.
    fn slide_slopes(
        &mut self,
        rock: Option<&RockBeds<'_>>,
        flags: &PaddedPlane<u8>,
        codes: &PaddedPlane<u8>,
        max_falls: &mut PaddedPlane<f32>,
        now: &mut PaddedPlane<i32>,
        next: &mut PaddedPlane<i32>,
    ) {
        let margins = self.margins;
        let mut active = Active::new(self.size);
        // Slides. A cell that sinks may reach another bed of rock, so the limits are looked up again every few sweeps.
        // The limits without beds are kept, because each look-up scales them anew.
        let even = rock.map(|_| max_falls.clone());
        for sweep in 1..=i64::from(self.rules.limit_sweeps) {
            if let (Some(rock), Some(even)) = (rock, even.as_ref().filter(|_| sweep % BEDS == 1)) {
                floors::scale_by_beds(
                    rock,
                    even,
                    self.width * UNITS_F32 * self.rules.limit,
                    now,
                    &self.part_with_margin(margins.slide - sweep),
                    max_falls,
                );
                active.mark_all_active();
            }
            let part = self.part_with_margin(margins.slide - sweep);
            let limits = limit::SlideLimits {
                flags,
                codes,
                max_falls,
                min_land_elevation: self.sea.saturating_add(1),
                lake_clearance: self.clear,
            };
            limit::sweep_slides(now, &limits, &part, &mut active, next);
            std::mem::swap(now, next);
        }
        self.record_operator(Operator::Slides, now);
    }

    /// Lets custom operators change the terrain after the slides. Returns the receivers of the terrain before that
    /// change.
    fn apply_custom_operators(
        &self,
        flags: &PaddedPlane<u8>,
        codes: PaddedPlane<u8>,
        floor: &PaddedPlane<i32>,
        sand: Option<&Cover>,
        now: &mut PaddedPlane<i32>,
        next: &mut PaddedPlane<i32>,
    ) -> PaddedPlane<u8> {
        // Slopes that slid are above the cell that limited them, which need not be the cell to which they drained
        // before.
        let mut order = PaddedPlane::new(self.size, NOWHERE);
        receivers::compute_receivers(
            now,
            flags,
            &codes,
            self.origin,
            mix_bits(self.seed ^ 0x6a6f_696e),
            &self.part_with_margin(self.margins.join - 1),
            &mut order,
        );
        let place = PlanePlacement {
            level: self.level,
            width: self.frame.cell_width(self.level),
            sea: self.frame.sea,
            key: self.key,
            world: self.frame.world_rect(self.level),
            target_rect: self.target_rect,
            origin: self.origin,
        };
        let known = PlaneConstraints { flags, codes: &order, floor, sand: sand.map(|sand| &sand.thick) };
        self.rules.joins.apply_operators(&place, &known, self.margins.tree + 1, now, next);
        order
    }
}
