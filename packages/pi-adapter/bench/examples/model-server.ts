import { setTimeout as wait } from "node:timers/promises";
import { type LoopbackServer, loopbackServer, sseChunks, type WireName, wires } from "@bonsai-agent/testkit";

/** The model's answer to one request. */
export type ScriptedAnswer =
  | string
  | {
      text?: string;
      thinking?: string;
      calls?: readonly { name: string; arguments: object }[];
      /** Waits so long before it answers. */
      afterMs?: number;
    };

export interface ModelServer extends Pick<LoopbackServer, "url" | "close"> {
  /** The bodies of all requests to a model so far, as JSON. */
  asked(): string[];
}

/** Requests of other hosts than a model's. */
const otherHosts: Readonly<Record<string, unknown>> = {
  "/console.anthropic.com/v1/oauth/token": { access_token: "a", refresh_token: "r", expires_in: 7_200 },
  "/gitlab.com/oauth/token": {
    ...{ access_token: "a", refresh_token: "r", expires_in: 7_200 },
    created_at: Math.round(Date.now() / 1_000),
  },
  "/gitlab.com/api/v4/ai/third_party_agents/direct_access": { token: "t", headers: {} },
};

/** Speaks each protocol by its path, says its answers in their order, and then "Done." to everything. */
export async function modelServer(answers: readonly ScriptedAnswer[]): Promise<ModelServer> {
  const waiting = [...answers];
  const asked: string[] = [];
  const server = await loopbackServer(async ({ path, body }) => {
    const protocol = protocolOf(path);
    if (protocol === undefined) return jsonReply(otherHosts[path]);
    asked.push(JSON.stringify(body));
    const answer = waiting.shift() ?? "Done.";
    const { calls, afterMs = 0, ...said } = typeof answer === "string" ? { text: answer } : answer;
    await wait(afterMs);
    const events = wires[protocol].answer({
      ...said,
      ...(calls && { calls: calls.map((call, at) => wireCall(call, `${asked.length}_${at}`)) }),
    });
    return { headers: { "content-type": "text/event-stream" }, chunks: sseChunks(events) };
  });
  return { url: server.url, close: () => server.close(), asked: () => asked };
}

function jsonReply(value: unknown) {
  return {
    status: value === undefined ? 404 : 200,
    headers: { "content-type": "application/json" },
    chunks: [JSON.stringify(value ?? {})],
  };
}

function wireCall(call: { name: string; arguments: object }, id: string) {
  return { id: `call_${id}`, name: call.name, arguments: JSON.stringify(call.arguments) };
}

function protocolOf(path: string): WireName | undefined {
  if (path.includes("/messages")) return "anthropic-messages";
  if (path.includes("/responses")) return "openai-responses";
  return path.includes("/chat/completions") ? "openai-chat" : undefined;
}
