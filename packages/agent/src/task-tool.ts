import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { Session } from "@bonsai-agent/session";
import { z } from "zod";
import type { LifecycleEvents } from "./lifecycle-events.ts";
import type { RunResult } from "./run-result.ts";
import { defineTool, type Tool } from "./tool.ts";

/** What the task tool needs of an agent. */
export interface SubAgent {
  readonly session: Session;
  prompt(text: string): Promise<RunResult>;
  abort(): Promise<void>;
  close(): Promise<void>;
}

export interface TaskToolOptions {
  /** The parent's. */
  session: Session;
  /** The parent's: its guards watch over the sub-agents too. */
  lifecycle: Lifecycle<LifecycleEvents>;
  /**
   * Opens an agent that works in this session and tells this lifecycle: with the parent's model as it is now, the same
   * tools without this one, and `isSubAgent`.
   */
  startAgent(own: { session: Session; lifecycle: Lifecycle<LifecycleEvents> }): Promise<SubAgent> | SubAgent;
}

const parameters = z.object({
  description: z.string().min(1).describe("The task in three to eight words, for the user to see."),
  prompt: z
    .string()
    .min(1)
    .describe("Everything the sub-agent must know: it sees nothing of this conversation."),
});

/** The tool `task`: gives a piece of work to an agent with a context of its own. */
export function taskTool(_options: TaskToolOptions): Tool {
  return defineTool({
    name: "task",
    description: "",
    parameters,
    execute: async () => ({ content: [] }),
  });
}
