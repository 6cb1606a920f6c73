// The session's worker: it hands the page's bytes to the station, gives it turns, and sends on what it says. Where the page is isolated, its program
// shares memory with further workers, as many as there are processors.

const waiting = [];
const soon = new MessageChannel();
let station = null;
let memory = null;
let told = 0;
let timer = 0;
let called = false;

soon.port1.onmessage = turn;

self.onmessage = ({ data }) => {
  if (!(data instanceof Uint8Array)) return begin(data);
  waiting.push(data);
  call();
};

async function begin({ module, name }) {
  // While this worker lives it holds a lock by which the page knows that it does.
  if (navigator.locks) {
    await new Promise((held) => {
      navigator.locks.request(name, () => new Promise(() => held())).catch(held);
    });
  }
  self.postMessage({ lives: Boolean(navigator.locks) });
  try {
    const program = await (self.crossOriginIsolated ? threaded().catch(() => single(module)) : single(module));
    memory = program.memory;
    self.postMessage({ threads: program.threads });
    station = new program.Station({ post: (bytes) => self.postMessage(bytes, [bytes.buffer]) });
  } catch (problem) {
    return fail(problem);
  }
  call();
}

async function single(module) {
  const { default: init, Station } = await import("./thalweg_studio.js");
  const { memory } = await init({ module_or_path: module });
  return { Station, memory, threads: 1 };
}

async function threaded() {
  const { default: init, Station, initThreadPool } = await import("./threads/thalweg_studio.js");
  const { memory } = await init();
  const threads = Math.max(navigator.hardwareConcurrency, 1);
  await initThreadPool(threads);
  return { Station, memory, threads };
}

// A turn after what waits in the browser's own queue, so that the page is heard between any two.
function call() {
  if (called || !station) return;
  called = true;
  clearTimeout(timer);
  soon.port2.postMessage(0);
}

function turn() {
  called = false;
  try {
    for (const bytes of waiting.splice(0)) station.receive(bytes);
    const rest = station.turn();
    const bytes = memory.buffer.byteLength;
    if (bytes !== told) self.postMessage({ memory: (told = bytes) });
    if (rest === 0) call();
    else if (rest > 0) timer = setTimeout(call, rest);
  } catch (problem) {
    fail(problem);
  }
}

// A program that has trapped is not called again.
function fail(problem) {
  self.postMessage({ broken: String(problem) });
  self.close();
}
