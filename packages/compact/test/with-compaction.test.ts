import { summarySections } from "@bonsai-agent/compaction";
import {
  generateText,
  isStepCount,
  type ModelMessage,
  modelMessageSchema,
  streamText,
  ToolLoopAgent,
} from "ai";
import { expect, test } from "vitest";
import { withCompaction } from "../src/ai-sdk.ts";
import type { CompactReport, CompactState } from "../src/index.ts";
import { requestSizes, scriptedModel, tools } from "./scripted-model.ts";

const settings = { window: 16_000 };
const stopWhen = isStepCount(40);
const prompt = "Read the manual. Never open valve 7.";

/** The compactions of an agent, and their states. */
function compactionLog() {
  const reports: CompactReport[] = [];
  const states: (CompactState | null)[] = [];
  const onCompaction = ({ report, state }: { report: CompactReport; state: CompactState | null }) => {
    reports.push(report);
    states.push(state);
  };
  return { reports, states, onCompaction };
}

test("a tool loop stays below its threshold and keeps the user's sentence", async () => {
  const model = scriptedModel({ pages: 38 });
  const { reports, onCompaction } = compactionLog();
  const agent = new ToolLoopAgent(withCompaction({ model, tools, stopWhen }, { settings, onCompaction }));
  const { text, steps } = await agent.generate({ prompt });
  expect(text).toBe("Open them slowly.");
  expect(steps).toHaveLength(39);
  expect(Math.max(...requestSizes(model))).toBeLessThan(14_000);
  expect(reports.length).toBeGreaterThan(1);
  // Each compaction lasts for several steps.
  expect(reports.length).toBeLessThan(12);
  expect(JSON.stringify(model.doGenerateCalls.at(-1)!.prompt)).toContain("Never open valve 7.");
});

test("the types of an agent's tools and steps stay", async () => {
  const agent = new ToolLoopAgent(
    withCompaction({
      ...{ model: scriptedModel({ pages: 1 }), tools },
      prepareStep: ({ stepNumber, steps }) => ({ temperature: stepNumber + steps.length }),
      onStepEnd: ({ usage }) => expect(usage.inputTokens?.toFixed()).toMatch(/^\d+$/),
    }),
  );
  const { steps } = await agent.generate({ prompt });
  const [call] = steps[0]!.toolCalls;
  // The input has the type of the tool's schema.
  const page: number | undefined = call?.dynamic ? undefined : call?.input.page;
  expect(page).toBe(1);
  const result = streamText(
    withCompaction({
      ...{ model: scriptedModel({ pages: 0 }), tools, prompt },
      prepareStep: ({ stepNumber }) => ({ temperature: stepNumber }),
    }),
  );
  expect(await result.text).toBe("Open them slowly.");
});

test("a loop below its threshold sends the messages unchanged", async () => {
  const [plain, wrapped] = [scriptedModel({ pages: 3 }), scriptedModel({ pages: 3 })];
  await generateText({ model: plain, tools, stopWhen, prompt });
  await generateText(
    withCompaction({ model: wrapped, tools, stopWhen, prompt }, { settings: { window: 1e6 } }),
  );
  expect(wrapped.doGenerateCalls.map((call) => call.prompt)).toEqual(
    plain.doGenerateCalls.map((call) => call.prompt),
  );
});

test("the threshold comes from the catalogue's window of the model", async () => {
  const model = Object.assign(scriptedModel({ pages: 12 }), { provider: "openai.chat", modelId: "gpt-4" });
  const { reports, onCompaction } = compactionLog();
  await generateText(withCompaction({ model, tools, stopWhen, prompt }, { onCompaction }));
  expect(reports.length).toBeGreaterThan(0);
  expect(Math.max(...requestSizes(model))).toBeLessThan(8_192);
});

test("a refused request is compacted and sent again, once", async () => {
  const model = scriptedModel({ pages: 12, maxTokens: 6_000 });
  const { reports, onCompaction } = compactionLog();
  const { text } = await generateText(
    withCompaction(
      { model, tools, stopWhen, prompt, maxRetries: 0 },
      { settings: { window: 100_000 }, onCompaction },
    ),
  );
  expect(text).toBe("Open them slowly.");
  const [first] = reports;
  expect(first).toMatchObject({ reason: "overflow", status: "compacted" });
  // The next steps continue from the shorter list, below the window that the refusal named.
  const refused = requestSizes(model).filter((tokens) => tokens > 6_000);
  expect(refused).toHaveLength(1);
});

