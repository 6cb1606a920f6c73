// Computes tiles in a worker, so that the page stays responsive. Tiles that are no longer needed are not computed.

import init, { World } from "../../npm/thalweg.js";

const ready = init();
const waiting = [];
let world = null;
let works = false;

onmessage = ({ data }) => {
  if (data.lost) return forget(data.lost);
  waiting.push(data);
  if (!works) work();
};

function forget(lost) {
  const at = waiting.findIndex(({ number }) => number === lost);
  if (at >= 0) waiting.splice(at, 1);
}

async function work() {
  works = true;
  await ready;
  while (waiting.length) {
    // The last request is for the part of the map that is visible now.
    const { number, ...question } = waiting.pop();
    try {
      const answer = question.preset ? open(question) : tile(question);
      postMessage({ number, answer }, answer instanceof ArrayBuffer ? [answer] : []);
    } catch (problem) {
      postMessage({ number, problem: problem.message });
    }
    // Let messages from the page arrive between two tiles.
    await new Promise((resolve) => setTimeout(resolve));
  }
  works = false;
}

function open({ preset, seed }) {
  world = new World(preset, seed ? { seed: Number(seed) } : {});
  return world.describe("thalweg:/");
}

/** Returns a tile as PNG, or undefined if it is outside the world. */
function tile({ zoom, column, row }) {
  return world.png(zoom, column, row, "terrain-rgb")?.buffer;
}
