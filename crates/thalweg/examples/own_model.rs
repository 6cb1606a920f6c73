//! A model of one's own in a recipe: `cargo run --release --example own_model`.

use thalweg::models::{About, Family, LAWS, MassBalance, StepReach, Stepper, Tick};
use thalweg::prelude::*;

params! {
    /// Terraces: ground is drawn towards levels of one spacing, and steps stand between them.
    ///
    /// A cell at height z moves by strength·(n·spacing − z), n·spacing being the nearest level.
    ///
    /// Source: none; this is an example.
    pub struct Terraces {
        /// Metres from one terrace to the next.
        spacing: f64 = 25.0, within 0.1..=1000.0, unit "m", source "ours";
        /// Share of the way to its level that a cell goes: 1 makes flat terraces.
        strength: f64 = 0.7, within 0.0..=1.0, unit "1", source "ours";
    }
}

impl Model for Terraces {
    fn about(&self) -> About {
        About {
            name: "terraces",
            summary: "Ground is drawn towards levels of one spacing.",
            source: "ours",
            family: Family::Erosion,
            placed: false,
            ..About::default()
        }
    }

    fn reach(&self, _: &Grid) -> StepReach {
        // A cell alone decides what becomes of it: the model runs by tiles as well.
        StepReach::Cells(0)
    }

    fn start(&self, _: &Grid) -> Result<Box<dyn Stepper>> {
        Ok(Box::new(self.clone()))
    }
}

impl Stepper for Terraces {
    fn run_step(&mut self, terrain: &mut Terrain, _: Tick) -> Result<MassBalance> {
        let mut budget = MassBalance::default();
        let Terrain { ground, loose, nodata, .. } = terrain;
        for (k, height) in ground.as_mut_slice().iter_mut().enumerate() {
            if nodata.as_ref().is_some_and(|mask| mask.as_slice()[k]) {
                continue;
            }
            let before = *height;
            let level = (before.metres() / self.spacing).round() * self.spacing;
            *height = Height::from_metres_clamped(before.metres() + self.strength * (level - before.metres()));
            // What a step does to the ground stands in its ledger, to the unit.
            let change = height.0 - before.0;
            budget.added += i128::from(change);
            // Loose ground is the upper part of the ground: what is cut goes first.
            if let Some(loose) = loose {
                let loose = &mut loose.as_mut_slice()[k];
                loose.0 = (loose.0 + change.min(0)).max(0);
            }
        }
        Ok(budget)
    }
}

const RECIPE: &str = r#"
extent = [8000.0, 8000.0]
cells = 256
coarsest = 64

[[stage]]
model = "gradient_noise"
amplitude = 300.0

[[stage]]
model = "terraces"
levels = "last"
spacing = 40.0

[[stage]]
model = "thermal"
distance = 60.0
"#;

fn main() -> Result<()> {
    // It keeps the laws that the library's own models keep: same bits for any threads, by tiles, mass to the unit …
    for law in LAWS {
        law.check(&Terraces::default())?;
    }
    let models = Models::default().with_model::<Terraces>()?;
    let mut run = Run::new(Recipe::parse_with(RECIPE, &models)?)?;
    while run.take_step()?.is_some() {}
    let [low, high] = run.terrain().elevation_range().expect("land");
    println!("terraces from {low} to {high}");
    Ok(())
}
