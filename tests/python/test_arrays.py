"""What may be given, and what comes back: arrays of any kind of number, and errors that say what is allowed."""

import inspect
import math
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import thalweg as tw

RNG = np.random.default_rng(7)
# Multiples of 1/65 536 m that f32 holds.
LAND = np.round(RNG.normal(300.0, 40.0, (60, 90)) * 64) / 64
WHOLE = np.round(LAND)


def same(a, b):
    return np.array_equal(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64), equal_nan=True)


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "g", "i2", "i4", "i8", "u2", "u4", "u8", ">f4", ">f8", ">i2", ">i4", "<i8"])
def test_every_kind_of_number_gives_the_same(kind):
    given = WHOLE.astype(kind)
    assert same(tw.flow.fill_depressions(given), tw.flow.fill_depressions(WHOLE))
    assert tw.flow.fill_depressions(given).dtype == (np.float32 if kind == "f4" else np.float64)


def test_arrays_are_read_as_they_lie():
    wide = np.full((120, 180), -1.0)
    wide[::2, ::2] = LAND
    padded = np.zeros((60, 90), dtype=[("skip", "u1"), ("height", "f8")])
    padded["height"] = LAND
    fixed = LAND.copy()
    fixed.flags.writeable = False
    wanted = tw.flow.fill_depressions(LAND)
    turned = tw.flow.fill_depressions(LAND[::-1, ::-1])
    for given in (wide[::2, ::2], np.asfortranarray(LAND), padded["height"], fixed, LAND[::-1][::-1], LAND.tolist()):
        assert same(tw.flow.fill_depressions(given), wanted)
    assert not padded["height"].flags.aligned
    assert same(turned[::-1, ::-1], wanted)
    before = LAND.copy()
    tw.thermal(LAND, cell_size=10.0)
    assert same(LAND, before), "what is given is not written"


def test_missing_data_come_back_as_they_were():
    holes = LAND.copy()
    holes[10:20, 30:40] = np.nan
    filled = tw.flow.fill_depressions(holes)
    assert same(np.isnan(filled), np.isnan(holes))
    stood_in = np.where(np.isnan(holes), -9999.0, holes)
    assert same(tw.flow.fill_depressions(stood_in, nodata=-9999.0), filled)
    assert same(tw.flow.fill_depressions(np.where(np.isnan(holes), -9999, WHOLE).astype("i2"), nodata=-9999), tw.flow.fill_depressions(np.where(np.isnan(holes), np.nan, WHOLE)))
    drained = tw.drain(holes, cell_size=10.0)
    assert (drained.flow_direction[10:20, 30:40] == 255).all() and (drained.basin[10:20, 30:40] == 0).all()
    with pytest.raises(ValueError, match="at least one height"):
        tw.flow.fill_depressions(np.full((3, 3), np.nan))


def test_heights_are_rounded_to_their_unit_and_no_further():
    fine = RNG.normal(0.0, 1000.0, (50, 50))
    terrain = tw.Terrain(fine, 5.0)
    assert np.abs(terrain.height - fine).max() <= 0.5 / 65536
    # Halves away from zero.
    half = np.array([[0.5, -0.5, 1.5, -1.5]]) / 65536
    assert same(tw.Terrain(half, 5.0).height * 65536, [[1, -1, 2, -2]])


@pytest.mark.parametrize("height", [16000.01, -16001.0, np.inf, -np.inf, 1e9])
def test_heights_out_of_range_are_refused_by_their_cell(height):
    wrong = LAND.copy()
    wrong[4, 5] = height
    with pytest.raises(ValueError, match=r"height at row 4, column 5 = .* m: must be -16000 to 16000 m"):
        tw.flow.fill_depressions(wrong)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (np.zeros(5), ValueError, r"shape \(5,\); it must have two dimensions"),
        (np.zeros((2, 3, 4)), ValueError, "two dimensions"),
        (np.zeros((0, 4)), ValueError, "one cell or more"),
        (np.zeros((4, 4), dtype=object), TypeError, "dtype object; it must have an integer or floating-point dtype"),
        (np.zeros((4, 4), dtype=complex), TypeError, "complex128"),
        (np.zeros((4, 4), dtype=bool), TypeError, "bool"),
        (np.full((4, 4), "high"), TypeError, "dtype"),
        (None, TypeError, "dtype object"),
        ("dem.tif", TypeError, "dtype"),
    ],
)
def test_what_is_no_map_is_refused(given, error, words):
    with pytest.raises(error, match=words):
        tw.drain(given, cell_size=10.0)


