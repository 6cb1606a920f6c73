//! [`Gpu`]: the device that draws, without a window.

use wgpu::DeviceType;
#[cfg(not(target_arch = "wasm32"))]
use wgpu::{Backend, Backends};

/// An adapter, its device and its queue.
#[derive(Debug, Clone)]
pub struct Gpu {
    /// The adapter: a GPU, or software that does as one.
    pub adapter: wgpu::Adapter,
    /// Its device.
    pub device: wgpu::Device,
    /// The device's queue.
    pub queue: wgpu::Queue,
}

/// What to do where nothing can draw.
pub const NO_ADAPTER: &str = "no GPU and no software Vulkan was found; install a driver (on Debian and Ubuntu the package \
     mesa-vulkan-drivers draws without a GPU too), or use `thalweg view`, which draws on the CPU";

#[cfg(not(target_arch = "wasm32"))]
impl Gpu {
    /// The best adapter of this machine: a GPU before software, and OpenGL where there is no Vulkan, Metal or DirectX 12.
    /// The environment's `WGPU_BACKEND` narrows the choice.
    ///
    /// # Errors
    /// When there is none, in words that say what to install; or when it gives no device.
    pub fn headless() -> Result<Self, String> {
        let found = match Backends::from_env() {
            Some(backends) => best(backends),
            // OpenGL is not even asked before: without a display, drivers of it speak where nobody listens.
            None => best(Backends::PRIMARY).or_else(|| best(Backends::GL)),
        };
        Self::of(found.ok_or(NO_ADAPTER)?)
    }

    /// A device of this adapter, with as much of it as [`limits`] asks for.
    ///
    /// # Errors
    /// When the adapter gives none.
    pub fn of(adapter: wgpu::Adapter) -> Result<Self, String> {
        let wanted = wgpu::DeviceDescriptor {
            label: Some("thalweg"),
            required_limits: limits(&adapter),
            ..wgpu::DeviceDescriptor::default()
        };
        let name = adapter.get_info().name;
        let (device, queue) = pollster::block_on(adapter.request_device(&wanted))
            .map_err(|error| format!("{name}: cannot be used ({error}); {NO_ADAPTER}"))?;
        Ok(Self { adapter, device, queue })
    }
}

/// What a device must be able to do: little enough for OpenGL, with textures as large as the adapter has them.
pub fn limits(adapter: &wgpu::Adapter) -> wgpu::Limits {
    let most = adapter.limits();
    wgpu::Limits {
        max_buffer_size: most.max_buffer_size,
        ..wgpu::Limits::downlevel_webgl2_defaults().using_resolution(most)
    }
}

/// Whether the device is software, to which every pixel is dear.
pub fn is_software(device: &wgpu::Device) -> bool {
    device.adapter_info().device_type == DeviceType::Cpu
}

/// The best adapter that these ways to a GPU lead to.
#[cfg(not(target_arch = "wasm32"))]
fn best(backends: Backends) -> Option<wgpu::Adapter> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends,
        // Not those of a debug build: validation layers are for work on the renderer.
        flags: wgpu::InstanceFlags::empty().with_env(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let adapters = pollster::block_on(instance.enumerate_adapters(backends));
    adapters.into_iter().min_by_key(|adapter| {
        let info = adapter.get_info();
        (kind(&info), info.backend == Backend::Gl)
    })
}

/// The best of these adapters for a window: as without one, but for software OpenGL before software Vulkan, whose
/// driver (lavapipe of Mesa 22) gives back no memory of the pictures that it drew.
#[cfg(not(target_arch = "wasm32"))]
pub fn for_window<'a>(adapters: impl Iterator<Item = &'a wgpu::Adapter>) -> Option<&'a wgpu::Adapter> {
    adapters.min_by_key(|adapter| {
        let info = adapter.get_info();
        (kind(&info), (info.backend == Backend::Gl) != (info.device_type == DeviceType::Cpu))
    })
}

/// The less, the better it draws.
#[cfg(not(target_arch = "wasm32"))]
fn kind(info: &wgpu::AdapterInfo) -> u8 {
    match info.device_type {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        DeviceType::Other => 3,
        DeviceType::Cpu => 4,
    }
}
