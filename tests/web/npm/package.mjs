// The package under test, and the command that it is compared with. Environment variables set the folders and programs
// (`cargo xtask test`).

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { pathToFileURL } from "node:url";

export const ROOT = new URL("../../../", import.meta.url).pathname;
export const NPM = process.env.THALWEG_NPM ?? join(ROOT, "dist/npm");
export const LONG = process.env.THALWEG_LONG === "1";

const wasm = new WebAssembly.Module(readFileSync(join(NPM, "thalweg_bg.wasm")));
export const thalweg = await import(pathToFileURL(join(NPM, "thalweg.js")).href);
thalweg.initSync({ module: wasm });

/** Creates a temporary folder that is removed after the tests. */
export function folder() {
  const made = mkdtempSync(join(tmpdir(), "thalweg-web-"));
  after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** Runs the command `thalweg` of this machine. */
export function command(...words) {
  const own = process.env.THALWEG ?? join(ROOT, "target/debug/thalweg");
  return execFileSync(own, words, { encoding: "utf8", maxBuffer: 1 << 28 });
}

/** Returns the samples of a GeoTIFF as rasterio reads them: their bytes, little-endian. */
export function samples(path) {
  const script = "import sys, rasterio; sys.stdout.buffer.write(rasterio.open(sys.argv[1]).read(1).tobytes())";
  const python = process.env.PYTHON ?? join(ROOT, ".venv/bin/python");
  return execFileSync(python, ["-c", script, path], { maxBuffer: 1 << 28 });
}

/** Returns the bytes of a typed array. */
export function bytes(array) {
  return Buffer.from(array.buffer, array.byteOffset, array.byteLength);
}
