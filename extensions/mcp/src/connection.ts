import type {
  AuthProvider,
  Client,
  JsonSchemaValidatorResult,
  Transport,
} from "@modelcontextprotocol/client";
import type { ServerConfig } from "./config.ts";
import { messageOf, NEVER_MS, NoMessage, pause, ServerFault, withinTime } from "./faults.ts";
import { plainLine } from "./foreign-text.ts";
import type { ListedPrompt, ListedResource, ListedTemplate, ListedTool, ListOptions } from "./listing.ts";

/** Pause between two readings of changed lists. */
const refreshPauseMs = 100;
/** Readings of changed lists in one connection. */
const MAX_REFRESHES = 100;
/** Reported problems of one connection. */
const MAX_PROBLEMS = 20;
/** Time to tell an HTTP server that its session is over. */
const endSessionMs = 1_000;

/** What a server offers. */
export interface ServerLists {
  tools: readonly ListedTool[];
  resources: readonly ListedResource[];
  templates: readonly ListedTemplate[];
  prompts: readonly ListedPrompt[];
}

export interface ConnectionEvents {
  onStderr(tail: string): void;
  /** The connection ended by itself. */
  onLost(problem: string): void;
  /** Never rejects. */
  onListChanged(): Promise<void>;
  onProblem(problem: string): void;
}

/** One connection with a server, from its opening to its end. */
export class Connection {
  readonly #config: ServerConfig;
  readonly #events: ConnectionEvents;
  client: Client | undefined;
  #transport: Transport | undefined;
  #fault: string | undefined;
  #isOpen = false;
  #isClosed = false;
  readonly #named = new Set<string>();
  #refreshes = 0;
  #isStale = false;
  #refreshing: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(config: ServerConfig, events: ConnectionEvents) {
    this.#config = config;
    this.#events = events;
  }

  /** @throws Error if there is no connection within the time limit of a request */
  async open(auth: AuthProvider | undefined, prepare: (client: Client) => void): Promise<void> {
    const { Client } = await import("./sdk.ts");
    // Bonsai checks results itself: an expression of a schema could keep this program busy for ever.
    const jsonSchemaValidator = { getValidator: () => acceptAll };
    const client = new Client({ name: "bonsai", version: "1" }, { jsonSchemaValidator });
    const transport = inTurn(await this.#openTransport(auth));
    if (this.#isClosed) throw new Error("The connection was closed.");
    this.client = client;
    this.#transport = transport;
    prepare(client);
    client.onerror = (error) => this.#onError(error);
    for (const list of ["tools", "resources", "prompts"] as const)
      client.setNotificationHandler(`notifications/${list}/list_changed`, () => this.#listChanged());
    try {
      // The SDK bounds its request, but not the notification after it.
      await withinTime(client.connect(transport, { timeout: NEVER_MS }), this.#config.timeoutMs);
      this.#isOpen = true;
    } catch (error) {
      throw this.#cause(error);
    }
    client.onclose = () => {
      if (!this.#isClosed) this.#events.onLost(this.#fault ?? "The connection was closed.");
    };
    if (this.#isGone) throw this.#cause(new Error("The connection was closed."));
  }

  /** Prefers the reason why the connection ended to the failed request. */
  #cause(error: unknown): unknown {
    return this.#fault === undefined ? error : new Error(this.#fault, { cause: error });
  }

  get #isGone(): boolean {
    return this.client?.transport === undefined;
  }

  async #openTransport(auth: AuthProvider | undefined): Promise<Transport> {
    const config = this.#config;
    if (config.type === "stdio") {
      const { StdioTransport } = await import("./stdio-transport.ts");
      return new StdioTransport(config, (tail) => this.#events.onStderr(tail));
    }
    const { httpTransport } = await import("./http-transport.ts");
    return httpTransport({ config, auth, onFault: (error) => this.#end(error) });
  }

  /** All changes during one reading lead to one more reading. */
  #listChanged(): void {
    this.#isStale = true;
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
  }

  async #refresh(): Promise<void> {
    while (this.#isStale && !this.#isClosed) {
      if (this.#refreshes >= MAX_REFRESHES) {
        this.#name(
          `The server changed its tools, resources or prompts ${MAX_REFRESHES} times. Bonsai ignores further changes until you reconnect the server.`,
        );
        return;
      }
      this.#refreshes += 1;
      await pause(refreshPauseMs);
      this.#isStale = false;
      await this.#events.onListChanged();
    }
  }

  #onError(error: Error): void {
    if (error instanceof ServerFault) this.#fault ??= error.message;
    else if (error instanceof NoMessage) this.#name(plainLine(error.message), "no message");
    // The stream of events of an SSE server broke: its answers are lost.
    else if (error.name === "SseError" && this.#isOpen) this.#end(error);
  }

  #end(error: Error): void {
    this.#fault ??= error.message;
    void this.#transport?.close();
  }

  /** Reports one problem of a kind. */
  #name(problem: string, kind = problem): void {
    if (this.#named.has(kind) || this.#named.size >= MAX_PROBLEMS) return;
    this.#named.add(kind);
    this.#events.onProblem(problem);
  }

  async lists(): Promise<ServerLists> {
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
        this.#name(`Cannot list its ${kind}: ${plainLine(messageOf(error))}`);
        return [] as Item[];
      });
    const [ofTools, ofResources, ofTemplates, ofPrompts] = await Promise.all([
      tools
        ? listing.listTools(options).catch((error: unknown) => {
            throw this.#cause(error);
          })
        : [],
      resources ? orNone("resources", listing.listResources(options)) : [],
      resources ? listing.listTemplates(options).catch(() => []) : [],
      prompts ? orNone("prompts", listing.listPrompts(options)) : [],
    ]);
    return { tools: ofTools, resources: ofResources, templates: ofTemplates, prompts: ofPrompts };
  }

  /** Ends the connection, and the program of the server. A second call waits for the same end. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
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

function acceptAll<Data>(data: unknown): JsonSchemaValidatorResult<Data> {
  return { valid: true, data: data as Data, errorMessage: undefined };
}

function endSession(transport: { terminateSession(): Promise<void> }): Promise<void> {
  return transport.terminateSession().catch(() => {});
}

/**
 * Makes a transport deliver its messages one by one. Otherwise the SDK loses progress that arrives in the same chunk as
 * the result.
 */
function inTurn(transport: Transport): Transport {
  let deliver: Transport["onmessage"];
  let delivered: Promise<void> = Promise.resolve();
  const onmessage: Transport["onmessage"] = (message, extra) => {
    delivered = delivered.then(() => deliver?.(message, extra)).catch((error) => transport.onerror?.(error));
  };
  return Object.defineProperty(transport, "onmessage", {
    get: () => deliver && onmessage,
    set: (given) => {
      deliver = given;
    },
  });
}
