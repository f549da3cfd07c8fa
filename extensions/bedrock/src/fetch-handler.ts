/** A request that the SDK signed. */
interface SignedRequest {
  method: string;
  protocol: string;
  hostname: string;
  port?: number;
  path: string;
  query?: Readonly<Record<string, string | readonly string[] | null>>;
  headers: Readonly<Record<string, string>>;
  body?: unknown;
}

/**
 * Sends the SDK's requests with Node's fetch, which goes through the proxy that Bonsai goes through; the SDK's own handlers
 * know none. The key and the conversation are not carried to where a redirection leads.
 */
export class FetchHandler {
  async handle(request: SignedRequest, { abortSignal }: { abortSignal?: unknown } = {}) {
    const { method, headers, body } = request;
    const response = await fetch(addressOf(request), {
      method,
      headers: withoutHost(headers),
      body: body as BodyInit,
      redirect: "manual",
      ...(abortSignal instanceof AbortSignal && { signal: abortSignal }),
    });
    return {
      response: {
        statusCode: response.status,
        reason: response.statusText,
        headers: Object.fromEntries(response.headers.entries()),
        body: response.body ?? new Uint8Array(),
      },
    };
  }

  updateHttpClientConfig(): void {
    // There is nothing to set.
  }

  httpHandlerConfigs(): Record<string, never> {
    return {};
  }
}

/** `fetch` sets it from the address. */
function withoutHost(headers: SignedRequest["headers"]): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== "host"));
}

function addressOf({ protocol, hostname, port, path, query = {} }: SignedRequest): string {
  const search = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value ?? ""]).map(
      (each) => `${encodeURIComponent(name)}=${encodeURIComponent(String(each))}`,
    ),
  );
  return `${protocol}//${hostname}${port === undefined ? "" : `:${port}`}${path}${search.length === 0 ? "" : `?${search.join("&")}`}`;
}
