import { APIConnectionError, APIError } from "@anthropic-ai/sdk";
import { isRecord, jsonText, textHead } from "@bonsai-agent/messages";
import { ProviderError } from "../provider.ts";
import {
  awsErrorType,
  brokenOff,
  jsonOrText,
  notSent,
  retryAfterMs,
  statusInBody,
  unanswered,
} from "../wire.ts";

/** What an error object of the API says; proxies and other servers leave out some of it. */
interface ErrorFields {
  message: string | undefined;
  type: string | undefined;
  /** The object with these fields. */
  error: Record<string, unknown>;
}

/** The status that the API gives to each type of error: inside a stream it is not told. */
const statusOfType: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/** The SDK's message for an empty body. Some servers report an overflow this way. */
const NO_BODY = "status code (no body)";

/** A proxy's page can be long; the whole of it stands in the error's body. */
const MAX_SHOWN_CHARS = 1_000;

/** An error that the SDK threw for a request that got no answer, or a refusal. */
export function requestFailure(error: unknown): ProviderError {
  if (error instanceof APIConnectionError) return unanswered(error);
  return error instanceof APIError ? refusal(error) : notSent(error);
}

/** An error that came while the answer was being read. */
export function streamFailure(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  if (error instanceof SyntaxError) {
    return new ProviderError({
      kind: "garbled",
      message: `The server sent an event that is not valid JSON: ${error.message}`,
      cause: error,
    });
  }
  return brokenOff(error);
}

/** An error that the server told of inside its stream. */
export function eventRefusal(body: unknown, headers: Headers): ProviderError {
  return refusedBody({ body, fields: errorFields(body), status: undefined, headers });
}

/** A body that is no stream, sent with a status of success. */
export function unexpectedBody(status: number, contentType: string, text: string): ProviderError {
  const body = jsonOrText(text);
  const fields = errorFields(body);
  if (fields.type !== undefined || fields.message !== undefined)
    return refusedBody({ body, fields, status: undefined });
  return new ProviderError({
    kind: "garbled",
    message: `Expected an event stream, but the server sent ${contentType || "a body without a content type"} (status ${status}).`,
    body,
  });
}

function refusal(error: APIError): ProviderError {
  const { status, headers } = error;
  const body = error.error ?? bodyText(error);
  return refusedBody({ body, fields: errorFields(body), status, headers, cause: error });
}

interface RefusedBody {
  body: unknown;
  fields: ErrorFields;
  status: number | undefined;
  headers?: Headers | undefined;
  cause?: unknown;
}

function refusedBody({ body, fields, status, headers, cause }: RefusedBody): ProviderError {
  const { message, type, error } = fields;
  return new ProviderError({
    kind: "refused",
    status: status ?? (type === undefined ? undefined : statusOfType[type]) ?? statusInBody(error),
    isInStream: status === undefined,
    code: type ?? awsErrorType(headers),
    message: message ?? textMessage(status, body),
    body,
    retryAfterMs: retryAfterMs(headers),
    cause,
  });
}

function textMessage(status: number | undefined, body: unknown): string {
  const whole = typeof body === "string" ? body : jsonText(body);
  const text = textHead(whole, MAX_SHOWN_CHARS) || NO_BODY;
  return status === undefined ? text : `${status} ${text}`;
}

/** The SDK keeps a body that is no JSON in its message alone, behind the status. */
function bodyText({ status, message }: APIError): string | undefined {
  const text = message.slice(`${status} `.length);
  return status === undefined || text === NO_BODY ? undefined : text;
}

function errorFields(body: unknown): ErrorFields {
  const { error, message, detail } = record(body);
  const { message: inner, type } = record(error);
  return {
    message: [inner, error, message, detail].find((text) => typeof text === "string" && text !== "") as
      | string
      | undefined,
    type: typeof type === "string" ? type : undefined,
    error: isRecord(error) ? error : record(body),
  };
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
