"""Types of the compiled core. `mypy.stubtest` compares them with the built module."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict, final

from numpy import float32, float64, int64, uint8, uint32
from numpy.typing import NDArray

__all__ = [
    "Recipe",
    "Run",
    "Terrain",
    "Work",
    "World",
    "__version__",
    "_panic",
    "accumulate",
    "basins",
    "breach",
    "cell_of",
    "chi",
    "d8",
    "dinf",
    "drain",
    "export",
    "export_targets",
    "mesh",
    "fill",
    "fractal",
    "gradient",
    "hierarchy",
    "ksn",
    "load",
    "looped",
    "measure",
    "models",
    "multiple",
    "operation",
    "orders",
    "outlet_distance",
    "plan_apply",
    "plan_build",
    "plan_drain",
    "preset_names",
    "rocks",
    "set_threads",
    "shade",
    "slope_of",
    "textures",
    "threads",
    "unknown_keyword",
    "upstream_length",
    "verify",
    "view",
]

__version__: str

_Outlets = Sequence[tuple[int, int]]
_Spec = tuple[str, str, str]
_Looped = Sequence[bool]
# Receives the name of the task, the number of finished steps and their total number.
_Receiver = Callable[[str, int, int], object]

class _Parameter(TypedDict):
    name: str
    meaning: str
    unit: str
    allowed: str
    kind: Literal["float", "int", "bool", "str"]
    default: float | int | bool | str
    words: list[tuple[str, str]]
    source: str

class _Page(TypedDict):
    name: str
    summary: str
    page: str
    source: str
    family: Literal["base", "erosion", "analysis"]
    parameters: list[_Parameter]
    needs: list[_Spec]
    uses: list[_Spec]
    writes: list[_Spec]

class _Option(TypedDict):
    name: str
    meaning: str
    unit: str
    allowed: str
    kind: str
    default: float | int | bool | str | None
    words: list[tuple[str, str]]

class _Operation(TypedDict):
    page: str
    options: list[_Option]

def models() -> list[_Page]: ...
def operation(name: str, in_store: bool) -> _Operation: ...
def preset_names() -> list[str]: ...
def rocks() -> list[str]: ...
def unknown_keyword(function: str, name: str, known: Sequence[str]) -> TypeError: ...
def set_threads(count: int | None = None) -> None: ...
def threads() -> int: ...
def _panic(words: str) -> None: ...
def cell_of(
    what: str, place: Mapping[str, Any], heights: str | None, cell_size: float | None, unit: str | None
) -> tuple[float, list[str]]: ...
def load(
    path: str,
    options: dict[str, Any],
    *,
    edges: str | Mapping[str, str] | None = None,
    sea_level: float | None = None,
) -> tuple[Terrain, list[str]]: ...

@final
class Terrain:
    def __new__(
        cls,
        height: NDArray[Any],
        cell_size: float,
        *,
        nodata: float | None = None,
        sea_level: float | None = None,
        edges: str | Mapping[str, str] | None = None,
        place: Mapping[str, Any] | None = None,
        georeference: str | None = None,
        layers: Mapping[str, NDArray[Any]] | None = None,
        origin: Sequence[int] | None = None,
    ) -> Terrain: ...
    @staticmethod
    def flat(
        rows: int,
        cols: int,
        cell_size: float,
        *,
        sea_level: float | None = None,
        edges: str | Mapping[str, str] | None = None,
    ) -> Terrain: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def cell_size(self) -> float: ...
    @property
    def origin(self) -> list[int]: ...
    @property
    def sea_level(self) -> float | None: ...
    @property
    def edges(self) -> dict[str, str]: ...
    @property
    def place(self) -> tuple[list[float] | None, int | None, str]: ...
    @property
    def georeference(self) -> str | None: ...
    @property
    def nodata_count(self) -> int: ...
    @property
    def layers(self) -> list[str]: ...
    def height(self, narrow: bool = False) -> NDArray[Any]: ...
    def layer(self, name: str) -> NDArray[Any]: ...
    def about(self, name: str) -> tuple[str, str]: ...
    def tables(self) -> dict[str, dict[str, tuple[str, NDArray[Any]]]]: ...
    def fingerprints(self) -> dict[str, str]: ...
    def save(self, path: str, sample: str | None = None) -> list[str]: ...
    def save_layer(self, path: str, name: str) -> None: ...

@final
class Recipe:
    @staticmethod
    def preset(name: str) -> Recipe: ...
    @staticmethod
    def read(path: str) -> Recipe: ...
    @staticmethod
    def parse(text: str, folder: str | None = None, own_model: bool = False) -> Recipe: ...
    @staticmethod
    def table(table: dict[str, Any], folder: str | None = None) -> Recipe: ...
    @staticmethod
    def single(
        model: str,
        parameters: dict[str, Any],
        seed: int,
        sea_level: float | None = None,
        edges: str | Mapping[str, str] | None = None,
    ) -> Recipe: ...
    def with_(
        self,
        *,
        cells: int | None = None,
        seed: int | None = None,
        from_file: Any = None,
        until: str | None = None,
        preview: bool = False,
        age: float | None = None,
        rain: float | None = None,
        relief: float | None = None,
        size: float | None = None,
        sea: float | None = None,
        rock: str | None = None,
    ) -> Recipe: ...
    def set(self, label: str, parameter: str, value: Any) -> Recipe: ...
    def parameters(self, label: str) -> list[tuple[str, float | int | bool | str]]: ...
    @property
    def stages(self) -> list[tuple[str, str]]: ...
    @property
    def name(self) -> str: ...
    @property
    def about(self) -> str: ...
    @property
    def cells(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def extent(self) -> list[float] | None: ...
    @property
    def sea_level(self) -> float | None: ...
    @property
    def edges(self) -> dict[str, str]: ...
    @property
    def folder(self) -> str: ...
    @property
    def own_model(self) -> bool: ...
    def to_toml(self) -> str: ...
    def hash(self) -> str: ...
    def save(self, path: str) -> None: ...

@final
class Run:
    def __new__(cls, recipe: Recipe, terrain: Terrain | None = None) -> Run: ...
    @staticmethod
    def resume(path: str) -> Run: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Run: ...
    def save(self, path: str) -> None: ...
    def to_bytes(self) -> bytes: ...
    def step(
        self,
    ) -> tuple[str, int | None, tuple[int, int], tuple[int, int], tuple[int, int], float | None, str] | None: ...
    def set(self, label: str, parameter: str, value: Any) -> None: ...
    @property
    def steps(self) -> tuple[int, int]: ...
    @property
    def is_done(self) -> bool: ...
    @property
    def years(self) -> float | None: ...
    @property
    def recipe(self) -> Recipe: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def idle(self) -> list[str]: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def layers(self) -> list[str]: ...
    def height(self, narrow: bool = False) -> NDArray[Any]: ...
    def layer(self, name: str) -> NDArray[Any]: ...
    def put(self, name: str | None, values: NDArray[Any]) -> None: ...
    def terrain(self) -> Terrain: ...
    def map(self) -> Terrain: ...
    def report(self) -> str: ...

@final
class Work:
    def __new__(cls, plan: str | PathLike[str]) -> Work: ...
    @property
    def stages(self) -> list[str]: ...
    @property
    def tiles(self) -> int: ...
    def tile(self, stage: int, tile: int) -> str | None: ...
    def solve(self, stage: int) -> str | None: ...
    def report(self) -> str: ...
    def mend(self) -> int: ...

@final
class World:
    def __new__(cls, recipe: Recipe, tile: int) -> World: ...
    @property
    def recipe(self) -> Recipe: ...
    @property
    def tile_side(self) -> int: ...
    def width(self, level: int) -> float: ...
    def bounds(self, level: int) -> tuple[tuple[int, int], tuple[int, int]]: ...
    def tile(self, level: int, x: float, y: float, receiver: _Receiver | None = None) -> Terrain: ...
    def window(
        self, level: int, start: Sequence[int], size: Sequence[int], receiver: _Receiver | None = None
    ) -> Terrain: ...
    def height_at(self, x: float, y: float, level: int) -> float: ...
    def follow(self, level: int, x: float, y: float, most: int) -> tuple[NDArray[float64], str | None]: ...
    def rivers(
        self, level: int, start: Sequence[int], size: Sequence[int], least: float
    ) -> list[tuple[int, int | None, list[list[float]]]]: ...

def fill(terrain: Terrain, outlets: _Outlets, narrow: bool) -> NDArray[Any]: ...
def breach(
    terrain: Terrain, outlets: _Outlets, depth: float, length: float, narrow: bool
) -> tuple[NDArray[Any], int, int, float]: ...
def d8(terrain: Terrain, outlets: _Outlets, filled: bool) -> NDArray[uint8]: ...
def dinf(terrain: Terrain, outlets: _Outlets) -> NDArray[float32]: ...
def looped(edges: str | Mapping[str, str]) -> list[bool]: ...
def accumulate(directions: NDArray[uint8], looped: _Looped, weights: NDArray[Any] | None = None) -> NDArray[Any]: ...
def multiple(
    terrain: Terrain, outlets: _Outlets, exponent: float | None = None, weights: NDArray[Any] | None = None
) -> NDArray[float64]: ...
def basins(terrain: Terrain, directions: NDArray[uint8]) -> NDArray[uint32]: ...
def orders(directions: NDArray[uint8], looped: _Looped, streams: NDArray[uint8], shreve: bool) -> NDArray[uint32]: ...
def upstream_length(directions: NDArray[uint8], looped: _Looped, cell_size: float) -> NDArray[float64]: ...
def outlet_distance(directions: NDArray[uint8], looped: _Looped, cell_size: float) -> NDArray[float64]: ...
def chi(
    directions: NDArray[uint8], looped: _Looped, areas: NDArray[Any], cell_size: float, theta: float, reference: float
) -> NDArray[float64]: ...
def ksn(terrain: Terrain, theta: float) -> NDArray[float64]: ...
def hierarchy(
    terrain: Terrain, outlets: _Outlets
) -> tuple[
    NDArray[int64],
    NDArray[int64],
    NDArray[float64],
    NDArray[int64],
    list[tuple[int, int] | None],
    NDArray[int64],
    NDArray[float64],
    NDArray[int64],
    NDArray[int64],
    NDArray[float64],
]: ...
def plan_drain(
    source: str | PathLike[str],
    store: str | PathLike[str],
    plan: str | PathLike[str],
    tile: int,
    load: dict[str, Any],
    options: dict[str, Any],
    *,
    closed: bool = False,
    sea_level: float | None = None,
) -> str: ...
def plan_apply(
    recipe: Recipe,
    source: str | PathLike[str],
    store: str | PathLike[str],
    plan: str | PathLike[str],
    tile: int,
    load: dict[str, Any],
    *,
    layers: Mapping[str, str | PathLike[str]] = ...,
) -> str: ...
def plan_build(
    recipe: Recipe,
    store: str | PathLike[str],
    plan: str | PathLike[str],
    tile: int,
    *,
    level: int | None = None,
    rect: Sequence[float] | None = None,
) -> str: ...
def verify(store: str | PathLike[str]) -> list[tuple[str, int, str]]: ...
def drain(
    terrain: Terrain, options: dict[str, Any], narrow: bool, receiver: _Receiver | None = None
) -> tuple[
    NDArray[Any],
    NDArray[Any],
    NDArray[Any] | None,
    NDArray[uint8],
    NDArray[float32],
    NDArray[float64],
    NDArray[uint32],
    NDArray[uint32],
    list[tuple[int, int, int, NDArray[int64], float, float, float, float, int | None]],
    str,
]: ...
def gradient(terrain: Terrain) -> tuple[NDArray[float64], NDArray[float64]]: ...
def slope_of(terrain: Terrain) -> NDArray[float64]: ...
def measure(terrain: Terrain, options: dict[str, Any]) -> str: ...
def textures(
    source: Terrain | str,
    options: dict[str, Any],
    *,
    start: Terrain | None = None,
    recipe: Recipe | None = None,
    folder: str | None = None,
) -> tuple[list[str], int, float, dict[str, NDArray[Any]], Terrain, list[str]]: ...
def fractal(
    shape: Sequence[int],
    cell_size: float,
    kind: str,
    octaves: int,
    wavelength: float,
    gain: float,
    lacunarity: float,
    seed: int,
    origin: Sequence[int],
) -> NDArray[float32]: ...
def view(terrain: Terrain, path: str | None, options: dict[str, Any]) -> NDArray[uint8]: ...
def export_targets() -> list[str]: ...
def export(
    source: Terrain | str, target: str, folder: str, options: dict[str, Any], receiver: _Receiver | None = None
) -> tuple[str, list[str]]: ...
def mesh(terrain: Terrain, path: str, options: dict[str, Any]) -> tuple[list[str], list[str]]: ...
def shade(terrain: Terrain, path: str | None, options: dict[str, Any]) -> NDArray[uint8]: ...
