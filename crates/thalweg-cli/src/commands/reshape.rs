//! `resample` and `crop`: the same ground in other cells.

use std::path::Path;

use thalweg::Result;
use thalweg::io::apart::apart;
use thalweg::io::terrain::{Loaded, SaveOptions, load, save};
use thalweg::io::{Sidecar, output, writes_sidecar};
use thalweg::products::resample::{crop as cropped, resample as resampled};
use thalweg::terrain::Terrain;
use thalweg::terrain::field::Window;

use crate::args::values::{Sample, Sides};
use crate::args::{Crop, LoadArgs, Resample};
use crate::console::Voice;
use crate::job::{as_typed, sample_type};
use crate::memory;

/// Changes the number of cells over the same extent.
///
/// # Errors
/// An unusable input, a size that cannot be, an output that cannot be written.
pub fn resample(args: &Resample, voice: Voice) -> Result<()> {
    reshape(&args.input, &args.output, &args.load, args.sample, voice, |terrain| {
        let Sides { cols, rows } = args.cells;
        // Samples stand at the ends of intervals, so it is the intervals that keep the proportion.
        let [down, across] = terrain.grid.size.map(|n| (n - 1) as f64);
        let fitting = || ((cols - 1) as f64 * down / across.max(1.0)).round() as usize + 1;
        let size = [rows.unwrap_or_else(fitting), cols];
        memory::RESAMPLE.check(&format!("resample to {} × {} cells", size[1], size[0]), size, [0, 0])?;
        resampled(terrain, size)
    })
}

/// Cuts out a window.
///
/// # Errors
/// As [`resample`]; a window that reaches beyond the terrain.
pub fn crop(args: &Crop, voice: Voice) -> Result<()> {
    reshape(&args.input, &args.output, &args.load, args.sample, voice, |terrain| {
        let [col, row, cols, rows] = args.window;
        // A window beyond the terrain is refused as such.
        let [within_rows, within_cols] = terrain.grid.size;
        let size = [rows.min(within_rows), cols.min(within_cols)];
        memory::CROP.check(&format!("crop to {cols} × {rows} cells"), size, [0, 0])?;
        cropped(terrain, Window { start: [row, col], size: [rows, cols] })
    })
}

fn reshape(
    input: &Path,
    output: &Path,
    args: &LoadArgs,
    sample: Option<Sample>,
    voice: Voice,
    change: impl FnOnce(&Terrain) -> Result<Terrain>,
) -> Result<()> {
    let sample = sample.map(sample_type);
    output::check_terrain(output, sample).map_err(as_typed)?;
    let sidecar = writes_sidecar(output, sample)?.then(|| Sidecar::path(output));
    let writes: Vec<_> = std::iter::once(output.to_path_buf()).chain(sidecar).collect();
    apart(&Sidecar::files(input), &writes)?;
    let Loaded { terrain, warnings, nodata, .. } = load(input, &args.options())?;
    voice.warn_all(&warnings);
    let terrain = change(&terrain)?;
    let options = SaveOptions { sample, nodata, ..SaveOptions::default() };
    voice.warn_all(&save(output, &terrain, &options)?);
    Ok(())
}
