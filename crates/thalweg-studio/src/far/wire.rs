//! The messages between the window and a session elsewhere, as bytes. Both ends are the same program, so the format
//! needs no versions.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thalweg_core::{Field, Point};
use thalweg_io::MemoryFiles;
use thalweg_render::products::overlay::Overlay;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::recipe::strokes::{Stroke, Tool};
use thalweg_sim::session::Position;

use crate::far::land::Land;
use crate::goods::Goods;
use crate::painter::{Painted, Wants};
use crate::raw::Raw;
use crate::session::{Order, Snapshot};
use crate::view::surface::Surface;

/// A message to the station.
#[derive(Serialize, Deserialize)]
pub(super) enum ToStation {
    /// A file that a recipe may refer to.
    Hold(PathBuf, #[serde(with = "serde_bytes")] Vec<u8>),
    /// An order for the worker.
    Order(Told),
    /// Paint the latest terrain with these settings; the flags say whether to include the terrain before erosion, and
    /// droplets.
    Paint(Wants, bool, bool),
    /// The memory limit in bytes.
    Allow(u64),
    /// Break down, for tests.
    Break,
}

/// An [`Order`] in a form that can be serialized: the recipe as text, the export by name.
#[derive(Serialize, Deserialize)]
pub(super) enum Told {
    Open(String, u64),
    Edit(String, u64, u64),
    Play(bool),
    Step(u32),
    Pace(Option<f64>),
    Restart,
    Back(Position),
    Stroke(Struck),
    Drop(Point),
    Export(String, PathBuf),
    Quit,
}

/// A [`Stroke`] in a form that can be serialized, with its tool by name.
#[derive(Serialize, Deserialize)]
pub(super) struct Struck {
    at: [u32; 2],
    tool: String,
    points: Vec<Point>,
    numbers: [f64; 4],
    count: u32,
}

/// A message from the station.
#[derive(Serialize, Deserialize)]
pub(super) enum FromStation {
    Shown(Arc<Snapshot>),
    Painted(Box<PaintedLand>),
    /// The view could not be prepared.
    Unpainted(String),
    /// A file for the user could not be written.
    Unwritten(String),
    /// A file for the user.
    File(String, #[serde(with = "serde_bytes")] Vec<u8>),
}

/// A [`Painted`] in a form that can be serialized; the legend is recreated by the receiver.
#[derive(Serialize, Deserialize)]
pub(super) struct PaintedLand {
    version: u64,
    revision: u64,
    problem: Option<String>,
    land: Land,
    eroding: bool,
    now: Surface,
    before: Option<Surface>,
    paths: Vec<Vec<Point>>,
    read: Vec<(String, String, Raw<f32>)>,
    legend: Option<(Overlay, [f32; 2])>,
}

impl Told {
    pub fn of(order: Order) -> Self {
        match order {
            Order::Open(recipe, revision) => Self::Open(recipe.to_toml(), revision),
            Order::Edit(recipe, revision, known) => Self::Edit(recipe.to_toml(), revision, known),
            Order::Play(on) => Self::Play(on),
            Order::Step(steps) => Self::Step(steps),
            Order::Pace(pace) => Self::Pace(pace),
            Order::Restart => Self::Restart,
            Order::Back(place) => Self::Back(place),
            Order::Stroke(stroke) => Self::Stroke(Struck {
                at: [stroke.step, stroke.pass],
                tool: stroke.tool.name().to_string(),
                points: stroke.points,
                numbers: [stroke.radius, stroke.strength, stroke.value, stroke.rate],
                count: stroke.count,
            }),
            Order::Drop(place) => Self::Drop(place),
            Order::Export(goods, path) => Self::Export(goods.name().to_string(), path),
            Order::Quit => Self::Quit,
        }
    }

    /// Converts the message back to an order whose recipe finds its files in `files`; returns an error message if it
    /// is invalid.
    pub fn order(self, files: &MemoryFiles) -> Result<Order, String> {
        let parse = |text: String| {
            let mut recipe = Recipe::parse(&text).map_err(|error| error.to_string())?;
            recipe.folder = files.path("");
            Ok::<_, String>(Box::new(recipe))
        };
        Ok(match self {
            Self::Open(text, revision) => Order::Open(parse(text)?, revision),
            Self::Edit(text, revision, known) => Order::Edit(parse(text)?, revision, known),
            Self::Play(on) => Order::Play(on),
            Self::Step(steps) => Order::Step(steps),
            Self::Pace(pace) => Order::Pace(pace),
            Self::Restart => Order::Restart,
            Self::Back(place) => Order::Back(place),
            Self::Stroke(Struck {
                at: [step, pass],
                tool,
                points,
                numbers: [radius, strength, value, rate],
                count,
            }) => {
                let tool = Tool::named(&tool).ok_or_else(|| format!("there is no tool {tool}"))?;
                Order::Stroke(Stroke { step, pass, tool, points, radius, strength, value, count, rate })
            }
            Self::Drop(place) => Order::Drop(place),
            Self::Export(name, path) => Order::Export(Goods::named(&name).map_err(|error| error.to_string())?, path),
            Self::Quit => Order::Quit,
        })
    }
}

impl PaintedLand {
    /// Converts a result that was painted with the settings `wants`.
    pub fn of(painted: Painted, wants: &Wants) -> Self {
        let legend = painted.now.legend().map(|legend| [legend.low, legend.high]);
        Self {
            version: painted.version,
            revision: painted.revision,
            problem: painted.problem,
            land: Land::of(&painted.terrain),
            eroding: painted.eroding,
            legend: wants.overlay.clone().zip(legend),
            now: painted.now,
            before: painted.before,
            paths: painted.paths,
            read: painted.read.into_iter().map(|(title, unit, values)| (title, unit, Raw(values))).collect(),
        }
    }

    /// Converts the message back to a result for the window.
    pub fn painted(mut self) -> Result<Painted, String> {
        let terrain = self.land.terrain()?;
        if let Some((overlay, [low, high])) = self.legend {
            // Colours, title and unit come from the overlay itself; only the range depends on the values.
            let ends = Field::generate(terrain.grid.size, |i, j| if i + j == 0 { low } else { high });
            let mut legend = overlay.legend(&terrain, &ends).map_err(|error| error.to_string())?;
            (legend.low, legend.high) = (low, high);
            self.now.set_legend(legend);
        }
        Ok(Painted {
            version: self.version,
            revision: self.revision,
            problem: self.problem,
            terrain: Arc::new(terrain),
            eroding: self.eroding,
            now: self.now,
            before: self.before,
            paths: self.paths,
            read: self.read.into_iter().map(|(title, unit, values)| (title, unit, values.0)).collect(),
        })
    }
}
