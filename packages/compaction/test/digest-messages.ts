import { emptyUsage, type Message } from "@bonsai-agent/messages";
import { digest } from "../src/digest.ts";

/** Messages for the tests of the digest, and its answer by section. */
export const user = (text: string): Message => ({
  role: "user",
  content: [{ type: "text", text }],
  timestamp: 0,
});

export const answer = (text: string): Message => assistant([{ type: "text", text }], "stop");

let calls = 0;

export function call(
  name: string,
  args: Record<string, unknown>,
  output: string,
  isError = false,
): Message[] {
  const id = `call_${++calls}`;
  const content = [{ type: "text" as const, text: output }];
  return [
    assistant([{ type: "toolCall", id, name, arguments: args }], "toolUse"),
    { role: "toolResult", toolCallId: id, toolName: name, content, isError, timestamp: 0 },
  ];
}

export const run = (command: string, output: string, isError = false): Message[] =>
  call("bash", { command }, output, isError);

function assistant(
  content: Extract<Message, { role: "assistant" }>["content"],
  stopReason: "stop" | "toolUse",
): Message {
  const origin = { api: "scripted", provider: "scripted", model: "scripted" };
  return { role: "assistant", content, ...origin, usage: emptyUsage(), stopReason, timestamp: 0 };
}

export interface DigestParts {
  previousSummary?: string;
  following?: readonly Message[];
  focus?: string;
  maxTokens?: number;
}

/** The digest's lines by heading, without "(none)". */
export function digested(messages: readonly Message[], parts: DigestParts = {}): Record<string, string> {
  return sectionsOf(digest({ kind: "history", maxTokens: 3_600, ...parts, messages }));
}

export function sectionsOf(text: string): Record<string, string> {
  const blocks = text.split(/^#{2,3} /m).slice(1);
  return Object.fromEntries(
    blocks.map((block) => {
      const end = block.indexOf("\n");
      const body = end === -1 ? "" : block.slice(end + 1).trim();
      return [end === -1 ? block : block.slice(0, end), body === "(none)" ? "" : body];
    }),
  );
}
