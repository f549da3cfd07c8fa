import type { Message } from "@bonsai-agent/messages";
import type { AnswerBuilder } from "./answer-builder.ts";
import type { CatalogueModel, ThinkingLevel } from "./model.ts";
import type { ProviderResponse, RequestPurpose, StreamEvent, ToolDeclaration } from "./model-request.ts";

/** One attempt of a request: defaults filled in, history repaired. */
export interface ProviderCall {
  model: CatalogueModel;
  purpose: RequestPurpose;
  apiKey: string | undefined;
  systemPrompt: string;
  tools: readonly ToolDeclaration[];
  messages: readonly Message[];
  maxOutputTokens: number;
  thinking: ThinkingLevel;
  cacheKey: string | undefined;
  signal: AbortSignal;
  /** To be called on every sign of life of the server that is no event: a call that gives none is ended. */
  onAlive(): void;
  onPayload(payload: unknown): Promise<unknown>;
  onResponse(response: ProviderResponse): Promise<void>;
}

/**
 * The port of a wire protocol: one attempt, without retries. Yields what the builder's methods give back
 * (`text`, `thinking`, `tool_call`), sets usage and stop reason on the builder, and returns at the end.
 * Throws ProviderError for whatever the provider or the network did, and the signal's reason after an abort.
 */
export interface Provider {
  stream(call: ProviderCall, answer: AnswerBuilder): AsyncIterable<StreamEvent>;
}

/** How an attempt broke off. */
export type ProviderErrorKind =
  /** The provider answered with a status that is no success, or with an error inside its stream. */
  | "refused"
  /** No connection, or it broke before the answer began. */
  | "network"
  /** The stream ended before the answer did. */
  | "cut"
  /** Nothing came for too long. */
  | "silence"
  /** What came makes no sense: no JSON, an unknown shape. */
  | "garbled"
  /** More came than one answer can have; asking again would bring it again. */
  | "excess";

export interface ProviderErrorOptions {
  kind: ProviderErrorKind;
  message: string;
  status?: number | undefined;
  code?: string | undefined;
  /** The body's JSON where there is one, else its text; undefined for an answer without a body. */
  body?: unknown;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** What a provider throws: raw, not yet classified. */
export class ProviderError extends Error {
  readonly kind: ProviderErrorKind;
  readonly status: number | undefined;
  readonly code: string | undefined;
  readonly body: unknown;
  readonly retryAfterMs: number | undefined;

  constructor(options: ProviderErrorOptions) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ProviderError";
    this.kind = options.kind;
    this.status = options.status;
    this.code = options.code;
    this.body = options.body;
    this.retryAfterMs = options.retryAfterMs;
  }
}
