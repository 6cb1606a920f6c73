//! Buffers whose content changes with every frame: they are reused, and grow as needed.

use bytemuck::{NoUninit, Pod, Zeroable};

use crate::view::look::{ViewDot, ViewLine};

/// A dot as the shader reads it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(super) struct DotMark {
    place: [f32; 4],
    colour: [f32; 4],
}

/// A line as the shader reads it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(super) struct LineMark {
    from: [f32; 4],
    to: [f32; 4],
    colour: [f32; 4],
}

impl From<&ViewDot> for DotMark {
    fn from(dot: &ViewDot) -> Self {
        let [x, y, z] = dot.at;
        Self { place: [x, y, z, dot.pixels], colour: dot.colour }
    }
}

impl From<&ViewLine> for LineMark {
    fn from(line: &ViewLine) -> Self {
        let ([a, b, c], [x, y, z]) = (line.from, line.to);
        Self { from: [a, b, c, line.pixels], to: [x, y, z, 0.0], colour: line.colour }
    }
}

/// A buffer of items of one type.
pub(super) struct GrowingBuffer {
    label: &'static str,
    usage: wgpu::BufferUsages,
    buffer: Option<wgpu::Buffer>,
}

impl GrowingBuffer {
    pub fn new(label: &'static str, usage: wgpu::BufferUsages) -> Self {
        Self { label, usage: usage | wgpu::BufferUsages::COPY_DST, buffer: None }
    }

    /// Fills the buffer with these items, as many as the device can hold, and returns it; `None` if there are none.
    pub fn fill<T: NoUninit>(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        things: &[T],
    ) -> Option<&wgpu::Buffer> {
        // A frame with too many items draws the first ones instead of failing on the device.
        let most = device.limits().max_buffer_size as usize / size_of::<T>().max(1);
        let bytes: &[u8] = bytemuck::cast_slice(&things[..things.len().min(most)]);
        if bytes.is_empty() {
            return None;
        }
        // A multiple of 256 bytes satisfies the alignment of every copy.
        let need = (bytes.len() as u64).next_multiple_of(256);
        if self.buffer.as_ref().is_none_or(|buffer| buffer.size() < need) {
            self.buffer = Some(device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(self.label),
                // Allocate half as much again, so that slowly growing content is not reallocated every time.
                size: (need + need / 2).next_multiple_of(256).min(device.limits().max_buffer_size / 256 * 256),
                usage: self.usage,
                mapped_at_creation: false,
            }));
        }
        let buffer = self.buffer.as_ref()?;
        queue.write_buffer(buffer, 0, bytes);
        Some(buffer)
    }
}
