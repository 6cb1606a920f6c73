//! Tests of a session that shares no memory with its window: it exchanges bytes, and shows what a session in a thread
//! would show.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use crate::support::run_recipe;
use thalweg_io::{MemoryFiles, SaveOptions, save_terrain};
use thalweg_render::products::overlay::Overlay;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::recipe::strokes::{Stroke, Tool};
use thalweg_sim::run::Run;
use thalweg_studio::painter::{DisplaySettings, PaintJob, Painted, ViewPainter};
use thalweg_studio::remote::{Link, Post, WorkerStation};
use thalweg_studio::run_export::{ExportRequest, RunExport};
use thalweg_studio::session::{RemoteSession, SessionSnapshot, WorkerOrder};

const WORLD: &str = r#"
name = "far"
extent = [3200.0, 3200.0]
cells = 64
seed = 5

[[stage]]
model = "gradient_noise"
amplitude = 400.0

[[stage]]
model = "stream_power"
years = 200000.0
step = 20000.0

[[stage]]
model = "droplets"
count = 3000
"#;

type Queue = Rc<RefCell<VecDeque<Vec<u8>>>>;

/// A window's end and a station, with two queues in place of a browser's messages.
struct Pair {
    link: Rc<Link>,
    station: WorkerStation,
    there: Queue,
    back: Queue,
}

fn station(back: &Queue) -> WorkerStation {
    let back = Rc::clone(back);
    WorkerStation::new(move |bytes| back.borrow_mut().push_back(bytes))
}

impl Pair {
    fn new(text: &str) -> Self {
        let recipe = Recipe::parse(text).unwrap();
        let (there, back) = (Queue::default(), Queue::default());
        let carried = Rc::clone(&there);
        let make = move || -> Post {
            let carried = Rc::clone(&carried);
            Box::new(move |bytes| carried.borrow_mut().push_back(bytes))
        };
        let link = Link::new(make, MemoryFiles::default(), &recipe, true).unwrap();
        let pair = Self { link, station: station(&back), there, back };
        pair.link.send_order(WorkerOrder::Open(Box::new(recipe), 0));
        pair.link.send_order(WorkerOrder::Pace(None));
        pair.link.send_order(WorkerOrder::Play(true));
        pair
    }

    fn turn(&mut self) {
        let there: Vec<_> = self.there.borrow_mut().drain(..).collect();
        there.iter().for_each(|bytes| self.station.receive(bytes));
        self.station.run_turn();
        let back: Vec<_> = self.back.borrow_mut().drain(..).collect();
        back.iter().for_each(|bytes| self.link.receive(bytes));
    }

    fn until(&mut self, what: &str, holds: impl Fn(&SessionSnapshot) -> bool) -> Arc<SessionSnapshot> {
        for _ in 0..100_000 {
            self.turn();
            if let Some(latest) = self.link.latest_snapshot().filter(|latest| holds(latest)) {
                return latest;
            }
        }
        panic!(
            "in vain until {what}; problem {:?}",
            self.link.latest_snapshot().and_then(|latest| latest.problem.clone())
        );
    }

    fn painted(&mut self, overlay: Option<Overlay>, compare: bool) -> Painted {
        let latest = self.link.latest_snapshot().unwrap();
        let wants = DisplaySettings {
            most: 1024,
            sun: Default::default(),
            exaggeration: 1.5,
            light: None,
            overlay,
            natural: None,
            basins: true,
        };
        self.link.request_picture(PaintJob {
            version: latest.version,
            revision: latest.revision,
            terrain: Arc::clone(&latest.terrain),
            before: Arc::clone(&latest.before),
            eroding: latest.eroding,
            falling: None,
            droplets: true,
            compare,
            wants,
        });
        assert!(self.link.is_busy());
        while self.link.is_busy() {
            self.turn();
        }
        self.link.take_result().unwrap().unwrap()
    }
}

fn finished(text: &str) -> Run {
    run_recipe(Recipe::parse(text).unwrap())
}

#[test]
fn it_comes_to_the_bits_of_a_run_and_shows_them_whole() {
    let mut pair = Pair::new(WORLD);
    let before = pair.link.latest_snapshot().unwrap();
    assert_eq!((before.turns.len(), before.step, before.done), (3, 0, false));
    let done = pair.until("it is done", |shown| shown.done);
    let run = finished(WORLD);
    let expected = run.terrain().fingerprints();
    assert_eq!(done.fingerprint.as_ref(), expected.get("ground"));
    let overlays = Overlay::list_available(run.terrain());
    assert!(overlays.len() > 3);
    for overlay in [None].into_iter().chain(overlays.into_iter().map(Some)) {
        let painted = pair.painted(overlay.clone(), true);
        // Everything that the probe reads of the terrain has been transferred to the bit.
        assert_eq!(painted.terrain.fingerprints(), expected, "{overlay:?}");
        assert!(painted.before.is_some() && painted.eroding && painted.problem.is_none());
        assert_eq!(painted.now.size(), [64, 64]);
        let values =
            overlay.as_ref().map(|overlay| overlay.compute_values(run.terrain(), Some(run.terrain())).unwrap());
        let legend = painted.now.legend().map(|legend| (legend.title.clone(), legend.unit.clone()));
        let own = overlay.as_ref().zip(values).map(|(overlay, values)| {
            let legend = overlay.build_legend(run.terrain(), &values).unwrap();
            (legend.title.clone(), legend.unit.clone())
        });
        assert_eq!(legend, own);
    }
}

