import type { Calibration, Usage } from "@bonsai-agent/messages";
import type { Entry } from "@bonsai-agent/session";
import type { PlannedEdit, ViewItem } from "./context-view.ts";
import type { CompactionReason } from "./outcome.ts";
import type { LadderState, RungName } from "./rung.ts";

/** The record inside a compaction entry of what was kept, masked, summarised and lost, and what it cost. */
export interface CompactionManifest {
  reason: CompactionReason;
  rung: RungName;
  tokensBefore: number;
  tokensAfter: number;
  splitTurn: boolean;
  summarised: EntryRange;
  turnPrefix: EntryRange;
  kept: EntryRange;
  /** Entries whose content a mask replaced in the kept part. */
  masked: string[];
  /** What the kept part lost beyond masks. */
  lost: { media: string[]; truncated: string[] };
  /** The compaction whose summary this one updated. */
  previousCompactionId?: string;
  /** Requests to the summariser, answers that were refused included. */
  requests: number;
  costUsd: number;
  /** What the session's usage had taught about its tokens; a compaction takes the evidence away. */
  calibration?: Calibration;
  /** What was in force where the context was cut, for an opening that reads only the tail. */
  state: { provider?: string; modelId?: string; thinkingLevel?: string };
}

/** Messages of the context, as a range: ids would grow with the session. */
export interface EntryRange {
  count: number;
  first?: string;
  last?: string;
}

export interface ManifestOptions {
  reason: CompactionReason;
  state: LadderState;
  tokensBefore: number;
  overheadTokens: number;
  calibration: Calibration | undefined;
  path: readonly Entry[];
  requests: number;
  usage: Usage | undefined;
}

export function compactionManifest(options: ManifestOptions): CompactionManifest {
  const { reason, state, tokensBefore, overheadTokens, calibration, path, requests, usage } = options;
  const plan = state.plan!;
  return {
    reason,
    rung: state.rung!,
    tokensBefore,
    tokensAfter: state.tokens + overheadTokens,
    splitTurn: plan.splitTurn,
    summarised: range(plan.history),
    turnPrefix: range(plan.turnPrefix),
    kept: range(plan.kept),
    masked: editedIds(state.view.edits, "mask"),
    lost: { media: editedIds(state.view.edits, "media"), truncated: editedIds(state.view.edits, "truncate") },
    ...(plan.previous === undefined ? {} : { previousCompactionId: plan.previous.id }),
    requests,
    costUsd: usage?.cost.total ?? 0,
    ...(calibration === undefined ? {} : { calibration }),
    state: stateOf(path),
  };
}

function range(items: readonly ViewItem[]): EntryRange {
  const [first] = items;
  const last = items.at(-1);
  if (first === undefined || last === undefined) return { count: 0 };
  return { count: items.length, first: first.entryId, last: last.entryId };
}

function editedIds(edits: readonly PlannedEdit[], kind: PlannedEdit["kind"]): string[] {
  return edits.filter((edit) => edit.kind === kind).map((edit) => edit.entryId);
}

function stateOf(path: readonly Entry[]): CompactionManifest["state"] {
  const model = path.findLast((entry) => entry.type === "model_change");
  const thinking = path.findLast((entry) => entry.type === "thinking_level_change");
  return {
    ...(model === undefined ? {} : { provider: model.provider, modelId: model.modelId }),
    ...(thinking === undefined ? {} : { thinkingLevel: thinking.thinkingLevel }),
  };
}
