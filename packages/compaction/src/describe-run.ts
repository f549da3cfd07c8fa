import { latestRequestChars } from "./budget.ts";
import { carryOver } from "./carry-over.ts";
import type { CompactionResult, CompactionStatus } from "./compaction-result.ts";
import type { Run } from "./compaction-run.ts";
import type { PlannedEdit, ViewItem } from "./context-view.ts";
import type { LadderState } from "./rung.ts";

/** A run's result as far as it follows from the state that was reached. */
export function resultOf(run: Run, state: LadderState, status: CompactionStatus): CompactionResult {
  const { reason, tokensBefore, cost } = run;
  const changed = status === "planned" || status === "compacted" || status === "masked";
  const summary = changed ? state.summary : undefined;
  return {
    status,
    reason,
    rung: changed ? (state.rung ?? null) : null,
    tokensBefore,
    tokensAfter: changed ? state.tokens + run.overheadTokens : tokensBefore,
    ...spans(state, summary?.firstKeptEntryId),
    maskedEntryIds: changed ? editedIds(state.view.edits) : [],
    ...files(run, state),
    ...(summary === undefined ? {} : { summary: summary.summary }),
    edits: [],
    requests: cost.requests,
    costUsd: cost.usage?.cost.total ?? 0,
    detail: details[status],
    failures: state.failures,
  };
}

const details: Record<CompactionStatus, string> = {
  planned: "Nothing was written.",
  compacted: "The context was compacted.",
  masked: "Old tool results were masked; no summary was needed.",
  "nothing-to-compact": "There is nothing to compact: all of the context is recent enough to be kept.",
  "already-compacted": "The context is already compacted: nothing came after the latest compaction.",
  cancelled: "Compaction cancelled.",
  failed: "Compaction failed.",
};

function spans(state: LadderState, firstKeptEntryId: string | null | undefined) {
  const { plan } = state;
  const messages = (plan === undefined ? [] : [...plan.history, ...plan.turnPrefix, ...plan.kept]).map(idOf);
  // An extension may have cut elsewhere than planned.
  if (plan !== undefined && firstKeptEntryId !== undefined && firstKeptEntryId !== plan.firstKeptEntryId) {
    const at = messages.indexOf(firstKeptEntryId ?? "");
    return {
      firstKeptEntryId,
      splitTurn: plan.splitTurn,
      summarizedEntryIds: messages.slice(0, at),
      turnPrefixEntryIds: [],
      keptEntryIds: messages.slice(at),
    };
  }
  return {
    firstKeptEntryId: plan?.firstKeptEntryId ?? null,
    splitTurn: plan?.splitTurn ?? false,
    summarizedEntryIds: (plan?.history ?? []).map(idOf),
    turnPrefixEntryIds: (plan?.turnPrefix ?? []).map(idOf),
    keptEntryIds: (plan?.kept ?? state.view.items).map(idOf),
  };
}

function files(run: Run, { plan, summary }: LadderState): { readFiles: string[]; modifiedFiles: string[] } {
  if (plan?.status !== "planned" || summary?.fromHook) return { readFiles: [], modifiedFiles: [] };
  const carried =
    summary?.carried ?? carryOver({ plan, latestRequestChars: latestRequestChars(run.context.budgets) });
  return { readFiles: [...carried.readFiles], modifiedFiles: [...carried.modifiedFiles] };
}

function editedIds(edits: readonly PlannedEdit[]): string[] {
  return edits.filter((edit) => edit.kind === "mask").map((edit) => edit.entryId);
}

function idOf(item: ViewItem): string {
  return item.entryId;
}
