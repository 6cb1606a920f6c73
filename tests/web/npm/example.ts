// What a page writes with the package's types; tests/web/npm/types.test.mjs has the compiler look at it, and at lines that must not pass.

import init, { Terrain, World, apply, build, drain, models, presets, textures, type Step } from "thalweg";
import start, { initThreadPool } from "thalweg/threads";

await init();
await start();
await initThreadPool(navigator.hardwareConcurrency);
const tell = ({ label, done, total, level }: Step): boolean => label.length > 0 && done <= total && level >= 0;
const land: Terrain = build("alpine", { cells: 256, seed: 7n, progress: tell, age: 2, rock: "granite", parameters: { "uplift.rate": 1 } });
const own = new Terrain({ height: new Float32Array(4), rows: 2, cols: 2, cellSize: 10, edges: { north: "closed" } });
const old = new Terrain({ heights: new Float32Array(4), rows: 2, cols: 2, cellSize: 10, edges: "looped" });
const metres: Float64Array[] = [own.height(), old.heights()];
const eroded = apply("thermal", own, { talus: 30 });
const orders: Uint32Array = drain(eroded, { outlets: [[0, 1]], method: "mfd", exponent: 2 }).streamOrder;
const albedo: Uint8ClampedArray = textures(land, { bits: 16 }).albedo;
const png: Uint8Array | undefined = new World("endless", { tile: 64, seed: 7n }).png(9, 256, 255, "terrarium");
const names: string[] = [...presets().map(({ name }) => name), ...models().map(({ name }) => name)];
export { albedo, metres, names, orders, png };
// @ts-expect-error: no such model
apply("thermel", own);
// @ts-expect-error: no such parameter
apply("thermal", own, { tallus: 30 });
// @ts-expect-error: degrees are a number
apply("thermal", own, { talus: "steep" });
// @ts-expect-error: no such option
build("alpine", { cell: 256 });
// @ts-expect-error: an option of files
build("alpine", { fromFile: "a.tif" });
// @ts-expect-error: no such method
drain(own, { method: "d9" });
// @ts-expect-error: the height is needed
new Terrain({ rows: 2, cols: 2, cellSize: 10 });
// @ts-expect-error: the number of columns is needed
new Terrain({ height: [1, 2], rows: 2, cellSize: 10 });
// @ts-expect-error: a terrain does not change
own.rows = 3;
