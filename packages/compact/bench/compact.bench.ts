import type { BenchTable } from "@bonsai-agent/testkit";
import { generateText, isStepCount } from "ai";
import { withCompaction } from "../src/ai-sdk.ts";
import { compactMessages } from "../src/index.ts";
import { requestSizes, scriptedModel, tools } from "../test/scripted-model.ts";

const PAGES = 120;
const prompt = "Read the manual. Never open valve 7.";
const stopWhen = isStepCount(PAGES + 1);

/** The tokens of each request of a tool loop, and the time of a compaction as a ratio to `JSON.stringify` of the list. */
export default async function bench(): Promise<BenchTable[]> {
  return [await tokensPerStep(), await times()];
}

async function tokensPerStep(): Promise<BenchTable> {
  const plain = scriptedModel({ pages: PAGES });
  await generateText({ model: plain, tools, stopWhen, prompt });
  const without = requestSizes(plain);
  const windows = [16_000, 32_000, 64_000];
  const runs = await Promise.all(windows.map(sizesWithin));
  const steps = [0, 20, 40, 60, 80, 100, PAGES];
  const sum = (sizes: number[]) => sizes.reduce((total, size) => total + size, 0);
  return {
    title: `AI SDK tool loop: tokens of a request, ${PAGES} results of 800 tokens`,
    columns: ["step", "without", ...windows.map((window) => `window of ${window}`)],
    rows: [
      ...steps.map((step) => [
        String(step),
        String(without[step]),
        ...runs.map((sizes) => String(sizes[step])),
      ]),
      ["all", String(sum(without)), ...runs.map((sizes) => String(sum(sizes)))],
    ],
  };
}

async function sizesWithin(window: number): Promise<number[]> {
  const model = scriptedModel({ pages: PAGES });
  await generateText(withCompaction({ model, tools, stopWhen, prompt }, { settings: { window } }));
  return requestSizes(model);
}

async function times(): Promise<BenchTable> {
  const messages = Array.from({ length: 250 }, (_, turn) => [
    {
      role: "user" as const,
      content: `Mend test ${turn} in src/file${turn}.ts. Leave config${turn}.json alone.`,
    },
    {
      role: "assistant" as const,
      content: null,
      tool_calls: [
        {
          id: `call_${turn}`,
          type: "function" as const,
          function: { name: "bash", arguments: JSON.stringify({ command: `cat src/file${turn}.ts` }) },
        },
      ],
    },
    {
      role: "tool" as const,
      tool_call_id: `call_${turn}`,
      content: `const value${turn} = ${turn};\n`.repeat(60),
    },
    { role: "assistant" as const, content: `Test ${turn} passes.` },
  ]).flat();
  const json = await median(async () => JSON.stringify(messages));
  const format = "openai-chat";
  const compacted = await compactMessages({ messages, format, settings: { window: 64_000 } });
  const { state } = compacted;
  const calls: [string, () => Promise<unknown>][] = [
    ["below the threshold", () => compactMessages({ messages, format, settings: { window: 1e6 } })],
    ["compacted with the digest", () => compactMessages({ messages, format, settings: { window: 64_000 } })],
    [
      "full list with a state",
      () => compactMessages({ messages, format, settings: { window: 64_000 }, state }),
    ],
  ];
  const rows = [["JSON.stringify", json.toFixed(1), "1"]];
  for (const [name, call] of calls) {
    const ms = await median(call);
    rows.push([name, ms.toFixed(1), (ms / json).toFixed(1)]);
  }
  return {
    title: `compactMessages: ${messages.length} messages, ${compacted.report.tokensBefore} tokens`,
    columns: ["call", "ms", "ratio"],
    rows,
  };
}

/** The median of nine runs, after two to warm up. */
async function median(run: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let at = 0; at < 11; at++) {
    const start = performance.now();
    await run();
    times.push(performance.now() - start);
  }
  return times.slice(2).sort((a, b) => a - b)[4]!;
}
