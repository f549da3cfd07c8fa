import {
  callsIn,
  jsonText,
  type Message,
  messageText,
  textHead,
  tokenEstimator,
  type Usage,
} from "@bonsai-agent/messages";
import { sleep } from "@bonsai-agent/messages/host";
import type { AnswerBuilder } from "../answer-builder.ts";
import type { RequestPurpose, StreamEvent } from "../model-request.ts";
import { type Provider, type ProviderCall, ProviderError } from "../provider.ts";
import {
  readScenario,
  type Scenario,
  type ScenarioAnswer,
  type ScenarioCondition,
  type ScriptedModel,
} from "./scenario.ts";

/**
 * A provider with prepared answers. It behaves like a server: it enforces a window (the scenario's, else the model's) and
 * reads the common prefix of requests from a cache.
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

interface Stage {
  model: ScriptedModel;
  windowTokens: number | undefined;
  cache: ScriptedCache;
  /** The number in the latest id of a call. */
  calls: number;
}

async function* perform(
  stage: Stage,
  request: ProviderCall,
  answer: AnswerBuilder,
): AsyncIterable<StreamEvent> {
  request.signal.throwIfAborted();
  const call = await changed(request);
  const parts = partsOf(call);
  const inputTokens = sum(parts);
  // A refused request uses no answer.
  refuseIfTooLong(call, inputTokens, stage.windowTokens ?? call.model.contextWindow);
  const line = stage.model(call);
  const { error } = line;
  if (error !== undefined && !hasContent(line)) throw refusal(error);
  await call.onResponse({ status: 200, headers: {} });
  yield* streamTexts(call, answer, line);
  yield* streamCalls(stage, call, answer, line);
  if (error !== undefined) throw refusal(error);
  if (line.cut)
    throw new ProviderError({ kind: "cut", message: "The stream ended before the answer was complete." });
  answer.setUsage(usageOf(line.usage, stage.cache.prompt(parts, call), answer));
  answer.stop(line.stopReason ?? (line.calls?.length ? "toolUse" : "stop"));
}

async function changed(call: ProviderCall): Promise<ProviderCall> {
  const { systemPrompt, tools, messages, maxOutputTokens, thinking } = call;
  const payload = { model: call.model.id, systemPrompt, tools, messages, maxOutputTokens, thinking };
  const { model: _model, ...sent } = (await call.onPayload(payload)) as typeof payload;
  return { ...call, ...sent };
}

function refusal(error: NonNullable<ScenarioAnswer["error"]>): ProviderError {
  return new ProviderError({ kind: "refused", ...error, body: { error } });
}

function hasContent({ text = "", thinking = "", calls = [] }: ScenarioAnswer): boolean {
  return text !== "" || thinking !== "" || calls.length > 0;
}

async function* streamTexts(
  call: ProviderCall,
  answer: AnswerBuilder,
  { thinking = "", text = "", delayMs = 0, chunkChars = 24, cut = false, calls = [] }: ScenarioAnswer,
): AsyncIterable<StreamEvent> {
  const shown = cut && calls.length === 0 ? textHead(text, Math.floor(text.length / 2)) : text;
  const thoughts = pieces(thinking, chunkChars);
  for (const [at, delta] of [...thoughts, ...pieces(shown, chunkChars)].entries()) {
    await pause(delayMs, call.signal);
    yield at < thoughts.length ? answer.thinking(delta) : answer.text(delta);
  }
}

/** A cut answer ends in the middle of its last call. */
async function* streamCalls(
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
    yield answer.callArguments(index, isCut ? textHead(text, Math.floor(text.length / 2)) : text);
    if (!isCut) yield answer.endCall(index);
  }
}

/** The next number that neither this provider nor the history has used. */
function nextCallId(stage: Stage, { messages }: ProviderCall): string {
  const used = messages.flatMap(callsIn).map(({ id }) => Number(/^call-(\d+)$/.exec(id)?.[1] ?? 0));
  stage.calls = Math.max(stage.calls, ...used) + 1;
  return `call-${stage.calls}`;
}

/** A scenario with counts of the prompt has all of them. */
function usageOf(
  given: Partial<Usage> = {},
  prompt: Partial<Usage>,
  answer: AnswerBuilder,
): Partial<Omit<Usage, "cost" | "totalTokens">> {
  const { cost: _cost, totalTokens: _total, ...counts } = given;
  const hasPrompt = [counts.input, counts.cacheRead, counts.cacheWrite].some((count) => count !== undefined);
  const output = tokenEstimator.message(answer.message);
  return { ...(hasPrompt ? {} : prompt), output, ...counts };
}

function pieces(text: string, chars: number): string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length; at += chars) parts.push(text.slice(at, at + chars));
  return parts;
}

async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  if (delayMs > 0) await sleep(delayMs, signal);
  signal.throwIfAborted();
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

/** Plays a scenario: the first answer with a matching condition, else the next one. */
function scenarioPlayer(scenario: Scenario): ScriptedModel {
  const { atEnd = "error" } = scenario;
  const players = new Map<RequestPurpose, ScriptedModel>();
  return (call) => {
    const player = players.get(call.purpose) ?? purposePlayer(scenario[call.purpose] ?? [], atEnd);
    players.set(call.purpose, player);
    return player(call);
  };
}

