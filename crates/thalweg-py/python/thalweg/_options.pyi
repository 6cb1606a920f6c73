# Generated from the declarations of operations by `cargo xtask book`.

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypedDict

class OpenOptions(TypedDict, total=False):
    height: Sequence[float] | None
    cell_size: float | None
    infinite_is_nodata: bool | None
    deterrace: bool | None
    unit: Literal["metre"] | None

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

class MeshOptions(TypedDict, total=False):
    max_height: float | None
    texture: Literal["map", "albedo"] | None
    max_trees: int | None
    tree_nodes: bool | None
    bare: bool | None
    chunks: int | Sequence[int] | None
    lods: int | None
    error: float | None
    lod_error: float | None
    skirts: bool | None
    precision: float | Literal["float"] | None

class NormalsOptions(TypedDict, total=False):
    bump: bool | None
    bits: Literal[8, 16] | None
    directx: bool | None
    scale: float | None

class ShadeOptions(TypedDict, total=False):
    ramp: Literal["land", "lowland", "tropical", "redrock", "sand", "gist_earth", "grey", "plain", "viridis", "sea", "ice", "soil", "water", "sediment"] | None
    range: Sequence[float] | None
    sun: Sequence[float] | None
    exaggeration: float | None
    scale_bar: bool | None
    legend: bool | None
    max_size: int | None

class ViewOptions(TypedDict, total=False):
    size: int | Sequence[int] | None
    azimuth: float | None
    elevation: float | None
    zoom: float | None
    title: str | None
    ramp: Literal["land", "lowland", "tropical", "redrock", "sand", "gist_earth", "grey", "plain", "viridis", "sea", "ice", "soil", "water", "sediment"] | None
    range: Sequence[float] | None
    sun: Sequence[float] | None
    exaggeration: float | None
    natural: bool | None
    haze: float | None
    stand: Sequence[float] | None
    towards: Sequence[float] | None
    lens: float | None
