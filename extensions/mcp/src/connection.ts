import { setTimeout as delay } from "node:timers/promises";
import { raceAbort } from "@bonsai-agent/extension";
import type {
  AuthProvider,
  Client,
  JsonSchemaValidatorResult,
  StreamableHTTPClientTransport,
  Transport,
} from "@modelcontextprotocol/client";
import type { ServerConfig } from "./config.ts";
import { NEVER_MS, NoMessage, ServerFault } from "./faults.ts";
import { plainLine } from "./foreign-text.ts";
import type { ServerLists } from "./listing.ts";

/** Silence after a change before changed lists are read. */
const CHANGE_PAUSE_MS = 100;
/** Reported problems of one connection. */
const MAX_PROBLEMS = 20;
/** Time to tell an HTTP server that its session is over. */
const END_SESSION_MS = 1_000;

export interface ConnectionEvents {
  onStderr(tail: string): void;
  onLost(problem: string): void;
  onListChanged(): void;
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
  /** Reported problems, by kind. */
  readonly #reported = new Set<string>();
  #closing: Promise<void> | undefined;

  constructor(config: ServerConfig, events: ConnectionEvents) {
    this.#config = config;
    this.#events = events;
  }

  /** @throws Error if there is no connection within the time limit of a request */
  async open(auth: AuthProvider | undefined, prepare: (client: Client) => void): Promise<void> {
    const { Client } = await import("./sdk.ts");
    const changed = {
      autoRefresh: false,
      debounceMs: CHANGE_PAUSE_MS,
      onChanged: () => this.#events.onListChanged(),
    };
    const client = new Client(
      { name: "bonsai", version: "1" },
      {
        // Bonsai reads results itself: an expression of a schema could keep this program busy for ever.
        jsonSchemaValidator: { getValidator: () => acceptAll },
        listChanged: { tools: changed, resources: changed, prompts: changed },
      },
    );
    const transport = inTurn(await this.#openTransport(auth));
    if (this.#isClosed) throw new Error("The connection was closed.");
    this.client = client;
    this.#transport = transport;
    prepare(client);
    client.onerror = (error) => this.#onError(error);
    try {
      // The SDK bounds its request, but not the notification after it.
      const { timeoutMs } = this.#config;
      const connecting = client.connect(transport, { timeout: NEVER_MS });
      await raceAbort(connecting, AbortSignal.timeout(timeoutMs), () => {
        throw new Error(`The server did not answer within ${timeoutMs / 1_000} s.`);
      });
      this.#isOpen = true;
    } catch (error) {
      throw this.#cause(error);
    }
    client.onclose = () => {
      if (!this.#isClosed) this.#events.onLost(this.#fault ?? "The connection was closed.");
    };
    if (client.transport === undefined) throw this.#cause(new Error("The connection was closed."));
  }

  /** Prefers the reason why the connection ended to the failed request. */
  #cause(error: unknown): unknown {
    return this.#fault === undefined ? error : new Error(this.#fault, { cause: error });
  }

  async #openTransport(auth: AuthProvider | undefined): Promise<Transport> {
    const config = this.#config;
    if (config.type === "stdio") {
      const { StdioTransport } = await import("./stdio-transport.ts");
      return new StdioTransport(config, (tail) => this.#events.onStderr(tail));
    }
    const { httpTransport } = await import("./http-transport.ts");
    return httpTransport(config, auth, (error) => this.#end(error));
  }

  #onError(error: Error): void {
    if (error instanceof ServerFault) this.#fault ??= error.message;
    else if (error instanceof NoMessage) this.#report(plainLine(error.message), "no message");
    // The stream of events of an SSE server broke: its answers are lost.
    else if (error.name === "SseError" && this.#isOpen) this.#end(error);
  }

  #end(error: Error): void {
    this.#fault ??= error.message;
    void this.#transport?.close();
  }

  /** Reports one problem of a kind. */
  #report(problem: string, kind = problem): void {
    if (this.#reported.has(kind) || this.#reported.size >= MAX_PROBLEMS) return;
    this.#reported.add(kind);
    this.#events.onProblem(problem);
  }

  async lists(): Promise<ServerLists> {
    const { readLists } = await import("./listing.ts");
    try {
      return await readLists({
        client: this.client!,
        timeoutMs: this.#config.timeoutMs,
        onProblem: (problem) => this.#report(problem),
      });
    } catch (error) {
      throw this.#cause(error);
    }
  }

  /** Ends the connection, and the program of the server. A second call waits for the same end. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#isClosed = true;
    const transport = this.#transport as Partial<StreamableHTTPClientTransport> | undefined;
    if (transport?.terminateSession !== undefined)
      await Promise.race([
        transport.terminateSession().catch(() => {}),
        delay(END_SESSION_MS, undefined, { ref: false }),
      ]);
    await this.client?.close().catch(() => {});
    await transport?.close?.().catch(() => {});
  }
}

function acceptAll<Data>(data: unknown): JsonSchemaValidatorResult<Data> {
  return { valid: true, data: data as Data, errorMessage: undefined };
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
