import { byScriptEstimator, type Message, type Usage } from "@bonsai-agent/messages";
import type { ProviderCall } from "../provider.ts";

/** Shorter prefixes are not kept, as with real providers. */
const leastCachedTokens = 1_024;
/** So many former requests are remembered: turns, summaries and sub-agents come in turn. */
const rememberedRequests = 4;

interface Part {
  text: string;
  tokens: number;
}

/** The prompt cache of a pretended server: what a request has in common with the beginning of a former one is read. */
export class ScriptedCache {
  readonly #former: (readonly Part[])[] = [];

  /** Counts a request's tokens. `prompt` remembers it; what is not read is written where writing has a price. */
  count(call: ProviderCall): { inputTokens: number; prompt: () => Partial<Usage> } {
    const parts = partsOf(call);
    const inputTokens = sum(parts);
    return { inputTokens, prompt: () => this.#prompt(parts, inputTokens, call) };
  }

  #prompt(parts: readonly Part[], inputTokens: number, { model }: ProviderCall): Partial<Usage> {
    const common = Math.max(0, ...this.#former.map((former) => commonTokens(former, parts)));
    this.#former.push(parts);
    if (this.#former.length > rememberedRequests) this.#former.shift();
    const cacheRead = common < leastCachedTokens ? 0 : common;
    const rest = inputTokens - cacheRead;
    const isWritten = inputTokens >= leastCachedTokens && (model.usdPerMillionTokens?.cacheWrite ?? 0) > 0;
    return isWritten ? { input: 0, cacheRead, cacheWrite: rest } : { input: rest, cacheRead, cacheWrite: 0 };
  }
}

function partsOf({ systemPrompt, tools, messages }: ProviderCall): Part[] {
  const declared = JSON.stringify(tools);
  return [
    { text: declared, tokens: byScriptEstimator.text(declared) },
    { text: systemPrompt, tokens: byScriptEstimator.text(systemPrompt) },
    ...messages.map(partOf),
  ];
}

/** A message is sent with every request of a session, and stays as it is. */
const known = new WeakMap<Message, Part>();

function partOf(message: Message): Part {
  const part = known.get(message) ?? { text: sent(message), tokens: byScriptEstimator.message(message) };
  known.set(message, part);
  return part;
}

/** What a server sees of a message: no times, no counts. */
function sent(message: Message): string {
  return JSON.stringify({ ...message, timestamp: undefined, usage: undefined });
}

function commonTokens(former: readonly Part[], parts: readonly Part[]): number {
  const differs = parts.findIndex(({ text }, at) => former[at]?.text !== text);
  return sum(differs < 0 ? parts : parts.slice(0, differs));
}

function sum(parts: readonly Part[]): number {
  return parts.reduce((total, { tokens }) => total + tokens, 0);
}
