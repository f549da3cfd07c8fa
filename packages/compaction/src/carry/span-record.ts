import type { SecretFilter } from "@bonsai-agent/messages";
import { secretsOf } from "@bonsai-agent/messages/host";
import { type Entry, type ProjectionItem, project, type Session } from "@bonsai-agent/session";
import { UndoneCompactions } from "@bonsai-agent/session/host";
import { besideOf, type SpanRecord, storedDetails } from "../details.ts";
import type { CompactionPlan } from "../plan/plan.ts";
import { originalMessage } from "../plan/view.ts";
import { type RecordedMessage, recordAfter } from "../record/record.ts";

/** The path whose spans are recorded. */
export interface RecordSource {
  readonly session: Session;
  readonly leafId: string | null;
  readonly secrets: SecretFilter;
  /** Tokens of the user's words that the settings allow. */
  readonly wordsTokens: number;
}

/** Cache by plan: each rung of a run needs the record, and an extension may use another focus. */
const records = new WeakMap<CompactionPlan, { focus: string | undefined; record: SpanRecord }>();

/**
 * Returns the record of the messages that this plan summarises, with the record of earlier compactions.
 * @param focus topics that the summary must emphasise
 */
export function spanRecord(
  plan: CompactionPlan,
  source: RecordSource,
  focus: string | undefined,
): SpanRecord {
  const known = records.get(plan);
  if (known !== undefined && known.focus === focus) return known.record;
  const record = recordOfItems({
    earlier: earlierRecord(plan, source),
    items: [...plan.history, ...plan.turnPrefix].map(itemSource),
    following: plan.kept.map(itemSource),
    wordsTokens: source.wordsTokens,
    focus,
    secrets: source.secrets,
  });
  records.set(plan, { focus, record });
  return record;
}

function itemSource({ source }: { source: ProjectionItem }): ProjectionItem {
  return source;
}

interface RecordOfItemsOptions {
  earlier?: SpanRecord | undefined;
  /** Oldest first. */
  items: readonly ProjectionItem[];
  following?: readonly ProjectionItem[];
  /** Tokens of the user's words that the settings allow. */
  wordsTokens: number;
  focus?: string | undefined;
  secrets?: SecretFilter | undefined;
}

const learned = new WeakSet<Session>();
/** Above this size, only the tail is read for the names of secrets. */
const MAX_LEARNED_BYTES = 4_000_000;

/** Redacts what a session's summaries keep. It also knows values whose names only earlier spans contain. */
export function sessionSecrets(session: Session, leafId: string | null): SecretFilter {
  const secrets = secretsOf(session);
  if (learned.has(session)) return secrets;
  learned.add(session);
  secrets.learn(session.sizeBytes <= MAX_LEARNED_BYTES ? session.path(leafId) : session.tail(leafId));
  return secrets;
}

/** The record of some items of a context. */
export function recordOfItems({
  earlier,
  items,
  following = [],
  wordsTokens,
  focus,
  secrets,
}: RecordOfItemsOptions): SpanRecord {
  return recordAfter({
    earlier,
    messages: items.map(recorded),
    following: following.map(recorded),
    wordsTokens: Math.max(MIN_WORDS_TOKENS, wordsTokens),
    focus,
    secrets,
  });
}

/** The record keeps this much even if the settings show less, because settings can change. */
const MIN_WORDS_TOKENS = 4_000;

function recorded(source: ProjectionItem): RecordedMessage {
  const { entryId, entry } = source;
  return { message: originalMessage({ source }), entryId, record: recordIn(entry) };
}

/** The record in the details of a summary of ours. */
function recordIn(entry: Entry): SpanRecord | undefined {
  return storedDetails(entry).record;
}

/** The record of the earlier compaction. If another program made that compaction, its entries are read again, once. */
function earlierRecord({ previous, ...plan }: CompactionPlan, source: RecordSource): SpanRecord | undefined {
  if (previous === undefined) return undefined;
  const record = recordIn(previous);
  if (record !== undefined) return record;
  const path = source.session.path(source.leafId);
  const [first] = [...plan.history, ...plan.turnPrefix, ...plan.kept];
  const at = path.findIndex(({ id }) => id === (first?.entryId ?? previous.id));
  const before = path.slice(0, at < 0 ? path.length : at);
  const former = formerRecord(
    path.slice(
      0,
      path.findIndex(({ id }) => id === previous.id),
    ),
  );
  const entries = before.slice(former.from).filter(({ type }) => type !== "compaction");
  // Later edits were deliberate, so the record leaves out the content that they removed.
  const edits = path.slice(before.length).filter(({ type }) => type === "context_edit");
  const { items } = project([...entries, ...edits]);
  const { wordsTokens, secrets } = source;
  return recordOfItems({ earlier: former.record, items, wordsTokens, secrets });
}

/** The latest valid record on a path, and the index of the first entry that it does not cover. */
function formerRecord(path: readonly Entry[]): { record?: SpanRecord; from: number } {
  const undone = new UndoneCompactions();
  for (const entry of path.toReversed()) {
    undone.addOlder(entry);
    if (undone.has(entry.id)) continue;
    const found = recordBeside(entry) ?? recordOfCompaction(entry);
    if (found === undefined) continue;
    const from = path.findIndex(({ id }) => id === found.firstKeptEntryId);
    return { record: found.record, from: from < 0 ? path.indexOf(entry) + 1 : from };
  }
  return { from: 0 };
}

interface FoundRecord {
  record: SpanRecord;
  firstKeptEntryId: unknown;
}

function recordOfCompaction(entry: Entry): FoundRecord | undefined {
  const record = entry.type === "compaction" ? recordIn(entry) : undefined;
  return record && { record, firstKeptEntryId: (entry as { firstKeptEntryId?: unknown }).firstKeptEntryId };
}

function recordBeside(entry: Entry): FoundRecord | undefined {
  const { record, firstKeptEntryId } = besideOf(entry) ?? {};
  return record && { record, firstKeptEntryId };
}
