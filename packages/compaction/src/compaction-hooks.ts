import type { Entry } from "@bonsai-agent/session";
import type { BeforeCompact, BeforeCompactResult, CompactionLifecycle } from "./events.ts";
import type { MaskPlan } from "./mask.ts";
import type { CompactionReason } from "./outcome.ts";

/** Asks the extensions; without a lifecycle, nobody answers. */
export interface CompactionHooks {
  /** The entries to leave unmasked; "cancel" leaves all. */
  beforeMask(plan: MaskPlan): Promise<readonly string[] | "cancel">;
  /** The payload is made only where somebody listens, and the path is read only for a handler that asks for it. */
  beforeCompact(payload: () => BeforeCompactPayload): Promise<BeforeCompactAnswer>;
}

export interface BeforeCompactPayload extends Pick<BeforeCompact, "preparation" | "customInstructions"> {
  branchEntries: () => readonly Entry[];
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
      const { branchEntries, ...asked } = payload();
      const event: BeforeCompact = {
        ...{ type, ...asked, reason, willRetry: reason === "overflow", signal },
        get branchEntries() {
          return branchEntries();
        },
      };
      const decision = await lifecycle.decide(type, event, { signal });
      const { cancel, compaction } = decision.sources ?? {};
      return { ...decision.result, by: { cancel, compaction } };
    },
  };
}
