// The page around the studio: it fetches the program, runs the session in a worker, and handles files, links and
// messages, which need a page.
import init, { Page } from "./thalweg_studio.js";

/// Greatest size of a file that the page accepts, in bytes.
const LONGEST = 1e9;
/// Width of the window in CSS pixels below which a page without a link begins with the list of worlds.
const NARROW = 700;

const at = (id) => document.getElementById(id);
const canvas = at("land");
const fetched = compiled();
let page = null;

async function compiled() {
  const answer = await fetch(new URL("thalweg_studio_bg.wasm", import.meta.url));
  if (!answer.ok) throw new Error(`the program could not be loaded: the server returned status ${answer.status}`);
  // The browser streams a module only if the server sends the media type of WebAssembly.
  const streams = answer.headers.get("content-type")?.startsWith("application/wasm");
  return streams ? WebAssembly.compileStreaming(answer) : WebAssembly.compile(await answer.arrayBuffer());
}

// ---- messages -------------------------------------------------------------------------------------------------------

function say(text, act) {
  at("words").hidden = false;
  at("words").querySelector("p").textContent = text;
  at("words").querySelector("button").onclick = () => {
    at("words").hidden = true;
    act?.();
  };
}

function still(text) {
  at("wait").hidden = true;
  canvas.hidden = true;
  at("still").hidden = false;
  at("still").querySelector("p").textContent = text;
}

// ---- functions that the studio calls --------------------------------------------------------------------------------

class Host {
  #module;
  #worker = null;
  #made = 0;
  /// Memory of the worker's program in bytes, and its number of threads.
  memory = 0;
  threads = 0;

  constructor(module) {
    this.#module = module;
  }

