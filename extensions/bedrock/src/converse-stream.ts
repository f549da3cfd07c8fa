import { BedrockRuntimeClient, ConverseStreamCommand } from "@aws-sdk/client-bedrock-runtime";
import type { ProviderAnswer, ProviderStreamRequest, StreamEvent } from "@bonsai-agent/extension";
import { requestError, streamError } from "./bedrock-errors.ts";
import { ConverseAnswer } from "./converse-answer.ts";
import { converseRequest } from "./converse-request.ts";
import { FetchHandler } from "./fetch-handler.ts";

/** One attempt of a request. @throws ProviderError; BonsaiError without credentials or a region */
export async function* converseStream(
  request: ProviderStreamRequest,
  answer: ProviderAnswer,
): AsyncGenerator<StreamEvent, void, void> {
  const reading = new ConverseAnswer(answer);
  const { signal } = request;
  const events = await opened(request);
  try {
    for await (const event of events) {
      signal.throwIfAborted();
      yield* reading.take(event);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw streamError(error, request.model.id);
  }
  reading.end();
}

async function opened(request: ProviderStreamRequest) {
  const { signal, model } = request;
  try {
    const client = clientFor(request);
    const { stream } = await client.send(new ConverseStreamCommand(converseRequest(request)), {
      abortSignal: signal,
    });
    return stream ?? [];
  } catch (error) {
    signal.throwIfAborted();
    throw requestError(error, model.id);
  }
}

/** A client keeps the credentials that the SDK found. */
const clients = new Map<string, BedrockRuntimeClient>();

function clientFor({ model, apiKey }: ProviderStreamRequest): BedrockRuntimeClient {
  const region = regionOf(model.id);
  const { AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL_BEDROCK_RUNTIME: endpoint } = process.env;
  const name = JSON.stringify([region, apiKey, AWS_PROFILE, AWS_REGION, endpoint]);
  const known = clients.get(name);
  if (known !== undefined) return known;
  const client = new BedrockRuntimeClient({
    // Bonsai retries itself, with notices and the provider's waits.
    maxAttempts: 1,
    requestHandler: new FetchHandler(),
    ...(region !== undefined && { region }),
    ...(apiKey !== undefined && { token: { token: apiKey }, authSchemePreference: ["httpBearerAuth"] }),
  });
  clients.set(name, client);
  return client;
}

/** The region in the ARN of an inference profile. */
function regionOf(modelId: string): string | undefined {
  return /^arn:aws[\w-]*:bedrock:([a-z0-9-]+):/.exec(modelId)?.[1];
}
