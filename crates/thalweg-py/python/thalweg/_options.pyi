# Generated from the declarations of operations by `cargo xtask book`.

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Literal, Required, TypedDict

class OpenOptions(TypedDict, total=False):
    height: Sequence[float] | None
    cell_size: float | None
    infinite_is_nodata: bool | None
    deterrace: bool | None
    unit: Literal["metre"] | None

class BuildOptions(TypedDict, total=False):
    age: float | None
    rain: float | None
    rock: Literal["granite", "limestone", "sandstone", "ash", "shale", "clay", "loess", "sand"] | None
    relief: float | None
    size: float | None
    sea: float | None
    cells: int | None
    from_file: str | None
    unit: Literal["metre"] | None
    target: Literal["unreal", "unity", "terrain3d", "hterrain", "blender", "bevy", "worldpainter", "gis", "web"] | None
    preview: bool | None
    seed: int | None
    crs: str | None
    origin: Sequence[float] | None
    until: str | None
    set: Mapping[str, float | bool | str] | None

class BuildStoreOptions(TypedDict, total=False):
    age: float | None
    rain: float | None
    rock: Literal["granite", "limestone", "sandstone", "ash", "shale", "clay", "loess", "sand"] | None
    relief: float | None
    size: float | None
    sea: float | None
    cells: int | None
    target: Literal["unreal", "unity", "terrain3d", "hterrain", "blender", "bevy", "worldpainter", "gis", "web"] | None
    preview: bool | None
    seed: int | None
    crs: str | None
    origin: Sequence[float] | None
    until: str | None
    set: Mapping[str, float | bool | str] | None
    level: int | None
    rect: Sequence[float] | None

class VaryOptions(TypedDict, total=False):
    age: Iterable[float] | None
    rain: Iterable[float] | None
    rock: Iterable[Literal["granite", "limestone", "sandstone", "ash", "shale", "clay", "loess", "sand"]] | None
    relief: Iterable[float] | None
    size: Iterable[float] | None
    sea: Iterable[float] | None
    ramp: Literal["land", "lowland", "tropical", "redrock", "sand", "gist_earth", "grey", "plain", "viridis", "sea", "ice", "soil", "water", "sediment"] | None
    range: Sequence[float] | None
    sun: Sequence[float] | None
    exaggeration: float | None
    seeds: int | Sequence[int] | None
    seed: int | None
    set: Mapping[str, float | bool | str | Sequence[float | bool | str]] | None
    cells: int | None
    until: str | None
    view: bool | None
    pixels: int | None
    title: str | None

class TileOptions(TypedDict, total=False):
    seed: int | None
    level: int | None
    at: Required[Sequence[float]]
    size: int | None

class GenerateOptions(TypedDict, total=False):
    set: Mapping[str, float | bool | str] | None
    seed: int | None
    cells: Required[int | Sequence[int]]
    cell_size: Required[float]

class GenerateStoreOptions(TypedDict, total=False):
    edges: Literal["open", "closed"] | Mapping[str, str] | None
    sea_level: float | None
    set: Mapping[str, float | bool | str] | None
    seed: int | None
    layers: Mapping[str, str | PathLike[str]] | None
    cells: Required[int | Sequence[int]]
    cell_size: Required[float]

class ApplyOptions(TypedDict, total=False):
    set: Mapping[str, float | bool | str] | None
    seed: int | None

class ApplyStoreOptions(TypedDict, total=False):
    edges: Literal["open", "closed"] | Mapping[str, str] | None
    sea_level: float | None
    set: Mapping[str, float | bool | str] | None
    seed: int | None
    layers: Mapping[str, str | PathLike[str]] | None

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

class RiversOptions(TypedDict, total=False):
    catchment: float | None
    set: Mapping[str, float | bool | str] | None
    mouths: Iterable[Sequence[int]] | None
    springs: Iterable[Sequence[float]] | None
    passes: Iterable[Sequence[float]] | None
    seed: int | None

class RiversStoreOptions(TypedDict, total=False):
    edges: Literal["open", "closed"] | Mapping[str, str] | None
    sea_level: float | None
    catchment: float | None
    set: Mapping[str, float | bool | str] | None
    mouths: Iterable[Sequence[int]] | None
    springs: Iterable[Sequence[float]] | None
    passes: Iterable[Sequence[float]] | None
    seed: int | None

class ResampleOptions(TypedDict, total=False):
    cells: Required[int | Sequence[int]]

class ResampleStoreOptions(TypedDict, total=False):
    cells: Required[int | Sequence[int]]
    classes: bool | None

class CropOptions(TypedDict, total=False):
    window: Required[Sequence[int]]

class CropStoreOptions(TypedDict, total=False):
    window: Required[Sequence[int]]

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

class CompareOptions(TypedDict, total=False):
    size: int | Sequence[int] | None
    azimuth: float | None
    elevation: float | None
    zoom: float | None
    title: str | None
    ramp: Literal["land", "lowland", "tropical", "redrock", "sand", "gist_earth", "grey", "plain", "viridis", "sea", "ice", "soil", "water", "sediment"] | None
    range: Sequence[float] | None
    sun: Sequence[float] | None
    exaggeration: float | None
    sheet: bool | None
    captions: Iterable[str] | None
