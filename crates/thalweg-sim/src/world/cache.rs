//! [`WindowCache`]: windows that are kept while there is room.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thalweg_core::CellRect;
use thalweg_refine::LocalWindow;

/// A cache for the windows of any number of worlds, limited in bytes; the least recently used ones are dropped first.
///
/// A window's key consists of its world's fingerprint ([`World::identity`](super::World::identity)), its level and
/// its cells. After a recipe is changed, none of its old windows are found.
#[derive(Debug)]
pub struct WindowCache {
    most: u64,
    shelf: Mutex<CacheEntries>,
}

/// The key of a window: the world, the level, and the rectangle.
type WindowKey = (u64, u32, CellRect<i64>);

#[derive(Debug, Default)]
struct CacheEntries {
    windows: BTreeMap<WindowKey, (Arc<LocalWindow>, u64)>,
    /// The keys in the order of their last use.
    asked: BTreeMap<u64, WindowKey>,
    now: u64,
    bytes: u64,
}

/// Bytes of a window in addition to those of its cells.
const WINDOW_OVERHEAD_BYTES: u64 = 400;

impl WindowCache {
    /// Creates a cache of this many bytes. With 0 nothing is kept, with [`u64::MAX`] everything.
    pub fn new(most: u64) -> Arc<Self> {
        Arc::new(Self { most, shelf: Mutex::default() })
    }

    /// Returns the greatest number of bytes that it may take.
    pub fn byte_limit(&self) -> u64 {
        self.most
    }

    /// Returns the number of bytes that it takes now.
    pub fn bytes(&self) -> u64 {
        self.lock_entries().bytes
    }

    /// Returns the number of windows that it contains now.
    pub fn len(&self) -> usize {
        self.lock_entries().windows.len()
    }

    /// Returns true if it contains no windows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock_entries(&self) -> MutexGuard<'_, CacheEntries> {
        // Nothing panics while the lock is held.
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a window if it is in the cache, and marks it as the most recently used one.
    pub(super) fn get(&self, world: u64, level: u32, rect: CellRect<i64>) -> Option<Arc<LocalWindow>> {
        let place = (world, level, rect);
        let shelf = &mut *self.lock_entries();
        let (window, asked) = shelf.windows.get_mut(&place)?;
        // The time of the last use is a unique number, so it serves as the key of the second map.
        shelf.asked.remove(asked);
        shelf.now += 1;
        *asked = shelf.now;
        shelf.asked.insert(shelf.now, place);
        Some(Arc::clone(window))
    }

    /// Adds a window, unless it is larger than the whole cache.
    pub(super) fn insert_window(&self, world: u64, window: &Arc<LocalWindow>) {
        let bytes = window_byte_count(window);
        // A larger window would displace all others and then itself.
        if bytes > self.most {
            return;
        }
        let place = (world, window.level, window.rect);
        let shelf = &mut *self.lock_entries();
        shelf.now += 1;
        if let Some((_, asked)) = shelf.windows.insert(place, (Arc::clone(window), shelf.now)) {
            shelf.asked.remove(&asked);
            shelf.bytes -= bytes;
        }
        shelf.asked.insert(shelf.now, place);
        shelf.bytes += bytes;
        // The smallest time belongs to the least recently used window.
        while shelf.bytes > self.most {
            let Some((_, oldest)) = shelf.asked.pop_first() else { break };
            let gone = shelf.windows.remove(&oldest).map_or(0, |(window, _)| self::window_byte_count(&window));
            shelf.bytes -= gone;
        }
    }
}

fn window_byte_count(window: &LocalWindow) -> u64 {
    WINDOW_OVERHEAD_BYTES + window.bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::{Field, Height};
    use thalweg_flow::OUT;

    fn window(row: i64) -> Arc<LocalWindow> {
        let rect = CellRect::new([row, 0], [10, 10]);
        let size = rect.size();
        Arc::new(LocalWindow {
            level: 1,
            rect,
            ground: Field::new(size, Height::ZERO),
            receivers: Field::new(size, OUT),
            area: Field::new(size, 1.0),
            lakes: None,
            loose: None,
        })
    }

    #[test]
    fn what_was_asked_for_longest_ago_goes_first_and_the_bound_holds() {
        let each = window_byte_count(&window(0));
        let cache = WindowCache::new(2 * each);
        let is_kept = |row: i64| cache.get(7, 1, window(row).rect).is_some();
        cache.insert_window(7, &window(0));
        cache.insert_window(7, &window(1));
        assert!(is_kept(0) && cache.bytes() == 2 * each);
        cache.insert_window(7, &window(2));
        assert!(is_kept(0) && is_kept(2) && cache.len() == 2 && cache.bytes() == 2 * each);
        assert!(cache.get(7, 1, window(1).rect).is_none() && cache.get(8, 1, window(0).rect).is_none());
        cache.insert_window(7, &window(2));
        assert_eq!(cache.bytes(), 2 * each);
        for most in [0, 1, each - 1] {
            let cache = WindowCache::new(most);
            cache.insert_window(7, &window(0));
            assert!(cache.is_empty() && cache.bytes() == 0);
        }
    }
}
