import { contentText, type Message } from "@bonsai-agent/messages";
import type { ToolDeclaration } from "@bonsai-agent/models";

/** A message of a request in pi's shape. System messages contain the prompt and the tools. */
export interface TranscriptMessage {
  role: string;
  content?: unknown;
  [field: string]: unknown;
}

interface SystemMessage extends TranscriptMessage {
  sections?: Record<string, string | null>;
  toolsAdded?: ToolDeclaration[];
  toolsRemoved?: { name: string }[];
}

/** One system message with the prompt and the tools; undefined without both. */
function systemMessage(
  systemPrompt: string | undefined,
  tools: readonly ToolDeclaration[] = [],
): TranscriptMessage | undefined {
  if (!systemPrompt && tools.length === 0) return undefined;
  const added = tools.length === 0 ? {} : { toolsAdded: [...tools] };
  return { role: "system", content: systemPrompt ?? "", ...added, timestamp: Date.now() };
}

/** A request with the prompt and the tools as fields, for older versions of pi, and as a system message. */
export function piRequest<Message>(request: {
  systemPrompt: string;
  tools: readonly ToolDeclaration[];
  messages: readonly Message[];
}) {
  const { systemPrompt, tools, messages } = request;
  return { systemPrompt, tools, messages: [systemMessage(systemPrompt, tools) ?? [], ...messages].flat() };
}

/** The prompt after all system messages. */
export function currentSystemPrompt(messages: readonly TranscriptMessage[]): string {
  const sections = new Map<string, string>();
  const texts: string[] = [];
  for (const message of systemMessages(messages)) {
    texts.push(contentText(message.content));
    for (const [name, text] of Object.entries(message.sections ?? {})) {
      if (text === null) sections.delete(name);
      else sections.set(name, text);
    }
  }
  return [...texts, ...sections.values()].filter((text) => text !== "").join("\n\n");
}

/** The tools after all additions and removals of system messages. */
export function currentTools(messages: readonly TranscriptMessage[]): ToolDeclaration[] {
  const tools = new Map<string, ToolDeclaration>();
  for (const { toolsAdded = [], toolsRemoved = [] } of systemMessages(messages)) {
    for (const { name } of toolsRemoved) tools.delete(name);
    for (const tool of toolsAdded) tools.set(tool.name, tool);
  }
  return [...tools.values()];
}

/** The context with one system message at its head. */
export function collapseSystemMessages<Context extends { messages: readonly TranscriptMessage[] }>(
  context: Context,
): Context {
  const { messages } = context;
  const head = systemMessage(currentSystemPrompt(messages), currentTools(messages));
  return { ...context, messages: [head ?? [], ...withoutSystem(messages)].flat() };
}

export function withoutSystem(messages: readonly TranscriptMessage[]): TranscriptMessage[] {
  return messages.filter(({ role }) => role !== "system");
}

function systemMessages(messages: readonly TranscriptMessage[]): SystemMessage[] {
  return messages.filter(({ role }) => role === "system");
}

/** The message with its text as a block, as pi's own messages have it. */
export function withBlocks<Any extends Message>(message: Any): Any {
  if (message.role !== "user" || typeof message.content !== "string") return message;
  return { ...message, content: [{ type: "text", text: message.content }] };
}
