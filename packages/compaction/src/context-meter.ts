import { type ContextTokens, estimateContextTokens, type TokenEstimator } from "@bonsai-agent/messages";
import {
  type Entry,
  type ProjectionItem,
  pinChange,
  type Session,
  UNDO_CUSTOM_TYPE,
} from "@bonsai-agent/session";
import { tailEntries } from "./tail-entries.ts";

export interface ReadContextOptions {
  session: Session;
  estimator: TokenEstimator;
  /** Default: the session's leaf. */
  leafId?: string | null;
  /** The projection's items, where the caller has them. */
  items?: readonly ProjectionItem[];
  /** Tokens of system prompt and tools; they count, and are asked for, where no usage can be trusted. Default 0. */
  overheadTokens?: number;
}

/**
 * Reads how many tokens the context holds. An answer's usage is not trusted when it is older than the latest
 * compaction, its undoing, or an edit.
 */
export function readContext(options: ReadContextOptions): ContextTokens {
  const { session, estimator, leafId = session.leafId } = options;
  const items = options.items ?? session.projection(leafId).items;
  const known = readings.get(items);
  if (known !== undefined && isKnown(known, { session, leafId, estimator }, options)) return known.reading;
  const messages = items.map((item) => item.message);
  const staleBefore = staleCount(session, leafId, items);
  let overheadTokens = 0;
  const reading = estimateContextTokens({
    ...{ messages, estimator, staleBefore },
    get overheadTokens() {
      overheadTokens = options.overheadTokens ?? 0;
      return overheadTokens;
    },
  });
  readings.set(items, { session, leafId, estimator, overheadTokens, reading });
  return reading;
}

type Asked = Required<Pick<ReadContextOptions, "session" | "leafId" | "estimator">>;

interface Reading extends Asked {
  overheadTokens: number;
  reading: ContextTokens;
}

/** A list of items never changes, so that what was read of it once need not be read again. */
const readings = new WeakMap<readonly ProjectionItem[], Reading>();

function isKnown(
  known: Reading,
  { session, leafId, estimator }: Asked,
  options: Pick<ReadContextOptions, "overheadTokens">,
): boolean {
  if (known.session !== session || known.leafId !== leafId || known.estimator !== estimator) return false;
  return known.reading.source === "usage" || known.overheadTokens === (options.overheadTokens ?? 0);
}

/** How many of the items, from the first on, are older than whatever last changed the context other than by adding. */
export function staleCount(
  session: Session,
  leafId: string | null,
  items: readonly ProjectionItem[],
): number {
  let count = items.length;
  for (const entry of tailEntries(session, leafId, undefined)) {
    if (count === 0 || changesContext(entry)) break;
    if (items[count - 1]?.entryId === entry.id) count -= 1;
  }
  return count;
}

function changesContext(entry: Entry): boolean {
  if (entry.type === "custom") return entry.customType === UNDO_CUSTOM_TYPE;
  if (pinChange(entry)?.isPinned === false) return true;
  return entry.type === "compaction" || entry.type === "context_edit";
}

/** True when nothing that the model sees came after the live compaction. */
export function isJustCompacted(session: Session, leafId: string | null = session.leafId): boolean {
  const { items, compaction } = session.projection(leafId);
  if (compaction === undefined) return false;
  const visible = new Set(items.map((item) => item.entryId));
  for (const { id } of tailEntries(session, leafId, compaction)) {
    if (visible.has(id)) return id === compaction.id;
  }
  return false;
}
