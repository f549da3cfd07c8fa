import {
  byScriptEstimator,
  defineTool,
  type ExtensionAPI,
  type ExtensionTool,
  type ExtensionToolResult,
} from "@bonsai-agent/extension";
import { z } from "zod";
import { plainLine } from "./foreign-text.ts";
import type { ListedTool } from "./listing.ts";
import { type OfferedTool, toolNames } from "./offered-tool.ts";
import { type McpDetails, readResult } from "./result.ts";
import { searched } from "./search.ts";
import type { McpServers } from "./servers.ts";

export interface McpToolsOptions {
  bonsai: Pick<ExtensionAPI, "registerTool">;
  servers: McpServers;
  /** Tokens of the model in use; undefined or 0 where unknown. */
  contextWindow(): number | undefined;
  onNotice(message: string): void;
}

/** Of the model's window; beyond it tools are offered by search. */
const mostShare = 0.1;

/** Owner of the tools that the model is offered of all servers: each by itself, or all by search. */
export class McpTools {
  readonly #options: McpToolsOptions;
  #offered: readonly OfferedTool[] = [];
  #isBySearch = false;
  /** By name, what is registered. */
  readonly #registered = new Map<string, { mark: string; undo: () => void }>();

  constructor(options: McpToolsOptions) {
    this.#options = options;
  }

  get offered(): readonly OfferedTool[] {
    return this.#offered;
  }

  /** What all of them cost, or would cost, in each request. */
  get tokens(): number {
    return this.#offered.reduce((sum, { tokens }) => sum + tokens, 0);
  }

  /** True where the model finds them by `mcp_search` and calls them by `mcp_call`. */
  get isBySearch(): boolean {
    return this.#isBySearch;
  }

  /** Offers what the servers have now to the model of now. What stays the same keeps its place, for the provider's cache. */
  update(): void {
    const { servers, contextWindow } = this.#options;
    const all = servers.all.flatMap((server) =>
      server.state === "disabled" ? [] : server.tools.map((listed) => ({ server, listed })),
    );
    const names = toolNames(all.map(({ server, listed }) => ({ server: server.name, tool: listed.name })));
    this.#offered = all.map((each, at) => ({
      ...each,
      name: names[at]!,
      tokens: cost(names[at]!, each.listed),
    }));
    const window = contextWindow() ?? 0;
    this.#isBySearch = window > 0 && this.tokens > window * mostShare;
    this.#register(this.#isBySearch ? this.#searchTools() : this.#offered.map((each) => this.#toolOf(each)));
  }

  #register(wanted: readonly ExtensionTool[]): void {
    const names = new Set(wanted.map(({ name }) => name));
    for (const [name, { undo }] of this.#registered) {
      if (names.has(name)) continue;
      undo();
      this.#registered.delete(name);
    }
    for (const tool of wanted) {
      const { name, label, description, parameters, executionMode } = tool;
      const isOwn = "_zod" in parameters;
      const mark = JSON.stringify([label, description, isOwn ? "" : parameters, executionMode]);
      const known = this.#registered.get(name);
      if (known?.mark === mark) continue;
      known?.undo();
      this.#registered.set(name, { mark, undo: this.#options.bonsai.registerTool(tool) });
    }
  }

  #toolOf({ name, server, listed }: OfferedTool): ExtensionTool {
    return {
      name,
      label: listed.title ?? `${server.name}: ${plainLine(listed.name, 60)}`,
      description: describe(listed),
      parameters: listed.inputSchema,
      // The server does. Its schema may hold an expression that would keep this program busy for ever.
      checksArguments: true,
      // What is said to change nothing can go on beside others; what one call does, the next may need.
      executionMode: listed.annotations.readOnlyHint === true ? "parallel" : "sequential",
      execute: (_id, args, signal, onUpdate) =>
        this.#call(name, args as Record<string, unknown>, { signal, onUpdate }),
    };
  }

  async #call(
    name: string,
    args: Record<string, unknown>,
    {
      signal,
      onUpdate,
    }: { signal: AbortSignal; onUpdate: (partial: ExtensionToolResult<McpDetails>) => void },
  ): Promise<ExtensionToolResult<McpDetails>> {
    const offered = this.#offered.find((each) => each.name === name);
    if (offered === undefined) throw new Error(`The tool ${name} no longer exists.`);
    const { server, listed } = offered;
    const details = { server: server.name, tool: plainLine(listed.name) };
    let shownMs = 0;
    const raw = await server.callTool(listed.name, args, {
      signal,
      onProgress: (progress) => {
        if (performance.now() - shownMs < progressPauseMs) return;
        shownMs = performance.now();
        onUpdate({ content: [{ type: "text", text: progressText(progress) }], details });
      },
    });
    return readResult(raw, {
      config: server.config,
      tool: listed,
      onProblem: (problem) => this.#options.onNotice(`${server.name}: ${problem}`),
    });
  }

  /** The same for all servers and at all times, but for the servers' names: the model's prefix stays as it is. */
  #searchTools(): ExtensionTool[] {
    const { servers } = this.#options;
    const names = servers.all
      .filter(({ state }) => state !== "disabled")
      .map(({ name, config }) => (config.description ? `${name} (${plainLine(config.description)})` : name));
    const search = defineTool({
      name: "mcp_search",
      label: "Search MCP tools",
      description: `Searches the tools of the MCP servers ${names.join(", ")} by keywords. Returns names, descriptions and parameters. Call a tool with mcp_call.`,
      parameters: searchParameters,
      execute: async (_id, { query, limit }, signal) => {
        await servers.settled(signal);
        return { content: [{ type: "text", text: searched(this.#offered, query, limit) }] };
      },
    });
    const call = defineTool({
      name: "mcp_call",
      label: "Call an MCP tool",
      description:
        "Calls a tool found by mcp_search. Takes its name and arguments that match its parameters.",
      parameters: callParameters,
      executionMode: "sequential",
      execute: async (_id, { name, arguments: args }, signal, onUpdate) => {
        await servers.settled(signal);
        if (!this.#offered.some((each) => each.name === name))
          throw new Error(`No tool is named ${name}.\n${searched(this.#offered, name, 3)}`);
        return this.#call(name, args, { signal, onUpdate });
      },
    });
    return [search, call] as unknown as ExtensionTool[];
  }
}

/** Who watches reads no faster. */
const progressPauseMs = 100;

const searchParameters = z.object({
  query: z.string().describe("Keywords from the tool's name or purpose."),
  limit: z.number().int().min(1).max(20).default(5),
});

const callParameters = z.object({
  name: z.string().describe("The tool's name from mcp_search."),
  arguments: z.record(z.string(), z.unknown()).default({}),
});

function describe({ description, title, name }: ListedTool): string {
  return description || title || plainLine(name);
}

/** Counted once for each tool that was listed: they are looked at anew whenever any server changes. */
const costs = new WeakMap<ListedTool, number>();

function cost(name: string, listed: ListedTool): number {
  const known = costs.get(listed);
  if (known !== undefined) return known;
  const declared = { name, description: describe(listed), parameters: listed.inputSchema };
  const tokens = byScriptEstimator.text(JSON.stringify(declared));
  costs.set(listed, tokens);
  return tokens;
}

function progressText({
  progress,
  total,
  message,
}: {
  progress: number;
  total?: number;
  message?: string;
}): string {
  const share = total === undefined ? `${progress}` : `${progress} of ${total}`;
  return message ? `${share}: ${plainLine(message)}` : share;
}
