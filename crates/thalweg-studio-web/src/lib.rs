//! The studio in a web page. This crate holds no more than what a page is needed for: `page.rs` runs the window in a canvas, `station.rs`
//! runs its session in a worker, and `page/studio.js` and `page/worker.js` carry bytes between them.

#[cfg(target_arch = "wasm32")]
mod page;
#[cfg(target_arch = "wasm32")]
mod state;
#[cfg(target_arch = "wasm32")]
mod station;

/// Makes so many threads of workers; only in the module that has them.
#[cfg(all(target_arch = "wasm32", target_feature = "atomics"))]
pub use wasm_bindgen_rayon::init_thread_pool;
