//! [`StoredLevel`]: a level 0 that is solved once and kept in a file, for all processes that work on the same plan.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use thalweg_core::terrain::LakeRaster;
use thalweg_core::{CellRect, Error, Field, Height, Progress, Result};
use thalweg_io::write_atomically;
use thalweg_refine::{Frame, LocalWindow};
use thalweg_sim::world::{CoarseLevel, CoarseWater};
use xxhash_rust::xxh3::xxh3_64;

/// A level 0 with the file in which it is kept.
pub(crate) struct StoredLevel<C> {
    solved: C,
    path: PathBuf,
    whole: OnceLock<LocalWindow>,
}

impl<C: CoarseLevel> StoredLevel<C> {
    pub fn new(solved: C, path: PathBuf) -> Self {
        Self { solved, path, whole: OnceLock::new() }
    }

    /// Returns the whole level: read from the file, or solved and written to it. Two processes that solve it at the
    /// same time write the same bytes.
    fn read_or_solve(&self, progress: &mut dyn Progress) -> Result<&LocalWindow> {
        if let Some(whole) = self.whole.get() {
            return Ok(whole);
        }
        let world = self.solved.frame().world_rect(0);
        // A file that is missing, damaged or of another world is replaced.
        let read =
            std::fs::read(&self.path).ok().and_then(|bytes| deserialize_window(&bytes, self.solved.identity(), world));
        let whole = match read {
            Some(whole) => whole,
            None => {
                let whole = self.solved.window(world, progress)?;
                let bytes = serialize_window(&whole, self.solved.identity());
                write_atomically(&self.path, |file| file.write_all(&bytes).map_err(Error::io(&self.path, "write")))?;
                whole
            }
        };
        // Two threads may both arrive here; the second one uses the result of the first, which is the same.
        Ok(self.whole.get_or_init(|| whole))
    }
}

impl<C: CoarseLevel> CoarseLevel for StoredLevel<C> {
    fn frame(&self) -> &Frame {
        self.solved.frame()
    }

    fn window(&self, rect: CellRect<i64>, progress: &mut dyn Progress) -> Result<LocalWindow> {
        self.read_or_solve(progress)?.crop(rect)
    }

    /// The water is not in the file, because no job writes rivers; level 0 is solved for whoever requests it.
    fn water(&self, rect: CellRect<i64>, progress: &mut dyn Progress) -> Result<Option<CoarseWater>> {
        self.solved.water(rect, progress)
    }

    fn bytes(&self) -> u64 {
        self.whole.get().map_or(0, LocalWindow::bytes)
    }

    fn identity(&self) -> u64 {
        self.solved.identity()
    }
}

/// Serializes a window: the identity of its world, a byte of flags, its fields one after another, and a hash of all
/// that.
fn serialize_window(window: &LocalWindow, identity: u64) -> Vec<u8> {
    let mut bytes = identity.to_le_bytes().to_vec();
    bytes.push(u8::from(window.lakes.is_some()) | u8::from(window.loose.is_some()) << 1);
    bytes.extend(window.ground.as_slice().iter().flat_map(|height| height.0.to_le_bytes()));
    bytes.extend(window.receivers.as_slice());
    bytes.extend(window.area.as_slice().iter().flat_map(|area| area.to_le_bytes()));
    if let Some(lakes) = &window.lakes {
        bytes.extend(lakes.id.as_slice().iter().flat_map(|id| id.to_le_bytes()));
        bytes.extend(lakes.level.as_slice().iter().flat_map(|level| level.0.to_le_bytes()));
    }
    if let Some(loose) = &window.loose {
        bytes.extend(loose.as_slice().iter().flat_map(|thick| thick.0.to_le_bytes()));
    }
    bytes.extend(xxh3_64(&bytes).to_le_bytes());
    bytes
}

/// Reads the window back, if the bytes are intact and belong to this world.
fn deserialize_window(bytes: &[u8], identity: u64, rect: CellRect<i64>) -> Option<LocalWindow> {
    let (body, hash) = bytes.split_last_chunk::<8>()?;
    let (own, body) = body.split_first_chunk::<8>()?;
    let (has, mut rest) = body.split_first()?;
    let [has_lakes, has_loose] = [1, 2].map(|bit| has & bit != 0);
    let n = rect.size()[0] * rect.size()[1];
    // A cell takes 4 bytes for its height, 1 for its receiver and 4 for its area, 8 for the number and level of its
    // lake, and 4 for the thickness of sediment.
    let each = 9 + if has_lakes { 8 } else { 0 } + if has_loose { 4 } else { 0 };
    if u64::from_le_bytes(*own) != identity || rest.len() != each * n {
        return None;
    }
    if xxh3_64(&bytes[..bytes.len() - 8]) != u64::from_le_bytes(*hash) {
        return None;
    }
    let mut take = |bytes: usize| {
        let (part, after) = rest.split_at(bytes);
        rest = after;
        part
    };
    let size = rect.size();
    let words = |part: &[u8]| part.as_chunks::<4>().0.to_vec();
    let heights = |part: &[u8]| words(part).into_iter().map(|word| Height(i32::from_le_bytes(word))).collect();
    let ground = heights(take(4 * n));
    let receivers = take(n).to_vec();
    let area = words(take(4 * n)).into_iter().map(f32::from_le_bytes).collect();
    let lakes = match has_lakes {
        true => Some(LakeRaster {
            id: Field::from_vec(size, words(take(4 * n)).into_iter().map(u32::from_le_bytes).collect()).ok()?,
            level: Field::from_vec(size, heights(take(4 * n))).ok()?,
        }),
        false => None,
    };
    let loose = match has_loose {
        true => Some(Field::from_vec(size, heights(take(4 * n))).ok()?),
        false => None,
    };
    Some(LocalWindow {
        level: 0,
        rect,
        ground: Field::from_vec(size, ground).ok()?,
        receivers: Field::from_vec(size, receivers).ok()?,
        area: Field::from_vec(size, area).ok()?,
        lakes,
        loose,
    })
}
