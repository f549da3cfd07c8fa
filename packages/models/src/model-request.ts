import {
  type AssistantMessage,
  byScriptEstimator,
  type ImageContent,
  isPlausibleCount,
  MAX_REQUEST_TOKENS,
  type Message,
  type ModelPrices,
  type ToolCall,
  type Usage,
  type UsageCost,
} from "@bonsai-agent/messages";
import { type ModelFailure, UNSEEN_INPUT_TOKENS } from "./failure/failure.ts";
import type { CatalogueModel, ThinkingLevel } from "./model.ts";
import type { Repair } from "./repair/repair.ts";

/** A tool as the model sees it. */
export interface ToolDeclaration {
  /** Letters, digits, `_` and `-`; at most 64. */
  name: string;
  /** What it does, its limits, when to use it. */
  description: string;
  /** JSON Schema of an object. */
  parameters: Readonly<Record<string, unknown>>;
}

/**
 * What a request is for: a turn of the conversation, a summary, a title, or what an extension asks by itself. Goes to
 * logs and scenario files only.
 */
export type RequestPurpose = "turn" | "summary" | "title" | "extension";

/** One request to a model. */
export interface ModelRequest {
  /** Who is asked. */
  model: CatalogueModel;
  /** What for. */
  purpose: RequestPurpose;
  /** May be empty. */
  systemPrompt: string;
  /** Those that the model is offered; the same order each time keeps the cached prefix. */
  tools: readonly ToolDeclaration[];
  /** The context as `project` made it, oldest first. */
  messages: readonly Message[];
  /**
   * The caller's count of the whole context in tokens, asked after a refusal that gives no reason: near the window it is
   * taken for an overflow. Default: the client's estimate of the request.
   */
  contextTokens?: (() => number) | undefined;
  /**
   * When the context was last edited, in milliseconds since the epoch: signed thinking of older answers is bound to
   * what is no more and is left out. Default: never; compactions are seen by themselves.
   */
  prefixChangedAtMs?: number | undefined;
  /** Cap of the answer in tokens, thinking included. Default: the model's, at most 32,000, and what the window leaves. */
  maxOutputTokens?: number | undefined;
  /** Default "off". */
  thinking?: ThinkingLevel | undefined;
  /** The same for all requests of one session: lets the provider find its cached prefix. */
  cacheKey?: string | undefined;
  /** Ends the request; its stream then ends with `error`, without a failure. */
  signal?: AbortSignal | undefined;
  /** Sees the request as it will go over the wire, and may change it. */
  onPayload?: ((payload: unknown) => unknown | Promise<unknown>) | undefined;
  /** Called when the provider's answer begins. */
  onResponse?: ((response: ProviderResponse) => void | Promise<void>) | undefined;
  /**
   * Called with what an attempt used that is void, because another one follows it: nothing else counts it. The usage of the
   * stream's last message is that of the last attempt alone, and tells the size of the context.
   */
  onVoidedUsage?: ((usage: Usage) => void) | undefined;
  /**
   * Called with refused images once the provider has accepted the request without them, and with the line of text that
   * replaces each image.
   */
  onRefusedImages?: ((images: readonly ImageContent[], line: string) => void) | undefined;
  /** Called with what happens on the way. */
  onNotice?: ((notice: ModelNotice) => void) | undefined;
}

/** The head of the provider's answer. */
export interface ProviderResponse {
  /** Of HTTP. */
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
}

/**
 * The one stream type. A stream ends with exactly one `done` or `error`, and never throws.
 * `message` is the answer so far; it grows in place until the end.
 */
export type StreamEvent =
  /** An attempt begins. A second one in the same stream is a retry: what came before it is void. */
  | { type: "start"; message: AssistantMessage }
  | { type: "text"; contentIndex: number; delta: string; message: AssistantMessage }
  | { type: "thinking"; contentIndex: number; delta: string; message: AssistantMessage }
  /** Arguments as they come, as JSON text; `toolCall` is there when they are complete. */
  | { type: "tool_call"; contentIndex: number; delta: string; toolCall?: ToolCall; message: AssistantMessage }
  | { type: "done"; message: AssistantMessage }
  /** `failure` is absent when the request was aborted. What had come stands in `message`. */
  | { type: "error"; message: AssistantMessage; failure?: ModelFailure };

