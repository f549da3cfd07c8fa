import type { Entry } from "@bonsai-agent/session";
import type { Run } from "./compaction-run.ts";
import { calibrationAfter, totalAfter } from "./context-size.ts";
import type { PlannedEdit, ViewItem } from "./context-view.ts";
import { type CompactionManifest, type EntryRange, type ManifestSettings, manifestOf } from "./manifest.ts";
import type { LadderState } from "./rung.ts";
import { tailEntries } from "./tail-entries.ts";

/** The record of a run that a summary ended. */
export function runManifest(run: Run, state: LadderState): CompactionManifest {
  const { reason, size, cost } = run;
  const calibration = calibrationAfter({ ...run, estimatedTokens: state.tokens });
  const plan = state.plan!;
  return {
    reason,
    rung: state.rung!,
    tokensBefore: size.totalTokens,
    tokensAfter: totalAfter(size, state.tokens),
    splitTurn: plan.splitTurn,
    summarised: range(plan.history),
    turnPrefix: range(plan.turnPrefix),
    kept: range(plan.kept),
    masked: editedIds(state.view.edits, "mask"),
    lost: { media: editedIds(state.view.edits, "media"), truncated: editedIds(state.view.edits, "truncate") },
    ...(plan.previous === undefined ? {} : { previousCompactionId: plan.previous.id }),
    requests: cost.requests,
    costUsd: cost.usage?.cost.total ?? 0,
    ...(calibration === undefined ? {} : { calibration }),
    settings: settingsOf(run),
    state: stateInForce(run),
  };
}

function settingsOf({ context: { settings, budgets } }: Run): ManifestSettings {
  const { keepTokens, reserveTokens, windowTokens } = budgets;
  const { preset, estimator } = settings;
  return {
    preset,
    estimator,
    keepTokens,
    reserveTokens,
    ...(windowTokens === undefined ? {} : { windowTokens }),
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

/** As far as the part in view tells; the rest as the manifest before has it. */
function stateInForce({ session, leafId, span: { previous } }: Run): CompactionManifest["state"] {
  let found: CompactionManifest["state"] = {};
  for (const entry of tailEntries(session, leafId, previous)) {
    if (found.modelId !== undefined && found.thinkingLevel !== undefined) break;
    found = { ...stateAt(entry), ...found };
  }
  return { ...manifestOf(previous)?.state, ...found };
}

function stateAt(entry: Entry): CompactionManifest["state"] {
  if (entry.type === "thinking_level_change") return { thinkingLevel: entry.thinkingLevel };
  if (entry.type === "model_change") return { provider: entry.provider, modelId: entry.modelId };
  if (entry.type !== "message" || entry.message?.role !== "assistant") return {};
  return { provider: entry.message.provider, modelId: entry.message.model };
}