  station() {
    this.#worker?.terminate();
    const name = `thalweg ${Date.now()} ${(this.#made += 1)}`;
    const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module", name });
    this.#worker = worker;
    const lost = () => {
      if (worker === this.#worker) page?.lost();
    };
    worker.onmessage = ({ data }) => {
      if (worker !== this.#worker) return;
      if (data instanceof Uint8Array) page?.receive(data);
      else if (data.memory) this.memory = data.memory;
      else if (data.threads) this.threads = data.threads;
      else if (data.broken) lost();
      // The lock becomes free when the worker ends, for whatever reason.
      else if (data.lives) navigator.locks.request(name, lost).catch(() => {});
    };
    worker.onerror = lost;
    worker.postMessage({ module: this.#module, name });
  }

  post(bytes) {
    this.#worker.postMessage(bytes, [bytes.buffer]);
  }

  give(name, bytes) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([bytes]));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  allows(question) {
    return window.confirm(question);
  }

  address(link) {
    return new URL(`#${link}`, location.href).href;
  }

  pick() {
    at("files").click();
  }

  changed(link) {
    if (link) history.replaceState(null, "", `#${link}`);
  }

  end() {
    this.#worker?.terminate();
    this.#worker = null;
  }

  kill() {
    this.#worker?.terminate();
  }
}

// ---- files ----------------------------------------------------------------------------------------------------------

async function open(files) {
  const large = files.find((file) => file.size > LONGEST);
  if (large) {
    const size = `${(large.size / 1e9).toFixed(1)} GB`;
    return say(`${large.name} has ${size}; this page opens files up to 1 GB. Use the thalweg command for larger ones.`);
  }
  try {
    for (const file of files) page.hold(file.name, new Uint8Array(await file.arrayBuffer()));
    if (files.length) page.open(files.map((file) => file.name));
  } catch (problem) {
    say(`${files.map((file) => file.name).join(", ")}: cannot be read (${problem.message ?? problem}).`);
  }
}

at("files").onchange = (event) => {
  open([...event.target.files]);
  event.target.value = "";
};
// Handle these events before the canvas does: it would read a file of any size.
for (const kind of ["dragenter", "dragover", "drop"]) {
  window.addEventListener(kind, (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    if (kind === "drop" && page) open([...event.dataTransfer.files]);
  }, { capture: true });
}

// ---- start ----------------------------------------------------------------------------------------------------------

// Without isolation by the server the page has only one thread.
if (!window.crossOriginIsolated) at("wait").textContent = "Loading, with one thread …";

function draws() {
  try {
    return Boolean(navigator.gpu || document.createElement("canvas").getContext("webgl2"));
  } catch {
    return false;
  }
}

async function start(link) {
  at("list").hidden = true;
  at("wait").hidden = false;
  try {
    const module = await fetched;
    const { memory } = await init({ module_or_path: module });
    const host = new Host(module);
    let problem = "";
    try {
      page = new Page(host, link);
    } catch (error) {
      problem = String(error.message ?? error);
      host.end();
      page = new Page(host, "");
    }
    await page.draw(canvas);
    at("wait").hidden = true;
    canvas.focus();
    if (problem) say(problem);
    window.thalweg = hook(host, memory);
    watch();
    // The service worker fetches all files again to cache them, so it starts after the terrain is shown. Without it the
    // page does not work offline.
    setTimeout(() => navigator.serviceWorker?.register("sw.js").catch(() => {}), 5000);
  } catch (problem) {
    still(`The studio cannot start: ${problem.message ?? problem}. It needs a browser with WebAssembly and WebGL 2.`);
  }
}

// The interface for tests and for pages that embed this page; see docs/web_studio.md.
function hook(host, memory) {
  return {
    state: () => JSON.parse(page.state() || "null"),
    go: (link) => page.go(link),
    recipe: (text) => page.recipe(text),
    export: (name) => page.export(name),
    memory: () => memory.buffer.byteLength + host.memory,
    threads: () => host.threads,
    open: (files) => open([...files]),
    breakDown: () => page.break_down(),
    kill: () => host.kill(),
    presets: () => Page.presets(),
  };
}

// A program that has trapped no longer draws, and reports nothing.
function watch() {
  const timer = setInterval(() => {
    const problem = page.broken();
    if (!problem) return;
    clearInterval(timer);
    say(`The page has crashed (${problem}). The recipe is kept in its address.`, () => location.reload());
  }, 1000);
}

canvas.addEventListener("webglcontextlost", (event) => {
  event.preventDefault();
  // All graphics resources are lost; the recipe is in the address. After repeated losses the page does not reload by
  // itself.
  if (again()) return location.reload();
  say("The browser lost its graphics context several times. The recipe is kept in the page's address.", () =>
    location.reload(),
  );
});

function again() {
  try {
    const times = JSON.parse(sessionStorage.getItem("thalweg lost") ?? "[]").filter((time) => Date.now() - time < 60_000);
    sessionStorage.setItem("thalweg lost", JSON.stringify([...times, Date.now()]));
    return times.length < 3;
  } catch {
    return false;
  }
}

window.addEventListener("hashchange", () => page?.go(decodeURIComponent(location.hash.slice(1))));

async function list() {
  const worlds = await (await fetch(new URL("thumbs/presets.json", import.meta.url))).json();
  const items = worlds.map(([name, about]) => {
    const item = document.createElement("li");
    const button = item.appendChild(document.createElement("button"));
    const picture = button.appendChild(document.createElement("img"));
    picture.src = `thumbs/${name}.jpg`;
    picture.alt = "";
    picture.loading = "lazy";
    button.appendChild(document.createElement("span")).textContent = name.replaceAll("_", " ");
    button.title = about;
    button.onclick = () => start(name);
    return item;
  });
  at("list").querySelector("ul").replaceChildren(...items);
  at("wait").hidden = true;
  at("list").hidden = false;
}

const link = decodeURIComponent(location.hash.slice(1));
fetched.catch(() => {});
if (!draws()) {
  still(
    "The studio needs WebGL 2, which this browser does not offer. The picture is an example. Use another browser, or " +
      "enable graphics acceleration in the settings.",
  );
} else if (!link && window.innerWidth < NARROW) {
  list().catch(() => start(""));
} else {
  start(link);
}
