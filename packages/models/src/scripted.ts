import { byScriptEstimator, type Message } from "@bonsai-agent/messages";
import type { AnswerBuilder } from "./answer-builder.ts";
import { type Provider, type ProviderCall, ProviderError } from "./provider.ts";
import type { Scenario, ScenarioAnswer, ScriptedModel } from "./scenario.ts";
import type { StreamEvent } from "./stream-event.ts";

/** A provider whose model's words are written down beforehand; its window is enforced like a real one's. */
export function scriptedProvider(play: Scenario | ScriptedModel): Provider {
  const model = typeof play === "function" ? play : player(play);
  return { stream: (call, answer) => perform(call, answer, model(call)) };
}

function player(scenario: Scenario): ScriptedModel {
  const played = { turn: 0, summary: 0, title: 0 };
  return ({ purpose }) => {
    const lines = scenario[purpose] ?? [];
    const at = scenario.atEnd === "repeat" ? played[purpose] % lines.length : played[purpose];
    played[purpose] += 1;
    const line = lines[at];
    if (line === undefined) {
      throw new ProviderError({
        kind: "refused",
        status: 500,
        code: "scenario_ended",
        message: `The scenario has no answer ${at + 1} for a ${purpose}.`,
      });
    }
    return line;
  };
}

async function* perform(
  call: ProviderCall,
  answer: AnswerBuilder,
  line: ScenarioAnswer,
): AsyncIterable<StreamEvent> {
  const inputTokens = requestTokens(call);
  refuseIfTooLong(call, inputTokens);
  if (line.error !== undefined) throw new ProviderError({ kind: "refused", ...line.error, body: line.error });
  yield* spoken(call, answer, line);
  for (const { name, arguments: args = {}, argumentsText = JSON.stringify(args) } of line.calls ?? []) {
    const index = answer.beginCall({ id: `call-${++calls}`, name });
    yield answer.callArguments(index, argumentsText);
    yield answer.endCall(index);
  }
  answer.setUsage({ input: inputTokens, output: outputTokens(answer), ...line.usage });
  answer.stop(line.stopReason ?? (line.calls?.length ? "toolUse" : "stop"));
}

let calls = 0;

async function* spoken(
  call: ProviderCall,
  answer: AnswerBuilder,
  { thinking = "", text = "", delayMs = 0, chunkChars = 24 }: ScenarioAnswer,
): AsyncIterable<StreamEvent> {
  for (const delta of pieces(thinking, chunkChars)) {
    await pause(delayMs, call.signal);
    yield answer.thinking(delta);
  }
  for (const delta of pieces(text, chunkChars)) {
    await pause(delayMs, call.signal);
    yield answer.text(delta);
  }
}

function pieces(text: string, chars: number): string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += chars) parts.push(text.slice(at, at + chars));
  return parts;
}

function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (delayMs === 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, delayMs);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        reject(signal.reason);
      },
      { once: true },
    );
  });
}

function requestTokens({ systemPrompt, tools, messages }: ProviderCall): number {
  const fixed = byScriptEstimator.text(systemPrompt) + byScriptEstimator.text(JSON.stringify(tools));
  return messages.reduce((sum, message: Message) => sum + byScriptEstimator.message(message), fixed);
}

function outputTokens(answer: AnswerBuilder): number {
  return byScriptEstimator.message(answer.message);
}

function refuseIfTooLong({ model, maxOutputTokens }: ProviderCall, inputTokens: number): void {
  const window = model.contextWindow;
  if (!window) return;
  const message =
    inputTokens > window
      ? `prompt is too long: ${inputTokens} tokens > ${window} maximum`
      : inputTokens + maxOutputTokens > window
        ? `input length and \`max_tokens\` exceed context limit: ${inputTokens} + ${maxOutputTokens} > ${window}, decrease input length or \`max_tokens\` and try again`
        : undefined;
  if (message === undefined) return;
  throw new ProviderError({ kind: "refused", status: 400, code: "invalid_request_error", message });
}
