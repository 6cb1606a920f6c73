//! [`Station`]: the session in the page's worker.

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// The worker's script.
    pub type Post;
    /// Sends bytes to the page; the script takes ownership of them.
    #[wasm_bindgen(method, structural)]
    fn post(this: &Post, bytes: Vec<u8>);
}

/// A session and a painter without a window.
#[wasm_bindgen]
pub struct Station(thalweg_studio::remote::WorkerStation);

#[wasm_bindgen]
impl Station {
    /// Creates a station that sends through this script.
    #[wasm_bindgen(constructor)]
    pub fn new(post: Post) -> Self {
        Self(thalweg_studio::remote::WorkerStation::new(move |bytes| post.post(bytes)))
    }

    /// Handles a message from the page.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.0.receive(bytes);
    }

    /// Runs one turn. Returns the time until the next one is due in milliseconds, or −1 if it is due after the next
    /// message from the page.
    pub fn turn(&mut self) -> f64 {
        // JavaScript has no optional numbers, hence −1.
        self.0.run_turn().map_or(-1.0, |rest| rest.as_secs_f64() * 1e3)
    }
}
