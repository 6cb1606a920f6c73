// A live figure: a worker builds the recipe of a model's page, and builds it again when the reader changes a parameter
// of the model.

/// Unit vector towards the sun (east, south, up): the north-west at 45°, as usual on maps.
const SUN = [-0.5, -0.5, Math.SQRT1_2];

for (const figure of document.querySelectorAll(".live")) {
  // Fetch and build nothing before the figure is visible.
  const seen = new IntersectionObserver(([entry]) => {
    if (!entry.isIntersecting) return;
    seen.disconnect();
    begin(figure);
  });
  seen.observe(figure);
}

async function begin(figure) {
  figure.innerHTML = `<canvas width="2" height="1"></canvas>
<form><label>parameter <select></select></label><input inputmode="decimal"><button>Run</button></form>
<p role="status">Building the recipe …</p>`;
  const [canvas, form, select, input, words] = ["canvas", "form", "select", "input", "p"].map((name) => figure.querySelector(name));
  const recipe = await (await fetch(figure.dataset.recipe)).text();
  const model = figure.dataset.recipe.match(/(\w+)\.toml$/)[1];
  const worker = new Worker(new URL("live_worker.js", import.meta.url), { type: "module" });
  worker.onerror = (problem) => (words.textContent = `The figure cannot be shown: ${problem.message}`);
  worker.onmessage = ({ data }) => {
    if (data.problem) words.textContent = data.problem;
    else if (data.parameters) offer(data.parameters);
    else if (data.land) show(data.land);
    else words.textContent = `${data.label}, ${Math.round((100 * data.done) / data.total)} %`;
  };
  let all = [];

  function offer(parameters) {
    all = parameters;
    select.replaceChildren(...all.map(({ name }) => new Option(name)));
    form.hidden = all.length === 0;
    choose();
  }

  function choose() {
    const chosen = all.find(({ name }) => name === select.value);
    if (!chosen) return;
    input.value = chosen.value;
    input.title = select.title = `${chosen.meaning} Allowed: ${chosen.allowed}${chosen.unit ? ` ${chosen.unit}` : ""}.`;
  }

  function show({ rows, cols, cellSize, heights, range, fingerprint, seconds }) {
    [canvas.width, canvas.height] = [cols, rows];
    canvas.getContext("2d").putImageData(new ImageData(shaded(heights, rows, cols, cellSize, range), cols, rows), 0, 0);
    const high = range.map((metres) => metres.toFixed(0)).join(" to ");
    words.textContent = `${cols} × ${rows} cells of ${cellSize.toFixed(1)} m, ${high} m high, in ${seconds.toFixed(1)} s; ground ${fingerprint}`;
    figure.dataset.fingerprint = fingerprint;
  }

  select.onchange = choose;
  form.onsubmit = (event) => {
    event.preventDefault();
    delete figure.dataset.fingerprint;
    words.textContent = "Building …";
    worker.postMessage({ recipe, model, set: { [select.value]: input.value } });
  };
  worker.postMessage({ recipe, model });
}

/** Returns the colours of a shaded relief, four bytes per cell. */
function shaded(heights, rows, cols, cellSize, [low, high]) {
  const pixels = new Uint8ClampedArray(4 * rows * cols);
  // Beyond the edge the nearest cell counts.
  const at = (i, j) => heights[Math.min(Math.max(i, 0), rows - 1) * cols + Math.min(Math.max(j, 0), cols - 1)];
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < cols; j++) {
      const k = i * cols + j;
      const [east, south] = [at(i, j + 1) - at(i, j - 1), at(i + 1, j) - at(i - 1, j)].map((rise) => rise / (2 * cellSize));
      // This is the cosine of the angle between the sun and the normal of the ground (Lambert's law).
      const light = (SUN[2] - SUN[0] * east - SUN[1] * south) / Math.hypot(east, south, 1);
      const share = high > low ? (heights[k] - low) / (high - low) : 0.5;
      // Faces turned away from the sun keep 35 % of the light, so that they are not black.
      const bright = 0.35 + 0.75 * Math.max(light, 0);
      pixels.set([(96 + 130 * share) * bright, (132 + 78 * share) * bright, (86 + 112 * share) * bright, 255], 4 * k);
    }
  }
  return pixels;
}
