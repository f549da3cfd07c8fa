/**
 * The tool loop of the AI SDK with compaction. An agent reads a long manual, once without compaction and once with it.
 * Prints the tokens of each request.
 *
 *     node 13-ai-sdk-agent.ts
 */
import { withCompaction } from "@bonsai-agent/compact/ai-sdk";
import { isStepCount, ToolLoopAgent, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { z } from "zod";

const tools = {
  read_page: tool({
    description: "Reads a page of the manual.",
    inputSchema: z.object({ page: z.number() }),
    execute: async ({ page }) =>
      `Page ${page}. ${"Valves are opened slowly, and never under pressure. ".repeat(60)}`,
  }),
};
const stopWhen = isStepCount(60);
const prompt = "Read all 40 pages of the manual. Never open valve 7. What does it say?";

/** The tokens of each request of an agent, and its answer. */
export async function run(hasCompaction: boolean): Promise<{ sizes: number[]; text: string }> {
  const model = scriptedModel(); // in a real program: anthropic("claude-sonnet-4-5")
  const settings = { model, tools, stopWhen };
  const compacting = withCompaction(settings, {
    settings: { window: 16_000 }, // known models need no window
    onCompaction: ({ report }) =>
      console.log(`  ${report.status}: ${report.tokensBefore} -> ${report.tokensAfter}`),
  });
  const agent = new ToolLoopAgent(hasCompaction ? compacting : settings);
  const { text } = await agent.generate({ prompt });
  return { sizes: model.doGenerateCalls.map((call) => tokensOf(call.prompt)), text };
}

const [without, within] = [await run(false), await run(true)];
console.log("step  without  with");
for (const [step, size] of without.sizes.entries())
  if (step % 8 === 0)
    console.log(
      `${String(step).padStart(4)}  ${String(size).padStart(7)}  ${String(within.sizes[step]).padStart(4)}`,
    );
const sum = ({ sizes }: { sizes: number[] }) => sizes.reduce((tokens, size) => tokens + size, 0);
console.log(`all   ${sum(without)} tokens without, ${sum(within)} with`);
console.log(within.text);

function tokensOf(prompt: unknown): number {
  return Math.ceil(JSON.stringify(prompt).length / 4);
}

/** Reads one page after the other, then answers. */
function scriptedModel(): MockLanguageModelV4 {
  let page = 0;
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      page += 1;
      const call = { toolCallId: `call_${page}`, toolName: "read_page", input: JSON.stringify({ page }) };
      const isDone = page > 40;
      const total = tokensOf(prompt);
      return {
        content: [isDone ? { type: "text", text: "Open them slowly." } : { type: "tool-call", ...call }],
        finishReason: { unified: isDone ? "stop" : "tool-calls", raw: undefined },
        usage: {
          inputTokens: { total, noCache: total, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 20, text: 20, reasoning: 0 },
        },
        warnings: [],
      };
    },
  });
}
