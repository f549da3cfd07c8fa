import { compactionSettings, manifestOf, readContext } from "@bonsai-agent/compaction";
import {
  answerUsage,
  byScriptEstimator,
  type CacheRules,
  type Calibration,
  isRecord,
  type Message,
  type ModelPrices,
  promptTokens,
  type Usage,
} from "@bonsai-agent/messages";
import { answeringModel, type CompactionEntry, type Entry, type Session } from "@bonsai-agent/session";
import { projectEntry } from "@bonsai-agent/session/host";

/** What was said and done on one path of a session, whatever its model was shown of it. */
export interface Recording {
  /** Oldest first; its own compactions, masks and undone ways are taken back. */
  messages: readonly Message[];
  /** `provider/model` of the latest answer; undefined where none was recorded. */
  model: string | undefined;
  /** Tokens that the model took, where a compaction wrote it down. */
  windowTokens?: number | undefined;
  /** System prompt and tools, in tokens: as the recorded usage tells, else 0. */
  fixedTokens: number;
  /** What the provider counted of a message, for each token of the plain count. 1 where nothing tells. */
  countRatio: number;
  /** The summaries of its own compactions. Default: none */
  summaries?: readonly RecordedSummary[];
  /** Before these messages the context was changed, and not only added to. Default: never */
  changes?: readonly number[];
  /** As recorded, to compare with: requests, and all tokens that were sent. */
  recorded: RecordedTotals;
}

/** What a session says of itself. */
export interface RecordedTotals {
  requests: number;
  /** All tokens that its requests sent, cached or not; those for summaries are not among them. */
  sentTokens: number;
  /** Of answers and summaries, where it is known. */
  usd: number;
  /** Number of answers and summaries whose tokens the server did not fully count. */
  uncounted: number;
  compactions: number;
}

/** A summary that stands in a recording. */
export interface RecordedSummary {
  /** It was written in front of this message. */
  at: number;
  /** Without what is carried over beside it. */
  prose: string;
  /** Absent where nobody knows. */
  usage?: Usage | undefined;
  /** US dollars; 0 where nobody knows. */
  usd: number;
}

/** The recording of the path to a session's position, or to another entry. @throws BonsaiError `entry_not_found` */
export function recordingOf(session: Session, leafId: string | null = session.leafId): Recording {
  const path = session.path(leafId);
  const { messages, summaries, changes } = spokenOn(path);
  const answers = messages.filter((message) => message.role === "assistant");
  const learned = readContext({ session, settings: compactionSettings(), leafId }).calibration();
  return {
    messages,
    summaries,
    changes,
    model: path.map((entry) => answeringModel(entry)).findLast((model) => model !== undefined),
    windowTokens: path.map(windowOf).findLast((tokens) => tokens !== undefined),
    fixedTokens: fixedTokensOf(messages, learned),
    countRatio: learned?.ratio ?? 1,
    recorded: {
      requests: answers.length,
      sentTokens: sumOf(answers.map(({ usage }) => (usage === undefined ? 0 : promptTokens(usage)))),
      usd:
        sumOf(answers.map(({ usage }) => usage?.cost?.total ?? 0)) + sumOf(summaries.map(({ usd }) => usd)),
      uncounted: [...answers.map(answerUsage), ...summaries.map(({ usage }) => usage)].filter(
        (usage) => usage?.isUncounted === true,
      ).length,
      compactions: summaries.length,
    },
  };
}

/**
 * What is sent with every request, as the session's usage has taught it; never more than its first request leaves room for,
 * which was sent before anything could be lost in counting.
 */
function fixedTokensOf(messages: readonly Message[], learned: Calibration | undefined): number {
  const first = messages.findIndex((message) => message.role === "assistant" && message.usage !== undefined);
  const answer = messages[first];
  const sent = answer?.role === "assistant" ? promptTokens(answer.usage) : 0;
  const before = messages.slice(0, Math.max(0, first));
  const said = sumOf(before.map((message) => byScriptEstimator.message(message))) * (learned?.ratio ?? 1);
  const most = sent > 0 ? Math.max(0, sent - said) : Number.POSITIVE_INFINITY;
  return Math.round(Math.min(most, Math.max(0, learned?.overheadTokens ?? 0)));
}

function spokenOn(
  path: readonly Entry[],
): Required<Pick<Recording, "summaries" | "changes">> & { messages: Message[] } {
  const omitted = new Set(path.flatMap((entry) => (isOmission(entry) ? [entry.targetId] : [])));
  const messages: Message[] = [];
  const summaries: RecordedSummary[] = [];
  const changes: number[] = [];
  for (const entry of path) {
    if (entry.type === "compaction") summaries.push(summaryOf(entry, messages.length));
    if (entry.type === "compaction" || entry.type === "context_edit") changes.push(messages.length);
    const message = entry.type === "compaction" || omitted.has(entry.id) ? undefined : spoken(entry);
    if (message !== undefined) messages.push(message);
  }
  return { messages, summaries, changes };
}

/** Somebody took an entry out of the context; a compaction that left it out would have put a mark in its place. */
function isOmission(entry: Entry): entry is Entry & { type: "context_edit" } {
  return entry.type === "context_edit" && entry.replacement === null;
}

function spoken(entry: Entry): Message | undefined {
  if (entry.type === "message" && !isRecord(entry.message)) return undefined;
  const message = projectEntry(entry)?.message;
  // What failed was asked for again, and the answer that counts stands behind it.
  const isVoid = message?.role === "assistant" && ["error", "aborted"].includes(message.stopReason);
  return isVoid ? undefined : message;
}

function summaryOf(entry: CompactionEntry, at: number): RecordedSummary {
  const { summary, details, usage } = entry;
  const own = isRecord(details) && typeof details.prose === "string" ? details.prose : undefined;
  const usd = Number(manifestOf(entry)?.costUsd ?? usage?.cost?.total) || 0;
  return { at, prose: own ?? String(summary ?? ""), usage, usd };
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function windowOf(entry: Entry): number | undefined {
  const settings: unknown = entry.type === "compaction" ? manifestOf(entry)?.settings : undefined;
  const tokens = isRecord(settings) ? settings.windowTokens : undefined;
  return typeof tokens === "number" && tokens > 0 ? tokens : undefined;
}

/** Prefixes that a provider should have had by its rules, and had to be paid anew. */
export interface MissedPrefixes {
  requests: number;
  tokens: number;
  usd: number;
}

/**
 * What of a recorded day a replay cannot know: a provider that forgot before its time. A prefix counts as missed where the
 * request before was sent with it to the same model, within the time that it is kept, nothing had changed in front of it,
 * and less than half of it was read from the cache.
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
  const prefix = promptTokens(before.usage);
  const { cacheRead = 0 } = answer.usage;
  return prefix < minimumTokens || cacheRead >= prefix / 2 ? 0 : prefix - cacheRead;
}
