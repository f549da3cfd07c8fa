import { randomUUID } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { BonsaiError, isTooDeep, MAX_LEVELS } from "@bonsai-agent/messages";
import { textFile } from "./text-file.ts";

/** What stands in the file, by provider; entries of kinds that Bonsai does not know are kept as they are. */
export type AuthEntries = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/**
 * Reads a file of keys; without one there are none.
 * @throws BonsaiError `keys_unreadable`, without a word of what stands in the file
 */
export function readAuthFile(file: string): AuthEntries {
  const text = contents(file);
  if (text === undefined) return {};
  const value = parsed(text, file);
  if (!isObject(value)) throw damaged(file, "is no JSON object");
  // It is written anew with each key that is saved.
  if (isTooDeep(value)) throw damaged(file, `is nested deeper than ${MAX_LEVELS} levels`);
  for (const [provider, entry] of Object.entries(value)) {
    if (!isObject(entry)) throw damaged(file, `has no object for ${JSON.stringify(provider)}`);
  }
  return value as AuthEntries;
}

/** Replaces the file as a whole, for its owner's eyes only; a link stays a link. */
export function writeAuthFile(file: string, entries: AuthEntries): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const target = linked(file);
  const temporary = `${target}.${randomUUID()}.tmp`;
  try {
    writeWhole(temporary, `${JSON.stringify(entries, null, 2)}\n`);
    renameSync(temporary, target);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function writeWhole(path: string, text: string): void {
  const fd = openSync(path, "wx", 0o600);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function linked(file: string): string {
  try {
    return realpathSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return file;
    throw error;
  }
}

function contents(file: string): string | undefined {
  try {
    return textFile(file);
  } catch (cause) {
    throw damaged(file, `cannot be read: ${(cause as Error).message}`);
  }
}

/** The parser's own message quotes the text, so it is neither told nor kept. */
function parsed(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw damaged(file, "is no JSON");
  }
}

function damaged(file: string, what: string): BonsaiError {
  return new BonsaiError({
    code: "keys_unreadable",
    message: `The file of keys ${file} ${what}.`,
    hint: 'Its shape is {"anthropic": {"type": "api_key", "key": "…"}}. Mend it, or move it away.',
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
