//! Flags of fine cells: what each is to the flow paths.

/// River cell.
pub(super) const RIVER: u8 = 1;
/// Sea cell.
pub(super) const SEA: u8 = 2;
/// Lake cell; it is also [`SEA`]. Its elevation in the plane is the lake's level.
pub(super) const LAKE: u8 = 8;
/// Cell of coarser land that the adjacent lake covers.
pub(super) const FLOODED: u8 = 16;
/// Cell where a river enters a lake.
pub(super) const MOUTH: u8 = 64;
/// Cell of a large river: neighbouring cells are kept at least one unit above it.
pub(super) const GUARDED: u8 = 32;
/// A hill's node, or a cell of the rim over which water may leave: it is not raised above its block's node.
pub(super) const FREE: u8 = 4;
