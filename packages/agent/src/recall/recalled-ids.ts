import { recalledIds } from "@bonsai-agent/messages/host";
import { type Entry, findSession, kindWord, openSession, type Session } from "@bonsai-agent/session";
import { hiddenLookup, recallableEntry } from "@bonsai-agent/session/host";
import { scopeOf } from "./recall-search.ts";
import { type RecalledEntry, recalledEntry } from "./recalled-entry.ts";

interface RecalledIdsOptions {
  session: Session;
  /** The folder of the session files. */
  home: string;
  mayLookElsewhere: boolean;
  branches: boolean;
}

interface ResolvedIds {
  /** Each once, in order. */
  found: RecalledEntry[];
  /** Why others could not be opened, and what to do. */
  problems: string[];
}

/** Finds the entries of ids as a model gives them: of entries, of tool calls, and `session/entry`. */
export class RecalledIds {
  readonly #options: RecalledIdsOptions;
  readonly #isWithin: (entryId: string) => boolean;

  constructor(options: RecalledIdsOptions) {
    this.#options = options;
    this.#isWithin = scopeOf(options.session, options);
  }

  resolve(ids: readonly string[]): ResolvedIds {
    const found = new Map<string, RecalledEntry>();
    const problems: string[] = [];
    for (const id of ids) {
      try {
        for (const entry of this.#entries(trimmedId(id)))
          found.set(`${entry.session.id}/${entry.entryId}`, entry);
      } catch (error) {
        problems.push((error as Error).message);
      }
    }
    return { found: [...found.values()], problems };
  }

  #entries(id: string): RecalledEntry[] {
    const [, sessionId, entryId] = /^([0-9a-f-]{4,36})\/(\S+)$/i.exec(id) ?? [];
    if (sessionId !== undefined) return [this.#ofAnother(sessionId, entryId!)];
    const { session } = this.#options;
    const entry = session.entry(id) ?? this.#resultOf(id);
    if (entry === undefined)
      throw new Error(`This session has no entry ${displayId(id)}. Find ids with query.`);
    const copied = entry.type === "message" ? recalledIds(entry.message) : undefined;
    // A copy leads to what it is a copy of.
    if (copied !== undefined) return copied.flatMap((original) => this.#original(original));
    return [this.#recalled(entry)];
  }

  #original(id: string): RecalledEntry[] {
    const entry = this.#options.session.entry(id);
    if (entry === undefined) return id.includes("/") ? this.#entries(id) : [];
    return entry.type === "message" && recalledIds(entry.message) !== undefined
      ? []
      : [this.#recalled(entry)];
  }

  #recalled(entry: Entry): RecalledEntry {
    const { session } = this.#options;
    const id = displayId(entry.id);
    const recalled = recalledEntry(session, entry);
    if (recalled === undefined && recallableEntry(session, entry) === undefined)
      throw new Error(`Entry ${id} was removed from the conversation on purpose and cannot be opened.`);
    if (recalled === undefined)
      throw new Error(`Entry ${id} (${kindWord(entry.type)}) has no text. Find other entries with query.`);
    if (this.#isWithin(entry.id)) return recalled;
    const isShown = session.projection().items.some(({ entryId }) => entryId === entry.id);
    throw new Error(
      isShown
        ? `Entry ${id} is not hidden. The conversation shows it unchanged.`
        : `Entry ${id} is on another branch of this session. Open it with branches: true.`,
    );
  }

  /** The hidden result of a tool call that the model sees. */
  #resultOf(toolCallId: string): Entry | undefined {
    const hidden = hiddenLookup(this.#options.session);
    const item = this.#options.session.projection().items.find(({ entryId, message }) => {
      return (
        message.role === "toolResult" && message.toolCallId === toolCallId && hidden(entryId) !== undefined
      );
    });
    return item?.entry;
  }

  #ofAnother(sessionId: string, entryId: string): RecalledEntry {
    const { session, mayLookElsewhere, home } = this.#options;
    if (!mayLookElsewhere)
      throw new Error(`${displayId(sessionId)} is another session. The setting recall.sessions is off.`);
    const file = findSession({ session: sessionId, cwd: session.cwd, home });
    const other = openSession(file);
    try {
      const entry = other.cwd === session.cwd ? other.entry(entryId) : undefined;
      const recalled = entry && recalledEntry(other, entry);
      if (recalled === undefined)
        throw new Error(
          `Session ${displayId(sessionId)} has no entry ${displayId(entryId)} with text. Find ids with query and sessions: true.`,
        );
      return recalled;
    } finally {
      other.close();
    }
  }
}

/** As it stands in a summary: in brackets. */
function trimmedId(id: string): string {
  return id.replace(/^\[(.*)\]$/, "$1");
}

const MAX_ID_CHARS = 80;

/** An id as a text of ours may have it: those of damaged files can be anything. */
export function displayId(id: string): string {
  return id.slice(0, MAX_ID_CHARS).replaceAll(/[^\p{L}\p{N}._:/|-]+/gu, "-");
}
