//! Tests of the window's panels, driven and drawn without a window.

use std::time::{Duration, Instant};

use crate::support::run_recipe;
use eframe::egui::accesskit::Role;
use eframe::egui::{
    DroppedFile, Event, Key, Modifiers, MouseWheelSource, MouseWheelUnit, PointerButton, Pos2, TouchPhase, Vec2, vec2,
};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use egui_kittest::wgpu::{WgpuTestRenderer, create_render_state, default_wgpu_setup};
use glam::Vec3;
use thalweg_core::base::names::title_from_name;
use thalweg_core::declare::operation::{WorkForm, options_for};
use thalweg_core::declare::params::Value;
use thalweg_render::pictures::picture::Picture;
use thalweg_sim::recipe::Recipe;
use thalweg_studio::app::Studio;
use thalweg_studio::platform::DialogQuestion;
use thalweg_studio::session::WorkerOrder;
use thalweg_studio::{PresetCard, StudioOptions};

const HILLS: &str = r#"
name = "small"
about = "Hills under rain."
extent = [6400.0, 6400.0]
cells = 64
seed = 3

[[stage]]
model = "gradient_noise"
label = "hills"
amplitude = 600.0
wavelength = 3000.0

[[stage]]
model = "stream_power"
label = "rivers"
years = 400000.0
step = 20000.0
erodibility = 5e-6

[[stage]]
model = "droplets"
label = "shower"
count = 20000
"#;

/// A studio in a test harness, created at its first frame.
struct TestWindow {
    harness: Harness<'static, Option<Studio>>,
    folder: tempfile::TempDir,
}

impl TestWindow {
    fn new(playing: bool) -> Self {
        Self::with_recipe(HILLS, playing)
    }

    fn with_recipe(text: &str, playing: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own.toml");
        std::fs::write(&own, text).unwrap();
        let text = text.to_string();
        // Every file dialog is answered with another world.
        let other = folder.path().join("other.toml");
        std::fs::write(&other, HILLS.replace("\"small\"", "\"other\"").replace("seed = 3", "seed = 8")).unwrap();
        let pictures = folder.path().to_path_buf();
        let setup = default_wgpu_setup();
        let state = create_render_state(setup, eframe::egui_wgpu::RendererOptions::PREDICTABLE);
        let gpu = state.clone();
        let harness = Harness::builder()
            .with_size(vec2(1280.0, 800.0))
            .renderer(WgpuTestRenderer::from_render_state(state))
            .build_ui_state(
                move |ui, studio: &mut Option<Studio>| {
                    let options = || StudioOptions {
                        recipe: Recipe::parse(&text).unwrap(),
                        path: Some(own.clone()),
                        playing,
                        presets: vec![PresetCard { name: "small", text: HILLS.to_string(), thumbnail: &[] }],
                        cells: 64,
                        pictures: pictures.clone(),
                        asker: {
                            let (other, folder) = (other.clone(), pictures.clone());
                            Box::new(move |ask| {
                                let (sender, receiver) = std::sync::mpsc::channel();
                                let answer = match ask {
                                    DialogQuestion::Export(goods) => folder.join(goods.name()),
                                    DialogQuestion::Turntable | DialogQuestion::TimeLapse => folder.clone(),
                                    _ => other.clone(),
                                };
                                sender.send(Some(answer)).unwrap();
                                receiver
                            })
                        },
                        page: None,
                    };
                    studio
                        .get_or_insert_with(|| Studio::new(options(), ui.ctx(), Some(gpu.clone())).unwrap())
                        .frame_ui(ui);
                },
                None,
            );
        Self { harness, folder }
    }

    fn studio(&self) -> &Studio {
        self.harness.state().as_ref().unwrap()
    }

