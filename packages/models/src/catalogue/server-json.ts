/** A question to a server that may not be there. */
export interface ServerJsonOptions {
  url: string;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as JSON by POST; absent for GET. */
  body?: unknown;
  signal: AbortSignal;
  fetch: typeof fetch;
}

/** What a server says, as JSON; undefined for no answer, a refusal, or something else than JSON. */
export async function serverJson({ url, headers, body, signal, fetch }: ServerJsonOptions): Promise<unknown> {
  const post =
    body === undefined
      ? { headers: { ...headers } }
      : {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: JSON.stringify(body),
        };
  try {
    // A redirection could carry the key to somebody else.
    const response = await fetch(url, { ...post, signal, redirect: "error" });
    if (response.ok) return JSON.parse(await boundedText(response));
    await response.body?.cancel();
    return undefined;
  } catch {
    // Who does not answer in time, or not in JSON, tells nothing: that is an answer here.
    return undefined;
  }
}

/** True where something answers, whatever it says. */
export async function isAnswered(
  url: string,
  { fetch, signal }: Pick<ServerJsonOptions, "fetch" | "signal">,
): Promise<boolean> {
  try {
    const response = await fetch(url, { signal, redirect: "manual" });
    await response.body?.cancel();
    return true;
  } catch {
    // Refused, unknown or too slow: nobody is there who could be asked for an answer.
    return false;
  }
}

/** Lists of models have a megabyte or two. */
const MAX_BYTES = 16 * 1024 * 1024;

/** @throws where there is more than a server's answer can be: it may have no end, and arrives faster than a timeout. */
async function boundedText({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.length;
    if (bytes > MAX_BYTES) throw new RangeError("The answer has no end.");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

/** A member of a value from outside; undefined where there is none. */
export function member(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null ? (at as Record<string, unknown>)[key] : undefined),
    value,
  );
}
