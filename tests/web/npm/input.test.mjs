// Invalid input, and memory.

import assert from "node:assert/strict";
import { test } from "node:test";

import { thalweg } from "./package.mjs";

const { Terrain, World, apply, build, drain, textures } = thalweg;

/** Asserts that a call throws an Error whose message matches all of `words`. */
function refused(call, ...words) {
  assert.throws(call, (error) => {
    assert.ok(error instanceof Error);
    for (const word of words) assert.match(error.message, word);
    return true;
  });
}

const flat = (more = {}) => new Terrain({ height: new Float32Array(64 * 64).fill(7), rows: 64, cols: 64, cellSize: 10, ...more });

test("names, values and what is allowed are said", () => {
  refused(() => build("alpin"), /preset `alpin`/, /did you mean `alpine`/);
  refused(() => build("hills", { cell: 64 }), /build option `cell`/, /`cells`/);
  refused(() => build("hills", { cells: 1.5 }), /cells = 1\.5/, /whole number/);
  refused(() => build("hills", { cells: -4 }), /cells = -4/);
  refused(() => build("hills", { seed: -1n }), /seed = /);
  refused(() => build("hills", { progress: 3 }), /progress = 3/, /function/);
  refused(() => build("hills", 7), /an object/);
  refused(() => build("hills", { cells: 64, until: "nothing" }), /nothing/);
  refused(() => build("hills", { cells: 64, set: { nowhere: { x: 1 } } }), /nowhere/);
  refused(() => build("hills", { parameters: { "nowhere.x": 1 } }), /nowhere/);
  refused(() => build("hills", { parameters: { x: 1 } }), /parameters = x/);
  refused(() => build("hills", { parameters: { "uplift.years": 1 }, set: { uplift: { years: 1 } } }), /set is an earlier name of parameters/);
  refused(() => build("hills", { rain: 11 }), /rain = 11: must be 0\.1 to 10/);
  refused(() => build("hills", { fromFile: "dem.tif" }), /fromFile only applies outside a browser/);
  refused(() => build("hills", { crs: "EPSG:32632" }), /crs only applies together with origin/);
  refused(() => build("hills", { preview: true, target: "unreal" }), /does not apply together with/);
  refused(() => drain(flat(), { runoff: 300 }), /runoff only applies outside a browser/);
  refused(() => drain(flat(), { thresold: 1 }), /drain option `thresold`; did you mean `threshold`/);
  refused(() => apply("thermal", flat(), { talus: 30 }, { parameters: { talus: 30 } }), /parameters is given as an argument and in the options/);
  refused(() => apply("thermal", flat(), {}, { seed: 1.5 }), /seed = 1\.5/);
  refused(() => new World("hills", { cell: 64 }), /World option `cell`; did you mean `cells`/);
  refused(() => new World("hills", { tile: 5 }), /tile = 5: must be a whole number from 16 to 4096/);
  refused(() => apply("thermel", flat()), /model `thermel`/, /`thermal`/);
  refused(() => apply("thermal", flat(), { talus: "steep" }), /thermal\.talus/, /0 to 89/);
  refused(() => apply("thermal", flat(), { tallus: 3 }), /tallus/, /talus/);
  refused(() => drain(flat(), { breach: { depth: 3 } }), /length/);
  refused(() => drain(flat(), { outlets: [[1, 2, 3]] }), /outlets/, /\[row, column\]/);
  refused(() => drain(flat(), { outlets: [[64, 0]] }), /64/);
  refused(() => textures(flat(), { bits: 9 }), /bits = 9/, /8, 16/);
  refused(() => textures(flat(), { progress: () => true }), /progress/);
  refused(() => drain(flat(), { threshold: -5n }), /threshold = -5/);
  refused(() => drain(flat(), { exponent: 2 }), /only applies when method is mfd/);
  refused(() => new World("hills", { tile: 5 }), /5/, /16/);
  refused(() => new World("endless").png(8, 128, 128, "rgb"), /encoding = "?rgb/, /terrain-rgb/);
  refused(() => new World("endless").tile(99, 0, 0), /99/);
});

test("an earlier name gives the same world as the name of today", () => {
  const today = build("hills", { cells: 64, seed: 5, parameters: { "uplift.years": 1e6 } });
  const earlier = build("hills", { cells: 64, seed: 5n, set: { uplift: { years: 1e6 } } });
  assert.deepEqual(today.fingerprints(), earlier.fingerprints());
  assert.equal(today.recipe, earlier.recipe);
  assert.match(today.recipe, /^years = (1000000(\.0)?|1e6)$/m);
  assert.notDeepEqual(build("hills", { cells: 64, seed: 5 }).fingerprints(), today.fingerprints());
  // Null and undefined stand for the default.
  assert.equal(build("hills", { cells: 64, seed: null, rain: undefined }).recipe, build("hills", { cells: 64 }).recipe);
});

test("earlier names of arrays, methods and progress give the same as those of today", () => {
  const heights = Float64Array.from({ length: 64 * 64 }, (_, k) => (k % 64) * 3 + Math.floor(k / 64));
  const land = new Terrain({ heights, rows: 64, cols: 64, cellSize: 10 });
  assert.deepEqual(land.fingerprints(), flat({ height: heights }).fingerprints());
  assert.deepEqual(land.heights(), land.height());
  assert.deepEqual(land.heightsF32(), land.heightF32());
  refused(() => flat({ heights }), /heights is an earlier name of height/);
  const found = drain(land);
  for (const [today, earlier] of [["flowAngle", "angles"], ["basin", "basins"], ["streamOrder", "orders"]]) {
    assert.ok(found[today].length === 64 * 64 && found[today] === found[earlier], today);
  }
  apply("thermal", land, { steps: 2 }, {
    progress: ({ label, stage, total, of }) => assert.ok(label.length > 0 && label === stage && total > 0 && total === of),
  });
  const world = new World("endless");
  assert.ok(world.cellSize(1) > 0 && world.cellSize(1) === world.width(1) && world.cellSize(0) === 2 * world.cellSize(1));
});

test("recipes that are broken, and such as need files", () => {
  refused(() => build("name = 3\n[[stage"), /recipe/, /line 2/);
  refused(() => build("extent = [1000.0, 1000.0]\ncells = 32\n[[stage]]\nmodel = \"thermo\"\n"), /thermo/, /thermal/);
  refused(() => build("extent = [1000.0, 1000.0]\ncells = 32\nnews = 1\n"), /news/);
  refused(() => build("\0=\n"), /recipe/);
  const layer = 'extent = [1000.0, 1000.0]\ncells = 32\n[[stage]]\nmodel = "thermal"\nlayers = { hardness = "there.tif" }\n';
  refused(() => build(layer), /there\.tif/);
});

test("land that is no land", () => {
  const of = (height, more = {}) => () => new Terrain({ height, rows: 2, cols: 2, cellSize: 1, ...more });
  refused(of(new Float32Array(3)), /height = 3 numbers/, /2 × 2/);
  refused(of([NaN, NaN, NaN, NaN]), /NaN/);
  refused(of([Infinity, 0, 0, 0]), /height at row 0, column 0 = inf/);
  refused(of([1e9, 0, 0, 0]), /1000000000|1e9/);
  refused(of("heights"), /typed array/);
  refused(of(new DataView(new ArrayBuffer(4))), /typed array/);
  refused(of(new BigInt64Array(4)), /typed array/);
  refused(of([1, 2, 3, 4], { cellSize: 0 }), /0/);
  refused(of([1, 2, 3, 4], { cellSize: "5" }), /cellSize = 5/);
  refused(of([1, 2, 3, 4], { edges: "wall" }), /wall/, /open/);
  refused(of([1, 2, 3, 4], { layers: { hardnes: [1, 2, 3, 4] } }), /hardnes/);
  refused(of([1, 2, 3, 4], { layers: { hardness: [1, 2] } }), /hardness = 2 numbers/);
  refused(() => new Terrain(), /rows/);
  refused(() => new Terrain({ rows: 2, cols: 2, cellSize: 1 }), /height is missing/);
  refused(() => new Terrain({ rows: 4294967295, cols: 4294967295, cellSize: 1, height: [] }), /4294967295/);
});

test("holes stay holes", () => {
  const heights = Float64Array.from({ length: 64 * 64 }, (_, k) => (k % 64) * 3 + Math.floor(k / 64));
  heights[70] = NaN;
  heights[99] = -9999;
  const land = flat({ height: heights, nodata: -9999 });
  assert.equal(land.nodataCount, 2);
  const eroded = apply("thermal", land, { steps: 3 });
  const after = eroded.height();
  assert.ok(Number.isNaN(after[70]) && Number.isNaN(after[99]) && after.filter(Number.isNaN).length === 2);
  assert.ok(Number.isNaN(drain(land).filled[70]));
});

test("a run is ended by false, and by what its page throws", () => {
  let told = 0;
  refused(() => build("hills", { cells: 64, progress: () => ++told < 3 }), /stopped/);
  assert.equal(told, 3);
  class Mine extends Error {}
  assert.throws(() => build("hills", { cells: 64, progress: () => { throw new Mine("mine"); } }), Mine);
  assert.throws(() => drain(flat(), { progress: () => { throw new Mine("mine"); } }), Mine);
  refused(() => drain(flat(), { progress: () => false }), /stopped/);
});

test("more than a GiB is refused before it is taken", () => {
  const before = process.memoryUsage().rss;
  const text = 'extent = [1e5, 1e5]\ncells = 20000\n[[stage]]\nmodel = "gradient_noise"\n';
  refused(() => build(text), /GiB/, /1073741824/);
  assert.ok(process.memoryUsage().rss - before < 100e6);
  thalweg.allowMemory(1 << 20);
  refused(() => build(text.replace("20000", "2000")), /1048576/);
  thalweg.allowMemory(2 ** 30);
  assert.ok(build(text.replace("20000", "200")).rows === 200);
  refused(() => thalweg.allowMemory(2 ** 33), /WebAssembly can address with 32 bits/);
});

test("memory comes back", () => {
  const small = 'extent = [640.0, 640.0]\ncells = 64\n[[stage]]\nmodel = "gradient_noise"\namplitude = 90.0\n';
  const once = () => {
    const land = build(small);
    drain(land);
    apply("thermal", land, { steps: 2 }).free();
    land.free();
  };
  for (let k = 0; k < 20; k++) once();
  const module = thalweg.initSync(); // returns the existing module
  const before = module.memory.buffer.byteLength;
  for (let k = 0; k < 200; k++) once();
  assert.equal(module.memory.buffer.byteLength, before);
});
