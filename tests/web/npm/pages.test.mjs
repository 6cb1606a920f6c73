// Tests the examples of `dist/` by what Chromium draws; every request goes to the pages' own server, under a path.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Browser, served } from "./browser.mjs";
import { command, folder, thalweg } from "./package.mjs";
import { terrainRgb } from "./png.mjs";

const DIST = process.env.THALWEG_DIST;
const place = folder();
let server, browser;

before(async () => {
  server = await served(DIST);
  browser = await Browser.open(join(place, "profile"));
});
after(async () => {
  await browser?.close();
  server?.close();
});

/** Returns the number of different colours, with 16 steps per channel. */
function kinds(pixels) {
  const seen = new Set();
  for (let k = 0; k < pixels.length; k += 4) seen.add(`${pixels[k] >> 4},${pixels[k + 1] >> 4},${pixels[k + 2] >> 4}`);
  return seen.size;
}

async function keep(name) {
  if (process.env.THALWEG_PICTURES) writeFileSync(join(process.env.THALWEG_PICTURES, name), await browser.picture());
}

function nothingElsewhere() {
  const elsewhere = browser.requests.filter((url) => !/^(data|blob|about|chrome):/.test(url) && !url.startsWith(server.address));
  assert.deepEqual(elsewhere, []);
  assert.deepEqual(browser.complaints, []);
}

test("three.js: a world turns, and is the command's", async () => {
  await browser.go(`${server.address}examples/three/index.html#alpine,128`);
  await browser.until("Number(document.body.dataset.frames) > 2");
  const first = await browser.colours("#view");
  assert.ok(kinds(first) > 30, `${kinds(first)} colours`);
  await keep("three.png");
  await browser.until(`Number(document.body.dataset.frames) > ${Number(await browser.value("document.body.dataset.frames")) + 5}`);
  assert.notDeepEqual(await browser.colours("#view"), first);
  const print = await browser.value("document.body.dataset.fingerprint");
  const out = join(place, "alpine");
  command("build", "alpine", "--cells", "128", "--out", out, "--quiet");
  assert.equal(print, JSON.parse(readFileSync(join(out, "report.json"), "utf8")).fingerprints.ground);
  nothingElsewhere();
});

test("three.js: what is wrong is said", async () => {
  await browser.go("about:blank");
  await browser.go(`${server.address}examples/three/index.html#alpin,128`);
  await browser.until('document.querySelector("#words")?.textContent.includes("did you mean `alpine`")');
});

test("MapLibre: tiles are made as the map asks for them", async () => {
  await browser.go("about:blank");
  await browser.go(`${server.address}examples/maplibre/index.html#endless`);
  await browser.until("Number(document.body.dataset.idle) > 0");
  // An idle map has drawn everything, and does not redraw when the canvas is read, so take a screenshot.
  const seen = await browser.pixels();
  assert.ok(kinds(seen) > 30, `${kinds(seen)} colours`);
  await keep("maplibre.png");
  // The elevation at the centre is that of the world, within the difference between two interpolations.
  const height = await browser.value("map.queryTerrainElevation(map.getCenter()) / map.getTerrain().exaggeration");
  const tile = new thalweg.World("endless").png(8, 128, 128);
  const corner = terrainRgb(tile)[0];
  assert.ok(Math.abs(height - corner) < 5, `${height} m, ${corner} m`);
  nothingElsewhere();
});

test("MapLibre: what is wrong is said", async () => {
  await browser.go("about:blank");
  await browser.go(`${server.address}examples/maplibre/index.html#endles`);
  await browser.until('document.querySelector("#words")?.textContent.includes("did you mean `endless`")');
});
