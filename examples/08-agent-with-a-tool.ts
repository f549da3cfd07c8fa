/**
 * An agent with one tool. The tool's results exceed the model's window, so the agent compacts its context while it works.
 *
 *     node 08-agent-with-a-tool.ts                                  a scripted model, see below
 *     node 08-agent-with-a-tool.ts anthropic/claude-sonnet-4-5      a real model, with your key
 */
import {
  Agent,
  agentSettings,
  defineTool,
  type LifecycleEvents,
  lifecycleEventRules,
} from "@bonsai-agent/agent";
import { summarySections } from "@bonsai-agent/compaction";
import { Lifecycle } from "@bonsai-agent/lifecycle";
import { messageText } from "@bonsai-agent/messages";
import { type CatalogueModel, KeyFile, loadCatalogue, ModelClient } from "@bonsai-agent/models";
import { type Scenario, scriptedProvider } from "@bonsai-agent/models/scripted";
import { bonsaiHome, createSession } from "@bonsai-agent/session";
import { z } from "zod";

const readSensor = defineTool({
  name: "read_sensor",
  description: "The temperatures that a sensor measured on one day, in degrees Celsius.",
  parameters: z.object({ day: z.number().int().min(1).max(7) }),
  async execute({ input: { day }, signal }) {
    signal.throwIfAborted();
    const lines = Array.from(
      { length: 480 },
      (_, minute) => `day ${day}, ${minute * 3} min: ${18 + ((minute * day) % 7)}`,
    );
    return { content: [{ type: "text", text: lines.join("\n") }], details: { lines: lines.length } };
  },
});

const { model, models } = await chosenModel(process.argv[2]);
const lifecycle = new Lifecycle<LifecycleEvents>({ rules: lifecycleEventRules });
lifecycle.on("tool_execution_start", ({ toolName, args }) =>
  console.log(`${toolName} ${JSON.stringify(args)}`),
);
lifecycle.on("auto_compaction_end", ({ outcome }) =>
  console.log(`${outcome.status}: ${outcome.tokensBefore} tokens, now ${outcome.tokensAfter}`),
);

const agent = new Agent({
  session: createSession({ cwd: process.cwd() }), // add `file` to keep it on disk
  models,
  model,
  settings: agentSettings(),
  tools: [readSensor],
  systemPrompt: "You look after a greenhouse.",
  lifecycle,
});
const { status, answer } = await agent.prompt("On which day of the week was it warmest?");
console.log(`${status}: ${answer ? messageText(answer) : "no answer"}`);
console.log(
  `${agent.session.entries().length} entries stored, ${agent.session.projection().items.length} in the context`,
);
await agent.close();

async function chosenModel(
  name: string | undefined,
): Promise<{ model: CatalogueModel; models: ModelClient }> {
  const home = bonsaiHome();
  if (name !== undefined) {
    const catalogue = await loadCatalogue({ home, env: process.env });
    const keys = new KeyFile({ home, env: process.env });
    return { model: await catalogue.find(name), models: new ModelClient({ keys }) };
  }
  const provider = scriptedProvider(script());
  const models = new ModelClient({ providers: { scripted: async () => provider } });
  const sizes = { contextWindow: 16_000, maxOutputTokens: 1_000 };
  const model = {
    provider: "scripted",
    id: "actor",
    name: "Actor",
    api: "scripted",
    baseUrl: "",
    reasoning: false,
  } as const;
  return { model: { ...model, input: ["text"], ...sizes }, models };
}

/** Seven calls and an answer, and the summaries. */
function script(): Scenario {
  const calls = [1, 2, 3, 4, 5, 6, 7].map((day) => ({
    calls: [{ name: "read_sensor", arguments: { day } }],
  }));
  const headings = [...summarySections.history, ...summarySections.turnPrefix];
  const text = headings.map((heading) => `## ${heading}\nThe warmest day so far is day 3.`).join("\n\n");
  return { turn: [...calls, { text: "It was warmest on day 3." }], summary: Array(4).fill({ text }) };
}
