// A world without end on a map: heights are made tile by tile in a worker, as MapLibre asks for them.

navigator.serviceWorker?.register("../../sw.js").catch(() => {});

const { maplibregl } = globalThis;
const words = document.querySelector("#words");
const preset = location.hash.slice(1) || "endless";

const worker = new Worker("worker.js", { type: "module" });
const asked = new Map();
let next = 0;
worker.onerror = (problem) => (words.textContent = `cannot be shown: ${problem.message}`);
worker.onmessage = ({ data: { number, problem, answer } }) => {
  const { resolve, reject } = asked.get(number);
  asked.delete(number);
  if (problem) reject(new Error(problem));
  else resolve(answer);
};

/** Has the worker answer. */
function ask(question) {
  return new Promise((resolve, reject) => {
    asked.set(++next, { resolve, reject });
    worker.postMessage({ number: next, ...question });
  });
}

/** A tile that the world does not have: a pixel of sea level. */
const EMPTY = Uint8Array.from(
  atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mNgbFsAAAGzASgWJSnDAAAAAElFTkSuQmCC"),
  (letter) => letter.charCodeAt(0),
);

try {
  const { zooms } = await ask({ preset });
  maplibregl.setWorkerUrl("maplibre-gl-csp-worker.js");
  maplibregl.addProtocol("thalweg", async ({ url }) => {
    const [zoom, column, row] = url.split("/").slice(-3).map(Number);
    const png = await ask({ tile: [zoom, column, row] });
    return { data: (png ?? EMPTY.slice()).buffer };
  });
  const source = { type: "raster-dem", tiles: ["thalweg://{z}/{x}/{y}"], tileSize: 256, encoding: "mapbox", minzoom: zooms[0], maxzoom: zooms[1] };
  const map = new maplibregl.Map({
    container: "view",
    canvasContextAttributes: { preserveDrawingBuffer: true },
    style: {
      version: 8,
      sources: { heights: source, ground: source },
      layers: [
        { id: "back", type: "background", paint: { "background-color": "#c9d3b8" } },
        {
          id: "relief",
          type: "color-relief",
          source: "heights",
          paint: {
            "color-relief-color": ["interpolate", ["linear"], ["elevation"], -1, "#3f6f9c", 0, "#7fa5c4", 1, "#a9c08a", 400, "#cdbf8f", 1200, "#a98f72", 2500, "#f2f2f0"],
          },
        },
        { id: "light", type: "hillshade", source: "heights", paint: { "hillshade-exaggeration": 0.6 } },
      ],
      terrain: { source: "ground", exaggeration: 1 },
    },
    center: [0.05, 0.05],
    zoom: zooms[0] + 3,
    pitch: 55,
    fadeDuration: 0,
    attributionControl: { customAttribution: "invented by thalweg" },
  });
  map.addControl(new maplibregl.NavigationControl());
  map.on("error", ({ error }) => (words.textContent = error.message));
  map.on("idle", () => {
    words.textContent = `${preset}: drag, turn with the right button, zoom for finer ground`;
    document.body.dataset.idle = "true";
  });
  // For tests: the map, and what made its heights.
  Object.assign(globalThis, { map, ask });
} catch (problem) {
  words.textContent = problem.message;
}
