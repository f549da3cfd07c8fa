import type { UserMessage } from "@bonsai-agent/messages";
import type { PromptInput } from "./prompt-input.ts";

/** What a user typed, as a message. */
export function userMessage(
  { text, images = [] }: Pick<PromptInput, "text" | "images">,
  timestamp: number,
): UserMessage {
  const content = images.length === 0 ? text : [{ type: "text" as const, text }, ...images];
  return { role: "user", content, timestamp };
}
