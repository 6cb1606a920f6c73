"""Noise as a function of the place: windows of one world agree bit for bit. Base models lay it as ground (``thalweg.gradient_noise``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._keywords import named

__all__ = ["fractal"]


@named
def fractal(
    shape: tuple[int, int],
    cell_size: float,
    *,
    wavelength: float,
    octaves: int = 8,
    gain: float = 0.5,
    lacunarity: float = 2.0,
    kind: str = "fbm",
    seed: int = 1,
    origin: tuple[int, int] = (0, 0),
) -> NDArray[np.float32]:
    """A sum of octaves of gradient noise (Perlin 2002).

    Parameters
    ----------
    shape : (rows, columns)
        Cells of the window.
    cell_size : float, metres
        Side of a cell.
    wavelength : float, 0.01 to 1e8 metres
        Of the first octave.
    octaves : int, 1 to 24
        How many; those narrower than two cells fade out.
    gain : float, 0 to 1
        Weight of each octave over that of the one before.
    lacunarity : float, 1.1 to 8
        By what wavelengths fall.
    kind : "fbm", "billow" or "ridged"
        How octaves are shaped: "fbm" has a standard deviation of 1/3 about 0, the others lie within 0 to 1, but for some thousandths above.
    seed : int
        Another seed, another noise.
    origin : (row, column)
        World cell of the window's first.
    """
    rows, columns = shape
    values: Any = _core.fractal((rows, columns), cell_size, kind, octaves, wavelength, gain, lacunarity, seed, origin)
    return values  # type: ignore[no-any-return]
