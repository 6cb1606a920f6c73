//! The npm package `thalweg`: the library for web pages. This crate only converts JavaScript's values to the library's
//! and back. The interface is typed in `npm/thalweg.d.ts`, which `cargo xtask book` generates from the declarations.

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

/// Starts this number of threads as workers; only in the module with threads.
#[cfg(target_feature = "atomics")]
pub use wasm_bindgen_rayon::init_thread_pool;

/// Reports panics of the library as errors. Without this hook, a module that panics would stop without a reason.
#[wasm_bindgen(start)]
fn begin() {
    std::panic::set_hook(Box::new(|why| {
        wasm_bindgen::throw_str(&format!(
            "internal error in thalweg, after which this module can no longer be used; please report it: {why}"
        ));
    }));
}

/// Returns the version of the library.
#[wasm_bindgen(skip_typescript)]
#[must_use]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_string()
}

/// Returns the number of threads that share the work.
#[wasm_bindgen(skip_typescript)]
#[must_use]
pub fn threads() -> u32 {
    u32::try_from(rayon::current_num_threads()).unwrap_or(u32::MAX)
}

/// Sets the memory limit of all later work in bytes.
#[wasm_bindgen(js_name = allowMemory, skip_typescript)]
pub fn allow_memory(bytes: f64) -> Result<(), error::JsException> {
    // This is 2³², the size of the address space of 32-bit WebAssembly.
    const MAX_MEMORY_BYTES: f64 = 4294967296.0;
    if !(0.0..=MAX_MEMORY_BYTES).contains(&bytes) {
        return Err(thalweg_core::base::error::Error::invalid_value(
            "bytes",
            bytes,
            format!("0 to {MAX_MEMORY_BYTES}, the most that WebAssembly can address with 32 bits"),
        )
        .into());
    }
    thalweg_core::base::memory::limit_memory(bytes as u64);
    Ok(())
}
