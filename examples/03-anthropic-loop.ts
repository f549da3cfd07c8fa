/**
 * Compaction in your own agent loop, with the message types of the Anthropic SDK. Blocks are sent unchanged, with signed
 * thinking. A message with several results becomes several entries, so that each can be masked.
 *
 *     node 03-anthropic-loop.ts
 */
import Anthropic from "@anthropic-ai/sdk";
import type {
  ContentBlockParam,
  MessageParam,
  ToolResultBlockParam,
  Usage,
} from "@anthropic-ai/sdk/resources/messages";
import { CompactionController, compactionSettings } from "@bonsai-agent/compaction";
import {
  type AssistantContent,
  type AssistantMessage,
  callsIn,
  emptyUsage,
  messageText,
  type TextContent,
  type UserContent,
} from "@bonsai-agent/messages";
import { createSession, type ProjectionItem, type StoredMessage } from "@bonsai-agent/session";

/** Replaces the loop's list of messages. The loop keeps the system prompt. */
export class History {
  readonly #session = createSession({ cwd: process.cwd() }); // add `file` to keep it on disk
  readonly #toolNames = new Map<string, string>();
  readonly #compaction: CompactionController;

  constructor(contextWindow: number) {
    this.#compaction = new CompactionController({
      session: this.#session,
      settings: compactionSettings({}),
      model: () => ({ contextWindow }),
      // Without a `summariser`, the built-in digest writes the summaries.
    });
  }

  /** An answer's usage makes the threshold exact: it is the provider's own count. */
  push({ role, content }: MessageParam, usage?: Usage): void {
    const blocks = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
    if (role === "assistant") {
      this.#keep(answer(blocks, usage), blocks);
      this.#compaction.answerArrived();
      return;
    }
    for (const block of blocks) if (block.type === "tool_result") this.#keep(this.#result(block), [block]);
    const said = blocks.filter(({ type }) => type !== "tool_result");
    if (said.length === 0) return;
    this.#keep({ role: "user", content: said.map(sized), timestamp: Date.now() }, said);
    this.#compaction.userMessageArrived();
  }

  /** Returns the messages for the next request. Compacts first if the context is full. */
  async forRequest(): Promise<MessageParam[]> {
    const outcome = await this.#compaction.checkThreshold({ site: "beforePrompt" });
    const { status, tokensBefore, tokensAfter } = outcome;
    if (status !== "skipped") console.log(`  ${status}: ${tokensBefore} tokens, now ${tokensAfter}`);
    const params: { role: "user" | "assistant"; content: ContentBlockParam[] }[] = [];
    for (const item of this.#session.projection().items) {
      const role = item.message.role === "assistant" ? "assistant" : "user";
      const last = params.at(-1);
      if (last?.role === role) last.content.push(...sendable(item));
      else params.push({ role, content: [...sendable(item)] });
    }
    return params;
  }

  #keep(message: StoredMessage, blocks: ContentBlockParam[]): void {
    for (const { id, name } of callsIn(message)) this.#toolNames.set(id, name);
    // The session keeps unknown fields, so requests send the message exactly as it came.
    const carried = { ...message, blocks };
    this.#session.append({ type: "message", message: carried });
  }

  #result({ tool_use_id, content = [], is_error = false }: ToolResultBlockParam): StoredMessage {
    return {
      role: "toolResult",
      toolCallId: tool_use_id,
      toolName: this.#toolNames.get(tool_use_id) ?? "tool",
      content: typeof content === "string" ? [{ type: "text", text: content }] : content.map(sized),
      isError: is_error,
      timestamp: Date.now(),
    };
  }
}

function answer(blocks: ContentBlockParam[], usage?: Usage): AssistantMessage {
  const { input_tokens: input = 0, output_tokens: output = 0 } = usage ?? {};
  const cacheRead = usage?.cache_read_input_tokens ?? 0;
  const cacheWrite = usage?.cache_creation_input_tokens ?? 0;
  const totalTokens = input + output + cacheRead + cacheWrite;
  return {
    role: "assistant",
    content: blocks.map((block): AssistantContent => {
      if (block.type !== "tool_use") return block.type === "thinking" ? block : textOf(block);
      const { id, name, input } = block;
      return { type: "toolCall", id, name, arguments: input as Record<string, unknown> };
    }),
    ...{ api: "anthropic-messages", provider: "anthropic", model: "any", timestamp: Date.now() },
    usage: { ...emptyUsage(), input, output, cacheRead, cacheWrite, totalTokens },
    stopReason: blocks.some(({ type }) => type === "tool_use") ? "toolUse" : "stop",
  };
}

type Block = ContentBlockParam | Exclude<ToolResultBlockParam["content"], string | undefined>[number];

/** Converts content, so that the session can measure it. The block keeps the image. */
function sized(block: Block): UserContent {
  return block.type === "image" ? { type: "image", mimeType: "image/png", data: "" } : textOf(block);
}

function textOf(block: Block): TextContent {
  return { type: "text", text: block.type === "text" ? block.text : JSON.stringify(block) };
}

function sendable({ message, edit }: ProjectionItem): ContentBlockParam[] {
  const text = messageText(message);
  if (!("blocks" in message)) return [{ type: "text", text }]; // a summary
  const blocks = message.blocks as ContentBlockParam[];
  if (edit === undefined) return blocks;
  const [block] = blocks; // masked or shortened
  return block?.type === "tool_result" ? [{ ...block, content: text }] : [{ type: "text", text }];
}

// The loop: it reads a manual, two pages at a time.
const client = new Anthropic({ apiKey: "none", fetch: scriptedApi }); // in a real program: new Anthropic()
const history = new History(8_000);

for (let page = 1; page <= 14; page += 2) {
  history.push({
    role: "user",
    content: `Read the pages ${page} and ${page + 1}. What do they say about valves?`,
  });
  console.log(await answered());
}

async function answered(): Promise<string> {
  const messages = await history.forRequest();
  const { role, content, usage } = await client.messages.create({
    model: "any",
    max_tokens: 1_000,
    messages,
  });
  history.push({ role, content }, usage);
  const calls = content.filter((block) => block.type === "tool_use");
  if (calls.length === 0) return content.map((block) => (block.type === "text" ? block.text : "")).join("");
  const page = "Valves are opened slowly, and never under pressure. ".repeat(50);
  const results = calls.map(({ id }) => ({ type: "tool_result" as const, tool_use_id: id, content: page }));
  history.push({ role: "user", content: results });
  return answered();
}

/** A scripted model: calls the tool for each page, answers after the results. */
async function scriptedApi(_url: unknown, init?: RequestInit): Promise<Response> {
  const { messages } = JSON.parse(String(init?.body)) as { messages: { content: ContentBlockParam[] }[] };
  const last = messages.at(-1)!.content.at(-1)!;
  const pages = last.type === "text" ? (last.text.match(/\d+/g) ?? []) : [];
  const calls = pages.map((page) => ({
    type: "tool_use",
    id: `toolu_${page}`,
    name: "read_page",
    input: { page },
  }));
  const text = { type: "text", text: `Open them slowly. (${messages.length} messages)` };
  const usage = { input_tokens: Math.ceil(JSON.stringify(messages).length / 4), output_tokens: 20 };
  return Response.json({ role: "assistant", content: calls.length > 0 ? calls : [text], usage });
}
