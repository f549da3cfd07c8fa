import type { MessageParam } from "@anthropic-ai/sdk/resources/messages";
import { type ModelMessage, modelMessageSchema } from "ai";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import type { ResponseInputItem } from "openai/resources/responses/responses";
import type { MessageFormat } from "../src/index.ts";
import type { Answer, Conversation, Turn } from "./conversations.ts";

const PNG = "iVBORw0KGgo=";

/** Writes conversations in a format, and reports why a provider would refuse a list. */
export interface TestFormat {
  name: MessageFormat;
  write(conversation: Conversation): object[];
  /** Why the list is refused; undefined for a valid list. */
  refusal(messages: readonly object[]): string | undefined;
}

function messagesOf<Message>(
  { turns }: Conversation,
  parts: { user(turn: Turn): Message; answer(answer: Answer): Message[]; closing(text: string): Message[] },
): Message[] {
  return turns.flatMap((turn) => [
    parts.user(turn),
    ...turn.answers.flatMap((answer) => parts.answer(answer)),
    ...parts.closing(turn.closing),
  ]);
}

/** The results of the calls in the order of the conversation. */
function results(answer: Answer) {
  return answer.order.map((at) => answer.calls[at]!);
}

const aiSdk: TestFormat = {
  name: "ai-sdk",
  write(conversation) {
    const system: ModelMessage[] = conversation.system
      ? [{ role: "system", content: conversation.system, providerOptions: { anthropic: { cache: "5m" } } }]
      : [];
    const said = messagesOf<ModelMessage>(conversation, {
      user({ sentence, attachment }) {
        if (attachment === "none") return { role: "user", content: sentence };
        const [mediaType, filename] =
          attachment === "image" ? ["image/png", "screen.png"] : ["application/pdf", "report.pdf"];
        const file = { type: "file", data: { type: "data", data: PNG }, mediaType, filename } as const;
        return { role: "user", content: [{ type: "text", text: sentence }, file] };
      },
      answer: aiSdkAnswer,
      closing: (text) => [{ role: "assistant", content: text }],
    });
    return [...system, ...said];
  },
  refusal(messages) {
    const open = new Map<string, boolean>();
    const requests = new Set<string>();
    for (const [at, message] of messages.entries()) {
      const parsed = modelMessageSchema.safeParse(message);
      if (!parsed.success) return `message ${at}: ${parsed.error.message}`;
      const { role, content } = parsed.data;
      if (role === "system" && at > 0) return "a system message is not first";
      if (role !== "tool" && open.size > 0)
        return `message ${at}: results of ${[...open.keys()]} are missing`;
      for (const part of typeof content === "string" ? [] : content) {
        if (part.type === "tool-call") open.set(part.toolCallId, true);
        if (part.type === "tool-approval-request") requests.add(part.approvalId);
        if (part.type === "tool-result" && !open.delete(part.toolCallId))
          return `message ${at}: result without a call`;
        if (part.type === "tool-approval-response" && !requests.delete(part.approvalId))
          return `message ${at}: response without a request`;
      }
    }
    return open.size + requests.size === 0 ? undefined : "the end lacks results";
  },
};

function aiSdkAnswer(answer: Answer): ModelMessage[] {
  const { calls, hasReasoning, approval } = answer;
  const reasoning = {
    type: "reasoning",
    text: "Let me look.",
    providerOptions: { anthropic: { signature: "c2lnbmVk" } },
  } as const;
  const toolName = "bash";
  const approvalId = `ask_${calls[0]!.id}`;
  const asked = { type: "tool-approval-request", approvalId, toolCallId: calls[0]!.id } as const;
  const decided = { type: "tool-approval-response", approvalId, approved: approval === "approved" } as const;
  return [
    {
      role: "assistant",
      content: [
        ...(hasReasoning ? [reasoning] : []),
        { type: "custom", kind: "openai.compaction", providerOptions: { openai: { id: "cmp_1" } } },
        ...calls.map(({ id, command }) => ({
          type: "tool-call" as const,
          toolCallId: id,
          toolName,
          input: { command },
        })),
        ...(approval === "none" ? [] : [asked]),
      ],
    },
    ...(approval === "none" ? [] : [{ role: "tool" as const, content: [decided] }]),
    {
      role: "tool",
      content: results(answer).map(({ id, result }) => ({
        type: "tool-result",
        toolCallId: id,
        toolName,
        output:
          approval === "denied" && id === calls[0]!.id
            ? { type: "execution-denied", reason: "not now" }
            : { type: "text", value: result },
      })),
    },
  ];
}

const openaiChat: TestFormat = {
  name: "openai-chat",
  write(conversation) {
    const system: ChatCompletionMessageParam[] = conversation.system
      ? [{ role: "developer", content: conversation.system }]
      : [];
    const said = messagesOf<ChatCompletionMessageParam>(conversation, {
      user({ sentence, attachment }) {
        if (attachment === "none") return { role: "user", content: sentence };
        const image = { type: "image_url", image_url: { url: "https://images.example/1.png" } } as const;
        const file = { type: "file", file: { filename: "report.pdf", file_data: PNG } } as const;
        return {
          role: "user",
          content: [{ type: "text", text: sentence }, attachment === "image" ? image : file],
        };
      },
      answer: (answer) => [
        {
          role: "assistant",
          content: null,
          tool_calls: answer.calls.map(({ id, command }) => ({
            id,
            type: "function",
            function: { name: "bash", arguments: JSON.stringify({ command }) },
          })),
        },
        ...results(answer).map(({ id, result }) => ({
          role: "tool" as const,
          tool_call_id: id,
          content: result,
        })),
      ],
      closing: (text) => [{ role: "assistant", content: text }],
    });
    return [...system, ...said];
  },
  refusal(messages) {
    const open = new Set<string>();
    for (const [at, message] of (messages as ChatCompletionMessageParam[]).entries()) {
      const isSystem = message.role === "system" || message.role === "developer";
      if (isSystem && at > 0) return "a system message is not first";
      if (message.role === "tool") {
        if (!open.delete(message.tool_call_id)) return `message ${at}: result without a call`;
      } else if (open.size > 0) return `message ${at}: results of ${[...open]} are missing`;
      if (message.role === "assistant") for (const { id } of message.tool_calls ?? []) open.add(id);
      if (message.role === "user" && !message.content) return `message ${at}: no content`;
    }
    return open.size === 0 ? undefined : "the end lacks results";
  },
};

