//! The npm package `thalweg`: the library for pages. It turns JavaScript's values into the library's and back, and nothing else; what a user sees is
//! typed in `npm/thalweg.d.ts`, which `cargo xtask book` writes from the declarations.

mod array;
mod declared;
mod drainage;
mod error;
mod land;
mod options;
mod progress;
mod run;
mod textures;
mod world;

use wasm_bindgen::prelude::wasm_bindgen;

/// Makes so many threads of workers; only in the module that has them.
#[cfg(target_feature = "atomics")]
pub use wasm_bindgen_rayon::init_thread_pool;

/// Has faults of the library told as errors: a module that fails stops where it is, and would say no more than that.
#[wasm_bindgen(start)]
fn begin() {
    std::panic::set_hook(Box::new(|why| {
        wasm_bindgen::throw_str(&format!("thalweg has a fault, and this module cannot be used any more: {why}"));
    }));
}

/// Version of the library.
#[wasm_bindgen(skip_typescript)]
#[must_use]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_string()
}

/// How many threads share the work.
#[wasm_bindgen(skip_typescript)]
#[must_use]
pub fn threads() -> u32 {
    u32::try_from(rayon::current_num_threads()).unwrap_or(u32::MAX)
}

/// Lets work take so many bytes of memory from now on.
#[wasm_bindgen(js_name = allowMemory, skip_typescript)]
pub fn allow_memory(bytes: f64) -> Result<(), error::Problem> {
    const MOST: f64 = 4294967296.0;
    if !(0.0..=MOST).contains(&bytes) {
        return Err(thalweg_core::base::error::Error::value(
            "bytes",
            bytes,
            format!("0 to {MOST}: 32 bits address no more"),
        )
        .into());
    }
    thalweg_core::base::memory::limit_memory(bytes as u64);
    Ok(())
}
