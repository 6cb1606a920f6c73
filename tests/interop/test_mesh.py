"""`thalweg mesh`, read back by the Khronos glTF validator, by trimesh, and by a decoder of ours written from the specifications
(Khronos Group, glTF 2.0; KHR_mesh_quantization, EXT_mesh_gpu_instancing, MSFT_lod). It knows nothing of thalweg but the files.
"""

import csv
import json
import re
import struct
import subprocess

import numpy as np
import pytest
import rasterio
import trimesh
from helpers import ROOT, long_or, refused, thalweg, write_raster
from PIL import Image
from rasterio.transform import from_origin

VALIDATOR = ROOT / "target/npm/node_modules/gltf-validator"
CELL = 5.0


def issues(*paths):
    """What the validator says of files: errors, warnings, and all messages."""
    assert VALIDATOR.is_dir(), "there is no gltf-validator: `cargo xtask test` installs it (npm install --prefix target/npm gltf-validator)"
    script = """
        const v = require(process.argv[1]); const fs = require('fs');
        Promise.all(process.argv.slice(2).map(f => v.validateBytes(new Uint8Array(fs.readFileSync(f)), {maxIssues: 0})))
            .then(all => console.log(JSON.stringify(all.map(r => r.issues))));
    """
    done = subprocess.run(["node", "-e", script, str(VALIDATOR), *map(str, paths)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


class Glb:
    """A glTF file, decoded."""

    def __init__(self, path):
        data = path.read_bytes()
        magic, version, length = struct.unpack_from("<4sII", data)
        assert (magic, version, length) == (b"glTF", 2, len(data))
        size, kind = struct.unpack_from("<I4s", data, 12)
        assert kind == b"JSON"
        self.about = json.loads(data[20 : 20 + size])
        self.body = data[28 + size :]

    def read(self, number):
        accessor = self.about["accessors"][number]
        view = self.about["bufferViews"][accessor["bufferView"]]
        code = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}[accessor["componentType"]]
        width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}[accessor["type"]]
        each = np.dtype(code).itemsize
        stride = view.get("byteStride", each * width)
        start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
        values = np.ndarray((accessor["count"], width), code, self.body, start, (stride, each)).copy()
        if accessor.get("normalized"):
            # As the specification decodes them.
            values = np.maximum(values.astype(float) / np.iinfo(values.dtype).max, -1.0)
        return values

    def node(self, name):
        return next(node for node in self.about["nodes"] if node["name"] == name)

    def mesh(self, node):
        """World positions, and attributes as they stand. Only uniform scales are written, so normals stay normals."""
        (part,) = self.about["meshes"][node["mesh"]]["primitives"]
        read = {name: self.read(number) for name, number in part["attributes"].items()}
        scale, shift = node.get("scale", [1, 1, 1]), node.get("translation", [0, 0, 0])
        assert len(set(scale)) == 1
        exact = read["POSITION"].astype(float) * scale + shift
        read["POSITION"] = (read["POSITION"].astype(np.float32) * np.float32(scale) + np.float32(shift)).astype(float)
        # A reader that works in 32 bits gets the same places as one that works in 64.
        assert (read["POSITION"] == exact).all()
        return read, self.read(part["indices"]).reshape(-1, 3).astype(int), self.about["materials"][part["material"]]

    def ground(self):
        """Chunks: place among them to their levels."""
        chunks = {}
        for node in self.about["nodes"]:
            found = re.fullmatch(r"terrain(?:_x(\d+)_y(\d+))?(?:_LOD(\d+))?", node.get("name", ""))
            if found:
                x, y, level = (int(text or 0) for text in found.groups())
                chunks.setdefault((x, y), {})[level] = node
        return {place: [levels[k] for k in sorted(levels)] for place, levels in chunks.items()}


def write(path, height, nodata=None):
    write_raster(path, height.astype("float32"), from_origin(500_000, 4_000_000, CELL, CELL), "EPSG:32611", nodata=nodata)


