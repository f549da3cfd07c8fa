import { BonsaiError, estimateTokens, jsonText } from "@bonsai-agent/messages";
import type { Catalogue } from "@bonsai-agent/models";
import { bonsaiHome } from "@bonsai-agent/session";
import {
  asSchema,
  gateway,
  type LanguageModel,
  type LanguageModelMiddleware,
  type ModelMessage,
  type OutputInterface,
  type PrepareStepFunction,
  type ToolLoopAgentSettings,
  type ToolSet,
  wrapLanguageModel,
} from "ai";
import {
  type CompactMessagesOptions,
  type CompactMessagesResult,
  type CompactSettings,
  compactMessages,
  type MessageShapes,
} from "./compact-messages.ts";
import type { CompactState } from "./state.ts";
import type { SummaryFunction, SummaryModel } from "./summariser.ts";

/** Options of `withCompaction`. */
export interface WithCompactionOptions {
  /** Writes the summary. Default: the built-in digest, without a model. */
  model?: SummaryFunction | SummaryModel;
  /** Default: Bonsai's defaults, and the window from Bonsai's catalogue of models. */
  settings?: CompactSettings;
  /** The state that an earlier call for this conversation reported. Each call of the agent begins with it. */
  state?: CompactState | null;
  /** Called after each compaction. Store the state for later calls of the same conversation. */
  onCompaction?: (event: Omit<CompactMessagesResult<object>, "messages">) => void | PromiseLike<void>;
}

/** The part of an agent's settings that `withCompaction` changes. */
export interface CompactableSettings {
  model: LanguageModel;
  // biome-ignore lint/suspicious/noExplicitAny: the agent's own types decide
  prepareStep?: PrepareStepFunction<any, any> | undefined;
}

/**
 * Keeps the messages of a tool loop within the model's window. For the settings of `ToolLoopAgent`, `generateText` and
 * `streamText`. Before each step, old tool results are masked and old messages summarised if needed. A request that the
 * provider refuses as too long is compacted and sent again, once. A `prepareStep` of the settings runs first.
 */
export function withCompaction<
  CALL_OPTIONS = never,
  TOOLS extends ToolSet = Record<never, never>,
  CONTEXT extends Record<string, unknown> = Record<string, unknown>,
  OUTPUT extends OutputInterface = never,
>(
  settings: ToolLoopAgentSettings<CALL_OPTIONS, TOOLS, CONTEXT, OUTPUT> & {
    prompt?: never;
    messages?: never;
  },
  options?: WithCompactionOptions,
): ToolLoopAgentSettings<CALL_OPTIONS, TOOLS, CONTEXT, OUTPUT>;
export function withCompaction<Settings extends CompactableSettings>(
  settings: Settings,
  options?: WithCompactionOptions,
  // biome-ignore lint/suspicious/noExplicitAny: as above
): Omit<Settings, "prepareStep"> & { prepareStep: PrepareStepFunction<any, any> };
export function withCompaction(
  settings: CompactableSettings & { tools?: ToolSet; abortSignal?: AbortSignal },
  options: WithCompactionOptions = {},
): object {
  const calls = new WeakMap<object, CallCompaction>();
  const { prepareStep: own, tools = {}, abortSignal: signal } = settings;
  let toolTexts: Promise<string[]> | undefined;
  const prepareStep: PrepareStepFunction<ToolSet> = async (step) => {
    const call = calls.get(step.steps) ?? new CallCompaction(options);
    calls.set(step.steps, call);
    const prepared = await own?.(step);
    const model = resolved(prepared?.model ?? step.model);
    const given = prepared?.messages ?? step.messages;
    toolTexts ??= textsOf(tools);
    const instructions = prepared?.instructions ?? step.instructions ?? "";
    const { inputTokens, outputTokens = 0 } = step.steps.at(-1)?.usage ?? {};
    const messages = await call.compact(model, {
      messages: given,
      usage: inputTokens === undefined ? undefined : { inputTokens, outputTokens },
      fixedTexts: [JSON.stringify(instructions), ...(await toolTexts)],
      signal,
    });
    const changed = messages === given ? {} : { messages: messages as ModelMessage[] };
    return { ...prepared, ...changed, model: recovering(model, call) };
  };
  return { ...settings, prepareStep };
}

/** The declarations of tools, which are part of every request. */
async function textsOf(tools: ToolSet): Promise<string[]> {
  return Promise.all(
    Object.entries(tools).map(async ([name, { description, inputSchema }]) => {
      const schema = inputSchema === undefined ? {} : await asSchema(inputSchema).jsonSchema;
      return JSON.stringify({ name, description, schema });
    }),
  );
}

type ModelObject = Exclude<LanguageModel, string>;

function resolved(model: LanguageModel): ModelObject {
  if (typeof model !== "string") return model;
  const provider = globalThis.AI_SDK_DEFAULT_PROVIDER ?? gateway;
  return provider.languageModel(model);
}

/** The model with one retry after an overflow. */
function recovering(model: ModelObject, call: CallCompaction): LanguageModel {
  const middleware: LanguageModelMiddleware = {
    specificationVersion: "v4",
    async wrapGenerate(request) {
      try {
        return await request.doGenerate();
      } catch (error) {
        const shorter = await call.recover(error, request);
        if (shorter === undefined) throw error;
        return request.model.doGenerate(shorter);
      }
    },
    async wrapStream(request) {
      const opening = await request
        .doStream()
        .then(openStream, (error: unknown): StreamOpening => ({ error }));
      if (!("error" in opening)) return opening.result;
      const shorter = await call.recover(opening.error, request);
      if (shorter !== undefined) return request.model.doStream(shorter);
      if (opening.result === undefined) throw opening.error;
      return opening.result;
    },
  };
  return wrapLanguageModel({ model, middleware });
}

