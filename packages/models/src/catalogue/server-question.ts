import type { ProviderConfig } from "../catalogue-model.ts";
import { serverJson } from "./server-json.ts";

/** A question to a provider's server about its models. */
export interface ServerQuestion {
  provider: ProviderConfig;
  apiKey?: string | undefined;
  /** Ends the question; no answer then. */
  signal: AbortSignal;
  /** Default: the global one. */
  fetch?: typeof fetch | undefined;
}

/** What the server says to it; undefined for no answer. With a body it is sent by POST. */
export function ask(
  { provider, apiKey, signal, fetch }: ServerQuestion,
  url: string,
  body?: unknown,
): Promise<unknown> {
  const headers = { ...provider.headers, ...keyHeaders(provider, apiKey) };
  return serverJson({ url, headers, body, signal, fetch: fetch ?? globalThis.fetch });
}

function keyHeaders({ api }: ProviderConfig, apiKey: string | undefined): Record<string, string> {
  if (api === "anthropic-messages")
    return { "anthropic-version": "2023-06-01", ...(apiKey === undefined ? {} : { "x-api-key": apiKey }) };
  return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
}

/** A number of tokens that can be one. */
export function size(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}
