import { BonsaiError } from "@bonsai-agent/messages";
import {
  type CompactionEntry,
  type ContextEditEntry,
  type Projection,
  type ProjectionItem,
  project,
  type Session,
} from "@bonsai-agent/session";
import { type ContextReading, type ReadContextOptions, readContext } from "./context.ts";
import { type ContextView, viewOf, viewTokens } from "./view.ts";

/** The context that a repeated compaction starts from: the former one's input, and everything since. */
interface Originals {
  former: CompactionEntry;
  reading: ContextReading;
  /** Messages that the former compaction cut or masked have their full content as sources. */
  view: ContextView;
}

/**
 * The context without its latest compaction, and without the ones that it repeated.
 * @throws BonsaiError `nothing_to_make_anew`, and what reading the session throws
 */
export function readOriginals(options: ReadContextOptions): Originals {
  const { session, leafId = session.leafId } = options;
  const former = formerCompaction(session, leafId);
  const projection = projectionWithout(session, leafId, former);
  const asItIs = readContext(options);
  const masked = viewOf(projection, asItIs.estimator);
  const view = withOriginals(masked, ownEdits(session, former));
  // The reported size is that of the context before the oldest replaced compaction; later messages are estimated.
  const oldest = replaced(session, former).at(-1)!;
  const before = readContext({ ...options, leafId: oldest.parentId });
  const known = new Set(before.projection.items.map(({ entryId }) => entryId));
  const tokens = before.tokens + viewTokens(view.items.filter(({ entryId }) => !known.has(entryId)));
  const { usageIndex: _ofAnotherContext, ...counted } = asItIs;
  const sizes = { tokens, trailingTokens: tokens, source: "estimate" as const };
  return { former, reading: { ...counted, projection, ...sizes }, view };
}

/**
 * The context of a path without its latest compaction: the input of a repeated compaction.
 * @throws BonsaiError `nothing_to_make_anew`, and what reading the session throws
 */
export function originalProjection(session: Session, leafId: string | null = session.leafId): Projection {
  return projectionWithout(session, leafId, formerCompaction(session, leafId));
}

function formerCompaction(session: Session, leafId: string | null): CompactionEntry {
  const { compaction } = session.projection(leafId);
  return compaction ?? nothingToMakeAnew("The current branch has no compaction.");
}

function projectionWithout(session: Session, leafId: string | null, former: CompactionEntry): Projection {
  return session.projection(leafId, { without: replaced(session, former).map(({ id }) => id) });
}

/** The compaction and the ones that it repeated, latest first. */
function replaced(session: Session, former: CompactionEntry): CompactionEntry[] {
  const found = [former];
  for (const { replacesCompactionId: id } of found) {
    const entry = id === undefined || found.some((each) => each.id === id) ? undefined : session.entry(id);
    if (entry?.type === "compaction") found.push(entry);
  }
  return found;
}

/**
 * The edits that a compaction wrote before itself, and the latest edit before them of each edited entry. The compaction
 * saw the edited messages whole.
 */
interface OwnEdits {
  ids: ReadonlySet<string>;
  earlier: ReadonlyMap<string, ContextEditEntry>;
}

function ownEdits(session: Session, former: CompactionEntry): OwnEdits {
  const edits = replaced(session, former).flatMap(({ parentId }) => [...editsInFront(session, parentId)]);
  const ids = new Set(edits.map(({ id }) => id));
  const targets = new Set(edits.map(({ targetId }) => targetId));
  const earlier = new Map<string, ContextEditEntry>();
  for (const entry of targets.size === 0 ? [] : session.tail(former.parentId))
    if (entry.type === "context_edit" && targets.has(entry.targetId) && !ids.has(entry.id))
      if (!earlier.has(entry.targetId)) earlier.set(entry.targetId, entry);
  return { ids, earlier };
}

/** The edits that were written in one append with a compaction. */
function* editsInFront(session: Session, parentId: string | null): Generator<ContextEditEntry> {
  for (let id = parentId; id !== null; ) {
    const entry = session.entry(id);
    if (entry?.type === "context_edit" && entry.replacement !== null) yield entry;
    else if (entry?.type !== "custom") return;
    id = entry.parentId;
  }
}

/** The view with the messages that the former compaction saw as sources. */
function withOriginals(view: ContextView, { ids, earlier }: OwnEdits): ContextView {
  if (ids.size === 0) return view;
  const items = view.items.map((item) => {
    if (item.edit === undefined || !ids.has(item.edit.id)) return item;
    const edit = earlier.get(item.entryId);
    const source: ProjectionItem | undefined = project(edit ? [item.entry, edit] : [item.entry]).items[0];
    return source === undefined ? item : { ...item, source };
  });
  return { ...view, items };
}

export function nothingToMakeAnew(message: string): never {
  throw new BonsaiError({
    /** The path has no compaction to repeat, or its original entries are not stored. */
    code: "nothing_to_make_anew",
    message,
    hint: "Compact the current context with /compact or `bonsai compact FILE`.",
  });
}
