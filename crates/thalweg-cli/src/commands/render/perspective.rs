//! `render perspective`: draws a terrain in perspective.

use std::process::ExitCode;

use clap::Args;
use thalweg_core::Result;
use thalweg_core::declare::operation::{Operation as _, WorkForm};
use thalweg_export::world_folder::read_cover;
use thalweg_io::output;
use thalweg_render::pictures::drawn_land::DrawnLand;
use thalweg_render::pictures::perspective::{self, ViewOptions};

use super::{LandArgs, check_view_memory, finish_picture, read_ramp};
use crate::args::declared::{OperationArgs, typed_flag};
use crate::console::Reporter;
use crate::memory;
use crate::terrains::{check_distinct_output, read_terrain, read_trees};
use crate::verb::{Group, Verb};

/// The arguments of `render perspective`.
#[derive(Args)]
pub struct ViewArgs {
    #[command(flatten)]
    land: LandArgs,
    #[command(flatten)]
    options: OperationArgs<ViewOptions>,
}

impl Verb for ViewArgs {
    const NAME: &'static str = "perspective";
    const GROUP: Group = Group::Draw;
    const ABOUT: &'static str = "Draws a terrain in perspective";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        let LandArgs { input, output, water, trees, sea, load } = &self.land;
        output::check_ending(output, &["png"])?;
        self.options.check_form(WorkForm::Folder, typed_flag)?;
        self.options.check()?;
        check_distinct_output([input], water, trees.as_deref(), output)?;
        let mut terrain = read_terrain(input, load, sea.sea_level, voice)?;
        check_view_memory("view", self.options.camera.size, [&terrain])?;
        water.insert_water(&mut terrain)?;
        let trees = read_trees(input, trees.as_deref(), &terrain, voice)?;
        let look = self.options.look.with_default_ramp(read_ramp(input)?);
        let options = ViewOptions { look, ..self.options.clone() };
        // Natural colours are computed per sample of the view, which may be finer than the cells.
        let samples = options.sample_size(terrain.grid.size);
        if options.natural {
            memory::NATURAL.check("a natural view", samples, [0, 0])?;
        }
        let natural = options.natural.then(|| Ok(read_cover(input, &terrain)?.resized(samples)?.from_air()));
        let natural = natural.transpose()?;
        let water = water.select_water(&terrain);
        let land = DrawnLand { water, trees: &trees, natural: natural.as_ref(), ..(&terrain).into() };
        finish_picture(output, &perspective::draw_view(land, &options)?, voice)
    }
}