for (const refusesInStream of [false, true])
  test(`a stream that is refused ${refusesInStream ? "by its first part" : "at once"} continues after a compaction`, async () => {
    const model = scriptedModel({ pages: 12, maxTokens: 6_000, refusesInStream });
    const { reports, onCompaction } = compactionLog();
    const result = streamText(
      withCompaction({ model, tools, stopWhen, prompt, maxRetries: 0 }, { onCompaction }),
    );
    expect(await result.text).toBe("Open them slowly.");
    expect(reports[0]).toMatchObject({ reason: "overflow", status: "compacted" });
    expect(requestSizes(model).filter((tokens) => tokens > 6_000)).toHaveLength(1);
  });

test("errors other than an overflow reach the caller", async () => {
  const model = scriptedModel({ pages: 1 });
  model.doGenerate = async () => {
    throw new Error("Invalid API key.");
  };
  await expect(generateText(withCompaction({ model, prompt, maxRetries: 0 }))).rejects.toThrow(
    "Invalid API key.",
  );
});

test("a prepareStep of the agent runs first and keeps its result", async () => {
  const model = scriptedModel({ pages: 24 });
  const { reports, onCompaction } = compactionLog();
  const seen: ModelMessage[][] = [];
  await generateText(
    withCompaction(
      {
        ...{ model, tools, stopWhen, prompt },
        prepareStep: ({ initialMessages, responseMessages, stepNumber }) => {
          // It builds the whole list again at each step.
          const messages = [...initialMessages, ...responseMessages];
          seen.push(messages);
          return { messages, temperature: stepNumber / 100 };
        },
      },
      { settings, onCompaction },
    ),
  );
  expect(seen).toHaveLength(25);
  expect(model.doGenerateCalls.map(({ temperature }) => temperature)).toContain(0.24);
  expect(Math.max(...requestSizes(model))).toBeLessThan(14_000);
  expect(reports.length).toBeLessThan(6);
});

test("concurrent calls of one agent have their own states", async () => {
  const model = scriptedModel({ pages: 60 });
  const agent = new ToolLoopAgent(withCompaction({ model, tools, stopWhen: isStepCount(20) }, { settings }));
  const sentences = ["Never open valve 7.", "Never close gate 9."];
  const results = await Promise.all(sentences.map((sentence) => agent.generate({ prompt: sentence })));
  const prompts = model.doGenerateCalls.map((call) => JSON.stringify(call.prompt));
  expect(results).toHaveLength(2);
  for (const text of prompts) expect(sentences.filter((sentence) => text.includes(sentence))).toHaveLength(1);
});

test("a stored state continues in the next call with the full list", async () => {
  const { states, reports, onCompaction } = compactionLog();
  const first = await generateText(
    withCompaction(
      { model: scriptedModel({ pages: 20 }), tools, stopWhen, prompt },
      { settings, onCompaction },
    ),
  );
  const messages: ModelMessage[] = [
    { role: "user", content: prompt },
    ...first.responseMessages,
    { role: "user", content: "And page 13?" },
  ];
  const state = JSON.parse(JSON.stringify(states.at(-1)));
  const count = reports.length;
  const model = scriptedModel({ pages: 0 });
  await generateText(withCompaction({ model, tools, messages }, { settings, state, onCompaction }));
  expect(reports).toHaveLength(count);
  expect(JSON.stringify(model.doGenerateCalls[0]!.prompt)).toContain("Record of the earlier conversation");
  expect(requestSizes(model)[0]).toBeLessThan(14_000);
});

test("a model of the AI SDK writes the summary, and the digest replaces a failed one", async () => {
  const text = [...summarySections.history, ...summarySections.turnPrefix]
    .map((name) => `## ${name}\nRead the manual: valves open slowly.`)
    .join("\n\n");
  const writer = scriptedModel({ pages: 0 });
  const answer = writer.doGenerate;
  writer.doGenerate = async (options) => ({ ...(await answer(options)), content: [{ type: "text", text }] });
  const broken = async () => {
    throw new Error("no credit");
  };
  for (const [summariser, author] of [
    [writer, "model"],
    [broken, "digest"],
  ] as const) {
    const { reports, onCompaction } = compactionLog();
    const model = scriptedModel({ pages: 18 });
    await generateText(
      withCompaction({ model, tools, stopWhen, prompt }, { settings, model: summariser, onCompaction }),
    );
    expect(reports[0]?.summarisedBy).toBe(author);
  }
});

test("messages for the model are valid after a compaction", async () => {
  const model = scriptedModel({ pages: 18 });
  const lists: ModelMessage[][] = [];
  const onStepStart = ({ messages }: { messages: ModelMessage[] }) => void lists.push(messages);
  await generateText(withCompaction({ model, tools, stopWhen, prompt, onStepStart }, { settings }));
  for (const message of lists.flat()) expect(modelMessageSchema.safeParse(message).error).toBeUndefined();
});
