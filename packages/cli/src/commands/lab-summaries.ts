import type { Summariser } from "@bonsai-agent/compaction";
import { type Day, type Policy, playPolicies } from "@bonsai-agent/lab";
import { BonsaiError } from "@bonsai-agent/messages";
import { usdText } from "@bonsai-agent/messages/numbers";
import { wrongUsage } from "../call/failure.ts";
import type { Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { terminalUi } from "../call/terminal-ui.ts";
import { counted } from "../views/numbers.ts";

interface Played {
  days: readonly Day[];
  policies: readonly Policy[];
}

/**
 * Replays days with the summaries that the call names: the digest's, the recorded ones, or a model's whose price the user
 * accepted. Undefined if it was interrupted.
 */
export async function withSummaries<Result>(
  invocation: Invocation,
  { days, policies }: Played,
  work: (days: readonly Day[], signal: AbortSignal) => Promise<Result>,
): Promise<Result | undefined> {
  const { model: reference, summaries } = invocation.options;
  const isModel = typeof reference === "string";
  if (isModel && summaries !== undefined)
    throw wrongUsage(
      "--model and --summaries exclude each other: both choose the source of the summaries.",
      "Remove one of them.",
    );
  if (summaries !== undefined && summaries !== "recorded" && summaries !== "digest")
    throw wrongUsage(
      `--summaries must be digest or recorded, not ${String(summaries)}.`,
      "Correct --summaries, or remove it.",
    );
  const writer = isModel ? await acceptedModel(invocation, reference, { days, policies }) : undefined;
  return invocation.io.interruptible(async (signal) => {
    const watched = writer && watchedSummariser(writer.summariser, signal);
    const source: Partial<Day> =
      watched === undefined
        ? summaries === "recorded"
          ? { summaries }
          : {}
        : { summaryPrices: writer?.prices, summaries: watched.summariser };
    try {
      const result = await work(
        days.map((day) => ({ ...day, ...source })),
        signal,
      );
      watched?.notifyFailures(invocation);
      return result;
    } catch (error) {
      if (signal.aborted && error === signal.reason) return undefined;
      throw error;
    }
  });
}

/** The model, once the user accepted its price: estimated by a replay with the digest's summaries. */
async function acceptedModel(invocation: Invocation, reference: string, { days, policies }: Played) {
  const { namedModel } = await import("../call/model-choice.ts");
  const { model, summariser } = await namedModel(invocation, reference);
  const prices = model.usdPerMillionTokens;
  const name = `${model.provider}/${model.id}`;
  const { policies: played } = await withProgress(invocation.io, `Estimating the price of ${name}`, () =>
    playPolicies(
      days.map((day): Day => ({ ...day, summaryPrices: prices })),
      policies,
    ),
  );
  const requests = played.reduce((sum, { summaries }) => sum + summaries.requests, 0);
  const usd = played.reduce((sum, { summaries }) => sum + summaries.usd, 0);
  const price = prices === undefined ? "at an unknown price" : `for about ${usdText(usd)}`;
  if (prices === undefined || usd > 0)
    await accepted(invocation, `${name} would write ${counted(requests, "summary", "summaries")} ${price}.`);
  return { summariser, prices };
}

/** Counts the failures of a model: the digest replaces each, which nobody would notice. */
function watchedSummariser(model: Summariser, signal: AbortSignal) {
  let asked = 0;
  let failed = 0;
  let why = "";
  const summarise: Summariser["summarise"] = async (request) => {
    const answer = await model.summarise({ ...request, signal: AbortSignal.any([signal, request.signal]) });
    asked += 1;
    if (answer.stopReason !== "stop") {
      failed += 1;
      why ||= answer.errorMessage ?? answer.stopReason;
    }
    return answer;
  };
  return {
    summariser: { ...model, summarise },
    notifyFailures({ output }: Invocation): void {
      if (failed === 0) return;
      output.notify({
        code: "summaries_failed",
        message: `${failed} of ${counted(asked, "summary", "summaries")} failed; the digest replaced them. First error: ${why}`,
      });
    },
  };
}

/** @throws BonsaiError `price_not_accepted` */
async function accepted({ io, output, options }: Invocation, price: string): Promise<void> {
  if (options.yes === true) {
    output.notify({ code: "summaries_cost", message: price });
    return;
  }
  const isAccepted = await io.interruptible(async (signal) => {
    const ui = terminalUi({ io, output, signal });
    try {
      return (await ui?.confirm(price, "Continue?")) ?? false;
    } finally {
      ui?.close();
    }
  });
  if (isAccepted) return;
  throw new BonsaiError({
    code: "price_not_accepted",
    message: `The price was not accepted, so no request was sent. ${price}`,
    hint: "Answer yes, or add --yes. Without --model, the digest writes the summaries for free.",
  });
}
