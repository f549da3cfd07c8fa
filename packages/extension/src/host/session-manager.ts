import { dirname } from "node:path";
import type { Entry, Projection, Session } from "@bonsai-agent/session";
import { isLeafRecord } from "@bonsai-agent/session/host";
import type { ReadonlySessionManager, SessionProjection, SessionTreeNode } from "../api/extension-context.ts";

/** The current session, for reading. @param session throws without a session */
export function sessionManagerOf(session: () => Session): ReadonlySessionManager {
  return {
    getCwd: () => session().cwd,
    getSessionDir() {
      const { file, cwd } = session();
      return file === undefined ? cwd : dirname(file);
    },
    getSessionId: () => session().id,
    getSessionFile: () => session().file,
    getSessionName: () => session().name,
    getHeader: () => ownCopy(session().header),
    getLeafId: () => session().leafId,
    getLeafEntry() {
      const { leafId } = session();
      return leafId === null ? undefined : entryOf(session(), leafId);
    },
    getEntry: (id) => entryOf(session(), id),
    getLabel: (id) => session().label(id),
    getBranch: (fromId) => branchOf(session(), fromId),
    getEntries: () => withoutLeafRecords(session().entries()),
    getTree: () => treeOf(session()),
    buildSessionContext() {
      const { messages, thinkingLevel, model } = projectionOf(session());
      return { messages, thinkingLevel, model };
    },
    buildSessionProjection: () => projectionOf(session()),
    buildContextEntries: () => contextOf(session(), session().projection()),
  };
}

function entryOf(session: Session, id: string): Entry | undefined {
  const entry = session.entry(id);
  if (entry === undefined || isLeafRecord(entry)) return undefined;
  return reparented(entry, positionOf(session, entry.parentId));
}

function positionOf(session: Session, id: string | null): string | null {
  const seen = new Set<string>();
  for (let at = id; at !== null && !seen.has(at); ) {
    seen.add(at);
    const entry = session.entry(at);
    if (entry === undefined || !isLeafRecord(entry)) return at;
    at = entry.parentId;
  }
  return null;
}

/**
 * Copies entries, oldest first, without the session's own leaf records. Children of such a record move to its former
 * position.
 */
function withoutLeafRecords(entries: Iterable<Entry>): Entry[] {
  const places = new Map<string | null, string | null>();
  const copies: Entry[] = [];
  for (const entry of entries) {
    const place = places.get(entry.parentId);
    const parentId = place === undefined ? entry.parentId : place;
    if (isLeafRecord(entry)) places.set(entry.id, parentId);
    else copies.push(reparented(entry, parentId));
  }
  return copies;
}

/** Reparented copies by their originals: the same entry is always the same object. */
const reparentedCopies = new WeakMap<Entry, Entry>();

function reparented(entry: Entry, parentId: string | null): Entry {
  if (entry.parentId === parentId) return ownCopy(entry);
  const known = reparentedCopies.get(entry) ?? ownCopy({ ...entry, parentId });
  reparentedCopies.set(entry, known);
  return known;
}

/** An unknown id has no branch. */
function branchOf(session: Session, fromId: string | undefined): Entry[] {
  if (fromId === undefined || fromId === session.leafId) return branchCopies(session);
  return session.entry(fromId) === undefined ? [] : withoutLeafRecords(session.path(fromId));
}

/** The summary, the kept entries and the later ones; without a compaction, the whole path. */
function contextOf(session: Session, projection: Projection): Entry[] {
  const { compaction } = projection;
  if (compaction === undefined) return withoutLeafRecords(session.path());
  const path = [...session.tail(undefined, projection)].reverse();
  const from = path.findIndex(({ id }) => id === compaction.firstKeptEntryId);
  const kept = path.slice(Math.max(0, from)).filter(({ id }) => id !== compaction.id);
  return withoutLeafRecords([compaction, ...kept]);
}

/** The context with the entry of each message, and its settings. */
function projectionOf(session: Session): SessionProjection {
  const projection = session.projection();
  const settings = session.settings();
  const messages = new Map(projection.items.map(({ entryId, message }) => [entryId, ownCopy(message)]));
  return {
    entries: contextOf(session, projection).map((sourceEntry) => {
      const message = messages.get(sourceEntry.id);
      return { sourceEntry, messages: message === undefined ? [] : [message] };
    }),
    messages: projection.items.map(({ message }) => ownCopy(message)),
    thinkingLevel: settings.thinkingLevel ?? "off",
    model: settings.model ?? null,
  };
}

