import type { CompactOptions, LifecycleEvents } from "@bonsai-agent/agent";
import { requestOverhead } from "@bonsai-agent/agent/host";
import {
  budgetsFor,
  type CompactionResult,
  contextLimit,
  planCompaction,
  readContext,
  type undoLatestCompaction,
} from "@bonsai-agent/compaction";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { CatalogueModel } from "@bonsai-agent/models";
import type { EndedCompaction } from "../views/compaction-notice.ts";
import { compactionName } from "../views/compaction-record.ts";
import { sizeChange } from "../views/numbers.ts";
import type { AgentHost } from "./agent-host.ts";

/** `preview` or `digest` at the start, or both; all else is the focus. */
export function parseCompactArgs(args: string): CompactOptions & { isPreview?: true } {
  const [, isPreview, useDigest, focus = ""] =
    /^(preview(?!\S)\s*)?(digest(?!\S)\s*)?([\s\S]*)$/.exec(args) ?? [];
  return {
    ...(isPreview !== undefined && { isPreview: true }),
    ...(focus !== "" && { focus }),
    ...(useDigest !== undefined && { useDigest: true }),
  };
}

type Host = Pick<AgentHost, "agent" | "app">;

/**
 * Plans `/compact`, as `bonsai compact --dry-run` does. Without the status `planned`, `/compact` would change nothing.
 * @param model undefined without a usable model
 */
export function planManualCompaction(
  { agent, app }: Host,
  { useDigest = false, ...asked }: CompactOptions,
  model: CatalogueModel | undefined,
): CompactionResult {
  const { session, systemPrompt, tools, summariser } = agent;
  const { texts } = requestOverhead({ systemPrompt, tools: tools.declarations() });
  return planCompaction({
    ...asked,
    ...{ session, settings: app.settings.compaction, reason: "manual", model: model ?? {} },
    ...(!useDigest && model !== undefined && summariser && { summariser }),
    fixedTexts: () => texts,
  });
}

/** Undoes or redoes the latest compaction. @throws BonsaiError if there is none */
export async function changeCompaction(
  { agent, app }: Host,
  change: typeof undoLatestCompaction,
  done: "Undid" | "Redid",
) {
  const { session } = agent;
  const contextSize = () => agent.state.context;
  const report = await change({ session, lifecycle: app.lifecycle, contextSize });
  const name = compactionName(session, report.compactionId, app.call.io.now());
  return { ...report, message: `${done} ${name}. Context: ${sizeChange(report)}.` };
}

/** Calls `onEnd` at the end of each compaction, with the facts of its events. */
export function onCompactionEnd(
  lifecycle: Lifecycle<LifecycleEvents>,
  onEnd: (ended: EndedCompaction) => void,
): void {
  let facts: Pick<EndedCompaction, "maskedResults" | "error"> = {};
  lifecycle.on("auto_compaction_start", () => {
    facts = {};
  });
  lifecycle.on("session_mask", ({ entries }) => {
    facts.maskedResults = entries.length;
  });
  lifecycle.on("session_compact_failed", ({ error }) => {
    facts.error = error;
  });
  lifecycle.on("auto_compaction_end", ({ outcome, result: entry }) => onEnd({ outcome, entry, ...facts }));
}

/** The automatic compaction's threshold, if `tokens` is above it. */
export function passedThreshold({ agent, app }: Host, tokens: number): number | undefined {
  const settings = app.settings.compaction;
  if (!settings.enabled) return undefined;
  const { session, model } = agent;
  const budgets = budgetsFor({ settings, model });
  const reading = readContext({ session, estimator: settings.estimator, model });
  const { compactAboveTokens = Number.POSITIVE_INFINITY } =
    contextLimit({ settings, model, budgets, reading, nowMs: app.call.io.now() }) ?? {};
  return tokens > compactAboveTokens ? compactAboveTokens : undefined;
}
