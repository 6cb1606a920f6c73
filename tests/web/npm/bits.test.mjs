// The same recipe in WebAssembly and by the command: compares every layer's fingerprint and every stage's mass balance.

import assert from "node:assert/strict";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { LONG, ROOT, bytes, command, folder, samples, thalweg } from "./package.mjs";

const place = folder();

/** Returns the reports of the command and of the package for a recipe or a preset, without times and paths. */
function both(name, words, built) {
  const out = join(place, name);
  command("build", ...words, "--out", out, "--quiet");
  const here = JSON.parse(readFileSync(join(out, "report.json"), "utf8"));
  const { report } = built;
  assert.deepEqual(built.fingerprints(), report.fingerprints);
  const plain = ({ fingerprints, recipe_hash, rows, columns, stages }) => ({
    fingerprints,
    recipe_hash,
    rows,
    columns,
    stages: stages.map(({ seconds: _, ...stage }) => stage),
  });
  return [plain(here), plain(report)];
}

/**
 * Returns a model's recipe on one level of 64 cells. A page has no files, so the current ground replaces a layer that
 * is read from a file.
 */
function small(text) {
  const line = (line) => {
    if (/^cells = /.test(line)) return "cells = 64";
    const given = /^layers = \{ (\w+) = "/.exec(line);
    return given ? `layers = { ${given[1]} = { layer = "ground" } }` : line;
  };
  return text.split("\n").filter((line) => !/^coarsest = /.test(line)).map(line).join("\n");
}

const models = thalweg.models().map(({ name }) => name);

test("every model at 64 cells", async (t) => {
  assert.ok(models.length >= 26);
  for (const model of models) {
    await t.test(model, () => {
      const text = small(readFileSync(join(ROOT, `recipes/models/${model}.toml`), "utf8"));
      const file = join(place, `${model}.toml`);
      writeFileSync(file, text);
      const land = thalweg.build(text);
      const [here, there] = both(model, [file], land);
      assert.deepEqual(there, here);
      assert.equal(Math.max(land.rows, land.cols), 64);
      land.free();
    });
  }
});

test("presets, whose files are in the module", async (t) => {
  const cells = LONG ? 256 : 64;
  // The short run tests the first preset, which uses most features, and those that begin with an elevation model.
  const presets = thalweg.presets().filter(({ recipe }, k) => LONG || k === 0 || /^from = /m.test(recipe));
  if (LONG && process.env.THALWEG_LONG_LIST) {
    appendFileSync(process.env.THALWEG_LONG_LIST, `tests/web/npm/bits.test.mjs\tpresets\t${presets.length} presets at 256 cells\n`);
  }
  assert.ok(presets.length > 1);
  for (const { name, recipe } of presets) {
    await t.test(name, () => {
      const isGiven = /^from = /m.test(recipe);
      const at = isGiven ? [] : ["--cells", String(cells)];
      const land = thalweg.build(name, isGiven ? {} : { cells });
      assert.ok(land.rows > 0);
      const [here, there] = both(name, [name, ...at], land);
      assert.deepEqual(there, here);
      land.free();
    });
  }
});

test("options have the effect that they have in the command", () => {
  const words = ["--cells", "48", "--seed", "9", "--rain", "2", "--rock", "granite", "--set", "uplift.years=2e6", "--until", "uplift"];
  const options = { cells: 48, seed: 9n, rain: 2, rock: "granite", parameters: { "uplift.years": 2e6 }, until: "uplift" };
  const land = thalweg.build("hills", options);
  const [here, there] = both("hills-options", ["hills", ...words], land);
  assert.deepEqual(there, here);
  land.free();
});

test("a model over ground of one's own is what a recipe of that model gives", () => {
  const rows = 48, cols = 64;
  const heights = Float64Array.from({ length: rows * cols }, (_, k) => 300 + 80 * Math.sin(k / 7) + 40 * Math.cos((k % cols) / 5));
  const file = join(place, "own.npy");
  const head = `{'descr': '<f8', 'fortran_order': False, 'shape': (${rows}, ${cols}), }`;
  const padded = head.padEnd(Math.ceil((11 + head.length) / 64) * 64 - 11) + "\n";
  const size = Buffer.alloc(2);
  size.writeUInt16LE(padded.length);
  writeFileSync(file, Buffer.concat([Buffer.from("\x93NUMPY\x01\x00", "latin1"), size, Buffer.from(padded), Buffer.from(heights.buffer)]));
  const land = new thalweg.Terrain({ height: heights, rows, cols, cellSize: 10 });
  assert.deepEqual(land.height(), heights.map((metres) => Math.round(metres * 65536) / 65536));
  const erosion = thalweg.models().filter(({ family, needs }) => family === "erosion" && needs.length === 0).slice(0, LONG ? undefined : 3);
  assert.ok(erosion.length >= 3);
  for (const { name } of erosion) {
    const out = join(place, `${name}-own.tif`);
    command("apply", name, file, "--cell-size", "10", "-o", out, "--type", "f64", "--quiet");
    const eroded = thalweg.apply(name, land);
    assert.ok(bytes(eroded.height()).equals(samples(out)), name);
  }
});
