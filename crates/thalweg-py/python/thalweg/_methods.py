"""Functions of the package that the accessor ``.tw`` offers as methods.

The accessor is registered by :mod:`thalweg.xarray`, which these functions import to convert their input. To avoid a
circular import, the accessor looks them up in this table, which the package fills.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

METHODS: dict[str, Callable[..., Any]] = {}
