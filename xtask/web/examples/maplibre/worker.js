// The world lives here; the page asks for its tiles.

import init, { World } from "../../npm/thalweg.js";

const ready = init();
let world;

onmessage = async ({ data: { number, preset, tile } }) => {
  try {
    await ready;
    if (preset) {
      world = new World(preset);
      postMessage({ number, answer: { zooms: [...world.zooms] } });
      return;
    }
    const png = world.png(...tile);
    postMessage({ number, answer: png }, png ? [png.buffer] : []);
  } catch (problem) {
    postMessage({ number, problem: problem.message });
  }
};
