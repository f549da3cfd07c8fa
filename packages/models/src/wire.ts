import { jsonText } from "@bonsai-agent/messages";
import { exceedsJsonDepth } from "@bonsai-agent/messages/host";
import { ANSWER_TOO_LARGE } from "./failure/failure.ts";
import { shownAddress } from "./model.ts";
import type { ProviderResponse } from "./model-request.ts";
import { ProviderError } from "./provider.ts";

/** The JSON of a text, else the text; undefined for an empty text. */
export function jsonOrText(text: string | undefined): unknown {
  if (text === undefined || text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * The text of an event's field; "" if it is missing.
 * @throws TypeError for other values, which the session could not read back
 */
export function textIn(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  throw new TypeError(`The stream contains a value of type ${typeof value} instead of text.`);
}

/** The id of a call; "" if it has none. Some servers send numbers. */
export function idIn(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** Arguments as JSON text. Some servers send the object. */
export function argumentsText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : jsonText(value);
}

/** Every provider accepts this length. */
const MAX_CHARS = 64;

/** Makes a tool's name acceptable to APIs: models call unknown tools by any name. */
export function wireToolName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_CHARS) || "unknown";
}

export function responseHead(status: number, headers: Headers | undefined): ProviderResponse {
  return { status, headers: Object.fromEntries(headers?.entries() ?? []) };
}

/** AWS's name of a failure: `ThrottlingException:http://internal.amazon.com/…`. */
export function awsErrorType(headers: Headers | undefined): string | undefined {
  return headers?.get("x-amzn-errortype")?.split(":")[0]?.trim() || undefined;
}

/** Reads the status from the fields of an error inside a stream, which began with a status of success. */
export function statusInBody(error: Record<string, unknown>): number | undefined {
  const named = [
    error.status_code,
    error.code,
    error.error_code,
    error.status,
    error.statusCode,
    error.http_status,
  ];
  return named.map(Number).find((status) => Number.isInteger(status) && status >= 400 && status < 600);
}

/** Reads the wait from `retry-after-ms`, else from `retry-after` in seconds or as a date. */
export function retryAfterMs(headers: Headers | undefined, nowMs: number = Date.now()): number | undefined {
  const ms = headers?.get("retry-after-ms")?.trim();
  if (ms && Number.isFinite(Number(ms))) return Math.max(0, Number(ms));
  const after = headers?.get("retry-after")?.trim();
  if (!after) return undefined;
  const waitMs = Number.isFinite(Number(after)) ? Number(after) * 1_000 : Date.parse(after) - nowMs;
  return Number.isFinite(waitMs) ? Math.max(0, Math.ceil(waitMs)) : undefined;
}

/**
 * Default headers that remove the headers of a variable (`Name: value` lines), which the SDKs add to requests to every
 * server. They may contain secrets.
 */
export function withoutCustomHeaders(variable: string | undefined): Record<string, null> {
  const lines = (variable ?? "").split("\n");
  const names = lines.map((line) => line.slice(0, Math.max(0, line.indexOf(":"))).trim());
  return Object.fromEntries(names.filter((name) => name !== "").map((name) => [name, null]));
}

/** The error of a request without an answer. */
export function unanswered(error: unknown): ProviderError {
  const { own, isTimeout, message } = rootCause(error);
  if (own !== undefined) return own;
  const kind = isTimeout ? "silence" : "network";
  return new ProviderError({ kind, message: `No answer from the server: ${message}`, cause: error });
}

/** The error of a connection that broke during the answer. */
export function brokenOff(error: unknown): ProviderError {
  const { own, isTimeout, message } = rootCause(error);
  if (own !== undefined) return own;
  return new ProviderError({
    kind: isTimeout ? "silence" : "cut",
    message: `The connection ended before the answer was complete: ${message}`,
    cause: error,
  });
}

/** The server sent data that is not valid. */
export function malformed(message: string, body: unknown, cause?: unknown): ProviderError {
  return new ProviderError({ kind: "garbled", message, body, cause });
}

/** The error of a stream that broke or contains no JSON. */
export function streamError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  if (error instanceof SyntaxError)
    return malformed(`The server sent an event that is not valid JSON: ${error.message}`, undefined, error);
  return brokenOff(error);
}

/** The error of data in an unexpected format, whose reading threw. */
export function garbled(what: string, body: unknown, cause: unknown): ProviderError {
  if (cause instanceof ProviderError) return cause;
  return malformed(`The server sent ${what} in an unexpected format.`, body, cause);
}