/** The tree of entries, the oldest child first. An entry without its parent is a root. */
function treeOf(session: Session): SessionTreeNode[] {
  const labels = session.labels();
  const entries = withoutLeafRecords(session.entries());
  const labelled = new Map<string, string>();
  for (const entry of entries) if (entry.type === "label") labelled.set(entry.targetId, entry.timestamp);
  const nodes = new Map<string, SessionTreeNode>();
  const ordered = entries.map((entry): SessionTreeNode => {
    const label = labels.get(entry.id);
    const labelTimestamp = labelled.get(entry.id)!;
    const node = { entry, children: [], ...(label === undefined ? {} : { label, labelTimestamp }) };
    nodes.set(entry.id, node);
    return node;
  });
  const roots: SessionTreeNode[] = [];
  for (const node of ordered) {
    const { id, parentId } = node.entry;
    const parent = parentId === null || parentId === id ? undefined : nodes.get(parentId);
    (parent?.children ?? roots).push(node);
  }
  for (const { children } of ordered) if (children.length > 1) children.sort(byTime);
  return roots;
}

function byTime(one: SessionTreeNode, other: SessionTreeNode): number {
  return Date.parse(one.entry.timestamp) - Date.parse(other.entry.timestamp);
}

/** The last branch that was read of each session, until memory is needed. */
const latest = new WeakMap<Session, WeakRef<readonly Entry[]>>();

/**
 * Copies of the entries from a root to the leaf, oldest first. A long branch is in its file, so the last one is kept.
 */
function branchCopies(session: Session): Entry[] {
  const known = latest.get(session)?.deref() ?? [];
  const branch = extended(session, known) ?? withoutLeafRecords(session.path());
  latest.set(session, new WeakRef(branch));
  return [...branch];
}

/** A branch with more new entries is read again. */
const MAX_STEPS = 1_000;

/** Extends a known branch to the leaf. Undefined if the leaf is no near descendant. */
function extended(session: Session, known: readonly Entry[]): readonly Entry[] | undefined {
  const end = known.at(-1)?.id;
  if (end === undefined) return undefined;
  const later: Entry[] = [];
  for (let id = session.leafId; id !== end; ) {
    const entry = id === null || later.length === MAX_STEPS ? undefined : session.entry(id);
    if (entry === undefined) return undefined;
    later.push(entry);
    id = entry.parentId;
  }
  return later.length === 0 ? known : [...known, ...withoutLeafRecords(later.reverse())];
}

/** Copies by their originals: a second request costs nothing. */
const copies = new WeakMap<object, object>();

/** A frozen copy of session data: a write throws, and neither the session nor another extension is affected. */
export function ownCopy<Value>(value: Value): Value {
  if (!isObject(value)) return value;
  const known = copies.get(value);
  if (known !== undefined) return known as Value & object;
  const copy = frozenCopy(value);
  copies.set(value, copy);
  // A copy of a copy is the same object.
  copies.set(copy, copy);
  return copy as Value & object;
}

/** Copies level by level: data in a file can be nested deeper than the stack. */
function frozenCopy(root: object): object {
  const copied = [{ source: root, copy: emptyLike(root) }];
  for (const { source, copy } of copied) {
    for (const [key, value] of Object.entries(source)) {
      const stored: unknown = isObject(value) && !isPlain(value) ? asStored(value) : value;
      const part = isObject(stored) ? emptyLike(stored) : stored;
      if (isObject(stored)) copied.push({ source: stored, copy: part as object });
      setField(copy, key, part);
    }
  }
  for (const { copy } of copied) Object.freeze(copy);
  return copied[0]!.copy;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null;
}

/** A value that was just stored, such as a date, looks as it does in the file. */
function asStored(value: object): unknown {
  return JSON.parse(JSON.stringify(value) ?? "null");
}

function emptyLike(value: object): object {
  return Array.isArray(value) ? [] : {};
}

/** An assignment to `__proto__` makes no field. */
function setField(copy: object, key: string, value: unknown): void {
  if (key !== "__proto__") (copy as Record<string, unknown>)[key] = value;
  else Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true });
}
