import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import { jsonDepthProblem } from "@bonsai-agent/messages/host";
import { lockedSync, unwritable } from "../file-lock.ts";
import { textFile, writeWholeFile } from "../json-file.ts";

/** The entry of one provider. */
export type AuthEntry = Readonly<Record<string, unknown>>;
/** Entries by provider. Entries of unknown types stay as they are. */
export type AuthEntries = Readonly<Record<string, AuthEntry>>;

const WRITE_LOCK = { staleMs: 10_000, waitMs: 5_000 };

/** The file of keys and logins. Reads the file at each call, because another process may change it. */
export class AuthFile {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** A missing file has none. @throws BonsaiError `keys_unreadable`; its message quotes nothing of the file */
  entries(): AuthEntries {
    let value: unknown;
    try {
      value = JSON.parse(textFile(this.path) ?? "{}");
    } catch (cause) {
      // The parser's own message quotes the text.
      const isJson = !(cause instanceof SyntaxError);
      throw damaged(this.path, isJson ? `cannot be read: ${(cause as Error).message}` : "is not valid JSON");
    }
    if (!isRecord(value)) throw damaged(this.path, "is not a JSON object");
    // Each saved key rewrites the whole file.
    const problem = jsonDepthProblem(value);
    if (problem !== undefined) throw damaged(this.path, `is ${problem}`);
    for (const [provider, entry] of Object.entries(value)) {
      if (!isRecord(entry))
        throw damaged(this.path, `has a value for ${JSON.stringify(provider)} that is not an object`);
    }
    return value as AuthEntries;
  }

  /** @throws BonsaiError `keys_unreadable` */
  entry(provider: string): AuthEntry | undefined {
    const entries = this.entries();
    return Object.hasOwn(entries, provider) ? entries[provider] : undefined;
  }

  /**
   * Changes the entry of one provider under a lock, so that concurrent writes of other processes stay.
   * @param change returns the new entry, undefined to remove it, or the same object to change nothing
   * @returns true if the entry changed
   * @throws BonsaiError `keys_unreadable`, `keys_locked`, `keys_unwritable`
   */
  change(provider: string, change: (entry: AuthEntry | undefined) => AuthEntry | undefined): boolean {
    makeFolder(this.path);
    return lockedSync({ path: `${this.path}.lock`, ...WRITE_LOCK }, () => {
      const entries = this.entries();
      const { [provider]: before, ...others } = entries;
      const after = change(before);
      if (after === before) return false;
      const written = after === undefined ? others : { ...entries, [provider]: after };
      writePrivateFile(this.path, `${JSON.stringify(written, null, 2)}\n`);
      return true;
    });
  }

  /**
   * Writes the entry of one provider unchanged.
   * @throws as `change`
   */
  proveWritable(provider: string): void {
    this.change(provider, (entry) => entry && { ...entry });
  }
}

/** Returns a warning with its remedy if other users can read the keys of a file. */
export function exposure(path: string): string | undefined {
  if (process.platform === "win32" || !existsSync(path)) return undefined;
  const stat = statSync(path);
  const mode = stat.mode & 0o777;
  if (!stat.isFile() || (mode & 0o077) === 0) return undefined;
  return `Other users can read your API keys: ${path} has mode ${mode.toString(8)}. Run: chmod 600 ${path}`;
}

/**
 * Writes a file atomically, readable by its owner only. Follows a link and makes the folder.
 * @throws BonsaiError `keys_unwritable`
 */
export function writePrivateFile(file: string, text: string): void {
  try {
    writeWholeFile(file, text);
  } catch (error) {
    throw unwritable(file, error);
  }
}

function makeFolder(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  } catch (error) {
    throw unwritable(dirname(file), error);
  }
}

function damaged(file: string, what: string): BonsaiError {
  return new BonsaiError({
    code: "keys_unreadable",
    message: `The key file ${file} ${what}.`,
    hint: 'Fix it or move it away. Its format: {"anthropic": {"type": "api_key", "key": "…"}}',
  });
}
