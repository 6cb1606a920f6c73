"""The measures of the frame, of the middle half of slopes and of the spectrum, worked out anew in NumPy by the words of docs/measure.md."""

import json

import numpy as np
import pytest
import rasterio
from helpers import JACKSBORO, thalweg, write_raster
from rasterio.transform import from_origin



def hills(side, cell, beta, seed):
    """Hills of a power law, on a slope, as 1/65536 m."""
    rng = np.random.default_rng(seed)
    rate = np.hypot(*np.meshgrid(np.fft.fftfreq(side), np.fft.fftfreq(side)))
    rate[0, 0] = 1
    waves = np.fft.fft2(rng.normal(size=(side, side))) * rate ** (-beta / 2)
    waves[0, 0] = 0
    z = np.real(np.fft.ifft2(waves))
    z = 200 * z / z.std() + 0.02 * cell * np.arange(side)[:, None]
    return np.round(z * 65536) / 65536


def measured(path):
    return {m["name"]: m["value"] for m in json.loads(thalweg("measure", path, "--json"))["measures"]}


def rim(z):
    """Share of the outer 2 % that falls outward; rise inward over relief."""
    rows, cols = z.shape
    short = min(rows, cols)
    i, j = np.mgrid[:rows, :cols]
    away = np.stack([i, cols - 1 - j, rows - 1 - i, j])
    near = away.min(axis=0)
    # Rows rise southward.
    south = np.select([away[0] == near, away[2] == near], [-1, 1], 0) * ~((away[0] == near) & (away[2] == near))
    east = np.select([away[1] == near, away[3] == near], [1, -1], 0)
    by_south, by_east = np.gradient(z)
    slope = south * by_south + east * by_east
    band = near < round(0.02 * short)
    outward = 100 * (slope[band] < 0).sum() / (slope[band] != 0).sum()
    inside = round(13 / 512 * short)
    rise = (z[near == inside].mean() - z[near == 0].mean()) / (z.max() - z.min())
    return outward, rise


def spectrum(z, cell):
    """Frequencies and densities of all waves, under a Hann window, less the plane of best fit."""
    rows, cols = z.shape
    i, j = [a.ravel() - a.mean() for a in np.mgrid[:rows, :cols].astype(float)]
    fit = np.linalg.lstsq(np.stack([np.ones_like(i), i, j], axis=1), z.ravel(), rcond=None)[0]
    flat = z - (fit[0] + fit[1] * i + fit[2] * j).reshape(z.shape)
    hann = [0.5 - 0.5 * np.cos(2 * np.pi * (np.arange(n) + 0.5) / n) for n in z.shape]
    power = np.abs(np.fft.fft2(flat * np.outer(*hann))) ** 2 * cell**2 / ((hann[0] ** 2).sum() * (hann[1] ** 2).sum())
    fy, fx = np.meshgrid(np.fft.fftfreq(rows, cell), np.fft.fftfreq(cols, cell), indexing="ij")
    return fx, fy, power


def axis_excess(z, cell, beta):
    fx, fy, power = spectrum(z, cell)
    rate = np.hypot(fx, fy)
    low, high = 4 / (min(z.shape) * cell), 1 / (8 * cell)
    used = (rate >= low) & (rate <= high)
    rate[0, 0] = 1
    ring, white = np.floor(np.log10(rate) * 10), power * rate**beta
    small, large = np.minimum(abs(fx), abs(fy)), np.maximum(abs(fx), abs(fy))
    axis = small <= np.tan(np.radians(10)) * large
    shares = []
    for number in np.unique(ring[used]):
        here = used & (ring == number)
        # Each wave stands twice here, once with either sign.
        if (here & axis).sum() >= 64:
            shares.append(white[here & axis].mean() / white[here].mean() - 1)
    return np.mean(shares)


def fine(z, cell):
    fx, fy, power = spectrum(z, cell)
    rate = np.hypot(fx, fy)
    band = lambda short, long: power[(rate >= 1 / long) & (rate < 1 / short)].sum()
    return np.sqrt(band(15, 30) / band(480, 960))


@pytest.mark.parametrize("side, cell, beta, seed", [(200, 30.0, 3.0, 1), (257, 10.0, 2.5, 2), (800, 5.0, 3.2, 3), (0, 90.0, 0, 0)])
def test_the_frame_the_slopes_and_the_waves(tmp_path, side, cell, beta, seed):
    path = str(tmp_path / "dem.tif")
    if side == 0:
        path = JACKSBORO
        with rasterio.open(path) as file:
            z, cell = np.round(file.read(1).astype(float) * 65536) / 65536, file.transform.a
    else:
        z = hills(side, cell, beta, seed)
        write_raster(path, z, from_origin(4e5, 4e6, cell, cell), "EPSG:32611")
    got = measured(path)
    outward, rise = rim(z)
    # Cells on the map's diagonals have two sides; beside thousands of others they may count otherwise here.
    assert got["rim_outward"] == pytest.approx(outward, abs=0.7)
    assert got["rim_rise"] == pytest.approx(rise, abs=1e-6)
    down, right = np.gradient(z, cell)
    low, high = np.percentile(np.degrees(np.arctan(np.hypot(down, right))), [25, 75])
    assert got["slope_range"] == pytest.approx(high - low, abs=0.02)
    assert got["axis_excess"] == pytest.approx(axis_excess(z, cell, got["spectral_exponent"]), abs=2e-3)
    if side == 800:
        assert got["spectral_fine"] == pytest.approx(fine(z, cell), rel=0.01)
    else:
        assert got["spectral_fine"] is None
