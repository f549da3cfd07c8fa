import type { ImageContent } from "@bonsai-agent/messages";

/** Where a text came from. */
export type InputSource = "interactive" | "rpc" | "print" | "extension";

/** How a text reaches an agent that is at work. */
export type StreamingBehavior = "steer" | "followUp";

/** What somebody wants to say to the agent. */
export interface PromptInput {
  text: string;
  images?: readonly ImageContent[] | undefined;
  source: InputSource;
}

/** A text that waits for the agent. */
export interface QueuedInput extends PromptInput {
  behavior: StreamingBehavior;
}
