import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { askProvider, type ProviderOutcome, type ProviderQuestion } from "@bonsai-agent/extension/testing";
import { type LoopbackReply, type LoopbackRequest, loopbackServer } from "@bonsai-agent/testkit";
import { onTestFinished, vi } from "vitest";
import bedrock from "../index.ts";

const sdk = createRequire(fileURLToPath(import.meta.resolve("@aws-sdk/client-bedrock-runtime")));
// The build that Node takes; other conditions lead to one for bundlers.
const events = sdk.resolve("@smithy/core/event-streams").replace(/\bdist-es\b/, "dist-cjs");
const { EventStreamCodec } = sdk(events) as {
  EventStreamCodec: new (
    toUtf8: (bytes: Uint8Array) => string,
    fromUtf8: (text: string) => Uint8Array,
  ) => { encode(message: { headers: Record<string, unknown>; body: Uint8Array }): Uint8Array };
};
const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString("utf8"),
  (text) => Buffer.from(text, "utf8"),
);

/** One frame of the binary stream, as the service writes it. */
export function frame(type: string, body: unknown, messageType = "event"): Uint8Array {
  const text = (value: string) => ({ type: "string", value });
  return codec.encode({
    headers: {
      [messageType === "event" ? ":event-type" : ":exception-type"]: text(type),
      ":content-type": text("application/json"),
      ":message-type": text(messageType),
    },
    body: Buffer.from(JSON.stringify(body), "utf8"),
  });
}

const head = { "content-type": "application/vnd.amazon.eventstream" };

/** A stream of frames. */
export function streamed(chunks: readonly Uint8Array[], end: LoopbackReply["end"] = "close"): LoopbackReply {
  return { headers: head, chunks, end };
}

/** The frames of an answer of text. */
export function saying(text: string): Uint8Array[] {
  return [
    frame("messageStart", { role: "assistant" }),
    frame("contentBlockDelta", { contentBlockIndex: 0, delta: { text } }),
    frame("contentBlockStop", { contentBlockIndex: 0 }),
    frame("messageStop", { stopReason: "end_turn" }),
    frame("metadata", {
      usage: { inputTokens: 10, outputTokens: 3, totalTokens: 13 },
      metrics: { latencyMs: 1 },
    }),
  ];
}

/** A refusal as the service writes it. */
export function refusal(
  status: number,
  type: string,
  message: string,
  headers: Record<string, string> = {},
): LoopbackReply {
  return {
    status,
    headers: {
      "content-type": "application/json",
      "x-amzn-errortype": `${type}:http://internal.amazon.com/`,
      ...headers,
    },
    chunks: [JSON.stringify({ message })],
  };
}

/** The variables of AWS that a test begins with: none of the machine's. */
export function awsEnvironment(variables: Record<string, string>): void {
  for (const name of Object.keys(process.env)) if (name.startsWith("AWS_")) vi.stubEnv(name, undefined);
  const all = {
    AWS_CONFIG_FILE: "/nonexistent/config",
    AWS_SHARED_CREDENTIALS_FILE: "/nonexistent/credentials",
    AWS_EC2_METADATA_DISABLED: "true",
    ...variables,
  };
  for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
}

interface Asked extends ProviderOutcome {
  requests: readonly LoopbackRequest[];
}

/** Asks the real SDK, which asks a server on this machine. */
export async function ask(
  replies: LoopbackReply | readonly LoopbackReply[],
  question: Partial<ProviderQuestion> = {},
  variables: Record<string, string> = {},
): Promise<Asked> {
  const all = Array.isArray(replies) ? replies : [replies];
  const server = await loopbackServer((_request, at) => all[Math.min(at, all.length - 1)]!);
  onTestFinished(() => server.close());
  awsEnvironment({
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "AKIDTEST",
    AWS_SECRET_ACCESS_KEY: "secret",
    AWS_ENDPOINT_URL_BEDROCK_RUNTIME: server.url,
    ...variables,
  });
  const model = "bedrock/global.anthropic.claude-sonnet-5-5";
  return { ...(await askProvider(bedrock, { model, ...question })), requests: server.requests };
}

/** The folder of golden files. */
export const golden = `${dirname(fileURLToPath(import.meta.url))}/golden`;
