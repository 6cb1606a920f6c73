"""Noise as a function of the position in the world, so that overlapping windows have bit-identical values.

Base models such as :func:`thalweg.gradient_noise` create terrain from noise.
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
    """Compute fractal noise: a sum of octaves of gradient noise.

    Parameters
    ----------
    shape : (rows, columns)
        Size of the window in cells.
    cell_size : float, metres
        Side of a cell.
    wavelength : float, metres
        Wavelength of the first octave, 0.01 to 1e8.
    octaves : int, default 8
        Number of octaves, 1 to 24. An octave fades in as its wavelength grows from two to four cells; shorter ones are
        left out.
    gain : float, default 0.5
        Ratio of the weight of an octave to that of the octave before it, 0 to 1.
    lacunarity : float, default 2.0
        Ratio of the wavelength of an octave to that of the octave after it, 1.1 to 8.
    kind : {"fbm", "billow", "ridged"}, default "fbm"
        Shape of the octaves: the noise itself (fractional Brownian motion), its absolute value, or the square of 1
        minus its absolute value. "fbm" has a mean of 0 and a standard deviation of 1/3; the others range from 0 to 1,
        or a few thousandths above 1.
    seed : int, default 1
        Seed of the noise.
    origin : (row, column), default (0, 0)
        Position of the window's first cell in the world, in cells.

    Returns
    -------
    array of float32, (rows, columns)
        Noise of each cell, dimensionless.

    Raises
    ------
    ValueError
        If a value is out of range.

    References
    ----------
    Perlin (2002), Improving noise, doi:10.1145/566570.566636; Musgrave, Kolb & Mace (1989), The synthesis and rendering
    of eroded fractal terrains, doi:10.1145/74333.74337.

    Examples
    --------
    >>> whole = tw.noise.fractal((40, 50), 10.0, wavelength=300.0, seed=3)
    >>> part = tw.noise.fractal((10, 20), 10.0, wavelength=300.0, seed=3, origin=(5, 7))
    >>> np.array_equal(part, whole[5:15, 7:27])
    True
    """
    rows, columns = shape
    values: Any = _core.fractal((rows, columns), cell_size, kind, octaves, wavelength, gain, lacunarity, seed, origin)
    return values  # type: ignore[no-any-return]
