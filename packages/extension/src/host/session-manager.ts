import { dirname } from "node:path";
import type { Entry, Projection, Session } from "@bonsai-agent/session";
import { isLeafRecord } from "@bonsai-agent/session/host";
import type { ReadonlySessionManager, SessionProjection, SessionTreeNode } from "../api/extension-context.ts";

/** The session of now, for reading. @param session throws where there is none */
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
  return hungCopy(entry, placeOf(session, entry.parentId));
}

/** The id itself; of the record of a moved leaf, where the leaf was. */
function placeOf(session: Session, id: string | null): string | null {
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
 * Copies of entries, oldest first, without the records of moved leaves, which are the session's own: what another program
 * hung on such a record hangs where the leaf was.
 */
function withoutLeafRecords(entries: Iterable<Entry>): Entry[] {
  const places = new Map<string | null, string | null>();
  const copies: Entry[] = [];
  for (const entry of entries) {
    const place = places.get(entry.parentId);
    const parentId = place === undefined ? entry.parentId : place;
    if (isLeafRecord(entry)) places.set(entry.id, parentId);
    else copies.push(hungCopy(entry, parentId));
  }
  return copies;
}

/** Copies that hang elsewhere, by what they are copies of: an entry that is asked for again is the same one. */
const hung = new WeakMap<Entry, Entry>();

function hungCopy(entry: Entry, parentId: string | null): Entry {
  if (entry.parentId === parentId) return ownCopy(entry);
  const known = hung.get(entry) ?? ownCopy({ ...entry, parentId });
  hung.set(entry, known);
  return known;
}

/** An id that the session does not have is no branch. */
function branchOf(session: Session, fromId: string | undefined): Entry[] {
  if (fromId === undefined || fromId === session.leafId) return branchCopies(session);
  return session.entry(fromId) === undefined ? [] : withoutLeafRecords(session.path(fromId));
}

function contextOf(session: Session, projection: Projection): Entry[] {
  const { compaction } = projection;
  const path = compaction === undefined ? session.path() : [...session.tail(undefined, projection)].reverse();
  return withoutLeafRecords(contextEntries(path, projection));
}

/**
 * The summary first, then what is kept and what came after it, whatever the entries are.
 * @param path oldest first, at least from the first kept entry on
 */
export function contextEntries(path: readonly Entry[], { compaction }: Projection): Entry[] {
  if (compaction === undefined) return [...path];
  const from = path.findIndex(({ id }) => id === compaction.firstKeptEntryId);
  return [compaction, ...path.slice(Math.max(0, from)).filter(({ id }) => id !== compaction.id)];
}

function projectionOf(session: Session): SessionProjection {
  const projection = session.projection();
  return sessionProjection({
    entries: contextOf(session, projection),
    projection,
    settings: session.settings(),
  });
}

/** What the model sees, with the entry that each message is of, and what it is to be asked with. */
export function sessionProjection(parts: {
  /** As `contextEntries` gives them. */
  entries: readonly Entry[];
  projection: Projection;
  settings: ReturnType<Session["settings"]>;
}): SessionProjection {
  const { entries, projection, settings } = parts;
  const messages = new Map(projection.items.map(({ entryId, message }) => [entryId, ownCopy(message)]));
  return {
    entries: entries.map((sourceEntry) => {
      const message = messages.get(sourceEntry.id);
      return { sourceEntry, messages: message === undefined ? [] : [message] };
    }),
    messages: projection.items.map(({ message }) => ownCopy(message)),
    thinkingLevel: settings.thinkingLevel ?? "off",
    model: settings.model ?? null,
  };
}

/** Every entry below its parent, the oldest child first. An entry whose parent is not there is a root. */
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

/** The latest branch that was read of a session, as long as memory is not needed for something else. */
const latest = new WeakMap<Session, WeakRef<readonly Entry[]>>();

/**
 * Copies of the entries from a root to the leaf, oldest first. A long session's branch stands in its file, so that what
 * was read of it before is read again only when nobody holds it any more.
 */
function branchCopies(session: Session): Entry[] {
  const known = latest.get(session)?.deref() ?? [];
  const branch = grown(session, known) ?? withoutLeafRecords(session.path());
  latest.set(session, new WeakRef(branch));
  return [...branch];
}

/** A branch that has grown by more is read as a whole. */
const MOST_STEPS = 1_000;

/** The branch with what came since; undefined where the leaf is no descendant of its end, or a far one. */
function grown(session: Session, known: readonly Entry[]): readonly Entry[] | undefined {
  const end = known.at(-1)?.id;
  if (end === undefined) return undefined;
  const later: Entry[] = [];
  for (let id = session.leafId; id !== end; ) {
    const entry = id === null || later.length === MOST_STEPS ? undefined : session.entry(id);
    if (entry === undefined) return undefined;
    later.push(entry);
    id = entry.parentId;
  }
  return later.length === 0 ? known : [...known, ...withoutLeafRecords(later.reverse())];
}

/** Copies by what they are copies of: an entry that is asked for again costs nothing. */
const copies = new WeakMap<object, object>();

/**
 * A copy that nobody can change, of what a session holds: an extension that writes to it gets an error, and neither the
 * session nor another extension sees anything of it.
 */
export function ownCopy<Value>(value: Value): Value {
  if (!isObject(value)) return value;
  const known = copies.get(value);
  if (known !== undefined) return known as Value & object;
  const copy = frozenCopy(value);
  copies.set(value, copy);
  // Whoever hands a copy back gets the same one.
  copies.set(copy, copy);
  return copy as Value & object;
}

/** Level by level, for a file may hold data that are nested deeper than calls can be. */
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

/** What an extension has just stored may be a date or the like: it is seen as the file holds it. */
function asStored(value: object): unknown {
  return JSON.parse(JSON.stringify(value) ?? "null");
}

function emptyLike(value: object): object {
  return Array.isArray(value) ? [] : {};
}

/** `__proto__` may stand in a file; assigned, it would be no field any more. */
function setField(copy: object, key: string, value: unknown): void {
  if (key !== "__proto__") (copy as Record<string, unknown>)[key] = value;
  else Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true });
}
