// Tests the package's types: the compiler accepts an example and refuses its invalid lines, and every export has a
// type. Also tests that the package can be packed.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { NPM, ROOT, folder, thalweg } from "./package.mjs";

const place = folder();
const TYPES = join(NPM, "thalweg.d.ts");

test("an example passes tsc --strict, and each line that is wrong is seen", () => {
  mkdirSync(join(place, "node_modules/thalweg"), { recursive: true });
  for (const name of ["package.json", "thalweg.d.ts", "threads.d.ts"]) copyFileSync(join(NPM, name), join(place, "node_modules/thalweg", name));
  copyFileSync(join(ROOT, "tests/web/npm/example.ts"), join(place, "example.ts"));
  writeFileSync(join(place, "package.json"), '{ "type": "module" }');
  const tsc = process.env.TSC ?? join(ROOT, "target/npm-web/node_modules/typescript/bin/tsc");
  const words = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom,esnext.disposable", "example.ts"];
  execFileSync(process.execPath, [tsc, ...words], { cwd: place, stdio: ["ignore", "inherit", "inherit"] });
});

test("what is typed is there, and what is there is typed", () => {
  const text = readFileSync(TYPES, "utf8");
  const typed = [...text.matchAll(/^export (?:function|class) (\w+)/gm)].map(([, name]) => name).sort();
  const there = Object.keys(thalweg).filter((name) => !["default", "begin"].includes(name)).sort(); // begin runs by itself
  assert.deepEqual(there, typed);
  for (const name of ["Terrain", "World"]) {
    const own = text.slice(text.indexOf(`export class ${name} {`)).split("\n}")[0];
    const members = [...own.matchAll(/^ {2}(?:readonly )?(\w+)[(:]/gm)].map(([, member]) => member);
    const got = Object.getOwnPropertyNames(thalweg[name].prototype).filter((member) => !member.startsWith("_"));
    assert.deepEqual([...new Set(got)].sort(), [...new Set(members)].sort());
  }
});

test("the package holds what it says", () => {
  const copy = join(place, "packed");
  cpSync(NPM, copy, { recursive: true });
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const [{ files, version }] = JSON.parse(execFileSync(npm, ["pack", "--dry-run", "--json"], { cwd: copy, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
  const names = files.map(({ path }) => path).sort();
  assert.deepEqual(names, ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "package.json", "thalweg.d.ts", "thalweg.js", "thalweg_bg.wasm", "threads.d.ts"]);
  assert.equal(version, thalweg.version());
});
