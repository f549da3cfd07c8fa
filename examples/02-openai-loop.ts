/**
 * Compaction in your own agent loop, with the message types of the OpenAI SDK. The session keeps every message, and each
 * request fits the model's window. If the provider still rejects one, the loop compacts and sends it again.
 *
 *     node 02-openai-loop.ts
 */
import { CompactionController, compactionSettings } from "@bonsai-agent/compaction";
import {
  callsIn,
  contentText,
  emptyUsage,
  messageText,
  type ToolCall,
  type UserContent,
} from "@bonsai-agent/messages";
import { createSession, type StoredMessage } from "@bonsai-agent/session";
import OpenAI from "openai";
import type {
  ChatCompletionMessageParam,
  ChatCompletionMessageToolCall,
} from "openai/resources/chat/completions";

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
  push(param: ChatCompletionMessageParam, usage?: OpenAI.CompletionUsage): void {
    const message = stored(param, { toolNames: this.#toolNames, usage });
    for (const { id, name } of callsIn(message)) this.#toolNames.set(id, name);
    // The session keeps unknown fields, so requests send the message exactly as it came.
    const carried = { ...message, param };
    this.#session.append({ type: "message", message: carried });
    if (param.role === "user") this.#compaction.userMessageArrived();
    if (param.role === "assistant") this.#compaction.answerArrived();
  }

  /** Returns the messages for the next request. Compacts first if the context is full. */
  async forRequest(): Promise<ChatCompletionMessageParam[]> {
    const outcome = await this.#compaction.checkThreshold({ site: "beforePrompt" });
    const { status, tokensBefore, tokensAfter } = outcome;
    if (status !== "skipped") console.log(`  ${status}: ${tokensBefore} tokens, now ${tokensAfter}`);
    return this.#session.projection().items.map(({ message, edit }) => {
      const content = messageText(message);
      if (!("param" in message)) return { role: "user", content }; // a summary
      const param = message.param as ChatCompletionMessageParam;
      return edit === undefined ? param : { ...param, content }; // masked or shortened
    });
  }

  /** Compacts after a refusal as too long. Returns true if the request can be sent again, once per user message. */
  async recover(): Promise<boolean> {
    const { status, tokensBefore, tokensAfter } = await this.#compaction.recoverFromOverflow();
    console.log(`  too long, ${status}: ${tokensBefore} tokens, now ${tokensAfter}`);
    return status === "compacted" || status === "masked";
  }
}

interface Surroundings {
  toolNames: ReadonlyMap<string, string>;
  usage: OpenAI.CompletionUsage | undefined;
}

/** Converts a message, so that the session can measure, cut and summarise it. */
function stored(param: ChatCompletionMessageParam, { toolNames, usage }: Surroundings): StoredMessage {
  const timestamp = Date.now();
  switch (param.role) {
    case "user":
      return { role: "user", content: blocks(param.content), timestamp };
    case "tool": {
      const [toolCallId, content] = [param.tool_call_id, blocks(param.content)];
      const toolName = toolNames.get(toolCallId) ?? "tool";
      return { role: "toolResult", toolCallId, toolName, content, isError: false, timestamp };
    }
    case "assistant": {
      const text = contentText(param.content) || param.refusal;
      const calls = (param.tool_calls ?? []).map(toolCall);
      const { prompt_tokens: input = 0, completion_tokens: output = 0 } = usage ?? {};
      return {
        role: "assistant",
        content: text ? [{ type: "text", text }, ...calls] : calls,
        ...{ api: "openai-chat", provider: "openai", model: "any", timestamp },
        usage: { ...emptyUsage(), input, output, totalTokens: input + output },
        stopReason: calls.length > 0 ? "toolUse" : "stop",
      };
    }
    default:
      throw new TypeError(`A message of the role ${param.role} is no part of a history.`);
  }
}

function toolCall(call: ChatCompletionMessageToolCall): ToolCall {
  const { type, id } = call;
  if (type === "function")
    return { type: "toolCall", id, name: call.function.name, arguments: parsed(call.function.arguments) };
  return { type: "toolCall", id, name: call.custom.name, arguments: { input: call.custom.input } };
}

function parsed(json: string): Record<string, unknown> {
  try {
    return JSON.parse(json);
  } catch {
    return { json }; // a model's mistake; the parameter has the original
  }
}

/** The parameter keeps the image; the session only counts it. */
function blocks(content: ChatCompletionMessageParam["content"]): UserContent[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return (content ?? []).map((part) =>
    part.type === "image_url"
      ? { type: "image", mimeType: "image/png", data: "" }
      : { type: "text", text: "text" in part ? part.text : `(${part.type})` },
  );
}

// The loop: it reads a manual page by page, and its model's window is smaller than it says.
const client = new OpenAI({ apiKey: "none", fetch: scriptedApi }); // in a real program: new OpenAI()
const history = new History(12_000);
const system = { role: "system", content: "You look things up in the manual." } as const;

for (let page = 1; page <= 14; page++) {
  history.push({ role: "user", content: `Read page ${page}. What does it say about valves?` });
  console.log(await answer());
}

async function answer(): Promise<string | null> {
  const { choices, usage } = await ask();
  const { message } = choices[0]!;
  history.push(message, usage);
  if (message.tool_calls === undefined) return message.content;
  const page = "Valves are opened slowly, and never under pressure. ".repeat(50);
  for (const { id } of message.tool_calls) history.push({ role: "tool", tool_call_id: id, content: page });
  return answer();
}

async function ask(): Promise<OpenAI.ChatCompletion> {
  const messages = [system, ...(await history.forRequest())];
  try {
    return await client.chat.completions.create({ model: "any", messages });
  } catch (error) {
    const isTooLong = error instanceof OpenAI.APIError && error.code === "context_length_exceeded";
    if (isTooLong && (await history.recover())) return ask();
    throw error;
  }
}

/** A scripted model: calls the tool after a question, answers after a result. */
async function scriptedApi(_url: unknown, init?: RequestInit): Promise<Response> {
  const { messages } = JSON.parse(String(init?.body)) as { messages: ChatCompletionMessageParam[] };
  const prompt_tokens = Math.ceil(JSON.stringify(messages).length / 4);
  const error = { message: `${prompt_tokens} tokens are more than 7500`, code: "context_length_exceeded" };
  if (prompt_tokens > 7_500) return Response.json({ error }, { status: 400 });
  const question = String(messages.findLast(({ role }) => role === "user")?.content);
  const [page = "?"] = /(?<=Read page )\d+/.exec(question) ?? [];
  const called = { name: "read_page", arguments: JSON.stringify({ page }) };
  const message =
    messages.at(-1)?.role === "user"
      ? { content: null, tool_calls: [{ id: `call_${page}`, type: "function", function: called }] }
      : { content: `Page ${page}, of ${messages.length} messages: open them slowly.` };
  const usage = { prompt_tokens, completion_tokens: 20 };
  return Response.json({ choices: [{ message: { role: "assistant", ...message } }], usage });
}
