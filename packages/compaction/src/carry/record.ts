import { callsIn, contentText, SecretFilter, textHead } from "@bonsai-agent/messages";
import { RECALL_TOOL, recalledIds } from "@bonsai-agent/messages/host";
import { type Entry, type ProjectionItem, project, type Session } from "@bonsai-agent/session";
import { UndoneCompactions } from "@bonsai-agent/session/host";
import {
  besideOf,
  emptyRecord,
  type SpanRecord,
  storedDetails,
  type TermIndex,
  type TermUse,
} from "../details.ts";
import type { CompactionPlan } from "../plan/cut.ts";
import { originalMessage } from "../plan/view.ts";
import { outcomesAfter } from "../record/outcomes.ts";
import { isNumber, termsIn, textsIn } from "../record/sentence.ts";
import {
  clippedClosings,
  clippedWords,
  isUserMessage,
  joinedWords,
  ranCommand,
  type SourceMessage,
  statementsIn,
  summaryProse,
  typedText,
} from "../record/statements.ts";

/** A message of a span. The summary of a branch comes with the branch's record. */
export interface RecordedMessage extends SourceMessage {
  record?: SpanRecord | undefined;
}

interface RecordOptions {
  /** The record before these messages. Default: empty. */
  earlier?: SpanRecord | undefined;
  /** Oldest first. */
  messages: readonly RecordedMessage[];
  /** Later messages, which stay in view: they resolve failures and to-dos, but are not recorded. Default: none. */
  following?: readonly SourceMessage[] | undefined;
  /** Upper bound for the user's words, in tokens. */
  wordsTokens: number;
  /** The topic to prefer if not all of the user's words fit. Default: none. */
  focus?: string | undefined;
  /** Knows the secrets of the session. Default: a new filter without any. */
  secrets?: SecretFilter | undefined;
}

/** Upper bound for the statements in a record, in tokens. */
const CLOSINGS_TOKENS = 4_000;

/** Extends a record with more messages, and redacts secrets. Reads only these messages. Never throws on damaged ones. */
export function recordAfter(options: RecordOptions): SpanRecord {
  const { wordsTokens, focus, secrets = new SecretFilter() } = options;
  const { messages, following } = withoutSecrets(options, secrets);
  // An older version may have stored secrets in the earlier record too.
  const earlier = recordWithoutSecrets(options.earlier ?? emptyRecord, secrets);
  let record = earlier;
  let from = 0;
  messages.forEach(({ record: branch }, at) => {
    if (branch === undefined) return;
    record = withBranch(withMessages(record, messages.slice(from, at)), branch);
    from = at;
  });
  const whole = withMessages(record, messages.slice(from), following);
  return {
    ...whole,
    spans: earlier.spans + 1,
    words: clippedWords(whole.words, { maxTokens: wordsTokens, focus }),
    closings: clippedClosings(whole.closings, { maxTokens: CLOSINGS_TOKENS }),
  };
}

/** The messages without secrets; a later one can give away a secret of an earlier one. */
function withoutSecrets({ messages, following = [] }: RecordOptions, secrets: SecretFilter) {
  const all: readonly RecordedMessage[] = [...messages, ...following];
  const redacted = secrets.values(all.map(({ message }) => message)).map((message, at): RecordedMessage => {
    const { record } = all[at]!;
    if (record === undefined && message === all[at]!.message) return all[at]!;
    return { ...all[at], message, record: record && recordWithoutSecrets(record, secrets) };
  });
  return { messages: redacted.slice(0, messages.length), following: redacted.slice(messages.length) };
}

function recordWithoutSecrets(record: SpanRecord, secrets: SecretFilter): SpanRecord {
  const { terms, ...others } = secrets.value(record);
  const uses = terms.uses.filter(({ term }) => !term.includes("[redacted: "));
  return { ...others, terms: { ...terms, uses } };
}

function withMessages(
  record: SpanRecord,
  messages: readonly SourceMessage[],
  following: readonly SourceMessage[] = [],
): SpanRecord {
  const isLastOpen = following[0] !== undefined && !isUserMessage(following[0].message);
  const { said, closings, turns, unanswered } = statementsIn(messages, record, isLastOpen);
  return {
    ...record,
    turns,
    unanswered,
    words: joinedWords(record.words, said),
    closings: [...record.closings, ...closings],
    terms: termsAfter(record.terms, messages),
    outcomes: outcomesAfter(record.outcomes, messages, following),
  };
}

