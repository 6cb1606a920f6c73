// The examples of `dist/` in Chromium, by what they draw; every request goes to the pages' own server, under a path.

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

/** How many colours there are, each channel in 16 steps. */
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

test("MapLibre: a world without end, its heights as the map tells them", async () => {
  await browser.go("about:blank");
  await browser.go(`${server.address}examples/maplibre/index.html`);
  await browser.until('document.body.dataset.idle === "true"', 240);
  const pixels = await browser.colours("#view canvas");
  assert.ok(kinds(pixels) > 30, `${kinds(pixels)} colours`);
  await keep("maplibre.png");
  // Where the map says that there are heights, they are those of the tile, linear between its pixels' middles.
  const found = await browser.value(`(async () => {
    const z = Math.min(map.getSource("ground").maxzoom, Math.floor(map.getZoom()));
    const bounds = map.getBounds(), answers = [];
    for (let k = 0; k < 24; k++) {
      const lng = bounds.getWest() + (bounds.getEast() - bounds.getWest()) * (0.3 + 0.4 * ((k * 7) % 24) / 24);
      const lat = bounds.getSouth() + (bounds.getNorth() - bounds.getSouth()) * (0.3 + 0.4 * (k % 6) / 6);
      answers.push({ lng, lat, told: map.queryTerrainElevation([lng, lat]), centre: map.transform.elevation });
    }
    return { z, answers };
  })()`);
  const known = await heightsOf(found);
  assert.ok(known.length >= 20, `${known.length} places`);
  for (const { told, tile, lng, lat } of known) assert.ok(Math.abs(told - tile) <= 0.1, `${lng}, ${lat}: the map has ${told} m, the tile ${tile} m`);
  nothingElsewhere();
});

/** Heights of the package's own world where the map was asked: the zoom at which it holds terrain is found by the first place. */
async function heightsOf({ z, answers }) {
  const world = new thalweg.World("endless");
  const read = (zoom) => {
    const tiles = new Map();
    const at = (x, y) => {
      const key = `${x >> 8}/${y >> 8}`;
      if (!tiles.has(key)) tiles.set(key, terrainRgb(world.png(zoom, x >> 8, y >> 8)));
      return tiles.get(key)?.[(y & 255) * 256 + (x & 255)];
    };
    return ({ lng, lat }) => {
      const all = 256 * 2 ** zoom;
      const u = (lng / 360 + 0.5) * all, v = (0.5 - Math.asinh(Math.tan((lat * Math.PI) / 180)) / (2 * Math.PI)) * all;
      const [a, b, s, t] = [Math.floor(u), Math.floor(v), u % 1, v % 1];
      return (at(a, b) * (1 - s) + at(a + 1, b) * s) * (1 - t) + (at(a, b + 1) * (1 - s) + at(a + 1, b + 1) * s) * t;
    };
  };
  const given = answers.filter(({ told }) => told !== null);
  for (const zoom of [z, z - 1, z - 2, z + 1]) {
    const height = read(zoom);
    const known = given.map((answer) => ({ ...answer, tile: height(answer) }));
    if (known.every(({ told, tile }) => Math.abs(told - tile) <= 0.1)) return known;
    if (zoom === z + 1) return known;
  }
  return [];
}
