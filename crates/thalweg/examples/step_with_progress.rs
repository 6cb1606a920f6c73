//! A run with progress, that stops when it is told to and goes on later: `cargo run --release --example step_with_progress`.

use serde_json::Value;
use thalweg::prelude::*;

fn main() -> Result<()> {
    let mut recipe = find_preset("canyon")?;
    recipe.cells = 128;
    let folder = tempfile::tempdir().map_err(Error::io("a temporary folder", "make"))?;
    let checkpoint = folder.path().join("checkpoint");

    // The first half: then somebody stops it.
    let mut run = Run::new(recipe)?;
    let [_, all] = run.steps();
    watch(&mut run, |done| done < all / 2)?;
    run.save(&checkpoint, &Value::Null)?;
    drop(run);

    // Another process, another day: the bits to come are the same.
    let (mut run, _) = Run::resume(&checkpoint)?;
    watch(&mut run, |_| true)?;
    println!("ground {}", run.terrain().fingerprints()["ground"]);
    Ok(())
}

/// Steps a run while `goes_on` says so of the steps done, and tells of every turn.
fn watch(run: &mut Run, goes_on: impl Fn(u64) -> bool) -> Result<()> {
    while let Some(progress) = run.take_step()? {
        let [done, all] = run.steps();
        if progress.step == progress.steps {
            println!("{:>3} % {} on {:?}", 100 * done / all.max(1), progress.label, run.terrain().grid.size);
        }
        if !goes_on(done) {
            break;
        }
    }
    Ok(())
}
