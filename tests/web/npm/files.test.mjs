// What the package gives is what the command writes, sample by sample, as rasterio reads it.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { bytes, command, folder, samples, thalweg } from "./package.mjs";

const place = folder();

test("drain: every raster", () => {
  const land = thalweg.build("hills", { cells: 128, seed: 5 });
  const world = join(place, "world"), out = join(place, "drained");
  command("build", "hills", "--cells", "128", "--seed", "5", "--out", world, "--type", "f64", "--quiet");
  command("drain", join(world, "height.tif"), "-o", out, "--quiet");
  assert.ok(bytes(land.heights()).equals(samples(join(world, "height.tif"))));
  // The file knows nothing of the world's sea or of its layers.
  const bare = new thalweg.Terrain({ heights: land.heights(), rows: land.rows, cols: land.cols, cellSize: land.cellSize });
  const found = thalweg.drain(bare);
  const f32 = (array) => bytes(Float32Array.from(array));
  const cell = land.cellSize ** 2;
  const rasters = {
    filled: f32(found.filled),
    lake_depth: f32(found.lakeDepth),
    directions: bytes(found.directions),
    angles: bytes(found.angles),
    accumulation: f32(Array.from(found.cells, (n) => n * cell)),
    basins: bytes(found.basins),
  };
  for (const [name, mine] of Object.entries(rasters)) {
    const theirs = samples(join(out, `${name}.tif`));
    assert.equal(mine.length, theirs.length, name);
    assert.ok(mine.equals(theirs), name);
  }
  const orders = samples(join(out, "streams.tif"));
  const width = orders.length / found.orders.length;
  const read = (k) => orders.readUIntLE(k * width, width);
  assert.ok(found.orders.every((order, k) => order === read(k)) && found.orders.some((order) => order > 1));
  assert.equal(found.reaches.length, found.summary.reaches ?? found.reaches.length);
  for (const { cells, order } of found.reaches) {
    assert.equal(found.orders[cells[0] * land.cols + cells[1]], order);
  }
});

test("a tile of a world without end", () => {
  const world = new thalweg.World("endless", { tile: 64 });
  for (const [level, x, y] of [[0, 0, 0], [3, 4321, -987], [6, -12345.5, 6789]]) {
    const out = join(place, `tile-${level}`);
    command("tile", "endless", "--level", level, "--at", `${x},${y}`, "--size", "64", "-o", out, "--quiet");
    const heard = [];
    const tile = world.tile(level, x, y, (step) => void heard.push(step));
    assert.ok(bytes(tile.heights()).equals(samples(join(out, "height.tif"))), `height, level ${level}`);
    assert.ok(bytes(tile.layer("catchment")).equals(samples(join(out, "area.tif"))), `catchment, level ${level}`);
    assert.ok(bytes(Uint8Array.from(tile.layer("receiver"))).equals(samples(join(out, "rec.tif"))), `receiver, level ${level}`);
    assert.equal(tile.cellSize, world.width(level));
    if (level === 0) assert.ok(heard.length > 0 && heard.every(({ done, of }) => done <= of));
  }
  assert.throws(() => new thalweg.World("endless").tile(0, 1e6, 1e6, () => false), /stopped/);
});

test("tiles of web maps hold the world's heights", async () => {
  const { inflateSync } = await import("node:zlib");
  const world = new thalweg.World("endless");
  const [first, last] = world.zooms;
  // A pixel of EPSG:3857 that is no wider than a cell: linear between cells, so at its middle between two heights there.
  const zoom = Math.min(last, first + 2), column = 2 ** (zoom - 1), row = 2 ** (zoom - 1) - 1;
  const png = world.png(zoom, column, row);
  const heights = terrainRgb(png, inflateSync);
  assert.equal(heights.length, 256 * 256);
  const pixel = (2 * Math.PI * 6378137) / 256 / 2 ** zoom;
  const level = [0, 1, 2, 3, 4, 5, 6, 7, 8].find((level) => world.width(level) <= pixel);
  const width = world.width(level);
  let worst = 0;
  for (const [i, j] of [[5, 9], [100, 30], [200, 250], [128, 128], [31, 77]]) {
    const x = (j + 0.5) * pixel, south = -(256 - i - 0.5) * pixel;
    // Linear between the four middles of cells round the place.
    const u = x / width - 0.5, v = south / width - 0.5;
    const at = (di, dj) => world.heightAt(level, (Math.floor(u) + dj + 0.5) * width, (Math.floor(v) + di + 0.5) * width);
    const s = u - Math.floor(u), t = v - Math.floor(v);
    const known = (at(0, 0) * (1 - s) + at(0, 1) * s) * (1 - t) + (at(1, 0) * (1 - s) + at(1, 1) * s) * t;
    worst = Math.max(worst, Math.abs(heights[i * 256 + j] - known));
  }
  // Half a step of 0.1 m.
  assert.ok(worst <= 0.0501, `${worst} m`);
  assert.equal(world.png(first - 1, 0, 0), undefined);
  assert.notDeepEqual(world.png(zoom, column, row, "terrarium"), png);
  assert.equal(world.describe("tiles").minzoom, first);
});

/** Heights of a PNG in Mapbox's encoding: 8 bits, red, green, blue. */
function terrainRgb(png, inflate) {
  const view = Buffer.from(png);
  assert.equal(view.toString("latin1", 1, 4), "PNG");
  const parts = [];
  for (let at = 8; at < view.length; at += 12 + view.readUInt32BE(at)) {
    if (view.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(view.subarray(at + 8, at + 8 + view.readUInt32BE(at)));
  }
  assert.deepEqual([view.readUInt32BE(16), view.readUInt32BE(20), view[24], view[25]], [256, 256, 8, 2]);
  const raw = inflate(Buffer.concat(parts)), wide = 256 * 3, out = new Uint8Array(256 * wide);
  for (let i = 0; i < 256; i++) {
    const filter = raw[i * (wide + 1)];
    for (let k = 0; k < wide; k++) {
      const a = k >= 3 ? out[i * wide + k - 3] : 0, b = i ? out[(i - 1) * wide + k] : 0;
      const c = i && k >= 3 ? out[(i - 1) * wide + k - 3] : 0;
      const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
      const paeth = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
      out[i * wide + k] = raw[i * (wide + 1) + 1 + k] + [0, a, b, (a + b) >> 1, paeth][filter];
    }
  }
  return Float64Array.from({ length: 65536 }, (_, k) => -10000 + 0.1 * (65536 * out[3 * k] + 256 * out[3 * k + 1] + out[3 * k + 2]));
}
