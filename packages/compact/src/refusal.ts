import { messageOf } from "@bonsai-agent/messages";
import type { ModelFailure } from "@bonsai-agent/models";
import { field } from "./formats/parts.ts";

/** The refused request, as far as it is known. */
export interface RefusedCall {
  provider: string;
  modelId: string;
  /** An estimate. */
  inputTokens?: number;
  maxOutputTokens?: number | undefined;
  windowTokens?: number | undefined;
}

/** Classifies an error of any SDK. Undefined if no provider refused the request. */
export async function readRefusal(thrown: unknown, call: RefusedCall): Promise<ModelFailure | undefined> {
  // After its retries, the AI SDK throws an error with the last one inside.
  const error = field(thrown, "lastError") ?? thrown;
  if (field(error, "name") === "AbortError") return undefined;
  const { classifyFailure, ProviderError } = await import("@bonsai-agent/models");
  const { provider, modelId, inputTokens, maxOutputTokens = 0, windowTokens } = call;
  const status = field(error, "statusCode") ?? field(error, "status");
  const refusal = new ProviderError({
    kind: "refused",
    message: errorText(error),
    status: typeof status === "number" ? status : undefined,
    body: field(error, "responseBody") ?? field(error, "data") ?? field(error, "error"),
    cause: error,
  });
  const request = inputTokens === undefined ? undefined : { inputTokens, maxOutputTokens, windowTokens };
  return classifyFailure({ error: refusal, provider, modelId, request });
}

function errorText(error: unknown): string {
  return typeof error === "object" && error !== null && !(error instanceof Error)
    ? String(field(error, "message") ?? JSON.stringify(error))
    : messageOf(error);
}
