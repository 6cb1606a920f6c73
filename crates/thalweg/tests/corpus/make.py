"""Writes the seeds of the corpora: `python crates/thalweg/tests/corpus/make.py THALWEG`, with the built command.

Each layout that a reader knows, and some that it refuses. All else in the folders was found by `cargo xtask fuzz`.
"""

import io
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np
import OpenEXR
import rasterio
from rasterio.transform import from_origin

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[3]
I, J = np.mgrid[0:6, 0:7]
GROUND = 3 * I + 2 * J


def seed(reader, name, data):
    (HERE / reader).mkdir(exist_ok=True)
    (HERE / reader / name).write_bytes(data)


def tiff(dtype="float32", mask=None, scale=None, unit=None, crs="EPSG:32611", size=(6, 7), bands=1, beside=False, **options):
    """The bytes of a TIFF, and of the mask beside it."""
    i, j = np.mgrid[0:size[0], 0:size[1]]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "a.tif"
        with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=not beside), rasterio.open(
            path, "w", driver="GTiff", width=size[1], height=size[0], count=bands, dtype=dtype, crs=crs,
            transform=from_origin(500000, 4000000, 30, 30), **options,
        ) as file:
            for band in range(1, bands + 1):
                file.write((3 * i + 2 * j).astype(dtype), band)
            if scale:
                file.scales, file.offsets = [scale[0]], [scale[1]]
            if unit:
                file.units = [unit]
            if mask:
                file.write_mask((i + j) % 3 > 0)
        other = path.with_name("a.tif.msk")
        return path.read_bytes(), other.read_bytes() if other.exists() else b""


def tiffs():
    for compress in ("none", "lzw", "deflate", "packbits", "zstd", "jpeg", "lerc", "ccittfax4"):
        for dtype in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64"):
            if (compress in ("jpeg", "lerc") and dtype != "uint8") or compress == "ccittfax4":
                continue
            if compress == "zstd" and dtype != "float32":
                continue
            seed("tiff", f"{compress}_{dtype}", tiff(dtype, compress=compress)[0])
    for predictor in (2, 3):
        for compress in ("lzw", "deflate"):
            dtype = "int16" if predictor == 2 else "float32"
            seed("tiff", f"{compress}_predictor_{predictor}", tiff(dtype, compress=compress, predictor=predictor)[0])
    tiles = {"tiled": True, "blockxsize": 16, "blockysize": 16}
    seed("tiff", "tiles_lzw", tiff(compress="lzw", size=(17, 18), **tiles)[0])
    seed("tiff", "tiles_sparse", tiff(sparse_ok=True, size=(17, 18), **tiles)[0])
    seed("tiff", "bands_pixel", tiff(bands=3, interleave="pixel")[0])
    seed("tiff", "bands_planes", tiff(bands=2, interleave="band")[0])
    for endianness in ("LITTLE", "BIG"):
        for big in ("YES", "NO"):
            seed("tiff", f"bigtiff_{big}_{endianness}", tiff(bigtiff=big, endianness=endianness)[0])
    seed("tiff", "mask", tiff(mask=True)[0])
    seed("tiff", "mask_deflate", tiff(mask=True, compress="deflate")[0])
    seed("tiff", "mask_packbits", tiff(mask=True, compress="packbits")[0])
    seed("tiff", "scale_unit", tiff("uint16", scale=(0.5, 9.0), unit="m")[0])
    seed("tiff", "unit_feet", tiff("int16", unit="ft")[0])
    seed("tiff", "nodata", tiff(nodata=-9999.0)[0])
    for crs in (None, "EPSG:4326", "EPSG:2227", "EPSG:3857", "EPSG:2222+6360", "EPSG:32611+5703", "+proj=lcc +lat_1=20 +units=us-ft"):
        seed("tiff", f"crs_{crs}".replace(":", "_").replace(" ", "_")[:24], tiff(crs=crs)[0])
    for dtype in ("uint8", "uint16"):
        seed("tiff", f"photometric_{dtype}", tiff(dtype, photometric="miniswhite")[0])
    for size in ((19, 37), (1, 1), (16, 16)):
        for options in ({}, {"compress": "lzw"}, {"compress": "packbits"}):
            _, beside = tiff(mask=True, beside=True, size=size)
            seed("mask", f"msk_{size[0]}", beside)
            seed("mask", f"u8_{size[0]}_{options.get('compress', 'none')}", tiff("uint8", size=size, **options)[0])
        seed("mask", f"bits_{size[0]}", tiff("uint8", size=size, nbits=1)[0])
        seed("mask", f"bits_fax_{size[0]}", tiff("uint8", size=size, nbits=1, compress="ccittfax4")[0])


