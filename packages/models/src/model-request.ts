import type {
  AssistantMessage,
  ImageContent,
  Message,
  ProviderSummary,
  ToolCall,
  Usage,
} from "@bonsai-agent/messages";
import type { CatalogueModel, ThinkingLevel } from "./model.ts";

/** A tool as the model sees it. */
export interface ToolDeclaration {
  /** Letters, digits, `_` and `-`; at most 64. */
  name: string;
  /** Purpose, limits, and when to use it. */
  description: string;
  /** JSON Schema of an object. */
  parameters: Readonly<Record<string, unknown>>;
}

/** The purpose of a request. Used in logs and scenario files only. */
export type RequestPurpose = "turn" | "summary" | "title" | "extension";

/** One request to a model. */
export interface ModelRequest {
  model: CatalogueModel;
  purpose: RequestPurpose;
  /** With the purpose `summary`: which one. Used in logs and scenario files only. */
  summaryKind?: "history" | "turnPrefix" | "branch" | undefined;
  /** May be empty. */
  systemPrompt: string;
  /** Offered tools. The same order each time keeps the cached prefix. */
  tools: readonly ToolDeclaration[];
  /** The context as `project` made it, oldest first. */
  messages: readonly Message[];
  /**
   * Returns the caller's count of the context in tokens. Near the window, a refusal without a reason counts as an overflow.
   * Default: the client's estimate of the request.
   */
  contextTokens?: (() => number) | undefined;
  /**
   * The time of the latest edit of the context, in milliseconds since the epoch. Leaves out signed thinking of earlier
   * answers. Compactions need no time. Default: never.
   */
  prefixChangedAtMs?: number | undefined;
  /** Cap of the answer in tokens, with thinking. Default: the model's, at most 32,000 and the rest of the window. */
  maxOutputTokens?: number | undefined;
  /** Default "off". */
  thinking?: ThinkingLevel | undefined;
  /** The same for all requests of a session, to find the cached prefix. */
  cacheKey?: string | undefined;
  /**
   * Asks for a compaction on the provider's side instead of an answer: the `done` event has the summary. `instructions`
   * replace the provider's own, where it takes some. Only if it is available: see `providerCompactionOf`.
   */
  compaction?: { instructions?: string | undefined } | undefined;
  /** Ends the request. Its stream ends with `error`, without a failure. */
  signal?: AbortSignal | undefined;
  /** Gets the body of the request. Returns the body to send. */
  onPayload?: ((payload: unknown) => unknown | Promise<unknown>) | undefined;
  /** Called when the provider's answer begins. */
  onResponse?: ((response: ProviderResponse) => void | Promise<void>) | undefined;
  /**
   * Called with the usage of a failed attempt before the next one. The usage of the stream's last message contains the last
   * attempt only.
   */
  onVoidedUsage?: ((usage: Usage) => void) | undefined;
  /**
   * Called with refused images once the provider has accepted the request without them, and with the line of text that
   * replaces each image.
   */
  onRefusedImages?: ((images: readonly ImageContent[], line: string) => void) | undefined;
  /** Called once the provider has accepted the request with the readable summary instead of the provider's own. */
  onRefusedSummary?: ((summary: ProviderSummary) => void) | undefined;
  /** Called with notices. */
  onNotice?: ((notice: ModelNotice) => void) | undefined;
}

/** The status and headers of a provider's answer. */
export interface ProviderResponse {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
}

/**
 * An event of an answer. A stream ends with exactly one `done` or `error`, and never throws. `message` is the answer so far.
 * It grows in place until the end.
 */
export type StreamEvent =
  /** An attempt begins. A second `start` is a retry: all events before it are void. */
  | { type: "start"; message: AssistantMessage }
  | { type: "text"; contentIndex: number; delta: string; message: AssistantMessage }
  | { type: "thinking"; contentIndex: number; delta: string; message: AssistantMessage }
  /** A part of the arguments as JSON text. The last event of a call has `toolCall`. */
  | { type: "tool_call"; contentIndex: number; delta: string; toolCall?: ToolCall; message: AssistantMessage }
  /** `summary`: with `compaction` in the request. The message has its text if it is readable. */
  | { type: "done"; message: AssistantMessage; summary?: ProviderSummary }
  /** `failure` is absent after an abort. `message` has the answer so far. */
  | { type: "error"; message: AssistantMessage; failure?: ModelFailure };

export type FinalEvent = Extract<StreamEvent, { type: "done" | "error" }>;

/** An event of a request that did not stop it. */
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
  | { type: "summary_refused"; provider: string; modelId: string; reason: string }
  | { type: "output_cap_lowered"; fromTokens: number; toTokens: number }
  | { type: "window_learned"; fromTokens: number | undefined; toTokens: number }
  /** `isWithheld`: a content filter ended the answer. Otherwise the reason is unknown, and is notified once for each model. */
  | { type: "odd_end"; provider: string; modelId: string; reason: string; isWithheld: boolean }
  /** Once for each model of a client. */
  | ({ type: "usage_ignored"; provider: string; modelId: string } & IgnoredUsage);

/** The kinds of failures. Only `inputTooLong` calls for compaction. */
export type FailureKind =
  | "inputTooLong"
  | "outputCapTooLarge"
  | "bytesTooLarge"
  | "rateLimit"
  | "damagedHistory"
  | "other";

/** The failure of a request. */
export interface ModelFailure {
  kind: FailureKind;
  /** The provider's message, without keys. */
  message: string;
  /** The name before the slash in `provider/id`. */
  provider: string;
  /** The id after the slash. */
  modelId: string;
  /** HTTP status; absent without an answer. */
  status?: number | undefined;
  /** The provider's own code or type. */
  code?: string | undefined;
  /** True if the same request may succeed later. */
  retryable: boolean;
  /** True if one retry may help, and a second will not. */
  retryOnce?: boolean | undefined;
  /** The wait that the provider asked for. */
  retryAfterMs?: number | undefined;
  /** The server's window, if the message contains it. */
  windowTokens?: number | undefined;
  /** The server's count of the input, if the message contains it. */
  inputTokens?: number | undefined;
  /** The model's maximum output cap, if the message contains it. */
  outputLimitTokens?: number | undefined;
  /** True if only the size of the request suggests an overflow: worth one compaction, not two. */
  isGuessed?: boolean | undefined;
}

/** The faults of a history that providers refuse. */
export type RepairKind =
  | "damaged_content"
  | "unpaired_call"
  | "unpaired_result"
  | "misplaced_result"
  | "duplicate_result"
  | "empty_message"
  | "failed_answer"
  | "bound_thinking"
  | "lone_surrogate"
  | "call_id"
  | "image_not_supported"
  | "too_many_bytes"
  | "no_user_first";

/** One kind of repair in one request. */
export interface Repair {
  kind: RepairKind;
  /** The number of changed messages or blocks. */
  count: number;
  /** One sentence for the user. */
  detail: string;
}

/** A provider's counts. `input` excludes cached tokens. */
export type TokenCounts = Partial<Omit<Usage, "cost" | "totalTokens">>;

/** The size of a request. */
export interface RequestSize {
  /** Estimated: messages, system prompt and tools. */
  inputTokens: number;
  /** The cap that was sent. */
  maxOutputTokens: number;
}

/** An impossible usage. */
export interface IgnoredUsage {
  /** NaN if the server sent no number. */
  reportedTokens: number;
  /** Absent if the size of the request is unknown. */
  estimatedTokens: number | undefined;
}

/** Tokens of a server's own instructions and tool texts, which no estimate contains. */
export const UNSEEN_INPUT_TOKENS = 2_000;
