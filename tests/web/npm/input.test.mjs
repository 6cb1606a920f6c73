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
  refused(() => build("hills", { cells: 64, parameters: { "nowhere.x": 1 } }), /nowhere/);
  refused(() => build("hills", { cells: 64, set: { nowhere: { x: 1 } } }), /nowhere/);
  refused(() => build("hills", { parameters: 3 }), /parameters = 3/, /an object of names and values/);
  refused(() => build("hills", { parameters: { years: 1 } }), /^parameters = years: must be LABEL\.PARAMETER/);
  refused(() => build("hills", { age: 20 }), /age = 20/, /0\.1 to 10/);
  refused(() => build("hills", { rock: "chees" }), /rock = chees/, /granite/);
  refused(() => build("hills", { fromFile: "a.tif" }), /^fromFile only applies when a program that has files/);
  refused(() => apply("thermel", flat()), /model `thermel`/, /`thermal`/);
  refused(() => apply("thermal", flat(), { talus: "steep" }), /thermal\.talus/, /0 to 89/);
  refused(() => apply("thermal", flat(), { tallus: 3 }), /tallus/, /talus/);
  refused(() => drain(flat(), { breach: { depth: 3 } }), /length/);
  refused(() => drain(flat(), { outlets: [[1, 2, 3]] }), /outlets/, /\[row, column\]/);
  refused(() => drain(flat(), { outlets: [[64, 0]] }), /64/);
  refused(() => drain(flat(), { outletsAt: [[1, 2]] }), /^outletsAt only applies when/);
  refused(() => drain(flat(), { methd: "d8" }), /drain option `methd`/, /`method`/);
  refused(() => drain(flat(), { method: "d9" }), /method = d9/, /d8, dinf, mfd/);
  refused(() => textures(flat(), { bits: 9 }), /bits = 9/, /8, 16/);
  refused(() => textures(flat(), { progress: () => true }), /progress/);
  refused(() => drain(flat(), { threshold: -5n }), /threshold = -5/);
  refused(() => drain(flat(), { exponent: 2 }), /only applies when method is mfd/);
  refused(() => new World("hills", { tile: 5 }), /5/, /16/);
  refused(() => new World("endless").png(8, 128, 128, "rgb"), /encoding = "?rgb/, /terrain-rgb/);
  refused(() => new World("endless").tile(99, 0, 0), /99/);
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
  refused(of([1, 2, 3, 4], { cellSize: 0 }), /cellSize = 0/, /0\.001 to 100000 m/);
  refused(of([1, 2, 3, 4], { cellSise: 1 }), /Terrain option `cellSise`/, /`cellSize`/);
  refused(of([1, 2, 3, 4], { cellSize: "5" }), /cellSize = 5/);
  refused(of([1, 2, 3, 4], { edges: "wall" }), /edges = wall/, /open, closed or looped/);
  refused(of([1, 2, 3, 4], { edges: { north: "looped" } }), /looped/);
  refused(of([1, 2, 3, 4], { layers: { hardnes: [1, 2, 3, 4] } }), /hardnes/);
  refused(of([1, 2, 3, 4], { layers: { hardness: [1, 2] } }), /hardness = 2 numbers/);
  refused(() => new Terrain(), /rows/);
  refused(() => new Terrain({ rows: 2, cols: 2, cellSize: 1 }), /height/);
  refused(() => new Terrain({ rows: 2, cellSize: 1, height: [1, 2] }), /cols/);
  refused(() => new Terrain({ rows: 4294967295, cols: 4294967295, cellSize: 1, height: [] }), /4294967295/);
});

test("holes stay holes", () => {
  const height = Float64Array.from({ length: 64 * 64 }, (_, k) => (k % 64) * 3 + Math.floor(k / 64));
  height[70] = NaN;
  height[99] = -9999;
  const land = flat({ height, nodata: -9999 });
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

test("the names of earlier versions work", () => {
  const { height, ...grid } = { height: new Float32Array(64 * 64).map((_, k) => k % 64), rows: 64, cols: 64, cellSize: 10 };
  const [now, before] = [new Terrain({ height, ...grid }), new Terrain({ heights: height, ...grid })];
  assert.deepEqual(before.fingerprints(), now.fingerprints());
  assert.deepEqual(now.heights(), now.height());
  assert.deepEqual(now.heightsF32(), now.heightF32());
  const found = drain(now);
  assert.deepEqual([found.angles, found.basins, found.orders], [found.flowAngle, found.basin, found.streamOrder]);
  const world = new World("hills", { cells: 64 });
  assert.equal(world.width(0), world.cellSize(0));
  const heard = [];
  const set = build("hills", { cells: 64, set: { uplift: { years: 2e6 } }, progress: (step) => void heard.push(step) });
  const plain = build("hills", { cells: 64, parameters: { "uplift.years": 2e6 } });
  assert.deepEqual(set.fingerprints(), plain.fingerprints());
  assert.notDeepEqual(plain.fingerprints(), build("hills", { cells: 64 }).fingerprints());
  assert.ok(heard.length > 0 && heard.every(({ stage, label, of, total }) => stage === label && of === total));
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
