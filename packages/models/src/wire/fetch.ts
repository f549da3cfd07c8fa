import { jsonDepthProblem } from "@bonsai-agent/messages/host";
import { ANSWER_TOO_LARGE } from "../failure/answer-end.ts";
import { shownAddress } from "../model.ts";
import { ProviderError } from "../provider.ts";
import { jsonOrText } from "./fields.ts";

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

interface FetchListener {
  /** The server gave a sign of life. */
  onAlive: () => void;
  /** The server refused the request. The text of its body may be empty. */
  onRefusal: (text: string) => void;
}

/**
 * The fetch of one call, for both SDKs. Reports every sign of life, such as comments and empty lines. Follows no
 * redirection, which would send the key and the conversation to another server. Limits the size of the answer.
 * @throws ProviderError for a redirection and for a page of HTML
 */
export function providerFetch({ onAlive, onRefusal }: FetchListener): typeof fetch {
  return async (url, init = {}) => {
    const dispatcher = unlimitedDispatcher();
    const ours = { redirect: "manual", ...(dispatcher && { dispatcher }) } as RequestInit;
    const response = await fetch(url, { ...init, ...ours });
    onAlive();
    const type = response.headers.get("content-type") ?? "";
    const isPage = response.ok && /html/i.test(type);
    const watch = response.ok && !isPage ? watchedAnswer(onAlive) : watchedRefusal(onAlive);
    const watched =
      response.body === null ? response : new Response(response.body.pipeThrough(watch), response);
    if (response.status >= 300 && response.status < 400) throw await redirected(watched, String(url));
    if (isPage) throw await pageInstead(watched, String(url));
    if (!response.ok) {
      const text = readableText(await watched.text());
      onRefusal(text);
      return new Response(text === "" ? null : text, response);
    }
    return /\bjson\b/i.test(type) ? asStream(await watched.text(), response) : watched;
  };
}

/** Some servers always answer in one piece. Line breaks in JSON only separate tokens. */
function asStream(json: string, { status, headers }: Response): Response {
  const data = json.trim().replace(/[\r\n]+/g, " ");
  return new Response(`data: ${data}\n\ndata: [DONE]\n\n`, { status, headers });
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
function readableText(text: string): string {
  return jsonDepthProblem(jsonOrText(text)) !== undefined ? text.slice(0, MAX_UNREADABLE_CHARS) : text;
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