/** Adds the record of a branch. Its irreversible commands still count; its failures and to-dos do not. */
function withBranch(record: SpanRecord, branch: SpanRecord): SpanRecord {
  // If the branch has its own compaction, its record repeats statements from before the fork.
  const known = new Set([...record.words.said, ...record.closings].map(({ entryId }) => entryId));
  const isNew = ({ entryId }: { entryId?: string | undefined }) =>
    entryId === undefined || !known.has(entryId);
  const numbered = <Item extends { turn: number; entryId?: string | undefined }>(items: readonly Item[]) =>
    items.filter(isNew).map((item) => ({ ...item, turn: item.turn + record.turns, isOnBranch: true }));
  const words = joinedWords(record.words, numbered(branch.words.said));
  return {
    ...record,
    turns: record.turns + branch.turns,
    words: { ...words, leftOut: words.leftOut + branch.words.leftOut },
    closings: [...record.closings, ...numbered(branch.closings)],
    terms: joinedTerms(record.terms, branch.terms),
    outcomes: {
      ...record.outcomes,
      irreversible: [...record.outcomes.irreversible, ...branch.outcomes.irreversible],
    },
  };
}

const SPEAKER_WEIGHT = { user: 3, assistant: 2, result: 1 };
/** Only the head of a result is read: later terms are seldom named again. */
const RESULT_CHARS = 4_000;
const MAX_TERMS = 500;
const MAX_ENTRIES = 2;
/** Factor for uses at the beginning of the session; uses at the end count 1 more. */
const MIN_PLACE = 0.3;

/** Extends the index with more messages. */
export function termsAfter(earlier: TermIndex, messages: readonly SourceMessage[]): TermIndex {
  const uses = new Map<string, TermUse>();
  for (let at = messages.length - 1; at >= 0; at--) {
    const { message, entryId } = messages[at]!;
    const entries = entryId === undefined ? [] : [entryId];
    weightedTerms(message).forEach((weight, term) => {
      addUse(uses, { term, weight, placed: weight * (earlier.messages + at + 1), entries });
    });
  }
  return ranked(uses, earlier, messages.length);
}

/** Joins the index of a branch, as later messages, into another index. */
function joinedTerms(index: TermIndex, branch: TermIndex): TermIndex {
  const uses = new Map<string, TermUse>();
  for (const use of branch.uses) addUse(uses, { ...use, placed: use.placed + use.weight * index.messages });
  return ranked(uses, index, branch.messages);
}

/** Adds an earlier use, so that the latest entries stay. */
function addUse(uses: Map<string, TermUse>, { term, weight, placed, entries }: TermUse): void {
  let use = uses.get(term);
  if (use === undefined) {
    use = { term, weight: 0, placed: 0, entries: [] };
    uses.set(term, use);
  }
  use.weight += weight;
  use.placed += placed;
  for (const entry of entries)
    if (use.entries.length < MAX_ENTRIES && !use.entries.includes(entry)) use.entries.push(entry);
}

/** The index of these uses, in `added` messages, and of an earlier index. */
function ranked(uses: Map<string, TermUse>, earlier: TermIndex, added: number): TermIndex {
  for (const use of earlier.uses) addUse(uses, use);
  const messages = earlier.messages + added;
  const score = ({ weight, placed }: TermUse) => MIN_PLACE * weight + placed / Math.max(1, messages);
  const scored = Array.from(uses.values(), (use) => ({ use, score: score(use) }));
  scored.sort((a, b) => b.score - a.score || (a.use.term < b.use.term ? -1 : 1));
  return { messages, uses: scored.slice(0, MAX_TERMS).map(({ use }) => use) };
}

