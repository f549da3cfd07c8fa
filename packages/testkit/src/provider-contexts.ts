import {
  type AssistantContent,
  type AssistantMessage,
  emptyUsage,
  type Message,
  type ToolResultMessage,
  type UserContent,
} from "@bonsai-agent/messages";

/** A request to a model, in a shape that every protocol has to send. */
export interface ProviderContext {
  systemPrompt: string;
  tools: { name: string; description: string; parameters: Record<string, unknown> }[];
  messages: Message[];
}

/** The models whose answers the contexts contain. */
interface Answering {
  provider: string;
  model: string;
  api: string;
  /** The signature of the model's thinking; each protocol has its own form. */
  signatures: { thinking?: string; call?: string; text?: string };
}

/** A pixel. */
const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const tools = [
  {
    name: "read",
    description: "Reads a file.",
    parameters: {
      type: "object",
      properties: { path: { type: "string" }, limit: { type: "integer", minimum: 1 } },
      required: ["path"],
      additionalProperties: false,
    },
  },
  { name: "now", description: "Says what time it is.", parameters: { type: "object", properties: {} } },
];

/** Contexts that a protocol must convert for its provider, by their special case. */
export function providerContexts(by: Answering): Readonly<Record<string, ProviderContext>> {
  const { signatures } = by;
  const systemPrompt = "You are Bonsai.";
  const question = user("What is in a.ts and b.ts?");
  const calls: AssistantContent[] = [
    { type: "text", text: "I look at both." },
    call("call_1", "read", { path: "a.ts" }, signatures.call),
    call("call_2", "read", { path: "b.ts" }),
  ];
  const results = [
    result("call_1", "export const a = 1;"),
    result("call_2", "no such file", { isError: true }),
  ];
  const thought: AssistantContent = {
    type: "thinking",
    thinking: "Two files.",
    ...(signatures.thinking !== undefined && { thinkingSignature: signatures.thinking }),
  };
  return {
    text: { systemPrompt, tools: [], messages: [question] },
    tools: { systemPrompt, tools, messages: [question, answer(by, calls, "toolUse"), ...results] },
    images: {
      systemPrompt: "",
      tools,
      messages: [
        user([{ type: "text", text: "What is this?" }, image()]),
        answer(by, [call("call_1", "read", { path: "a.png" }, signatures.call)], "toolUse"),
        result("call_1", [{ type: "text", text: "An image:" }, image()]),
        answer(by, [call("call_2", "read", { path: "b.png" })], "toolUse"),
        result("call_2", [image(), { type: "text", text: "damaged" }], { isError: true }),
      ],
    },
    thinking: {
      systemPrompt,
      tools,
      messages: [question, answer(by, [thought, ...calls], "toolUse"), ...results],
    },
    foreign: {
      systemPrompt,
      tools,
      messages: [
        question,
        answer(
          { ...by, model: "another" },
          [thought, call(`call|1:${"x".repeat(80)}`, "multi tool.use", { path: "a.ts" }, signatures.call)],
          "toolUse",
        ),
        result(`call|1:${"x".repeat(80)}`, "export const a = 1;", { toolName: "multi tool.use" }),
      ],
    },
    compacted: compactedContext(by),
  };
}

function compactedContext(by: Answering): ProviderContext {
  return {
    systemPrompt: "You are Bonsai.",
    tools,
    messages: [
      { role: "compactionSummary", summary: "## Goal\nMend a.ts.", tokensBefore: 90_000, timestamp: 1 },
      user("Go on."),
      answer(by, [
        { type: "text", text: "Done." },
        { type: "text", text: " " },
      ]),
      {
        role: "bashExecution",
        command: "ls",
        output: "a.ts",
        exitCode: 0,
        cancelled: false,
        truncated: false,
        timestamp: 1,
      },
      user("And now?"),
    ],
  };
}

function user(content: string | UserContent[]): Message {
  return { role: "user", content, timestamp: 1 };
}

function image(): UserContent {
  return { type: "image", data: png, mimeType: "image/png" };
}

function call(
  id: string,
  name: string,
  given: Record<string, unknown>,
  signature?: string,
): AssistantContent {
  return {
    type: "toolCall",
    id,
    name,
    arguments: given,
    ...(signature !== undefined && { thoughtSignature: signature }),
  };
}

function result(
  toolCallId: string,
  content: string | UserContent[],
  parts: Partial<ToolResultMessage> = {},
): ToolResultMessage {
  const blocks: UserContent[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return {
    role: "toolResult",
    toolCallId,
    toolName: "read",
    content: blocks,
    isError: false,
    timestamp: 1,
    ...parts,
  };
}

function answer(
  { provider, model, api }: Answering,
  content: AssistantContent[],
  stopReason = "stop",
): AssistantMessage {
  return { role: "assistant", content, api, provider, model, usage: emptyUsage(), stopReason, timestamp: 1 };
}
