"""Noise as a function of the position: overlapping windows of one world are bit-identical.

Base models create terrain from it (``thalweg.gradient_noise``).
"""

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
    """Compute a sum of octaves of gradient noise (Perlin 2002).

    Parameters
    ----------
    shape : (rows, columns)
        Size of the window in cells.
    cell_size : float, metres
        Side of a cell.
    wavelength : float, metres
        Wavelength of the first octave, 0.01 to 1e8.
    octaves : int, default 8
        Number of octaves, 1 to 24; octaves whose wavelength is below two cells are faded out.
    gain : float, default 0.5
        Ratio of the weights of an octave and the one before it, 0 to 1.
    lacunarity : float, default 2.0
        Ratio of the wavelengths of an octave and the one after it, 1.1 to 8.
    kind : "fbm", "billow" or "ridged", default "fbm"
        Shape of the octaves. "fbm" has mean 0 and a standard deviation of 1/3; the others range from 0 to 1, or a few
        thousandths above 1.
    seed : int, default 1
        Seed of the noise.
    origin : (row, column), default (0, 0)
        World cell of the window's first cell.

    Returns
    -------
    array of float32, (rows, columns)
        The noise of each cell.

    Raises
    ------
    ValueError
        If a value is out of range.

    Examples
    --------
    >>> whole = tw.noise.fractal((40, 50), 10.0, wavelength=300.0, seed=3)
    >>> part = tw.noise.fractal((10, 20), 10.0, wavelength=300.0, seed=3, origin=(5, 7))  # whole[5:15, 7:27]
    """
    rows, columns = shape
    values: Any = _core.fractal((rows, columns), cell_size, kind, octaves, wavelength, gain, lacunarity, seed, origin)
    return values  # type: ignore[no-any-return]
