import { maskKeys } from "@bonsai-agent/extension";
import type { AuthProvider, Client, Progress } from "@modelcontextprotocol/client";
import { CallClock } from "./call-clock.ts";
import { type ServerConfig, serverKeys } from "./config.ts";
import { Connection } from "./connection.ts";
import { anyResult, messageOf, NEVER_MS } from "./faults.ts";
import { plainLine, plainText } from "./foreign-text.ts";
import type { ListedPrompt, ListedResource, ListedTemplate, ListedTool } from "./listing.ts";

/** `closed`: not connected, or no longer; the next call connects it. */
export type ServerState = "connecting" | "ready" | "failed" | "needs-login" | "disabled" | "closed";

/** A login at a server: tokens for the SDK's transport. */
export interface ServerAuth extends AuthProvider {
  /** Returns the error in words about the login, if it is about it. */
  explain(error: unknown): unknown;
}

/** What others add to a connection. */
export interface ServerHooks {
  /** The login at a server with an address. Default: none. */
  auth?(server: McpServer): ServerAuth | undefined;
  /** Called before a client connects: registers capabilities and answers requests of the server. */
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
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** Codes of a connection that was closed: of the SDK, and of JSON-RPC. */
const CLOSED_CODES: readonly unknown[] = ["CONNECTION_CLOSED", -32_000];

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
  #closings = 0;
  #stderr = "";
  /** Of the calls that run. */
  readonly #clocks = new Set<CallClock>();
  /** How many questions of the server somebody is asked. */
  #asking = 0;
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
    return this.masked(plainText(this.#stderr));
  }

  /** A text of the server without the keys that its entry gives it: some say in an error which key was wrong. */
  masked(text: string): string {
    return maskKeys(serverKeys(this.config))(text);
  }

  /** The same on one line, without control characters. */
  #line(text: string): string {
    return plainLine(this.masked(plainText(text.slice(0, 2_000))));
  }

