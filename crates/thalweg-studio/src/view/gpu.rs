//! [`Gpu`]: a device for drawing without a window.

use wgpu::DeviceType;
#[cfg(not(target_arch = "wasm32"))]
use wgpu::{Backend, Backends};

/// An adapter, its device and its queue.
#[derive(Debug, Clone)]
pub struct Gpu {
    /// The adapter: a GPU, or a software implementation of one.
    pub adapter: wgpu::Adapter,
    /// The adapter's device.
    pub device: wgpu::Device,
    /// The device's queue.
    pub queue: wgpu::Queue,
}

/// The error message if there is nothing that can draw, with advice.
pub const NO_ADAPTER: &str = "no GPU and no software Vulkan was found; install a driver (on Debian and Ubuntu the package \
     mesa-vulkan-drivers draws without a GPU too), or use `thalweg render perspective`, which draws on the CPU";

#[cfg(not(target_arch = "wasm32"))]
impl Gpu {
    /// Opens the best adapter of this machine: hardware before software, and OpenGL only if there is no Vulkan, Metal
    /// or DirectX 12. The environment variable `WGPU_BACKEND` restricts the choice.
    ///
    /// # Errors
    /// Returns an error that says what to install if there is no adapter, or an error if it provides no device.
    pub fn open_headless() -> Result<Self, String> {
        let found = match Backends::from_env() {
            Some(backends) => find_best_adapter(backends),
            // OpenGL is tried only as a last resort, because without a display some OpenGL drivers print messages.
            None => find_best_adapter(Backends::PRIMARY).or_else(|| find_best_adapter(Backends::GL)),
        };
        Self::from_adapter(found.ok_or(NO_ADAPTER)?)
    }

    /// Opens a device of this adapter with the limits of [`choose_device_limits`].
    ///
    /// # Errors
    /// Returns an error if the adapter provides no device.
    pub fn from_adapter(adapter: wgpu::Adapter) -> Result<Self, String> {
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("thalweg"),
            required_limits: choose_device_limits(&adapter),
            ..wgpu::DeviceDescriptor::default()
        };
        let name = adapter.get_info().name;
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).map_err(|error| {
            format!("{name} cannot be used ({error}); use `thalweg render perspective`, which draws on the CPU")
        })?;
        Ok(Self { adapter, device, queue })
    }
}

/// The limits that a device must meet: low enough for OpenGL, with textures as large as the adapter supports.
pub fn choose_device_limits(adapter: &wgpu::Adapter) -> wgpu::Limits {
    let most = adapter.limits();
    wgpu::Limits {
        // Plants, and large pictures that are read back, can need larger buffers than the default limit.
        max_buffer_size: most.max_buffer_size,
        ..wgpu::Limits::downlevel_webgl2_defaults().using_resolution(most)
    }
}

/// Returns true if the device is a software renderer, for which every pixel is expensive.
pub fn is_software(device: &wgpu::Device) -> bool {
    device.adapter_info().device_type == DeviceType::Cpu
}

/// Returns the best adapter of these backends.
#[cfg(not(target_arch = "wasm32"))]
fn find_best_adapter(backends: Backends) -> Option<wgpu::Adapter> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends,
        // Validation layers are off even in debug builds: they are meant for work on the renderer.
        flags: wgpu::InstanceFlags::empty().with_env(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let adapters = pollster::block_on(instance.enumerate_adapters(backends));
    adapters.into_iter().min_by_key(|adapter| {
        let info = adapter.get_info();
        // Among two adapters of the same type, the one that does not use OpenGL is preferred.
        (rank_adapter(&info), info.backend == Backend::Gl)
    })
}

/// Returns the best of these adapters for a window. The order is as without a window, except that software OpenGL is
/// preferred over software Vulkan, whose driver (lavapipe of Mesa 22) does not release the memory of the pictures it
/// has drawn.
#[cfg(not(target_arch = "wasm32"))]
pub fn for_window<'a>(adapters: impl Iterator<Item = &'a wgpu::Adapter>) -> Option<&'a wgpu::Adapter> {
    adapters.min_by_key(|adapter| {
        let info = adapter.get_info();
        (rank_adapter(&info), (info.backend == Backend::Gl) != (info.device_type == DeviceType::Cpu))
    })
}

/// Ranks the type of an adapter; lower is better.
#[cfg(not(target_arch = "wasm32"))]
fn rank_adapter(info: &wgpu::AdapterInfo) -> u8 {
    match info.device_type {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        DeviceType::Other => 3,
        DeviceType::Cpu => 4,
    }
}
