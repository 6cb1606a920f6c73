//! What the window is made of: rows, panels, the view as a texture. Each draws itself and says what was asked of it; none knows of
//! the others' state.

pub(crate) mod appearance;
pub mod habits;
pub(crate) mod history;
pub(crate) mod legend;
pub(crate) mod pen;
pub(crate) mod scene;
pub(crate) mod stages;
pub(crate) mod timeline;
pub(crate) mod toolbar;
pub(crate) mod tools;
pub(crate) mod words;

pub use toolbar::place_of;
