import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { askProvider, type ProviderQuestion } from "@bonsai-agent/extension/testing";
import { type LoopbackReply, loopbackServer, sseChunks } from "@bonsai-agent/testkit";
import { onTestFinished, vi } from "vitest";
import vertex from "../index.ts";

/** The folder of golden files. */
export const golden = `${dirname(fileURLToPath(import.meta.url))}/golden`;

/** A stream of chunks, as the service writes it. */
export function streamed(chunks: readonly unknown[], end: LoopbackReply["end"] = "close"): LoopbackReply {
  return {
    headers: { "content-type": "text/event-stream" },
    chunks: sseChunks(chunks.map((data) => ({ data }))),
    end,
  };
}

/** A chunk with parts; with a reason the last one. */
export function chunk(parts: readonly object[], finishReason?: string, usageMetadata?: object): object {
  return {
    candidates: [{ content: { role: "model", parts }, index: 0, ...(finishReason && { finishReason }) }],
    ...(usageMetadata && { usageMetadata }),
    modelVersion: "gemini-4-argon",
    responseId: "r1",
  };
}

export const hi = [
  chunk([{ text: "Hi" }]),
  chunk([], "STOP", { promptTokenCount: 10, candidatesTokenCount: 2, totalTokenCount: 12 }),
];

/** A refusal as Google writes it. */
export function refusal(
  code: number,
  status: string,
  message: string,
  details: readonly object[] = [],
): LoopbackReply {
  return {
    status: code,
    headers: { "content-type": "application/json; charset=UTF-8" },
    chunks: [JSON.stringify({ error: { code, status, message, details } })],
  };
}

/** The variables of Google that a test begins with: none of the machine's. */
export function googleEnvironment(variables: Record<string, string>): void {
  for (const name of Object.keys(process.env))
    if (/^(?:GOOGLE|GEMINI|GCE|GCLOUD|CLOUDSDK|METADATA)_/.test(name)) vi.stubEnv(name, undefined);
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
}

/** The metadata server of an instance: the credentials of its account, without a network. */
function metadata(path: string): LoopbackReply {
  const head = { "metadata-flavor": "Google", "content-type": "application/json" };
  const token = { access_token: "adc-1", expires_in: 3_600, token_type: "Bearer" };
  if (path.includes("/token")) return { headers: head, chunks: [JSON.stringify(token)] };
  return { headers: { ...head, "content-type": "text/plain" }, chunks: ["googleapis.com"] };
}

/** Asks the real SDK, which asks a server on this machine. `SERVER` in a variable stands for its address. */
export async function ask(
  replies: LoopbackReply | readonly LoopbackReply[],
  question: Partial<ProviderQuestion> = {},
  variables: Record<string, string> = {},
) {
  const all = Array.isArray(replies) ? replies : [replies];
  let asked = 0;
  const server = await loopbackServer(({ path }) =>
    path.startsWith("/computeMetadata") ? metadata(path) : all[Math.min(asked++, all.length - 1)]!,
  );
  onTestFinished(() => server.close());
  const given: Record<string, string> = {
    GOOGLE_CLOUD_PROJECT: "project-1",
    GEMINI_API_KEY: "key-1",
    GOOGLE_VERTEX_BASE_URL: "SERVER",
    GOOGLE_GEMINI_BASE_URL: "SERVER",
    GCE_METADATA_HOST: server.url.replace("http://", ""),
    METADATA_SERVER_DETECTION: "assume-present",
    HOME: "/nonexistent",
    ...variables,
  };
  googleEnvironment(
    Object.fromEntries(
      Object.entries(given).map(([name, value]) => [name, value.replace("SERVER", server.url)]),
    ),
  );
  const outcome = await askProvider(vertex, { model: "gemini/gemini-4-argon", ...question });
  const requests = server.requests.filter(({ path }) => !path.startsWith("/computeMetadata"));
  return { ...outcome, requests };
}
