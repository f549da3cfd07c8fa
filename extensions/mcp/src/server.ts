import { maskKeys, raceAbort, textHead } from "@bonsai-agent/extension";
import type { AuthProvider, Client, Progress } from "@modelcontextprotocol/client";
import { CallClock } from "./call-clock.ts";
import { type ServerConfig, serverKeys } from "./config.ts";
import { Connection } from "./connection.ts";
import { anyResult, messageOf, NEVER_MS } from "./faults.ts";
import { plainLine, plainText } from "./foreign-text.ts";
import type { ServerLists } from "./listing.ts";

/** `closed`: not connected. The next call connects. */
export type ServerState = "connecting" | "ready" | "failed" | "needs-login" | "disabled" | "closed";

/** A login at a server: tokens for the SDK's transport. */
export interface ServerAuth extends AuthProvider {
  /** Returns the error in words about the login, if it is about it. */
  explain(error: unknown): unknown;
}

/** Additions of other modules to a connection. */
export interface ServerHooks {
  /** The login at a server with an address. Default: none. */
  auth?(server: McpServer): ServerAuth | undefined;
  /** Called before a client connects: registers capabilities and answers requests of the server. */
  clientHandlers?(client: Client, server: McpServer): void;
}

export interface McpServerOptions {
  config: ServerConfig;
  hooks?: ServerHooks | undefined;
  /** Called with each notice for the user. */
  onNotice?(message: string): void;
  /** Called after each change of its state or lists. */
  onChange?(server: McpServer): void;
}

export interface CallOptions {
  /** An abort sends the server a cancellation. */
  signal: AbortSignal;
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** Codes of the SDK and of JSON-RPC for a closed connection. */
const CLOSED_CODES: readonly unknown[] = ["CONNECTION_CLOSED", -32_000];

/** Owner of the connection with one configured server, and of its lists. */
export class McpServer {
  readonly config: ServerConfig;
  readonly #hooks: ServerHooks;
  readonly #onNotice: (message: string) => void;
  readonly #onChange: (server: McpServer) => void;
  #state: ServerState;
  #problem: string | undefined;
  #connection: Connection | undefined;
  #connecting: Promise<void> | undefined;
  /** Reads changed lists one after the other. */
  #refreshing = Promise.resolve();
  #closings = 0;
  #stderr = "";
  /** Clocks of the running calls. */
  readonly #clocks = new Set<CallClock>();
  /** Open questions of the server to the user. */
  #asking = 0;
  #lists: ServerLists = { tools: [], resources: [], templates: [], prompts: [] };

  constructor({ config, hooks = {}, onNotice = () => {}, onChange = () => {} }: McpServerOptions) {
    this.config = config;
    this.#hooks = hooks;
    this.#onNotice = onNotice;
    this.#onChange = onChange;
    this.#state = config.isEnabled ? "closed" : "disabled";
  }

  get name(): string {
    return this.config.name;
  }

  get state(): ServerState {
    return this.#state;
  }

  /** Reason of the failure, on one line. */
  get problem(): string | undefined {
    return this.#problem;
  }

  get client(): Client | undefined {
    return this.#connection?.client;
  }

  /** The latest lists. They stay while the server is not connected. */
  get lists(): ServerLists {
    return this.#lists;
  }

