//! [`YEAR`], and [`Clock`]: how long something takes, where that can be known.
//!
//! WebAssembly without a host's interface has no clock, and asking for the time there ends the program. Seconds are only ever
//! reported: nothing is decided by them.

use std::time::Instant;

/// Seconds in a year of 365.25 days.
pub const YEAR: f64 = 31_557_600.0;

/// A clock that was started.
pub struct Clock(Option<Instant>);

impl Clock {
    /// Starts it.
    pub fn start() -> Self {
        let is_there = cfg!(not(all(target_family = "wasm", target_os = "unknown")));
        Self(is_there.then(Instant::now))
    }

    /// Seconds since; 0 where there is no clock.
    pub fn seconds(&self) -> f64 {
        self.0.map_or(0.0, |start| start.elapsed().as_secs_f64())
    }
}
