import { emptyUsage } from "@bonsai-agent/messages";
import { type Summariser, type SummaryAnswer, type SummaryRequest, summarySections } from "../src/index.ts";

/** A summariser that answers from a script and remembers what it was asked. */
export interface ScriptedSummariser extends Summariser {
  requests: SummaryRequest[];
}

type Answer = Partial<SummaryAnswer> | Error | ((request: SummaryRequest) => Partial<SummaryAnswer>);

/** Answers in order; after the last one, and without any, well-formed summaries. */
export function scriptedSummariser(
  answers: Answer[] = [],
  sizes: Partial<Summariser> = {},
): ScriptedSummariser {
  const requests: SummaryRequest[] = [];
  return {
    name: "scripted",
    ...sizes,
    requests,
    async summarise(request) {
      const scripted = answers[requests.length];
      requests.push(request);
      if (scripted instanceof Error) throw scripted;
      const answer = typeof scripted === "function" ? scripted(request) : scripted;
      const usage = { ...emptyUsage(), cost: { ...emptyUsage().cost, total: 0.01 } };
      return { text: wellFormed(request), stopReason: "stop", usage, ...answer };
    },
  };
}

/** A short summary with all the sections asked for. */
export function wellFormed({
  kind,
  previousSummary,
}: Pick<SummaryRequest, "kind" | "previousSummary">): string {
  const updated = previousSummary === undefined ? "first" : "updated";
  return summarySections[kind].map((heading) => `## ${heading}\n${updated} ${kind}`).join("\n\n");
}
