// Builds the recipe of a page in a worker.

import init, { build, models } from "../npm/thalweg.js";

/// Number of cells on the longer side: small enough to build within seconds on any machine.
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
    const heights = land.heightF32();
    const fingerprint = land.fingerprints().ground;
    // Free the land at once, because until then it takes memory of the module.
    land.free();
    const seconds = (performance.now() - start) / 1000;
    postMessage({ land: { rows, cols, cellSize, range, heights, fingerprint, seconds } }, [heights.buffer]);
  } catch (problem) {
    postMessage({ problem: problem.message });
  }
};

/** Returns the recipe with at most `CELLS` cells on the longer side. */
function small(recipe) {
  return recipe.replace(/^cells = (\d+)/m, (_, cells) => `cells = ${Math.min(cells, CELLS)}`);
}

/** Returns the start and the end of the model's stage in a recipe's text. */
function stage(recipe, model) {
  const start = recipe.search(new RegExp(`^model = "${model}"`, "m"));
  // The stage ends where the next one begins, or at the end of the recipe.
  const rest = recipe.slice(start + 1).search(/^\[\[stage\]\]/m);
  return [start, rest < 0 ? recipe.length : start + 1 + rest];
}

function line(name) {
  return new RegExp(`^${name} = (.*)$`, "m");
}

/** Returns the recipe with the parameters `set` of the model; `words` are the names of those with quoted values. */
function turned(recipe, model, set, words) {
  const [start, end] = stage(recipe, model);
  let text = recipe.slice(start, end);
  for (const [name, value] of Object.entries(set)) {
    const told = `${name} = ${words.has(name) ? JSON.stringify(value) : value}`;
    text = line(name).test(text) ? text.replace(line(name), told) : text.replace(/^(model = .*)$/m, `$1\n${told}`);
  }
  return recipe.slice(0, start) + text + recipe.slice(end);
}

/** Describes a parameter for the page, with its value in the recipe. */
function described({ name, unit, meaning, allowed, default: usual }, recipe, model) {
  const [start, end] = stage(recipe, model);
  const value = recipe.slice(start, end).match(line(name))?.[1] ?? String(usual);
  return { name, unit: unit === "1" ? "" : unit, meaning, allowed, value: value.replace(/^"|"$/g, "").replace(/\s*#.*$/, "") };
}

/** Returns a function that reports the progress of the run, at most ten times per second. */
function tell() {
  let last = 0;
  return ({ label, done, total }) => {
    if (performance.now() - last < 100) return;
    last = performance.now();
    postMessage({ label, done, total });
  };
}
