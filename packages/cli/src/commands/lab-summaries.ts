import type { Invocation } from "@bonsai-agent/app/invocation";
import { counted } from "@bonsai-agent/app/numbers";
import { withProgress } from "@bonsai-agent/app/output";
import { type Day, type Policy, playPolicies } from "@bonsai-agent/lab";
import { BonsaiError, usdText } from "@bonsai-agent/messages";
import { wrongUsage } from "../failure.ts";
import { terminalUi } from "../terminal-ui.ts";

interface Played {
  days: readonly Day[];
  policies: readonly Policy[];
}

/** Does something with days whose summaries are written by whom the call names; a model is asked once its price is accepted. */
export async function withSummaries<Result>(
  invocation: Invocation,
  { days, policies }: Played,
  work: (days: readonly Day[]) => Promise<Result>,
): Promise<Result> {
  const { model: reference, summaries } = invocation.options;
  if (typeof reference === "string" && summaries !== undefined)
    throw wrongUsage("--model and --summaries both say who writes the summaries.", "Leave one of them out.");
  if (typeof reference === "string") return withModel(invocation, reference, { days, policies }, work);
  if (summaries !== undefined && summaries !== "recorded" && summaries !== "digest")
    throw wrongUsage(`--summaries ${String(summaries)} is nobody.`, "Say digest or recorded.");
  return work(
    summaries === "recorded" ? days.map((day) => ({ ...day, summaries: "recorded" as const })) : days,
  );
}

async function withModel<Result>(
  invocation: Invocation,
  reference: string,
  { days, policies }: Played,
  work: (days: readonly Day[]) => Promise<Result>,
): Promise<Result> {
  const { io } = invocation;
  const { namedModel } = await import("@bonsai-agent/app/model-choice");
  const { model, summariser } = await namedModel(invocation, reference);
  const name = `${model.provider}/${model.id}`;
  const { usdPerMillionTokens: summaryPrices } = model;
  const estimated = await withProgress(io, `Looking what ${name} would write`, () =>
    playPolicies(
      days.map((day) => ({ ...day, summaryPrices })),
      policies,
    ),
  );
  const requests = estimated.policies.reduce((sum, each) => sum + each.summaries.requests, 0);
  const usd = estimated.policies.reduce((sum, each) => sum + each.summaries.usd, 0);
  const price = summaryPrices === undefined ? "at a price that nobody knows" : `for about ${usdText(usd)}`;
  await accepted(invocation, `${name} would write ${counted(requests, "summary", "summaries")} ${price}.`);
  return io.interruptible((signal) =>
    work(
      days.map((day) => ({
        ...day,
        summaryPrices,
        summaries: {
          ...summariser,
          summarise: (request) =>
            summariser.summarise({ ...request, signal: AbortSignal.any([signal, request.signal]) }),
        },
      })),
    ),
  );
}

/** @throws BonsaiError `price_not_accepted` */
async function accepted(invocation: Invocation, price: string): Promise<void> {
  const { io, output, options } = invocation;
  if (options.yes === true) {
    output.notify({ code: "summaries_cost", message: price });
    return;
  }
  const isAccepted = await io.interruptible(async (signal) => {
    const ui = terminalUi({ io, output, signal });
    try {
      return (await ui?.confirm(price, "Go on?")) ?? false;
    } finally {
      ui?.close();
    }
  });
  if (isAccepted) return;
  throw new BonsaiError({
    code: "price_not_accepted",
    message: `Nothing was asked. ${price}`,
    hint: "Say yes where you are asked, or add --yes; without --model the digest writes the summaries, for nothing.",
  });
}
