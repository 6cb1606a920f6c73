// Makes tiles away from the page, which goes on meanwhile. Those that nobody waits for any more are not made.

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
    // What was asked for last is what is looked at now.
    const { number, ...question } = waiting.pop();
    try {
      const answer = question.preset ? open(question) : tile(question);
      postMessage({ number, answer }, answer instanceof ArrayBuffer ? [answer] : []);
    } catch (problem) {
      postMessage({ number, problem: problem.message });
    }
    // Between any two tiles the page is heard.
    await new Promise((resolve) => setTimeout(resolve));
  }
  works = false;
}

function open({ preset, seed }) {
  world = new World(preset, seed ? { seed: Number(seed) } : {});
  return world.describe("thalweg:/");
}

/** A tile as PNG, or nothing where the world has none. */
function tile({ zoom, column, row }) {
  return world.png(zoom, column, row, "terrain-rgb")?.buffer;
}
