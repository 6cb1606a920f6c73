//! Keyboard input.

use eframe::egui::{self, Key, Modifiers, Ui};
use thalweg_sim::recipe::strokes::Stroke;

use crate::app::state::Studio;
use crate::platform::Ask;
use crate::session::Order;

/// The number of droplets that the Space key drops.
const SHOWER: u32 = 10_000;
/// How long these droplets are shown, in seconds.
const RAIN: f64 = 5.0;

impl Studio {
    pub(crate) fn keyboard(&mut self, ui: &Ui) {
        let ctx = ui.ctx().clone();
        let pressed = |modifiers: Modifiers, key: Key| ctx.input_mut(|input| input.consume_key(modifiers, key));
        let typing = ctx.egui_wants_keyboard_input();
        if !typing {
            let redo = pressed(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z) || pressed(Modifiers::COMMAND, Key::Y);
            if (redo || pressed(Modifiers::COMMAND, Key::Z)) && self.walk(!redo) {
                self.send();
            }
        }
        if let Some(back) = self.later.take_if(|_| self.sent <= self.snapshot.heard)
            && self.walk(back)
        {
            self.send();
        }
        if pressed(Modifiers::COMMAND, Key::S) {
            self.save();
        }
        if pressed(Modifiers::COMMAND, Key::O) {
            self.ask(Ask::Open);
        }
        if pressed(Modifiers::COMMAND, Key::Q) {
            ctx.send_viewport_cmd(egui::ViewportCommand::Close);
        }
        if pressed(Modifiers::NONE, Key::F1) {
            self.keys = !self.keys;
        }
        self.held_before = !typing && ctx.input(|input| input.key_down(Key::B));
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
            self.worker.tell(Order::Play(!self.snapshot.playing));
        }
        if struck(Key::M) {
            self.map = !self.map;
        }
        if struck(Key::Home) {
            self.frame_land();
        }
        if struck(Key::Space) {
            self.shower = self.now + RAIN;
            self.hand(Order::Stroke(Stroke::shower(SHOWER)));
        }
        // While the right button is down, S flies backwards.
        if !self.is_flying(ui) && struck(Key::S) {
            self.save_picture(1);
        }
        if pressed(Modifiers::NONE, Key::OpenBracket) {
            self.tools.widen(1.0 / 1.25);
        }
        if pressed(Modifiers::NONE, Key::CloseBracket) {
            self.tools.widen(1.25);
        }
    }
}
