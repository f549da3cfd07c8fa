import { addUsage, CostSum, emptyUsage, type Usage } from "@bonsai-agent/messages";
import { answerUsage } from "@bonsai-agent/messages/host";
import type { Entry } from "./entry.ts";

/** Adds up what was asked of models for the entries of a session: answers, tools, summaries, side requests. Keeps no entry. */
export class UsageCounter {
  /** The cost of the requests, as far as it is known. */
  readonly cost = new CostSum();
  #usage = emptyUsage();
  /** The model of the last answer: requests that name no model count for it. */
  #model: string | undefined;

  get usage(): Usage {
    return this.#usage;
  }

  add(entry: Entry): void {
    const usage = usageOf(entry);
    this.#usage = addUsage(this.#usage, usage);
    this.#model = answeringModel(entry) ?? this.#model;
    this.cost.add(usage, entry.type === "usage" ? `${entry.provider}/${entry.model}` : this.#model);
  }
}

/** The model that gave an answer, as `provider/model`; undefined for any other entry. */
export function answeringModel(entry: Entry): string | undefined {
  if (entry.type !== "message" || entry.message?.role !== "assistant") return undefined;
  const { provider, model } = entry.message;
  return `${typeof provider === "string" ? provider : "?"}/${typeof model === "string" ? model : "?"}`;
}

function usageOf(entry: Entry): Usage {
  if (entry.type === "message") {
    const { message } = entry;
    // A tool's own requests: those of a sub-agent.
    if (message?.role === "toolResult") return wholeUsage(message.usage);
    if (message?.role !== "assistant") return emptyUsage();
    return answerUsage({ ...message, usage: wholeUsage(message.usage) });
  }
  return wholeUsage("usage" in entry ? entry.usage : undefined);
}

/** Recordings can lack a usage or parts of it, or hold what is no number. */
function wholeUsage(usage: Partial<Usage> | undefined): Usage {
  const none = emptyUsage();
  const cost = { ...none.cost, ...numbersOf(usage?.cost) };
  return { ...none, ...numbersOf(usage), ...(usage?.isUncounted === true && { isUncounted: true }), cost };
}

function numbersOf(value: unknown): Record<string, number> {
  if (typeof value !== "object" || value === null) return {};
  const numbers: Record<string, number> = {};
  for (const [key, each] of Object.entries(value)) if (Number.isFinite(each)) numbers[key] = each;
  return numbers;
}
