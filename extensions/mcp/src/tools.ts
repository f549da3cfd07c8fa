import {
  type ExtensionAPI,
  type ExtensionTool,
  type ExtensionToolResult,
  fitArguments,
} from "@bonsai-agent/extension";
import type { Progress } from "@modelcontextprotocol/client";
import { plainLine } from "./foreign-text.ts";
import type { ListedTool } from "./listing.ts";
import { type OfferedTool, searchTools, toolNames } from "./offered-tool.ts";
import { Registrations } from "./registrations.ts";
import { type McpDetails, readResult } from "./result.ts";
import type { McpServers } from "./servers.ts";

export interface McpToolsOptions {
  bonsai: Pick<ExtensionAPI, "on" | "registerTool" | "sendMessage">;
  servers: McpServers;
  /** Context window of the current model, in tokens; undefined or 0 if unknown. */
  contextWindow(): number | undefined;
  onNotice(message: string): void;
}

/** Share of the model's window. Larger tools are offered by search. */
const MAX_SHARE = 0.1;
/** Pause between two shown signs of progress. */
const PROGRESS_PAUSE_MS = 100;
const DEFAULT_MATCHES = 5;

/** The tools that requests declare until the next compaction. */
interface HeldTools {
  /** The compaction in the model's view; undefined for none. */
  compactionId: string | undefined;
  offered: readonly OfferedTool[];
  /** Names and purposes of the servers for the model. */
  servers: string;
  /** True if a server was not ready: the model finds its tools by search later. */
  isIncomplete: boolean;
  /** Servers whose later tools the model knows of. */
  announced: Set<string>;
}

/**
 * Owner of the tools that the model gets from all servers: one by one, or by search.
 *
 * Invariant: from the first request to the next compaction, servers that come and go change no declared tool of a model.
 * The tools are the start of the provider's cache.
 */
export class McpTools {
  readonly #options: McpToolsOptions;
  readonly #tools = new Registrations();
  #offered: readonly OfferedTool[] = [];
  #isBySearch = false;
  #held: HeldTools | undefined;
  /** The tools of the latest request, if a compaction has replaced them since: an undo brings them back. */
  #heldBefore: HeldTools | undefined;
  /** Compactions that a request has contained since `#releasedMs`. */
  readonly #sent = new Set<string | undefined>();
  #releasedMs = Date.now();

  constructor(options: McpToolsOptions) {
    this.#options = options;
  }

  get offered(): readonly OfferedTool[] {
    return this.#offered;
  }

  /** True if the model finds tools with `mcp_search` and calls them with `mcp_call`. */
  get isBySearch(): boolean {
    return this.#isBySearch;
  }

  /** Holds the declared tools from the start of a run to the next compaction. */
  follow(): void {
    const { bonsai } = this.#options;
    bonsai.on("before_agent_start", (_event, { sessionManager }) => {
      const [first] = sessionManager.buildContextEntries();
      this.#hold(first?.type === "compaction" ? first : undefined);
    });
    bonsai.on("session_compact", ({ compactionEntry }) => this.#hold(compactionEntry));
    bonsai.on("turn_end", () => {
      this.#sent.add(this.#held?.compactionId);
      this.#heldBefore = undefined;
    });
    bonsai.on("model_select", () => this.update());
  }

  /** @param compaction the compaction in the model's view: a new one allows other tools */
  #hold(compaction: { id: string; timestamp: string } | undefined): void {
    if (this.#held !== undefined && this.#held.compactionId === compaction?.id) return;
    const held = this.#heldBefore ?? this.#held;
    const isNew =
      compaction !== undefined &&
      !this.#sent.has(compaction.id) &&
      Date.parse(compaction.timestamp) >= this.#releasedMs;
    const isKept = held !== undefined && !isNew;
    this.#heldBefore = isKept ? undefined : held;
    this.#held = isKept ? held : this.#currentTools(compaction?.id);
    this.update();
  }

  #currentTools(compactionId: string | undefined): HeldTools {
    const isIncomplete = this.#options.servers.all.some(
      ({ state }) => state !== "ready" && state !== "disabled",
    );
    const servers = this.#serverNames();
    return { compactionId, offered: this.#offered, isIncomplete, servers, announced: new Set() };
  }

  /** Declares the current tools: a session begins, or the user wants other servers now. */
  release(): void {
    this.#held = undefined;
    this.#heldBefore = undefined;
    this.#sent.clear();
    this.#releasedMs = Date.now();
    this.update();
  }

