import { BonsaiError } from "@bonsai-agent/messages";
import type { Entry, EntryDraftWithId } from "./entry.ts";
import { IdSource } from "./id-source.ts";
import type { SessionReader } from "./session-reader.ts";

/**
 * What survives what: `process` (a kill of the process; each append is in the system's hands) or `power` (a
 * loss of power too: each append that holds a message is flushed to the disk).
 */
export type Durability = "process" | "power";

/** Up to this size, a file's ids are looked through before a short new one is given. */
const KNOWN_IDS_BYTES = 4 << 20;

/** Makes entries and appends them, each call as one write. Notices when somebody else appends to the same file. */
export class SessionWriter {
  readonly #reader: SessionReader;
  readonly #durability: Durability;
  readonly #onForeign: () => void;
  readonly #ids = new IdSource();
  #shortIds: boolean;
  #expectedBytes: number;

  constructor(options: { reader: SessionReader; durability: Durability; onForeign: () => void }) {
    this.#reader = options.reader;
    this.#durability = options.durability;
    this.#onForeign = options.onForeign;
    this.#expectedBytes = options.reader.store.size();
    this.#shortIds = this.#expectedBytes <= KNOWN_IDS_BYTES;
  }

  /** An id that no entry has. */
  newId(): string {
    if (!this.#shortIds) return this.#ids.long();
    const index = this.#reader.madeIndex ?? this.#reader.index();
    for (;;) {
      const id = this.#ids.short();
      if (index.find(id) < 0) return id;
    }
  }

  /** Makes entries of drafts, as one chain below a parent. */
  make(drafts: readonly EntryDraftWithId[], parentId: string | null): Entry[] {
    const timestamp = new Date().toISOString();
    let parent = parentId;
    return drafts.map((draft) => {
      const { type, id = this.newId(), ...fields } = draft;
      const entry = { type, id, parentId: parent, timestamp, ...fields } as Entry;
      parent = id;
      return entry;
    });
  }

  /** @throws BonsaiError `append_failed`, `session_read_only`, `entry_not_serializable`. */
  write(entries: readonly Entry[]): void {
    const { store } = this.#reader;
    // The newline in front ends whatever a crash, a full disk or another writer left unfinished.
    const text = `\n${entries.map(serialized).join("\n")}\n`;
    try {
      this.#expectedBytes += store.append(text);
    } catch (error) {
      this.#expectedBytes = store.size();
      throw error;
    }
    if (this.#durability === "power" && entries.some(holdsMessage)) store.flush();
    this.#lookForForeign();
  }

  #lookForForeign(): void {
    const size = this.#reader.store.size();
    if (size === this.#expectedBytes) return;
    this.#expectedBytes = size;
    this.#shortIds = false;
    this.#onForeign();
  }
}

function holdsMessage(entry: Entry): boolean {
  return entry.type !== "label" && entry.type !== "usage";
}

function serialized(entry: Entry): string {
  try {
    return JSON.stringify(entry);
  } catch (cause) {
    throw new BonsaiError({
      code: "entry_not_serializable",
      message: `A ${entry.type} entry cannot be written as JSON: ${String(cause)}`,
      hint: "Put only plain values into an entry: no circles, no BigInt.",
      cause,
    });
  }
}