/** The error of a request that could not be written. */
export function notSent(error: unknown): ProviderError {
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

interface RootCause {
  /** The error of our own fetch, inside the SDK's. */
  own: ProviderError | undefined;
  isTimeout: boolean;
  message: string;
}

/** Finds the innermost cause: `fetch failed` explains nothing. */
function rootCause(error: unknown): RootCause {
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

const MB = 1024 * 1024;
/** The longest answers have about 50 MB of events. */
const MAX_ANSWER_BYTES = 256 * MB;
/** Ten times the longest event. */
const MAX_LINE_BYTES = 32 * MB;
const MAX_REFUSAL_BYTES = MB;

/** Shown characters of a refusal that no SDK can read. */
const MAX_UNREADABLE_CHARS = 2_000;

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/**
 * The fetch of one call, for both SDKs. Reports every sign of life, such as comments and empty lines. Follows no
 * redirection, which would send the key and the conversation to another server. Limits the size of the answer.
 * @throws ProviderError for a redirection and for a page of HTML
 */
export function providerFetch(onAlive: () => void): typeof fetch {
  return async (url, init = {}) => {
    const dispatcher = unlimitedDispatcher();
    const ours = { redirect: "manual", ...(dispatcher && { dispatcher }) } as RequestInit;
    const response = await fetch(url, { ...init, ...ours });
    onAlive();
    const isPage = response.ok && /html/i.test(response.headers.get("content-type") ?? "");
    const watch = response.ok && !isPage ? watchedAnswer(onAlive) : watchedRefusal(onAlive);
    const watched =
      response.body === null ? response : new Response(response.body.pipeThrough(watch), response);
    if (response.status >= 300 && response.status < 400) throw await redirected(watched, String(url));
    if (isPage) throw await pageInstead(watched, String(url));
    return response.ok ? watched : readableRefusal(watched);
  };
}

function watchedAnswer(onAlive: () => void): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  let lineBytes = 0;
  return new TransformStream({
    transform: (part, controller) => {
      onAlive();
      bytes += part.length;
      const lineEnd = Math.max(part.lastIndexOf(LINE_FEED), part.lastIndexOf(CARRIAGE_RETURN));
      lineBytes = lineEnd < 0 ? lineBytes + part.length : part.length - lineEnd - 1;
      if (lineBytes > MAX_LINE_BYTES) throw tooMuch("an event", MAX_LINE_BYTES);
      if (bytes > MAX_ANSWER_BYTES) throw tooMuch("an answer", MAX_ANSWER_BYTES);
      controller.enqueue(part);
    },
  });
}

function watchedRefusal(onAlive: () => void): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform: (part, controller) => {
      onAlive();
      bytes += part.length;
      controller.enqueue(part);
      if (bytes > MAX_REFUSAL_BYTES) controller.terminate();
    },
  });
}

/** The SDKs fail at deeply nested JSON in a refusal: replaces it by text. */
async function readableRefusal(response: Response): Promise<Response> {
  if (response.body === null) return response;
  const text = await response.text();
  const shown = exceedsJsonDepth(jsonOrText(text)) ? text.slice(0, MAX_UNREADABLE_CHARS) : text;
  const { status, statusText, headers } = response;
  return new Response(shown, { status, statusText, headers });
}

function tooMuch(what: string, bytes: number): ProviderError {
  return new ProviderError({
    kind: "excess",
    code: ANSWER_TOO_LARGE,
    message: `The server sent ${what} of more than ${bytes / MB} MB.`,
  });
}

async function redirected({ status, headers, body }: Response, url: string): Promise<ProviderError> {
  await body?.cancel();
  const target = shownAddress(headers.get("location") ?? "", url);
  return new ProviderError({
    kind: "refused",
    status,
    code: "redirected",
    message: `${shownAddress(url)} redirects to ${target}. Bonsai does not follow redirects, because requests contain your API key. If the new address is right, set it as the base URL.`,
  });
}

/** Not retried: the server would send the same page again. */
async function pageInstead(response: Response, url: string): Promise<ProviderError> {
  const { status } = response;
  const title = /<title[^<>]{0,200}>([^<]{1,200})/i.exec(await response.text())?.[1]?.trim();
  const page = title ? `an HTML page (${JSON.stringify(title)})` : "an HTML page";
  return new ProviderError({
    kind: "refused",
    status,
    code: "page_instead",
    message: `${shownAddress(url)} sent ${page} instead of an answer (status ${status}). Check the base URL: many end in /v1.`,
  });
}

interface Dispatcher {
  dispatch(options: object, handler: unknown): boolean;
}

/** The name of the dispatcher of Node's fetch. It may be a proxy's. */
const globalName = Symbol.for("undici.globalDispatcher.1");

/**
 * The process's own dispatcher without its time limits of five minutes before the head and between two parts of a body: a
 * local model may take longer for a long prompt. `attempt` limits the silence of servers. Undefined if fetch is not Node's.
 */
function unlimitedDispatcher(): Dispatcher | undefined {
  const own = (globalThis as Record<symbol, unknown>)[globalName] as Dispatcher | undefined;
  if (typeof own?.dispatch !== "function") return undefined;
  return {
    dispatch: (options, handler) => own.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler),
  };
}
