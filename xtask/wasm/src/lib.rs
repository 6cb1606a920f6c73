//! What a recipe's world comes to, for machines to compare: `cargo xtask wasm` asks WebAssembly and the machine at hand.
//!
//! A module of wasm32-unknown-unknown has no files and no output. So a recipe goes in byte by byte, and the answer comes out
//! likewise: whole numbers, no memory that is shared.
#![allow(unsafe_code, reason = "exported names count as unsafe; there is no unsafe block")]

use std::cell::RefCell;

use thalweg::recipe::{Coarsest, Recipe};
use thalweg::run::Run;

thread_local! {
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Fingerprints of every layer and the ledger of every stage, line by line, of the recipe on one level of `cells`; or what
/// went wrong.
#[must_use]
pub fn world(recipe: &str, cells: usize) -> String {
    lines(recipe, cells).unwrap_or_else(|error| format!("error: {error}\n"))
}

fn lines(recipe: &str, cells: usize) -> thalweg::Result<String> {
    let mut recipe = Recipe::parse(recipe)?;
    (recipe.cells, recipe.coarsest) = (cells, Coarsest::None);
    let mut run = Run::new(recipe)?;
    while run.step()?.is_some() {}
    let prints = run.terrain().fingerprints().into_iter().map(|(name, print)| format!("{name} {print}\n"));
    let ledger = run.reports().iter().map(|report| {
        format!("{} {} {}\n", report.label, report.steps, serde_json::to_string(&report.budget).unwrap_or_default())
    });
    Ok(prints.chain(ledger).collect())
}

/// Takes the next byte of a recipe's text.
#[unsafe(no_mangle)]
pub extern "C" fn push(byte: u32) {
    TEXT.with_borrow_mut(|text| text.push(byte as u8));
}

/// Builds the world of the text that was pushed.
#[unsafe(no_mangle)]
pub extern "C" fn build(cells: u32) {
    // A module that fails stops where it is; what it would have said is the answer then.
    std::panic::set_hook(Box::new(|why| {
        ANSWER.with(|answer| {
            if let Ok(mut answer) = answer.try_borrow_mut() {
                *answer = why.to_string().into_bytes();
            }
        });
    }));
    let text = TEXT.take();
    let answer = world(&String::from_utf8_lossy(&text), cells as usize);
    ANSWER.set(answer.into_bytes());
}

/// How many bytes the answer has.
#[unsafe(no_mangle)]
pub extern "C" fn length() -> u32 {
    ANSWER.with_borrow(|answer| answer.len() as u32)
}

/// Byte number `k` of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn answer(k: u32) -> u32 {
    ANSWER.with_borrow(|answer| answer.get(k as usize).copied().unwrap_or(0).into())
}