    /// Steps frames until a condition holds, for at most three minutes.
    fn until(&mut self, what: &str, holds: impl Fn(&Studio) -> bool) {
        let start = Instant::now();
        loop {
            self.harness.step();
            if self.harness.state().as_ref().is_some_and(&holds) {
                return;
            }
            assert!(start.elapsed() < Duration::from_secs(180), "waited in vain until {what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Runs the first stage's one step and waits until the hills are in view.
    fn painted(&mut self) {
        self.harness.step();
        self.studio().send_order(WorkerOrder::Step(1));
        self.until("the hills are in view", |studio| studio.snapshot().all[0] == 1 && studio.is_settled());
        // The first frames were drawn before the view had its size, so the camera is framed again.
        let mut last = None;
        while last != Some(self.studio().camera().target) {
            last = Some(self.studio().camera().target);
            for _ in 0..5 {
                self.harness.step();
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }

    fn click(&mut self, label: &str) {
        self.harness.get_by_label(label).click();
        self.harness.step();
        self.harness.step();
    }

    fn key(&mut self, key: Key) {
        self.harness.key_press(key);
        self.harness.step();
        self.harness.step();
    }

    fn pictures(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.folder.path()).unwrap();
        let names = files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned());
        let mut names: Vec<_> = names.filter(|name| name.ends_with(".png")).collect();
        names.sort();
        names
    }

    /// Presses S and returns the saved picture's bytes.
    fn picture(&mut self) -> Vec<u8> {
        let before = self.pictures();
        self.key(Key::S);
        let name = self.pictures().into_iter().find(|name| !before.contains(name)).unwrap();
        std::fs::read(self.folder.path().join(name)).unwrap()
    }

    fn button(&mut self, pos: Pos2, button: PointerButton, pressed: bool, modifiers: Modifiers) {
        self.harness.event(Event::ModifiersChanged(modifiers));
        self.harness.event(Event::PointerMoved(pos));
        self.harness.event(Event::PointerButton { pos, button, pressed, modifiers });
        self.harness.step();
    }

    /// Drags from the middle of the view by `by` points.
    fn drag(&mut self, button: PointerButton, modifiers: Modifiers, by: Vec2) {
        self.button(MIDDLE, button, true, modifiers);
        for part in [0.3, 0.6, 1.0] {
            self.harness.event(Event::PointerMoved(MIDDLE + part * by));
            self.harness.step();
        }
        self.button(MIDDLE + by, button, false, modifiers);
        self.harness.event(Event::ModifiersChanged(Modifiers::NONE));
        self.harness.run_steps(2);
    }
}

/// A place in the view that lies over land.
const MIDDLE: Pos2 = Pos2::new(700.0, 400.0);

#[test]
fn every_panel_opens_and_shows_what_is_declared() {
    let mut window = TestWindow::new(false);
    window.painted();
    for stage in Recipe::parse(HILLS).unwrap().stages {
        window.harness.get_by_label(&stage.title()).click();
        window.harness.run_steps(12);
        for param in stage.model.declared() {
            assert!(window.harness.query_all_by_label(param.name).count() >= 2, "{}: no name and control", param.name);
        }
        // The model's page opens in a window of its own.
        window.harness.get_by_role_and_label(Role::Button, stage.model.about().name).click();
        window.harness.run_steps(4);
        window.harness.get_by_label(&format!("thalweg models {}", stage.model.about().name));
        window.harness.get_by_label(&stage.title()).click();
        window.harness.run_steps(12);
    }
    window.click("Text");
    assert!(window.harness.get_by_role(Role::MultilineTextInput).value().unwrap().contains("erodibility"));
    window.click("Stages");
    window.key(Key::F1);
    for (keys, does) in thalweg_studio::ui::habits::HABITS {
        window.harness.get_by_label(keys);
        window.harness.get_by_label(does);
    }
    window.key(Key::F1);
    for (menu, item) in [("Export", "Copy command line"), ("+ Add a stage", "Scree"), ("small", "Save the recipe as …")]
    {
        window.click(menu);
        window.harness.get_by_label_contains(item);
        window.key(Key::Escape);
    }
    for side in ["Recipe", "View"] {
        window.click(side);
        window.click(side);
    }
}

#[test]
fn a_recipe_with_errors_is_shown_in_place_while_the_last_good_one_runs_on() {
    let mut window = TestWindow::new(false);
    window.painted();
    let before = window.studio().recipe_text();
    window.click("Text");
    let broken = before.replace("erodibility", "erodability");
    window.harness.get_by_role(Role::MultilineTextInput).focus();
    window.harness.run_steps(2);
    window.harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
    window.harness.step();
    window.harness.event(Event::Paste(broken));
    window.harness.run_steps(3);
    window.harness.get_by_label_contains("did you mean");
    assert_eq!(window.studio().recipe_text(), before);
}

#[test]
fn a_run_played_in_the_window_is_the_build_of_its_recipe() {
    let mut window = TestWindow::new(true);
    window.until("the run is done", |studio| studio.snapshot().done);
    window.key(Key::Space);
    window.until("the shower has fallen", |studio| studio.snapshot().done && studio.snapshot().particles == 30_000);
    let snapshot = window.studio().snapshot();
    let run = run_recipe(Recipe::parse(&snapshot.recipe).unwrap());
    assert!(run.terrain().ground == snapshot.terrain.ground, "the build differs from what the window showed");
}

#[test]
fn sliders_change_the_recipe_and_undo_brings_it_back() {
    let mut window = TestWindow::new(false);
    window.painted();
    let before = window.studio().recipe_text();
    window.harness.get_by_label("Rivers · rivers").click();
    window.harness.run_steps(12);
    let slider =
        window.harness.get_by(|node| node.role() == Role::Slider && node.label().as_deref() == Some("erodibility"));
    slider.set_value_accesskit(2e-6);
    window.harness.run_steps(3);
    let recipe = Recipe::parse(&window.studio().recipe_text()).unwrap();
    let Some(Value::Number(value)) = recipe.stages[1].model.get("erodibility") else { panic!("no such parameter") };
    assert!((value / 2e-6 - 1.0).abs() < 1e-3, "{value}");
    window.harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    window.harness.run_steps(3);
    assert_eq!(window.studio().recipe_text(), before);
    window.harness.key_press_modifiers(Modifiers::COMMAND, Key::Y);
    window.harness.run_steps(3);
    assert_ne!(window.studio().recipe_text(), before);
    window.harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    window.harness.run_steps(3);
    window.harness.key_press_modifiers(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    window.harness.run_steps(3);
    assert_ne!(window.studio().recipe_text(), before);
}

#[test]
fn the_mouse_moves_the_camera_and_the_sun() {
    let mut window = TestWindow::new(false);
    window.painted();
    let first = window.studio().camera();
    window.drag(PointerButton::Primary, Modifiers::NONE, vec2(80.0, 30.0));
    let turned = window.studio().camera();
    assert!(turned.azimuth != first.azimuth && turned.elevation != first.elevation, "left drag turns the land");
    assert_eq!(turned.target, first.target);
    window.drag(PointerButton::Middle, Modifiers::NONE, vec2(60.0, 0.0));
    let moved = window.studio().camera();
    assert!(moved.target != turned.target && moved.azimuth == turned.azimuth, "middle drag moves along");
    window.drag(PointerButton::Primary, Modifiers::COMMAND | Modifiers::CTRL, vec2(-60.0, 0.0));
    assert!(window.studio().camera().target != moved.target, "Ctrl + left drag moves along");
    let before = window.studio().camera();
    window.drag(PointerButton::Secondary, Modifiers::NONE, vec2(50.0, 0.0));
    let looked = window.studio().camera();
    let apart = |a: Vec3, b: Vec3| a.distance(b);
    assert!(looked.azimuth != before.azimuth, "right drag looks round");
    assert!(apart(looked.eye(), before.eye()) < 0.01 * before.distance, "from where the eye is");
    // While the right mouse button is down, letter keys move the camera.
    window.button(MIDDLE, PointerButton::Secondary, true, Modifiers::NONE);
    let mut flown = Vec::new();
    for (key, modifiers) in [Key::W, Key::A, Key::S, Key::D, Key::E, Key::Q]
        .map(|key| (key, Modifiers::NONE))
        .into_iter()
        .chain([(Key::E, Modifiers::SHIFT)])
    {
        let from = window.studio().camera().eye();
        window.harness.event(Event::ModifiersChanged(modifiers));
        window.harness.key_down(key);
        window.harness.run_steps(6);
        window.harness.key_up(key);
        window.harness.event(Event::ModifiersChanged(Modifiers::NONE));
        window.harness.step();
        flown.push(apart(window.studio().camera().eye(), from));
    }
    window.button(MIDDLE, PointerButton::Secondary, false, Modifiers::NONE);
    assert!(flown.iter().all(|metres| *metres > 0.01 * looked.distance), "letters fly: {flown:?}");
    assert!(flown[6] > 1.5 * flown[4], "Shift flies faster: {flown:?}");
    assert!(window.pictures().is_empty());
    let sun = window.studio().sun();
    assert_eq!((sun.azimuth, sun.altitude), (315.0, 45.0));
    window.drag(PointerButton::Primary, Modifiers::SHIFT, vec2(40.0, 20.0));
    assert!(window.studio().sun() != sun, "Shift + drag moves the sun");
    let far = window.studio().camera();
    window.harness.hover_at(MIDDLE);
    window.harness.event(Event::MouseWheel {
        unit: MouseWheelUnit::Line,
        delta: vec2(0.0, 3.0),
        phase: TouchPhase::Move,
        modifiers: Modifiers::NONE,
        source: MouseWheelSource::Unknown,
    });
    window.harness.run_steps(20);
    let near = window.studio().camera();
    assert!(near.distance < far.distance, "the wheel brings the land nearer: {far:?} {near:?}");
    window.key(Key::Home);
    let home = window.studio().camera();
    assert!((home.distance / first.distance - 1.0).abs() < 0.3, "Home frames the land");
    window.key(Key::M);
    assert!(window.studio().camera().map);
    let map = window.studio().camera();
    window.drag(PointerButton::Primary, Modifiers::NONE, vec2(50.0, 0.0));
    assert!(window.studio().camera().target != map.target, "left drag moves the map");
    window.key(Key::M);
    assert!(!window.studio().camera().map);
}

#[test]
fn keys_and_clicks_do_what_the_list_says() {
    let mut window = TestWindow::new(false);
    window.painted();
    // Enough steps that there is a difference to compare.
    window.studio().send_order(WorkerOrder::Step(15));
    window.until("15 steps are taken", |studio| studio.snapshot().all[0] == 16 && !studio.snapshot().playing);
    // A click drops a droplet and shows its path; S saves a picture with the number of droplets in its name.
    window.button(MIDDLE, PointerButton::Primary, true, Modifiers::NONE);
    window.button(MIDDLE, PointerButton::Primary, false, Modifiers::NONE);
    window.until("the droplet is followed", |studio| studio.snapshot().trace.points.len() > 3);
    assert_eq!(window.studio().snapshot().particles, 1);
    assert!(window.studio().describe_droplet().unwrap().contains("here: elevation"));
    window.until("all is painted", Studio::is_settled);
    let now = window.picture();
    assert_eq!(window.pictures(), ["small-3-1-droplets.png"]);
    window.harness.key_down(Key::B);
    window.harness.run_steps(2);
    window.until("the land before is painted", Studio::is_settled);
    let before = window.picture();
    window.harness.key_up(Key::B);
    window.harness.run_steps(2);
    assert!(now != before, "B shows the land before");
    // The bracket keys change the brush radius.
    window.click("Tools");
    window.harness.run_steps(10);
    window.click("raise");
    let radius = window.studio().brush_radius();
    window.key(Key::CloseBracket);
    assert!(window.studio().brush_radius() > radius);
    window.key(Key::OpenBracket);
    assert!((window.studio().brush_radius() / radius - 1.0).abs() < 1e-9);
    // One brush stroke is one entry of the undo history.
    let plain = window.studio().recipe_text();
    window.drag(PointerButton::Primary, Modifiers::NONE, vec2(40.0, 0.0));
    window.until("the stroke is in the recipe", |studio| studio.recipe_text().contains("tool = \"raise\""));
    window.harness.run_steps(2);
    window.harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    // The step back waits until the worker has carried out all strokes of the drag.
    window.until("the stroke is undone", |studio| studio.recipe_text() == plain);
    window.key(Key::P);
    window.until("it plays", |studio| studio.snapshot().playing || studio.snapshot().done);
    window.until("it is done", |studio| studio.snapshot().done);
    // The first mark is at the left end of the time bar.
    let bar = Pos2::new(12.0, 786.0);
    window.button(bar, PointerButton::Primary, true, Modifiers::NONE);
    window.button(bar, PointerButton::Primary, false, Modifiers::NONE);
    window.until("it is back at the start", |studio| studio.snapshot().all[0] == 0);
    // A parameter's description appears under the cursor.
    window.click("Rivers · rivers");
    window.harness.run_steps(12);
    window.harness.get_all_by_label("erodibility").next().unwrap().hover();
    window.harness.run_steps(40);
    assert!(window.harness.query_by_label_contains("default 0.00").is_some(), "no meaning is shown");
}

#[test]
fn the_pen_draws_lines_that_the_recipe_holds_and_takes_them_away() {
    let mut window = TestWindow::new(false);
    window.painted();
    let click = |window: &mut TestWindow, by: Vec2| {
        window.button(MIDDLE + by, PointerButton::Primary, true, Modifiers::NONE);
        window.button(MIDDLE + by, PointerButton::Primary, false, Modifiers::NONE);
        window.harness.step();
    };
    window.click("Tools");
    window.harness.run_steps(10);
    let plain = window.studio().recipe_text();
    window.click("river");
    click(&mut window, vec2(-60.0, 0.0));
    click(&mut window, vec2(60.0, 0.0));
    window.key(Key::Escape);
    window.key(Key::Enter);
    assert_eq!(window.studio().recipe_text(), plain, "Escape drops the line");
    click(&mut window, vec2(-60.0, 0.0));
    click(&mut window, vec2(60.0, 0.0));
    assert_eq!(window.studio().recipe_text(), plain, "the line is not done");
    window.key(Key::Enter);
    window.until("the run has the river", |studio| studio.snapshot().recipe.contains("LineString"));
    assert!(window.studio().recipe_text().contains("river"));
    assert!(window.studio().compose_frame([100, 100]).lines.len() > 10, "it is seen");
    // A ridge may not cross the river, and there is no coast without a sea.
    let river = window.studio().recipe_text();
    window.click("ridge");
    click(&mut window, vec2(0.0, -60.0));
    click(&mut window, vec2(0.0, 60.0));
    window.key(Key::Enter);
    assert!(window.studio().current_message().unwrap().contains("uphill"), "{:?}", window.studio().current_message());
    window.click("coast");
    window.drag(PointerButton::Primary, Modifiers::NONE, vec2(90.0, 0.0));
    assert!(
        window.studio().current_message().unwrap().contains("sea_level"),
        "{:?}",
        window.studio().current_message()
    );
    assert_eq!(window.studio().recipe_text(), river);
    window.click("erase");
    click(&mut window, vec2(0.0, 0.0));
    assert_eq!(window.studio().recipe_text(), plain);
    window.until("the run has no river", |studio| !studio.snapshot().recipe.contains("LineString"));
    window.harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    window.harness.run_steps(2);
    assert_eq!(window.studio().recipe_text(), river);
}

#[test]
fn files_are_saved_opened_and_dropped() {
    let mut window = TestWindow::new(false);
    window.painted();
    window.harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    window.harness.run_steps(2);
    let saved = std::fs::read_to_string(window.folder.path().join("own.toml")).unwrap();
    assert_eq!(saved, window.studio().recipe_text());
    window.harness.key_press_modifiers(Modifiers::COMMAND, Key::O);
    window.until("the other world is open", |studio| studio.recipe_text().contains("seed = 8"));
    window.until("and runs", |studio| studio.snapshot().recipe.contains("seed = 8"));

    #[derive(Debug)]
    struct Dropped(std::path::PathBuf);
    impl DroppedFile for Dropped {
        fn path(&self) -> &std::path::Path {
            &self.0
        }
        fn bytes(&self) -> Result<Vec<u8>, String> {
            std::fs::read(&self.0).map_err(|error| error.to_string())
        }
    }
    let drop = |window: &mut TestWindow, path: std::path::PathBuf| {
        window.harness.input_mut().dropped_files.push(std::sync::Arc::new(Dropped(path)));
        window.harness.run_steps(2);
        window.harness.input_mut().dropped_files.clear();
    };
    let folder = tempfile::tempdir().unwrap();
    let junk = folder.path().join("junk.tif");
    std::fs::write(&junk, "no terrain").unwrap();
    drop(&mut window, junk.clone());
    drop(&mut window, folder.path().join("own.xyz"));
    window.until("the junk is refused", |studio| studio.snapshot().problem.is_some());
    window.harness.run_steps(2);
    assert!(window.studio().snapshot().problem.as_ref().unwrap().contains("junk.tif"));
    // The last good recipe keeps running, the panels show it again, and it is not saved over the junk file.
    assert!(window.studio().recipe_text().contains("seed = 8"));
    window.harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    window.harness.run_steps(2);
    assert_eq!(std::fs::read_to_string(&junk).unwrap(), "no terrain");
    let saved = std::fs::read_to_string(window.folder.path().join("other.toml")).unwrap();
    assert_eq!(saved, window.studio().recipe_text());
    // A valid recipe opens.
    let third = folder.path().join("third.toml");
    std::fs::write(&third, HILLS.replace("seed = 3", "seed = 12")).unwrap();
    drop(&mut window, third);
    window.until("the third world runs", |studio| studio.snapshot().recipe.contains("seed = 12"));
}

#[test]
fn layers_and_frames_are_exported() {
    let mut window = TestWindow::new(false);
    window.painted();
    let path = |window: &TestWindow, name: &str| window.folder.path().join(name);
    window.click("Export");
    window.click("All layers …");
    let world = path(&window, "world");
    window.until("the layers are written", |_| world.join(thalweg_export::world_folder::REPORT).exists());
    let written = thalweg_export::world_folder::read_recipe(&world).unwrap().unwrap();
    assert_eq!(written.hash(), Recipe::parse(&window.studio().recipe_text()).unwrap().hash());
    let unity = path(&window, "unity");
    window.click("Export");
    window.click("For a program");
    window.click("Unity (a Terrain)");
    window.harness.run_steps(4);
    window.click("Choose a folder …");
    window.until("what Unity takes is written", |_| unity.join(thalweg_export::export::MANIFEST).exists());
    window.until("it is said", |studio| studio.current_message().is_some_and(|said| said.contains("under import")));
    window.click("Close");
    window.click("Export");
    window.click("Picture, 2× as large");
    let large = window.pictures();
    let size = |name: &std::path::Path| {
        Picture::decode_png(std::io::BufReader::new(std::fs::File::open(name).unwrap())).unwrap().size()
    };
    let double = size(&path(&window, &large[0]));
    window.key(Key::S);
    let plain = window.pictures().into_iter().find(|name| !large.contains(name)).unwrap();
    assert_eq!(double, size(&path(&window, &plain)).map(|n| 2 * n));
    window.click("Export");
    window.click("Turntable …");
    let third = path(&window, "turntable/frame-00002.png");
    window.until("three frames of the turntable are written", |_| third.exists());
    assert_eq!(size(&third), [720, 1280]);
    window.click("Export");
    window.click("Time-lapse …");
    window.studio().send_order(WorkerOrder::Play(true));
    let second = path(&window, "time-lapse/frame-00001.png");
    window.until("frames of the time-lapse are written", |studio| studio.snapshot().done && second.exists());
    window.click("Export");
    window.click("Copy command line");
    assert!(
        window.studio().current_message().unwrap().contains("thalweg build small"),
        "{:?}",
        window.studio().current_message()
    );
}

#[test]
fn the_options_of_an_export_come_from_their_declaration() {
    let mut window = TestWindow::new(false);
    window.painted();
    let open = |window: &mut TestWindow, items: &[&str], operation: &str| {
        window.click("Export");
        items.iter().for_each(|item| window.click(item));
        window.harness.run_steps(4);
        let operation = thalweg_export::find_operation(operation).unwrap();
        for option in options_for(&*operation, WorkForm::Folder) {
            window.harness.get_by_label(&title_from_name(option.name));
            assert!(window.harness.query_all_by_label(option.name).count() >= 1, "{} has no control", option.name);
        }
    };
    open(&mut window, &["For a program", "Unity (a Terrain)"], "export");
    // A text that is no value of its option is refused in place, and nothing can be written with it.
    let typed = |window: &mut TestWindow, text: &str| {
        window.harness.get_by_label("tiles").focus();
        window.harness.run_steps(2);
        window.harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
        window.harness.step();
        window.harness.event(Event::Paste(text.to_string()));
        window.harness.run_steps(3);
    };
    typed(&mut window, "2y");
    window.harness.get_by_label_contains("tiles = 2y: must be");
    window.click("Choose a folder …");
    window.harness.run_steps(10);
    let unity = window.folder.path().join("unity");
    assert!(!unity.exists());
    typed(&mut window, "2");
    assert!(window.harness.query_by_label_contains("must be").is_none());
    window.click("Choose a folder …");
    window.until("the tiles are written", |_| unity.join(thalweg_export::export::MANIFEST).exists());
    let names = std::fs::read_dir(&unity).unwrap().map(|file| file.unwrap().file_name().to_string_lossy().into_owned());
    assert!(names.collect::<Vec<_>>().iter().any(|name| name.starts_with("small_1_1")));
    window.click("Close");
    open(&mut window, &["Drainage …"], "drain");
    window.click("Choose a folder …");
    let report = window.folder.path().join("drainage").join(thalweg_export::survey::REPORT);
    window.until("the drainage is written", |_| report.exists());
}

#[test]
fn the_probe_shows_each_quantity_with_its_title_and_unit() {
    let mut window = TestWindow::new(false);
    window.painted();
    window.studio().send_order(WorkerOrder::Play(true));
    window.until("the run is done and shown", |studio| studio.snapshot().done && studio.is_settled());
    window.harness.hover_at(MIDDLE);
    window.harness.run_steps(4);
    let text = window.studio().describe_ground().unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let number = |line: &str, title: &str, unit: &str| {
        line.strip_prefix(title).and_then(|line| line.strip_suffix(unit)).is_some_and(|x| x.parse::<f32>().is_ok())
    };
    assert!(number(lines[0], "Elevation ", " m") && number(lines[1], "Slope ", "°"), "{text}");
    let basin = lines.iter().find_map(|line| line.strip_prefix("Basin ")).unwrap();
    assert!(basin.chars().all(|letter| letter.is_ascii_digit()), "{text}");
    // The stage that runs and the state of the run are named by titles as well.
    for order in [WorkerOrder::Play(false), WorkerOrder::Restart, WorkerOrder::Step(1)] {
        window.studio().send_order(order);
    }
    window.until("one step is taken", |studio| studio.snapshot().all[0] == 1 && !studio.snapshot().playing);
    window.harness.run_steps(2);
    window.harness.get_by_label_contains("Rivers · rivers · step 0 of");
}

#[test]
fn a_long_drag_is_one_step_back() {
    let mut window = TestWindow::new(false);
    window.painted();
    window.click("Tools");
    window.harness.run_steps(10);
    window.click("raise");
    let (plain, marks) = (window.studio().recipe_text(), window.studio().snapshot().marks.len());
    window.button(MIDDLE, PointerButton::Primary, true, Modifiers::NONE);
    for part in 1..=4 {
        std::thread::sleep(Duration::from_millis(500));
        window.harness.event(Event::PointerMoved(MIDDLE + vec2(30.0 * part as f32, 0.0)));
        window.harness.run_steps(3);
    }
    window.button(MIDDLE + vec2(120.0, 0.0), PointerButton::Primary, false, Modifiers::NONE);
    let count = |studio: &Studio| studio.recipe_text().matches("tool = \"raise\"").count();
    window.until("the parts of the drag are in the recipe", |studio| count(studio) > 2);
    assert_eq!(window.studio().snapshot().marks.len(), marks + 1);
    window.harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    window.until("the drag is undone", |studio| studio.recipe_text() == plain);
}

#[test]
fn space_rains_after_the_end_where_a_margin_was_cut_away() {
    let text = HILLS.replace("seed = 3", "seed = 3\nmargin = 0.1");
    let mut window = TestWindow::with_recipe(&text, true);
    window.until("the run is done", |studio| studio.snapshot().done);
    window.key(Key::Space);
    window.until("the shower has fallen", |studio| studio.snapshot().done && studio.snapshot().particles == 30_000);
    window.until("it is shown", Studio::is_settled);
    let snapshot = window.studio().snapshot();
    assert!(snapshot.falling.is_some() && snapshot.terrain.grid.size == [64, 64]);
    let run = run_recipe(Recipe::parse(&snapshot.recipe).unwrap());
    assert!(run.terrain().ground == snapshot.terrain.ground, "the build differs from what the window showed");
}

#[test]
fn the_page_lists_the_habits() {
    let page = include_str!("../../../../docs/studio.md");
    for (keys, does) in thalweg_studio::ui::habits::HABITS {
        assert!(page.contains(&format!("| {keys} | {does} |")), "docs/studio.md lacks: {keys}, {does}");
    }
}
