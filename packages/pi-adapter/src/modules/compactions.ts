import { compactionSettings, fileOperations, planCompaction, startsTurn } from "@bonsai-agent/compaction";
import { cutIndex } from "@bonsai-agent/compaction/host";
import type { ReadonlySessionManager } from "@bonsai-agent/extension/host";
import { chars4Estimator, contextTokens, isRecord, type Message, type Usage } from "@bonsai-agent/messages";
import { createSession, type Entry, MemoryStore, openSession, type Session } from "@bonsai-agent/session";
import { type PiFileOperations, piFileOperations } from "../events.ts";
import { sessionEntryToContextMessages } from "./sessions.ts";

interface CutPoint {
  /** Index of the first entry that is kept. */
  firstKeptEntryIndex: number;
  /** Index of the entry that began the turn that is cut in two; -1 where none is. */
  turnStartIndex: number;
  isSplitTurn: boolean;
}

/** Where Bonsai would cut entries so that about so many tokens are kept. `endIndex` is behind the last one. */
export function findCutPoint(
  entries: readonly Entry[],
  startIndex: number,
  endIndex: number,
  keepRecentTokens: number,
): CutPoint {
  const items = entries.slice(startIndex, endIndex).flatMap((entry, index) =>
    shownMessages(entry).map((message) => ({
      at: startIndex + index,
      message,
      tokens: chars4Estimator.message(message),
    })),
  );
  const cut = cutIndex(items, { keepTokens: keepRecentTokens, commandTokens: Number.POSITIVE_INFINITY });
  if (cut === 0) return { firstKeptEntryIndex: startIndex, turnStartIndex: -1, isSplitTurn: false };
  const first = items[cut]?.at ?? endIndex;
  const startsWithTurn = items[cut] === undefined || startsTurn(items[cut].message);
  const turnStartIndex = startsWithTurn ? -1 : findTurnStartIndex(entries, first, startIndex);
  // What no model sees, and stands right before it, stays with it.
  const seen = items[cut - 1]!.at + 1;
  const compaction = entries.slice(seen, first).findLastIndex(({ type }) => type === "compaction");
  return {
    firstKeptEntryIndex: compaction < 0 ? seen : seen + compaction + 1,
    turnStartIndex,
    isSplitTurn: turnStartIndex >= 0,
  };
}

/** The entry at or before an index that began a turn; -1 where none did from `startIndex` on. */
export function findTurnStartIndex(
  entries: readonly Entry[],
  entryIndex: number,
  startIndex: number,
): number {
  for (let at = entryIndex; at >= startIndex; at -= 1)
    if (shownMessages(entries[at]!).some(startsTurn)) return at;
  return -1;
}

/** What an entry adds to a context; a compaction's summary takes the place of others and adds nothing. */
function shownMessages(entry: Entry): Message[] {
  return entry.type === "compaction" ? [] : sessionEntryToContextMessages(entry);
}

interface CompactionPreparation {
  firstKeptEntryId: string;
  messagesToSummarize: Message[];
  turnPrefixMessages: Message[];
  isSplitTurn: boolean;
  tokensBefore: number;
  previousSummary?: string;
  fileOps: PiFileOperations;
  settings: { enabled: boolean; reserveTokens: number; keepRecentTokens: number };
}

/** What a compaction of a path would summarise and keep; undefined where there is nothing to do. Nothing is written. */
export function prepareCompaction(
  pathEntries: readonly Entry[],
  settings: CompactionPreparation["settings"],
): CompactionPreparation | undefined {
  if (pathEntries.at(-1)?.type === "compaction") return undefined;
  const session = holding(pathEntries);
  const { keepRecentTokens, reserveTokens } = settings;
  const plan = planCompaction({
    session,
    settings: compactionSettings({ preset: "pi", keepRecentTokens, threshold: { reserveTokens } }),
  });
  if (plan.status !== "planned" || plan.firstKeptEntryId === null) return undefined;
  const { items, compaction } = session.projection();
  const messages = new Map(items.map(({ entryId, message }) => [entryId, message]));
  const messagesOf = (ids: readonly string[]) => ids.flatMap((id) => messages.get(id) ?? []);
  const messagesToSummarize = messagesOf(plan.summarizedEntryIds);
  const turnPrefixMessages = messagesOf(plan.turnPrefixEntryIds);
  return {
    firstKeptEntryId: plan.firstKeptEntryId,
    messagesToSummarize,
    turnPrefixMessages,
    isSplitTurn: plan.splitTurn,
    tokensBefore: plan.tokensBefore,
    ...(compaction === undefined ? {} : { previousSummary: compaction.summary }),
    fileOps: fileOpsOf([...messagesToSummarize, ...turnPrefixMessages], compaction ? [compaction] : []),
    settings,
  };
}

