// What a page writes with the package's types; tests/web/npm/types.test.mjs has the compiler look at it, and at lines that must not pass.

import init, { Terrain, World, apply, build, drain, models, presets, textures, type Progress } from "thalweg";
import start, { initThreadPool } from "thalweg/threads";

await init();
await start();
await initThreadPool(navigator.hardwareConcurrency);
const tell = ({ label, done, total }: Progress): boolean => label.length > 0 && done <= total;
const land: Terrain = build("alpine", { cells: 256, seed: 7n, progress: tell, rain: 1.5, rock: "granite", parameters: { "uplift.rate": 1 } });
const own = new Terrain({ height: new Float32Array(4), rows: 2, cols: 2, cellSize: 10, edges: "closed" });
const eroded = apply("thermal", own, { talus: 30 }, { seed: 3, progress: tell });
const orders: Uint32Array = drain(eroded, { outlets: [[0, 1]] }).streamOrder;
const albedo: Uint8ClampedArray = textures(land, { bits: 16 }).albedo;
const png: Uint8Array | undefined = new World("endless", { tile: 64, seed: 2n }).png(9, 256, 255, "terrarium");
const names: string[] = [...presets().map(({ name }) => name), ...models().map(({ name }) => name)];
// The earlier name of `parameters` and its nested form still pass.
const earlier: Terrain = build("alpine", { set: { uplift: { rate: 1 } } });
export { albedo, earlier, names, orders, png };
// @ts-expect-error: no such model
apply("thermel", own);
// @ts-expect-error: no such parameter
apply("thermal", own, { tallus: 30 });
// @ts-expect-error: degrees are a number
apply("thermal", own, { talus: "steep" });
// @ts-expect-error: no such option
build("alpine", { cell: 256 });
// @ts-expect-error: a browser has no files
build("aged", { fromFile: "dem.tif" });
// @ts-expect-error: no such method
drain(land, { method: "d9" });
// @ts-expect-error: parameters are an argument of their own
apply("thermal", own, {}, { parameters: { talus: 30 } });
// @ts-expect-error: no such option
new World("endless", { tiles: 64 });
// @ts-expect-error: elevations are needed
new Terrain({ rows: 2, cols: 2, cellSize: 10 });
// @ts-expect-error: a terrain does not change
own.rows = 3;