function purposePlayer(answers: readonly ScenarioAnswer[], atEnd: "error" | "repeat"): ScriptedModel {
  const waiting = answers
    .filter(({ when }) => when !== undefined)
    .map((line) => ({ line, left: line.times ?? 1 }));
  const lines = answers
    .filter(({ when }) => when === undefined)
    .flatMap((line) => Array<ScenarioAnswer>(line.times ?? 1).fill(line));
  let played = 0;
  return (call) => {
    const ready = waiting.find(({ line, left }) => left > 0 && holds(line.when!, call));
    if (ready !== undefined) {
      ready.left -= 1;
      return ready.line;
    }
    const line = lines[atEnd === "repeat" ? played % lines.length : played];
    if (line === undefined) throw ended(call.purpose, played);
    played += 1;
    return line;
  };
}

function ended(purpose: string, played: number): ProviderError {
  return new ProviderError({
    kind: "refused",
    status: 400,
    code: "scenario_ended",
    message: `The scenario has no answer left for ${purpose} requests (${played} given). No conditional answer matches.`,
  });
}

function holds(condition: ScenarioCondition, { messages, systemPrompt }: ProviderCall): boolean {
  const { lastTool, lastToolFailed, lastTextMatches, lastUserMatches, anyTextMatches } = condition;
  const since = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
  const results = since.filter((message) => message.role === "toolResult");
  const named = lastTool === undefined ? results : results.filter(({ toolName }) => toolName === lastTool);
  if (lastTool !== undefined && named.length === 0) return false;
  if (lastToolFailed !== undefined && !named.some(({ isError }) => isError === lastToolFailed)) return false;
  const last: readonly Message[] = lastTool === undefined ? messages.slice(-1) : named;
  const users = messages.filter(({ role }) => role === "user");
  return (
    matches(lastTextMatches, last.map(messageText)) &&
    matches(lastUserMatches, users.slice(-1).map(messageText)) &&
    matches(anyTextMatches, [systemPrompt, ...messages.map(messageText)])
  );
}

function matches(pattern: string | undefined, texts: readonly string[]): boolean {
  if (pattern === undefined) return true;
  const expression = new RegExp(pattern, "m");
  return texts.some((text) => expression.test(text));
}

/** Real providers do not cache shorter prefixes. */
const MIN_CACHED_TOKENS = 1_024;
/** Turns, summaries and sub-agents alternate. */
const MAX_CACHED_REQUESTS = 4;

interface CachedPart {
  text: string;
  tokens: number;
}

class ScriptedCache {
  readonly #former: (readonly CachedPart[])[] = [];

  /** Adds a prompt. The part that no earlier prompt has is written to the cache if writing has a price. */
  prompt(parts: readonly CachedPart[], { model }: ProviderCall): Partial<Usage> {
    const inputTokens = sum(parts);
    const common = Math.max(0, ...this.#former.map((former) => commonTokens(former, parts)));
    this.#former.push(parts);
    if (this.#former.length > MAX_CACHED_REQUESTS) this.#former.shift();
    const cacheRead = common < MIN_CACHED_TOKENS ? 0 : common;
    const rest = inputTokens - cacheRead;
    const isWritten = inputTokens >= MIN_CACHED_TOKENS && (model.usdPerMillionTokens?.cacheWrite ?? 0) > 0;
    return isWritten ? { input: 0, cacheRead, cacheWrite: rest } : { input: rest, cacheRead, cacheWrite: 0 };
  }
}

function partsOf({ systemPrompt, tools, messages }: ProviderCall): CachedPart[] {
  const declared = JSON.stringify(tools);
  return [
    { text: declared, tokens: tokenEstimator.text(declared) },
    { text: systemPrompt, tokens: tokenEstimator.text(systemPrompt) },
    ...messages.map(partOf),
  ];
}

/** Messages do not change, and each request of a session contains them again. */
const known = new WeakMap<Message, CachedPart>();

function partOf(message: Message): CachedPart {
  const part = known.get(message) ?? { text: sent(message), tokens: tokenEstimator.message(message) };
  known.set(message, part);
  return part;
}

/** A server sees no times and no counts. */
function sent(message: Message): string {
  return JSON.stringify({ ...message, timestamp: undefined, usage: undefined });
}

function commonTokens(former: readonly CachedPart[], parts: readonly CachedPart[]): number {
  const differs = parts.findIndex(({ text }, at) => former[at]?.text !== text);
  return sum(differs < 0 ? parts : parts.slice(0, differs));
}

function sum(parts: readonly CachedPart[]): number {
  return parts.reduce((total, { tokens }) => total + tokens, 0);
}

/**
 * Plays the scenario file at `path`, or at each model's `baseUrl`. Reads a file at its first request and continues there
 * with the next. Throws as `readScenario`.
 */
export function scenarioProvider(path?: string): Provider {
  const parts = new Map<string, Provider>();
  return {
    stream: (call, answer) => {
      const file = path ?? call.model.baseUrl;
      const provider = parts.get(file) ?? scriptedProvider(readScenario(file));
      parts.set(file, provider);
      return provider.stream(call, answer);
    },
  };
}