  /** End of its standard error, over all connections; "" for a server at an address. */
  get stderrTail(): string {
    return this.masked(plainText(this.#stderr));
  }

  /** Masks the keys of its entry: some servers quote a wrong key in an error. */
  masked(text: string): string {
    return maskKeys(serverKeys(this.config))(text);
  }

  /** The same on one line, without control characters. */
  #line(text: string): string {
    return plainLine(this.masked(plainText(textHead(text, 2_000))));
  }

  /** Reason of a failed request, or of the end of the connection that made it fail. */
  reasonOf(error: unknown): string {
    return (isClosed(error) && this.#problem) || this.#line(messageOf(error));
  }

  /** Connects unless it is disabled or connected. Never rejects: see `state`. */
  connect(): Promise<void> {
    if (this.#state === "disabled" || this.#state === "ready") return Promise.resolve();
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** Ends the connection, and the program of the server. */
  async close(): Promise<void> {
    this.#closings += 1;
    const connection = this.#detach();
    if (this.#state !== "disabled") this.#set("closed");
    await connection?.close();
    await this.#connecting;
  }

  /** Overrides the setting of its entry for this session. */
  async enable(isEnabled: boolean): Promise<void> {
    if ((this.#state !== "disabled") === isEnabled) return;
    if (!isEnabled) await this.close();
    this.#set(isEnabled ? "closed" : "disabled");
    if (isEnabled) await this.connect();
  }

  /** Stays closed if it is closed meanwhile. */
  async reconnect(): Promise<void> {
    const closed = this.close();
    const closings = this.#closings;
    await closed;
    if (closings === this.#closings) await this.connect();
  }

  /** Stops the clocks of all calls while the user answers a question. Returns a function that restarts them. */
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
    const onprogress = (progress: Progress) => {
      clock.restartSilence();
      onProgress?.(progress);
    };
    let client: Client | undefined;
    const call = async () => {
      client = await this.connected(signal);
      this.#clocks.add(clock);
      if (this.#asking === 0) clock.start();
      const request = { method: "tools/call", params: { name, arguments: args } };
      return await client.request(request, anyResult, { signal, timeout: NEVER_MS, onprogress });
    };
    try {
      return await call().catch(async (error: unknown) => {
        // The server has forgotten the session, so it has not run the call.
        if (!isSessionLost(error) || signal.aborted) throw error;
        if (this.client === client) await this.reconnect();
        return await call();
      });
    } catch (error) {
      aborted.throwIfAborted();
      if (!clock.signal.aborted) throw await this.#callError(error);
      const limit = messageOf(clock.signal.reason);
      throw new Error(`The MCP server ${this.name} ${limit}. The call was cancelled.`);
    } finally {
      clock.stop();
      this.#clocks.delete(clock);
    }
  }

  /** Returns a connected client; connects first if needed. @throws NotConnected */
  async connected(signal: AbortSignal): Promise<Client> {
    await raceAbort(this.connect(), signal);
    if (this.#state === "ready" && this.client !== undefined) return this.client;
    throw new NotConnected(
      `The MCP server ${this.name} is not connected: ${this.#problem ?? `it is ${this.#state}.`}`,
    );
  }

  /** The error of a failed call, in words for the model. Ends the connection if the error says so. */
  async #callError(error: unknown): Promise<Error> {
    if (error instanceof NotConnected) return error;
    const cause = this.#explained(error);
    if (isLoginNeeded(cause)) {
      const connection = this.#detach();
      this.#fail(cause);
      await connection?.close();
      return new Error(this.#problem, { cause });
    }
    if (isUnreachable(cause)) this.#lost(this.#connection, messageOf(cause));
    const hasEnded = this.#state !== "ready";
    const why = (hasEnded && this.#problem) || this.reasonOf(cause);
    return new Error(
      hasEnded || isClosed(cause)
        ? `The MCP server ${this.name} disconnected during the call: ${why} The call may have taken effect. The next call reconnects.`
        : `The MCP server ${this.name} refused the call: ${why}`,
      { cause },
    );
  }

  async #connect(): Promise<void> {
    this.#set("connecting");
    const opened = new Connection(this.config, {
      onStderr: (tail) => {
        this.#stderr = tail;
      },
      onLost: (problem) => this.#lost(opened, problem),
      onListChanged: () => {
        this.#refreshing = this.#refreshing.then(() => this.#refresh(opened));
      },
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
        this.#detach();
        this.#fail(this.#explained(error));
      }
      await opened.close();
    }
  }

  #detach(): Connection | undefined {
    const connection = this.#connection;
    this.#connection = undefined;
    return connection;
  }

  #explained(error: unknown): unknown {
    const auth = this.#hooks.auth?.(this);
    if (auth !== undefined) return auth.explain(error);
    if ((error as { status?: unknown } | undefined)?.status !== 401) return error;
    const why = `The server refused the headers of its entry (status 401). Correct them in ${this.config.file}.`;
    return new Error(why, { cause: error });
  }

  #fail(error: unknown): void {
    if (isLoginNeeded(error)) {
      this.#set("needs-login", this.#line(messageOf(error)));
      return;
    }
    const output = this.config.type === "stdio" ? reasonIn(this.stderrTail) : "";
    this.#set("failed", this.#line(`${messageOf(error)}${output && ` Its last output: ${output}`}`));
  }

  #lost(connection: Connection | undefined, problem: string): void {
    if (this.#connection !== connection || this.#state !== "ready") return;
    void this.#detach()?.close();
    this.#onNotice(`${this.name} disconnected: ${this.#line(problem)} The next call reconnects.`);
    this.#set("closed", this.#line(problem));
  }

  async #read(connection: Connection): Promise<void> {
    const lists = await connection.lists();
    if (this.#connection === connection) this.#lists = lists;
  }

  async #refresh(connection: Connection): Promise<void> {
    // The first reading may be older than the change.
    await this.#connecting;
    if (this.#connection !== connection || this.#state !== "ready") return;
    try {
      await this.#read(connection);
      this.#onChange(this);
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
    this.#onChange(this);
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

/** True for a request that `fetch` could not send. */
function isUnreachable(error: unknown): boolean {
  return error instanceof TypeError && error.cause !== undefined;
}

function isLoginNeeded(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === "mcp_login_needed";
}

/** Reason for the end of a program in its output: an uncaught error, which runtimes follow with more lines, or the last line. */
function reasonIn(stderr: string): string {
  const lines = stderr.split("\n").filter((line) => line.trim() !== "");
  const thrown = lines.findLast((line) => /^(?:Uncaught )?[\w.]*(?:Error|Exception)\b[^:]*: ./.test(line));
  return (thrown ?? lines.at(-1) ?? "").trim();
}
