import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { Progress } from "@modelcontextprotocol/sdk/types.js";
import type { ServerConfig } from "./config.ts";
import { plainLine, plainText } from "./foreign-text.ts";
import type { ListedPrompt, ListedResource, ListedTemplate, ListedTool, ListOptions } from "./listing.ts";

/** `closed`: not connected, or no longer; the next call connects it. */
export type ServerState = "connecting" | "ready" | "failed" | "needs-login" | "disabled" | "closed";

/** What others add to a connection. */
export interface ServerHooks {
  /** How to log in to a server at an address. Default: by the headers of its entry alone. */
  authProvider?(
    server: McpServer,
  ): OAuthClientProvider | undefined | Promise<OAuthClientProvider | undefined>;
  /** Called before a client connects: here it registers what it can (`registerCapabilities`), and answers requests of the server. */
  clientHandlers?(client: Client, server: McpServer): void;
}

export interface McpServerOptions {
  config: ServerConfig;
  hooks?: ServerHooks | undefined;
  /** Called with each thing that the user should know, once for each text and connection. */
  onNotice?(message: string): void;
}

export interface CallOptions {
  /** Aborted: the server is sent a cancellation. */
  signal: AbortSignal;
  onProgress?(progress: Progress): void;
}

/** However much progress it reports, no call takes longer. */
const longestCallMs = 3_600_000;
/** Lists that a server says have changed are read again at most so often in one connection. */
const mostRefreshes = 100;

/** Owner of the connection with one configured server, and of what that server offers. */
export class McpServer {
  readonly config: ServerConfig;
  readonly #hooks: ServerHooks;
  readonly #onNotice: (message: string) => void;
  readonly #listeners = new Set<() => void>();
  #state: ServerState;
  #problem: string | undefined;
  #connection: Connection | undefined;
  #connecting: Promise<void> | undefined;
  #stderr = "";
  #tools: readonly ListedTool[] = [];
  #resources: readonly ListedResource[] = [];
  #templates: readonly ListedTemplate[] = [];
  #prompts: readonly ListedPrompt[] = [];

  constructor({ config, hooks = {}, onNotice = () => {} }: McpServerOptions) {
    this.config = config;
    this.#hooks = hooks;
    this.#onNotice = onNotice;
    this.#state = config.isEnabled ? "closed" : "disabled";
  }

  get name(): string {
    return this.config.name;
  }

  get state(): ServerState {
    return this.#state;
  }

  /** Why it failed or was closed, on one line. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Undefined while it is not connected. */
  get client(): Client | undefined {
    return this.#connection?.client;
  }

  /** As it listed them last; they stay while it is not connected. */
  get tools(): readonly ListedTool[] {
    return this.#tools;
  }

  get resources(): readonly ListedResource[] {
    return this.#resources;
  }

  get resourceTemplates(): readonly ListedTemplate[] {
    return this.#templates;
  }

  get prompts(): readonly ListedPrompt[] {
    return this.#prompts;
  }

