// Caches the pages for offline use. `cargo xtask web` inserts the list of files: the name and the hash of each.

const FILES = ["FILES"];
const KEPT = "thalweg";
const HERE = new URL("./", self.location).href;
const addresses = new Map(FILES.map(([name, sum]) => [new URL(name, HERE).href, sum]));
/** Returns the address under which a file is cached; it changes with the file's content. */
const key = (address) => `${address}?${addresses.get(address)}`;

self.addEventListener("install", (event) => {
  event.waitUntil(fill().then(() => self.skipWaiting()));
});

/** Caches the files that are not cached yet. A file that cannot be cached now is fetched when it is requested. */
async function fill() {
  const kept = await caches.open(KEPT);
  for (const address of addresses.keys()) {
    try {
      if (await kept.match(key(address))) continue;
      const answer = await fetch(address, { cache: "no-cache" });
      if (answer.ok) await kept.put(key(address), answer);
    } catch {
      // The browser is offline or its storage is full; pages are then loaded from the server.
    }
  }
}

// Files of earlier builds have other addresses and are removed once this build is active.
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
  // The query and the fragment do not select a file, and a folder's address means its first page.
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
