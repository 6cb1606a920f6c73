// A PNG reader by the standard (W3C, third edition), as far as these tests need it.

import assert from "node:assert/strict";
import { inflateSync } from "node:zlib";

/** Returns the elevations of a PNG in Mapbox's encoding: 8 bits, red, green, blue. */
export function terrainRgb(png) {
  const view = Buffer.from(png);
  assert.equal(view.toString("latin1", 1, 4), "PNG");
  const parts = [];
  for (let at = 8; at < view.length; at += 12 + view.readUInt32BE(at)) {
    if (view.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(view.subarray(at + 8, at + 8 + view.readUInt32BE(at)));
  }
  assert.deepEqual([view.readUInt32BE(16), view.readUInt32BE(20), view[24], view[25]], [256, 256, 8, 2]);
  const raw = inflateSync(Buffer.concat(parts)), wide = 256 * 3, out = new Uint8Array(256 * wide);
  for (let i = 0; i < 256; i++) {
    const filter = raw[i * (wide + 1)];
    for (let k = 0; k < wide; k++) {
      const a = k >= 3 ? out[i * wide + k - 3] : 0, b = i ? out[(i - 1) * wide + k] : 0;
      const c = i && k >= 3 ? out[(i - 1) * wide + k - 3] : 0;
      const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
      const paeth = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
      out[i * wide + k] = raw[i * (wide + 1) + 1 + k] + [0, a, b, (a + b) >> 1, paeth][filter];
    }
  }
  return Float64Array.from({ length: 65536 }, (_, k) => -10000 + 0.1 * (65536 * out[3 * k] + 256 * out[3 * k + 1] + out[3 * k + 2]));
}
