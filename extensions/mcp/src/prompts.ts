import {
  BonsaiError,
  type ExtensionAPI,
  type ExtensionCommandContext,
  imageProblem,
} from "@bonsai-agent/extension";
import { serverCompletions } from "./completion.ts";
import { anyResult } from "./faults.ts";
import { plainLine, plainPart, plainText } from "./foreign-text.ts";
import type { ListedPrompt } from "./listing.ts";
import { argumentHint, asWord, begunArgument, readArguments } from "./prompt-arguments.ts";
import { resourceBlocks } from "./resources.ts";
import { imageType } from "./result.ts";
import type { McpServer } from "./server.ts";
import type { McpServers } from "./servers.ts";

export interface PromptsOptions {
  bonsai: Pick<ExtensionAPI, "registerCommand" | "sendMessage">;
  servers: McpServers;
}

/** Stored with the message, for people and programs. */
export interface PromptDetails {
  /** The command as the user typed it. */
  command: string;
}

export const promptMessage = "mcp-prompt";

/** Time that a command waits for the server's messages. */
const askingMs = 60_000;
/** Messages of one prompt. */
const MAX_MESSAGES = 100;
const MAX_CHARS = 1_000_000;

/** Owner of the commands for prompts of servers: `/server:prompt`, as long as the server lists them. */
export class Prompts {
  readonly #options: PromptsOptions;
  /** Registered prompts by command. */
  readonly #registered = new Map<string, { mark: string; undo: () => void }>();

  constructor(options: PromptsOptions) {
    this.#options = options;
  }

  /** Registers a command for each listed prompt, and removes the others. */
  update(): void {
    const wanted = new Map<string, { server: McpServer; prompt: ListedPrompt }>();
    for (const server of this.#options.servers.all) {
      if (server.state === "disabled") continue;
      for (const prompt of server.prompts) {
        const name = commandName(server, prompt);
        if (!wanted.has(name)) wanted.set(name, { server, prompt });
      }
    }
    for (const [name, { undo }] of this.#registered) {
      if (wanted.has(name)) continue;
      undo();
      this.#registered.delete(name);
    }
    for (const [name, { server, prompt }] of wanted) this.#register(name, server, prompt);
  }

  #register(name: string, server: McpServer, prompt: ListedPrompt): void {
    const mark = JSON.stringify(prompt);
    const known = this.#registered.get(name);
    if (known?.mark === mark) return;
    known?.undo();
    const hint = plainLine(argumentHint(prompt.arguments), 80);
    const about = prompt.description ?? prompt.title ?? `Prompt from the MCP server ${server.name}`;
    const undo = this.#options.bonsai.registerCommand(name, {
      description: [hint, about].filter((part) => part !== "").join(" – "),
      getArgumentCompletions: (typed) => completions(server, prompt, typed),
      handler: (args, ctx) => this.#run(name, { server, prompt, args, ctx }),
    });
    this.#registered.set(name, { mark, undo });
  }

  async #run(name: string, { server, prompt, args, ctx }: Run): Promise<void> {
    const values = await allArguments(name, { prompt, args, ctx });
    if (values === undefined) return;
    const content = await promptContent(name, server, prompt, values, ctx.signal);
    const words = prompt.arguments.flatMap(({ name: key }) =>
      values[key] === undefined ? [] : [`${key}=${asWord(values[key])}`],
    );
    const details: PromptDetails = { command: plainLine([`/${name}`, ...words].join(" "), 500) };
    this.#options.bonsai.sendMessage(
      { customType: promptMessage, content, display: true, details },
      { triggerTurn: true },
    );
    // Without a user, the program ends after the command.
    if (ctx.mode === "print" || ctx.mode === "json") await ctx.waitForIdle();
  }
}

interface Run {
  server: McpServer;
  prompt: ListedPrompt;
  args: string;
  ctx: ExtensionCommandContext;
}

/** Characters that no command may have become `-`. */
function commandName({ name }: McpServer, prompt: ListedPrompt): string {
  return `${name}:${plainLine(prompt.name, 100).replace(/[^\p{L}\p{N}_.:-]+/gu, "-")}`;
}

/** Given arguments, and answers of the user for missing ones; undefined if the user leaves a question. */
async function allArguments(
  name: string,
  { prompt, args, ctx }: Pick<Run, "prompt" | "args" | "ctx">,
): Promise<Record<string, string> | undefined> {
  const { values, missing } = readArguments(args, prompt.arguments);
  if (missing.length > 0 && !ctx.hasUI) throw argumentMissing(name, prompt, missing);
  for (const { name: argument, description } of missing) {
    const about = description === undefined ? "" : `\n${description}`;
    let typed: string | undefined = "";
    while (typed === "") typed = await ctx.ui.input(`/${name}: ${plainLine(argument, 60)} *${about}`);
    if (typed === undefined) return undefined;
    values[argument] = typed;
  }
  return values;
}

