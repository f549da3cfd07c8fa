import { BonsaiError } from "@bonsai-agent/messages";
import { isLoopback } from "./catalogue/local-providers.ts";
import type { CatalogueModel } from "./catalogue-model.ts";
import type { ModelFailure } from "./failure.ts";
import { type AskedTokens, classifyFailure } from "./overflow/classify-failure.ts";
import { ProviderError } from "./provider.ts";
import { shownAddress } from "./shown-address.ts";

export interface RequestFailureOptions {
  /** Whatever was thrown. */
  error: unknown;
  model: CatalogueModel;
  apiKey: string | undefined;
  asked: AskedTokens | undefined;
  bodyless429IsOverflow: boolean;
}

/** What went wrong with a request, whoever threw what. Never throws. */
export function requestFailure(options: RequestFailureOptions): ModelFailure {
  const { error, model, apiKey, asked, bodyless429IsOverflow } = options;
  const { provider, id: modelId } = model;
  if (BonsaiError.is(error)) {
    const { message, hint, code } = error;
    return { kind: "other", message: `${message} ${hint}`.trim(), provider, modelId, code, retryable: false };
  }
  const failure = classifyFailure({
    error: error instanceof ProviderError ? error : foreign(error),
    provider,
    modelId,
    bodyless429IsOverflow,
    apiKey,
    ...(asked === undefined ? {} : { asked }),
  });
  const unreachable = isRefusedConnection(error) ? unreachableMessage(model) : undefined;
  return unreachable === undefined ? failure : { ...failure, message: unreachable };
}

/** A provider of somebody else's may throw anything; where it looks like a refusal it is read like one. */
function foreign(error: unknown): ProviderError {
  return new ProviderError({
    kind: "refused",
    message: textOf(error),
    status: numberIn(error, "status"),
    body: fieldOf(error, "error") ?? fieldOf(error, "body"),
    cause: fieldOf(error, "cause"),
  });
}

function textOf(error: unknown): string {
  const message = fieldOf(error, "message");
  if (typeof message === "string" && message !== "") return message;
  if (typeof error === "string" && error !== "") return error;
  return "The provider threw something that says nothing.";
}

function numberIn(error: unknown, name: string): number | undefined {
  const value = fieldOf(error, name);
  return typeof value === "number" ? value : undefined;
}

function fieldOf(error: unknown, name: string): unknown {
  if (typeof error !== "object" || error === null) return undefined;
  try {
    return (error as Record<string, unknown>)[name];
  } catch {
    // A getter that throws has nothing to tell.
    return undefined;
  }
}

/** Looks along the causes, and into the two addresses that `localhost` is. */
function isRefusedConnection(error: unknown, depth = 0): boolean {
  if (depth > 8) return false;
  if (fieldOf(error, "code") === "ECONNREFUSED") return true;
  const parts = fieldOf(error, "errors");
  const inner = [fieldOf(error, "cause"), ...(Array.isArray(parts) ? parts.slice(0, 4) : [])];
  return inner.some((part) => part !== undefined && isRefusedConnection(part, depth + 1));
}

function unreachableMessage(model: CatalogueModel): string {
  const { baseUrl, provider } = model;
  const asked = isLoopback(model) ? "Is the server running, on this port?" : "Is the address right?";
  return `Nobody listens at ${shownAddress(baseUrl)}, where ${provider} should be. ${asked}`;
}
