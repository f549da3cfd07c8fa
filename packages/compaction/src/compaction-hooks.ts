import type { BeforeCompact, BeforeCompactResult, CompactionLifecycle } from "./events.ts";
import type { MaskPlan } from "./mask.ts";
import type { CompactionReason } from "./outcome.ts";

/** Asks the extensions; without a lifecycle, nobody answers. */
export interface CompactionHooks {
  /** The entries to leave unmasked; "cancel" leaves all. */
  beforeMask(plan: MaskPlan): Promise<readonly string[] | "cancel">;
  /** The payload is made only where somebody listens: it reads the whole path. */
  beforeCompact(
    payload: () => Omit<BeforeCompact, "type" | "reason" | "willRetry" | "signal">,
  ): Promise<BeforeCompactAnswer>;
}

/** What the extensions said, and whose word stands. */
export interface BeforeCompactAnswer extends BeforeCompactResult {
  by?: { cancel?: string | undefined; compaction?: string | undefined };
}

export interface CompactionHooksOptions {
  lifecycle: CompactionLifecycle | undefined;
  reason: CompactionReason;
  signal: AbortSignal;
}

export function compactionHooks({ lifecycle, reason, signal }: CompactionHooksOptions): CompactionHooks {
  return {
    async beforeMask({ items, shortened, freedTokens }) {
      const results = [...items, ...shortened.map(({ item }) => item)].map((item) => ({
        entryId: item.entryId,
        toolName: item.message.role === "toolResult" ? item.message.toolName : "",
        tokens: item.tokens,
      }));
      const payload = { type: "session_before_mask" as const, results, freedTokens, reason, signal };
      const decision = await lifecycle?.decide("session_before_mask", payload, { signal });
      return decision?.result?.cancel ? "cancel" : (decision?.result?.keep ?? []);
    },
    async beforeCompact(payload) {
      const type = "session_before_compact" as const;
      if (!lifecycle?.hasHandlers(type)) return {};
      const event = { ...payload(), type, reason, willRetry: reason === "overflow", signal };
      const decision = await lifecycle.decide(type, event, { signal });
      const { cancel, compaction } = decision.sources ?? {};
      return { ...decision.result, by: { cancel, compaction } };
    },
  };
}