const openaiResponses: TestFormat = {
  name: "openai-responses",
  write(conversation) {
    const system: ResponseInputItem[] = conversation.system
      ? [{ role: "system", content: conversation.system }]
      : [];
    const said = messagesOf<ResponseInputItem>(conversation, {
      user({ sentence, attachment }) {
        if (attachment === "none") return { role: "user", content: sentence };
        const image = {
          type: "input_image",
          detail: "auto",
          image_url: "https://images.example/1.png",
        } as const;
        const file = { type: "input_file", filename: "report.pdf", file_data: PNG } as const;
        const media = attachment === "image" ? image : file;
        return { type: "message", role: "user", content: [{ type: "input_text", text: sentence }, media] };
      },
      answer(answer) {
        const { calls, hasReasoning, approval } = answer;
        const id = `ask_${calls[0]!.id}`;
        return [
          ...(approval === "none" ? [] : mcpApproval(id, approval === "approved")),
          ...(hasReasoning ? [{ type: "reasoning" as const, id: `rs_${calls[0]!.id}`, summary: [] }] : []),
          ...calls.map(({ id, command }) => ({
            type: "function_call" as const,
            call_id: id,
            name: "bash",
            arguments: JSON.stringify({ command }),
          })),
          ...results(answer).map(({ id, result }) => ({
            type: "function_call_output" as const,
            call_id: id,
            output: result,
          })),
        ];
      },
      closing: (text) => [{ role: "assistant", content: text }],
    });
    return [...system, ...said];
  },
  refusal(items) {
    const open = new Set<string>();
    const requests = new Set<string>();
    for (const [at, item] of (items as ResponseInputItem[]).entries()) {
      const next = items[at + 1] as ResponseInputItem | undefined;
      if ("role" in item && item.role === "system" && at > 0) return "a system message is not first";
      if ("role" in item && item.role === "user" && open.size > 0) return `item ${at}: outputs are missing`;
      if (item.type === "reasoning" && next?.type !== "function_call")
        return `item ${at}: reasoning stands alone`;
      if (item.type === "function_call") open.add(item.call_id);
      if (item.type === "function_call_output" && !open.delete(item.call_id ?? ""))
        return `item ${at}: output without a call`;
      if (item.type === "mcp_approval_request") requests.add(item.id);
      if (item.type === "mcp_approval_response" && !requests.delete(item.approval_request_id))
        return `item ${at}: response without a request`;
    }
    return open.size + requests.size === 0 ? undefined : "the end lacks outputs";
  },
};

function mcpApproval(id: string, approve: boolean): ResponseInputItem[] {
  return [
    { type: "mcp_approval_request", id, name: "deploy", arguments: "{}", server_label: "ops" },
    { type: "mcp_approval_response", approval_request_id: id, approve },
  ];
}

const anthropic: TestFormat = {
  name: "anthropic",
  write(conversation) {
    const said = messagesOf<MessageParam>(conversation, {
      user({ sentence, attachment }) {
        if (attachment === "none") return { role: "user", content: sentence };
        const data = { type: "base64", data: PNG } as const;
        const image = { type: "image", source: { ...data, media_type: "image/png" } } as const;
        const file = {
          type: "document",
          title: "report.pdf",
          source: { ...data, media_type: "application/pdf" },
        } as const;
        return {
          role: "user",
          content: [{ type: "text", text: sentence }, attachment === "image" ? image : file],
        };
      },
      answer: (answer) => [
        {
          role: "assistant",
          content: [
            ...(answer.hasReasoning
              ? [{ type: "thinking" as const, thinking: "Let me look.", signature: "c2lnbmVk" }]
              : []),
            ...answer.calls.map(({ id, command }) => ({
              type: "tool_use" as const,
              id,
              name: "bash",
              input: { command },
            })),
          ],
        },
        {
          role: "user",
          content: [
            ...results(answer).map(({ id, result }) => ({
              type: "tool_result" as const,
              tool_use_id: id,
              content: result,
            })),
            ...(answer.approval === "none" ? [] : [{ type: "text" as const, text: "Go on." }]),
          ],
        },
      ],
      closing: (text) => [{ role: "assistant", content: text }],
    });
    return said;
  },
  refusal(messages) {
    let called: string[] = [];
    for (const [at, { role, content }] of (messages as MessageParam[]).entries()) {
      if (role !== (at % 2 === 0 ? "user" : "assistant"))
        return `message ${at}: the role ${role} is repeated`;
      const blocks = typeof content === "string" ? [] : content;
      const answered = blocks.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []));
      if (role === "user" && answered.toSorted().join() !== called.toSorted().join())
        return `message ${at}: results ${answered}, calls ${called}`;
      if (blocks.slice(0, answered.length).some(({ type }) => type !== "tool_result"))
        if (answered.length > 0) return `message ${at}: results are not first`;
      called = blocks.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
      if (content.length === 0) return `message ${at}: no content`;
    }
    return called.length === 0 ? undefined : "the end lacks results";
  },
};

export const testFormats: readonly TestFormat[] = [aiSdk, openaiChat, openaiResponses, anthropic];
