import type { UserContent } from "@bonsai-agent/messages";
import { latestRequestChars } from "./budget.ts";
import {
  contentOf,
  isOutput,
  type PlannedEdit,
  truncated,
  type ViewItem,
  viewTokens,
  withEdits,
} from "./context-view.ts";
import { isFailedAnswer } from "./failed-answer.ts";
import type { LadderContext, LadderState, Rung } from "./rung.ts";

/** Lengths that tool results are cut to, in characters: the longest that suffices is taken. */
const TRUNCATED_CHARS = [64_000, 32_000, 16_000, 8_000, 4_000, 2_000];
/** What does not fit after an overflow, or could not be sent, ends the run. */
const SHORTEST_CHARS = [...TRUNCATED_CHARS, 1_000, 500, 200];

/** Replaces images by a mark. */
export const dropMediaRung: Rung = {
  name: "media",
  applies: (state, context) => mayLose(state, context) && keptItems(state).some(hasMedia),
  async attempt(state) {
    return edited(state, keptItems(state).filter(hasMedia).map(withoutMedia));
  },
};

/**
 * Cuts the largest remaining tool results and outputs of commands to head and tail; then, if need be, pasted text. What the model has not seen
 * yet is cut last, and by a threshold only where it would not fit the window otherwise.
 */
export const truncateRung: Rung = {
  name: "truncate",
  applies: (state, context) =>
    mayLose(state, context) && passes(state, context).some(({ of }) => of.length > 0),
  async attempt(state, context) {
    let next = state;
    const isForced = context.reason === "overflow" || isUnsendable(state, context);
    const lengths = isForced ? SHORTEST_CHARS : TRUNCATED_CHARS;
    for (const { of, leastChars, targetTokens } of passes(state, context)) {
      for (const chars of lengths) {
        if (next.tokens <= targetTokens) break;
        next = edited(
          next,
          of.flatMap((item) => truncated(item, Math.max(chars, leastChars(item)))),
        );
      }
    }
    return next;
  },
};

/** Of the user's latest request, so much is left whatever does not fit. */
const LATEST_REQUEST_CHARS = 1_000;

interface Pass {
  of: readonly ViewItem[];
  leastChars: (item: ViewItem) => number;
  targetTokens: number;
}

function passes(state: LadderState, context: LadderContext): Pass[] {
  const { targetTokens = 0, mostTokens = targetTokens, reason, budgets } = context;
  const kept = keptItems(state);
  const results = kept.filter(holdsOutput);
  const unseen = unseenResults(kept);
  const latest = kept.findLast(({ message }) => message.role === "user");
  const atMost = reason === "overflow" ? targetTokens : Math.max(targetTokens, mostTokens);
  const none = () => 0;
  const wholeLatest = (item: ViewItem) => (item === latest ? latestRequestChars(budgets) : 0);
  const endsOfLatest = (item: ViewItem) => (item === latest ? LATEST_REQUEST_CHARS : 0);
  const cuts: Pass[] = [
    { of: results.filter((item) => !unseen.has(item)), leastChars: none, targetTokens },
    { of: results.filter((item) => unseen.has(item)), leastChars: none, targetTokens: atMost },
  ];
  // What people wrote is cut only where a summary stands already, and what is kept is too large by itself.
  if (state.summary === undefined) return cuts;
  const written = kept.filter((item) => isEditable(item) && !holdsOutput(item));
  cuts.push({ of: written, leastChars: wholeLatest, targetTokens: atMost });
  if (reason === "overflow") cuts.push({ of: written, leastChars: endsOfLatest, targetTokens: atMost });
  return cuts;
}

/** Results that stand behind the last good answer. */
function unseenResults(items: readonly ViewItem[]): ReadonlySet<ViewItem> {
  const answered = items.findLastIndex(
    ({ message }) => message.role === "assistant" && !isFailedAnswer(message),
  );
  return new Set(items.slice(answered + 1).filter(holdsOutput));
}

/** Losing recent content is for an overflow, for a summary that did not free enough, and for what would not be sent. */
function mayLose(state: LadderState, context: LadderContext): boolean {
  if (context.reason !== "threshold") return context.reason === "overflow";
  return state.summary !== undefined || isUnsendable(state, context);
}

/** True for a context so far above the window that no request with it would be sent. */
export function isUnsendable(
  { tokens }: LadderState,
  { sendableTokens = Number.POSITIVE_INFINITY }: LadderContext,
): boolean {
  return tokens > sendableTokens;
}

/** What stays in the context: with a summary, the part that it keeps. */
function keptItems({ view, summary }: LadderState): readonly ViewItem[] {
  if (summary === undefined) return view.items;
  return view.items.filter((item) => item.message.role !== "compactionSummary");
}

function edited(state: LadderState, edits: readonly PlannedEdit[]): LadderState {
  const view = withEdits(state.view, edits);
  return view === state.view ? state : { ...state, view, tokens: viewTokens(view.items) };
}

function holdsOutput({ message }: ViewItem): boolean {
  return isOutput(message);
}

/** A context edit can replace the content of these; a summary has none. */
function isEditable({ message }: ViewItem): boolean {
  return isOutput(message) || message.role === "user" || message.role === "custom";
}

function hasMedia(item: ViewItem): boolean {
  return isEditable(item) && contentOf(item.message).some((block) => block.type === "image");
}

function withoutMedia(item: ViewItem): PlannedEdit {
  const content = contentOf(item.message).map((block): UserContent => {
    return block.type === "image" ? { type: "text", text: `[image left out: ${block.mimeType}]` } : block;
  });
  return { entryId: item.entryId, kind: "media", content };
}
