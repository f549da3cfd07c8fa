import type { ExtensionAPI, ExtensionContext } from "@bonsai-agent/extension";

/** Compacts at thresholds of one's own: at so many tokens, or once so much was spent since the last compaction. */
export default function compactAt(bonsai: ExtensionAPI): void {
  bonsai.registerFlag("compact-at", {
    type: "string",
    description: "compact when the context has so many tokens, like 80k",
  });
  bonsai.registerFlag("compact-at-cost", {
    type: "string",
    description: "compact when so many US dollars were spent since the last compaction, like 1.50",
  });
  /** Not asked again for the same reason before there is more of it by a tenth: a failure is not repeated each turn. */
  let next = { tokens: 0, costUsd: 0 };

  bonsai.on("session_start", () => {
    next = { tokens: 0, costUsd: 0 };
  });
  bonsai.on("session_compact", () => {
    next = { tokens: 0, costUsd: 0 };
  });
  bonsai.on("turn_end", (_event, ctx) => {
    const limit = limits(bonsai);
    const now = { tokens: ctx.getContextUsage()?.tokens ?? 0, costUsd: spentSinceCompaction(ctx) };
    const isFull = now.tokens > Math.max(limit.tokens, next.tokens);
    const isDear = now.costUsd > Math.max(limit.costUsd, next.costUsd);
    if (!isFull && !isDear) return;
    next = { tokens: now.tokens * 1.1, costUsd: now.costUsd * 1.1 };
    ctx.compact({
      onError: (error) => ctx.ui.notify(`compact-at: ${error.message}`, "warning"),
    });
  });
}

interface Limits {
  tokens: number;
  costUsd: number;
}

/** What is not set, or cannot be read, is never reached. */
function limits(bonsai: ExtensionAPI): Limits {
  const never = Number.POSITIVE_INFINITY;
  return {
    tokens: numberOf(bonsai.getFlag("compact-at")) ?? never,
    costUsd: numberOf(bonsai.getFlag("compact-at-cost")) ?? never,
  };
}

/** `80k`, `1.5m`, `80000`, `$2`. */
function numberOf(value: unknown): number | undefined {
  const [, digits, unit = ""] = /^\$?(\d+(?:\.\d+)?)([km]?)$/i.exec(String(value ?? "").trim()) ?? [];
  if (digits === undefined) return undefined;
  return Number(digits) * ({ k: 1_000, m: 1_000_000 }[unit.toLowerCase()] ?? 1);
}

function spentSinceCompaction({ sessionManager }: ExtensionContext): number {
  const branch = sessionManager.getBranch();
  const since = branch.findLastIndex(({ type }) => type === "compaction") + 1;
  const messages = branch.slice(since).flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
  return messages.reduce((sum, each) => sum + (each.role === "assistant" ? each.usage.cost.total : 0), 0);
}
