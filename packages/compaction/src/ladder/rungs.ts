import type { UserContent } from "@bonsai-agent/messages";
import { contentOf, imageMark, isOutput } from "@bonsai-agent/session/host";
import { latestRequestChars } from "../carry/carry-over.ts";
import { latestAnswer } from "../plan/cut.ts";
import { freedBy, type MaskedItem, planMasks } from "../plan/plan.ts";
import {
  type PlannedEdit,
  roleTraits,
  truncated,
  type ViewItem,
  viewTokens,
  withEdits,
} from "../plan/view.ts";
import { extensionRung } from "./custom-summary.ts";
import { isUnsendable, type LadderState, type Run, type Rung } from "./ladder.ts";
import { chunksRung, digestRung, summariseRung } from "./summary-rungs.ts";

/** Masks old outputs and shortens what commands of the user printed; an extension may veto, or keep some of them. */
export const maskRung: Rung = {
  name: "mask",
  applies: (state, run) => masksFor(state, run).length > 0,
  async attempt(state, run) {
    const masks = masksFor(state, run);
    const { cancel, keep = [] } = await decidedMasks(masks, run);
    return cancel ? state : withMasks(state, masks, keep);
  },
};

function masksFor({ view }: LadderState, { settings, span }: Run): readonly MaskedItem[] {
  return planMasks(view, settings.mask, span.commandTokens);
}

async function decidedMasks(
  masks: readonly MaskedItem[],
  { lifecycle, reason, signal, size }: Run,
): Promise<{ cancel?: boolean; keep?: readonly string[] }> {
  const results = masks.map(({ item: { entryId, message, tokens } }) => ({
    entryId,
    toolName: message.role === "toolResult" ? message.toolName : "",
    tokens: size.ofEstimate(tokens),
  }));
  const type = "session_before_mask" as const;
  const payload = { type, results, freedTokens: size.ofEstimate(freedBy(masks)), reason, signal };
  const decision = await lifecycle?.decide(type, payload, { signal });
  return decision?.result ?? {};
}

function withMasks(
  state: LadderState,
  masks: readonly MaskedItem[],
  keep: readonly string[] = [],
): LadderState {
  const kept = new Set(keep);
  return edited(
    state,
    masks.map(({ edit }) => edit).filter(({ entryId }) => !kept.has(entryId)),
  );
}

/** What the mask rung brings where no extension is asked. */
export function maskedState(state: LadderState, run: Run): LadderState {
  return { ...withMasks(state, masksFor(state, run)), rung: maskRung.name };
}

/** Lengths that tool results are cut to, in characters: the longest that suffices is taken. */
const TRUNCATED_CHARS = [64_000, 32_000, 16_000, 8_000, 4_000, 2_000];
/** What does not fit after an overflow, or could not be sent, ends the run. */
const SHORTEST_CHARS = [...TRUNCATED_CHARS, 1_000, 500, 200];

/** Replaces images by a mark. */
const dropMediaRung: Rung = {
  name: "media",
  applies: (state, run) => mayLose(state, run) && state.view.items.some(hasMedia),
  async attempt(state) {
    return edited(state, state.view.items.filter(hasMedia).map(withoutMedia));
  },
};

/**
 * Cuts the largest remaining tool results and outputs of commands to head and tail; then, if need be, pasted text. What
 * the model has not seen yet is cut last, and by a threshold only where it would not fit the window otherwise.
 */
const truncateRung: Rung = {
  name: "truncate",
  applies: (state, run) => mayLose(state, run) && passes(state, run).some(({ of }) => of.length > 0),
  async attempt(state, run) {
    let next = state;
    const isForced = run.reason === "overflow" || isUnsendable(state, run);
    const lengths = isForced ? SHORTEST_CHARS : TRUNCATED_CHARS;
    const latest = latestRequest(state);
    for (const { of, latestChars, targetTokens } of passes(state, run)) {
      for (const chars of lengths) {
        if (next.tokens <= targetTokens) break;
        const charsOf = (item: ViewItem) => (item === latest ? Math.max(chars, latestChars) : chars);
        next = edited(
          next,
          of.flatMap((item) => truncated(item, charsOf(item))),
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
  /** So much of the latest request is left. */
  latestChars: number;
  targetTokens: number;
}

function passes(state: LadderState, run: Run): Pass[] {
  const { neededTokens: targetTokens = 0, mostTokens = targetTokens, reason, budgets } = run;
  const { items } = state.view;
  const seen = latestAnswer(items.map(({ message }) => message)) + 1;
  const atMost = reason === "overflow" ? targetTokens : Math.max(targetTokens, mostTokens);
  const cuts: Pass[] = [
    { of: items.slice(0, seen).filter(holdsOutput), latestChars: 0, targetTokens },
    { of: items.slice(seen).filter(holdsOutput), latestChars: 0, targetTokens: atMost },
  ];
  // What people wrote is cut only where a summary stands already, and what is kept is too large by itself.
  if (state.summary === undefined) return cuts;
  const of = items.filter((item) => roleTraits(item.message).mayBeCut && !holdsOutput(item));
  cuts.push({ of, latestChars: latestRequestChars(budgets), targetTokens: atMost });
  if (reason === "overflow") cuts.push({ of, latestChars: LATEST_REQUEST_CHARS, targetTokens: atMost });
  return cuts;
}

function latestRequest({ view }: LadderState): ViewItem | undefined {
  return view.items.findLast(({ message }) => message.role === "user");
}

/**
 * Losing recent content is for an overflow, for a summary that did not bring the context below the threshold, and for what
 * would not be sent.
 */
function mayLose(state: LadderState, run: Run): boolean {
  if (run.reason !== "threshold") return run.reason === "overflow";
  const isTooLarge = state.tokens > (run.neededTokens ?? 0);
  return (state.summary !== undefined && isTooLarge) || isUnsendable(state, run);
}

function edited(state: LadderState, edits: readonly PlannedEdit[]): LadderState {
  const view = withEdits(state.view, edits);
  return view === state.view ? state : { ...state, view, tokens: viewTokens(view.items) };
}

function holdsOutput({ message }: ViewItem): boolean {
  return isOutput(message);
}

function hasMedia({ message }: ViewItem): boolean {
  return roleTraits(message).mayBeCut === true && contentOf(message).some((block) => block.type === "image");
}

function withoutMedia(item: ViewItem): PlannedEdit {
  const content = contentOf(item.message).map((block): UserContent => {
    return block.type === "image" ? { type: "text", text: imageMark(block) } : block;
  });
  return { entryId: item.entryId, kind: "media", content };
}

/** The ladder, cheapest and least lossy step first. */
export const ladderRungs: readonly Rung[] = [
  maskRung,
  extensionRung,
  summariseRung,
  chunksRung,
  digestRung,
  dropMediaRung,
  truncateRung,
];
