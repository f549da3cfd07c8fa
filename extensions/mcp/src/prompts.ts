import { BonsaiError, type ExtensionAPI, type ExtensionCommandContext } from "@bonsai-agent/extension";
import { type Block, contentBlocks, textBlock } from "./content.ts";
import { anyResult } from "./faults.ts";
import { plainLine, plainPart } from "./foreign-text.ts";
import type { ListedPrompt } from "./listing.ts";
import { argumentHint, asWord, readArguments } from "./prompt-arguments.ts";
import { Registrations } from "./registrations.ts";
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
const ANSWER_MS = 60_000;
/** Messages of one prompt. */
const MAX_MESSAGES = 100;
const MAX_CHARS = 1_000_000;

/** Owner of the commands for prompts of servers: `/server:prompt`, as long as the server lists them. */
export class Prompts {
  readonly #options: PromptsOptions;
  readonly #commands = new Registrations();

  constructor(options: PromptsOptions) {
    this.#options = options;
  }

  /** Registers a command for each listed prompt, and removes the others. */
  update(): void {
    const { bonsai, servers } = this.#options;
    const wanted = new Map<string, { mark: unknown; register: () => () => void }>();
    for (const server of servers.all) {
      if (server.state === "disabled") continue;
      for (const prompt of server.lists.prompts) {
        const name = commandName(server, prompt);
        const hint = plainLine(argumentHint(prompt.arguments), 80);
        const about = prompt.description ?? prompt.title ?? `Prompt from the MCP server ${server.name}`;
        const command = {
          description: [hint, about].filter((part) => part !== "").join(" – "),
          handler: (args: string, ctx: ExtensionCommandContext) => this.#run(name, server, prompt, args, ctx),
        };
        if (!wanted.has(name))
          wanted.set(name, { mark: prompt, register: () => bonsai.registerCommand(name, command) });
      }
    }
    this.#commands.update(wanted);
  }

  async #run(
    name: string,
    server: McpServer,
    prompt: ListedPrompt,
    args: string,
    ctx: ExtensionCommandContext,
  ): Promise<void> {
    const values = await allArguments(name, prompt, args, ctx);
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

/** Replaces characters that no command may have by `-`. */
function commandName({ name }: McpServer, prompt: ListedPrompt): string {
  return `${name}:${plainLine(prompt.name, 100).replace(/[^\p{L}\p{N}_.:-]+/gu, "-")}`;
}

/** Given arguments, and answers of the user for missing ones; undefined if the user leaves a question. */
async function allArguments(
  name: string,
  prompt: ListedPrompt,
  args: string,
  ctx: ExtensionCommandContext,
): Promise<Record<string, string> | undefined> {
  const { values, missing } = readArguments(args, prompt.arguments);
  if (missing.length > 0 && !ctx.hasUI) {
    const names = missing.map((argument) => plainLine(argument.name, 60));
    throw new BonsaiError({
      code: "mcp_prompt_argument_missing",
      message: `/${name} needs a value for ${names.join(", ")}.`,
      hint: `Use /${name} ${plainLine(argumentHint(prompt.arguments), 200)}, or add ${names[0]}=VALUE.`,
    });
  }
  for (const { name: argument, description } of missing) {
    const about = description === undefined ? "" : `\n${description}`;
    let typed: string | undefined = "";
    while (typed === "") typed = await ctx.ui.input(`/${name}: ${plainLine(argument, 60)} *${about}`);
    if (typed === undefined) return undefined;
    values[argument] = typed;
  }
  return values;
}

/** The messages of a prompt as one for the model. */
async function promptContent(
  name: string,
  server: McpServer,
  prompt: ListedPrompt,
  values: Readonly<Record<string, string>>,
  aborted: AbortSignal | undefined,
): Promise<Block[]> {
  const limit = AbortSignal.timeout(ANSWER_MS);
  const signal = aborted === undefined ? limit : AbortSignal.any([limit, aborted]);
  try {
    const client = await server.connected(signal);
    const request = { method: "prompts/get", params: { name: prompt.name, arguments: { ...values } } };
    const { messages } = await client.request(request, anyResult, { timeout: ANSWER_MS, signal });
    const content = (Array.isArray(messages) ? messages : []).slice(0, MAX_MESSAGES).flatMap(messageBlocks);
    if (content.length === 0) throw new Error("the prompt has no messages");
    let leftChars = MAX_CHARS;
    return content.map((block) => {
      if (block.type !== "text") return block;
      const text = plainPart(block.text, Math.max(0, leftChars));
      leftChars -= text.length;
      return textBlock(server.masked(text));
    });
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
function messageBlocks(message: unknown): Block[] {
  const { role, content } = (message ?? {}) as { role?: unknown; content?: unknown };
  const [first, ...others] = [content].flat().flatMap(contentBlocks);
  if (first === undefined) return [];
  if (role !== "assistant" || first.type !== "text") return [first, ...others];
  return [textBlock(`[assistant]: ${first.text}`), ...others];
}
