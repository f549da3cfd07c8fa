import { BonsaiError, jsonText } from "@bonsai-agent/messages";
import type { ProjectionItem } from "@bonsai-agent/session";
import type { CompactionReason } from "../carry/details.ts";
import type { CutPlace } from "../plan/chosen-cut.ts";
import type { CompactionResult } from "./result.ts";

/** A compaction before it is written, for whoever decides on it. */
export interface CompactionDraft {
  /** `plan`: a model would be asked next, nothing was sent yet. `ready`: this is what would be written. */
  stage: "plan" | "ready";
  reason: CompactionReason;
  /**
   * With the status `planned`: what is kept, masked and summarised, tokens before and after, the summary as the model would
   * see it, the loss report, the extension whose summary it is (`decidedBy`), requests and cost so far; at the stage `plan`
   * what would be asked, and a summary's size by estimate.
   */
  result: CompactionResult;
  /** What the model sees now, oldest first. */
  before: readonly ProjectionItem[];
  /** The user's words as the summary carries them, in lines. */
  userWords: readonly string[];
  /** The part of the summary that can be edited; absent where there is none, or none yet. */
  prose?: string;
  /** True where the user has edited it. */
  isEdited: boolean;
  /** What the summary should dwell on. */
  focus?: string;
  /** Whose summary is planned or stands: `provider/id` of a model, `digest`, or the extension as it was loaded. */
  summariser?: string;
  /** Why it is the digest's summary, or that it would still be too large. */
  caveat?: string;
  /** Where else it could be cut. */
  cuts: OtherCuts;
  /** What can be decided now. */
  actions: ReadonlySet<ReviewDecision["action"]>;
  /** Why the latest decision was not carried out, in a sentence. */
  problem?: string;
  /** A prose that was refused, so that it is not lost. */
  refusedProse?: string;
  /** Aborted when nobody waits for the decision any more. */
  signal: AbortSignal;
}

/**
 * The nearest legal places before and behind a cut; and the nearest that begin a turn, where those are others. Each keeps so
 * many tokens by estimate.
 */
export interface OtherCuts {
  earlier?: CutPlace;
  later?: CutPlace;
  earlierTurn?: CutPlace;
  laterTurn?: CutPlace;
}

/**
 * `apply`: take it as shown; a plan is carried out, what is ready is written. `edit`: another prose, shown again. `again`:
 * made anew, with another focus; where a model would be asked, its plan comes first. `cut`: the same with another cut, which
 * any place of `cutPlaces` can be. `digest`: made anew without a model. `back`: from a plan to the draft before it. `cancel`: nothing is written.
 */
export type ReviewDecision =
  | { action: "apply" | "digest" | "back" | "cancel" }
  | { action: "edit"; prose: string }
  | { action: "cut"; firstKeptEntryId: string }
  /** A focus of "" is none. */
  | { action: "again"; focus?: string };

/** Decides on a compaction. What it throws fails the compaction; nothing is written then. */
export type ReviewCompaction = (draft: CompactionDraft) => Promise<ReviewDecision>;

/** What a reviewer in plain JavaScript may give. @throws BonsaiError `review_invalid` */
export function checkedDecision(decision: unknown): ReviewDecision {
  const { action, prose, focus, firstKeptEntryId } = (decision ?? {}) as Record<string, unknown>;
  const isEdit = action !== "edit" || typeof prose === "string";
  const isAgain = action !== "again" || focus === undefined || typeof focus === "string";
  const isCut = action !== "cut" || typeof firstKeptEntryId === "string";
  if (ACTIONS.has(action) && isEdit && isAgain && isCut) return decision as ReviewDecision;
  throw new BonsaiError({
    code: "review_invalid",
    message: `The compaction review returned an unknown decision: ${jsonText(decision) || "nothing"}.`,
    hint: `Return {action} with one of ${[...ACTIONS].join(", ")}. edit needs a text prose, cut needs firstKeptEntryId, again can have a focus.`,
  });
}

const ACTIONS: ReadonlySet<unknown> = new Set<ReviewDecision["action"]>([
  "apply",
  "edit",
  "again",
  "cut",
  "digest",
  "back",
  "cancel",
]);
