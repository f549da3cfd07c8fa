import { contextSizeOf, readContext, sessionEstimate } from "@bonsai-agent/compaction";
import type { ContextTokens, TokenEstimator } from "@bonsai-agent/messages";
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
  /** The estimated part of `tokens`. */
  estimatedTokens: number;
  /** What each message takes of `tokens`, in order: they add up to it, less what is fixed. */
  messageTokens(): number[];
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
  const reading = readContext({ session, estimator, leafId, items, overheadTokens });
  return {
    ...{ estimator, items: items.length, overheadTokens, tokens: reading.tokens },
    isEstimate: reading.source === "estimate",
    estimatedTokens: reading.trailingTokens,
    messageTokens: () =>
      sharesOf(
        items.map(({ message }) => estimator.message(message)),
        reading,
      ),
  };
}

/** Each is what it adds to those before it, so that rounding loses no token. */
function sharesOf(estimated: readonly number[], reading: ContextTokens): number[] {
  const estimatedTokens = estimated.reduce((sum, tokens) => sum + tokens, 0);
  const size = contextSizeOf({ reading, estimatedTokens });
  let before = 0;
  return estimated.map((tokens) => {
    const from = size.ofEstimate(before);
    before += tokens;
    return size.ofEstimate(before) - from;
  });
}