def png(colour, depth, palette=None, alpha=None, interlaced=0, size=(6, 7), data=None):
    rows, cols = size
    width = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour] * depth
    raw = data or b"".join(bytes([i % 5]) + bytes((i + k) % 256 for k in range((cols * width + 7) // 8)) for i in range(rows))
    chunk = lambda name, body: struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    file = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", cols, rows, depth, colour, 0, 0, interlaced))
    if palette is not None:
        file += chunk(b"PLTE", bytes(k % 256 for k in range(palette)))
    if alpha is not None:
        file += chunk(b"tRNS", bytes(alpha))
    return file + chunk(b"tEXt", b"a\0b") + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


def pngs():
    for colour, depths in ((0, (1, 2, 4, 8, 16)), (2, (8, 16)), (3, (1, 2, 4, 8)), (4, (8, 16)), (6, (8, 16))):
        for depth in depths:
            palette = 3 * 2**depth if colour == 3 else None
            seed("png", f"c{colour}_{depth}", png(colour, depth, palette))
            seed("png", f"c{colour}_{depth}_interlaced", png(colour, depth, palette, interlaced=1))
    for palette in (0, 3, 4, 5, 767, 768, 771):
        seed("png", f"palette_{palette}", png(3, 8, palette))
        seed("png", f"palette_{palette}_alpha", png(3, 8, palette, alpha=9))
    for colour, alpha in ((0, 1), (0, 2), (2, 6), (3, 300)):
        for depth in (8, 16):
            if (colour, depth) != (3, 16):
                seed("png", f"alpha_{colour}_{depth}_{alpha}", png(colour, depth, 768 if colour == 3 else None, alpha))


def exr(parts):
    """The bytes of an EXR file of these parts: pairs of a header and pixels."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "a.exr"
        made = [OpenEXR.Part(header, pixels, f"part {k}") for k, (header, pixels) in enumerate(parts)]
        with OpenEXR.File(*parts[0]) if len(made) == 1 else OpenEXR.File(made) as file:
            file.write(str(path))
        return path.read_bytes()


def exrs():
    kinds = {"zip": OpenEXR.ZIP_COMPRESSION, "zips": OpenEXR.ZIPS_COMPRESSION, "none": OpenEXR.NO_COMPRESSION,
             "piz": OpenEXR.PIZ_COMPRESSION, "rle": OpenEXR.RLE_COMPRESSION, "pxr24": OpenEXR.PXR24_COMPRESSION,
             "b44": OpenEXR.B44_COMPRESSION, "b44a": OpenEXR.B44A_COMPRESSION, "dwaa": OpenEXR.DWAA_COMPRESSION}
    tiles = OpenEXR.TileDescription()
    tiles.xSize, tiles.ySize = 8, 16
    tiled = {"type": OpenEXR.tiledimage, "tiles": tiles}
    lines = {"type": OpenEXR.scanlineimage}
    ground = np.tile(GROUND, (4, 3))
    for name, kind in kinds.items():
        for dtype in ("float16", "float32", "uint32"):
            pixels = ground.astype(dtype)
            for channels in ("Y", "RGB"):
                header = {"compression": kind, **lines}
                seed("exr", f"{name}_{dtype}_{channels}", exr([(header, dict.fromkeys(channels, pixels))]))
            seed("exr", f"{name}_{dtype}_tiles", exr([({"compression": kind, **tiled}, {"Y": pixels})]))
    pixels = ground.astype("float16")
    colours = ({"compression": kinds["zip"], **lines}, dict.fromkeys("RGB", pixels))
    seed("exr", "parts", exr([colours, ({"compression": kinds["piz"], **tiled}, {"height": pixels})]))


def dted(origin="0103000E0450000N", datum="WGS84", labels=b"", records=(0, 1, 2), partial="00", error=0, size=(4, 3)):
    """The bytes of a DTED cell of 4 x 3 samples: signs and magnitudes, one void."""
    data = labels + f"UHL1{origin}03000300NA  U  {'':12}{size[1]:04}{size[0]:04}0".ljust(80).encode()
    data += (f"DSIU{'':137}E96{datum}{'':140}{partial}").ljust(648).encode() + b"ACC".ljust(2700)
    for column in records:
        heights = [100 * column, 3, 0x8000 | 250, 0xFFFF]
        record = struct.pack(">BBHHH4H", 0xAA, 0, column, column, 0, *heights)
        data += record + struct.pack(">I", sum(record) + error)
    return data


def others():
    for dtype in ("u1", "<u2", ">u2", "<i2", ">i4", "<u4", "<f4", ">f8", "<c8", "bool"):
        for order in "CF":
            file = io.BytesIO()
            np.save(file, np.asarray(GROUND.astype(dtype), order=order))
            seed("npy", f"{dtype.strip('<>')}_{'big' if '>' in dtype else 'little'}_{order}", file.getvalue())
    for version in ((1, 0), (2, 0), (3, 0)):
        file = io.BytesIO()
        np.lib.format.write_array(file, GROUND.astype("<f4"), version=version)
        seed("npy", f"version_{version[0]}", file.getvalue())
    rows = "\n".join(" ".join(str(x) for x in row) for row in GROUND)
    for name, head in {
        "corner": "ncols 7\nnrows 6\nxllcorner 5\nyllcorner 6\ncellsize 10\nNODATA_value -9999\n",
        "centre": "NCOLS 7 NROWS 6 XLLCENTER 5 YLLCENTER 6 CELLSIZE 10\n", "oblong": "ncols 7\nnrows 6\ndx 10\ndy 12\n",
        "bare": "ncols 7\nnrows 6\n", "huge": "ncols 99999999\nnrows 9999999\ncellsize 1\n", "none": "",
    }.items():
        seed("ascii", name, (head + rows).encode())
    dialects()
    for side in (2, 3, 5, 6):
        seed("hgt", f"side_{side}", (np.arange(side * side) * 37 - 50).astype(">i2").tobytes())
    seed("hgt", "void", np.full(9, -32768, ">i2").tobytes())
    labels = b"VOL1".ljust(80) + b"HDR1".ljust(80)
    for name, options in {
        "plain": {}, "west_south": {"origin": "0103000W0450000S"}, "wgs72": {"datum": "WGS72"},
        "tape": {"labels": labels}, "partial": {"records": (0, 2), "partial": "60"}, "missing": {"records": (0, 2)},
        "unsummed": {"error": 1 << 31}, "damaged": {"error": 1}, "huge": {"size": (9999, 9999)},
        "hemisphere": {"origin": "0103000Q0450000S"},
    }.items():
        seed("dted", name, dted(**options))
    about = {"minimum": 0, "maximum": 500.5, "unit": "m", "cell_size": 10, "rows": 6, "columns": 7, "sample": "u16"}
    changes = [{}, {"byte_order": "big"}, {"row_order": "south"}, {"nodata": 0}, {"unit": "ft"}, {"cell_size": 0},
               {"rows": 1 << 60}, {"sample": "f64"}, {"minimum": 9e99}]
    for n, change in enumerate(changes):
        text = json.dumps({**about, **change}).encode()
        seed("sidecar", f"about_{n}", text)
        seed("r16", f"about_{n}", text + b"\0" + GROUND.astype("<u2").tobytes())
        seed("r32", f"about_{n}", text.replace(b"u16", b"f32") + b"\0" + GROUND.astype("<f4").tobytes())
    for reader, dtype in (("r16", "<u2"), ("r32", "<f4")):
        seed(reader, "square", np.arange(9).astype(dtype).tobytes())
    lines = "".join(f"{n},{15 + 10 * n},{-25 - n},{n}.5,{kind},{2 + n},1.5,{9 * n}\n" for n, kind in enumerate(["conifer", "broadleaf", "reed", "shrub", "palm"]))
    head = "id,x,y,z,kind,height_m,crown_m,age_years\n"
    for n, text in enumerate([head + lines[:200], head, "x,y,kind,height_m\n1,-2,reed,3\n", "height_m,kind,y,x\r\n2.4,reed,-15.5,7\r\n\r\n",
                              "\ufeff" + head + "1,5,-5,0,conifer,NaN,1,2\n", "x,y\n", head + "1," * 3000, head + "1,1e9,-1e9,0,reed,1,1,1\n"]):
        seed("trees", f"table_{n}", text.encode())


def dialects():
    """Text and binary grids in the dialects of other programs."""
    rows = "\n".join(" ".join(str(x) for x in row) for row in GROUND)
    for name, head in {
        "bom": "\ufeffncols 7\nnrows 6\ncellsize 10\n", "null": "ncols 7\r\nnrows 6\r\nNODATA_value null\r\n",
        "words": "ncols 7\nnrows 7\n1.#QNAN -nan null 1.#INF -1.#IND 1D2 2,5\n", "degrees": "ncols 7\nnrows 6\nxllcorner 5\nyllcorner 6\ncellsize 0.5\n",
    }.items():
        seed("ascii", name, (head + rows).encode())
    points = [(5 + 10 * j, 60 - 10 * i, GROUND[i, j]) for i in range(6) for j in range(7)]
    text = lambda points, separator=" ": "".join(separator.join(map(str, point)) + "\n" for point in points)
    for name, content in {
        "plain": text(points), "turned": text(points[::-1], "\t"), "header": "x,y,z\n" + text(points, ","), "semicolons": "Z;Y;X\n" + text([point[::-1] for point in points], ";"),
        "comment": "# a\n" + text(points[::3]), "twice": text(points + points[:1]), "off": text([*points, (7, 8, 9)]), "decimal": text(points).replace(" ", ",5 "),
        "far": "0 0 1\n1 1 1\n1e9 1e9 1\n", "row": text(points[:7]), "point": "1 2 3\n",
    }.items():
        seed("xyz", name, content.encode())
    for n, (head, dtype) in enumerate([
        ("NBITS 16\nPIXELTYPE SIGNEDINT\nBYTEORDER I\nLAYOUT BIL\nULXMAP 100\nULYMAP 200\nXDIM 10\nYDIM 10\n", "<i2"), ("BYTEORDER M\nNODATA_VALUE -9999\nXLLCORNER 5\nYLLCORNER 6\nCELLSIZE 10\n", ">f4"),
        ("NBITS 8\nNBANDS 1\nLAYOUT BSQ\nSKIPBYTES 0\n", "u1"), ("NBITS 32\nPIXELTYPE FLOAT\nBYTEORDER LSBFIRST\nLAYOUT BIP\n", "<f4"), ("NBITS 64\nPIXELTYPE FLOAT\n", ">f8"), ("NBITS 1\nNBANDS 99999\n", "u1"),
    ]):
        seed("bil", f"grid_{n}", f"NROWS 6\nNCOLS 7\n{head}".encode() + b"\0" + GROUND.astype(dtype).tobytes())


def lines():
    reach = {"id": 0, "run": 1, "ends": "edge", "discharge_from_m3_s": 1.0, "discharge_m3_s": 2.0, "lake_from": None, "lake_to": 2,
             "parts_from": None, "downstream": 1, "surfaces_m": [2.0, 1.0], "beds_m": [1.5, 0.5], "widths_m": [3, 4.5]}
    line = {"type": "LineString", "coordinates": [[15.0, -25.0, 2.0], [295, -195]]}
    collection = lambda *features: json.dumps({"type": "FeatureCollection", "features": features}).encode()
    for n, (properties, geometry) in enumerate([
        (reach, line), ({**reach, "widths_m": [1e300, 1]}, line), ({**reach, "beds_m": []}, line), ({"id": 5}, line), (reach, None),
        (reach, {"type": "LineString", "coordinates": [[1.8e7, 0], [1, 1]]}), (reach, {"type": "Point", "coordinates": [1, 2]}),
        ({**reach, "id": -1}, line),
    ]):
        seed("rivers", f"reach_{n}", collection({"type": "Feature", "properties": properties, "geometry": geometry}))
    lake = {"id": 3, "level_m": 5, "runoff_m3_s": 0.5}
    area = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [0, 0]]]}
    for n, properties in enumerate([lake, {**lake, "level_m": 1e9}, {"id": 1}, {**lake, "id": None}]):
        seed("lakes", f"lake_{n}", collection({"type": "Feature", "properties": properties, "geometry": area}))
    seed("lakes", "about", json.dumps({"thalweg": "0", "cell_size": 5, "sea_level": None, "mouths": [[1, 2]]}).encode())
    seed("lakes", "about_sea", json.dumps({"sea_level": 4.5, "mouths": []}).encode())


def recipes(command):
    for path in sorted(ROOT.glob("recipes/**/*.toml")):
        seed("recipe", path.stem, path.read_bytes())
    with tempfile.TemporaryDirectory() as folder:
        for model in ("thermal", "droplets", "fluvial", "dunes"):
            target = pathlib.Path(folder) / f"{model}.thalweg"
            base = f"[[stage]]\nmodel = 'gradient_noise'\n[[stage]]\nmodel = '{model}'\n"
            (pathlib.Path(folder) / "r.toml").write_text(f"extent = [40, 40]\ncells = 4\n{base}")
            # Checkpoints are written by runs that are stopped; this one is written every so often.
            words = ["build", "r.toml", "--out", model, "--checkpoint", str(target), "--every", "0", "--quiet"]
            subprocess.run([command, *words], cwd=folder, check=True)
            seed("checkpoint", model, target.read_bytes())
    seed("checkpoint", "empty", b"")


if __name__ == "__main__":
    tiffs()
    pngs()
    exrs()
    others()
    lines()
    recipes(sys.argv[1])
