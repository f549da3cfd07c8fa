import { manifestOf, readContext } from "@bonsai-agent/compaction";
import {
  type CacheRules,
  type Calibration,
  CostSum,
  emptyUsage,
  inputTokens,
  isRecord,
  type Message,
  type ModelPrices,
  tokenEstimator,
} from "@bonsai-agent/messages";
import { answerUsage } from "@bonsai-agent/messages/host";
import { answeringModel, type CompactionEntry, type Entry, type Session } from "@bonsai-agent/session";
import { projectEntry } from "@bonsai-agent/session/host";

/** The messages of one path of a session, without its compactions and masks. */
export interface Recording {
  /** Oldest first. */
  messages: readonly Message[];
  /** `provider/model` of the latest answer, if any. */
  model: string | undefined;
  /** The window in tokens: as a compaction recorded it, or as the largest request before a compaction shows it. */
  windowTokens?: number | undefined;
  /** Tokens of system prompt and tools, learned from the recorded usage. 0 if unknown. */
  fixedTokens: number;
  /** Tokens that the provider counted per estimated token. 1 if unknown. */
  countRatio: number;
  /** Indexes of messages before which the context changed other than by an addition. Default: none. */
  changes?: readonly number[];
  /** The recorded totals, for comparison. */
  recorded: RecordedTotals;
}

/** Totals of a recorded session. */
export interface RecordedTotals {
  requests: number;
  /** All sent tokens, cached or not, without summary requests. */
  sentTokens: number;
  /** Cost of answers and summaries. */
  cost: CostSum;
  /** Tokens of the largest request. */
  highestTokens: number;
  compactions: number;
}

/** The recording of the path to a session's position, or to another entry. @throws BonsaiError `entry_not_found` */
export function recordingOf(session: Session, leafId: string | null = session.leafId): Recording {
  const path = session.path(leafId);
  const { messages, compactions, changes } = spokenOn(path);
  const answers = messages.filter((message) => message.role === "assistant");
  const learned = readContext({ session, leafId }).calibration();
  const sent = answers.map(({ usage }) => (usage === undefined ? 0 : inputTokens(usage)));
  const highestTokens = sent.reduce((highest, tokens) => Math.max(highest, tokens), 0);
  return {
    messages,
    changes,
    model: path.map((entry) => answeringModel(entry)).findLast((model) => model !== undefined),
    windowTokens:
      path.map(windowOf).findLast((tokens) => tokens !== undefined) ??
      (compactions.length > 0 && highestTokens > 0 ? highestTokens + RESERVE_TOKENS : undefined),
    fixedTokens: fixedTokensOf(messages, learned),
    countRatio: learned?.ratio ?? 1,
    recorded: {
      requests: answers.length,
      sentTokens: sumOf(sent),
      cost: costOf(answers, compactions),
      highestTokens,
      compactions: compactions.length,
    },
  };
}

/** The usual reserve, in tokens: agents compact this far below their window. */
const RESERVE_TOKENS = 16_384;

function costOf(answers: readonly Answer[], compactions: readonly CompactionEntry[]): CostSum {
  const sum = new CostSum();
  for (const answer of answers) sum.add(answerUsage(answer));
  for (const entry of compactions) {
    const { cost, ...usage } = entry.usage ?? emptyUsage();
    const usd = Number(manifestOf(entry)?.costUsd ?? cost?.total) || 0;
    sum.add({ ...usage, cost: { ...emptyUsage().cost, total: usd } });
  }
  return sum;
}

/** The learned tokens of system prompt and tools, bounded by the first request, whose messages are all known. */
function fixedTokensOf(messages: readonly Message[], learned: Calibration | undefined): number {
  const first = messages.findIndex((message) => message.role === "assistant" && message.usage !== undefined);
  const answer = messages[first];
  const sent = answer?.role === "assistant" ? inputTokens(answer.usage) : 0;
  const before = messages.slice(0, Math.max(0, first));
  const said = sumOf(before.map((message) => tokenEstimator.message(message))) * (learned?.ratio ?? 1);
  const most = sent > 0 ? Math.max(0, sent - said) : Number.POSITIVE_INFINITY;
  return Math.round(Math.min(most, Math.max(0, learned?.overheadTokens ?? 0)));
}

function spokenOn(path: readonly Entry[]) {
  const omitted = new Set(path.flatMap((entry) => (isOmission(entry) ? [entry.targetId] : [])));
  const messages: Message[] = [];
  const compactions: CompactionEntry[] = [];
  const changes: number[] = [];
  for (const entry of path) {
    if (entry.type === "compaction") compactions.push(entry);
    if (entry.type === "compaction" || entry.type === "context_edit") changes.push(messages.length);
    const message = entry.type === "compaction" || omitted.has(entry.id) ? undefined : spoken(entry);
    if (message !== undefined) messages.push(message);
  }
  return { messages, compactions, changes };
}

/** True for an edit that removes an entry from the context. A mask would leave a placeholder. */
function isOmission(entry: Entry): entry is Entry & { type: "context_edit" } {
  return entry.type === "context_edit" && entry.replacement === null;
}

function spoken(entry: Entry): Message | undefined {
  if (entry.type === "message" && !isRecord(entry.message)) return undefined;
  const message = projectEntry(entry)?.message;
  // A failed request was repeated, and the valid answer follows.
  const isVoid = message?.role === "assistant" && ["error", "aborted"].includes(message.stopReason);
  return isVoid ? undefined : message;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function windowOf(entry: Entry): number | undefined {
  const settings: unknown = entry.type === "compaction" ? manifestOf(entry)?.settings : undefined;
  const tokens = isRecord(settings) ? settings.windowTokens : undefined;
  return typeof tokens === "number" && tokens > 0 ? tokens : undefined;
}

/** Prefixes that a provider dropped before its rules allow. */
export interface MissedPrefixes {
  requests: number;
  tokens: number;
  usd: number;
}

/**
 * Counts cached prefixes that a provider dropped too early, which a replay does not know. A prefix is missed if the
 * previous request sent it unchanged to the same model within the cache's time, and less than half of it was read from
 * the cache.
 */
export function missedPrefixes(
  { messages, changes = [] }: Recording,
  { prices, cacheRules }: { prices: ModelPrices; cacheRules: CacheRules },
): MissedPrefixes {
  const missed = { requests: 0, tokens: 0, usd: 0 };
  const places = new Set(changes);
  let isChanged = false;
  let before: (Message & { role: "assistant" }) | undefined;
  for (const [at, message] of messages.entries()) {
    isChanged ||= places.has(at);
    if (message.role !== "assistant") continue;
    const tokens = before === undefined || isChanged ? 0 : missedTokens(before, message, cacheRules);
    if (tokens > 0) missed.requests += 1;
    missed.tokens += tokens;
    before = message;
    isChanged = false;
  }
  const dearer = (prices.cacheWrite || prices.input) - (prices.cacheRead || prices.input);
  missed.usd = (missed.tokens * dearer) / 1_000_000;
  return missed;
}

type Answer = Message & { role: "assistant" };

function missedTokens(before: Answer, answer: Answer, { keptMs, minimumTokens }: CacheRules): number {
  if (before.provider !== answer.provider || before.model !== answer.model) return 0;
  if (answer.timestamp - before.timestamp > keptMs) return 0;
  if (before.usage === undefined || answer.usage === undefined) return 0;
  const prefix = inputTokens(before.usage);
  const { cacheRead = 0 } = answer.usage;
  return prefix < minimumTokens || cacheRead >= prefix / 2 ? 0 : prefix - cacheRead;
}
