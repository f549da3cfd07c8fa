import type { AnswerBuilder } from "./answer-builder.ts";
import type { CatalogueModel, ThinkingLevel } from "./model.ts";
import type { ModelRequest, ProviderResponse, StreamEvent } from "./model-request.ts";

/** One attempt of a request: defaults filled in, messages repaired. `purpose` is for logs and scenario files only. */
export interface ProviderCall
  extends Pick<
    ModelRequest,
    "model" | "purpose" | "summaryKind" | "systemPrompt" | "tools" | "messages" | "compaction"
  > {
  /** Undefined if none is needed. */
  apiKey: string | undefined;
  /** The cap of the answer in tokens, with thinking. */
  maxOutputTokens: number;
  thinking: ThinkingLevel;
  /** The same for all requests of a session. */
  cacheKey: string | undefined;
  /** OpenAI's protocols: makes the client of requests. Default: the built-in one. */
  connect?: OpenAiConnect | undefined;
  /** Aborts at the end of the attempt. */
  signal: AbortSignal;
  /** Call it at every sign of life of the server that is no event. A silent attempt is ended. */
  onAlive(): void;
  /** Call it with the body of the request. Returns the body to send. */
  onPayload(payload: unknown): Promise<unknown>;
  /** Call it with the head of the server's answer. */
  onResponse(response: ProviderResponse): Promise<void>;
}

/** A client of any copy of the `openai` SDK. */
export interface OpenAiClient {
  /** Sends a request to a path below the base URL. */
  post(
    path: string,
    options: { body: unknown; stream: true; signal: AbortSignal },
  ): { asResponse(): Promise<Response> };
}

/** The required settings of a client: Bonsai retries, limits silence and reads answers itself. */
export interface OpenAiClientSettings {
  fetch: typeof fetch;
  maxRetries: 0;
  timeout: number;
  logLevel: "off";
}

/** Makes the client of one request. An error counts as a refusal. */
export type OpenAiConnect = (
  settings: OpenAiClientSettings,
  call: { model: CatalogueModel; apiKey: string | undefined },
) => Promise<OpenAiClient>;

/**
 * The port of a protocol: one attempt, without retries. Yields the events of the builder's methods (`text`, `thinking`,
 * `tool_call`) and sets usage and stop reason on the builder.
 * @throws ProviderError for failures of the provider or the network; the signal's reason after an abort
 */
export interface Provider {
  stream(call: ProviderCall, answer: AnswerBuilder): AsyncIterable<StreamEvent>;
}

/** The kind of a failed attempt. */
export type ProviderErrorKind =
  /** The provider answered with an error status, or with an error inside its stream. */
  | "refused"
  /** No connection, or it broke before the answer began. */
  | "network"
  /** The stream ended before the answer was complete. */
  | "cut"
  /** The server sent nothing for too long. */
  | "silence"
  /** The answer is no JSON or has an unknown shape. */
  | "garbled"
  /** The answer is too large. A retry would not help. */
  | "excess";

/** The fields of a ProviderError. */
export interface ProviderErrorOptions {
  kind: ProviderErrorKind;
  /** In the server's words if possible. */
  message: string;
  /** HTTP status; absent without an answer. */
  status?: number | undefined;
  /** The server's own code or type. */
  code?: string | undefined;
  /** The body's JSON, else its text; undefined without a body. */
  body?: unknown;
  /** The wait that the server asked for. */
  retryAfterMs?: number | undefined;
  /** True for an error inside an answer with a status of success. Default false. */
  isInStream?: boolean | undefined;
  /** Sentences with the user's next step. The failure's message ends with them. */
  advice?: string | undefined;
  cause?: unknown;
}

/** The error of a failed attempt. `classifyFailure` reads it. */
export class ProviderError extends Error {
  override readonly name = "ProviderError";
  readonly kind: ProviderErrorKind;
  readonly status: number | undefined;
  readonly code: string | undefined;
  readonly body: unknown;
  readonly retryAfterMs: number | undefined;
  readonly isInStream: boolean;
  readonly advice: string | undefined;

  constructor({ message, cause, ...fields }: ProviderErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = fields.kind;
    this.status = fields.status;
    this.code = fields.code;
    this.body = fields.body;
    this.retryAfterMs = fields.retryAfterMs;
    this.isInStream = fields.isInStream ?? false;
    this.advice = fields.advice;
  }
}
