import { contentText } from "@bonsai-agent/messages";
import type { ToolDeclaration } from "@bonsai-agent/models";

/** A message of a request in pi's shape, where the prompt and the tools stand in system messages. */
export interface TranscriptMessage {
  role: string;
  content?: unknown;
  [field: string]: unknown;
}

/** What a leading system message says, beside its text. */
interface SystemParts extends TranscriptMessage {
  sections?: Record<string, string | null>;
  toolsAdded?: ToolDeclaration[];
  toolsRemoved?: { name: string }[];
}

/** One leading system message with the prompt and the tools; none where there are neither. */
export function initialSystemMessage(
  systemPrompt: string | undefined,
  tools: readonly ToolDeclaration[] | undefined,
): TranscriptMessage | undefined {
  if (!systemPrompt && !tools?.length) return undefined;
  return {
    role: "system",
    content: systemPrompt ?? "",
    ...(tools?.length ? { toolsAdded: [...tools] } : {}),
    timestamp: Date.now(),
  };
}

/** The prompt after all system messages, oldest first. */
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

/** The tools after all that system messages added and took away. */
export function currentTools(messages: readonly TranscriptMessage[]): ToolDeclaration[] {
  const tools = new Map<string, ToolDeclaration>();
  for (const { toolsAdded = [], toolsRemoved = [] } of systemMessages(messages)) {
    for (const { name } of toolsRemoved) tools.delete(name);
    for (const tool of toolsAdded) tools.set(tool.name, tool);
  }
  return [...tools.values()];
}

/** The conversation alone. */
export function withoutSystem(messages: readonly TranscriptMessage[]): TranscriptMessage[] {
  return messages.filter(({ role }) => role !== "system");
}

/** The same context with one system message, at its head. */
export function collapsed<Context extends { messages: readonly TranscriptMessage[] }>(
  context: Context,
): Context {
  const { messages } = context;
  const head = initialSystemMessage(currentSystemPrompt(messages), currentTools(messages));
  return { ...context, messages: [...(head === undefined ? [] : [head]), ...withoutSystem(messages)] };
}

function systemMessages(messages: readonly TranscriptMessage[]): SystemParts[] {
  return messages.filter(({ role }) => role === "system") as SystemParts[];
}
