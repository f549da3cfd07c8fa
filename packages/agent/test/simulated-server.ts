import { summarySections } from "@bonsai-agent/compaction";
import { type Message, tokenEstimator } from "@bonsai-agent/messages";
import { type Provider, type ProviderCall, ProviderError } from "@bonsai-agent/models";
import type { Random } from "@bonsai-agent/testkit";

/** How a server that holds its own count refuses what is too long. */
export interface SimulatedServerOptions {
  random: Random;
  /** The real window, regardless of the catalogue. */
  windowTokens: number;
  /** Its tokens for each of our estimate. */
  skew: number;
  refusal: (inputTokens: number, windowTokens: number) => { status: number; message: string };
  /** The chance that a request fails for another reason. */
  troubles: number;
  /** The chance that a summary is no summary. */
  badSummaries: number;
  /** The next answer of the model. */
  turn: (call: ProviderCall) => { name: string; arguments: object }[];
  /** Sees each request for a turn before it is answered. */
  onTurn: (call: ProviderCall) => void;
  /** Told of each answer that was given to the end. */
  onAnswer: () => void;
}

const troubles = [
  { kind: "refused", status: 429, message: "Rate limit reached: too many requests" },
  { kind: "refused", status: 529, message: "overloaded_error" },
  { kind: "network", message: "fetch failed" },
  { kind: "cut", message: "The stream ended before the answer was complete." },
] as const;

const badAnswers = ["", "I'm sorry, but I can't help with that.", "They worked.", "abc ".repeat(40_000)];

/** A server that counts in its own way, holds its own window, and has bad days. */
export function simulatedServer(options: SimulatedServerOptions): Provider {
  let calls = 0;
  return {
    async *stream(call, answer) {
      call.signal.throwIfAborted();
      const { random, windowTokens } = options;
      const inputTokens = counted(call, options.skew);
      if (call.purpose === "turn") options.onTurn(call);
      if (random.chance(options.troubles)) throw new ProviderError(random.pick(troubles));
      if (inputTokens > windowTokens)
        throw new ProviderError({ kind: "refused", ...options.refusal(inputTokens, windowTokens) });
      if (call.purpose === "summary") {
        yield answer.text(random.chance(options.badSummaries) ? random.pick(badAnswers) : notes(call));
        answer.stop("stop");
      } else {
        const asked = options.turn(call);
        yield answer.text(asked.length === 0 ? "That part is done." : "I look.");
        for (const { name, arguments: input } of asked) {
          const index = answer.beginCall({ id: `call-${++calls}`, name });
          yield answer.callArguments(index, JSON.stringify(input));
          yield answer.endCall(index);
        }
        answer.stop(asked.length === 0 ? "stop" : "toolUse");
        options.onAnswer();
      }
      answer.setUsage({ input: inputTokens, output: 20 });
    },
  };
}

function counted({ systemPrompt, tools, messages }: ProviderCall, skew: number): number {
  const fixed = tokenEstimator.text(systemPrompt + JSON.stringify(tools));
  const tokens = messages.reduce((sum, message) => sum + tokenEstimator.message(message) + 4, fixed);
  return Math.ceil(tokens * skew);
}

/** A summariser that copies what is forbidden, and says little else. */
function notes({ messages }: ProviderCall): string {
  const source = JSON.stringify(messages satisfies readonly Message[]);
  const forbidden = [...new Set(source.match(/Never touch X-[a-z]+/g))].map((text) => `- ${text}`);
  return [...new Set(Object.values(summarySections).flat())]
    .map((heading) => {
      const said = /Constraints|Context/.test(heading) ? forbidden.join("\n") : `${heading} as it stands.`;
      return `## ${heading}\n${said || "(none)"}`;
    })
    .join("\n\n");
}
