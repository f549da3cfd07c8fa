import { jsonText } from "@bonsai-agent/messages";
import { APIConnectionError, APIError } from "openai";
import { brokenOff, notSent, unanswered } from "../connection-error.ts";
import { ProviderError } from "../provider.ts";
import { awsErrorType } from "../response-head.ts";
import { retryAfterMs } from "../retry-after.ts";
import { jsonOrText } from "../wire-text.ts";
import type { OpenAiWire } from "./openai-wire.ts";

const SHOWN_CHARS = 500;

interface RefusalOptions {
  /** What the server said: parsed JSON, or text. */
  body: unknown;
  status?: number | undefined;
  headers?: Headers | undefined;
  cause?: unknown;
}

/** What was thrown before an answer began: no connection, a refusal, or a request that could not be written. */
export function requestError(error: unknown, wire: OpenAiWire): ProviderError {
  if (error instanceof APIConnectionError) return unanswered(error);
  if (error instanceof APIError) {
    const { status, headers } = error;
    return refusal({ body: jsonOrText(wire.errorText), status, headers, cause: error });
  }
  return notSent(error);
}

/** What was thrown while the answer was read. */
export function streamError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  if (error instanceof SyntaxError) {
    return new ProviderError({
      kind: "garbled",
      message: "The server sent a line that is no JSON.",
      cause: error,
    });
  }
  return brokenOff(error);
}

/** An error that a server told of, as an answer or inside a stream. */
export function refusal({ body, status, headers, cause }: RefusalOptions): ProviderError {
  const error = errorObject(body);
  return new ProviderError({
    kind: "refused",
    message: messageOf(error) ?? `${status ?? ""} ${shown(body) ?? "status code (no body)"}`.trim(),
    status: status ?? httpStatus(error),
    code: codeText(error) ?? awsErrorType(headers),
    body,
    retryAfterMs: retryAfterMs(headers) ?? retryDelayMs(error),
    cause,
  });
}

/** `{error: {…}}`, `[{error: {…}}]` (Google), `{error: "…"}`, `{message: …}` (vLLM, Mistral), `{detail: …}`. */
function errorObject(body: unknown): Record<string, unknown> {
  const outer = Array.isArray(body) ? body[0] : body;
  if (!isObject(outer)) return {};
  const { error } = outer;
  if (isObject(error)) return error;
  return typeof error === "string" ? { ...outer, message: error } : outer;
}

function messageOf({ message, msg, detail, metadata }: Record<string, unknown>): string | undefined {
  const own = text(message) ?? text(msg) ?? text(detail);
  // A router's own message is "Provider returned error"; what the provider said stands beside it.
  const raw = isObject(metadata) ? text(metadata.raw) : undefined;
  return own !== undefined && raw !== undefined ? `${own}: ${raw}` : (own ?? raw);
}

function text(value: unknown): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  return typeof value === "string" ? value : jsonText(value);
}

/** Servers that put the HTTP status into `code` say what happened in `type` or `status`. */
function codeText({ code, type, status }: Record<string, unknown>): string | undefined {
  const own = text(code);
  if (own !== undefined && !/^[45]\d\d$/.test(own)) return own;
  const kind = text(type);
  return (kind === "None" ? undefined : kind) ?? (typeof status === "string" ? status : undefined) ?? own;
}

/** An error inside a stream came after a status of success; what would have been the status stands in its code. */
function httpStatus({ code, status_code: statusCode }: Record<string, unknown>): number | undefined {
  const status = Number(statusCode ?? code);
  return Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined;
}

/** Google's way to say it: `details: [{retryDelay: "34s"}]`. */
function retryDelayMs({ details }: Record<string, unknown>): number | undefined {
  if (!Array.isArray(details)) return undefined;
  const delay = details.map((detail) => (isObject(detail) ? detail.retryDelay : undefined)).find(Boolean);
  const seconds = Number.parseFloat(String(delay));
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}

function shown(body: unknown): string | undefined {
  const whole = text(body)?.trim();
  return whole !== undefined && whole.length > SHOWN_CHARS ? `${whole.slice(0, SHOWN_CHARS)}…` : whole;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