  /** Why a request failed; where the connection ended over it, what ended that. */
  reasonOf(error: unknown): string {
    return (isClosed(error) && this.#problem) || this.#line(messageOf(error));
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
    this.#closings += 1;
    const connection = this.#connection;
    this.#connection = undefined;
    if (this.#state !== "disabled") this.#set("closed");
    await connection?.close();
    await this.#connecting;
  }

  /** Switches it on or off in this session, whatever its entry says. */
  async enable(isEnabled: boolean): Promise<void> {
    if ((this.#state !== "disabled") === isEnabled) return;
    if (!isEnabled) await this.close();
    this.#set(isEnabled ? "closed" : "disabled");
    if (isEnabled) await this.connect();
  }

  /** Whoever closes it in the meantime has it closed. */
  async reconnect(): Promise<void> {
    const closed = this.close();
    const closings = this.#closings;
    await closed;
    if (closings === this.#closings) await this.connect();
  }

  /** While somebody is asked a question of the server, no call of it runs out of time. The function returned ends that. */
  pauseCalls(): () => void {
    this.#asking += 1;
    for (const clock of this.#clocks) clock.stop();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#asking -= 1;
      if (this.#asking === 0) for (const clock of this.#clocks) clock.start();
    };
  }

  /**
   * Calls a tool. Connects first if the connection was lost. Ends after a total time, also if the server reports progress.
   * @returns the server's result, unread
   * @throws Error with the reason, in words for the model
   */
  async callTool(
    name: string,
    args: Readonly<Record<string, unknown>>,
    { signal: aborted, onProgress }: CallOptions,
  ): Promise<Record<string, unknown>> {
    const clock = new CallClock(this.config.timeoutMs);
    const signal = AbortSignal.any([aborted, clock.signal]);
    let client: Client | undefined;
    const call = async () => {
      client = await this.connected(signal);
      return await this.#request(client, { name, arguments: args }, { signal, clock, onProgress });
    };
    try {
      try {
        return await call();
      } catch (error) {
        // The server has forgotten the session, so it has not run the call.
        if (!isSessionLost(error) || signal.aborted) throw error;
        if (this.client === client) await this.reconnect();
        return await call();
      }
    } catch (error) {
      aborted.throwIfAborted();
      if (clock.signal.aborted)
        throw new Error(
          `The MCP server ${this.name} ${messageOf(clock.signal.reason)}. The call was cancelled.`,
        );
      if (error instanceof NotConnected) throw error;
      const cause = this.#explained(error);
      if (isUnauthorized(cause)) await this.#loginEnded(cause);
      if (isUnreachable(cause)) this.#lost(this.#connection, messageOf((cause as Error).cause ?? cause));
      throw new Error(this.#callProblem(cause), { cause });
    } finally {
      clock.stop();
      this.#clocks.delete(clock);
    }
  }

  async #request(
    client: Client,
    params: { name: string; arguments: Readonly<Record<string, unknown>> },
    { signal, clock, onProgress }: CallOptions & { clock: CallClock },
  ): Promise<Record<string, unknown>> {
    this.#clocks.add(clock);
    if (this.#asking === 0) clock.start();
    return await client.request({ method: "tools/call", params }, anyResult, {
      signal,
      timeout: NEVER_MS,
      onprogress: (progress) => {
        clock.heard();
        onProgress?.(progress);
      },
    });
  }

  /** The client of a connection that stands; connects where there is none. @throws NotConnected where there is none, and none can be made */
  async connected(signal: AbortSignal): Promise<Client> {
    signal.throwIfAborted();
    const aborted = new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => resolve(), { once: true }),
    );
    await Promise.race([this.connect(), aborted]);
    signal.throwIfAborted();
    const client = this.#state === "ready" ? this.#connection?.client : undefined;
    if (client !== undefined) return client;
    throw new NotConnected(
      `The MCP server ${this.name} is not connected: ${this.#problem ?? `it is ${this.#state}.`}`,
    );
  }

  #callProblem(error: unknown): string {
    if (this.#state === "needs-login") return this.#problem ?? messageOf(error);
    const isLost = this.#state !== "ready" || isClosed(error);
    const why = (this.#state !== "ready" && this.#problem) || this.reasonOf(error);
    return isLost
      ? `The MCP server ${this.name} disconnected during the call: ${why} The call may have taken effect. The next call reconnects.`
      : `The MCP server ${this.name} refused the call: ${why}`;
  }

  async #connect(): Promise<void> {
    this.#set("connecting");
    const opened = new Connection(this.config, {
      onStderr: (tail) => {
        this.#stderr = tail;
      },
      onLost: (problem) => this.#lost(opened, problem),
      onListChanged: () => this.#refresh(opened),
      onProblem: (problem) => this.#onNotice(`${this.name}: ${this.masked(problem)}`),
    });
    this.#connection = opened;
    try {
      await opened.open(this.#hooks.auth?.(this), (client) => this.#hooks.clientHandlers?.(client, this));
      if (this.#connection !== opened) return void (await opened.close());
      await this.#read(opened);
      if (this.#connection === opened) this.#set("ready");
    } catch (error) {
      if (this.#connection === opened) {
        this.#connection = undefined;
        this.#fail(this.#explained(error));
      }
      await opened.close();
    }
  }

  #explained(error: unknown): unknown {
    const auth = this.#hooks.auth?.(this);
    return auth === undefined ? error : auth.explain(error);
  }

  #fail(error: unknown): void {
    if (isUnauthorized(error)) {
      this.#set("needs-login", this.#line(messageOf(error)));
      return;
    }
    const said = this.config.type === "stdio" ? reasonIn(this.stderrTail) : "";
    this.#set("failed", this.#line(`${messageOf(error)}${said && ` Its last output: ${said}`}`));
  }

  /** What was a login is none any more. */
  async #loginEnded(error: unknown): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#fail(error);
    await connection?.close();
  }

  #lost(connection: Connection | undefined, problem: string): void {
    if (this.#connection !== connection || this.#state !== "ready") return;
    this.#connection = undefined;
    void connection?.close();
    this.#onNotice(`${this.name} disconnected: ${this.#line(problem)} The next call reconnects.`);
    this.#set("closed", this.#line(problem));
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
    // What has changed since the lists were asked for.
    await this.#connecting;
    if (this.#connection !== connection || this.#state !== "ready") return;
    try {
      await this.#read(connection);
      this.#changed();
    } catch (error) {
      if (this.#connection === connection)
        this.#onNotice(
          `${this.name}: cannot read its changed tools, resources or prompts: ${this.#line(messageOf(error))}`,
        );
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

class NotConnected extends Error {}

function isClosed(error: unknown): boolean {
  return CLOSED_CODES.includes((error as { code?: unknown } | undefined)?.code);
}

/** The server at an address has forgotten our session: it was restarted. */
function isSessionLost(error: unknown): boolean {
  const { status, message = "" } = (error ?? {}) as { status?: unknown; message?: string };
  return status === 404 || (status === 400 && /session/i.test(message));
}

/** `fetch` could not send. */
function isUnreachable(error: unknown): boolean {
  return error instanceof TypeError && error.cause !== undefined;
}

function isUnauthorized(error: unknown): boolean {
  const { code, status } = (error ?? {}) as { code?: unknown; status?: unknown };
  return status === 401 || code === "mcp_login_needed";
}

/** Why a program ended, as it said: the error that nobody caught, for runtimes write more behind it; else its last line. */
function reasonIn(stderr: string): string {
  const lines = stderr.split("\n").filter((line) => line.trim() !== "");
  const thrown = lines.findLast((line) => /^(?:Uncaught )?[\w.]*(?:Error|Exception)\b[^:]*: ./.test(line));
  return (thrown ?? lines.at(-1) ?? "").trim();
}