@pytest.mark.parametrize("size", [0.0, -5.0, np.nan, np.inf, 1e9])
def test_cell_sizes_that_cannot_be_are_refused(size):
    with pytest.raises(ValueError, match=r"cell size = .* m: must be 0.001 to 100000 m"):
        tw.thermal(LAND, cell_size=size)


def test_an_array_must_be_given_its_cell_size():
    for function in (tw.droplets, tw.drain, tw.measure, tw.slopes.slope, tw.view, tw.flow.depression_hierarchy):
        with pytest.raises(ValueError, match="give cell_size, the side of a cell in metres"):
            function(LAND)


def test_keywords_that_are_misspelt_name_the_nearest():
    for call, words in [
        (lambda: tw.droplets(LAND, cell_size=5.0, desnity=3), "droplets.*`desnity`; did you mean `density`"),
        (lambda: tw.droplets(LAND, cellsize=5.0), "did you mean `cell_size`"),
        (lambda: tw.drain(LAND, cell_sise=5.0), "drain.*did you mean `cell_size`"),
        (lambda: tw.build("hills", cell=3), "build.*did you mean `cells`"),
        (lambda: tw.Recipe("hills", untill="x"), "Recipe.*did you mean `until`"),
        (lambda: tw.flow.fill_depressions(LAND, outlet=[]), "fill_depressions.*did you mean `outlets`"),
        (lambda: tw.build("hills", level=2), "build.*unknown keyword `level`"),
        (lambda: tw.resample(LAND, cell_size=5.0, cell=(60, 90)), "resample.*did you mean `cells`"),
    ]:
        with pytest.raises(TypeError, match=words):
            call()


