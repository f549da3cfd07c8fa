import { byScriptEstimator, messageText } from "@bonsai-agent/messages";
import {
  type Provider,
  type ProviderCall,
  type ScenarioAnswer,
  scriptedProvider,
} from "@bonsai-agent/models";
import { type Act, summaries } from "./acts.ts";

/** One request as the server of the demonstration saw it. */
export interface Served {
  purpose: ProviderCall["purpose"];
  /** Tokens of the request by the server's own count. */
  inputTokens: number;
  refused: boolean;
}

export interface ActorOptions {
  /** What the server really holds, whatever the catalogue says. */
  windowTokens: number;
  /** Wait before each piece of an answer. */
  delayMs: number;
  onServed: (served: Served) => void;
}

/** The scripted model: it says the lines of the act, and refuses what is too long as a server does. */
export class Actor {
  readonly #options: ActorOptions;
  #lines: ScenarioAnswer[] = [];
  #earlyPart = "";
  #summariserFails = false;

  constructor(options: ActorOptions) {
    this.#options = options;
  }

  enter({ answers, earlyPart = "", summariserFails = false }: Act): void {
    this.#lines = [...answers];
    this.#earlyPart = earlyPart;
    this.#summariserFails = summariserFails;
  }

  provider(): Provider {
    const scripted = scriptedProvider((call) => this.#answer(call));
    const { windowTokens, onServed } = this.#options;
    return {
      stream: (call, answer) => {
        const inputTokens = requestTokens(call);
        onServed({ purpose: call.purpose, inputTokens, refused: inputTokens > windowTokens });
        const model = { ...call.model, contextWindow: windowTokens };
        return scripted.stream({ ...call, model }, answer);
      },
    };
  }

  #answer(call: ProviderCall): ScenarioAnswer {
    if (call.purpose === "summary") return this.#summary(call);
    if (call.purpose === "title") return { text: "Corner shop: prices and discount codes" };
    return { ...(this.#lines.shift() ?? { text: "That is all." }), delayMs: this.#options.delayMs };
  }

  #summary({ messages }: ProviderCall): ScenarioAnswer {
    if (this.#summariserFails) return { error: { status: 500, message: "The server has gone away." } };
    const kind = askedKind(messages.map(messageText).join("\n"));
    return { text: kind === "turnPrefix" ? this.#earlyPart : summaries[kind] };
  }
}

/** By the outline, which stands last; earlier ones are those of former summaries. */
function askedKind(asked: string): "turnPrefix" | keyof typeof summaries {
  const goalAt = asked.lastIndexOf("## Goal");
  if (asked.lastIndexOf("## Request") > goalAt) return "turnPrefix";
  return asked.indexOf("## Critical Context", goalAt) > goalAt ? "history" : "branch";
}

function requestTokens({ systemPrompt, tools, messages }: ProviderCall): number {
  const fixed = byScriptEstimator.text(systemPrompt) + byScriptEstimator.text(JSON.stringify(tools));
  return messages.reduce((sum, message) => sum + byScriptEstimator.message(message), fixed);
}