export type FinalEvent = Extract<StreamEvent, { type: "done" | "error" }>;

/** Reads a stream to its end. */
export async function finalEvent(stream: AsyncIterable<StreamEvent>): Promise<FinalEvent> {
  let last: StreamEvent | undefined;
  for await (const event of stream) last = event;
  if (last?.type === "done" || last?.type === "error") return last;
  throw new TypeError("The model's stream ended without an answer.");
}

/** What happened on the way of a request that somebody should know and that did not stop it. */
export type ModelNotice =
  | {
      type: "retry";
      /** 1 for the first retry. */
      attempt: number;
      maxAttempts: number;
      delayMs: number;
      failure: ModelFailure;
    }
  | { type: "repair"; repairs: readonly Repair[] }
  | { type: "image_refused"; provider: string; modelId: string; count: number; reason: string }
  | { type: "output_cap_lowered"; fromTokens: number; toTokens: number }
  | { type: "window_learned"; fromTokens: number | undefined; toTokens: number }
  /** `isWithheld`: a content filter ended the answer. Otherwise the reason is unknown, and is notified once for each model. */
  | { type: "odd_end"; provider: string; modelId: string; reason: string; isWithheld: boolean }
  /** Once for each model of a client. */
  | ({ type: "usage_ignored"; provider: string; modelId: string } & IgnoredUsage);

/** What a provider counted; `input` excludes what was read from or written to a cache. */
export type TokenCounts = Partial<Omit<Usage, "cost" | "totalTokens">>;

/** What is known of a request before it is answered. */
export interface RequestSize {
  /** Estimated: messages, system prompt and tools. */
  inputTokens: number;
  /** The cap that was sent. */
  maxOutputTokens: number;
}

/** A usage that cannot be, as the server told it. */
export interface IgnoredUsage {
  /** NaN where it told no number. */
  reportedTokens: number;
  /** Absent where the request's size is not known. */
  estimatedTokens: number | undefined;
}

/** Some servers leave the thinking out of the cap. */
const CAPS = 2;

/**
 * Says what is wrong with a provider's counts; undefined where they can be true. Not whole, negative or beyond all
 * windows they never can; nor far above the estimate of the request, or above its cap and far above the answer.
 * @param answer as far as it came
 */
export function impossibleCounts(
  counts: TokenCounts,
  answer: AssistantMessage,
  request: RequestSize | undefined,
): IgnoredUsage | undefined {
  const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0, cacheWrite1h = 0, reasoning = 0 } = counts;
  const promptTokens = input + cacheRead + cacheWrite;
  const all = [input, output, cacheRead, cacheWrite, cacheWrite1h, reasoning];
  const isWhole = all.every((count) => Number.isSafeInteger(count) && count >= 0);
  const largest = all.find((count) => count > MAX_REQUEST_TOKENS);
  const fits = (sent: RequestSize) =>
    isPlausibleCount(promptTokens, sent.inputTokens, UNSEEN_INPUT_TOKENS) &&
    (output <= sent.maxOutputTokens * CAPS || isPlausibleCount(output, byScriptEstimator.message(answer), 0));
  if (isWhole && largest === undefined && (request === undefined || fits(request))) return undefined;
  return {
    reportedTokens: isWhole ? (largest ?? promptTokens + output) : Number.NaN,
    estimatedTokens: request?.inputTokens,
  };
}

const TOKENS = 1_000_000;
/** What is kept for an hour costs twice the input price, not 1.25 times (Anthropic's price list). */
const HOUR_CACHE_FACTOR = 2;

/** What a usage cost in US dollars; without prices, nothing. */
export function usageCost(
  usage: Omit<Usage, "cost" | "totalTokens">,
  prices: ModelPrices | undefined,
): UsageCost {
  if (prices === undefined) return { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const hour = Math.min(usage.cacheWrite1h ?? 0, usage.cacheWrite);
  const input = (usage.input * prices.input) / TOKENS;
  const output = (usage.output * prices.output) / TOKENS;
  const cacheRead = (usage.cacheRead * prices.cacheRead) / TOKENS;
  const cacheWrite =
    ((usage.cacheWrite - hour) * prices.cacheWrite + hour * prices.input * HOUR_CACHE_FACTOR) / TOKENS;
  return { input, output, cacheRead, cacheWrite, total: input + output + cacheRead + cacheWrite };
}
