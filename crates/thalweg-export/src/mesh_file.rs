//! [`write_mesh`]: a terrain as the file of a mesh, with its water and trees.

use std::path::{Path, PathBuf};

use thalweg_core::base::names::format_path;
use thalweg_core::declare::operation::Operation as _;
use thalweg_core::{Error, Result, Size, Terrain, choice, operation};
use thalweg_io::meshes::{MESH_ENDINGS, MESH_FILES, MeshFile, draft_mesh};
use thalweg_io::output;
use thalweg_models::process::forest::Tree;
use thalweg_render::pictures::colour::to_srgb;
use thalweg_render::pictures::picture::Picture;
use thalweg_render::pictures::shade::{SCREEN, ShadeOptions, draw_map};
use thalweg_render::products::chunks::{ChunkOptions, ChunkedMesh, MAX_LEVELS};
use thalweg_render::products::glb::{GlbOptions, MeshPrecision};
use thalweg_render::products::gltf_trees::GltfTrees;
use thalweg_render::products::mesh::MeshOptions;
use thalweg_render::products::mesh_scene::MeshScene;
use thalweg_render::products::textures::{AlbedoView, GroundCover};
use thalweg_render::products::water_mesh::build_water_meshes;

choice! {
    /// A texture of the ground of a mesh.
    pub enum MeshTexture {
        /// The shaded map.
        Map = "map",
        /// The colours of the ground cover without light.
        Albedo = "albedo",
    }
}

operation! {
    /// Writes a terrain as a mesh with normals and tangents, with its water and trees.
    ///
    /// The extension of the file determines the format: .glb and .obj, in which y points up, or .ply and .stl, in which
    /// z points up.
    pub struct MeshFileOptions, "mesh" {
        /// Scales heights so that the highest ground is at this elevation. By default, heights are not scaled.
        max_height: Option<f64> = None, within 1e-6..=1e6, unit "m";
        /// Applies a texture to the ground (.glb, .obj, .ply). By default, the ground has no texture.
        texture: Option<MeshTexture> = None, within .., unit "1";
        /// Maximum number of trees in the file; if there are more, they are thinned evenly.
        max_trees: usize = 20_000, within 1..=200_000, unit "1";
        /// Makes each tree a node of its own, with three shapes per kind; by default, all trees of a kind are instances
        /// of one node.
        tree_nodes: bool = false, within .., unit "1";
        /// Leaves out the water and the trees.
        bare: bool = false, within .., unit "1";
        /// Divides the ground into this number of chunks in each direction, which meet without gaps (.glb, .obj, .ply).
        /// By default, it is one mesh.
        chunks: Option<Size> = None, within .., unit "1";
        /// Number of levels of detail of each chunk, including the finest; more than one need a .glb file.
        lods: usize = 1, within 1..=MAX_LEVELS, unit "1";
        /// Tolerance of the simplification of the mesh: points are left out as long as the ground moves up or down by
        /// no more than this. By default, no points are left out.
        error: Option<f64> = None, within 0.0..=1e6, unit "m";
        /// Tolerance, like `error`, of the second level of detail; it doubles from each level to the next. By default,
        /// it is 1/32 of a cell.
        lod_error: Option<f64> = None, within 0.0..=1e6, unit "m", needs lods;
        /// Adds skirts along the sides of chunks, so that the sides need not keep all points to meet without gaps.
        skirts: bool = false, within .., unit "1";
        /// Maximum error of positions that are stored in 16 bits, or `float` for 32 bits. By default, it is 0.005 m,
        /// and positions have 32 bits if 16 bits are not enough.
        precision: MeshPrecision = MeshPrecision::Usual, within 1e-6..=512.0, unit "m";
    }
}

