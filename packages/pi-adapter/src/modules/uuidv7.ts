import { randomBytes } from "node:crypto";

/** An id that sorts by time (RFC 9562, version 7). `timestampMs`: milliseconds since the epoch; default now. */
export function uuidv7(timestampMs = Date.now()): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(timestampMs, 0, 6);
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = bytes.toString("hex");
  return [0, 8, 12, 16, 20].map((start, at, starts) => hex.slice(start, starts[at + 1])).join("-");
}
