//! The messages between the window and a session elsewhere, as bytes. Both ends are the same program, so the format
//! needs no versions.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thalweg_core::declare::operation::Json;
use thalweg_core::{Field, Point};
use thalweg_io::MemoryFiles;
use thalweg_render::products::overlay::Overlay;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::recipe::strokes::{Stroke, Tool};
use thalweg_sim::session::Position;

use crate::painter::{DisplaySettings, Painted};
use crate::raw::Raw;
use crate::remote::land::TerrainMessage;
use crate::run_export::{ExportRequest, RunExport};
use crate::session::{SessionSnapshot, WorkerOrder};
use crate::view::surface::Surface;

/// A message to the station.
#[derive(Serialize, Deserialize)]
pub(super) enum ToStation {
    /// A file that a recipe may refer to.
    Hold(PathBuf, #[serde(with = "serde_bytes")] Vec<u8>),
    /// An order for the worker.
    Order(OrderMessage),
    /// Paint the latest terrain with these settings; the flags say whether to include the terrain before erosion, and
    /// droplets.
    Paint(DisplaySettings, bool, bool),
    /// The memory limit in bytes.
    Allow(u64),
    /// Break down, for tests.
    Break,
}

/// A [`WorkerOrder`] in a form that can be serialized: the recipe as text, the export by name, its options as JSON.
#[derive(Serialize, Deserialize)]
pub(super) enum OrderMessage {
    Open(String, u64),
    Edit(String, u64, u64),
    Play(bool),
    Step(u32),
    Pace(Option<f64>),
    Restart,
    Back(Position),
    Stroke(StrokeMessage),
    DragStroke(StrokeMessage),
    Drop(Point),
    Export(String, String, PathBuf),
    Quit,
}

/// A [`Stroke`] in a form that can be serialized, with its tool by name.
#[derive(Serialize, Deserialize)]
pub(super) struct StrokeMessage {
    at: [u32; 2],
    tool: String,
    points: Vec<Point>,
    numbers: [f64; 4],
    count: u32,
}

/// A message from the station.
#[derive(Serialize, Deserialize)]
pub(super) enum FromStation {
    Shown(Arc<SessionSnapshot>),
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
    land: TerrainMessage,
    eroding: bool,
    now: Surface,
    before: Option<Surface>,
    paths: Vec<Vec<Point>>,
    read: Vec<(Overlay, Raw<f32>)>,
    legend: Option<(Overlay, [f32; 2])>,
}

impl OrderMessage {
    pub fn from_order(order: WorkerOrder) -> Self {
        match order {
            WorkerOrder::Open(recipe, revision) => Self::Open(recipe.to_toml(), revision),
            WorkerOrder::Edit(recipe, revision, known) => Self::Edit(recipe.to_toml(), revision, known),
            WorkerOrder::Play(on) => Self::Play(on),
            WorkerOrder::Step(steps) => Self::Step(steps),
            WorkerOrder::Pace(pace) => Self::Pace(pace),
            WorkerOrder::Restart => Self::Restart,
            WorkerOrder::Back(place) => Self::Back(place),
            WorkerOrder::Stroke(stroke) => Self::Stroke(StrokeMessage::from_stroke(stroke)),
            WorkerOrder::DragStroke(stroke) => Self::DragStroke(StrokeMessage::from_stroke(stroke)),
            WorkerOrder::Drop(place) => Self::Drop(place),
            WorkerOrder::Export(ExportRequest { export, options }, path) => {
                Self::Export(export.name().to_string(), Json::Object(options).to_string(), path)
            }
            WorkerOrder::Quit => Self::Quit,
        }
    }

    /// Converts the message back to an order whose recipe finds its files in `files`; returns an error message if it
    /// is invalid.
    pub fn into_order(self, files: &MemoryFiles) -> Result<WorkerOrder, String> {
        let parse = |text: String| {
            let mut recipe = Recipe::parse(&text).map_err(|error| error.to_string())?;
            // Paths in the recipe refer to the files in the station's memory.
            recipe.folder = files.path("");
            Ok::<_, String>(Box::new(recipe))
        };
        Ok(match self {
            Self::Open(text, revision) => WorkerOrder::Open(parse(text)?, revision),
            Self::Edit(text, revision, known) => WorkerOrder::Edit(parse(text)?, revision, known),
            Self::Play(on) => WorkerOrder::Play(on),
            Self::Step(steps) => WorkerOrder::Step(steps),
            Self::Pace(pace) => WorkerOrder::Pace(pace),
            Self::Restart => WorkerOrder::Restart,
            Self::Back(place) => WorkerOrder::Back(place),
            Self::Stroke(stroke) => WorkerOrder::Stroke(stroke.into_stroke()?),
            Self::DragStroke(stroke) => WorkerOrder::DragStroke(stroke.into_stroke()?),
            Self::Drop(place) => WorkerOrder::Drop(place),
            Self::Export(name, options, path) => {
                let export = RunExport::from_name(&name).map_err(|error| error.to_string())?;
                let options = serde_json::from_str(&options).map_err(|error| error.to_string())?;
                WorkerOrder::Export(ExportRequest { export, options }, path)
            }
            Self::Quit => WorkerOrder::Quit,
        })
    }
}

impl StrokeMessage {
    fn from_stroke(stroke: Stroke) -> Self {
        Self {
            at: [stroke.step, stroke.pass],
            tool: stroke.tool.name().to_string(),
            numbers: [stroke.radius, stroke.strength, stroke.value, stroke.rate],
            points: stroke.points,
            count: stroke.count,
        }
    }

    /// Converts the message back to a stroke; returns an error message if its tool is unknown.
    fn into_stroke(self) -> Result<Stroke, String> {
        let Self { at: [step, pass], tool, points, numbers: [radius, strength, value, rate], count } = self;
        let tool = Tool::from_name(&tool).ok_or_else(|| format!("unknown tool `{tool}`"))?;
        Ok(Stroke { step, pass, tool, points, radius, strength, value, count, rate })
    }
}

impl PaintedLand {
    /// Converts a result that was painted with the settings `wants`.
    pub fn from_painted(painted: Painted, wants: &DisplaySettings) -> Self {
        // The overlay and its range are enough to rebuild the legend.
        let legend = painted.now.legend().map(|legend| [legend.low, legend.high]);
        Self {
            version: painted.version,
            revision: painted.revision,
            problem: painted.problem,
            land: TerrainMessage::from_terrain(&painted.terrain),
            eroding: painted.eroding,
            legend: wants.overlay.clone().zip(legend),
            now: painted.now,
            before: painted.before,
            paths: painted.paths,
            read: painted.read.into_iter().map(|(overlay, values)| (overlay, Raw(values))).collect(),
        }
    }

    /// Converts the message back to a result for the window.
    pub fn into_painted(mut self) -> Result<Painted, String> {
        let terrain = self.land.into_terrain()?;
        if let Some((overlay, [low, high])) = self.legend {
            // Colours, title and unit come from the overlay itself; only the range depends on the values.
            // A field with only the two ends has the range that the legend derives.
            let ends = Field::from_fn(terrain.grid.size, |i, j| if i + j == 0 { low } else { high });
            let mut legend = overlay.build_legend(&terrain, &ends).map_err(|error| error.to_string())?;
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
            read: self.read.into_iter().map(|(overlay, values)| (overlay, values.0)).collect(),
        })
    }
}
