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

type Work<Result> = (days: readonly Day[], signal: AbortSignal) => Promise<Result>;

/**
 * Does something with days whose summaries are written by whom the call names; a model is asked once its price is accepted.
 * @returns undefined where it was interrupted
 */
export async function withSummaries<Result>(
  invocation: Invocation,
  { days, policies }: Played,
  work: Work<Result>,
): Promise<Result | undefined> {
  const { model: reference, summaries } = invocation.options;
  if (typeof reference === "string" && summaries !== undefined)
    throw wrongUsage(
      "--model and --summaries exclude each other: both choose the source of the summaries.",
      "Remove one of them.",
    );
  if (typeof reference === "string") return withModel(invocation, reference, { days, policies }, work);
  if (summaries !== undefined && summaries !== "recorded" && summaries !== "digest")
    throw wrongUsage(
      `--summaries must be digest or recorded, not ${String(summaries)}.`,
      "Correct --summaries, or remove it.",
    );
  const written = summaries === "recorded" ? days.map((day): Day => ({ ...day, summaries })) : days;
  return interruptible(invocation, (signal) => work(written, signal));
}

async function interruptible<Result>(
  { io }: Invocation,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result | undefined> {
  return io.interruptible(async (signal) => {
    try {
      return await work(signal);
    } catch (error) {
      if (signal.aborted && error === signal.reason) return undefined;
      throw error;
    }
  });
}

async function withModel<Result>(
  invocation: Invocation,
  reference: string,
  { days, policies }: Played,
  work: Work<Result>,
): Promise<Result | undefined> {
  const { namedModel } = await import("../call/model-choice.ts");
  const { model, summariser } = await namedModel(invocation, reference);
  const { usdPerMillionTokens: summaryPrices } = model;
  const name = `${model.provider}/${model.id}`;
  const priced = days.map((day): Day => ({ ...day, summaryPrices }));
  const { requests, usd } = await withProgress(invocation.io, `Estimating the price of ${name}`, () =>
    estimated(priced, policies),
  );
  const price = summaryPrices === undefined ? "at an unknown price" : `for about ${usdText(usd)}`;
  if (summaryPrices === undefined || usd > 0)
    await accepted(invocation, `${name} would write ${counted(requests, "summary", "summaries")} ${price}.`);
  return interruptible(invocation, async (signal) => {
    const watched = new WatchedSummariser(summariser, signal);
    const result = await work(
      priced.map((day): Day => ({ ...day, summaries: watched.summariser })),
      signal,
    );
    watched.tell(invocation);
    return result;
  });
}

/** What would be asked for, as the digest's summaries have it. */
async function estimated(
  days: readonly Day[],
  policies: readonly Policy[],
): Promise<{ requests: number; usd: number }> {
  const played = await playPolicies(days, policies);
  return {
    requests: played.policies.reduce((sum, { summaries }) => sum + summaries.requests, 0),
    usd: played.policies.reduce((sum, { summaries }) => sum + summaries.usd, 0),
  };
}

/** A model whose failures are counted: the digest stands in for each, which nobody would notice. */
class WatchedSummariser {
  readonly summariser: Summariser;
  #asked = 0;
  #failed = 0;
  #why = "";

  constructor(model: Summariser, signal: AbortSignal) {
    this.summariser = {
      ...model,
      summarise: async (request) => {
        const answer = await model.summarise({
          ...request,
          signal: AbortSignal.any([signal, request.signal]),
        });
        this.#asked += 1;
        if (answer.stopReason !== "stop") {
          this.#failed += 1;
          this.#why ||= answer.errorMessage ?? answer.stopReason;
        }
        return answer;
      },
    };
  }

  tell({ output }: Invocation): void {
    if (this.#failed === 0) return;
    output.notify({
      code: "summaries_failed",
      message: `${this.#failed} of ${counted(this.#asked, "summary", "summaries")} failed; the digest replaced them. First error: ${this.#why}`,
    });
  }
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
