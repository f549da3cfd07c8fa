import { randomBytes } from "node:crypto";
import {
  contextEntries,
  type SessionContext,
  type SessionProjection,
  sessionProjection,
} from "@bonsai-agent/extension/host";
import { chars4Estimator, contextTokens, type Message, type Usage } from "@bonsai-agent/messages";
import {
  type Entry,
  MemoryStore,
  openSession,
  project,
  SESSION_VERSION,
  type SessionHeader,
} from "@bonsai-agent/session";
import { recentSettings } from "@bonsai-agent/session/host";

/** What a model sees at an entry, as in pi the last one for an id that no entry has, and what it is asked with. */
export function buildSessionContext(...path: PathArguments): SessionContext {
  const { messages, thinkingLevel, model } = buildSessionProjection(...path);
  return { messages, thinkingLevel, model };
}

/** The same, with the entry that each message comes from. */
export function buildSessionProjection(...[entries, leafId]: PathArguments): SessionProjection {
  const path = pathTo(entries, leafId);
  const projection = project(path);
  return sessionProjection({
    entries: contextEntries(path, projection),
    projection,
    settings: recentSettings(path.toReversed()),
  });
}

/** The entries that a context comes from: a summary, what it kept and what came after it. */
export function buildContextEntries(...[entries, leafId]: PathArguments): Entry[] {
  const path = pathTo(entries, leafId);
  return contextEntries(path, project(path));
}

/** What one entry contributes to a context; empty for what a model does not see. */
export function sessionEntryToContextMessages(entry: Entry): Message[] {
  return project([entry]).items.map(({ message }) => message);
}

/** The messages of entries that are not in a session; `timestamp`: ISO 8601. */
export function createBranchSummaryMessage(summary: string, fromId: string, timestamp: string): Message {
  return messageOf({ type: "branch_summary", summary, fromId, timestamp });
}

export function createCompactionSummaryMessage(
  summary: string,
  tokensBefore: number,
  timestamp: string,
): Message {
  return messageOf({ type: "compaction", summary, tokensBefore, timestamp });
}

export function createCustomMessage(
  customType: string,
  content: unknown,
  display: boolean,
  details: unknown,
  timestamp: string,
): Message {
  return messageOf({ type: "custom_message", customType, content, display, details, timestamp });
}

function messageOf(fields: object): Message {
  return sessionEntryToContextMessages({ id: "", parentId: null, ...fields } as Entry)[0]!;
}

/** pi gives a third argument, entries by id, to be faster. */
type PathArguments = [entries: readonly Entry[], leafId?: string | null | undefined, byId?: unknown];

function pathTo(entries: readonly Entry[], leafId: string | null | undefined): Entry[] {
  if (leafId === null) return [];
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const path: Entry[] = [];
  const leaf = byId.get(leafId ?? "") ?? entries.at(-1);
  for (let at = leaf; at !== undefined; at = byId.get(at.parentId ?? "")) {
    path.push(at);
    // An entry that is met again is an ancestor of itself.
    byId.delete(at.id);
  }
  return path.reverse();
}

/** The objects of a session file's lines, its header first; damaged lines are left out. */
export function parseSessionEntries(content: string): FileEntry[] {
  return content.split("\n").flatMap((line) => {
    try {
      const value: unknown = JSON.parse(line);
      return typeof value === "object" && value !== null ? [value as FileEntry] : [];
    } catch {
      // A line that was cut off, or a blank one: as in pi, what can be read counts.
      return [];
    }
  });
}

type FileEntry = Entry | SessionHeader;

/** Makes what was read of a file of an older version one of today's, in place. */
export function migrateSessionEntries(entries: FileEntry[]): void {
  const header = entries.find((entry) => entry.type === "session");
  if (header === undefined || (header.version ?? 1) >= SESSION_VERSION) return;
  const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`);
  const session = openSession({ store: new MemoryStore(lines.join("")) });
  entries.splice(0, entries.length, { ...header, version: SESSION_VERSION }, ...session.entries());
}

/** Settings as pi has them by default. */
export const DEFAULT_COMPACTION_SETTINGS = { enabled: true, reserveTokens: 16_384, keepRecentTokens: 20_000 };

/** The tokens that the context held when an answer was done. */
export function calculateContextTokens(usage: Usage): number {
  return contextTokens(usage);
}

/** A quarter of the characters, rounded up. */
export function estimateTokens(message: Message): number {
  return chars4Estimator.message(message);
}

/** True where what is kept free for the answer is touched. */
export function shouldCompact(
  tokens: number,
  contextWindow: number,
  { enabled, reserveTokens }: { enabled: boolean; reserveTokens: number },
): boolean {
  return enabled && tokens > contextWindow - reserveTokens;
}

export function getLatestCompactionEntry(entries: readonly Entry[]): Entry | null {
  return entries.findLast(({ type }) => type === "compaction") ?? null;
}

/** An id that sorts by time (RFC 9562, version 7). `timestampMs`: milliseconds since the epoch; default now. */
export function uuidv7(timestampMs = Date.now()): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(timestampMs, 0, 6);
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = bytes.toString("hex");
  return [0, 8, 12, 16, 20].map((start, at, starts) => hex.slice(start, starts[at + 1])).join("-");
}
