// The session's worker: it passes the page's bytes to the station, runs its turns, and sends its messages to the page.
// On an isolated page, its program shares memory with further workers, as many as there are processors.

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
  // This worker holds a lock until it ends, so that the page notices its end.
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

// Schedules a turn behind the events in the browser's queue, so that the page's messages arrive between two turns.
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

// Reports the problem and ends the worker: a program that has trapped must not be called again.
function fail(problem) {
  self.postMessage({ broken: String(problem) });
  self.close();
}