function weightedTerms(message: SourceMessage["message"]): Map<string, number> {
  const found = new Map<string, number>();
  const add = (text: string, weight: number, isOutput = false) => {
    for (const term of termsIn(text)) if (!isOutput || !isNumber(term)) found.set(term, weight);
  };
  switch (message?.role) {
    case "user":
      add(textHead(contentText(message.content), RESULT_CHARS), SPEAKER_WEIGHT.result, true);
      add(typedText(message), SPEAKER_WEIGHT.user);
      break;
    case "custom":
      add(textHead(contentText(message.content), RESULT_CHARS), SPEAKER_WEIGHT.result);
      break;
    case "assistant":
      add(contentText(message.content), SPEAKER_WEIGHT.assistant);
      // A recall call only repeats earlier terms.
      for (const call of callsIn(message).filter(({ name }) => name !== RECALL_TOOL))
        for (const text of textsIn(call.arguments)) add(text, SPEAKER_WEIGHT.assistant);
      break;
    case "toolResult":
      if (recalledIds(message) !== undefined) break;
      add(textHead(contentText(message.content), RESULT_CHARS), SPEAKER_WEIGHT.result, true);
      break;
    case "bashExecution": {
      const { command, output } = ranCommand(message);
      add(textHead(output, RESULT_CHARS), SPEAKER_WEIGHT.result, true);
      add(command, SPEAKER_WEIGHT.user);
      break;
    }
    case "branchSummary":
    case "compactionSummary":
      add(summaryProse(message), SPEAKER_WEIGHT.assistant);
      break;
    default:
  }
  return found;
}

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
    items: [...plan.history, ...plan.turnPrefix].map(({ source }) => source),
    following: plan.kept.map(({ source }) => source),
    wordsTokens: source.wordsTokens,
    focus,
    secrets: source.secrets,
  });
  records.set(plan, { focus, record });
  return record;
}

const learned = new WeakSet<Session>();
/** Above this size, only the tail is read for the names of secrets. */
const MAX_LEARNED_BYTES = 4_000_000;

/** Redacts what a session's summaries keep. It also knows values whose names only earlier spans contain. */
export function sessionSecrets(session: Session, leafId: string | null): SecretFilter {
  const secrets = SecretFilter.of(session);
  if (learned.has(session)) return secrets;
  learned.add(session);
  secrets.learn(session.sizeBytes <= MAX_LEARNED_BYTES ? session.path(leafId) : session.tail(leafId));
  return secrets;
}

interface ItemsOptions extends Omit<RecordOptions, "messages" | "following"> {
  /** Oldest first. */
  items: readonly ProjectionItem[];
  following?: readonly ProjectionItem[];
}

/** The record of some items of a context. */
export function recordOfItems({ items, following = [], wordsTokens, ...others }: ItemsOptions): SpanRecord {
  return recordAfter({
    ...others,
    messages: items.map(recorded),
    following: following.map(recorded),
    wordsTokens: Math.max(MIN_WORDS_TOKENS, wordsTokens),
  });
}

/** The record keeps this much even if the settings show less, because settings can change. */
const MIN_WORDS_TOKENS = 4_000;

function recorded(source: ProjectionItem): RecordedMessage {
  const { entryId, entry } = source;
  return { message: originalMessage({ source }), entryId, record: storedDetails(entry).record };
}

/** The record of the earlier compaction. If another program made that compaction, its entries are read again, once. */
function earlierRecord({ previous, ...plan }: CompactionPlan, source: RecordSource): SpanRecord | undefined {
  const { record } = storedDetails(previous);
  if (previous === undefined || record !== undefined) return record;
  const path = source.session.path(source.leafId);
  const placeOf = (entryId: string) => path.findIndex(({ id }) => id === entryId);
  const [first] = [...plan.history, ...plan.turnPrefix, ...plan.kept];
  const end = placeOf(first?.entryId ?? previous.id);
  const before = path.slice(0, end < 0 ? path.length : end);
  const former = formerRecord(path.slice(0, placeOf(previous.id)));
  const entries = before.slice(former.from).filter(({ type }) => type !== "compaction");
  // Later edits were deliberate, so the record leaves out the content that they removed.
  const edits = path.slice(before.length).filter(({ type }) => type === "context_edit");
  const { wordsTokens, secrets } = source;
  const { items } = project([...entries, ...edits]);
  return recordOfItems({ earlier: former.record, items, wordsTokens, secrets });
}

/** The latest valid record on a path, and the index of the first entry that it does not cover. */
function formerRecord(path: readonly Entry[]): { record?: SpanRecord; from: number } {
  const undone = new UndoneCompactions();
  for (const entry of path.toReversed()) {
    undone.addOlder(entry);
    if (undone.has(entry.id)) continue;
    const isCompaction = entry.type === "compaction";
    const { record } = besideOf(entry) ?? (isCompaction ? storedDetails(entry) : {});
    if (record === undefined) continue;
    const firstKeptEntryId = isCompaction ? entry.firstKeptEntryId : besideOf(entry)?.firstKeptEntryId;
    const from = path.findIndex(({ id }) => id === firstKeptEntryId);
    return { record, from: from < 0 ? path.indexOf(entry) + 1 : from };
  }
  return { from: 0 };
}
