import { setTimeout as wait } from "node:timers/promises";
import { byScriptEstimator, jsonText, toolCalls, type Usage } from "@bonsai-agent/messages";
import type { AnswerBuilder } from "../answer-builder.ts";
import { type Provider, type ProviderCall, ProviderError } from "../provider.ts";
import type { StreamEvent } from "../stream-event.ts";
import type { Scenario, ScenarioAnswer, ScriptedModel } from "./scenario.ts";
import { scenarioPlayer } from "./scenario-player.ts";
import { ScriptedCache } from "./scripted-cache.ts";

/**
 * A provider whose model's words are written down beforehand. It behaves like a server: its window is enforced
 * (the scenario's, else the model's), and what a request has in common with a former one is read from a cache.
 */
export function scriptedProvider(play: Scenario | ScriptedModel): Provider {
  const isFunction = typeof play === "function";
  const stage: Stage = {
    model: isFunction ? play : scenarioPlayer(play),
    windowTokens: isFunction ? undefined : play.contextWindow,
    cache: new ScriptedCache(),
    calls: 0,
  };
  return { stream: (call, answer) => perform(stage, call, answer) };
}

/** What lasts from request to request. */
interface Stage {
  model: ScriptedModel;
  windowTokens: number | undefined;
  cache: ScriptedCache;
  /** The number in the latest id of a call. */
  calls: number;
}

async function* perform(
  stage: Stage,
  asked: ProviderCall,
  answer: AnswerBuilder,
): AsyncIterable<StreamEvent> {
  asked.signal.throwIfAborted();
  const call = await changed(asked);
  const { inputTokens, prompt } = stage.cache.count(call);
  // A refused request never reaches the model: what it would have said is kept.
  refuseIfTooLong(call, inputTokens, stage.windowTokens ?? call.model.contextWindow);
  const line = stage.model(call);
  const { error } = line;
  if (error !== undefined && !speaks(line)) throw refusal(error);
  await call.onResponse({ status: 200, headers: {} });
  yield* spoken(call, answer, line);
  yield* called(stage, call, answer, line);
  if (error !== undefined) throw refusal(error);
  if (line.cut) throw new ProviderError({ kind: "cut", message: "The stream ended before the answer did." });
  answer.setUsage(usageOf(line.usage, prompt(), answer));
  answer.stop(line.stopReason ?? (line.calls?.length ? "toolUse" : "stop"));
}

/** The request as whoever watches the wire leaves it. */
async function changed(call: ProviderCall): Promise<ProviderCall> {
  const { systemPrompt, tools, messages, maxOutputTokens, thinking } = call;
  const payload = { model: call.model.id, systemPrompt, tools, messages, maxOutputTokens, thinking };
  const { model: _model, ...sent } = (await call.onPayload(payload)) as typeof payload;
  return { ...call, ...sent };
}

function refusal(error: NonNullable<ScenarioAnswer["error"]>): ProviderError {
  return new ProviderError({ kind: "refused", ...error, body: { error } });
}

function speaks({ text = "", thinking = "", calls = [] }: ScenarioAnswer): boolean {
  return text !== "" || thinking !== "" || calls.length > 0;
}

async function* spoken(
  call: ProviderCall,
  answer: AnswerBuilder,
  { thinking = "", text = "", delayMs = 0, chunkChars = 24, cut = false, calls = [] }: ScenarioAnswer,
): AsyncIterable<StreamEvent> {
  for (const delta of pieces(thinking, chunkChars)) {
    await pause(delayMs, call.signal);
    yield answer.thinking(delta);
  }
  const said = cut && calls.length === 0 ? text.slice(0, text.length / 2) : text;
  for (const delta of pieces(said, chunkChars)) {
    await pause(delayMs, call.signal);
    yield answer.text(delta);
  }
}

/** An answer that is cut ends in the middle of its last call. */
async function* called(
  stage: Stage,
  call: ProviderCall,
  answer: AnswerBuilder,
  { calls = [], delayMs = 0, cut = false }: ScenarioAnswer,
): AsyncIterable<StreamEvent> {
  for (const [at, { name, arguments: args = {}, argumentsText }] of calls.entries()) {
    await pause(delayMs, call.signal);
    const text = argumentsText ?? jsonText(args);
    const isCut = cut && at === calls.length - 1;
    const index = answer.beginCall({ id: nextCallId(stage, call), name });
    yield answer.callArguments(index, isCut ? text.slice(0, text.length / 2) : text);
    if (!isCut) yield answer.endCall(index);
  }
}

/** The next number that neither this provider nor, in a session that goes on, the history has used. */
function nextCallId(stage: Stage, { messages }: ProviderCall): string {
  const used = messages.flatMap(toolCalls).map(({ id }) => Number(/^call-(\d+)$/.exec(id)?.[1] ?? 0));
  stage.calls = Math.max(stage.calls, ...used) + 1;
  return `call-${stage.calls}`;
}

/** Where the scenario tells what the prompt cost, it tells all of it. */
function usageOf(
  told: Partial<Usage> = {},
  prompt: Partial<Usage>,
  answer: AnswerBuilder,
): Partial<Omit<Usage, "cost" | "totalTokens">> {
  const { cost: _cost, totalTokens: _total, ...counts } = told;
  const tellsPrompt = [counts.input, counts.cacheRead, counts.cacheWrite].some(
    (count) => count !== undefined,
  );
  const output = byScriptEstimator.message(answer.message);
  return { ...(tellsPrompt ? {} : prompt), output, ...counts };
}

function pieces(text: string, chars: number): string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += chars) parts.push(text.slice(at, at + chars));
  return parts;
}

async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (delayMs === 0) return;
  try {
    await wait(delayMs, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

function refuseIfTooLong(
  { maxOutputTokens }: ProviderCall,
  inputTokens: number,
  window: number | undefined,
): void {
  if (!window || inputTokens + maxOutputTokens <= window) return;
  const message =
    inputTokens > window
      ? `prompt is too long: ${inputTokens} tokens > ${window} maximum`
      : `input length and \`max_tokens\` exceed context limit: ${inputTokens} + ${maxOutputTokens} > ${window}, decrease input length or \`max_tokens\` and try again`;
  throw new ProviderError({ kind: "refused", status: 400, code: "invalid_request_error", message });
}
