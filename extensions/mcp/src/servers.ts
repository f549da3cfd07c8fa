import { raceAbort } from "@bonsai-agent/extension";
import type { McpConfig } from "./config.ts";
import { McpServer, type ServerHooks } from "./server.ts";

export interface McpServersOptions {
  hooks?: ServerHooks | undefined;
  onNotice(message: string): void;
  /** Called after each change of a server. */
  onChange?(): void;
}

/** Owner of the servers of a session. */
export class McpServers {
  readonly #options: McpServersOptions;
  #servers: readonly McpServer[] = [];
  #configured = "";
  readonly #notified = new Set<string>();

  constructor(options: McpServersOptions) {
    this.#options = options;
  }

  get all(): readonly McpServer[] {
    return this.#servers;
  }

  get(name: string): McpServer | undefined {
    return this.#servers.find((server) => server.name === name);
  }

  /** Replaces all servers and connects the new ones in the background. Does nothing for the same config. */
  async use({ servers }: McpConfig): Promise<void> {
    const configured = JSON.stringify(servers);
    if (configured === this.#configured) return;
    await this.close();
    this.#configured = configured;
    const options = {
      hooks: this.#options.hooks,
      onNotice: (message: string) => this.#notify(message),
      onChange: (server: McpServer) => this.#reportChange(server),
    };
    this.#servers = servers.map((config) => new McpServer({ config, ...options }));
    this.#options.onChange?.();
    for (const server of this.#servers) void server.connect();
  }

  /** Resolves when no server is connecting, or when the signal aborts. */
  async whenConnected(signal: AbortSignal): Promise<void> {
    const connecting = this.#servers.filter(({ state }) => state === "connecting");
    await raceAbort(Promise.all(connecting.map((server) => server.connect())), signal, () => undefined);
  }

  /** Names the servers that are not ready after the first prompt's wait. */
  notifyLate(waitSeconds: number): void {
    const longerWait = Math.max(30, Math.ceil(waitSeconds) * 4);
    for (const { name } of this.#servers.filter(({ state }) => state === "connecting"))
      this.#notify(
        `${name} is still connecting after ${waitSeconds} s, so its tools may be missing. To wait longer, add \`--mcp-wait ${longerWait}\`.`,
      );
  }

  async close(): Promise<void> {
    const servers = this.#servers;
    this.#servers = [];
    this.#configured = "";
    await Promise.all(servers.map((server) => server.close()));
    if (servers.length > 0) this.#options.onChange?.();
  }

  #reportChange(server: McpServer): void {
    // Servers of an earlier config are silent.
    if (!this.#servers.includes(server)) return;
    if (server.state === "failed") this.#notify(`${server.name} is not available: ${server.problem}`);
    if (server.state === "needs-login")
      this.#notify(`${server.problem} Log in with /mcp login ${server.name}.`);
    this.#options.onChange?.();
  }

  /** Each text once, however often it happens. */
  #notify(message: string): void {
    if (this.#notified.has(message)) return;
    this.#notified.add(message);
    this.#options.onNotice(message);
  }
}
