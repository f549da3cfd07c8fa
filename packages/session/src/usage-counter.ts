import { addUsage, CostSum, emptyUsage, type Usage } from "@bonsai-agent/messages";
import { answerUsage } from "@bonsai-agent/messages/host";
import type { Entry } from "./entry.ts";

/** Adds up the usage of a session's entries: answers, tools, summaries, side requests. Keeps no entry. */
export class UsageCounter {
  /** The known cost of the requests. */
  readonly cost = new CostSum();
  #usage = emptyUsage();
  /** The model of the last answer. Requests without a model count for it. */
  #model: string | undefined;

  get usage(): Usage {
    return this.#usage;
  }

  add(entry: Entry): void {
    this.#model = answeringModel(entry) ?? this.#model;
    const usage = usageOf(entry);
    if (usage === undefined) return;
    this.#usage = addUsage(this.#usage, usage);
    this.cost.add(usage, entry.type === "usage" ? `${entry.provider}/${entry.model}` : this.#model);
  }
}

/** The model of an answer, as `provider/model`; undefined for any other entry. */
export function answeringModel(entry: Entry): string | undefined {
  if (entry.type !== "message" || entry.message?.role !== "assistant") return undefined;
  const { provider, model } = entry.message;
  return `${typeof provider === "string" ? provider : "?"}/${typeof model === "string" ? model : "?"}`;
}

function usageOf(entry: Entry): Usage | undefined {
  if (entry.type !== "message") return "usage" in entry ? entry.usage : undefined;
  const { message } = entry;
  // A sub-agent's requests count for the tool's result.
  if (message?.role === "toolResult") return message.usage;
  // A recording can lack the usage.
  return message?.role === "assistant" && message.usage ? answerUsage(message) : undefined;
}
