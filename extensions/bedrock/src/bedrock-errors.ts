import { BonsaiError, ProviderError } from "@bonsai-agent/extension";
import { retryAfterMs } from "@bonsai-agent/extension/providers";
import { NO_CREDENTIALS, NO_REGION, REMEDY } from "./aws-settings.ts";

/** An error of the SDK. */
interface AwsError {
  name: string;
  message: string;
  status?: number | undefined;
  retryAfterMs?: number | undefined;
}

/** The failure of a request that got no answer. */
export function requestError(error: unknown, modelId: string): Error {
  if (error instanceof ProviderError || BonsaiError.is(error)) return error as Error;
  const aws = awsError(error);
  if (/CredentialsProvider|TokenProvider/.test(aws.name) || /could not load credentials/i.test(aws.message))
    return new BonsaiError({
      /** The AWS SDK found no credentials. */
      code: "bedrock_no_credentials",
      message: `${NO_CREDENTIALS} ${aws.message.replace(/\.?$/, ".")}`,
      hint: REMEDY,
      cause: error,
    });
  if (/region is missing/i.test(aws.message))
    return new BonsaiError({
      /** Neither a variable nor the profile names a region. */
      code: "bedrock_no_region",
      message: NO_REGION,
      hint: "Set AWS_REGION, for example us-east-1.",
    });
  // The SDK reads the first event of a stream before it hands the stream out.
  const isOfStream = aws.status === undefined ? aws.name in streamStatuses : aws.status < 300;
  if (isOfStream) return streamError(error, modelId);
  return aws.status === undefined ? unanswered(error) : refused(aws, modelId, error);
}

/** The failure of an answer under way: an exception of the service, a damaged frame, a broken connection. */
export function streamError(error: unknown, modelId: string): Error {
  if (error instanceof ProviderError || BonsaiError.is(error)) return error as Error;
  const aws = awsError(error);
  const status = streamStatuses[aws.name];
  if (status !== undefined) return refused({ ...aws, status: aws.status ?? status }, modelId, error);
  if (/checksum|prelude|Unrecognized header|SyntaxError|JSON/i.test(`${aws.name} ${aws.message}`))
    return new ProviderError({
      kind: "garbled",
      message: "The server sent a stream frame in an unexpected format.",
      cause: error,
    });
  return new ProviderError({
    kind: "cut",
    message: `The connection ended before the answer was complete: ${rootMessage(error)}`,
    cause: error,
  });
}

/** Exceptions that come as events have no status of their own. */
const streamStatuses: Readonly<Record<string, number>> = {
  ThrottlingException: 429,
  throttlingException: 429,
  InternalServerException: 500,
  internalServerException: 500,
  ModelStreamErrorException: 500,
  modelStreamErrorException: 500,
  ServiceUnavailableException: 503,
  serviceUnavailableException: 503,
  ValidationException: 400,
  validationException: 400,
};

function refused(
  { name, message, status, retryAfterMs: waitMs }: AwsError,
  modelId: string,
  cause: unknown,
): ProviderError {
  const hint = hintFor(name, message, modelId);
  return new ProviderError({
    kind: "refused",
    message: hint === undefined ? message : `${message.replace(/\.?$/, ".")} ${hint}`,
    // Retries a model that is not ready yet or took too long.
    status: name === "ModelNotReadyException" ? 429 : name === "ModelErrorException" ? 500 : status,
    code: name,
    body: message,
    retryAfterMs: waitMs,
    cause,
  });
}

/** The remedy, if AWS's own message does not name it. */
function hintFor(name: string, message: string, modelId: string): string | undefined {
  if (/expired/i.test(`${name} ${message}`))
    return "Renew the credentials, for example with `aws sso login`.";
  if (/UnrecognizedClient|InvalidSignature|InvalidClientToken/.test(name))
    return "AWS does not accept these credentials. Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.";
  if (/AccessDenied/.test(name))
    return `Allow bedrock:InvokeModelWithResponseStream for ${modelId} in IAM. Check that the model is enabled in the region AWS_REGION.`;
  if (/on-demand throughput/i.test(message))
    return `Use an inference profile: us.${modelId}, eu.${modelId} or global.${modelId}.`;
  if (/model identifier is invalid/i.test(message) || /ResourceNotFound/.test(name))
    return "Check the model id, and check that the region AWS_REGION offers the model.";
  return undefined;
}

function awsError(error: unknown): AwsError {
  const { name, message, $metadata, $response } = (error ?? {}) as {
    name?: unknown;
    message?: unknown;
    $metadata?: { httpStatusCode?: number };
    $response?: { headers?: Record<string, string> };
  };
  const headers = $response?.headers;
  return {
    name: typeof name === "string" ? name : "",
    message: typeof message === "string" ? message : String(error),
    status: $metadata?.httpStatusCode,
    retryAfterMs: headers === undefined ? undefined : retryAfterMs(new Headers(headers)),
  };
}

function unanswered(error: unknown): ProviderError {
  return new ProviderError({
    kind: "network",
    message: `No answer from Amazon Bedrock: ${rootMessage(error)}`,
    cause: error,
  });
}

/** The reason of `fetch failed` is in its cause. */
function rootMessage(error: unknown): string {
  let at = error;
  while (at instanceof Error && at.cause instanceof Error) at = at.cause;
  return at instanceof Error ? at.message || at.name : String(at);
}
