import { contentText, type ToolResultMessage } from "@bonsai-agent/messages";
import { ModelClient, type ProviderCall } from "@bonsai-agent/models";
import { openSession } from "@bonsai-agent/session";
import { type Random, seededRandom } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../src/tools/tool-registry.ts";
import { unpaired } from "./pairs.ts";
import { actor, recordEvents, scriptedAgent, sentText } from "./scripted-agent.ts";
import { simulatedServer } from "./simulated-server.ts";

/** Words of a server that tell all, the window alone, and nothing. */
const refusals = [
  (input: number, window: number) => `prompt is too long: ${input} tokens > ${window} maximum`,
  (_input: number, window: number) => `Range of input length should be [1, ${window}]`,
  () => "Input is too long for requested model",
];
const scripts = [
  "abc def. ",
  "const x = load(path);\n",
  "山川さくらみどり。",
  "Größe und Länge der Straße. ",
];
const PARTS = 6;

const tokensOf = (random: Random, windowTokens: number): number =>
  random.chance(0.03) ? random.int(windowTokens * 3) : random.int(random.pick([100, windowTokens / 8]));

/** Gives back so much of some script, with a head and a tail of its own. */
const fetchTool = (random: Random) =>
  defineTool({
    name: "fetch",
    description: "Fetches a text.",
    parameters: z.object({ chars: z.number(), script: z.string() }),
    execute: async ({ input: { chars, script }, toolCallId }) => {
      if (random.chance(0.02)) throw new Error(`no such text ${toolCallId}`);
      const text = script.repeat(Math.ceil(chars / script.length));
      return { content: [{ type: "text", text: `head of ${toolCallId} ${text} tail of ${toolCallId}` }] };
    },
  });

/** A day's work of one seed, and all that was wrong with what the server was sent. */
async function workday(seed: number) {
  const random = seededRandom(seed);
  const windowTokens = random.pick([12_000, 16_000, 32_000, 64_000]);
  const contextWindow = random.pick([windowTokens, windowTokens, windowTokens * 2, 0]);
  const refuse = random.pick(refusals);
  const wrong: string[] = [];
  const unseen = new Map<string, string>();
  let latest = "";
  let left = 0;
  const check = (call: ProviderCall) => {
    const text = sentText(call);
    wrong.push(...unpaired(call.messages));
    if (!text.includes(latest)) wrong.push(`lacks the latest request: ${latest}`);
    for (const [id, stored] of unseen) {
      const sent = call.messages.find(
        (each): each is ToolResultMessage => each.role === "toolResult" && each.toolCallId === id,
      );
      const shown = contentText(sent?.content ?? []);
      if (shown === stored) continue;
      if (!shown.includes(stored.slice(0, 20)) || !shown.includes(stored.slice(-20)))
        wrong.push(`the result of ${id} was never shown: ${shown.slice(0, 40)}`);
    }
  };
  const server = simulatedServer({
    random,
    windowTokens,
    skew: random.pick([0.7, 1, 1.3, 1.6]),
    refusal: (input, window) => ({ status: 400, message: refuse(input, window) }),
    troubles: random.pick([0, 0.05]),
    badSummaries: random.pick([0, 0.3, 1]),
    onTurn: check,
    onAnswer: () => unseen.clear(),
    turn: () => {
      if (left-- <= 0) return [];
      return Array.from({ length: 1 + random.int(3) }, () => {
        const script = random.pick(scripts);
        return { name: "fetch", arguments: { chars: tokensOf(random, windowTokens) * 2, script } };
      });
    },
  });
  const run = scriptedAgent({
    turn: [],
    models: new ModelClient({
      providers: { scripted: async () => server },
      retry: { maxRetries: 10, baseDelayMs: 1 },
      sleep: async () => {},
    }),
    model: { ...actor, contextWindow },
    tools: [fetchTool(random)],
    policy: { estimator: "calibrated" },
  });
  const events = recordEvents(run.lifecycle);
  run.lifecycle.on("message_stored", ({ message }) => {
    if (message.role === "user") latest = contentText(message.content);
    if (message.role === "toolResult") unseen.set(message.toolCallId, contentText(message.content));
  });
  const results: string[] = [];
  for (let part = 1; part <= PARTS; part++) {
    left = random.chance(0.2) ? 30 : random.int(8);
    unseen.clear();
    const said = part === 1 ? "Never touch X-kestrel. " : "";
    const { status, error } = await run.agent.prompt(
      `${said}Work on part ${part} of ${PARTS}: ${random.pick(scripts).repeat(random.int(30))}`,
    );
    results.push(status === "failed" ? `failed: ${error?.message}` : status);
  }
  return { ...run, events, results, wrong };
}

/** Small windows, every kind of refusal, and one unknown window. `pnpm laws` plays more and larger days. */
const seeds = process.env.LAW_RUNS ? Array.from({ length: 12 }, (_, index) => index + 4) : [7, 8, 9, 14];

test.each(seeds)(
  "a day's work at a server that counts in its own way never runs out of context (seed %i)",
  async (seed) => {
    const { agent, session, events, results, wrong } = await workday(seed);
    expect(wrong).toEqual([]);
    expect(results).toEqual(results.map(() => "done"));
    expect(agent.isBusy).toBe(false);

    const count = (name: string) => events.filter((each) => each.startsWith(name)).length;
    for (const kind of ["agent", "turn", "tool_execution", "auto_compaction"])
      expect({ kind, ended: count(`${kind}_end`) }).toEqual({ kind, ended: count(`${kind}_start`) });

    const path = session.path();
    const answers = path.filter((entry) => entry.type === "message" && entry.message.role === "assistant");
    const compactions = path.filter((entry) => entry.type === "compaction");
    expect(compactions.length).toBeLessThanOrEqual(answers.length);
    if (compactions.length > 0)
      expect(JSON.stringify(session.projection().items.map(({ message }) => message))).toContain("X-kestrel");

    expect(session.problems()).toEqual([]);
    expect(openSession({ store: session.store }).projection()).toEqual(session.projection());
  },
);
