import { BonsaiError, isRecord, jsonText, shortened } from "@bonsai-agent/messages";
import { type APIError, OpenAI } from "openai";
import {
  type OpenAiClient,
  type OpenAiClientSettings,
  type ProviderCall,
  ProviderError,
} from "../provider.ts";
import {
  awsErrorType,
  jsonOrText,
  notSent,
  providerFetch,
  retryAfterMs,
  statusInBody,
  unanswered,
  withoutCustomHeaders,
} from "../wire.ts";
import { isOpenAiHost } from "./openai-servers.ts";

/** Replaces the SDK's limit of 10 minutes: `attempt` limits the silence of servers. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
/** Maximum wait for a server to end a complete answer. */
const END_WAIT_MS = 250;

/** The connection of one request. Read to its end, it serves the next request. */
export class OpenAiWire {
  readonly #call: ProviderCall;
  readonly closer = new AbortController();
  /** The body of a refusal. */
  errorText: string | undefined;
  #isDone = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(call: ProviderCall) {
    this.#call = call;
  }

  /** @throws what an extension's `connect` throws */
  async client(): Promise<OpenAiClient> {
    const { model, apiKey, connect, onAlive } = this.#call;
    const send = providerFetch(onAlive);
    const settings: OpenAiClientSettings = {
      maxRetries: 0,
      timeout: NO_TIMEOUT_MS,
      logLevel: "off",
      fetch: async (url, init) => this.#readable(await send(url, init)),
    };
    return connect === undefined ? ownClient(this.#call, settings) : connect(settings, { model, apiKey });
  }

  /** True after the server's `[DONE]`. */
  get isDone(): boolean {
    return this.#isDone;
  }

  markDone(): void {
    this.#isDone = true;
    this.expectEnd();
  }

  /** Call this once the answer is complete: waits for the end of the stream only briefly. */
  expectEnd(): void {
    this.#timer ??= setTimeout(() => this.closer.abort(), END_WAIT_MS);
    this.#timer.unref();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.closer.abort();
  }

  async #readable(response: Response): Promise<Response> {
    if (!response.ok) {
      const text = await response.text();
      this.errorText = text.trim() === "" ? undefined : text;
      return new Response(text === "" ? null : text, response);
    }
    return isJson(response) ? asStream(await response.text(), response) : response;
  }
}

function ownClient({ model, apiKey }: ProviderCall, settings: OpenAiClientSettings): OpenAI {
  const isOpenAi = isOpenAiHost(model.baseUrl);
  return new OpenAI({
    ...settings,
    baseURL: model.baseUrl,
    // The SDK demands a key. Without one of ours, the header is removed.
    apiKey: apiKey ?? "none",
    adminAPIKey: null,
    // The environment's OpenAI account is no other server's business.
    ...(!isOpenAi && { organization: null, project: null }),
    defaultHeaders: {
      ...(!isOpenAi && withoutCustomHeaders(process.env.OPENAI_CUSTOM_HEADERS)),
      ...(apiKey === undefined && { Authorization: null }),
      ...model.headers,
    },
  });
}

/** Some servers always answer in one piece. Line breaks in JSON only separate tokens. */
function asStream(json: string, { status, headers }: Response): Response {
  return new Response(`data: ${json.trim().replace(/[\r\n]+/g, " ")}\n\ndata: [DONE]\n\n`, {
    status,
    headers,
  });
}

function isJson({ headers }: Response): boolean {
  return /^application\/(\w+\+)?json/i.test(headers.get("content-type") ?? "");
}

const SHOWN_CHARS = 500;

interface RefusalOptions {
  /** Parsed JSON, or text. */
  body: unknown;
  status?: number | undefined;
  headers?: Headers | undefined;
  cause?: unknown;
}

/** The error of a request without an answer: no connection, a refusal, or a request that could not be written. */
export function requestError(error: unknown, wire: OpenAiWire): ProviderError | BonsaiError {
  if (BonsaiError.is(error) || error instanceof ProviderError) return error;
  if (!isApiError(error)) return notSent(error);
  const { status, headers } = error;
  if (status === undefined) return unanswered(error);
  return refusal({ body: jsonOrText(wire.errorText), status, headers, cause: error });
}

/** Checks the shape: an extension's client is of another copy of the SDK. Without a status, no server answered. */
export function isApiError(error: unknown): error is APIError {
  return error instanceof Error && "status" in error && "headers" in error && "requestID" in error;
}

/** The error of a refusal, as an answer or inside a stream. */
export function refusal({ body, status, headers, cause }: RefusalOptions): ProviderError {
  const error = errorObject(body);
  return new ProviderError({
    kind: "refused",
    message: messageOf(error) ?? `${status ?? ""} ${shown(body) ?? "status code (no body)"}`.trim(),
    status: status ?? statusInBody(error),
    code: codeText(error) ?? awsErrorType(headers),
    body,
    retryAfterMs: retryAfterMs(headers) ?? retryDelayMs(error),
    isInStream: status === undefined,
    cause,
  });
}

/** `{error: {…}}`, `[{error: {…}}]` (Google), `{error: "…"}`, `{message: …}` (vLLM, Mistral), `{detail: …}`. */
function errorObject(body: unknown): Record<string, unknown> {
  const outer = Array.isArray(body) ? body[0] : body;
  if (!isRecord(outer)) return {};
  const { error } = outer;
  if (isRecord(error)) return error;
  return typeof error === "string" ? { ...outer, message: error } : outer;
}

function messageOf({ message, msg, detail, metadata }: Record<string, unknown>): string | undefined {
  const own = text(message) ?? text(msg) ?? text(detail);
  // A router's own message is "Provider returned error".
  const raw = isRecord(metadata) ? text(metadata.raw) : undefined;
  return own !== undefined && raw !== undefined ? `${own}: ${raw}` : (own ?? raw);
}

function text(value: unknown): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  return typeof value === "string" ? value : jsonText(value);
}

/** Servers with the HTTP status in `code` name the failure in `type` or `status`. */
function codeText({ code, type, status }: Record<string, unknown>): string | undefined {
  const own = text(code);
  if (own !== undefined && !/^[45]\d\d$/.test(own)) return own;
  const kind = text(type);
  return (kind === "None" ? undefined : kind) ?? (typeof status === "string" ? status : undefined) ?? own;
}

/** Google sends `details: [{retryDelay: "34s"}]`. */
function retryDelayMs({ details }: Record<string, unknown>): number | undefined {
  if (!Array.isArray(details)) return undefined;
  const delay = details.map((detail) => (isRecord(detail) ? detail.retryDelay : undefined)).find(Boolean);
  const seconds = Number.parseFloat(String(delay));
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}

function shown(body: unknown): string | undefined {
  const whole = text(body)?.trim();
  return whole && shortened(whole, SHOWN_CHARS);
}