function argumentMissing(
  name: string,
  prompt: ListedPrompt,
  missing: ListedPrompt["arguments"],
): BonsaiError {
  const names = missing.map((argument) => plainLine(argument.name, 60)).join(", ");
  return new BonsaiError({
    code: "mcp_prompt_argument_missing",
    message: `/${name} needs a value for ${names}.`,
    hint: `Use /${name} ${plainLine(argumentHint(prompt.arguments), 200)}, or add ${plainLine(missing[0]!.name, 60)}=VALUE.`,
  });
}

async function completions(server: McpServer, prompt: ListedPrompt, typed: string) {
  const begun = begunArgument(typed, prompt.arguments);
  if (begun === undefined) return null;
  const { argument, value, before, earlier } = begun;
  const request = {
    ref: { type: "ref/prompt" as const, name: prompt.name },
    argument: { name: argument.name, value },
    ...(Object.keys(earlier).length > 0 && { context: { arguments: { ...earlier } } }),
  };
  const values = await serverCompletions(server, request, undefined);
  const description = plainLine([argument.name, argument.description ?? ""].filter(Boolean).join(": "));
  return values.map((each) => ({ value: `${before}${asWord(each)}`, label: each, description }));
}

type Content = ReturnType<typeof resourceBlocks>;

/** The messages of a prompt as one for the model. */
async function promptContent(
  name: string,
  server: McpServer,
  prompt: ListedPrompt,
  values: Readonly<Record<string, string>>,
  aborted: AbortSignal | undefined,
): Promise<Content> {
  const limit = AbortSignal.timeout(askingMs);
  const signal = aborted === undefined ? limit : AbortSignal.any([limit, aborted]);
  try {
    const client = await server.connected(signal);
    const got = await client.request(
      { method: "prompts/get", params: { name: prompt.name, arguments: { ...values } } },
      anyResult,
      { timeout: askingMs, signal },
    );
    const messages = Array.isArray(got.messages) ? got.messages : [];
    const content = messages.slice(0, MAX_MESSAGES).flatMap((message) => messageBlocks(server.name, message));
    if (content.length === 0) throw new Error("the prompt has no messages");
    return bounded(content).map((block) =>
      block.type === "text" ? { ...block, text: server.masked(block.text) } : block,
    );
  } catch (error) {
    throw new BonsaiError({
      code: "mcp_prompt_failed",
      message: `/${name} failed at the MCP server ${server.name}: ${server.reasonOf(error)}`,
      hint: `Check its arguments (${plainLine(argumentHint(prompt.arguments), 200) || "none"}) and the server with /mcp ${server.name}.`,
      cause: error,
    });
  }
}

/** Marks messages of the assistant: the model has not written them. */
function messageBlocks(server: string, message: unknown): Content {
  const { role, content } = (message ?? {}) as { role?: unknown; content?: unknown };
  const blocks = [content].flat().flatMap((block) => contentBlocks(server, block));
  const [first, ...others] = blocks;
  if (role !== "assistant" || first?.type !== "text") return blocks;
  return [{ ...first, text: `[assistant]: ${first.text}` }, ...others];
}

function contentBlocks(server: string, block: unknown): Content {
  const given = (block ?? {}) as Record<string, unknown>;
  switch (given.type) {
    case "text":
      return typeof given.text === "string" ? [{ type: "text", text: plainText(given.text) }] : [];
    case "image":
      return [imageBlock(given)];
    case "resource":
      return resourceBlocks(server, "", [(given.resource ?? {}) as Record<string, unknown>]);
    case "resource_link":
      return [{ type: "text", text: `[resource ${plainLine(String(given.uri), 500)} of ${server}]` }];
    default:
      return [{ type: "text", text: `[omitted a part of type ${plainLine(String(given.type), 40)}]` }];
  }
}

function imageBlock({ data }: Record<string, unknown>): Content[number] {
  const bytes = Buffer.from(typeof data === "string" ? data : "", "base64");
  const type = imageType(bytes);
  if (type === undefined) return { type: "text", text: "[Image omitted: models do not accept its format]" };
  const problem = imageProblem(bytes);
  if (problem !== undefined) return { type: "text", text: `[Image omitted: ${problem}]` };
  return { type: "image", data: bytes.toString("base64"), mimeType: type };
}

function bounded(content: Content): Content {
  let left = MAX_CHARS;
  return content.map((block) => {
    if (block.type !== "text") return block;
    const text = plainPart(block.text, Math.max(0, left));
    left -= text.length;
    return { ...block, text };
  });
}
