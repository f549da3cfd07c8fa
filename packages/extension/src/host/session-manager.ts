import { dirname } from "node:path";
import type { Entry, Session } from "@bonsai-agent/session";
import type { ReadonlySessionManager, SessionTreeNode } from "../api/extension-context.ts";

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
    getEntries: () => session().entries().map(ownCopy),
    getTree: () => treeOf(session()),
    buildSessionContext: () => ({
      messages: session()
        .projection()
        .items.map(({ message }) => ownCopy(message)),
    }),
    buildContextEntries: () => contextEntries(session()).map(ownCopy),
  };
}

function entryOf(session: Session, id: string): Entry | undefined {
  const entry = session.entry(id);
  return entry === undefined ? undefined : ownCopy(entry);
}

/** An id that the session does not have is no branch. */
function branchOf(session: Session, fromId: string | undefined): Entry[] {
  if (fromId === undefined || fromId === session.leafId) return branchCopies(session);
  return session.entry(fromId) === undefined ? [] : session.path(fromId).map(ownCopy);
}

/** The summary first, then what is kept and what came after it, whatever the entries are. */
function contextEntries(session: Session): Entry[] {
  const { compaction } = session.projection();
  if (compaction === undefined) return session.path();
  const tail = [...session.tail()].reverse();
  const from = tail.findIndex(({ id }) => id === compaction.firstKeptEntryId);
  return [compaction, ...tail.slice(Math.max(0, from)).filter(({ id }) => id !== compaction.id)];
}

/** Every entry below its parent, the oldest child first. An entry whose parent is not there is a root. */
function treeOf(session: Session): SessionTreeNode[] {
  const labels = session.labels();
  const nodes = new Map<string, SessionTreeNode>();
  const ordered: SessionTreeNode[] = [];
  for (const entry of session.entries()) {
    const label = labels.get(entry.id);
    const node = { entry: ownCopy(entry), children: [], ...(label === undefined ? {} : { label }) };
    nodes.set(entry.id, node);
    ordered.push(node);
  }
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
  const branch = grown(session, known) ?? session.path().map(ownCopy);
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
    later.push(ownCopy(entry));
    id = entry.parentId;
  }
  return later.length === 0 ? known : [...known, ...later.reverse()];
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
