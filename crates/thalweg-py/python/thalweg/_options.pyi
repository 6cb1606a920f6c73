# Generated from the declarations of operations by `cargo xtask book`.

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypedDict

class DrainOptions(TypedDict, total=False):
    threshold: float | None
    outlets: Iterable[Sequence[int]] | None
    breach: bool | Sequence[float] | Mapping[str, float] | None
    method: Literal["d8", "dinf", "mfd"] | None
    exponent: float | None

class DrainStoreOptions(TypedDict, total=False):
    threshold: float | None
    outlets: Iterable[Sequence[int]] | None
    outlets_at: Iterable[Sequence[float]] | None
    depressions: bool | None
    skip_lake_outlines: bool | None

class ExportOptions(TypedDict, total=False):
    tiles: int | str | Sequence[int] | None
    edges: Literal["shared", "adjacent"] | None
    size: int | Sequence[int] | None
    range: Sequence[float] | None
    layers: Iterable[str] | None
    name: str | None
    format: str | None
    fresh: bool | None
    origin: Sequence[float] | None
    zoom: int | Sequence[int] | None

class MeasureOptions(TypedDict, total=False):
    channel_area: float | None
    search: int | None
    flatness: float | None

class TexturesOptions(TypedDict, total=False):
    size: int | None
    bits: Literal[8, 16] | None
    from_air: bool | None
