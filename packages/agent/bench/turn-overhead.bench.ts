import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, agentSettings } from "@bonsai-agent/agent";
import { ModelClient } from "@bonsai-agent/models";
import { createSession } from "@bonsai-agent/session";
import { type BenchTable, type LoopbackServer, loopbackServer, sseChunks } from "@bonsai-agent/testkit";
import OpenAI from "openai";
import { benchModel } from "./actor-model.ts";

const TURNS = 150;
const DELTAS = 20;
const ROUNDS = 3;

/** Cost of a turn of the agent beyond a bare call of the SDK: events, the session file, checks, the meter. */
export default async function bench(): Promise<BenchTable> {
  const server = await loopbackServer(() => ({
    headers: { "content-type": "text/event-stream" },
    chunks: [answer()],
  }));
  try {
    await bareMs(server, 20);
    await agentMs(server, 20);
    const bare: number[] = [];
    const ours: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      bare.push(await bareMs(server, TURNS));
      ours.push(await agentMs(server, TURNS));
    }
    const [bareEach, oursEach] = [median(bare), median(ours)];
    return {
      title: `A turn of the agent against a bare SDK call, ${TURNS} turns of one session, ${DELTAS} deltas each`,
      columns: ["way", "each turn", "ratio"],
      rows: [
        ["bare openai SDK, messages kept in an array", `${bareEach.toFixed(2)} ms`, "1.0x"],
        ["agent, session on disk", `${oursEach.toFixed(2)} ms`, `${(oursEach / bareEach).toFixed(2)}x`],
      ],
      notes: [`The agent adds ${(oursEach - bareEach).toFixed(2)} ms to a turn.`],
    };
  } finally {
    await server.close();
  }
}

async function bareMs({ url }: LoopbackServer, turns: number): Promise<number> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none" });
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "system", content: "Be brief." }];
  const start = performance.now();
  for (let turn = 0; turn < turns; turn += 1) {
    messages.push({ role: "user", content: `Turn ${turn}: what next?` });
    const stream = await client.chat.completions.create({ model: "actor", stream: true, messages });
    let content = "";
    for await (const chunk of stream) content += chunk.choices[0]?.delta.content ?? "";
    messages.push({ role: "assistant", content });
  }
  return (performance.now() - start) / turns;
}

async function agentMs({ url }: LoopbackServer, turns: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-bench-"));
  const agent = new Agent({
    session: createSession({ cwd: folder, file: join(folder, "session.jsonl") }),
    models: new ModelClient(),
    model: benchModel({ contextWindow: 1_000_000, api: "openai-chat", baseUrl: `${url}/v1` }),
    settings: agentSettings({ titles: false }),
    tools: [],
    systemPrompt: "Be brief.",
  });
  const start = performance.now();
  for (let turn = 0; turn < turns; turn += 1) {
    const { status, error } = await agent.prompt(`Turn ${turn}: what next?`);
    if (status !== "done") throw error ?? new Error(status);
  }
  const each = (performance.now() - start) / turns;
  await agent.close();
  rmSync(folder, { recursive: true, force: true });
  return each;
}

/** All in one piece: what the network takes is not to be measured. */
function answer(): string {
  const head = { id: "1", object: "chat.completion.chunk", created: 0, model: "actor" };
  const deltas = Array.from({ length: DELTAS }, (_, at) => ({
    data: { ...head, choices: [{ index: 0, delta: { content: `word ${at} ` }, finish_reason: null }] },
  }));
  const end = { data: { ...head, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] } };
  const usage = { prompt_tokens: 100, completion_tokens: DELTAS, total_tokens: 100 + DELTAS };
  return sseChunks([...deltas, end, { data: { ...head, choices: [], usage } }, { data: "[DONE]" }]).join("");
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
