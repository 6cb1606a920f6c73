// Shows terrain-RGB tiles in three dimensions (WebGL 2), and tells heights. It asks for tiles.json and the tiles that this names, and for nothing else.
// Lengths are parts of Web Mercator's map: x from the west, y from the north, 0 to 1; heights are brought to the same measure at the middle.
"use strict";

const RADIUS = 6378137;
const MAP = 2 * Math.PI * RADIUS;
const CELLS = 128; // of a tile's mesh along a side
const KEPT = 400; // tiles in the GPU's memory
const SPLIT = 420; // a tile that is more pixels wide on the screen becomes four

const mercator = ([lon, lat]) => [lon / 360 + 0.5, 0.5 - Math.asinh(Math.tan((lat * Math.PI) / 180)) / (2 * Math.PI)];
const degrees = ([x, y]) => [(x - 0.5) * 360, (Math.atan(Math.sinh((0.5 - y) * 2 * Math.PI)) * 180) / Math.PI];

// ---- Tiles

let map;
const address = (layer, z, x, y) => map.layers[layer].replace("{z}", z).replace("{x}", x).replace("{y}", y);

async function picture(layer, z, x, y) {
  const answer = await fetch(address(layer, z, x, y));
  if (!answer.ok) return null;
  // Numbers, not colours: as they stand in the file.
  return createImageBitmap(await answer.blob(), { premultiplyAlpha: "none", colorSpaceConversion: "none" });
}

const read = new Map();

// The heights of a tile's pixels; null where there is no tile.
function pixels(z, x, y) {
  const key = `${z}/${x}/${y}`;
  if (!read.has(key)) {
    if (read.size > 64) read.delete(read.keys().next().value);
    read.set(key, (async () => {
      const image = await picture("terrain-rgb", z, x, y);
      if (!image) return null;
      const sheet = new OffscreenCanvas(image.width, image.height).getContext("2d", { willReadFrequently: true });
      sheet.drawImage(image, 0, 0);
      const { data } = sheet.getImageData(0, 0, image.width, image.height);
      return Float64Array.from({ length: image.width * image.height }, (_, k) =>
        -10000 + 0.1 * (65536 * data[4 * k] + 256 * data[4 * k + 1] + data[4 * k + 2]));
    })());
  }
  return read.get(key);
}

// Metres at a longitude and latitude, linear between the middles of the finest pixels; null where there is no data.
async function elevation(lon, lat) {
  const z = map.maxzoom, side = map.tileSize, all = 2 ** z * side;
  const [u, v] = mercator([lon, lat]).map((k) => k * all - 0.5);
  const [i, j] = [Math.floor(v), Math.floor(u)];
  const at = async (row, column) => {
    const tile = await pixels(z, Math.floor(column / side), Math.floor(row / side));
    return tile && tile[(row % side) * side + (column % side)];
  };
  const [a, b, c, d] = await Promise.all([at(i, j), at(i, j + 1), at(i + 1, j), at(i + 1, j + 1)]);
  if ([a, b, c, d].some((metres) => metres === null)) return null;
  const [s, t] = [u - j, v - i];
  return (a * (1 - s) + b * s) * (1 - t) + (c * (1 - s) + d * s) * t;
}

// ---- Drawing

const VERTEX = `#version 300 es
uniform highp sampler2D heights;
uniform mat4 camera;
uniform vec4 tile; // west, north, side, a skirt's depth
uniform float metre;
in vec3 place; // along the tile, and 1 at the skirt's foot
out vec2 at;
out float height;
void main() {
  ivec2 size = textureSize(heights, 0);
  vec2 spot = place.xy * vec2(size) - 0.5;
  ivec2 first = ivec2(floor(spot));
  vec2 part = spot - vec2(first);
  float h[4];
  for (int k = 0; k < 4; k++) {
    vec3 rgb = texelFetch(heights, clamp(first + ivec2(k & 1, k >> 1), ivec2(0), size - 1), 0).rgb * 255.0;
    h[k] = -10000.0 + 0.1 * dot(round(rgb), vec3(65536.0, 256.0, 1.0));
  }
  height = mix(mix(h[0], h[1], part.x), mix(h[2], h[3], part.x), part.y);
  at = place.xy;
  gl_Position = camera * vec4(tile.xy + place.xy * tile.z, height * metre - place.z * tile.w, 1.0);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
uniform sampler2D light;
uniform vec2 range;
in vec2 at;
in float height;
out vec4 colour;
void main() {
  vec4 lit = texture(light, at);
  if (lit.a < 0.5) discard;
  float t = clamp((height - range.x) / max(range.y - range.x, 1.0), 0.0, 1.0);
  vec3 low = vec3(0.36, 0.49, 0.33), middle = vec3(0.67, 0.61, 0.46), high = vec3(0.93, 0.92, 0.90);
  vec3 ground = t < 0.5 ? mix(low, middle, 2.0 * t) : mix(middle, high, 2.0 * t - 1.0);
  colour = vec4(ground * (0.35 + 0.85 * lit.r), 1.0);
}`;

