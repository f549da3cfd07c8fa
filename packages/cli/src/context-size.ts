import { readContext, sessionEstimate } from "@bonsai-agent/compaction";
import type { TokenEstimator } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import type { Invocation } from "./invocation.ts";
import { callSettings } from "./settings.ts";

/** How large the context is at one place of a session. */
export interface ContextSize {
  /** Counts tokens as compaction does. */
  estimator: TokenEstimator;
  items: number;
  /** System prompt and tools, as the session's usage taught them; 0 where it did not. */
  overheadTokens: number;
  /** The whole request: as the provider reported it last, where that can be trusted. */
  tokens: number;
  /** True where no report can be trusted. */
  isEstimate: boolean;
}

export function contextSize(
  session: Session,
  invocation: Invocation,
  leafId: string | null = session.leafId,
): ContextSize {
  const { items } = session.projection(leafId);
  const { estimator, overheadTokens } = sessionEstimate({
    session,
    settings: callSettings(invocation),
    leafId,
  });
  const { tokens, source } = readContext({ session, estimator, leafId, items, overheadTokens });
  return { estimator, items: items.length, overheadTokens, tokens, isEstimate: source === "estimate" };
}
