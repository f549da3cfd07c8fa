import type { ToolCall } from "./content.ts";
import type { Message } from "./message.ts";

/** The blocks of a content value; a string is one text block, a missing or damaged value is none. */
export function contentBlocks(content: unknown): Array<Record<string, unknown> & { type: string }> {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.filter(
    (block) => typeof block === "object" && block !== null && typeof block.type === "string",
  );
}

/** The text of a content value, blocks joined by newlines; thinking, calls and images are left out. */
export function contentText(content: unknown): string {
  return contentBlocks(content)
    .map((block) => (block.type === "text" && typeof block.text === "string" ? block.text : ""))
    .filter((text) => text !== "")
    .join("\n");
}

/** The tool calls of a message, in order; none for any but an assistant message. */
export function toolCalls(message: Message): ToolCall[] {
  if (message.role !== "assistant") return [];
  return contentBlocks(message.content).filter((block) => block.type === "toolCall") as unknown as ToolCall[];
}

/** The text a message says to the model, without thinking, calls and images. */
export function messageText(message: Message): string {
  switch (message.role) {
    case "bashExecution":
      return bashExecutionText(message);
    case "branchSummary":
    case "compactionSummary":
      return message.summary;
    default:
      return contentText(message.content);
  }
}

/** How a command run by the user reads in the model's context. */
export function bashExecutionText(message: {
  command: string;
  output: string;
  exitCode?: number | undefined;
  cancelled: boolean;
}): string {
  const outcome = message.cancelled
    ? "\n(cancelled)"
    : message.exitCode !== undefined && message.exitCode !== 0
      ? `\n(exit code ${message.exitCode})`
      : "";
  return `$ ${message.command}\n${message.output || "(no output)"}${outcome}`;
}