type StreamResult = Awaited<ReturnType<NonNullable<LanguageModelMiddleware["wrapStream"]>>>;

/** A stream, with the error that came before any output. */
type StreamOpening = { result: StreamResult } | { error: unknown; result?: StreamResult };

/** Parts that come before any output. */
const OPENING_PARTS = ["stream-start", "response-metadata", "raw", "text-start", "reasoning-start"];

/** Reads a stream up to its first output. Some providers send a refusal as its first part. */
async function openStream(given: StreamResult): Promise<StreamOpening> {
  const [opening, stream] = given.stream.tee();
  const result = { ...given, stream };
  const reader = opening.getReader();
  let { value } = await reader.read();
  while (value !== undefined && OPENING_PARTS.includes(value.type)) ({ value } = await reader.read());
  // The cancelled branch of a tee ends with the other one.
  void reader.cancel();
  return value?.type === "error" ? { error: value.error, result } : { result };
}

type RequestOptions = Parameters<NonNullable<LanguageModelMiddleware["wrapGenerate"]>>[0];
type AiMessage = MessageShapes["ai-sdk"];
type StepOptions = Pick<
  CompactMessagesOptions<AiMessage>,
  "messages" | "usage" | "fixedTexts" | "signal" | "reason"
>;

/** The compactions of one call of an agent. Owner of its state. */
class CallCompaction {
  readonly #options: WithCompactionOptions;
  #state: CompactState | null;
  /** The window that a refusal reported. */
  #reportedWindow: number | undefined;

  constructor(options: WithCompactionOptions) {
    this.#options = options;
    this.#state = options.state ?? null;
  }

  /** The messages for the next step. The same array if they need no change. */
  async compact(model: ModelObject, step: StepOptions): Promise<readonly AiMessage[]> {
    const window = await this.#window(model);
    if (window === undefined && this.#state === null) return step.messages;
    const { messages } = await this.#run(step, window ?? Number.MAX_SAFE_INTEGER);
    return messages;
  }

  /** A shorter request. Undefined after another error than an overflow, or if nothing can be removed. */
  async recover(
    error: unknown,
    { params, model }: RequestOptions,
  ): Promise<RequestOptions["params"] | undefined> {
    const { prompt: messages, maxOutputTokens = 0, abortSignal: signal } = params;
    if (signal?.aborted) return undefined;
    const { classifyFailure } = await import("@bonsai-agent/models");
    const windowTokens = await this.#window(model);
    const request = { inputTokens: estimateTokens(jsonText(messages)), maxOutputTokens, windowTokens };
    const refusal = classifyFailure({ error, provider: model.provider, modelId: model.modelId, request });
    if (refusal.kind !== "inputTooLong") return undefined;
    const reported = refusal.windowTokens ?? windowTokens;
    this.#reportedWindow = reported && Math.min(reported, windowTokens ?? reported);
    const result = await this.#run({ messages, signal, reason: "overflow" }, this.#reportedWindow);
    const isShorter = result.messages !== messages;
    return isShorter ? { ...params, prompt: result.messages as typeof messages } : undefined;
  }

  async #window(model: ModelObject): Promise<number | undefined> {
    return this.#reportedWindow ?? this.#options.settings?.window ?? (await windowOf(model));
  }

  async #run(options: StepOptions, window: number | undefined): Promise<CompactMessagesResult<AiMessage>> {
    const { model, settings, onCompaction } = this.#options;
    const sized = { ...settings, ...(window !== undefined && { window }) };
    const request = { ...options, model, settings: sized, format: "ai-sdk" as const };
    const result = await compactMessages({ ...request, state: this.#state }).catch((error: unknown) => {
      // A `prepareStep` that leaves out messages makes the state of the call useless, but not the stored one.
      const isForeign = BonsaiError.is(error) && error.code === "compact_state_foreign";
      if (!isForeign || this.#state === (this.#options.state ?? null)) throw error;
      return compactMessages({ ...request, state: null });
    });
    const { state, report } = result;
    this.#state = state;
    if (report.status !== "unchanged") await onCompaction?.({ state, report });
    return result;
  }
}

let catalogue: Promise<Catalogue> | undefined;

/** The context window of a model in tokens, from Bonsai's catalogue and the user's `models.json`. Undefined if unknown. */
async function windowOf({ provider, modelId }: ModelObject): Promise<number | undefined> {
  catalogue ??= import("@bonsai-agent/models").then(({ loadCatalogue }) =>
    loadCatalogue({ home: bonsaiHome(), env: process.env, onUnusable: () => {} }),
  );
  const { models } = await catalogue;
  // The AI SDK writes `openai.responses` for OpenAI.
  const [company = ""] = provider.toLowerCase().split(".");
  const id = modelId.toLowerCase();
  const names = [id, id.slice(id.lastIndexOf("/") + 1), `${company}/${id}`];
  const named = models.filter((model) => model.contextWindow && names.includes(model.id.toLowerCase()));
  const own = named.filter((model) => model.provider.toLowerCase() === company);
  const windows = (own.length > 0 ? own : named).map(({ contextWindow }) => contextWindow!);
  return windows.length > 0 ? Math.min(...windows) : undefined;
}
