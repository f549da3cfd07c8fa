import { BedrockRuntimeClient, ConverseStreamCommand } from "@aws-sdk/client-bedrock-runtime";
import type { ProviderAnswer, ProviderStreamRequest, StreamEvent } from "@bonsai-agent/extension";
import { requestError, streamError } from "./bedrock-errors.ts";
import { ConverseAnswer } from "./converse-answer.ts";
import { converseRequest } from "./converse-request.ts";
import { FetchHandler } from "./fetch-handler.ts";

/** One attempt of a request. @throws ProviderError, BonsaiError where credentials or the region are missing */
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

/** Credentials that the SDK has found are kept with the client. */
const clients = new Map<string, BedrockRuntimeClient>();

function clientFor({ model, apiKey }: ProviderStreamRequest): BedrockRuntimeClient {
  const region = regionOf(model.id);
  const { AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL_BEDROCK_RUNTIME: endpoint } = process.env;
  const name = JSON.stringify([region, apiKey, AWS_PROFILE, AWS_REGION, endpoint]);
  const known = clients.get(name);
  if (known !== undefined) return known;
  const client = new BedrockRuntimeClient({
    // Retries are decided above: with notices, and as long as the provider asks for.
    maxAttempts: 1,
    requestHandler: new FetchHandler(),
    ...(region !== undefined && { region }),
    ...(apiKey !== undefined && { token: { token: apiKey }, authSchemePreference: ["httpBearerAuth"] }),
  });
  clients.set(name, client);
  return client;
}

/** The ARN of an inference profile names the region where it lives. */
function regionOf(modelId: string): string | undefined {
  return /^arn:aws[\w-]*:bedrock:([a-z0-9-]+):/.exec(modelId)?.[1];
}
