// Controls Chromium without a window, over a pipe, by its own protocol; and a server of static files under a path.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".json": "application/json" };

/** Serves a folder under /a/b/; records the requested paths in `asked`. */
export async function served(folder) {
  const asked = [];
  const server = createServer((request, answer) => {
    const path = decodeURIComponent(new URL(request.url, "http://x").pathname);
    asked.push(path);
    const file = join(folder, normalize(path.replace(/^\/a\/b/, "")));
    if (!path.startsWith("/a/b/") || !existsSync(file) || !statSync(file).isFile()) return answer.writeHead(404).end();
    answer.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" });
    createReadStream(file).pipe(answer);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { address: `http://127.0.0.1:${server.address().port}/a/b/`, asked, close };
}

/** A browser with one page. */
export class Browser {
  #next = 0;
  #waiting = new Map();
  requests = [];
  complaints = [];

  static async open(profile, [wide, high] = [900, 600]) {
    const browser = new Browser();
    const words = ["--headless=new", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-first-run"];
    const more = [`--window-size=${wide},${high}`, `--user-data-dir=${profile}`, "--remote-debugging-pipe", "about:blank"];
    browser.process = spawn(process.env.CHROMIUM ?? "chromium", [...words, ...more], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    let rest = Buffer.alloc(0);
    browser.process.stdio[4].on("data", (more) => {
      rest = Buffer.concat([rest, more]);
      for (let end; (end = rest.indexOf(0)) >= 0; rest = rest.subarray(end + 1)) browser.#hear(JSON.parse(rest.toString("utf8", 0, end)));
    });
    const { targetInfos } = await browser.send("Target.getTargets");
    const { targetId } = targetInfos.find(({ type }) => type === "page");
    browser.session = (await browser.send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
    for (const part of ["Page", "Runtime", "Network", "Log"]) await browser.send(`${part}.enable`);
    await browser.send("Emulation.setDeviceMetricsOverride", { width: wide, height: high, deviceScaleFactor: 1, mobile: false });
    return browser;
  }

  #hear({ id, method, params, result, error }) {
    if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
    if (method === "Runtime.exceptionThrown") this.complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === "Log.entryAdded" && params.entry.level === "error") this.complaints.push(`${params.entry.text} ${params.entry.url ?? ""}`);
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    if (error) waiting.reject(new Error(error.message));
    else waiting.resolve(result);
  }

  send(method, params = {}) {
    const id = ++this.#next;
    this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId: this.session })}\0`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  go(url) {
    return this.send("Page.navigate", { url });
  }

  /** Returns the value of an expression in the page; awaits a promise. */
  async value(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Waits until an expression is true. */
  async until(expression, seconds = 120) {
    const end = Date.now() + seconds * 1000;
    while (!(await this.value(expression).catch(() => false))) {
      if (Date.now() > end) {
        const said = await this.value("document.body?.innerText").catch(() => "");
        throw new Error(`${expression} is not true after ${seconds} s; text of the page: ${said}; ${this.complaints.join("; ")}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Returns a screenshot of the page as PNG. */
  async picture() {
    return Buffer.from((await this.send("Page.captureScreenshot", { format: "png" })).data, "base64");
  }

  /** Returns the colours of a canvas, reduced to 64 × 64 pixels. */
  colours(selector) {
    return this.value(`(() => {
      const canvas = document.querySelector(${JSON.stringify(selector)}), small = document.createElement("canvas");
      small.width = small.height = 64;
      const context = small.getContext("2d");
      context.drawImage(canvas, 0, 0, 64, 64);
      return [...context.getImageData(0, 0, 64, 64).data];
    })()`);
  }

  /** Returns the colours of a screenshot, reduced to 64 × 64 pixels. */
  async pixels() {
    const picture = `data:image/png;base64,${(await this.picture()).toString("base64")}`;
    return this.value(`(async () => {
      const image = new Image(), small = document.createElement("canvas");
      image.src = ${JSON.stringify(picture)};
      await image.decode();
      small.width = small.height = 64;
      const context = small.getContext("2d");
      context.drawImage(image, 0, 0, 64, 64);
      return [...context.getImageData(0, 0, 64, 64).data];
    })()`);
  }

  async close() {
    this.process.kill();
    await once(this.process, "exit").catch(() => {});
  }
}
