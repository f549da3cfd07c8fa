import type { ProviderResponse } from "./model-request.ts";

/** The head of a server's answer, as callers are told of it. */
export function responseHead(status: number, headers: Headers | undefined): ProviderResponse {
  return { status, headers: Object.fromEntries(headers?.entries() ?? []) };
}
