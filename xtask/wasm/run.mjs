// Runs recipes in a module of thalweg-fingerprints: node run.mjs MODULE.wasm CELLS RECIPE.toml…
// Prints a JSON object of path and answer.

import { readFileSync } from "node:fs";

const [module, cells, ...recipes] = process.argv.slice(2);
const compiled = new WebAssembly.Module(readFileSync(module));
const answers = {};
for (const path of recipes) {
  // A fresh instance for each: one that has failed cannot be used again.
  const { exports } = new WebAssembly.Instance(compiled, {});
  let failed = "";
  try {
    for (const byte of readFileSync(path)) exports.push(byte);
    exports.build(Number(cells));
  } catch (problem) {
    failed = `failed: ${problem}\n`;
  }
  const bytes = Uint8Array.from({ length: exports.length() }, (_, k) => exports.answer(k));
  answers[path] = failed + new TextDecoder().decode(bytes);
}
console.log(JSON.stringify(answers));
