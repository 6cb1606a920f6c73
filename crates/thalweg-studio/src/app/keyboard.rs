//! Keyboard input.

use eframe::egui::{self, Key, Modifiers, Ui};
use thalweg_sim::recipe::strokes::Stroke;

use crate::app::state::Studio;
use crate::platform::DialogQuestion;
use crate::session::WorkerOrder;

/// The number of droplets that the Space key drops.
const SHOWER_DROPLETS: u32 = 10_000;
/// How long these droplets are shown, in seconds.
const SHOWER_DURATION_S: f64 = 5.0;

impl Studio {
    pub(crate) fn apply_keyboard_input(&mut self, ui: &Ui) {
        let ctx = ui.ctx().clone();
        let pressed = |modifiers: Modifiers, key: Key| ctx.input_mut(|input| input.consume_key(modifiers, key));
        // In a text field, Ctrl+Z belongs to the text and letters are input.
        let typing = ctx.egui_wants_keyboard_input();
        if !typing {
            let redo = pressed(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z) || pressed(Modifiers::COMMAND, Key::Y);
            if (redo || pressed(Modifiers::COMMAND, Key::Z)) && self.step_history(!redo) {
                self.send_recipe();
            }
        }
        // A step that was postponed is taken as soon as the worker has carried out all strokes.
        if let Some(back) = self.exchange.postponed.take_if(|_| self.exchange.sent <= self.snapshot.heard)
            && self.step_history(back)
        {
            self.send_recipe();
        }
        if pressed(Modifiers::COMMAND, Key::S) {
            self.save_or_ask();
        }
        if pressed(Modifiers::COMMAND, Key::O) {
            self.ask_question(DialogQuestion::Open);
        }
        if pressed(Modifiers::COMMAND, Key::Q) {
            ctx.send_viewport_cmd(egui::ViewportCommand::Close);
        }
        if pressed(Modifiers::NONE, Key::F1) {
            self.panels.keys = !self.panels.keys;
        }
        self.viewport.held_before = !typing && ctx.input(|input| input.key_down(Key::B));
        if typing {
            return;
        }
        // A key that is held down acts only once.
        let struck = |key: Key| {
            let is_it = |event: &egui::Event| {
                matches!(event, egui::Event::Key { key: k, pressed: true, repeat: false, modifiers, .. }
                    if *k == key && modifiers.is_none())
            };
            ctx.input(|input| input.events.iter().any(is_it))
        };
        self.pen_keys(struck);
        if struck(Key::P) {
            self.worker.send_order(WorkerOrder::Play(!self.snapshot.playing));
        }
        if struck(Key::M) {
            self.cameras.shows_map = !self.cameras.shows_map;
        }
        if struck(Key::Home) {
            self.frame_land();
        }
        if struck(Key::Space) {
            self.viewport.shower = self.now + SHOWER_DURATION_S;
            self.send_tool_order(WorkerOrder::Stroke(Stroke::shower(SHOWER_DROPLETS)));
        }
        // While the right button is down, S flies backwards.
        if !self.is_flying(ui) && struck(Key::S) {
            self.save_picture(1);
        }
        if pressed(Modifiers::NONE, Key::OpenBracket) {
            self.tools.scale_radius(1.0 / 1.25);
        }
        if pressed(Modifiers::NONE, Key::CloseBracket) {
            self.tools.scale_radius(1.25);
        }
    }
}
