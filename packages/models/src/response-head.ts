import type { ProviderResponse } from "./model-request.ts";

/** The head of a server's answer, as callers are told of it. */
export function responseHead(status: number, headers: Headers | undefined): ProviderResponse {
  return { status, headers: Object.fromEntries(headers?.entries() ?? []) };
}

/** What AWS calls a failure, where the body does not say it: `ThrottlingException:http://internal.amazon.com/…`. */
export function awsErrorType(headers: Headers | undefined): string | undefined {
  return headers?.get("x-amzn-errortype")?.split(":")[0]?.trim() || undefined;
}
