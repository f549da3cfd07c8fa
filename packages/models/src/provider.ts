import type { Message } from "@bonsai-agent/messages";
import type { AnswerBuilder } from "./answer-builder.ts";
import type { CatalogueModel, ThinkingLevel } from "./model.ts";
import type { ProviderResponse, RequestPurpose, StreamEvent, ToolDeclaration } from "./model-request.ts";

/** One attempt of a request: defaults filled in, history repaired. */
export interface ProviderCall {
  /** Who is asked, where, and how it differs. */
  model: CatalogueModel;
  /** Goes to logs and scenario files only. */
  purpose: RequestPurpose;
  /** Undefined where none is needed. */
  apiKey: string | undefined;
  /** May be empty. */
  systemPrompt: string;
  /** In a stable order. */
  tools: readonly ToolDeclaration[];
  /** Oldest first, repaired. */
  messages: readonly Message[];
  /** The cap of the answer, thinking included. */
  maxOutputTokens: number;
  /** How much to think. */
  thinking: ThinkingLevel;
  /** The same for all requests of one session. */
  cacheKey: string | undefined;
  /** OpenAI's protocols: makes the client that requests go out by, in the place of the built-in one. */
  connect?: OpenAiConnect | undefined;
  /** Aborted when nobody waits for the answer any longer. */
  signal: AbortSignal;
  /** To be called on every sign of life of the server that is no event: a call that gives none is ended. */
  onAlive(): void;
  /** To be called with the request as it goes over the wire; gives back the one to send. */
  onPayload(payload: unknown): Promise<unknown>;
  /** To be called with the head of the server's answer. */
  onResponse(response: ProviderResponse): Promise<void>;
}

/** A client of the `openai` SDK, of any copy of it, as far as a request needs one. */
export interface OpenAiClient {
  /** Sends a request to a path behind the base URL. */
  post(
    path: string,
    options: { body: unknown; stream: true; signal: AbortSignal },
  ): { asResponse(): Promise<Response> };
}

/** What a client must be made with: retries, silence and the reading of answers are decided above it. */
export interface OpenAiClientSettings {
  fetch: typeof fetch;
  maxRetries: 0;
  timeout: number;
  logLevel: "off";
}

/** Makes the client of one request. What it throws is a refusal in its words. */
export type OpenAiConnect = (
  settings: OpenAiClientSettings,
  call: { model: CatalogueModel; apiKey: string | undefined },
) => Promise<OpenAiClient>;

/**
 * The port of a wire protocol: one attempt, without retries. Yields what the builder's methods give back
 * (`text`, `thinking`, `tool_call`), sets usage and stop reason on the builder, and returns at the end.
 * Throws ProviderError for whatever the provider or the network did, and the signal's reason after an abort.
 */
export interface Provider {
  /** One attempt of a request. */
  stream(call: ProviderCall, answer: AnswerBuilder): AsyncIterable<StreamEvent>;
}

/** How an attempt broke off. */
export type ProviderErrorKind =
  /** The provider answered with a status that is no success, or with an error inside its stream. */
  | "refused"
  /** No connection, or it broke before the answer began. */
  | "network"
  /** The stream ended before the answer was complete. */
  | "cut"
  /** Nothing came for too long. */
  | "silence"
  /** What came makes no sense: no JSON, an unknown shape. */
  | "garbled"
  /** More came than one answer can have; asking again would bring it again. */
  | "excess";

/** What went wrong with an attempt. */
export interface ProviderErrorOptions {
  /** How it broke off. */
  kind: ProviderErrorKind;
  /** In the server's words where it has any. */
  message: string;
  /** Of HTTP; absent where no answer came. */
  status?: number | undefined;
  /** The server's own code or type. */
  code?: string | undefined;
  /** The body's JSON where there is one, else its text; undefined for an answer without a body. */
  body?: unknown;
  /** What the server asked to wait. */
  retryAfterMs?: number | undefined;
  /** True for an error inside an answer that began with a status of success. Default false. */
  isInStream?: boolean | undefined;
  /** Sentences with the user's next step. The failure's message ends with them. */
  advice?: string | undefined;
  /** What was thrown. */
  cause?: unknown;
}

/** What a provider throws: raw, not yet classified. */
export class ProviderError extends Error {
  /** How the attempt broke off. */
  readonly kind: ProviderErrorKind;
  /** Of HTTP; undefined where no answer came. */
  readonly status: number | undefined;
  /** The server's own code or type. */
  readonly code: string | undefined;
  /** The body's JSON where there is one, else its text. */
  readonly body: unknown;
  /** What the server asked to wait. */
  readonly retryAfterMs: number | undefined;
  /** True for an error inside an answer that began with a status of success. */
  readonly isInStream: boolean;
  /** Sentences with the user's next step. */
  readonly advice: string | undefined;

  constructor(options: ProviderErrorOptions) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ProviderError";
    this.kind = options.kind;
    this.status = options.status;
    this.code = options.code;
    this.body = options.body;
    this.retryAfterMs = options.retryAfterMs;
    this.isInStream = options.isInStream ?? false;
    this.advice = options.advice;
  }
}
