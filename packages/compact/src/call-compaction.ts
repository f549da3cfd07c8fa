import { BonsaiError, estimateTokens, jsonText } from "@bonsai-agent/messages";
import {
  type CompactMessagesOptions,
  type CompactMessagesResult,
  type CompactReport,
  type CompactSettings,
  compactMessages,
} from "./compact-messages.ts";
import { windowOf } from "./model-window.ts";
import { readRefusal } from "./refusal.ts";
import type { CompactState } from "./state.ts";
import type { SummaryFunction, SummaryModel } from "./summariser.ts";

export interface CompactionCallOptions {
  /** Writes the summary. Default: the built-in digest, without a model. */
  model?: SummaryFunction | SummaryModel;
  /** Default: Bonsai's defaults, and the window from Bonsai's catalogue of models. */
  settings?: CompactSettings;
  /** The state that an earlier call for this conversation reported. Each call of the agent begins with it. */
  state?: CompactState | null;
  /** Called after each compaction. To keep it for later calls, store the state. */
  onCompaction?: (event: { state: CompactState | null; report: CompactReport }) => void | PromiseLike<void>;
}

interface StepContext {
  messages: readonly object[];
  model: NamedModel;
  usage: { inputTokens?: number | undefined; outputTokens?: number | undefined } | undefined;
  fixedTexts: readonly string[];
  signal: AbortSignal | undefined;
}

interface NamedModel {
  provider: string;
  modelId: string;
}

/** A request that a model refused. */
interface RefusedParams {
  prompt: readonly object[];
  maxOutputTokens?: number | undefined;
  abortSignal?: AbortSignal | undefined;
}

/** The compactions of one call of an agent. Owner of its state. */
export class CallCompaction {
  readonly #options: CompactionCallOptions;
  #state: CompactState | null;
  /** The window that a refusal reported. */
  #windowTokens: number | undefined;
  /** True if the previous step was compacted: then a model's summaries do not keep the context down. */
  #compactedBefore = false;
  /** True if the latest request was compacted after a refusal. */
  #isRecovered = false;

  constructor(options: CompactionCallOptions) {
    this.#options = options;
    this.#state = options.state ?? null;
  }

  /** The messages for the next step. The same array without need. */
  async compact({ messages, model, usage, fixedTexts, signal }: StepContext): Promise<readonly object[]> {
    const window = await this.#window(model);
    if (window === undefined && this.#state === null) return messages;
    const { inputTokens, outputTokens = 0 } = usage ?? {};
    const isAgain = this.#compactedBefore;
    const result = await this.#run({
      messages,
      fixedTexts,
      signal,
      window: window ?? Number.MAX_SAFE_INTEGER,
      reason: "threshold",
      ...(inputTokens !== undefined && { usage: { inputTokens, outputTokens } }),
      ...(isAgain && { model: undefined }),
    });
    this.#compactedBefore = result.report.status === "compacted";
    this.#isRecovered = false;
    return result.messages;
  }

  /** The parameters of a shorter request. Undefined if the error is no refusal as too long, or nothing can be left out. */
  async recover<Params extends RefusedParams>(
    error: unknown,
    params: Params,
    { provider, modelId }: NamedModel,
  ): Promise<Params | undefined> {
    const { prompt, maxOutputTokens, abortSignal: signal } = params;
    const window = await this.#window({ provider, modelId });
    const inputTokens = estimateTokens(jsonText(prompt));
    const call = { provider, modelId, inputTokens, maxOutputTokens, windowTokens: window };
    const refusal = signal?.aborted ? undefined : await readRefusal(error, call);
    if (refusal?.kind !== "inputTooLong") return undefined;
    this.#windowTokens = smaller(window, refusal.windowTokens);
    const options = { messages: prompt, reason: "overflow", signal, window: this.#windowTokens } as const;
    const { messages, report } = await this.#run(options);
    this.#isRecovered = report.status === "compacted" || report.status === "masked";
    return this.#isRecovered ? { ...params, prompt: messages } : undefined;
  }

  async #window({ provider, modelId }: NamedModel): Promise<number | undefined> {
    return this.#windowTokens ?? this.#options.settings?.window ?? (await windowOf(provider, modelId));
  }

  async #run({ window, ...options }: RunOptions): Promise<CompactMessagesResult<object>> {
    const { model, onCompaction, ...others } = this.#options;
    const settings = { ...others.settings, ...(window !== undefined && { window }) };
    const request = { model, ...options, settings, format: "ai-sdk" as const };
    const result = await this.#withState(request);
    this.#state = result.state;
    const { state, report } = result;
    if (report.status !== "unchanged") await onCompaction?.({ state, report });
    return result;
  }

  /** A `prepareStep` that leaves out messages makes the state of the call useless, but not the stored one. */
  async #withState(request: CompactMessagesOptions<object>): Promise<CompactMessagesResult<object>> {
    try {
      return await compactMessages({ ...request, state: this.#state });
    } catch (error) {
      const isOwn = this.#state !== (this.#options.state ?? null);
      if (!isOwn || !BonsaiError.is(error) || error.code !== "compact_state_foreign") throw error;
      const reason = this.#isRecovered ? "overflow" : request.reason;
      return compactMessages({ ...request, reason, state: null });
    }
  }
}

type RunOptions = Omit<CompactMessagesOptions<object>, "format" | "settings" | "state"> & {
  window: number | undefined;
};

function smaller(known: number | undefined, reported: number | undefined): number | undefined {
  if (known === undefined || reported === undefined) return known ?? reported;
  return Math.min(known, reported);
}
