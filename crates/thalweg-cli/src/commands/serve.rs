//! `serve`: serves a world's tiles over HTTP, computing them on request.

use std::process::ExitCode;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use serde_json::json;
use thalweg_core::{Error, Result};
use thalweg_export::world_files::{TileResponse, WebTiles};
use thalweg_sim::world::World;
use tiny_http::{Header, Method, Request, Response, Server};

use crate::args::WorldArgs;
use crate::args::values::whole_number;
use crate::console::Reporter;
use crate::signals::{install_signal_handler, is_stop_requested};
use crate::verb::{Group, Verb};
use crate::worlds::load_world_recipe;

/// The arguments of `serve`.
#[derive(Args)]
pub struct ServeArgs {
    #[command(flatten)]
    world: WorldArgs,
    /// Seed of the world [allowed: a whole number of 0 or more] [default: that of the recipe].
    #[arg(long, value_name = "N", value_parser = whole_number::<u64>(0..=u64::MAX))]
    seed: Option<u64>,
    /// The IP address to listen on. With 127.0.0.1, only programs on this machine can connect; with 0.0.0.0, other
    /// machines can, too.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    bind: String,
    /// The port to listen on; 0 selects a free one [allowed: 0 to 65535].
    #[arg(long, value_name = "N", default_value = "8080", value_parser = whole_number::<u16>(0..=65_535))]
    port: u16,
}

impl Verb for ServeArgs {
    const NAME: &'static str = "serve";
    const GROUP: Group = Group::Large;
    const ABOUT: &'static str =
        "Serves a world's tiles over HTTP to web maps and game engines, and computes them on request";

    fn run(&self, voice: Reporter) -> Result<ExitCode> {
        let mut recipe = load_world_recipe(&self.world.world)?;
        recipe.seed = self.seed.unwrap_or(recipe.seed);
        let tiles = WebTiles::new(World::open(&recipe)?, &recipe.name);
        let address = format!("{}:{}", self.bind, self.port);
        let refused = |error: Box<dyn std::error::Error + Send + Sync>| {
            Error::invalid_value(
                "--bind",
                &address,
                format!("an address and a port on which the server can listen ({error})"),
            )
        };
        let server = Server::http(&address).map_err(refused)?;
        let at = server.server_addr().to_string();
        let [first, last] = tiles.zooms();
        install_signal_handler(voice);
        voice.print_line(&format!(
            "http://{at}/tiles.json, http://{at}/{{z}}/{{x}}/{{y}}.png (terrain-RGB) and .f32, zoom {first} to {last}; \
             the place on Earth is invented; Ctrl-C stops the server"
        ));
        voice.print_event(&json!({"event": "serving", "address": at, "minzoom": first, "maxzoom": last}));
        let gate = Gate::default();
        let work = || {
            while !is_stop_requested() {
                match server.recv_timeout(POLL_INTERVAL) {
                    Ok(Some(request)) => answer_request(request, &tiles, &gate, &at),
                    Ok(None) => {}
                    Err(error) => voice.warn(&format!("a request could not be received: {error}")),
                }
            }
        };
        std::thread::scope(|scope| (0..REQUEST_THREADS).for_each(|_| drop(scope.spawn(work))));
        Ok(ExitCode::SUCCESS)
    }
}

/// The number of tiles that are computed at once; each uses all threads.
const MAX_CONCURRENT_TILES: usize = 2;

/// The number of requests that are handled at once, so that requests waiting for a tile do not delay the others.
const REQUEST_THREADS: usize = 8;

/// How long a thread waits before it checks for Ctrl-C.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// A semaphore that lets [`MAX_CONCURRENT_TILES`] threads in at once.
#[derive(Default)]
struct Gate {
    inside: Mutex<usize>,
    left: Condvar,
}

impl Gate {
    fn run_limited<R>(&self, work: impl FnOnce() -> R) -> R {
        // Wait for a free place and take it; the lock is released while the tile is computed.
        let lock = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let mut inside = self
            .left
            .wait_while(lock, |inside| *inside >= MAX_CONCURRENT_TILES)
            .unwrap_or_else(PoisonError::into_inner);
        *inside += 1;
        drop(inside);
        let done = work();
        *self.inside.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.left.notify_one();
        done
    }
}

/// Answers a request. A client that has disconnected is not an error.
fn answer_request(request: Request, tiles: &WebTiles, gate: &Gate, at: &str) {
    let path = request.url().to_string();
    let host = request.headers().iter().find(|header| header.field.equiv("Host")).map(|header| header.value.as_str());
    // The header comes from the client and becomes part of the answer, so only characters of host names and ports are
    // accepted.
    let is_plain = |host: &&str| host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".:-[]".contains(&byte));
    let base = format!("http://{}", host.filter(is_plain).unwrap_or(at));
    let answer = match request.method() {
        Method::Get | Method::Head if WebTiles::is_tile(&path) => gate.run_limited(|| tiles.respond(&path, &base)),
        Method::Get | Method::Head => tiles.respond(&path, &base),
        _ => TileResponse { status: 405, mime: "text/plain; charset=utf-8", body: b"use GET or HEAD\n".to_vec() },
    };
    let heads = [("Content-Type", answer.mime), ("Access-Control-Allow-Origin", "*")];
    let mut response = Response::from_data(answer.body).with_status_code(answer.status);
    for header in heads.iter().filter_map(|(name, value)| Header::from_bytes(*name, *value).ok()) {
        response.add_header(header);
    }
    let _ = request.respond(response);
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    use super::*;

    /// As many threads as handle requests want to enter at once: two are let in, and others take their places when
    /// they leave.
    #[test]
    fn two_tiles_are_made_at_once() {
        let (gate, start) = (Gate::default(), Barrier::new(REQUEST_THREADS));
        let (inside, most, done) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let make = || {
            most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            // Wait until another thread is inside too; then leave time for a third one that would be let in by
            // mistake.
            let begun = Instant::now();
            while most.load(Ordering::SeqCst) < 2 && begun.elapsed() < Duration::from_secs(20) {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(30));
            inside.fetch_sub(1, Ordering::SeqCst);
            done.fetch_add(1, Ordering::SeqCst);
        };
        let ask = || {
            start.wait();
            (0..3).for_each(|_| gate.run_limited(make));
        };
        std::thread::scope(|scope| (0..REQUEST_THREADS).for_each(|_| drop(scope.spawn(ask))));
        assert_eq!((most.into_inner(), done.into_inner(), *gate.inside.lock().unwrap()), (2, 3 * REQUEST_THREADS, 0));
    }
}
