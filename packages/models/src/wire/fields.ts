import { createHash } from "node:crypto";
import { jsonText } from "@bonsai-agent/messages";

/** The JSON of a text, else the text; undefined for an empty text. */
export function jsonOrText(text: string | undefined): unknown {
  if (text === undefined || text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * The text of an event's field; "" if it is missing.
 * @throws TypeError for other values, which the session could not read back
 */
export function textIn(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  throw new TypeError(`The stream contains a value of type ${typeof value} instead of text.`);
}

/** The id of a call; "" if it has none. Some servers send numbers. */
export function idIn(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** Arguments as JSON text. Some servers send the object. */
export function argumentsText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : jsonText(value);
}

/** Every provider accepts this length. */
const MAX_CHARS = 64;

/** Makes a tool's name acceptable to APIs: models call unknown tools by any name. */
export function wireToolName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_CHARS) || "unknown";
}

/** The ids of tool calls that a server accepts. */
export interface CallIds {
  pattern: RegExp;
  /** Characters of a replacement. */
  madeChars: number;
}

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIX = "call_";

/**
 * Makes the id of a tool call acceptable to a server. A replacement depends only on the id, so that call and result agree
 * and the cached prefix stays.
 */
export function wireCallId(id: string, { pattern, madeChars }: CallIds): string {
  if (pattern.test(id)) return id;
  const digest = createHash("sha256").update(id).digest();
  const made = Array.from(digest, (byte) => ALPHABET[byte % ALPHABET.length]).join("");
  return madeChars > PREFIX.length + 8 ? `${PREFIX}${made}`.slice(0, madeChars) : made.slice(0, madeChars);
}

/** Reads the wait from `retry-after-ms`, else from `retry-after` in seconds or as a date. */
export function retryAfterMs(headers: Headers | undefined, nowMs: number = Date.now()): number | undefined {
  const ms = headers?.get("retry-after-ms")?.trim();
  if (ms && Number.isFinite(Number(ms))) return Math.max(0, Number(ms));
  const after = headers?.get("retry-after")?.trim();
  if (!after) return undefined;
  const waitMs = Number.isFinite(Number(after)) ? Number(after) * 1_000 : Date.parse(after) - nowMs;
  return Number.isFinite(waitMs) ? Math.max(0, Math.ceil(waitMs)) : undefined;
}
