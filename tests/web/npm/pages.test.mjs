// The example of `dist/` in Chromium, by what it draws; every request goes to the pages' own server, under a path.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Browser, served } from "./browser.mjs";
import { command, folder } from "./package.mjs";

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
