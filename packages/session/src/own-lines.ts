import { unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { JsonlStore } from "./jsonl-store.ts";
import { forEachLine, readBytes } from "./line-reader.ts";
import { randomHex } from "./random-hex.ts";

/** More than a long session of work appends. */
const MOST_BYTES_IN_MEMORY = 16 << 20;

/**
 * What this process appended to a session, so that it can be written again where the file loses it. What is too much for
 * memory lies in a file without a name, which the system clears away with the process.
 */
export class OwnLines {
  #texts: string[] = [];
  #bytes = 0;
  #older: JsonlStore | undefined;

  /** Adds lines, each with its newline; blank ones may stand between. */
  add(text: string): void {
    this.#texts.push(text);
    this.#bytes += text.length;
    if (this.#bytes > MOST_BYTES_IN_MEMORY) this.#putAway();
  }

  /** Calls with each line, in the order in which they were appended. */
  each(visit: (line: string) => void): void {
    const store = this.#older;
    if (store !== undefined) {
      const visitStored = (line: { offset: number; lengthBytes: number }) =>
        visit(readBytes(store, line).toString());
      forEachLine({ store, from: 0, until: store.size(), visit: visitStored });
    }
    for (const text of this.#texts) for (const line of text.split("\n")) if (line !== "") visit(line);
  }

  close(): void {
    this.#older?.close();
    this.#older = undefined;
    this.#texts = [];
    this.#bytes = 0;
  }

  #putAway(): void {
    try {
      this.#older ??= namelessFile();
      this.#older.append(this.#texts.join(""));
      this.#texts = [];
    } catch {
      // A full disk: then memory holds it, and the next time is as far away as this one was.
    }
    this.#bytes = 0;
  }
}

function namelessFile(): JsonlStore {
  const store = JsonlStore.create(join(tmpdir(), `bonsai-own-${randomHex(8)}.tmp`), "");
  unlinkSync(store.file);
  return store;
}