  update(): void {
    const { servers, contextWindow } = this.#options;
    const all = servers.all
      .filter(({ state }) => state !== "disabled")
      .flatMap((server) => server.lists.tools.map((listed) => ({ server, listed })));
    const names = toolNames(all.map(({ server, listed }) => ({ server: server.name, tool: listed.name })));
    this.#offered = all.map((each, at) => ({ ...each, name: names[at]! }));
    const window = contextWindow() ?? 0;
    const { offered: declared, isIncomplete } = this.#held ?? { offered: this.#offered, isIncomplete: false };
    const tokens = declared.reduce((sum, { listed }) => sum + listed.tokens, 0);
    this.#isBySearch = window > 0 && tokens > window * MAX_SHARE;
    const wanted = [
      ...(this.#isBySearch ? [] : declared.map((tool) => this.#toolOf(tool))),
      ...(this.#isBySearch || isIncomplete ? [this.#searchTool(), this.#callTool()] : []),
    ];
    this.#tools.update(
      new Map(
        wanted.map((tool) => {
          const { name, label, description, parameters, executionMode, effects } = tool;
          const mark = [label, description, parameters, executionMode, effects];
          return [name, { mark, register: () => this.#register(tool) }];
        }),
      ),
    );
    if (this.#held !== undefined && (isIncomplete || this.#isBySearch)) this.#announce(this.#held);
  }

  /** Tells the model about tools that it can only find by search. */
  #announce(held: HeldTools): void {
    const declared = new Set(held.offered.map(({ name }) => name));
    for (const { server, name } of this.#offered) {
      if (declared.has(name) || held.announced.has(server.name)) continue;
      held.announced.add(server.name);
      this.#options.bonsai.sendMessage(
        {
          customType: "mcp.tools",
          content: `The MCP server ${server.name} now has other tools. Find them with mcp_search and call them with mcp_call.`,
          display: true,
        },
        { deliverAs: "steer", triggerTurn: false },
      );
    }
  }

  /** An invalid tool gets a notice and does not affect the others. */
  #register(tool: ExtensionTool): () => void {
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
      executionMode: listed.isReadOnly ? "parallel" : "sequential",
      effects: listed.isReadOnly ? "none" : listed.isIdempotent ? "idempotent" : "once",
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
    if (offered === undefined)
      throw new Error(`The tool ${name} is not available: its server is off, or no longer has it.`);
    const { server, listed } = offered;
    const details = { server: server.name, tool: plainLine(listed.name) };
    let shownMs = 0;
    const onProgress = (progress: Progress) => {
      if (performance.now() - shownMs < PROGRESS_PAUSE_MS) return;
      shownMs = performance.now();
      onUpdate({ content: [{ type: "text", text: progressText(progress) }], details });
    };
    const raw = await server.callTool(listed.name, args, { signal, onProgress });
    return readResult(raw, server.config, listed.name);
  }

  #serverNames(): string {
    return this.#options.servers.all
      .filter(({ state }) => state !== "disabled")
      .map(({ name, config }) => (config.description ? `${name} (${plainLine(config.description)})` : name))
      .join(", ");
  }

  #searchTool(): ExtensionTool {
    const { servers } = this.#options;
    const names = this.#held?.servers ?? this.#serverNames();
    return {
      name: "mcp_search",
      effects: "none",
      label: "Search MCP tools",
      description: `Searches the tools of the MCP servers ${names} by keywords. Returns names, descriptions and parameters. Call a tool with mcp_call.`,
      parameters: searchParameters,
      execute: async (_id, args, signal) => {
        await servers.whenConnected(signal);
        const { query, limit = DEFAULT_MATCHES } = args as { query: string; limit?: number };
        const text = searchTools(this.#offered, query, limit);
        return { content: [{ type: "text", text }], details: undefined };
      },
    };
  }

  #callTool(): ExtensionTool {
    return {
      name: "mcp_call",
      label: "Call an MCP tool",
      description:
        "Calls a tool found by mcp_search. Takes its name and arguments that match its parameters.",
      parameters: callParameters,
      executionMode: "sequential",
      prepareArguments: (given) => this.#fitCall(given as Record<string, unknown>),
      execute: async (_id, given, signal, onUpdate) => {
        await this.#options.servers.whenConnected(signal);
        const { name, arguments: args = {} } = given as { name: string; arguments?: Record<string, unknown> };
        if (!this.#offered.some((each) => each.name === name))
          throw new Error(`No tool is named ${name}.\n${searchTools(this.#offered, name, 3)}`);
        return this.#call(name, args, { signal, onUpdate });
      },
    };
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

function progressText({ progress, total, message }: Progress): string {
  const share = total === undefined ? `${progress}` : `${progress} of ${total}`;
  return message ? `${share}: ${plainLine(message)}` : share;
}
