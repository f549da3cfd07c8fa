import type { ExtensionAPI, ExtensionContext } from "@bonsai-agent/extension";

/** Compacts at your own thresholds: tokens in the context, or dollars spent since the last compaction. */
export default function compactAt(bonsai: ExtensionAPI): void {
  bonsai.registerFlag("compact-at", {
    type: "string",
    description: "compact when the context has this many tokens, for example 80k; default: BONSAI_COMPACT_AT",
  });
  bonsai.registerFlag("compact-at-cost", {
    type: "string",
    description:
      "compact after spending this many US dollars since the last compaction, for example 1.50; default: BONSAI_COMPACT_AT_COST",
  });
  let limit = never;
  /** Tokens at which the next attempt starts: a fifth above the size after the last one. */
  let notBefore = always;

  bonsai.on("session_start", (_event, ctx) => {
    notBefore = always;
    limit = readLimits(bonsai, (problem) => ctx.ui.notify(`compact-at: ${problem}`, "warning"));
  });
  bonsai.on("session_tree", () => {
    notBefore = always;
  });
  bonsai.on("auto_compaction_end", ({ outcome }, ctx) => {
    notBefore = { tokens: outcome.tokensAfter * 1.2, costUsd: spentSinceCompaction(ctx) * 1.2 };
  });

  // A resumed session may already be above the limit.
  bonsai.on("before_agent_start", (_event, ctx) => compactIfDue(ctx));
  bonsai.on("turn_end", (_event, ctx) => compactIfDue(ctx));

  function compactIfDue(ctx: ExtensionContext): undefined {
    const tokens = ctx.getContextUsage()?.tokens ?? 0;
    const isFull = tokens >= Math.max(limit.tokens, notBefore.tokens);
    // Reads the path only if there is a limit of costs.
    const costUsd = limit.costUsd < never.costUsd ? spentSinceCompaction(ctx) : 0;
    if (!isFull && costUsd < Math.max(limit.costUsd, notBefore.costUsd)) return;
    ctx.compact({ onError: (error) => ctx.ui.notify(`compact-at: ${error.message}`, "warning") });
  }
}

interface Limits {
  tokens: number;
  costUsd: number;
}

const always: Limits = { tokens: 0, costUsd: 0 };
const never: Limits = { tokens: Number.POSITIVE_INFINITY, costUsd: Number.POSITIVE_INFINITY };

/** A missing or invalid value is never reached. */
function readLimits(bonsai: ExtensionAPI, onProblem: (problem: string) => void): Limits {
  const [tokens, costUsd] = [
    bonsai.getFlag("compact-at") || process.env.BONSAI_COMPACT_AT,
    bonsai.getFlag("compact-at-cost") || process.env.BONSAI_COMPACT_AT_COST,
  ];
  const read = (text: unknown, pattern: RegExp, hint: string): number => {
    if (text === undefined || text === "") return Number.POSITIVE_INFINITY;
    const [, digits, unit = ""] = pattern.exec(String(text).trim()) ?? [];
    const value = Number(digits) * ({ k: 1_000, m: 1_000_000 }[unit.toLowerCase()] ?? 1);
    if (value > 0) return value;
    onProblem(`ignored the threshold ${JSON.stringify(text)}: ${hint}.`);
    return Number.POSITIVE_INFINITY;
  };
  return {
    tokens: read(tokens, /^(\d+(?:\.\d+)?)([km]?)$/i, "write tokens as 80000, 80k or 0.2m"),
    costUsd: read(costUsd, /^\$?(\d+(?:\.\d+)?)$/, "write dollars as 1.50"),
  };
}

function spentSinceCompaction({ sessionManager }: ExtensionContext): number {
  const branch = sessionManager.getBranch();
  const since = branch.findLastIndex(({ type }) => type === "compaction") + 1;
  const messages = branch.slice(since).flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
  return messages.reduce((sum, each) => sum + (each.role === "assistant" ? each.usage.cost.total : 0), 0);
}