def land(rows, cols, seed, holes=False):
    """Smooth ground with some noise, heights with a step of the fixed point of ours (1/65536 m) so that none is rounded."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:rows, :cols]
    height = 40 * np.sin(x / 9 + seed) * np.cos(y / 7) + 3 * y - 2 * x + rng.random((rows, cols)) * 2 + 50
    height = np.round(height * 1024) / 1024
    if holes:
        height[rows // 3 : rows // 2, cols // 4 : cols // 2] = np.nan
    return height


def solid(height):
    known = ~np.isnan(height)
    return known[:-1, :-1] & known[:-1, 1:] & known[1:, :-1] & known[1:, 1:]


def places(positions, shape):
    """Rows and columns in cells from the middle of the north-western cell."""
    return positions[:, 2] / CELL + (shape[0] - 1) / 2, positions[:, 0] / CELL + (shape[1] - 1) / 2


def surface(positions, triangles, shape):
    """Heights at points and, between them, at middles of quads: 2·rows − 1 by 2·columns − 1, NaN where there is no ground."""
    y, x = (2 * at for at in places(positions, shape))
    heights = np.full((2 * shape[0] - 1, 2 * shape[1] - 1), np.nan)
    for a, b, c in triangles:
        area = (y[b] - y[a]) * (x[c] - x[a]) - (y[c] - y[a]) * (x[b] - x[a])
        if abs(area) < 1e-9:
            continue  # a skirt
        low = [int(round(v[[a, b, c]].min())) for v in (y, x)]
        high = [int(round(v[[a, b, c]].max())) for v in (y, x)]
        i, j = np.mgrid[low[0] : high[0] + 1, low[1] : high[1] + 1]
        u = ((i - y[a]) * (x[c] - x[a]) - (y[c] - y[a]) * (j - x[a])) / area
        v = ((y[b] - y[a]) * (j - x[a]) - (i - y[a]) * (x[b] - x[a])) / area
        inside = (u > -1e-6) & (v > -1e-6) & (u + v < 1 + 1e-6)
        h = positions[:, 1]
        heights[i[inside], j[inside]] = (h[a] + u * (h[b] - h[a]) + v * (h[c] - h[a]))[inside]
    return heights


def finest(height):
    """The same of the ground itself: the sides of quads, and the diagonal from south-west to north-east."""
    rows, cols = height.shape
    whole = np.full((2 * rows - 1, 2 * cols - 1), np.nan)
    known = solid(height)
    for i, j in zip(*np.nonzero(known)):
        nw, ne, sw, se = height[i, j], height[i, j + 1], height[i + 1, j], height[i + 1, j + 1]
        whole[2 * i : 2 * i + 3, 2 * j : 2 * j + 3] = [[nw, (nw + ne) / 2, ne], [(nw + sw) / 2, (sw + ne) / 2, (ne + se) / 2], [sw, (sw + se) / 2, se]]
    return whole


def lands():
    sizes = [(2, 2), (33, 33), (50, 71), (64, 40)]
    return [(rows, cols, seed, seed % 2 == 1 and rows > 30) for seed, (rows, cols) in enumerate(sizes * long_or(1, 4))]


@pytest.mark.parametrize("precision", ["", "--precision=float", "--precision=0.2"])
def test_the_ground_is_where_it_was(tmp_path, precision):
    for rows, cols, seed, holes in lands():
        height = land(rows, cols, seed, holes)
        write(tmp_path / "in.tif", height, np.nan)
        thalweg("mesh", tmp_path / "in.tif", "-o", tmp_path / "a.glb", *precision.split())
        glb = Glb(tmp_path / "a.glb")
        node = glb.node("terrain")
        read, triangles, _ = glb.mesh(node)
        step = node.get("scale", [0])[0]
        assert step <= {"": 0.01, "--precision=float": 0, "--precision=0.2": 0.4}[precision] and (step > 0) == (precision != "--precision=float")
        # 32-bit floats of a few hundred metres step by 0.03 mm.
        error = step / 2 + 3e-5
        y, x = places(read["POSITION"], height.shape)
        i, j = np.round(y).astype(int), np.round(x).astype(int)
        assert np.abs(y - i).max() * CELL <= error and np.abs(x - j).max() * CELL <= error
        assert np.abs(read["POSITION"][:, 1] - height[i, j]).max() <= error
        # All ground, and no more.
        assert len(triangles) == 2 * solid(height).sum()
        seen = surface(read["POSITION"], triangles, height.shape)
        want = finest(height)
        assert (np.isnan(seen) == np.isnan(want)).all() and np.nanmax(np.abs(seen - want)) <= error
        # Normals: of triangles they are the mean, to within what central differences and noise make of it.
        if rows > 2:
            face = np.cross(*(read["POSITION"][triangles[:, k]] - read["POSITION"][triangles[:, 0]] for k in (1, 2)))
            assert (face[:, 1] > 0).all(), "faces look up"
            inner = ~np.isnan(height[1:-1, 1:-1]) & (sum(~np.isnan(height[a : rows - 2 + a, b : cols - 2 + b]) for a in range(3) for b in range(3)) == 9)
            east = (height[1:-1, 2:] - height[1:-1, :-2]) / (2 * CELL)
            south = (height[2:, 1:-1] - height[:-2, 1:-1]) / (2 * CELL)
            want = np.stack([-east, np.ones_like(east), -south], -1) / np.sqrt(1 + east**2 + south**2)[..., None]
            normals = np.full((rows, cols, 3), np.nan)
            normals[i, j] = read["NORMAL"]
            assert np.abs(normals[1:-1, 1:-1][inner] - want[inner]).max() < 1e-3
            assert np.abs(np.linalg.norm(read["NORMAL"], axis=1) - 1).max() < 1e-4
        uv = np.stack([(j + 0.5) / cols, (i + 0.5) / rows], -1)
        assert np.abs(read["TEXCOORD_0"] - uv).max() < 1e-5
        code = glb.about["accessors"][glb.about["meshes"][0]["primitives"][0]["indices"]]["componentType"]
        assert code == 5123, "16 bits do for so few"


def test_indices_have_32_bits_only_where_they_must(tmp_path):
    for side, code in [(255, 5123), (257, 5125)]:
        write(tmp_path / "in.tif", land(side, side, 0))
        thalweg("mesh", tmp_path / "in.tif", "-o", tmp_path / "a.glb")
        glb = Glb(tmp_path / "a.glb")
        accessor = glb.about["accessors"][glb.about["meshes"][0]["primitives"][0]["indices"]]
        assert accessor["componentType"] == code
        assert glb.mesh(glb.node("terrain"))[1].max() == side * side - 1


@pytest.mark.parametrize("words", ["", "--precision=float", "--error 0.5"])
def test_chunks_meet_to_the_bit_at_every_level_and_keep_their_error(tmp_path, words):
    for rows, cols, seed, holes in [case for case in lands() if case[0] > 2]:
        height = land(rows, cols, seed, holes)
        write(tmp_path / "in.tif", height, np.nan)
        thalweg("mesh", tmp_path / "in.tif", "-o", tmp_path / "a.glb", "--chunks", "3x2", "--lods", 4, *words.split())
        glb = Glb(tmp_path / "a.glb")
        chunks = glb.ground()
        assert len(chunks) == 6
        step = glb.about["nodes"][0].get("scale", [0])[0]
        want = finest(height)
        for level in range(4):
            seen = np.full(want.shape, np.nan)
            for nodes in chunks.values():
                read, triangles, _ = glb.mesh(nodes[level])
                part = surface(read["POSITION"], triangles, height.shape)
                seen[~np.isnan(part)] = part[~np.isnan(part)]
            error = chunks[0, 0][level]["extras"]["error_m"]
            assert (np.isnan(seen) == np.isnan(want)).all()
            assert np.nanmax(np.abs(seen - want)) <= error + step / 2 + 3e-5, (level, error)
        counts = [sum(len(glb.mesh(nodes[level])[1]) for nodes in chunks.values()) for level in range(4)]
        assert counts == sorted(counts, reverse=True)

        # Points beside a hole: ground may end there on one side of the line and not on the other.
        whole = np.pad(solid(height), 1, constant_values=True)
        frayed = ~(whole[:-1, :-1] & whole[:-1, 1:] & whole[1:, :-1] & whole[1:, 1:])

        def side(node, axis, at):
            """Points of a level on a line of constant x or z, with their normals; those beside a hole apart."""
            read = glb.mesh(node)[0]
            on = read["POSITION"][:, axis] == at
            i, j = (np.round(v).astype(int) for v in places(read["POSITION"][on], height.shape))
            of = [(*p, *n) for p, n in zip(read["POSITION"][on].tolist(), read["NORMAL"][on].tolist())]
            return {p for p, out in zip(of, frayed[i, j]) if not out}, set(of)

        met = 0
        for (x, y), nodes in chunks.items():
            for axis, other in [(0, (x + 1, y)), (2, (x, y + 1))]:
                if other in chunks:
                    at = glb.mesh(nodes[0])[0]["POSITION"][:, axis].max()
                    sides = [side(node, axis, at) for node in nodes + chunks[other]]
                    assert all(s[0] == sides[0][0] for s in sides) and len(sides[0][0]) > 1
                    assert all(s[1] == sides[0][1] for s in sides[:4]) and all(s[1] == sides[4][1] for s in sides[4:])
                    met += 1
        assert met == 7


def test_levels_are_what_readers_expect(tmp_path):
    write(tmp_path / "in.tif", land(65, 65, 0))
    thalweg("mesh", tmp_path / "in.tif", "-o", tmp_path / "a.glb", "--chunks", 2, "--lods", 3)
    glb = Glb(tmp_path / "a.glb")
    about = glb.about
    # The finest levels stand in the scene, and name the others: who does not know the extension sees them alone.
    roots = [about["nodes"][n] for n in about["scenes"][0]["nodes"]]
    assert sorted(node["name"] for node in roots) == [f"terrain_x{x}_y{y}_LOD0" for x in (0, 1) for y in (0, 1)]
    for node in roots:
        others = [about["nodes"][n]["name"] for n in node["extensions"]["MSFT_lod"]["ids"]]
        assert others == [node["name"].replace("LOD0", f"LOD{k}") for k in (1, 2)]
        coverage = node["extras"]["MSFT_screencoverage"]
        assert len(coverage) == 3 and coverage == sorted(coverage, reverse=True) and coverage[-1] == 0
    assert about["extensionsUsed"] == ["KHR_mesh_quantization", "MSFT_lod"] and about["extensionsRequired"] == ["KHR_mesh_quantization"]


def test_skirts_hide_what_opens_between_levels(tmp_path):
    height = land(65, 65, 3)
    write(tmp_path / "in.tif", height)
    words = ("mesh", tmp_path / "in.tif", "--chunks", 2, "--lods", 4, "--lod-error", 2)
    thalweg(*words, "-o", tmp_path / "a.glb", "--skirts")
    glb = Glb(tmp_path / "a.glb")
    chunks = glb.ground()

    def walls(node):
        """At points of the line x = 0: the heights where the wall ends above and below."""
        read = glb.mesh(node)[0]["POSITION"]
        on = read[read[:, 0] == 0]
        z = np.unique(on[:, 2])
        top = np.array([on[on[:, 2] == at, 1].max() for at in z])
        low = np.array([on[on[:, 2] == at, 1].min() for at in z])
        at = np.linspace(z[0], z[-1], 500)
        return np.interp(at, z, top), np.interp(at, z, low)

    opened = 0
    for y in (0, 1):
        for a in chunks[0, y]:
            for b in chunks[1, y]:
                (top_a, low_a), (top_b, low_b) = walls(a), walls(b)
                assert (low_a < top_b).all() and (low_b < top_a).all()
                opened = max(opened, np.abs(top_a - top_b).max())
    assert opened > 0.01, "levels differ, so that there is something to hide"
    thalweg(*words, "-o", tmp_path / "b.glb")
    kept = Glb(tmp_path / "b.glb")
    coarsest = [sum(len(of.mesh(nodes[3])[1]) for nodes in of.ground().values()) for of in (glb, kept)]
    assert coarsest[0] < coarsest[1], "free sides take fewer triangles, walls and all"


@pytest.fixture(scope="module")
def world(built_world):
    return built_world("forest", "--cells", long_or(128, 192))


@pytest.fixture(scope="module")
def lakes(built_world):
    return built_world("lakes", "--cells", long_or(128, 192))


def layer(folder, name):
    with rasterio.open(folder / f"{name}.tif") as file:
        return file.read(1).astype(float), file.transform.a


def test_water_lies_apart_from_the_ground(lakes, tmp_path):
    height, cell = layer(lakes, "height")
    pools, _ = layer(lakes, "pool")
    thalweg("mesh", lakes, "-o", tmp_path / "a.glb", "--precision", "float", "--sea-level", np.percentile(height, 1))
    glb = Glb(tmp_path / "a.glb")
    names = [node["name"] for node in glb.about["nodes"] if "mesh" in node]
    assert {"terrain", "sea", "lakes", "rivers"} <= set(names)
    for name in ("sea", "lakes", "rivers"):
        read, triangles, material = glb.mesh(glb.node(name))
        assert material["name"] == "water" and material["alphaMode"] == "BLEND"
        colour = material["pbrMetallicRoughness"]
        assert colour["baseColorFactor"][2] > 3 * colour["baseColorFactor"][0] and colour["roughnessFactor"] < 0.2
        assert (read["NORMAL"] == [0, 1, 0]).all()
        corners = read["POSITION"][triangles]
        face = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        # Where a ribbon bends sharply its inner side may fold; sheets never do.
        assert (face[:, 1] >= -1e-6).mean() > (0.97 if name == "rivers" else 0.9999)
    assert glb.mesh(glb.node("terrain"))[2]["name"] == "ground"

    def at(positions):
        rows, cols = height.shape
        return positions[:, 2] / cell + (rows - 1) / 2, positions[:, 0] / cell + (cols - 1) / 2

    sea = glb.mesh(glb.node("sea"))[0]["POSITION"]
    assert np.ptp(sea[:, 1]) == 0 and abs(sea[0, 1] - np.percentile(height, 1)) < 1e-3
    # Lakes: every point lies on the level of a pool beside it.
    sheets = glb.mesh(glb.node("lakes"))[0]["POSITION"]
    i, j = (np.round(v).astype(int) for v in at(sheets))
    level = np.where(pools > 0, height + pools, np.nan)
    padded = np.pad(level, 1, constant_values=np.nan)
    beside = np.stack([padded[1 + a : 1 + a + height.shape[0], 1 + b : 1 + b + height.shape[1]] for a in (-1, 0, 1) for b in (-1, 0, 1)])
    # Two files of 32-bit floats are added, and surfaces within 4 mm are one lake.
    assert np.nanmin(np.abs(beside[:, i, j] - sheets[:, 1]), axis=0).max() < 0.01
    # Rivers: left and right are level; metres downstream grow as the line runs; water does not rise.
    read, triangles, _ = glb.mesh(glb.node("rivers"))
    points, uv = read["POSITION"].reshape(-1, 2, 3), read["TEXCOORD_0"].reshape(-1, 2, 2)
    assert (points[:, 0, 1] == points[:, 1, 1]).all() and (uv[:, :, 0] == [0, 1]).all() and (uv[:, 0, 1] == uv[:, 1, 1]).all()
    joined = np.zeros(len(points) - 1, bool)
    joined[triangles.reshape(-1, 2, 3)[:, 0, 0] // 2] = True
    along, fall = np.diff(uv[:, 0, 1])[joined], np.diff(points[:, 0, 1])[joined]
    assert (along > 0).all() and (fall <= 1e-4).all()
    # Half of the way between sides is near the line; where only one side is cut it is not on it. In all, lengths agree.
    middle = points.mean(axis=1)[:, [0, 2]]
    steps = np.hypot(*np.diff(middle, axis=0).T)[joined]
    assert abs(steps.sum() / along.sum() - 1) < 0.1
    # They show, and most lie near the ground: few points lie under it as it is drawn, and a quarter at most more than two metres above it.
    y, x = at(read["POSITION"])
    i, j = np.clip(y.astype(int), 0, height.shape[0] - 2), np.clip(x.astype(int), 0, height.shape[1] - 2)
    a, b = y - i, x - j
    nw, ne, sw, se = height[i, j], height[i, j + 1], height[i + 1, j], height[i + 1, j + 1]
    drawn = np.where(a + b <= 1, nw + b * (ne - nw) + a * (sw - nw), se + (1 - b) * (sw - se) + (1 - a) * (ne - se))
    over = read["POSITION"][:, 1] - drawn
    # Where banks are rough, a ribbon's rim reaches a little into them: they stand over the water there.
    assert (over >= -1e-3).mean() > 0.85 and (over < 2.0).mean() > 0.75, ((over >= -1e-3).mean(), (over < 2.0).mean())
    # Nothing of it in a bare mesh, or in that of the heights alone.
    thalweg("mesh", lakes, "-o", tmp_path / "b.glb", "--bare")
    thalweg("mesh", lakes / "height.tif", "-o", tmp_path / "c.glb")
    for name in ("b", "c"):
        assert [node["name"] for node in Glb(tmp_path / f"{name}.glb").about["nodes"]] == ["terrain"]


def test_trees_are_one_node_to_a_kind(world, tmp_path):
    with open(world / "trees.csv", encoding="utf-8") as file:
        trees = list(csv.DictReader(file))[:: long_or(20, 3)]
    with open(tmp_path / "few.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, trees[0])
        writer.writeheader()
        writer.writerows(trees)
    thalweg("mesh", world, "-o", tmp_path / "a.glb", "--max-trees", 200000, "--trees", tmp_path / "few.csv")
    glb = Glb(tmp_path / "a.glb")
    group = glb.node("trees")
    nodes = [glb.about["nodes"][n] for n in group["children"]]
    assert {node["name"] for node in nodes} <= {tree["kind"] for tree in trees} and len(nodes) == len({node["name"] for node in nodes})
    _, cell = layer(world, "height")
    height, _ = layer(world, "height")
    half = [n * cell / 2 for n in height.shape]
    inner = [tree for tree in trees if abs(float(tree["x"]) - half[1]) < half[1] - cell / 2 and abs(-float(tree["y"]) - half[0]) < half[0] - cell / 2]
    total = 0
    for node in nodes:
        attributes = {name: glb.read(n) for name, n in node["extensions"]["EXT_mesh_gpu_instancing"]["attributes"].items()}
        of = [tree for tree in inner if tree["kind"] == node["name"]]
        want = np.array([[float(t["x"]) - half[1], float(t["z"]), -float(t["y"]) - half[0]] for t in of])
        # Files have a centimetre of each; the ground under a tree is bilinear there and of triangles here.
        assert len(of) == len(attributes["TRANSLATION"])
        assert np.abs(attributes["TRANSLATION"][:, [0, 2]] - want[:, [0, 2]]).max() < cell / 500
        assert np.median(np.abs(attributes["TRANSLATION"][:, 1] - want[:, 1])) < 0.3
        sizes = np.array([[float(t["crown_m"]), float(t["height_m"])] for t in of])
        assert np.abs(attributes["SCALE"][:, :2] - sizes).max() < 0.006 and (attributes["SCALE"][:, 0] == attributes["SCALE"][:, 2]).all()
        assert np.abs(np.linalg.norm(attributes["ROTATION"], axis=1) - 1).max() < 1e-6
        total += len(of)
    assert total == len(inner) > 100
    thalweg("mesh", world, "-o", tmp_path / "b.glb", "--tree-nodes", "--max-trees", 50)
    nodes = Glb(tmp_path / "b.glb")
    assert len(nodes.node("trees")["children"]) == 50 and "EXT_mesh_gpu_instancing" not in nodes.about.get("extensionsUsed", [])
    # A reader of others' makes as many bodies of it as there are nodes.
    scene = trimesh.load(tmp_path / "b.glb", force="scene")
    assert len(scene.graph.nodes_geometry) == 50 + len([n for n in nodes.about["nodes"] if n.get("name") in ("terrain", "sea", "lakes", "rivers")])


def test_the_validator_finds_no_fault(world, lakes, tmp_path):
    write(tmp_path / "holes.tif", land(50, 71, 1, True), np.nan)
    write(tmp_path / "row.tif", land(1, 9, 0))
    lines = [
        (world, ""), (world, "--texture map --chunks 2 --lods 3"), (world, "--texture=albedo --skirts --chunks 3x1 --lods 2 --error 1"),
        (world, "--tree-nodes --precision float --sea-level 200"), (lakes, "--precision 1 --lods 2"), (lakes, "--chunks 8"),
        (tmp_path / "holes.tif", "--chunks 5x4 --lods 8"), (tmp_path / "holes.tif", "--precision float"), (tmp_path / "row.tif", ""),
    ]
    files = []
    for n, (source, words) in enumerate(lines):
        files.append(tmp_path / f"{n}.glb")
        thalweg("mesh", source, "-o", files[-1], *words.split())
    for (_, words), found in zip(lines, issues(*files)):
        assert (found["numErrors"], found["numWarnings"]) == (0, 0), (words, found["messages"][:5])
    # It does look: with one index too great it says so.
    data = bytearray(files[0].read_bytes())
    glb = Glb(files[0])
    accessor = glb.about["accessors"][glb.about["meshes"][0]["primitives"][0]["indices"]]
    start = len(data) - len(glb.body) + glb.about["bufferViews"][accessor["bufferView"]]["byteOffset"]
    data[start : start + 4] = b"\xff\xff\xff\x7f"
    (tmp_path / "bad.glb").write_bytes(data)
    assert issues(tmp_path / "bad.glb")[0]["numErrors"] > 0


def test_other_programs_meshes(lakes, tmp_path):
    """OBJ with its materials and PLY with its colours, by trimesh: the same place, the right axis up, all triangles."""
    height, cell = layer(lakes, "height")
    rows, cols = height.shape
    wide, long = (cols - 1) * cell / 2, (rows - 1) * cell / 2
    thalweg("mesh", lakes, "-o", tmp_path / "a.obj", "--texture=albedo", "--chunks", 2)
    thalweg("mesh", lakes, "-o", tmp_path / "a.ply", "--texture=albedo", "--bare")
    thalweg("mesh", lakes, "-o", tmp_path / "a.stl")
    thalweg("mesh", lakes, "-o", tmp_path / "a.glb", "--bare")
    picture = np.asarray(Image.open(tmp_path / "a.png"))
    assert picture.shape == (rows, cols, 3)
    text = (tmp_path / "a.obj").read_text().splitlines()
    assert [line for line in text if line.startswith("mtllib")] == ["mtllib a.mtl"]
    objects = [line[2:] for line in text if line.startswith("o ")]
    assert objects[:4] == ["terrain_x0_y0", "terrain_x1_y0", "terrain_x0_y1", "terrain_x1_y1"] and "lakes" in objects
    scene = trimesh.load(tmp_path / "a.obj", force="scene", split_object=True, group_material=False, process=False)
    ground = [mesh for mesh in scene.geometry.values() if mesh.visual.material.name == "ground"]
    assert sum(len(mesh.faces) for mesh in ground) == 2 * (rows - 1) * (cols - 1)
    low, high = (np.array([getattr(mesh.bounds[k], "copy")() for mesh in ground]) for k in (0, 1))
    assert np.allclose([low.min(axis=0), high.max(axis=0)], [[-wide, height.min(), -long], [wide, height.max(), long]], atol=1e-2)
    assert ground[0].visual.material.image.size == (cols, rows)
    ply = trimesh.load(tmp_path / "a.ply", process=False)
    # z is up there, y north.
    assert np.allclose(ply.bounds, [[-wide, -long, height.min()], [wide, long, height.max()]], atol=1e-2)
    i = np.round((rows - 1) / 2 - ply.vertices[:, 1] / cell).astype(int)
    j = np.round((cols - 1) / 2 + ply.vertices[:, 0] / cell).astype(int)
    assert len(set(zip(i, j))) == rows * cols and np.allclose(ply.vertices[:, 2], height[i, j], atol=1e-2)
    assert (ply.visual.vertex_colors[:, :3] == picture[i, j]).all()
    stl = trimesh.load(tmp_path / "a.stl")
    assert len(stl.faces) == 2 * (rows - 1) * (cols - 1) and np.allclose(stl.bounds, ply.bounds, atol=1e-2)
    glb = trimesh.load(tmp_path / "a.glb", force="scene")
    assert np.allclose(glb.bounds, [[-wide, height.min(), -long], [wide, height.max(), long]], atol=0.2)


def test_what_cannot_be_is_said(tmp_path):
    write(tmp_path / "in.tif", land(20, 20, 0))
    for words, said in [
        ("a.glb --chunks 20", "20x20"), ("a.glb --lods 9", "1 to 8"), ("a.glb --precision 1e-4", "precision = 0.0001 m"),
        ("a.glb --precision x", "float"), ("a.obj --lods 2", "cannot store 2 levels of detail"), ("a.stl --chunks 2", "4 parts, only one mesh"),
        ("a.stl --texture map", "cannot store a texture"), ("a.glb --texture=x", "albedo"), ("a.glb --error=-1", "must be 0 to 1000000 m"),
        ("a.glb --error 3 --lods 2 --lod-error 2", "second level"), ("a.xyz", ".ply"), ("a.glb --max-height 0", "must be 0.000001 to 1000000 m"),
    ]:
        name, *rest = words.split()
        err = refused("mesh", tmp_path / "in.tif", "-o", tmp_path / name, *rest, statuses=(1, 2))
        assert said in err, (words, err)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.tif"]
    # A material beside the OBJ that is the input's own file is not written over.
    (tmp_path / "in.png").write_bytes(b"mine")
    err = refused("mesh", tmp_path / "in.png", "-o", tmp_path / "in.obj", "--texture", "map")
    assert "in.png" in err and (tmp_path / "in.png").read_bytes() == b"mine"
