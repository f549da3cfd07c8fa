import { APIConnectionError, APIError } from "@anthropic-ai/sdk";
import { isRecord, jsonText, textHead } from "@bonsai-agent/messages";
import { ProviderError } from "../provider.ts";
import {
  awsErrorType,
  jsonOrText,
  malformed,
  notSent,
  retryAfterMs,
  statusInBody,
  unanswered,
} from "../wire.ts";

/** The fields of an error object. Proxies and other servers leave some out. */
interface ErrorFields {
  message: string | undefined;
  type: string | undefined;
  /** The object with these fields. */
  error: Record<string, unknown>;
}

/** The status of each type of error. Errors inside a stream have none. */
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

const MAX_SHOWN_CHARS = 1_000;

/** Converts the SDK's error for a request without an answer, or for a refusal. */
export function requestFailure(error: unknown): ProviderError {
  if (error instanceof APIConnectionError) return unanswered(error);
  return error instanceof APIError ? refusal(error) : notSent(error);
}

/** The error of an error event inside a stream. */
export function eventRefusal(body: unknown, headers: Headers): ProviderError {
  return refusedBody({ body, fields: errorFields(body), status: undefined, headers });
}

/** The error of a body that is no stream, sent with a status of success. */
export function unexpectedBody(status: number, contentType: string, text: string): ProviderError {
  const body = jsonOrText(text);
  const fields = errorFields(body);
  if (fields.type !== undefined || fields.message !== undefined)
    return refusedBody({ body, fields, status: undefined });
  const sent = contentType || "a body without a content type";
  return malformed(`Expected an event stream, but the server sent ${sent} (status ${status}).`, body);
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

/** The SDK keeps a body that is not JSON only in its message, after the status. */
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
  return isRecord(value) ? value : {};
}
