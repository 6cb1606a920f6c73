//! [`Station`]: the session as the page's worker runs it.

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// The worker's script.
    pub type Post;
    /// Sends bytes to the page; the script owns them then.
    #[wasm_bindgen(method, structural)]
    fn post(this: &Post, bytes: Vec<u8>);
}

/// A session and a painter without a window.
#[wasm_bindgen]
pub struct Station(thalweg_studio::far::Station);

#[wasm_bindgen]
impl Station {
    /// A station that sends by this script.
    #[wasm_bindgen(constructor)]
    pub fn new(post: Post) -> Self {
        Self(thalweg_studio::far::Station::new(move |bytes| post.post(bytes)))
    }

    /// Takes what the page says.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.0.receive(bytes);
    }

    /// One turn; milliseconds until the next is due, or less than nothing where the page is to speak first.
    pub fn turn(&mut self) -> f64 {
        self.0.turn().map_or(-1.0, |rest| rest.as_secs_f64() * 1e3)
    }
}
