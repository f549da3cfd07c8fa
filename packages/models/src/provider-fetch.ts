import { isTooDeep } from "@bonsai-agent/messages";
import { TOO_LARGE } from "./failure.ts";
import { patientDispatcher } from "./patient-dispatcher.ts";
import { ProviderError } from "./provider.ts";
import { shownAddress } from "./shown-address.ts";
import { jsonOrText } from "./wire-text.ts";

const MB = 1024 * 1024;
/** The longest answers have some 50 MB of events; what goes on behind this has lost its senses. */
const MAX_ANSWER_BYTES = 256 * MB;
/** An event comes whole before it can be read; none has a tenth of this. */
const MAX_LINE_BYTES = 32 * MB;
/** Of a refusal nobody reads more. */
const MAX_REFUSAL_BYTES = MB;

/** Of a refusal that no SDK can read, this is shown. */
const MAX_UNREADABLE_CHARS = 2_000;

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/**
 * The fetch of one call, for either SDK. Tells of every sign of life, comments and empty lines among them; follows no
 * redirection, which would carry the key and the conversation to somebody else; bounds what is read. Throws
 * ProviderError for a redirection and for a page of HTML.
 */
export function providerFetch(onAlive: () => void): typeof fetch {
  return async (url, init = {}) => {
    const dispatcher = patientDispatcher();
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
      if (lineBytes > MAX_LINE_BYTES) throw tooMuch("one event", MAX_LINE_BYTES);
      if (bytes > MAX_ANSWER_BYTES) throw tooMuch("one answer", MAX_ANSWER_BYTES);
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

/** The SDKs write the JSON of a refusal as text, and end where it is nested too deep for that: then it is one already. */
async function readableRefusal(response: Response): Promise<Response> {
  if (response.body === null) return response;
  const text = await response.text();
  const shown = isTooDeep(jsonOrText(text)) ? text.slice(0, MAX_UNREADABLE_CHARS) : text;
  const { status, statusText, headers } = response;
  return new Response(shown, { status, statusText, headers });
}

function tooMuch(what: string, bytes: number): ProviderError {
  return new ProviderError({
    kind: "excess",
    code: TOO_LARGE,
    message: `The server sent more than ${bytes / MB} MB for ${what}.`,
  });
}

async function redirected({ status, headers, body }: Response, url: string): Promise<ProviderError> {
  await body?.cancel();
  const target = shownAddress(headers.get("location") ?? "", url);
  return new ProviderError({
    kind: "refused",
    status,
    code: "redirected",
    message: `${shownAddress(url)} sends its visitors on to ${target}. Requests are not sent on, because they hold the key: set the base URL to where they should go.`,
  });
}

/** To be told once, and mended by the user: asking again brings the same page. */
async function pageInstead(response: Response, url: string): Promise<ProviderError> {
  const { status } = response;
  const title = /<title[^<>]{0,200}>([^<]{1,200})/i.exec(await response.text())?.[1]?.trim();
  const page = title ? `a page of HTML (${JSON.stringify(title)})` : "a page of HTML";
  return new ProviderError({
    kind: "refused",
    status,
    code: "page_instead",
    message: `Instead of an answer ${shownAddress(url)} sent ${page}, with status ${status}. Is the base URL right? Many end in /v1.`,
  });
}
