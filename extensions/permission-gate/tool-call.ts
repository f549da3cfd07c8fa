import { fileOperations, type Message, textHead } from "@bonsai-agent/extension";

/** A call of a tool, as guards see it. */
export interface ToolCall {
  toolCallId: string;
  toolName: string;
  input: Record<string, unknown>;
}

/** Returns the files that a call changes, by the shape of its arguments: tools of other extensions count too. */
export function changedFiles({ toolCallId, toolName, input }: ToolCall): readonly string[] {
  const call = { type: "toolCall", id: toolCallId, name: toolName, arguments: input };
  return fileOperations([{ role: "assistant", content: [call] } as unknown as Message]).modified;
}

/** Returns the line of shell that a call runs. Any tool with a `command` runs it: a text, or a list of words. */
export function lineOf({ input: { command } }: ToolCall): string | undefined {
  if (typeof command === "string") return command;
  if (!Array.isArray(command)) return undefined;
  return command.map((word) => `'${String(word).replaceAll("'", String.raw`'\''`)}'`).join(" ");
}

/** Returns a text without characters that move a terminal's cursor, shortened to `length`. */
export function shown(text: string, length = 200): string {
  const clean = text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (char) => (char === "\n" || char === "\t" ? char : "�"));
  return clean.length <= length ? clean : `${textHead(clean, length)} … (${clean.length} characters)`;
}
