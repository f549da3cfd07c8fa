import { BonsaiError, jsonText } from "@bonsai-agent/messages";
import type { ProjectionItem } from "@bonsai-agent/session";
import type { CompactionReason } from "../details.ts";
import type { CutPlace } from "../plan/chosen-cut.ts";
import type { CompactionResult } from "./result.ts";

/** A compaction before it is written, for the user to decide on. */
export interface CompactionDraft {
  /** `plan`: nothing was sent yet, and a model would be asked next. `ready`: the compaction can be written. */
  stage: "plan" | "ready";
  reason: CompactionReason;
  /** With the status `planned`. At the stage `plan`, the size of the summary is an estimate. */
  result: CompactionResult;
  /** The context that the model sees now, oldest first. */
  before: readonly ProjectionItem[];
  /** The user's words that the summary carries, in lines. */
  userWords: readonly string[];
  /** The editable part of the summary; absent if there is none yet. */
  prose?: string;
  isEdited: boolean;
  /** Topics that the summary must emphasise. */
  focus?: string;
  /** The maker of the summary: `provider/id` of a model, `digest`, or an extension. */
  summariser?: string;
  /** Why the digest made the summary, or that the context is still too large. */
  caveat?: string;
  /** Other possible cuts. */
  cuts: OtherCuts;
  /** The allowed decisions. */
  actions: ReadonlySet<ReviewDecision["action"]>;
  /** Why the latest decision was not carried out, in a sentence. */
  problem?: string;
  /** A refused prose, so that it is not lost. */
  refusedProse?: string;
  /** Aborted if the decision is not needed any more. */
  signal: AbortSignal;
}

/** The nearest legal cuts before and after the present one, and the nearest that begin a turn, if those are others. */
export interface OtherCuts {
  earlier?: CutPlace;
  later?: CutPlace;
  earlierTurn?: CutPlace;
  laterTurn?: CutPlace;
}

/**
 * `apply`: carry out the plan, or write the ready compaction. `edit`: replace the prose. `again`: make another summary,
 * with another focus ("" is none). `cut`: use another cut, one of `cutPlaces`. `digest`: use the digest. `back`: from a
 * plan to the draft before it. `cancel`: write nothing. The new plan or draft is shown again.
 */
export type ReviewDecision =
  | { action: "apply" | "digest" | "back" | "cancel" }
  | { action: "edit"; prose: string }
  | { action: "cut"; firstKeptEntryId: string }
  | { action: "again"; focus?: string };

/** Decides on a compaction. If it throws, the compaction fails, and nothing is written. */
export type ReviewCompaction = (draft: CompactionDraft) => Promise<ReviewDecision>;

const ACTIONS = ["apply", "edit", "again", "cut", "digest", "back", "cancel"];

/** Checks the decision of a reviewer in plain JavaScript. @throws BonsaiError `review_invalid` */
export function validateDecision(decision: unknown): ReviewDecision {
  const { action, prose, focus, firstKeptEntryId } = (decision ?? {}) as Record<string, unknown>;
  const isEdit = action !== "edit" || typeof prose === "string";
  const isAgain = action !== "again" || focus === undefined || typeof focus === "string";
  const isCut = action !== "cut" || typeof firstKeptEntryId === "string";
  if (ACTIONS.includes(action as string) && isEdit && isAgain && isCut) return decision as ReviewDecision;
  throw new BonsaiError({
    code: "review_invalid",
    message: `The compaction review returned an unknown decision: ${jsonText(decision) || "nothing"}.`,
    hint: `Return {action} with one of ${ACTIONS.join(", ")}. edit needs a text prose, cut needs firstKeptEntryId, again can have a focus.`,
  });
}
