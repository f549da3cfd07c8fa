import { createHash } from "node:crypto";
import { chars4Estimator, contentText, contextTokens } from "@bonsai-agent/messages";
import {
  customTypes,
  type Entry,
  type EntryDraft,
  SESSION_VERSION,
  type SessionHeader,
} from "@bonsai-agent/session";
import type { Step, Transcript } from "./import/step.ts";

/** `customType` of the first entry of an imported session, which names its origin. */
export const IMPORT_CUSTOM_TYPE = "bonsai.import";

const EPOCH = "1970-01-01T00:00:00.000Z";

/** Ids of eight hex characters made from keys: the same at every import, longer on a collision. */
class Ids {
  readonly #taken = new Set<string>();
  readonly #byKey = new Map<string, string>();
  readonly #seed: string;

  constructor(seed: string) {
    this.#seed = seed;
  }

  of(key: string): string {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const hash = createHash("sha256").update(`${this.#seed}\n${key}`).digest("hex");
    let length = 8;
    while (this.#taken.has(hash.slice(0, length))) length += 4;
    const id = hash.slice(0, length);
    this.#taken.add(id);
    this.#byKey.set(key, id);
    return id;
  }
}

/** The header and entries of a transcript, ready to be written. Deterministic. */
export function sessionOf(options: { transcript: Transcript; steps: Step[]; format: string; cwd: string }): {
  header: SessionHeader;
  entries: Entry[];
  leafId: string;
  lines: ReadonlyMap<string, number>;
} {
  const { transcript, format, cwd } = options;
  const ids = new Ids(`${format}\n${transcript.id}`);
  const start = options.steps.find((step) => step.at !== undefined)?.at ?? EPOCH;
  const opening = openingSteps(transcript, format, start);
  const root = opening.at(-1)!.key;
  const steps = [...opening, ...options.steps.map((step) => ({ ...step, parent: step.parent ?? root }))];
  const entries = withTokensBefore(entriesOf(steps, ids, start));
  const leafId = ids.of(transcript.leaf ?? root);
  const { id: lastId, timestamp } = entries.at(-1)!;
  // Records the leaf if another branch was written last.
  if (lastId !== leafId)
    entries.push({
      ...{ type: "custom", id: ids.of("leaf"), parentId: leafId, timestamp },
      customType: customTypes.leaf,
    });
  const id = uuidOf(transcript.id);
  const lines = new Map(
    steps.flatMap(({ key, source }) => (typeof source === "number" ? [[ids.of(key), source] as const] : [])),
  );
  return {
    header: { type: "session", version: SESSION_VERSION, id, timestamp: start, cwd },
    entries,
    leafId,
    lines,
  };
}

function openingSteps(transcript: Transcript, format: string, at: string): Step[] {
  const { id, name, version } = transcript;
  const data = { format, sessionId: id, version };
  const record = { type: "custom", customType: IMPORT_CUSTOM_TYPE, data } as const;
  const steps: Step[] = [{ key: "import", parent: null, at, draft: record }];
  if (name) steps.push({ key: "name", parent: "import", at, draft: { type: "session_info", name } });
  return steps;
}

function entriesOf(steps: readonly Step[], ids: Ids, start: string): Entry[] {
  let last = start;
  return steps.map((step) => {
    last = step.at ?? last;
    const { type, ...fields } = entryDraft(step, ids, last);
    const parentId = step.parent === null ? null : ids.of(step.parent);
    // Fields for the index come before fields that can be long.
    return { type, id: ids.of(step.key), parentId, timestamp: last, ...fields } as Entry;
  });
}

/** The draft with ids instead of keys. A message gets the time of its entry. */
function entryDraft({ draft, key }: Step, ids: Ids, at: string): EntryDraft {
  switch (draft.type) {
    case "message":
      return { ...draft, message: { ...draft.message, timestamp: Date.parse(at) } };
    case "compaction":
      return { ...draft, firstKeptEntryId: ids.of(draft.firstKeptEntryId || key) };
    case "context_edit":
      return { ...draft, targetId: ids.of(draft.targetId) };
    case "branch_summary":
      return { ...draft, fromId: ids.of(draft.fromId) };
    default:
      return draft;
  }
}

/** Sets the missing size of a compaction: the last usage before it, or an estimate. */
function withTokensBefore(entries: Entry[]): Entry[] {
  const tokens = new Map<string | null, number>([[null, 0]]);
  return entries.map((entry) => {
    const before = tokens.get(entry.parentId) ?? 0;
    tokens.set(entry.id, tokensAfter(entry, before));
    return entry.type === "compaction" && entry.tokensBefore === 0
      ? { ...entry, tokensBefore: before }
      : entry;
  });
}

function tokensAfter(entry: Entry, before: number): number {
  if (entry.type === "compaction") return chars4Estimator.text(entry.summary);
  if (entry.type === "custom_message") return before + chars4Estimator.text(contentText(entry.content));
  if (entry.type !== "message") return before;
  const used = entry.message.role === "assistant" ? contextTokens(entry.message.usage) : 0;
  return used || before + chars4Estimator.message(entry.message);
}

/** The transcript's id if it is a UUID, else a UUID made from it. */
function uuidOf(id: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id)) return id;
  const hash = createHash("sha256").update(id).digest("hex");
  const parts = [hash.slice(0, 8), hash.slice(8, 12), `5${hash.slice(13, 16)}`, `8${hash.slice(17, 20)}`];
  return [...parts, hash.slice(20, 32)].join("-");
}