def test_values_out_of_range_are_refused_in_the_commands_words():
    for call, words in [
        (lambda: tw.droplets(LAND, cell_size=5.0, density=-1), "droplets.density = -1: must be 0 to 1e9 1/km²"),
        (lambda: tw.droplets(LAND, cell_size=5.0, density="much"), 'droplets.density = "much": must be'),
        (lambda: tw.stream_power(LAND, cell_size=5.0, area="d9"), "must be one of multiple, d8"),
        (lambda: tw.thermal(LAND, cell_size=5.0, edges="opne"), 'edges = "opne": must be "open", "closed"'),
        (lambda: tw.Recipe("hils"), "unknown preset `hils`; did you mean `hills`"),
        (lambda: tw.Recipe("hills").with_parameters({"rivrs.threshold": 1}), "unknown stage `rivrs`; did you mean `rivers`"),
        (lambda: tw.Recipe("hills").with_parameters({"rivers": 1}), "parameters = rivers: must be LABEL.PARAMETER"),
        (lambda: tw.Recipe("hills", parameters=3), "parameters = 3: must be an object of names and values"),
        (lambda: tw.build("hills", rock="granit"), "rock = granit: must be one of granite"),
        (lambda: tw.build("hills", age=20), "age = 20: must be 0.1 to 10"),
        (lambda: tw.build("hills", crs="EPSG:32632"), "crs only applies together with origin"),
        (lambda: tw.build("hills", from_file="a.tif"), "from_file only applies to a recipe that begins with an elevation model"),
        (lambda: tw.rivers(LAND, cell_size=5.0, parameters={"meandr": 1}), "unknown parameter `meandr`.*did you mean `meander`"),
        (lambda: tw.rivers(LAND, cell_size=5.0, springs=[(99, 1, 1.0)]), "must be 0 to 59"),
        (lambda: tw.crop(LAND, cell_size=5.0), "window is missing: give .row, column, rows, columns."),
        (lambda: tw.crop(LAND, cell_size=5.0, window=(50, 0, 20, 20)), "must be 1 × 1 cells or more inside 60 × 90 cells"),
        (lambda: tw.resample(LAND, cell_size=5.0, cells=(60, 45)), "so that the cells stay square"),
        (lambda: tw.flow.fill_depressions(LAND, outlets=[(100, 2)]), "outlet = row 100, column 2: must be a cell with data"),
        (lambda: tw.set_threads(0), "threads = 0: must be a whole number from 1 to 1024"),
        (lambda: tw.drain(LAND, cell_size=5.0, method="d16"), "must be one of d8, dinf, mfd"),
        (lambda: tw.drain(LAND, cell_size=5.0, outlets=[(1, 2, 3)]), "must be .row, column."),
        (lambda: tw.drain(LAND, cell_size=5.0, exponent=2.0), "only applies when method is mfd"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()


def test_declared_options_are_documented_and_taken_in_every_form():
    declared = [
        *[(tw.drain, "threshold"), (tw.measure, "search"), (tw.export, "tiles"), (tw.textures, "bits")],
        *[(tw.view, "azimuth"), (tw.view, "haze"), (tw.shade, "legend"), (tw.shade, "ramp"), (tw.mesh, "lods")],
        *[(tw.build, "parameters"), (tw.build, "crs"), (tw.Recipe, "rock"), (tw.rivers, "springs")],
        *[(tw.resample, "cells"), (tw.crop, "window")],
    ]
    for function, option in declared:
        page = inspect.getdoc(function)
        assert option in inspect.signature(function).parameters
        assert f"\n{option} : " in page and "\nExamples\n" in page and not re.search(r"\{(page|options)\}", page), page
    # Options that have an effect only in files are not keywords, and a required option has no default.
    assert not {"set", "sample", "level", "rect"} & set(inspect.signature(tw.build).parameters)
    assert inspect.signature(tw.crop).parameters["window"].default is inspect.Parameter.empty
    found = [
        tw.drain(LAND, cell_size=5.0, **options).drainage_area
        for options in [
            {"outlets": [(3, 4)], "threshold": 2000, "breach": (math.inf, 30)},
            {"outlets": np.array([[3, 4]]), "threshold": np.float32(2000), "breach": {"depth": math.inf, "length": 30.0}},
            {"outlets": zip([3], [4], strict=True), "threshold": np.array(2000.0), "breach": [math.inf, 30]},
        ]
    ]
    assert same(found[0], found[1]) and same(found[0], found[2])
    plain = [tw.drain(LAND, cell_size=5.0, **options).drainage_area for options in [{}, {"breach": None, "outlets": None}, {"breach": False}]]
    assert same(plain[0], plain[1]) and same(plain[0], plain[2]) and not same(plain[0], found[0])
    ring = []
    ring.append(ring)
    with pytest.raises(ValueError, match="outlets = "):
        tw.drain(LAND, cell_size=5.0, outlets=ring)


def test_layers_reach_the_model():
    hard = np.zeros(LAND.shape)
    hard[:, 45:] = 1.0
    soft = tw.droplets(LAND, cell_size=10.0, density=2000.0)
    out = tw.droplets(LAND, cell_size=10.0, density=2000.0, layers={"hardness": hard})
    lost = np.minimum(out - LAND, 0.0)
    assert np.abs(np.minimum(soft - LAND, 0.0)[:, 60:]).sum() > 4 * np.abs(lost[:, 60:]).sum()
    with pytest.raises(ValueError, match="unknown layer `hardnes`; did you mean `hardness`"):
        tw.droplets(LAND, cell_size=10.0, layers={"hardnes": hard})
    with pytest.raises(ValueError, match="is 3 × 3 cells"):
        tw.droplets(LAND, cell_size=10.0, layers={"hardness": hard[:3, :3]})


def test_files(tmp_path):
    terrain = tw.Terrain(LAND, 12.5)
    path = tmp_path / "land.tif"
    tw.write(terrain, path, type="f64")
    back = tw.read(path, xarray=False)
    assert same(back.height, terrain.height) and back.cell_size == 12.5
    with pytest.raises(FileNotFoundError, match="none.tif"):
        tw.read(tmp_path / "none.tif")
    (tmp_path / "text.tif").write_text("no terrain")
    with pytest.raises(ValueError, match="text.tif"):
        tw.read(tmp_path / "text.tif")
    with pytest.raises(ValueError, match="land.doc"):
        tw.write(terrain, tmp_path / "land.doc")
    with pytest.raises(OSError, match="cannot"):
        tw.write(terrain, tmp_path / "no" / "folder" / "land.tif")


FULL = """
import resource, signal
import numpy as np
import thalweg as tw

terrain, run = tw.Terrain(np.random.default_rng(1).normal(0, 100, (200, 200)), 10.0), tw.Run(tw.Recipe("hills", cells=64))
run.step()
run.checkpoint("run.checkpoint")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
for write in (lambda: run.checkpoint("run.checkpoint"), lambda: terrain.write("land.tif"), lambda: tw.view(terrain, "view.png")):
    try:
        write()
    except OSError as error:
        print(error.errno)
assert run.step() is not None
"""


def test_a_disk_without_room_is_an_error_and_leaves_what_was(tmp_path):
    pytest.importorskip("resource")
    done = subprocess.run([sys.executable, "-c", FULL], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (0, ["27"] * 3), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["run.checkpoint"]
    assert tw.Run.resume(tmp_path / "run.checkpoint").steps[0] == 1


def test_slopes_of_a_plane():
    rows, columns = np.mgrid[0:20, 0:30]
    plane = 2.0 * columns - 1.0 * rows
    east, north = tw.slopes.gradient(plane, cell_size=4.0)
    assert (east == 0.5).all() and (north == 0.25).all()
    assert np.allclose(tw.slopes.slope(plane, cell_size=4.0), np.hypot(0.5, 0.25))
    assert np.allclose(tw.slopes.aspect(plane, cell_size=4.0), np.degrees(np.arctan2(-0.5, -0.25)) % 360)


def test_noise_is_a_function_of_the_place():
    whole = tw.noise.fractal((40, 50), 10.0, wavelength=300.0, seed=3)
    part = tw.noise.fractal((10, 20), 10.0, wavelength=300.0, seed=3, origin=(5, 7))
    assert np.array_equal(whole[5:15, 7:27], part)
    assert not np.array_equal(whole, tw.noise.fractal((40, 50), 10.0, wavelength=300.0, seed=4))
    with pytest.raises(ValueError, match="wavelength = 0: must be"):
        tw.noise.fractal((4, 4), 10.0, wavelength=0.0)


def test_a_terrain_gets_other_cells():
    rows, columns = np.mgrid[0:20, 0:30]
    fine = tw.resample((2.0 * columns - rows).astype("f4"), cell_size=10.0, cells=59)
    rows, columns = np.mgrid[0:39, 0:59] / 2
    assert fine.dtype == np.float32 and np.allclose(fine, 2.0 * columns - rows, atol=1e-4), "a plane stays a plane"
    world = tw.Terrain(LAND, 10.0, sea_level=5.0, layers={"hardness": np.where(LAND > 300.0, 1.0, 0.0)})
    coarse = tw.resample(world, cells=(30, 45))
    assert coarse.shape == (30, 45) and coarse.cell_size == pytest.approx(890.0 / 44) and coarse.sea_level == 5.0
    part = tw.crop(world, window=(5, 7, 20, 30))
    assert same(part.height, LAND[5:25, 7:37]) and same(part.layers["hardness"], world.layers["hardness"][5:25, 7:37])
    assert same(tw.crop(LAND, cell_size=10.0, window=np.array([5, 7, 20, 30])), part.height)


def test_rivers_are_those_of_the_model_with_further_places():
    dem = tw.gradient_noise(shape=(64, 80), cell_size=30.0, amplitude=300.0, wavelength=1500.0)
    made = tw.rivers(dem, cell_size=30.0, catchment=2e5, seed=3, parameters={"meander": 0.5})
    whole = tw.models.river_network(dem, cell_size=30.0, catchment=0.2, seed=3, meander=0.5, full=True)
    assert made.fingerprints() == whole.fingerprints() and not same(made.height, dem)
    assert made.layers["river"].max() > 0 and set(made.tables) == {"rivers"}
    spring = tw.rivers(dem, cell_size=30.0, catchment=2e5, seed=3, parameters={"meander": 0.5}, springs=[(10, 12, 25.0)])
    assert spring.layers["discharge"].max() > made.layers["discharge"].max() + 10.0
    # The edges are those of the terrain: with closed ones, water leaves at the mouth.
    walled = tw.Terrain(dem, 30.0, edges="closed")
    assert tw.rivers(walled, mouths=[(0, 40)]).fingerprints() != tw.rivers(walled).fingerprints()


def test_pictures_are_pixels_and_files(tmp_path):
    path = tmp_path / "view.png"
    pixels = tw.view(LAND, path, size=(90, 120), cell_size=10.0)
    assert pixels.shape == (90, 120, 3) and pixels.dtype == np.uint8 and len(np.unique(pixels)) > 20
    assert path.read_bytes().startswith(b"\x89PNG")
    assert tw.shade(LAND, cell_size=10.0).shape == (60, 90, 3)
    # The defaults in the signature are those of the declaration.
    parameters = inspect.signature(tw.view).parameters
    assert (parameters["size"].default, parameters["sun"].default) == ((720, 1080), (315.0, 45.0))
    usual = tw.view(LAND, size=(90, 120), cell_size=10.0, azimuth=205, sun=(315, 45), ramp="land")
    assert np.array_equal(usual, pixels)
    assert not np.array_equal(tw.view(LAND, size=(90, 120), cell_size=10.0, ramp="grey"), pixels)


def test_a_natural_view_has_other_colours_than_the_heights():
    plain = tw.view(LAND, size=(90, 120), cell_size=10.0)
    natural = tw.view(LAND, size=(90, 120), cell_size=10.0, natural=True, haze=5)
    inside = tw.view(LAND, size=(90, 120), cell_size=10.0, natural=True, stand=(300, 550, 60), towards=(0, -5))
    assert not np.array_equal(plain, natural) and not np.array_equal(natural, inside)
    for keywords, words in [
        ({"haze": 5}, "haze only applies together with natural"),
        ({"natural": True, "lens": 20}, "lens only applies together with stand"),
        ({"ramp": "gray"}, "ramp = gray: must be one of land"),
        ({"sun": (0, 0)}, "sun altitude = 0°: must be 1 to 90°"),
        ({"zoom": 99}, "zoom = 99: must be 0.1 to 20"),
        ({"size": (8, 100)}, "size = 100 × 8 pixels"),
    ]:
        with pytest.raises(ValueError, match=words):
            tw.view(LAND, cell_size=10.0, **keywords)


def test_a_mesh_has_the_shape_of_its_terrain(tmp_path):
    files = tw.mesh(LAND, tmp_path / "land.obj", cell_size=10.0, texture="map")
    assert [Path(file).name for file in files] == ["land.obj", "land.mtl", "land.png"]
    lines = (tmp_path / "land.obj").read_text().splitlines()
    points = np.array([line.split()[1:4] for line in lines if line.startswith("v ")], float)
    assert len(points) == LAND.size and np.allclose(np.sort(points[:, 1]), np.sort(LAND.ravel()), atol=1e-3)
    assert np.allclose(np.ptp(points[:, [2, 0]], axis=0), [590.0, 890.0])
    small = tw.mesh(LAND, tmp_path / "land.glb", cell_size=10.0, error=1.0, chunks=(2, 3), lods=2)
    assert (tmp_path / "land.glb").read_bytes().startswith(b"glTF") and len(small) == 1
    for path, keywords, words in [
        ("a.stl", {"texture": "map"}, "cannot store a texture"),
        ("a.obj", {"lods": 2}, "cannot store 2 levels of detail"),
        ("a.xyz", {}, "must have the extension"),
        ("a.glb", {"lods": 9}, "lods = 9: must be"),
        ("a.glb", {"lod_error": 1.0}, "lod_error only applies together with lods"),
        ("a.glb", {"precision": "fine"}, "precision = fine: must be 0.000001 to 512 m, or float"),
    ]:
        with pytest.raises(ValueError, match=words):
            tw.mesh(LAND, tmp_path / path, cell_size=10.0, **keywords)
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".glb", ".mtl", ".obj", ".png"]


def test_accumulation_of_weights_is_exact():
    directions = tw.flow.d8(LAND)
    cells = tw.flow.accumulate_flow(directions)
    weights = RNG.integers(0, 1000, LAND.shape) / 8
    sums = tw.flow.accumulate_flow(directions, weights)
    # Followed by hand, cell by cell.
    steps = {1: (0, 1), 2: (1, 1), 4: (1, 0), 8: (1, -1), 16: (0, -1), 32: (-1, -1), 64: (-1, 0), 128: (-1, 1)}
    counted, added = np.zeros(LAND.shape, int), np.zeros(LAND.shape)
    for start in np.ndindex(LAND.shape):
        at = start
        while True:
            counted[at] += 1
            added[at] += weights[start]
            if directions[at] not in steps:
                break
            at = tuple(np.add(at, steps[directions[at]]))
    assert np.array_equal(cells, counted) and np.array_equal(sums, added)
    for spread in (tw.flow.accumulate_flow_dinf, tw.flow.accumulate_flow_mfd):
        ends = tw.flow.d8(LAND) == 0
        total = spread(LAND, weights)
        assert total[ends].sum() == pytest.approx(weights.sum(), rel=1e-12)
    with pytest.raises(ValueError, match="direction at row 0, column 0 = 3"):
        tw.flow.accumulate_flow(np.full((3, 3), 3, np.uint8))
    with pytest.raises(ValueError, match="weight at row 1, column 2"):
        tw.flow.accumulate_flow(np.zeros((3, 3), np.uint8), np.where(np.arange(9).reshape(3, 3) == 5, np.nan, 1.0))


def test_circles_of_directions_are_refused_by_a_cell():
    two = np.array([[1, 1, 16], [4, 0, 1]], np.uint8)
    ring = np.zeros((5, 6), np.uint8)
    ring[1, 1:3], ring[1:3, 3], ring[3, 2:4], ring[2:4, 1] = 1, 4, 16, 64
    # A tributary comes before the circle that it flows into.
    ring[0, 0] = 2
    diagonal = np.array([[0, 8], [128, 0]], np.uint8)
    for codes, (row, column), steps in [(two, (0, 1), 2), (ring, (1, 1), 8), (diagonal, (0, 1), 2)]:
        words = rf"direction at row {row}, column {column} = \d+: must be on a flow path that ends; .* in {steps} steps"
        for function in (
            tw.flow.accumulate_flow,
            lambda codes: tw.flow.accumulate_flow(codes, np.ones(codes.shape)),
            lambda codes: tw.flow.stream_order(codes, codes != 0),
            lambda codes: tw.flow.stream_order(codes, codes != 0, shreve=True),
            lambda codes: tw.flow.upstream_length(codes, cell_size=5.0),
            lambda codes: tw.flow.outlet_distance(codes, cell_size=5.0),
            lambda codes: tw.flow.chi(codes, cell_size=5.0),
            lambda codes: tw.flow.chi(codes, np.ones(codes.shape), cell_size=5.0),
            lambda codes: tw.flow.label_basins(np.zeros(codes.shape), codes),
        ):
            with pytest.raises(ValueError, match=words):
                function(codes)
    # Over looped edges, water may run round the map.
    east = np.ones((3, 4), np.uint8)
    assert tw.flow.accumulate_flow(east)[:, -1].tolist() == [4, 4, 4]
    with pytest.raises(ValueError, match="row 0, column 0 = 1: .* in 4 steps"):
        tw.flow.accumulate_flow(east, edges={"north": "open", "south": "open", "east": "looped", "west": "looped"})


def test_directions_of_random_codes_are_refused_if_and_only_if_they_have_a_circle():
    steps = {1: (0, 1), 2: (1, 1), 4: (1, 0), 8: (1, -1), 16: (0, -1), 32: (-1, -1), 64: (-1, 0), 128: (-1, 1)}
    refused = 0
    for seed in range(60):
        codes = np.random.default_rng(seed).choice([0, 255, *steps], size=(6, 7), p=[0.3, 0.1, *[0.075] * 8]).astype(np.uint8)
        on_circle = set()
        for start in np.ndindex(codes.shape):
            at, path = start, []
            while codes[at] in steps and at not in path:
                path.append(at)
                after = tuple(np.add(at, steps[codes[at]]))
                if not (0 <= after[0] < 6 and 0 <= after[1] < 7):
                    break
                at = after
            else:
                on_circle |= set(path[path.index(at) :]) if at in path else set()
        if not on_circle:
            assert tw.flow.accumulate_flow(codes)[codes == 255].sum() == 0
            continue
        refused += 1
        row, column = min(on_circle)
        with pytest.raises(ValueError, match=f"direction at row {row}, column {column} = {codes[row, column]}: "):
            tw.flow.accumulate_flow(codes)
    assert 10 < refused < 55


def test_chi_of_a_channel():
    # One river to the east: A falls by a cell at each step up it.
    directions = np.full((1, 6), 1, np.uint8)
    directions[0, -1] = 0
    chi = tw.flow.chi(directions, cell_size=10.0, theta=0.5)
    areas = np.arange(1, 7) * 100.0
    inside = (1.0 / areas) ** 0.5
    wanted = [sum(0.5 * (inside[k] + inside[k + 1]) * 10.0 for k in range(j, 5)) for j in range(6)]
    assert np.allclose(chi[0], wanted, rtol=1e-14)
    with pytest.raises(ValueError, match="theta = 3: must be 0 to 2"):
        tw.flow.chi(directions, cell_size=10.0, theta=3.0)


def test_ksn_is_the_slope_down_the_flow_times_a_power_of_the_drainage_area():
    directions, filled = tw.flow.d8(LAND), tw.flow.fill_depressions(LAND)
    slope = (filled - np.roll(filled, -1, axis=1)) / 10.0
    areas = tw.flow.accumulate_flow(directions) * 100.0
    found, east = tw.flow.ksn(LAND, cell_size=10.0, theta=0.4), directions == 1
    assert east.any() and np.allclose(found[east], (slope * areas**0.4)[east], rtol=1e-14)
    assert not found[directions == 0].any()


def test_the_depressions_of_two_hollows():
    land = np.full((5, 9), 10.0)
    land[2, 2], land[2, 6], land[2, 4] = 4.0, 5.0, 8.0
    land[2, 3], land[2, 5] = 8.0, 8.0
    found = tw.flow.depression_hierarchy(land, cell_size=2.0)
    assert found.pit.tolist()[:2] == [[2, 2], [2, 6]] and found.floor.tolist()[:2] == [4.0, 5.0]
    assert found.parent.tolist() == [2, 2, -1] and found.children.tolist()[2] == [0, 1]
    assert found.spill_level.tolist() == [8.0, 8.0, 10.0]
    assert found.volume.tolist()[:2] == [4.0 * 4.0, 3.0 * 4.0]


def test_breaching_cuts_where_limits_allow():
    done = tw.flow.breach_depressions(LAND, cell_size=10.0)
    assert done.kept == 0 and done.breached > 10 and done.volume > 0.0
    assert same(tw.flow.fill_depressions(done.height), done.height), "no depression is left"
    shallow = tw.flow.breach_depressions(LAND, cell_size=10.0, depth=1.0)
    assert shallow.kept > 0 and (LAND - shallow.height).max() <= 1.0


def test_orders_of_a_small_network():
    # Three sources: two meet, then the third joins what they made.
    directions = np.array([[4, 0, 4, 0], [2, 0, 8, 0], [0, 4, 0, 8], [0, 4, 8, 0], [0, 0, 0, 0]], np.uint8)
    directions[0, 3], directions[1, 3] = 4, 4
    streams = directions != 0
    streams[4, 1] = True
    strahler, shreve = tw.flow.stream_order(directions, streams), tw.flow.stream_order(directions, streams, shreve=True)
    assert strahler[:, 1].tolist() == [0, 0, 2, 2, 2] and shreve[:, 1].tolist() == [0, 0, 2, 2, 3]
    assert strahler[0, 3] == strahler[3, 2] == 1 and not strahler[~streams].any()
    lengths = tw.flow.upstream_length(directions, cell_size=10.0)
    assert lengths[2, 1] == pytest.approx(10 + 10 * 2**0.5) and lengths[4, 1] == pytest.approx(20 + 20 * 2**0.5)
    assert tw.flow.outlet_distance(directions, cell_size=10.0)[0, 0] == pytest.approx(30 + 10 * 2**0.5)


def test_looped_edges_have_no_seam():
    sides = {"north": "open", "south": "open", "east": "looped", "west": "looped"}
    turned = np.roll(LAND, 30, axis=1)
    assert same(tw.flow.fill_depressions(turned, edges=sides), np.roll(tw.flow.fill_depressions(LAND, edges=sides), 30, axis=1))
    assert not same(tw.flow.fill_depressions(turned), np.roll(tw.flow.fill_depressions(LAND), 30, axis=1))
    codes = tw.flow.d8(LAND, edges=sides)
    cells = tw.flow.accumulate_flow(codes, edges=sides)
    assert cells[codes == 0].sum() == LAND.size, "all water leaves, over the seam too"
    assert tw.flow.accumulate_flow(codes)[codes == 0].sum() < LAND.size, "what crosses the seam is lost without it"
    assert np.array_equal(tw.drain(LAND, cell_size=5.0, edges=sides).drainage_area, cells * 25.0)
    assert np.isfinite(tw.flow.ksn(LAND, cell_size=5.0, edges=sides)).all()
    assert tw.flow.label_basins(LAND, edges=sides).max() == (codes == 0).sum()
    with pytest.raises(ValueError, match="needs west looped as well"):
        tw.flow.fill_depressions(LAND, edges={"east": "looped"})
    world = tw.Terrain(LAND, 5.0, edges=sides)
    assert pickle.loads(pickle.dumps(world))._core.edges == world._core.edges == sides
