// Compares the package's results with the command's files, sample by sample, as rasterio reads them.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { LONG, bytes, command, folder, samples, thalweg } from "./package.mjs";
import { terrainRgb } from "./png.mjs";

const place = folder();
/** The first tile of a world without end takes a minute, so the short run uses a small world. */
const text = thalweg.presets().find(({ name }) => name === (LONG ? "endless" : "hills")).recipe;
const WORLD = LONG ? text : text.replace(/^cells = .*/m, "cells = 32");
const file = join(place, "world.toml");
writeFileSync(file, WORLD);

test("drain: every raster", () => {
  const land = thalweg.build("hills", { cells: 128, seed: 5 });
  const world = join(place, "world"), out = join(place, "drained");
  command("build", "hills", "--cells", "128", "--seed", "5", "--out", world, "--type", "f64", "--quiet");
  command("drain", join(world, "height.tif"), "-o", out, "--quiet");
  assert.ok(bytes(land.height()).equals(samples(join(world, "height.tif"))));
  // The file contains neither the world's sea level nor its layers.
  const bare = new thalweg.Terrain({ height: land.height(), rows: land.rows, cols: land.cols, cellSize: land.cellSize });
  const found = thalweg.drain(bare);
  const f32 = (array) => bytes(Float32Array.from(array));
  const cell = land.cellSize ** 2;
  const rasters = {
    filled: f32(found.filled),
    lake_depth: f32(found.lakeDepth),
    flow_direction: bytes(found.flowDirection),
    angles: bytes(found.flowAngle),
    drainage_area: bytes(Float64Array.from(found.cells, (n) => n * cell)),
    basins: bytes(found.basin),
  };
  for (const [name, mine] of Object.entries(rasters)) {
    const theirs = samples(join(out, `${name}.tif`));
    assert.equal(mine.length, theirs.length, name);
    assert.ok(mine.equals(theirs), name);
  }
  const orders = samples(join(out, "streams.tif"));
  const width = orders.length / found.streamOrder.length;
  const read = (k) => orders.readUIntLE(k * width, width);
  assert.ok(found.streamOrder.every((order, k) => order === read(k)) && found.streamOrder.some((order) => order > 1));
  assert.equal(found.reaches.length, found.summary.streams.reaches);
  for (const { cells, order } of found.reaches) {
    assert.equal(found.streamOrder[cells[0] * land.cols + cells[1]], order);
  }
});

test("a tile of a world without end", () => {
  const world = new thalweg.World(WORLD, { tile: 64 });
  for (const [level, x, y] of [[0, 0, 0], [3, 4321, 987], [6, 2345.5, 6789]]) {
    const out = join(place, `tile-${level}`);
    command("tile", file, "--level", level, "--at", `${x},${y}`, "--side", "64", "-o", out, "--quiet");
    const heard = [];
    const tile = world.tile(level, x, y, (step) => void heard.push(step));
    assert.ok(bytes(tile.height()).equals(samples(join(out, "height.tif"))), `height, level ${level}`);
    const area = bytes(tile.layer("drainage_area")), codes = bytes(Uint8Array.from(tile.layer("flow_direction")));
    assert.ok(area.equals(samples(join(out, "drainage_area.tif"))), `drainage area, level ${level}`);
    assert.ok(codes.equals(samples(join(out, "flow_direction.tif"))), `flow direction, level ${level}`);
    // The names of earlier versions are accepted.
    assert.ok(bytes(tile.layer("area")).equals(area) && bytes(Uint8Array.from(tile.layer("rec"))).equals(codes));
    assert.equal(tile.cellSize, world.cellSize(level));
    if (level === 0) assert.ok(heard.length > 0 && heard.every(({ label, done, total }) => label.length > 0 && done <= total));
  }
  assert.throws(() => new thalweg.World(WORLD).tile(0, 10, 10, () => false), /stopped/);
});

test("tiles of web maps hold the world's heights", () => {
  const world = new thalweg.World(WORLD, { tile: 64 });
  const [first, last] = world.zooms;
  const zoom = Math.min(last, first + 5), column = 2 ** (zoom - 1), row = 2 ** (zoom - 1);
  const png = world.png(zoom, column, row);
  const heights = terrainRgb(png);
  assert.equal(heights.length, 256 * 256);
  const pixel = (2 * Math.PI * 6378137) / 256 / 2 ** zoom;
  const level = [0, 1, 2, 3, 4, 5, 6, 7, 8].find((level) => world.cellSize(level) <= pixel);
  const width = world.cellSize(level);
  let worst = 0;
  // Interpolates the height linearly between the centres of the four cells around the position.
  const height = (x, south) => {
    const u = x / width - 0.5, v = south / width - 0.5;
    const at = (di, dj) => world.heightAt(level, (Math.floor(u) + dj + 0.5) * width, (Math.floor(v) + di + 0.5) * width);
    const s = u - Math.floor(u), t = v - Math.floor(v);
    return (at(0, 0) * (1 - s) + at(0, 1) * s) * (1 - t) + (at(1, 0) * (1 - s) + at(1, 1) * s) * t;
  };
  // A pixel is the mean of samples. Along either axis there are as many samples as cells in the pixel's width.
  const parts = Math.max(1, Math.ceil(pixel / width - 1e-9));
  for (const [i, j] of [[5, 9], [100, 30], [200, 250], [128, 128], [31, 77]]) {
    let known = 0;
    for (let k = 0; k < parts * parts; k++) {
      const [a, b] = [(Math.floor(k / parts) + 0.5) / parts, ((k % parts) + 0.5) / parts];
      known += height((j + b) * pixel, (i + a) * pixel) / parts ** 2;
    }
    worst = Math.max(worst, Math.abs(heights[i * 256 + j] - known));
  }
  // The tolerance is half a step of 0.1 m.
  assert.ok(worst <= 0.0501, `${worst} m`);
  assert.equal(world.png(first - 1, 0, 0), undefined);
  assert.notDeepEqual(world.png(zoom, column, row, "terrarium"), png);
  assert.equal(world.describe("tiles").minzoom, first);
});
