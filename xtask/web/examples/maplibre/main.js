// A world without end on a map: MapLibre requests tiles of elevations, and a worker computes each on request.

/* global maplibregl */

navigator.serviceWorker?.register("../../sw.js").catch(() => {});

const words = document.querySelector("#words");
// The preset and the seed are in the address, for example #continent or #endless,7.
const [preset, seed] = (location.hash.slice(1) || "endless").split(",");

const worker = new Worker("worker.js", { type: "module" });
const asked = new Map();
let number = 0;

/** Sends the worker a question, and returns a promise of its answer. */
function ask(question) {
  number += 1;
  worker.postMessage({ number, ...question });
  return new Promise((resolve, reject) => asked.set(number, { resolve, reject }));
}

worker.onmessage = ({ data: { number, answer, problem } }) => {
  const { resolve, reject } = asked.get(number) ?? {};
  asked.delete(number);
  if (problem) reject?.(new Error(problem));
  else resolve?.(answer);
};
worker.onerror = (problem) => (words.textContent = `The map cannot be shown: ${problem.message}`);

// The address of a tile is thalweg://ZOOM/COLUMN/ROW.
maplibregl.addProtocol("thalweg", async ({ url }, { signal }) => {
  const [zoom, column, row] = url.split("/").slice(-3).map(Number);
  const tile = ask({ zoom, column, row });
  const lost = number;
  // MapLibre cancels tiles that have left the view; those that wait are then not computed.
  signal.addEventListener("abort", () => {
    worker.postMessage({ lost });
    asked.delete(lost);
  });
  const data = await tile;
  // The status 404 means to MapLibre that there is no such tile.
  if (!data) throw Object.assign(new Error("this tile is outside the world"), { status: 404 });
  return { data };
});
maplibregl.setWorkerUrl("maplibre-gl-csp-worker.js");

try {
  show(await ask({ preset, seed }));
} catch (problem) {
  words.textContent = problem.message;
}

function show({ name, minzoom, maxzoom, bounds, tileSize }) {
  const map = new maplibregl.Map({
    container: "view",
    center: [(bounds[0] + bounds[2]) / 2, (bounds[1] + bounds[3]) / 2],
    zoom: minzoom + 1,
    pitch: 45,
    maxPitch: 75,
    // The world may be wider than the map, so the map is shown only once.
    renderWorldCopies: false,
    attributionControl: { customAttribution: `${name}: invented by thalweg, no place on Earth` },
    style: {
      version: 8,
      sources: {
        heights: { type: "raster-dem", tiles: ["thalweg://{z}/{x}/{y}"], encoding: "mapbox", tileSize, minzoom, maxzoom, bounds },
      },
      terrain: { source: "heights", exaggeration: 1.5 },
      sky: { "sky-color": "#9db8d1", "horizon-color": "#d8e2ea", "fog-color": "#d8e2ea" },
      layers: [
        { id: "ground", type: "background", paint: { "background-color": "#1d2b38" } },
        {
          id: "colours",
          type: "color-relief",
          source: "heights",
          paint: {
            "color-relief-color": [
              "interpolate", ["linear"], ["elevation"],
              -4000, "#0d2a4d", -1, "#4f8fba", 1, "#6f8f4e", 600, "#b7a878", 1500, "#8f7f70", 2800, "#f4f6f8",
            ],
          },
        },
        { id: "light", type: "hillshade", source: "heights", paint: { "hillshade-exaggeration": 0.4, "hillshade-method": "igor" } },
      ],
    },
  });
  map.addControl(new maplibregl.NavigationControl({ visualizePitch: true }));
  map.on("error", ({ error }) => (words.textContent = error.message));
  map.on("idle", () => {
    const { lng, lat } = map.getCenter();
    words.textContent = `${name}, zoom ${map.getZoom().toFixed(1)} at ${lat.toFixed(2)}°, ${lng.toFixed(2)}°`;
    document.body.dataset.idle = Number(document.body.dataset.idle ?? 0) + 1;
  });
  window.map = map;
}
