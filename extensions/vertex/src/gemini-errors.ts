import { BonsaiError, ProviderError } from "@bonsai-agent/extension";
import { ApiError } from "@google/genai";
import { type Service, SIGN_IN } from "./google-settings.ts";

/** Google's JSON about a failure. */
interface GoogleError {
  message: string;
  code?: string | undefined;
  retryDelayMs?: number | undefined;
  /** Names of the failure that are more exact than its status: `API_KEY_INVALID`. */
  reasons: readonly string[];
}

/** The failure of a request that got no answer. */
export function requestError(error: unknown, service: Service, waitMs: number | undefined): Error {
  if (error instanceof ProviderError || BonsaiError.is(error)) return error as Error;
  if (error instanceof ApiError) return refused(error, service, waitMs);
  if (isCredentials(error))
    return new BonsaiError({
      code: "vertex_no_credentials",
      message: `Found no Google credentials for Vertex AI: ${rootMessage(error)}`,
      hint: `${SIGN_IN[0]!.toUpperCase()}${SIGN_IN.slice(1)}.`,
      cause: error,
    });
  return new ProviderError({
    kind: "network",
    message: `No answer from Google: ${rootMessage(error)}`,
    cause: error,
  });
}

/** The failure of an answer under way: an error in the stream, a chunk that is not JSON, a broken connection. */
export function streamError(error: unknown, service: Service): Error {
  if (error instanceof ProviderError || BonsaiError.is(error)) return error as Error;
  if (error instanceof ApiError) return refused(error, service, undefined);
  const message = rootMessage(error);
  if (/parsing stream chunk|JSON|Unexpected token/i.test(message) && !/Incomplete JSON/.test(message))
    return new ProviderError({
      kind: "garbled",
      message: "The server sent a chunk that is not valid JSON.",
      cause: error,
    });
  return new ProviderError({
    kind: "cut",
    message: `The connection ended before the answer was complete: ${message}`,
    cause: error,
  });
}

/** google-auth-library has no codes for these errors. */
function isCredentials(error: unknown): boolean {
  return /default credentials|invalid_grant|invalid_rapt|refresh access token|ENOENT.*credential|GOOGLE_APPLICATION_CREDENTIALS|metadata/i.test(
    rootMessage(error),
  );
}

function refused(error: ApiError, service: Service, waitMs: number | undefined): ProviderError {
  const { message, code, retryDelayMs, reasons } = googleError(error.message);
  const hint = hintFor({ status: error.status, code, reasons, service });
  return new ProviderError({
    kind: "refused",
    status: error.status,
    message: hint === undefined ? message : `${message.replace(/\.?$/, ".")} ${hint}`,
    code,
    retryAfterMs: waitMs ?? retryDelayMs,
    cause: error,
  });
}

interface Refusal {
  status: number;
  code: string | undefined;
  reasons: readonly string[];
  service: Service;
}

function hintFor({ status, reasons, service }: Refusal): string | undefined {
  if (reasons.includes("API_KEY_INVALID") || (service === "gemini" && (status === 401 || status === 403)))
    return "Check GEMINI_API_KEY, or store another key with /login gemini.";
  if (reasons.includes("SERVICE_DISABLED"))
    return "Enable aiplatform.googleapis.com in the project GOOGLE_CLOUD_PROJECT.";
  if (status === 401) return `Renew the credentials: ${SIGN_IN}.`;
  if (status === 403)
    return "Give the account the role roles/aiplatform.user in the project GOOGLE_CLOUD_PROJECT.";
  if (status === 404 && service === "vertex")
    return "Check the model id, and check that the location GOOGLE_CLOUD_LOCATION offers the model.";
  return undefined;
}

/** The SDK's message is the body: `{"error": {…}}`, in a stream behind `got status: …`. */
function googleError(text: string): GoogleError {
  const body = parsed(text.slice(Math.max(0, text.indexOf("{"))));
  const outer = (Array.isArray(body) ? body[0] : body) as { error?: Record<string, unknown> } | undefined;
  const { message, status, details } = outer?.error ?? {};
  const all = Array.isArray(details) ? (details as Record<string, unknown>[]) : [];
  const delay = all.map(({ retryDelay }) => Number.parseFloat(String(retryDelay))).find(Number.isFinite);
  return {
    message: typeof message === "string" && message !== "" ? message : text,
    code: typeof status === "string" && status !== "" ? status : undefined,
    retryDelayMs: delay === undefined ? undefined : delay * 1_000,
    reasons: all.flatMap(({ reason }) => (typeof reason === "string" ? [reason] : [])),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not every gateway answers in JSON.
    return undefined;
  }
}

/** The reason of `fetch failed` is in its cause. */
function rootMessage(error: unknown): string {
  let at = error;
  while (at instanceof Error && at.cause instanceof Error) at = at.cause;
  return at instanceof Error ? at.message || at.name : String(at);
}
