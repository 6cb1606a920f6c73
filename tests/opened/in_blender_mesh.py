"""Run by Blender: opens a GLB, and says what stands in the scene.

`blender --background --python in_blender_mesh.py -- MESH.glb OUT.json`
"""

import json
import sys

import numpy

# Importers of Blender 3 call it by a name that NumPy has given up.
numpy.bool = bool

import bpy  # noqa: E402
from mathutils import Vector  # noqa: E402

mesh, out = sys.argv[sys.argv.index("--") + 1 :]
bpy.ops.object.select_all(action="SELECT")
bpy.ops.object.delete()
bpy.ops.import_scene.gltf(filepath=mesh)
said = {}
for thing in bpy.context.scene.objects:
    if thing.type == "MESH":
        corners = [thing.matrix_world @ Vector(corner) for corner in thing.bound_box]
        said[thing.name] = {
            "low": [min(corner[k] for corner in corners) for k in range(3)],
            "high": [max(corner[k] for corner in corners) for k in range(3)],
            "materials": [
                [material.name, list(material.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value)]
                for material in thing.data.materials
            ],
        }
        if thing.name == "terrain":
            # The highest vertex, as a mark of where north is.
            said[thing.name]["top"] = list(max((thing.matrix_world @ vertex.co for vertex in thing.data.vertices), key=lambda at: at.z))
with open(out, "w", encoding="utf-8") as file:
    json.dump(said, file)
