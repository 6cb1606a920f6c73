"""Writes the files beside it with GDAL (rasterio 1.4.4): `python crates/thalweg/tests/data/masks/make.py`."""

import pathlib

import numpy as np
import rasterio
from rasterio.transform import from_origin

FOLDER = pathlib.Path(__file__).parent
ROWS, COLS = 19, 37
I, J = np.mgrid[0:ROWS, 0:COLS]
HEIGHTS = 3 * I + 2 * J
VALID = (7 * I + 3 * J) % 5 != 0


def write(name, dtype="float32", beside=False, mask=VALID, scale=None, unit=None, overviews=False, **options):
    path = FOLDER / name
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=not beside), rasterio.open(
        path, "w", driver="GTiff", width=COLS, height=ROWS, count=1, dtype=dtype, crs="EPSG:32616",
        transform=from_origin(500000, 4000000, 30, 30), **options,
    ) as file:
        file.write(HEIGHTS.astype(dtype), 1)
        if scale:
            file.scales, file.offsets = [scale[0]], [scale[1]]
        if unit:
            file.units = [unit]
        if mask is not None:
            file.write_mask(mask)
    if overviews:
        with rasterio.open(path, "r+") as file:
            file.build_overviews([2])


write("mask_strips.tif")
write("mask_tiles_lzw.tif", compress="lzw", tiled=True, blockxsize=16, blockysize=16)
write("mask_big_endian_bigtiff_deflate.tif", compress="deflate", bigtiff="YES", endianness="BIG")
write("mask_packbits_i16.tif", "int16", compress="packbits")
write("mask_overviews.tif", overviews=True, compress="deflate")
write("mask_beside.tif", beside=True)
write("scale_offset_u16.tif", "uint16", mask=None, scale=(0.5, -10.0))
write("unit_u16.tif", "uint16", mask=None, unit="m")