  /** What it wrote last to its standard error, over all connections; "" for a server at an address. */
  get stderrTail(): string {
    return plainText(this.#stderr);
  }

  /** Its own words about how to use it. */
  get instructions(): string | undefined {
    return this.client?.getInstructions();
  }

  /** Called whenever anything of the above has changed. The function returned ends it. */
  on(change: () => void): () => void {
    this.#listeners.add(change);
    return () => void this.#listeners.delete(change);
  }

  /** Connects, where it is enabled and not connected. Never rejects: look at `state`. */
  connect(): Promise<void> {
    if (this.#state === "disabled" || this.#state === "ready") return Promise.resolve();
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** Ends the connection and, where it was started, the server. */
  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    if (this.#state !== "disabled") this.#set("closed");
    await connection?.close();
    await this.#connecting;
  }

  async reconnect(): Promise<void> {
    await this.close();
    await this.connect();
  }

  /**
   * Calls a tool; connects first where the connection was lost.
   * @returns what the server said, unread
   * @throws Error with why there is no result, in words for the model
   */
  async callTool(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: CallOptions,
  ): Promise<Record<string, unknown>> {
    const client = await this.#connected();
    const { ResultSchema } = await import("@modelcontextprotocol/sdk/types.js");
    const params = { name, arguments: args };
    try {
      return await client.request({ method: "tools/call", params }, ResultSchema, {
        signal: options.signal,
        timeout: this.config.timeoutMs,
        resetTimeoutOnProgress: true,
        maxTotalTimeout: longestCallMs,
        onprogress: (progress) => options.onProgress?.(progress),
      });
    } catch (error) {
      options.signal.throwIfAborted();
      throw new Error(this.#callProblem(error), { cause: error });
    }
  }

  /** The client of a connection that stands. @throws Error where there is none, and none can be made */
  async #connected(): Promise<Client> {
    await this.connect();
    const client = this.#state === "ready" ? this.#connection?.client : undefined;
    if (client !== undefined) return client;
    const why = this.#problem ?? `its state is ${this.#state}`;
    throw new Error(`The MCP server ${this.name} is not connected: ${why}`);
  }

  #callProblem(error: unknown): string {
    const code = (error as { code?: unknown }).code;
    if (code === timedOut) {
      return `The MCP server ${this.name} did not answer within ${this.config.timeoutMs / 1_000} s; the call was cancelled.`;
    }
    const isLost = this.#state !== "ready" || code === connectionClosed;
    const why = plainLine(this.#state === "ready" ? messageOf(error) : (this.#problem ?? messageOf(error)));
    return isLost
      ? `The MCP server ${this.name} was lost during the call, which may have taken effect: ${why} The next call connects it again.`
      : `The MCP server ${this.name} refused the call: ${why}`;
  }

  async #connect(): Promise<void> {
    this.#set("connecting");
    const opened = new Connection(this.config, {
      onStderr: (tail) => {
        this.#stderr = tail;
      },
      onLost: (problem) => this.#lost(opened, problem),
      onListChanged: () => void this.#refresh(opened),
      onProblem: (problem) => this.#onNotice(`${this.name}: ${problem}`),
    });
    this.#connection = opened;
    try {
      const authProvider = await this.#hooks.authProvider?.(this);
      await opened.open(authProvider, (client) => this.#hooks.clientHandlers?.(client, this));
      if (this.#connection !== opened) return void (await opened.close());
      await this.#read(opened);
      if (this.#connection === opened) this.#set("ready");
    } catch (error) {
      if (this.#connection === opened) {
        this.#connection = undefined;
        this.#fail(error);
      }
      await opened.close();
    }
  }

  #fail(error: unknown): void {
    if (isUnauthorized(error)) {
      this.#set("needs-login", "The server wants a login.");
      return;
    }
    const said = this.config.type === "stdio" ? lastLine(this.stderrTail) : "";
    this.#set("failed", plainLine(`${messageOf(error)}${said && ` It wrote: ${said}`}`));
  }

  #lost(connection: Connection, problem: string): void {
    if (this.#connection !== connection || this.#state !== "ready") return;
    this.#connection = undefined;
    this.#onNotice(`${this.name} was lost: ${plainLine(problem)} The next call connects it again.`);
    this.#set("closed", plainLine(problem));
  }

  async #read(connection: Connection): Promise<void> {
    const read = await connection.lists();
    if (this.#connection !== connection) return;
    this.#tools = read.tools;
    this.#resources = read.resources;
    this.#templates = read.templates;
    this.#prompts = read.prompts;
  }

  async #refresh(connection: Connection): Promise<void> {
    if (this.#connection !== connection || this.#state !== "ready") return;
    try {
      await this.#read(connection);
      this.#changed();
    } catch (error) {
      if (this.#connection === connection)
        this.#onNotice(`${this.name}: its lists cannot be read again: ${plainLine(messageOf(error))}`);
    }
  }

  #set(state: ServerState, problem?: string): void {
    this.#state = state;
    this.#problem = problem;
    this.#changed();
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

interface ConnectionEvents {
  onStderr(tail: string): void;
  /** It has ended, and nobody closed it. */
  onLost(problem: string): void;
  onListChanged(): void;
  onProblem(problem: string): void;
}

/** One connection with a server, from its opening to its end. */
class Connection {
  readonly #config: ServerConfig;
  readonly #events: ConnectionEvents;
  client: Client | undefined;
  #transport: Transport | undefined;
  #fault: string | undefined;
  #isClosed = false;
  readonly #named = new Set<string>();
  #refreshes = 0;
  #isRefreshing = false;

  constructor(config: ServerConfig, events: ConnectionEvents) {
    this.#config = config;
    this.#events = events;
  }

  /** @throws Error where no connection comes about within the time limit of a request */
  async open(
    authProvider: OAuthClientProvider | undefined,
    prepare: (client: Client) => void,
  ): Promise<void> {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const client = new Client({ name: "bonsai", version: "1" });
    const transport = await this.#openTransport(authProvider);
    if (this.#isClosed) throw new Error("It was closed.");
    this.client = client;
    this.#transport = transport;
    prepare(client);
    client.onerror = (error) => this.#onError(error);
    await this.#listen(client);
    try {
      await client.connect(transport, { timeout: this.#config.timeoutMs });
    } catch (error) {
      throw this.#fault === undefined ? error : new Error(this.#fault, { cause: error });
    }
    client.onclose = () => {
      if (!this.#isClosed) this.#events.onLost(this.#fault ?? "The connection was closed.");
    };
    if (this.#isGone) throw new Error(this.#fault ?? "The connection was closed.");
  }

  get #isGone(): boolean {
    return this.client?.transport === undefined;
  }

  async #openTransport(authProvider: OAuthClientProvider | undefined): Promise<Transport> {
    const config = this.#config;
    if (config.type === "stdio") {
      const { StdioTransport } = await import("./stdio-transport.ts");
      return new StdioTransport(config, (tail) => this.#events.onStderr(tail));
    }
    const { httpTransport } = await import("./http-transport.ts");
    return httpTransport({ config, authProvider, onFault: (error) => this.#end(error) });
  }

  async #listen(client: Client): Promise<void> {
    const types = await import("@modelcontextprotocol/sdk/types.js");
    const changed = () => this.#listChanged();
    client.setNotificationHandler(types.ToolListChangedNotificationSchema, changed);
    client.setNotificationHandler(types.ResourceListChangedNotificationSchema, changed);
    client.setNotificationHandler(types.PromptListChangedNotificationSchema, changed);
  }

  /** What comes while a list is read is one more reading, however often it comes. */
  #listChanged(): void {
    if (this.#isRefreshing) return;
    if (this.#refreshes >= mostRefreshes)
      return this.#name(`It changed its lists ${mostRefreshes} times; further changes are left aside.`);
    this.#refreshes += 1;
    this.#isRefreshing = true;
    setTimeout(() => {
      this.#isRefreshing = false;
      this.#events.onListChanged();
    }, refreshPauseMs).unref();
  }

  #onError(error: Error): void {
    if (/^Maximum reconnection attempts/.test(error.message)) this.#end(error);
    else if (error.constructor.name === "NoMessage") this.#name(plainLine(error.message));
    else
      this.#fault ??= /^The server (?:ended|was ended)|^It sent a message/.test(error.message)
        ? error.message
        : undefined;
  }

  #end(error: Error): void {
    this.#fault ??= error.message;
    void this.#transport?.close();
  }

  #name(problem: string): void {
    if (this.#named.has(problem) || this.#named.size >= mostProblems) return;
    this.#named.add(problem);
    this.#events.onProblem(problem);
  }

  async lists() {
    const listing = await import("./listing.ts");
    const client = this.client!;
    const options: ListOptions = {
      client,
      timeoutMs: this.#config.timeoutMs,
      onProblem: (problem) => this.#name(problem),
    };
    const { tools, resources, prompts } = client.getServerCapabilities() ?? {};
    const orNone = <Item>(kind: string, asked: Promise<Item[]>) =>
      asked.catch((error: unknown) => {
        this.#name(`Its ${kind} cannot be listed: ${plainLine(messageOf(error))}`);
        return [] as Item[];
      });
    const [ofTools, ofResources, ofTemplates, ofPrompts] = await Promise.all([
      tools ? listing.listTools(options) : [],
      resources ? orNone("resources", listing.listResources(options)) : [],
      resources ? listing.listTemplates(options).catch(() => []) : [],
      prompts ? orNone("prompts", listing.listPrompts(options)) : [],
    ]);
    return { tools: ofTools, resources: ofResources, templates: ofTemplates, prompts: ofPrompts };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const transport = this.#transport;
    if (transport !== undefined && "terminateSession" in transport)
      await Promise.race([
        endSession(transport as { terminateSession(): Promise<void> }),
        pause(endSessionMs),
      ]);
    await this.client?.close().catch(() => {});
    await transport?.close().catch(() => {});
  }
}

/** A server that says at each turn that its lists have changed is asked no more often. */
const refreshPauseMs = 100;
/** Of one connection. */
const mostProblems = 20;
/** For an HTTP server to learn that its session is over. */
const endSessionMs = 1_000;

const connectionClosed = -32_000;
const timedOut = -32_001;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

function endSession(transport: { terminateSession(): Promise<void> }): Promise<void> {
  return transport.terminateSession().catch(() => {});
}

function isUnauthorized(error: unknown): boolean {
  const { code, constructor } = (error ?? {}) as { code?: unknown; constructor?: { name?: string } };
  return code === 401 || constructor?.name === "UnauthorizedError";
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
