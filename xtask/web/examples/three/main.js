// A world that a worker builds and three.js displays: the elevations as a mesh, the albedo as its texture.

import * as THREE from "./three.module.min.js";

navigator.serviceWorker?.register("../../sw.js").catch(() => {});

const words = document.querySelector("#words");
const canvas = document.querySelector("#view");
// The preset and its number of cells are in the address, for example #hills or #alpine,512.
const [preset, cells] = (location.hash.slice(1) || "alpine,256").split(",");

const worker = new Worker("worker.js", { type: "module" });
worker.onerror = (problem) => (words.textContent = `The terrain cannot be shown: ${problem.message}`);
worker.onmessage = ({ data }) => {
  if (data.problem) words.textContent = data.problem;
  else if (data.land) show(data.land);
  else words.textContent = `${data.label}, ${Math.round((100 * data.done) / data.total)} %`;
};
worker.postMessage({ preset, cells: Number(cells) || 256 });

function show({ rows, cols, cellSize, heights, albedo, range, fingerprint, seconds }) {
  let renderer;
  try {
    renderer = new THREE.WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: true });
  } catch {
    words.textContent = "The terrain cannot be shown: this browser does not support WebGL; use a current browser";
    return;
  }
  const [wide, deep] = [cols * cellSize, rows * cellSize];
  const geometry = new THREE.PlaneGeometry(wide, deep, cols - 1, rows - 1).rotateX(-Math.PI / 2);
  const places = geometry.attributes.position;
  // Cells without data get the lowest height, because a mesh has no holes.
  for (let k = 0; k < heights.length; k++) places.setY(k, Number.isNaN(heights[k]) ? range[0] : heights[k]);
  geometry.computeVertexNormals();
  const colour = new THREE.DataTexture(albedo, cols, rows, THREE.RGBAFormat);
  colour.colorSpace = THREE.SRGBColorSpace;
  colour.magFilter = colour.minFilter = THREE.LinearFilter;
  // Row 0 is the northern row, but texture coordinate 0 is the southern side of the plane: flip the texture.
  colour.wrapT = THREE.RepeatWrapping;
  colour.repeat.y = -1;
  colour.needsUpdate = true;
  const scene = new THREE.Scene();
  scene.background = new THREE.Color(0x9db8d1);
  scene.add(new THREE.Mesh(geometry, new THREE.MeshStandardMaterial({ map: colour, roughness: 1 })));
  const sun = new THREE.DirectionalLight(0xfff4e0, 3.2);
  sun.position.set(-1, 1, -1);
  scene.add(sun, new THREE.HemisphereLight(0xcfe3ff, 0x6b6257, 1.1));
  const size = Math.max(wide, deep);
  const camera = new THREE.PerspectiveCamera(40, 1, size / 100, size * 10);
  const middle = new THREE.Vector3(0, (range[0] + range[1]) / 2, 0);
  words.textContent = `${preset}, ${cols} × ${rows} cells, built in ${seconds.toFixed(1)} s; ground ${fingerprint}`;
  document.body.dataset.fingerprint = fingerprint;
  renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
  // Visitors who ask for less motion see a view that does not turn.
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  renderer.setAnimationLoop((time) => {
    const { clientWidth, clientHeight } = canvas;
    renderer.setSize(clientWidth, clientHeight, false);
    camera.aspect = clientWidth / clientHeight;
    camera.updateProjectionMatrix();
    const turn = still ? 0.7 : 0.7 + time / 12000;
    camera.position.set(Math.sin(turn) * size, middle.y + size * 0.6, Math.cos(turn) * size);
    camera.lookAt(middle);
    renderer.render(scene, camera);
    document.body.dataset.frames = Number(document.body.dataset.frames ?? 0) + 1;
  });
}
