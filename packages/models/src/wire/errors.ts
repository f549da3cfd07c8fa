import { BonsaiError, isRecord, jsonText, shortened } from "@bonsai-agent/messages";
import { ProviderError, type ProviderErrorOptions } from "../provider.ts";
import { jsonOrText, retryAfterMs } from "./fields.ts";

interface SdkError extends Error {
  /** Absent if no server answered. */
  status: number | undefined;
  headers: Headers | undefined;
}

/** Checks the shape: an extension's client is of another copy of the SDK. */
export function isSdkError(error: unknown): error is SdkError {
  return error instanceof Error && "status" in error && "headers" in error && "requestID" in error;
}

/**
 * The error of a request without an answer: no connection, a refusal, or a request that could not be written.
 * @param text the body of a refusal
 */
export function requestError(error: unknown, text?: string): ProviderError | BonsaiError {
  if (BonsaiError.is(error) || error instanceof ProviderError) return error;
  if (!isSdkError(error)) return notSent(error);
  const { status, headers } = error;
  if (status === undefined) return broken(error, "network", "No answer from the server");
  return refusal({ body: jsonOrText(text), status, headers, cause: error });
}

/** The error of a stream that broke or contains no JSON. */
export function streamError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  if (error instanceof SyntaxError)
    return malformed(`The server sent an event that is not valid JSON: ${error.message}`, undefined, error);
  return broken(error, "cut", "The connection ended before the answer was complete");
}

/** The server sent data that is not valid. */
export function malformed(message: string, body: unknown, cause?: unknown): ProviderError {
  return new ProviderError({ kind: "garbled", message, body, cause });
}

function broken(error: unknown, kind: "network" | "cut", what: string): ProviderError {
  const { own, isTimeout, message } = rootCause(error);
  return (
    own ??
    new ProviderError({ kind: isTimeout ? "silence" : kind, message: `${what}: ${message}`, cause: error })
  );
}

function notSent(error: unknown): ProviderError {
  const { own, message } = rootCause(error);
  if (own !== undefined) return own;
  // These messages quote the value, which may be the key.
  const isHeader = /header value|header name|HTTP token|ByteString/i.test(message);
  return new ProviderError({
    kind: "refused",
    code: "request_not_sent",
    message: isHeader
      ? "Could not send the request: the API key or a header contains a character that HTTP does not allow."
      : `Could not send the request: ${message}`,
    ...(!isHeader && { cause: error }),
  });
}

/** Finds the innermost cause: `fetch failed` explains nothing. `own` is the error of our own fetch, inside the SDK's. */
function rootCause(error: unknown): { own: ProviderError | undefined; isTimeout: boolean; message: string } {
  const chain = causes(error);
  const inner = chain.at(-1);
  const coded = chain.findLast((cause) => typeof (cause as { code?: unknown }).code === "string");
  const code = (coded as { code: string } | undefined)?.code;
  const message = (inner instanceof Error ? inner.message || inner.name : String(inner)) || "unknown reason";
  return {
    own: inner instanceof ProviderError ? inner : undefined,
    isTimeout: /TIMEOUT|ETIMEDOUT/.test(code ?? ""),
    message: code === undefined || message.includes(code) ? message : `${message} (${code})`,
  };
}

function causes(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let at = error; at !== undefined && at !== null && !chain.includes(at); ) {
    chain.push(at);
    at = at instanceof AggregateError ? at.errors[0] : (at as { cause?: unknown }).cause;
  }
  return chain;
}

const SHOWN_CHARS = 500;

interface RefusalOptions extends Pick<ProviderErrorOptions, "body" | "status" | "cause"> {
  headers?: Headers | undefined;
}

/** The error of a refusal, as an answer or, without a status, inside a stream. */
export function refusal({ body, status, headers, cause }: RefusalOptions): ProviderError {
  const error = errorObject(body);
  return new ProviderError({
    kind: "refused",
    message: messageOf(error) ?? unexplained(status, body),
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

function unexplained(status: number | undefined, body: unknown): string {
  const text = shown(body);
  if (status === undefined) return text ?? "The server sent an error without a message.";
  return `${status} ${text ?? "status code (no body)"}`;
}

function shown(body: unknown): string | undefined {
  const whole = text(body)?.trim();
  return whole && shortened(whole, SHOWN_CHARS);
}

/** Servers with the HTTP status in `code` name the failure in `type` or `status`. The type "error" names none. */
function codeText({ code, type, status, details }: Record<string, unknown>): string | undefined {
  // Anthropic's `type` names a class of failures; its details name the failure.
  const own = text(code) ?? (isRecord(details) ? text(details.error_code) : undefined);
  if (own !== undefined && !/^[45]\d\d$/.test(own)) return own;
  const kind = ["None", "error"].includes(String(type)) ? undefined : text(type);
  return kind ?? (typeof status === "string" ? status : undefined) ?? own;
}

/** AWS's name of a failure: `ThrottlingException:http://internal.amazon.com/…`. */
function awsErrorType(headers: Headers | undefined): string | undefined {
  return headers?.get("x-amzn-errortype")?.split(":")[0]?.trim() || undefined;
}

const STATUS_OF_TYPE: ReadonlyMap<unknown, number> = new Map([
  ["invalid_request_error", 400],
  ["authentication_error", 401],
  ["billing_error", 402],
  ["permission_error", 403],
  ["not_found_error", 404],
  ["request_too_large", 413],
  ["rate_limit_error", 429],
  ["api_error", 500],
  ["timeout_error", 504],
  ["overloaded_error", 529],
]);

/** Reads the status from the fields of an error inside a stream, which began with a status of success. */
function statusInBody(error: Record<string, unknown>): number | undefined {
  const { status_code, code, error_code, status, statusCode, http_status, type } = error;
  return [status_code, code, error_code, status, statusCode, http_status, STATUS_OF_TYPE.get(type)]
    .map(Number)
    .find((number) => Number.isInteger(number) && number >= 400 && number < 600);
}

/** Google sends `details: [{retryDelay: "34s"}]`. */
function retryDelayMs({ details }: Record<string, unknown>): number | undefined {
  if (!Array.isArray(details)) return undefined;
  const delay = details.map((detail) => (isRecord(detail) ? detail.retryDelay : undefined)).find(Boolean);
  const seconds = Number.parseFloat(String(delay));
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}
