//! The studio in a web page. This crate contains only the parts that need a page: `page.rs` runs the window in a
//! canvas, `station.rs` runs its session in a worker, and `page/main.js` and `page/worker.js` transport bytes between
//! them.

#[cfg(target_arch = "wasm32")]
mod page;
#[cfg(target_arch = "wasm32")]
mod state;
#[cfg(target_arch = "wasm32")]
mod station;

/// Starts this number of threads as workers; only in the module with threads.
#[cfg(all(target_arch = "wasm32", target_feature = "atomics"))]
pub use wasm_bindgen_rayon::init_thread_pool;
