import { inputTokens, type Model, usualCacheRules } from "@bonsai-agent/messages";
import { isGoodAnswer } from "@bonsai-agent/messages/host";
import { tokensText, usdText } from "@bonsai-agent/messages/numbers";
import type { Session } from "@bonsai-agent/session";
import { planManualCompaction } from "../../call/compactions.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";
import { askPick } from "../panels/ask.ts";
import { compactNow } from "../slash/compaction-commands.ts";

/** A cheaper first request is worth no question. */
const MIN_USD = 0.25;
/** A compaction is offered if it leaves at most this share of the context. */
const MAX_SHARE = 0.5;

/**
 * US dollars of the first request of a resumed session, if the provider's cache of its context has expired. Undefined if it
 * has not, or if the price is unknown.
 */
export function coldRequestUsd(
  session: Session,
  {
    tokens,
    model,
    nowMs,
  }: { tokens: number; model: Pick<Model, "usdPerMillionTokens" | "cacheRules">; nowMs: number },
): number | undefined {
  const { usdPerMillionTokens: prices, cacheRules = usualCacheRules } = model;
  const latest = session.projection().items.findLast(({ message }) => isGoodAnswer(message))?.message;
  if (prices === undefined || latest?.role !== "assistant") return undefined;
  // Without a count, no request was made, or an import has no usage.
  const wasSent = inputTokens(latest.usage) > 0;
  if (!wasSent || nowMs - latest.timestamp <= cacheRules.keptMs) return undefined;
  return (tokens * (prices.cacheWrite || prices.input)) / 1_000_000;
}

/** Shows the cost of resuming a long session without a cache, and offers to compact it first. */
export async function offerColdCompaction(context: InteractiveContext): Promise<void> {
  const { host, screen, notify } = context;
  const { agent, app } = host;
  const { model, session } = agent;
  if (isNoModel(model)) return;
  const { tokens, isEstimate } = agent.state.context;
  const usd = coldRequestUsd(session, { tokens, model, nowMs: app.call.io.now() });
  if (usd === undefined || usd < MIN_USD) return;
  const cost = `This session has ${tokensText(tokens, isEstimate)}, and the provider's cache has expired. The next request costs about ${usdText(usd)}.`;
  const { status, tokensAfter } = planManualCompaction(host, {}, model);
  if (status !== "planned" || tokensAfter > tokens * MAX_SHARE || !app.settings.compaction.enabled)
    return notify(cost);
  const then = `about ${usdText((usd * tokensAfter) / tokens)} for ${tokensText(tokensAfter, true)}`;
  const choice = await askPick(screen, {
    title: cost,
    items: [
      { label: "Continue with the whole context" },
      { label: `Compact first: pays for a summary, then ${then}`, asked: {} },
      { label: `Compact first with the built-in digest: ${then}`, asked: { useDigest: true } },
    ],
    row: ({ label }) => ({ label }),
    comesByItself: true,
  });
  if (choice?.asked !== undefined) await compactNow(choice.asked, context);
}