#[test]
fn orders_arrive_and_files_come_back() {
    let mut pair = Pair::new(WORLD);
    pair.until("it is done", |shown| shown.done);
    let stroke = Stroke { radius: 300.0, strength: 12.5, ..Stroke::new(Tool::Raise, vec![[1000.0, 1200.0].into()]) };
    pair.link.send_order(WorkerOrder::Stroke(stroke));
    pair.link.send_order(WorkerOrder::Drop([1500.0, 1500.0].into()));
    let shown = pair.until("both orders were carried out", |shown| shown.heard == 2);
    assert!(shown.trace.points.len() > 1 && shown.recipe.contains("raise"), "{}", shown.recipe);
    let edited = Recipe::parse(&WORLD.replace("seed = 5", "seed = 6")).unwrap();
    pair.link.send_order(WorkerOrder::Edit(Box::new(edited), 7, shown.strokes));
    pair.link.send_order(WorkerOrder::Play(true));
    let shown = pair.until("it is done again", |shown| shown.done && shown.revision == 7);
    let run = finished(&shown.recipe);
    assert_eq!(shown.fingerprint.as_ref(), run.terrain().fingerprints().get("ground"));
    pair.link.send_order(WorkerOrder::Export(RunExport::Heights.into(), PathBuf::from("far-6.tif")));
    pair.turn();
    let files = pair.link.take_files();
    let [Ok((name, bytes))] = files.as_slice() else { panic!("{} files", files.len()) };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("height.tif");
    let recipe = run.recipe();
    let options = SaveOptions { seed: Some(recipe.seed), recipe_hash: Some(recipe.hash()), ..SaveOptions::default() };
    save_terrain(&path, run.terrain(), &options).unwrap();
    assert!(name == "far-6.tif" && *bytes == std::fs::read(&path).unwrap());
    for goods in RunExport::all().filter(|goods| !matches!(goods, RunExport::Heights | RunExport::Drainage)) {
        assert_eq!(RunExport::from_name(goods.name()).unwrap(), goods);
        let name = goods.file_name("far-6");
        pair.link.send_order(WorkerOrder::Export(goods.into(), PathBuf::from(&name)));
        pair.turn();
        let files = pair.link.take_files();
        let [Ok((given, bytes))] = files.as_slice() else { panic!("{name}: {files:?}") };
        assert!(*given == name && bytes.starts_with(b"PK\x03\x04") && bytes.len() > 2000, "{name}: {}", bytes.len());
    }
    assert!(RunExport::from_name("untiy").unwrap_err().to_string().contains("did you mean `unity`"));
}

/// An export that cannot be written is reported, and the view remains.
#[test]
fn an_export_that_cannot_be_is_said() {
    let mut pair = Pair::new("extent = [100.0, 100.0]\ncells = 1\n[[stage]]\nmodel = \"gradient_noise\"\n");
    pair.until("it is done", |shown| shown.done);
    let unity = ExportRequest::from(RunExport::from_name("unity").unwrap());
    let mut wrong = unity.clone();
    wrong.options.insert("size".into(), serde_json::json!("wide"));
    // The drainage needs a disk.
    for (request, words) in [(unity, "2 × 2"), (wrong, "size = wide"), (RunExport::Drainage.into(), "desktop studio")]
    {
        pair.link.send_order(WorkerOrder::Export(request, PathBuf::from("a.zip")));
        pair.turn();
        let files = pair.link.take_files();
        let [Err(said)] = files.as_slice() else { panic!("{files:?}") };
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn files_in_memory_are_there_too_and_after_a_breakdown_as_well() {
    let run = finished(WORLD);
    let mut pair = Pair::new(WORLD);
    let path = pair.link.memory_files().path("far-given.tif");
    save_terrain(&path, run.terrain(), &SaveOptions::default()).unwrap();
    pair.link.send_file(&path);
    let recipe = Recipe::open(&path).unwrap();
    pair.link.send_order(WorkerOrder::Open(Box::new(recipe.clone()), 3));
    pair.until("the file is open", |shown| shown.revision == 3 && shown.recipe.contains("far-given"));
    // The station is gone, and its replacement knows only what it receives.
    pair.link.set_broken();
    assert!(pair.link.is_broken() && pair.link.restart_session() && !pair.link.is_broken());
    pair.station = station(&pair.back);
    pair.link.send_order(WorkerOrder::Open(Box::new(recipe), 4));
    pair.link.send_order(WorkerOrder::Pace(None));
    pair.link.send_order(WorkerOrder::Play(true));
    pair.until("it is done", |shown| shown.revision == 4 && shown.done);
    // Bytes that are not messages are ignored.
    for broken in [&[][..], &[0xff; 40], &[1, 2, 3]] {
        pair.station.receive(broken);
        pair.link.receive(broken);
    }
    pair.turn();
}
