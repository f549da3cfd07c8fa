import {
  type ExtensionAPI,
  type ExtensionTool,
  type ExtensionToolResult,
  fitArguments,
  tokenEstimator,
} from "@bonsai-agent/extension";
import { plainLine } from "./foreign-text.ts";
import type { ListedTool } from "./listing.ts";
import { type OfferedTool, toolNames } from "./offered-tool.ts";
import { type McpDetails, readResult } from "./result.ts";
import { searched } from "./search.ts";
import type { McpServers } from "./servers.ts";

export interface McpToolsOptions {
  bonsai: Pick<ExtensionAPI, "registerTool">;
  servers: McpServers;
  /** Context window of the current model, in tokens; undefined or 0 if unknown. */
  contextWindow(): number | undefined;
  onNotice(message: string): void;
}

/** Share of the model's window. Larger tools are offered by search. */
const MAX_SHARE = 0.1;

/** Owner of the tools that the model gets from all servers: one by one, or by search. */
export class McpTools {
  readonly #options: McpToolsOptions;
  #offered: readonly OfferedTool[] = [];
  #isBySearch = false;
  /** Registered tools by name. */
  readonly #registered = new Map<string, { mark: string; undo: () => void }>();

  constructor(options: McpToolsOptions) {
    this.#options = options;
  }

  get offered(): readonly OfferedTool[] {
    return this.#offered;
  }

  /** Tokens of all tools in each request, if they are offered one by one. */
  get tokens(): number {
    return this.#offered.reduce((sum, { tokens }) => sum + tokens, 0);
  }

  /** True if the model finds tools with `mcp_search` and calls them with `mcp_call`. */
  get isBySearch(): boolean {
    return this.#isBySearch;
  }

  /** Offers the current tools to the current model. Unchanged tools keep their place, for the provider's cache. */
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
    this.#isBySearch = window > 0 && this.tokens > window * MAX_SHARE;
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
      const mark = JSON.stringify([label, description, parameters, executionMode]);
      const known = this.#registered.get(name);
      if (known?.mark === mark) continue;
      known?.undo();
      this.#registered.set(name, { mark, undo: this.#registerOne(tool) });
    }
  }

  /** Registers one tool. An invalid tool gets a notice and does not affect the others. */
  #registerOne(tool: ExtensionTool): () => void {
    try {
      return this.#options.bonsai.registerTool(tool);
    } catch (error) {
      this.#options.onNotice(`Left out the tool ${tool.name}: ${(error as Error).message}`);
      return () => {};
    }
  }

  #toolOf({ name, server, listed }: OfferedTool): ExtensionTool {
    return {
      name,
      label: listed.title ?? `${server.name}: ${plainLine(listed.name, 60)}`,
      description: describe(listed),
      parameters: listed.inputSchema,
      // The server checks them. An expression of its schema could keep this program busy for ever.
      checksArguments: true,
      // Tools that only read can run side by side. Other calls may depend on the one before.
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

  /** Only the servers' names change here, so the provider's cache stays valid. */
  #searchTools(): ExtensionTool[] {
    const { servers } = this.#options;
    const names = servers.all
      .filter(({ state }) => state !== "disabled")
      .map(({ name, config }) => (config.description ? `${name} (${plainLine(config.description)})` : name));
    const search: ExtensionTool = {
      name: "mcp_search",
      label: "Search MCP tools",
      description: `Searches the tools of the MCP servers ${names.join(", ")} by keywords. Returns names, descriptions and parameters. Call a tool with mcp_call.`,
      parameters: searchParameters,
      execute: async (_id, args, signal) => {
        await servers.settled(signal);
        const { query, limit = DEFAULT_MATCHES } = args as { query: string; limit?: number };
        return {
          content: [{ type: "text", text: searched(this.#offered, query, limit) }],
          details: undefined,
        };
      },
    };
    const call: ExtensionTool = {
      name: "mcp_call",
      label: "Call an MCP tool",
      description:
        "Calls a tool found by mcp_search. Takes its name and arguments that match its parameters.",
      parameters: callParameters,
      executionMode: "sequential",
      prepareArguments: (given) => this.#fitCall(given as Record<string, unknown>),
      execute: async (_id, given, signal, onUpdate) => {
        await servers.settled(signal);
        const { name, arguments: args = {} } = given as { name: string; arguments?: Record<string, unknown> };
        if (!this.#offered.some((each) => each.name === name))
          throw new Error(`No tool is named ${name}.\n${searched(this.#offered, name, 3)}`);
        return this.#call(name, args, { signal, onUpdate });
      },
    };
    return [search, call];
  }

  /** Converts the inner arguments to the types of the tool's own schema before guards see them. */
  #fitCall(given: Record<string, unknown>): Record<string, unknown> {
    const call = fitArguments(given, callParameters);
    const schema = this.#offered.find(({ name }) => name === call.name)?.listed.inputSchema;
    const { arguments: args } = call;
    if (schema === undefined || typeof args !== "object" || args === null) return call;
    return { ...call, arguments: fitArguments(args as Record<string, unknown>, schema) };
  }
}

/** Pause between two shown signs of progress. */
const progressPauseMs = 100;

const DEFAULT_MATCHES = 5;

// Plain schemas: zod would be loaded at each start, also without a server.
const searchParameters = {
  type: "object",
  properties: {
    query: { type: "string", description: "Keywords from the tool's name or purpose." },
    limit: { type: "integer", minimum: 1, maximum: 20, default: DEFAULT_MATCHES },
  },
  required: ["query"],
};

const callParameters = {
  type: "object",
  properties: {
    name: { type: "string", description: "The tool's name from mcp_search." },
    arguments: { type: "object" },
  },
  required: ["name"],
};

function describe({ description, title, name }: ListedTool): string {
  return description || title || plainLine(name);
}

/** Tokens by tool, counted once: each change of a server looks at all tools. */
const costs = new WeakMap<ListedTool, number>();

function cost(name: string, listed: ListedTool): number {
  const known = costs.get(listed);
  if (known !== undefined) return known;
  const declared = { name, description: describe(listed), parameters: listed.inputSchema };
  const tokens = tokenEstimator.text(JSON.stringify(declared));
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
