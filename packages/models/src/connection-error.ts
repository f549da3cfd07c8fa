import { ProviderError } from "./provider.ts";

/** No answer began: there was no connection, or it broke before. */
export function unanswered(error: unknown): ProviderError {
  const { own, isTimeout, message } = rootCause(error);
  if (own !== undefined) return own;
  const kind = isTimeout ? "silence" : "network";
  return new ProviderError({ kind, message: `No answer from the server: ${message}`, cause: error });
}

/** The connection broke while the answer was being read. */
export function brokenOff(error: unknown): ProviderError {
  const { own, isTimeout, message } = rootCause(error);
  if (own !== undefined) return own;
  return new ProviderError({
    kind: isTimeout ? "silence" : "cut",
    message: `The connection broke before the answer was complete: ${message}`,
    cause: error,
  });
}

/** What came has not the shape that it should have, and reading it threw. */
export function garbled(what: string, body: unknown, cause: unknown): ProviderError {
  if (cause instanceof ProviderError) return cause;
  return new ProviderError({
    kind: "garbled",
    message: `${what} has not the shape that it should have.`,
    body,
    cause,
  });
}

/** The request could not even be written. */
export function notSent(error: unknown): ProviderError {
  const { own, message } = rootCause(error);
  if (own !== undefined) return own;
  // These messages quote the value, which is likely the key.
  const isHeader = /header value|header name|HTTP token|ByteString/i.test(message);
  return new ProviderError({
    kind: "refused",
    code: "request_not_sent",
    message: isHeader
      ? "The request could not be sent: the key or a header holds a character that HTTP does not allow."
      : `The request could not be sent: ${message}`,
    ...(!isHeader && { cause: error }),
  });
}

interface RootCause {
  /** What our own fetch threw, below what the SDK has wrapped around it. */
  own: ProviderError | undefined;
  isTimeout: boolean;
  message: string;
}

/** What lies at the bottom: `fetch failed` says nothing, its cause does. */
function rootCause(error: unknown): RootCause {
  const chain = causes(error);
  const inner = chain.at(-1);
  const coded = chain.findLast((cause) => typeof (cause as { code?: unknown }).code === "string");
  const code = (coded as { code: string } | undefined)?.code;
  const message = (inner instanceof Error ? inner.message || inner.name : String(inner)) || "nothing is told";
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
