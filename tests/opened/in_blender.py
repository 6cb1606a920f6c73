"""Run by Blender: does what the paragraph of `export --for blender` says, and writes the vertices' places.

`blender --background --python in_blender.py -- EXPORT OUT.npy`
"""

import json
import pathlib
import sys

import bpy
import numpy as np

folder, out = map(pathlib.Path, sys.argv[sys.argv.index("--") + 1 :])
manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
said, numbers = manifest["import"], manifest["numbers"]

bpy.ops.object.select_all(action="SELECT")
bpy.ops.object.delete()
bpy.ops.mesh.primitive_grid_add(x_subdivisions=int(numbers["quads_x"]), y_subdivisions=int(numbers["quads_y"]), size=1, calc_uvs=True)
ground = bpy.context.object
ground.scale = (numbers["tile_width"], numbers["tile_length"], 1)
ground.location.z = numbers["z"]
for corner in ground.data.uv_layers.active.data:
    u, v = corner.uv
    corner.uv = (u * numbers["uv_scale_x"] + numbers["uv_shift_x"], v * numbers["uv_scale_y"] + numbers["uv_shift_y"])
texture = bpy.data.textures.new("heights", "IMAGE")
texture.image = bpy.data.images.load(str(folder / numbers["file"]))
texture.image.colorspace_settings.name = "Non-Color"
texture.use_interpolation = texture.use_mipmap = False
texture.extension = "EXTEND"
# Each setting is made only because the paragraph says so.
texture.use_clamp = "Colors without Clamp" not in said
assert "Non-Color" in said and "without Interpolation and MIP Map" in said and "Mapping Extend" in said
displace = ground.modifiers.new("Displace", "DISPLACE")
displace.texture, displace.texture_coords, displace.direction = texture, "UV", "Z"
displace.strength, displace.mid_level = numbers["strength"], 0

seen = ground.evaluated_get(bpy.context.evaluated_depsgraph_get())
np.save(out, np.array([tuple(ground.matrix_world @ vertex.co) for vertex in seen.to_mesh().vertices]))
