// Keeps the pages for when there is no net. `cargo xtask web` puts in which files there are: name and what tells its content.

const FILES = ["FILES"];
const KEPT = "thalweg";
const HERE = new URL("./", self.location).href;
const addresses = new Map(FILES.map(([name, sum]) => [new URL(name, HERE).href, sum]));
/** Under what a file is kept: another content has another address. */
const key = (address) => `${address}?${addresses.get(address)}`;

self.addEventListener("install", (event) => {
  event.waitUntil(fill().then(() => self.skipWaiting()));
});

/** Fetches what is not kept yet. What cannot be fetched or kept (storage full) is fetched when it is asked for. */
async function fill() {
  const kept = await caches.open(KEPT);
  for (const address of addresses.keys()) {
    try {
      if (await kept.match(key(address))) continue;
      const answer = await fetch(address, { cache: "no-cache" });
      if (answer.ok) await kept.put(key(address), answer);
    } catch {
      // Offline or full: pages work from the net.
    }
  }
}

self.addEventListener("activate", (event) => {
  event.waitUntil(
    (async () => {
      const kept = await caches.open(KEPT);
      const known = new Set([...addresses.keys()].map(key));
      for (const request of await kept.keys()) {
        if (!known.has(request.url)) await kept.delete(request);
      }
      await self.clients.claim();
    })().catch(() => {}),
  );
});

self.addEventListener("fetch", (event) => {
  const address = event.request.url.split(/[?#]/)[0].replace(/\/$/, "/index.html");
  if (event.request.method !== "GET" || !addresses.has(address)) return;
  event.respondWith(
    (async () => {
      const kept = await caches.open(KEPT).catch(() => undefined);
      const found = await kept?.match(key(address)).catch(() => undefined);
      return found ?? fetch(event.request);
    })(),
  );
});
