import { count } from "@bonsai-agent/messages/numbers";
import { z } from "zod";
import type { Agent } from "./agent.ts";
import { BUDGET_STEPS, type ContextBudget, percentOf } from "./prompt/budget-line.ts";
import { defineTool, type Tool, type ToolResult } from "./tools/tool-registry.ts";

const DESCRIPTION =
  "Shows how full your context is. With compact: true, asks for a compaction before your next request: a summary replaces the older messages. Ask at a good moment, such as after a finished step.";

const parameters = z.object({
  compact: z.boolean().optional(),
  focus: z.string().optional().describe("With compact: what the summary must keep."),
});

/** The tool `context`: shows the model its budget and takes its requests for a compaction. */
export function contextTool(agent: () => Agent): Tool {
  return defineTool({
    name: "context",
    label: "Context",
    description: DESCRIPTION,
    parameters,
    async execute({ input: { compact = false, focus } }) {
      const budget = agent().budget;
      if (budget === undefined)
        return resultOf("Automatic compaction is off, so there is no budget.", compact);
      const used = `About ${count(budget.tokens)} of ${count(budget.limitTokens)} tokens are used (${percentOf(budget)}%). At 100%, a summary replaces the older messages.`;
      if (!compact) return resultOf(used);
      const refusal = refusalOf(agent(), budget);
      if (refusal !== undefined) return resultOf(`${refusal} ${used}`, true);
      const focused = focus === undefined || focus.trim() === "" ? {} : { focus };
      // The run compacts before its next request. It waits for this tool until then.
      void agent().requestCompaction({ ...focused, ignoresRecentFailure: false });
      return resultOf("The compaction runs before your next request.");
    },
  });
}

/** The same rules as for a compaction by threshold, and none below the first step. */
function refusalOf({ settings }: Agent, budget: ContextBudget): string | undefined {
  if (!settings.compaction.allowRequests)
    return "The user does not let you ask for compactions (compaction.allowRequests).";
  if (budget.refusal !== undefined) return `No compaction now: ${budget.refusal}`;
  const [first = 0] = BUDGET_STEPS;
  return percentOf(budget) < first ? `It is too early: you can ask from ${first}% on.` : undefined;
}

function resultOf(text: string, isError = false): ToolResult {
  return { content: [{ type: "text", text }], isError };
}
