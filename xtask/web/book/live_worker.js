// Builds the recipe of a page away from it.

import init, { build, models } from "../npm/thalweg.js";

/// Cells on the longer side: seconds, on any machine.
const CELLS = 224;

onmessage = async ({ data: { recipe, model, set } }) => {
  try {
    await init();
    const { parameters } = models().find(({ name }) => name === model);
    if (!set) postMessage({ parameters: parameters.map((parameter) => described(parameter, recipe, model)) });
    const words = new Set(parameters.filter(({ type }) => type === "string").map(({ name }) => name));
    const start = performance.now();
    const land = build(small(turned(recipe, model, set ?? {}, words)), { progress: tell() });
    const { rows, cols, cellSize, range } = land;
    const heights = land.heightsF32();
    const fingerprint = land.fingerprints().ground;
    land.free();
    const seconds = (performance.now() - start) / 1000;
    postMessage({ land: { rows, cols, cellSize, range, heights, fingerprint, seconds } }, [heights.buffer]);
  } catch (problem) {
    postMessage({ problem: problem.message });
  }
};

/** The recipe with no more cells than a page shows. */
function small(recipe) {
  return recipe.replace(/^cells = (\d+)/m, (_, cells) => `cells = ${Math.min(cells, CELLS)}`);
}

/** Where the stage of the model begins and ends in a recipe's text. */
function stage(recipe, model) {
  const start = recipe.search(new RegExp(`^model = "${model}"`, "m"));
  const rest = recipe.slice(start + 1).search(/^\[\[stage\]\]/m);
  return [start, rest < 0 ? recipe.length : start + 1 + rest];
}

function line(name) {
  return new RegExp(`^${name} = (.*)$`, "m");
}

/** The recipe with some parameters of the model set; `words` are those whose values stand in quotes. */
function turned(recipe, model, set, words) {
  const [start, end] = stage(recipe, model);
  let text = recipe.slice(start, end);
  for (const [name, value] of Object.entries(set)) {
    const told = `${name} = ${words.has(name) ? JSON.stringify(value) : value}`;
    text = line(name).test(text) ? text.replace(line(name), told) : text.replace(/^(model = .*)$/m, `$1\n${told}`);
  }
  return recipe.slice(0, start) + text + recipe.slice(end);
}

/** A parameter as the page offers it, with the value that it has in the recipe. */
function described({ name, unit, meaning, allowed, default: usual }, recipe, model) {
  const [start, end] = stage(recipe, model);
  const value = recipe.slice(start, end).match(line(name))?.[1] ?? String(usual);
  return { name, unit: unit === "1" ? "" : unit, meaning, allowed, value: value.replace(/^"|"$/g, "").replace(/\s*#.*$/, "") };
}

/** Tells where the run stands, ten times a second at most. */
function tell() {
  let last = 0;
  return ({ stage, done, of }) => {
    if (performance.now() - last < 100) return;
    last = performance.now();
    postMessage({ stage, done, of });
  };
}