/// The result of [`write_mesh`].
#[derive(Debug, Clone, PartialEq)]
pub struct MeshFileReport {
    /// The files, the mesh first.
    pub files: Vec<PathBuf>,
    /// The maximum error in metres of each level of detail of the ground, the finest first.
    pub errors: Vec<f64>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Returns the format of a mesh's file and the files that it becomes.
///
/// # Errors
/// Returns an error if the extension is unknown, if the format cannot store what the options request, or if an option
/// is out of range.
pub fn plan_mesh_files(path: &Path, options: &MeshFileOptions) -> Result<(MeshFile, Vec<PathBuf>)> {
    options.check_ranges()?;
    let ending = output::check_ending(path, &MESH_ENDINGS)?;
    let kind = MeshFile::from_extension(ending).unwrap_or(MESH_FILES[0]);
    if options.texture.is_some() && !kind.colours {
        return Err(Error::unsupported(format_path(path), "cannot store a texture; write .glb, .obj or .ply"));
    }
    Ok((kind, kind.output_files(path, options.texture.is_some())))
}

/// Writes a mesh of a terrain. `cover` computes the ground cover, which is needed for the texture of that name alone.
/// `inputs` are files that the mesh must not replace.
///
/// # Errors
/// Returns the errors of [`plan_mesh_files`] and of `cover`; an error if the files cannot be written or are inputs.
///
/// # Examples
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_export::mesh_file::{MeshFileOptions, write_mesh};
/// use thalweg_models::rocks::Rock;
/// use thalweg_render::products::textures::{GroundCover, TextureRules};
///
/// let terrain = Terrain::new(Grid::new([8, 8], 10.0)?);
/// let cover = || GroundCover::from_terrain(&terrain, &TextureRules::default(), Rock::usual());
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("land.glb");
/// let report = write_mesh(&path, &terrain, &[], cover, &MeshFileOptions::default(), &[])?;
/// assert!(report.files == [path.clone()] && path.is_file());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn write_mesh(
    path: &Path,
    terrain: &Terrain,
    trees: &[Tree],
    cover: impl FnOnce() -> Result<GroundCover>,
    options: &MeshFileOptions,
    inputs: &[PathBuf],
) -> Result<MeshFileReport> {
    let (kind, files) = plan_mesh_files(path, options)?;
    let chunks = ChunkOptions {
        mesh: MeshOptions { up: kind.up, max_height: options.max_height },
        count: options.chunks.unwrap_or([1, 1]),
        levels: options.lods,
        error: options.error,
        step: options.lod_error,
        skirts: options.skirts,
    };
    let bodies = if options.bare || !kind.parts { Vec::new() } else { build_water_meshes(terrain, &chunks.mesh)? };
    let scene = MeshScene::from_chunks(ChunkedMesh::from_terrain(terrain, &chunks)?).with_water(bodies);
    let texture = match options.texture {
        None => None,
        Some(MeshTexture::Map) => {
            Some(draw_map(terrain, &ShadeOptions { max_size: Some(SCREEN), ..ShadeOptions::default() })?)
        }
        Some(MeshTexture::Albedo) => {
            let (colours, _) = cover()?.compute_albedo(AlbedoView::Ground);
            Some(Picture { rgb: colours.map(|colour| to_srgb(*colour)) }.fit_within(SCREEN))
        }
    };
    let (stand, warnings) = match options.bare || !kind.nodes || trees.is_empty() {
        true => (None, Vec::new()),
        false => place_trees(trees, terrain, &chunks.mesh, options)?,
    };
    let scene = scene.with_texture(texture).with_trees(stand);
    let errors = scene.parts[0].errors.clone();
    let glb = GlbOptions { precision: options.precision, tree_nodes: options.tree_nodes };
    draft_mesh(path, &scene, &glb)?.commit(inputs)?;
    Ok(MeshFileReport { files, errors, warnings })
}

/// Places the trees on the mesh; returns a warning if some were left out.
fn place_trees(
    trees: &[Tree],
    terrain: &Terrain,
    mesh: &MeshOptions,
    options: &MeshFileOptions,
) -> Result<(Option<GltfTrees>, Vec<String>)> {
    // Trees as separate nodes may have several shapes; instances of one node share a single shape.
    let make = if options.tree_nodes { GltfTrees::from_trees } else { GltfTrees::with_one_shape_per_kind };
    let stand = make(trees, terrain, mesh, options.max_trees)?;
    let (kept, all) = (stand.trees.len(), stand.trees.len() + stand.left_out);
    let warning =
        format!("{kept} of {all} trees are in the mesh, thinned evenly; the option max_trees sets the maximum");
    let warnings = if stand.left_out > 0 { vec![warning] } else { Vec::new() };
    Ok((Some(stand), warnings))
}