/** One path, whatever the entries' parents are. */
function holding(path: readonly Entry[]): Session {
  const { header } = createSession({ cwd: "/" });
  const chain = path.map((entry, at) => ({ ...entry, parentId: path[at - 1]?.id ?? null }));
  const lines = [header, ...chain].map((each) => `${JSON.stringify(each)}\n`);
  return openSession({ store: new MemoryStore(lines.join("")) });
}

/** What a move of the leaf would leave: the entries of the old branch below the deepest common one, oldest first. */
export function collectEntriesForBranchSummary(
  session: Pick<ReadonlySessionManager, "getBranch">,
  oldLeafId: string | null,
  targetId: string,
): { entries: Entry[]; commonAncestorId: string | null } {
  if (oldLeafId === null) return { entries: [], commonAncestorId: null };
  const target = new Set(session.getBranch(targetId).map(({ id }) => id));
  const branch = session.getBranch(oldLeafId);
  const common = branch.findLastIndex(({ id }) => target.has(id));
  return { entries: branch.slice(common + 1), commonAncestorId: branch[common]?.id ?? null };
}

/** A summary says much in few tokens: it may still come in below this share of the budget. */
const SUMMARY_SHARE = 0.9;

/** The messages of a branch without results of tools, the newest within a budget, oldest first. Budget 0: all of them. */
export function prepareBranchEntries(
  entries: readonly Entry[],
  tokenBudget = 0,
): { messages: Message[]; fileOps: PiFileOperations; totalTokens: number } {
  const messages: Message[] = [];
  let totalTokens = 0;
  for (const entry of entries.toReversed()) {
    const [message] = sessionEntryToContextMessages(entry);
    if (message === undefined || message.role === "toolResult") continue;
    const tokens = chars4Estimator.message(message);
    const fits = tokenBudget === 0 || totalTokens + tokens <= tokenBudget;
    const isSummary = entry.type === "compaction" || entry.type === "branch_summary";
    if (!fits && !(isSummary && totalTokens < tokenBudget * SUMMARY_SHARE)) break;
    messages.unshift(message);
    totalTokens += tokens;
    if (!fits) break;
  }
  const all = entries.flatMap(sessionEntryToContextMessages);
  return { messages, fileOps: fileOpsOf(all, entries), totalTokens };
}

/** By the calls, and by what earlier summaries that no extension made say. */
function fileOpsOf(messages: readonly Message[], summaries: readonly Entry[]): PiFileOperations {
  const fileOps = piFileOperations(fileOperations(messages), messages);
  for (const entry of summaries) {
    if (entry.type !== "compaction" && entry.type !== "branch_summary") continue;
    if (entry.fromHook === true || !isRecord(entry.details)) continue;
    const { readFiles, modifiedFiles } = entry.details;
    for (const path of paths(readFiles)) fileOps.read.add(path);
    for (const path of paths(modifiedFiles)) fileOps.edited.add(path);
  }
  return fileOps;
}

function paths(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

interface ContextEstimate {
  tokens: number;
  /** What the latest good answer reported; 0 where none did. */
  usageTokens: number;
  /** The estimated part of `tokens`. */
  trailingTokens: number;
  lastUsageIndex: number | null;
}

/** What a context holds: the usage of the latest good answer, and a quarter of the characters of what came after it. */
export function estimateContextTokens(messages: readonly Message[]): ContextEstimate {
  const at = messages.findLastIndex((message) => goodUsage(message) !== undefined);
  const usageTokens = at < 0 ? 0 : contextTokens(goodUsage(messages[at]!)!);
  const later = messages.slice(at + 1).map((message) => chars4Estimator.message(message));
  const trailingTokens = later.reduce((sum, tokens) => sum + tokens, 0);
  return {
    tokens: usageTokens + trailingTokens,
    usageTokens,
    trailingTokens,
    lastUsageIndex: at < 0 ? null : at,
  };
}

/** The usage of the last answer that neither failed nor was stopped, and reported something. */
export function getLastAssistantUsage(entries: readonly Entry[]): Usage | undefined {
  const messages = entries.flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
  const last = messages.findLast((message) => goodUsage(message) !== undefined);
  return last && goodUsage(last);
}

function goodUsage(message: Message): Usage | undefined {
  if (message?.role !== "assistant") return undefined;
  const { stopReason, usage } = message;
  const isGood = stopReason !== "aborted" && stopReason !== "error";
  return isGood && usage !== undefined && contextTokens(usage) > 0 ? usage : undefined;
}