const canvas = document.getElementById("view");
const gl = canvas.getContext("webgl2", { antialias: true });
const eye = { target: [0.5, 0.5], distance: 0.1, turn: 0.4, tilt: 0.85, relief: 1 };
let program, mesh, count, metre, asked = false;

function compiled() {
  const made = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(made, shader);
  }
  gl.bindAttribLocation(made, 0, "place");
  gl.linkProgram(made);
  return made;
}

// A square of cells, and a skirt about it that hides the steps between zooms.
function meshed() {
  const places = [], faces = [], n = CELLS + 1;
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) places.push(j / CELLS, i / CELLS, 0);
  const quad = (a, b, c, d) => faces.push(a, b, c, b, d, c);
  for (let i = 0; i < CELLS; i++) for (let j = 0; j < CELLS; j++) quad(i * n + j, i * n + j + 1, (i + 1) * n + j, (i + 1) * n + j + 1);
  for (const at of [(k) => k, (k) => CELLS * n + k, (k) => k * n, (k) => k * n + CELLS]) {
    const foot = places.length / 3;
    for (let k = 0; k < n; k++) places.push(places[3 * at(k)], places[3 * at(k) + 1], 1);
    for (let k = 0; k < CELLS; k++) quad(at(k), at(k + 1), foot + k, foot + k + 1);
  }
  mesh = gl.createVertexArray();
  gl.bindVertexArray(mesh);
  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(places), gl.STATIC_DRAW);
  gl.enableVertexAttribArray(0);
  gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
  gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, new Uint32Array(faces), gl.STATIC_DRAW);
  count = faces.length;
}

const held = new Map();

function texture(image, filter) {
  const made = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, made);
  gl.pixelStorei(gl.UNPACK_COLORSPACE_CONVERSION_WEBGL, gl.NONE);
  gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, image);
  for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, gl.CLAMP_TO_EDGE);
  for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, filter);
  return made;
}

// A tile in the GPU's memory; asked for where it is not there yet.
function tile(z, x, y) {
  const key = `${z}/${x}/${y}`;
  let found = held.get(key);
  if (found) {
    held.delete(key);
    held.set(key, found); // the latest used stand last
    return found;
  }
  found = { state: "asked" };
  held.set(key, found);
  Promise.all([picture("terrain-rgb", z, x, y), picture("hillshade", z, x, y)]).then(([heights, light]) => {
    found.state = heights && light ? "there" : "none";
    if (found.state === "there") [found.heights, found.light] = [texture(heights, gl.NEAREST), texture(light, gl.LINEAR)];
    draw();
  }, () => (found.state = "none"));
  for (const [old, { state, heights, light }] of held) {
    if (held.size <= KEPT) break;
    if (state === "asked") continue;
    gl.deleteTexture(heights ?? null);
    gl.deleteTexture(light ?? null);
    held.delete(old);
  }
  return found;
}

const times = (a, b) => Array.from({ length: 16 }, (_, k) => [0, 1, 2, 3].reduce((sum, n) => sum + a[n * 4 + (k % 4)] * b[(k >> 2) * 4 + n], 0));

// Where the eye stands: south of the target, turned and tilted about it.
function stand() {
  const [s, c] = [Math.sin(eye.turn), Math.cos(eye.turn)], [up, out] = [Math.sin(eye.tilt), Math.cos(eye.tilt)];
  return { at: [eye.target[0] - s * out * eye.distance, eye.target[1] + c * out * eye.distance, eye.level + up * eye.distance], s, c, up, out };
}

function camera() {
  const { at, s, c, up, out } = stand();
  const side = [c, s, 0], head = [s * up, -c * up, out], back = [-s * out, c * out, up];
  const dot = (a) => -(a[0] * at[0] + a[1] * at[1] + a[2] * at[2]);
  const look = [side[0], head[0], back[0], 0, side[1], head[1], back[1], 0, side[2], head[2], back[2], 0, dot(side), dot(head), dot(back), 1];
  const [near, far] = [eye.distance / 100, eye.distance * 30], f = 1 / Math.tan(0.4);
  return times([(f * canvas.height) / canvas.width, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0], look);
}

// Draws a tile, or the four that it is made of where it is near and they are there.
function drawn(z, x, y, at) {
  const all = 2 ** z, side = 1 / all, place = [x * side, y * side];
  const away = Math.hypot(...[0, 1].map((k) => Math.max(place[k] - at[k], 0, at[k] - place[k] - side)), at[2]);
  const wide = (side / Math.max(away, 1e-12)) * canvas.height * 1.2;
  const found = tile(z, ((x % all) + all) % all, y);
  if (found.state === "none") return;
  if (z < map.maxzoom && wide > SPLIT) {
    const parts = [[0, 0], [1, 0], [0, 1], [1, 1]].map(([i, j]) => [z + 1, 2 * x + i, 2 * y + j]);
    const states = parts.map(([z, x, y]) => tile(z, ((x % (2 * all)) + 2 * all) % (2 * all), y).state);
    if (!states.includes("asked")) return parts.forEach((part) => drawn(...part, at));
  }
  if (found.state !== "there") return;
  gl.uniform4f(gl.getUniformLocation(program, "tile"), place[0] - origin[0], place[1] - origin[1], side, side / 40);
  for (const [unit, name] of [[0, "heights"], [1, "light"]]) {
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(gl.TEXTURE_2D, found[name]);
    gl.uniform1i(gl.getUniformLocation(program, name), unit);
  }
  gl.drawElements(gl.TRIANGLES, count, gl.UNSIGNED_INT, 0);
}

