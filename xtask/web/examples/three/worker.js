// Builds the world in a worker, so that the page stays responsive.

import init, { build, textures } from "../../npm/thalweg.js";

onmessage = async ({ data: { preset, cells } }) => {
  try {
    await init();
    const start = performance.now();
    const land = build(preset, { cells, progress: tell() });
    const { albedo } = textures(land);
    const heights = land.heightF32();
    const { rows, cols, cellSize, range } = land;
    const fingerprint = land.fingerprints().ground;
    const seconds = (performance.now() - start) / 1000;
    land.free();
    const message = { rows, cols, cellSize, range, heights, albedo: new Uint8Array(albedo.buffer), fingerprint, seconds };
    // The buffers are transferred instead of copied.
    postMessage({ land: message }, [heights.buffer, albedo.buffer]);
  } catch (problem) {
    postMessage({ problem: problem.message });
  }
};

/** Returns a function that reports the progress of the run, at most ten times per second. */
function tell() {
  let last = 0;
  return ({ label, done, total }) => {
    if (performance.now() - last < 100) return;
    last = performance.now();
    postMessage({ label, done, total });
  };
}
