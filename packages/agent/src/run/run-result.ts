import type { AssistantMessage, BonsaiError } from "@bonsai-agent/messages";
import type { PromptInput } from "./prompt-input.ts";

/** How a run ended. */
export interface RunResult {
  /**
   * `handled`: an extension took the text, nothing was sent. `paused`: a compaction under the setting
   * `afterThreshold: "wait"`; the next prompt goes on. `queued`: the text waits, and so would whoever gave it: the
   * agent waits for that handler or tool.
   */
  status: "done" | "aborted" | "failed" | "handled" | "paused" | "queued";
  /** The last answer of the run, if there was one. */
  answer?: AssistantMessage | undefined;
  /** With the status `failed`. */
  error?: BonsaiError | undefined;
  /** Texts that were given to the agent and neither said nor stored, oldest first; absent where there are none. */
  unsent?: readonly PromptInput[] | undefined;
}