let origin = [0, 0];

function draw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    const ratio = Math.min(devicePixelRatio, 2);
    [canvas.width, canvas.height] = [canvas.clientWidth * ratio, canvas.clientHeight * ratio];
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0.79, 0.84, 0.87, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.useProgram(program);
    gl.bindVertexArray(mesh);
    // The GPU counts from the target: its floats are too short for places on the globe.
    origin = [...eye.target];
    const { at } = stand();
    const target = eye.target;
    eye.target = [0, 0];
    gl.uniformMatrix4fv(gl.getUniformLocation(program, "camera"), false, camera());
    eye.target = target;
    gl.uniform1f(gl.getUniformLocation(program, "metre"), metre * eye.relief);
    gl.uniform2f(gl.getUniformLocation(program, "range"), ...(map.range ?? [0, 3000]));
    const [west, north] = mercator([map.bounds[0], map.bounds[3]]), [east, south] = mercator([map.bounds[2], map.bounds[1]]);
    const z = map.minzoom, all = 2 ** z, limit = (k) => Math.floor(k * all);
    const near = 4; // tiles about the target: a world without end has more than can be drawn
    const middle = eye.target.map(limit);
    for (let y = Math.max(limit(north), middle[1] - near, 0); y <= Math.min(limit(south), middle[1] + near, all - 1); y++)
      for (let x = Math.max(limit(west), middle[0] - near); x <= Math.min(limit(east), middle[0] + near); x++) drawn(z, x, y, at);
  });
}

// ---- Hands

function pushed(dx, dy) {
  const way = (2 * Math.tan(0.4) * eye.distance) / canvas.clientHeight, [s, c] = [Math.sin(eye.turn), Math.cos(eye.turn)];
  const [x, y] = [-dx * way, (-dy * way) / Math.sin(eye.tilt)];
  eye.target = [eye.target[0] + x * c - y * s, eye.target[1] + x * s + y * c];
  told();
}

function turned(dx, dy) {
  eye.turn += dx / 200;
  eye.tilt = Math.min(Math.max(eye.tilt + dy / 200, 0.15), 1.55);
}

async function told() {
  const [lon, lat] = degrees(eye.target), metres = await elevation(lon, lat);
  const height = metres === null ? "no data" : `${metres.toFixed(1)} m`;
  document.getElementById("place").textContent = `${lat.toFixed(5)}°, ${lon.toFixed(5)}° · ${height}`;
}

function listen() {
  let last = null;
  canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); last = [event.clientX, event.clientY]; });
  canvas.addEventListener("pointerup", () => { last = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (!last) return;
    const way = [event.clientX - last[0], event.clientY - last[1]];
    last = [event.clientX, event.clientY];
    (event.shiftKey || event.buttons & 2 ? turned : pushed)(...way);
    draw();
  });
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    eye.distance = Math.min(Math.max(eye.distance * Math.exp(event.deltaY / 500), 2 / 2 ** map.maxzoom / 8), 4);
    draw();
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const ways = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
    if (!ways[event.key]) return;
    (event.shiftKey ? turned : pushed)(...ways[event.key]);
    draw();
  });
  document.getElementById("relief").addEventListener("input", (event) => { eye.relief = Number(event.target.value); draw(); });
  addEventListener("resize", draw);
}

// What stands after # in the address: `at=LON,LAT;LON,LAT` writes the heights there below one another.
async function answered() {
  const asked = new URLSearchParams(location.hash.slice(1)).get("at");
  if (!asked) return;
  const heights = await Promise.all(asked.split(";").map((place) => elevation(...place.split(",").map(Number))));
  const list = document.getElementById("heights");
  list.textContent = heights.map((metres) => (metres === null ? "none" : metres.toFixed(3))).join(" ");
  list.hidden = false;
}

async function begin() {
  map = await (await fetch("tiles.json")).json();
  document.title = document.getElementById("name").textContent = map.name;
  document.getElementById("about").textContent = map.description;
  await answered();
  if (!gl) throw new Error("this browser does not support WebGL 2; use a current browser");
  program = compiled();
  meshed();
  gl.enable(gl.DEPTH_TEST);
  const [west, south, east, north] = map.bounds;
  eye.target = mercator(map.center);
  const [a, b] = [mercator([west, north]), mercator([east, south])];
  eye.distance = Math.min(1.6 * Math.max(b[0] - a[0], b[1] - a[1]), 6 / 2 ** map.minzoom);
  metre = 1 / (MAP * Math.cos((map.center[1] * Math.PI) / 180));
  eye.level = map.range ? ((map.range[0] + map.range[1]) / 2) * metre : 0;
  listen();
  draw();
  told();
}

begin().catch((error) => { document.getElementById("about").textContent = `cannot be shown: ${error.message}`; });
addEventListener("hashchange", answered);
