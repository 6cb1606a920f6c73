//! `serve`: serves a world's tiles over HTTP, computing them on request.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use thalweg_core::{Error, Result};
use thalweg_export::world_files::{Answer, WebTiles};
use tiny_http::{Header, Method, Request, Response, Server};

use crate::args::Serve;
use crate::console::Voice;
use crate::signals::{is_asked, listen};
use crate::worlds::opened;

/// The number of tiles that are computed at once; each uses all threads.
const AT_ONCE: usize = 2;

/// The number of requests that are handled at once, so that requests waiting for a tile do not delay the others.
const TAKEN: usize = 8;

/// How long a thread waits before it checks for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(200);

/// Serves a world until Ctrl-C.
///
/// # Errors
/// Returns an error if there is no such world, or if the server cannot listen on the address.
pub fn serve(args: &Serve, voice: Voice) -> Result<()> {
    let (recipe, world) = opened(&args.world)?;
    let tiles = WebTiles::new(world, &recipe.name);
    let address = format!("{}:{}", args.bind, args.port);
    let refused = |error: Box<dyn std::error::Error + Send + Sync>| {
        Error::value("--bind", &address, format!("an address and a port to listen on ({error})"))
    };
    let server = Server::http(&address).map_err(refused)?;
    let at = server.server_addr().to_string();
    let [first, last] = tiles.zooms();
    listen(voice);
    voice.say(&format!(
        "http://{at}/tiles.json, http://{at}/{{z}}/{{x}}/{{y}}.png (terrain-RGB) and .f32, zoom {first} to {last}; the \
         place on Earth is invented; Ctrl-C stops the server"
    ));
    voice.event(&json!({"event": "serving", "address": at, "minzoom": first, "maxzoom": last}));
    let gate = Gate::default();
    let work = || {
        while !is_asked() {
            match server.recv_timeout(PATIENCE) {
                Ok(Some(request)) => reply(request, &tiles, &gate, &at),
                Ok(None) => {}
                Err(error) => voice.warn(&format!("a request was lost: {error}")),
            }
        }
    };
    std::thread::scope(|scope| (0..TAKEN).for_each(|_| drop(scope.spawn(work))));
    Ok(())
}

/// A semaphore that lets [`AT_ONCE`] threads in at once.
#[derive(Default)]
struct Gate {
    inside: Mutex<usize>,
    left: Condvar,
}

impl Gate {
    fn pass<R>(&self, work: impl FnOnce() -> R) -> R {
        let lock = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let mut inside =
            self.left.wait_while(lock, |inside| *inside >= AT_ONCE).unwrap_or_else(PoisonError::into_inner);
        *inside += 1;
        drop(inside);
        let done = work();
        *self.inside.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.left.notify_one();
        done
    }
}

/// Answers a request. A client that has disconnected is not an error.
fn reply(request: Request, tiles: &WebTiles, gate: &Gate, at: &str) {
    let path = request.url().to_string();
    let host = request.headers().iter().find(|header| header.field.equiv("Host")).map(|header| header.value.as_str());
    let is_plain = |host: &&str| host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".:-[]".contains(&byte));
    let base = format!("http://{}", host.filter(is_plain).unwrap_or(at));
    let answer = match request.method() {
        Method::Get | Method::Head if WebTiles::is_tile(&path) => gate.pass(|| tiles.answer(&path, &base)),
        Method::Get | Method::Head => tiles.answer(&path, &base),
        _ => Answer { status: 405, mime: "text/plain; charset=utf-8", body: b"use GET or HEAD\n".to_vec() },
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
        let (gate, start) = (Gate::default(), Barrier::new(TAKEN));
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
            (0..3).for_each(|_| gate.pass(make));
        };
        std::thread::scope(|scope| (0..TAKEN).for_each(|_| drop(scope.spawn(ask))));
        assert_eq!((most.into_inner(), done.into_inner(), *gate.inside.lock().unwrap()), (2, 3 * TAKEN, 0));
    }
}
