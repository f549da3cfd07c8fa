import type { McpConfig } from "./config.ts";
import { McpServer, type ServerHooks } from "./server.ts";

export interface McpServersOptions {
  hooks?: ServerHooks | undefined;
  onNotice(message: string): void;
}

/** Owner of the servers of a session. */
export class McpServers {
  readonly #options: McpServersOptions;
  readonly #listeners = new Set<() => void>();
  #servers: readonly McpServer[] = [];
  #undos: (() => void)[] = [];
  /** What a config is, to see whether another is the same. */
  #configured = "";
  readonly #named = new Set<string>();

  constructor(options: McpServersOptions) {
    this.#options = options;
  }

  get all(): readonly McpServer[] {
    return this.#servers;
  }

  get(name: string): McpServer | undefined {
    return this.#servers.find((server) => server.name === name);
  }

  /** Called whenever anything of any of them has changed. The function returned ends it. */
  on(change: () => void): () => void {
    this.#listeners.add(change);
    return () => void this.#listeners.delete(change);
  }

  /** Takes these servers in the place of those that there were, and connects them in the background. The same servers as before stay as they are. */
  async use({ servers }: McpConfig): Promise<void> {
    const configured = JSON.stringify(servers);
    if (configured === this.#configured) return;
    await this.close();
    this.#configured = configured;
    const onNotice = (message: string) => this.#notify(message);
    this.#servers = servers.map((config) => new McpServer({ config, hooks: this.#options.hooks, onNotice }));
    this.#undos = this.#servers.map((server) => server.on(() => this.#changed(server)));
    this.#changed();
    for (const server of this.#servers) void server.connect();
  }

  /** Resolves when none connects any more, or when the signal is aborted. */
  async settled(signal: AbortSignal): Promise<void> {
    const connecting = this.#servers.filter(({ state }) => state === "connecting");
    if (connecting.length === 0 || signal.aborted) return;
    const aborted = new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => resolve(), { once: true }),
    );
    await Promise.race([Promise.all(connecting.map((server) => server.connect())), aborted]);
  }

  /** Names the servers that are not ready after the first prompt's wait. */
  notifyLate(waitSeconds: number): void {
    for (const { name, state } of this.#servers.filter((server) => server.state === "connecting"))
      this.#notify(
        `${name} is still ${state} after ${waitSeconds} s, so its tools may be missing. To wait longer, add \`--mcp-wait ${longerWait(waitSeconds)}\`.`,
      );
  }

  async close(): Promise<void> {
    const servers = this.#servers;
    this.#servers = [];
    this.#configured = "";
    for (const undo of this.#undos) undo();
    this.#undos = [];
    await Promise.all(servers.map((server) => server.close()));
    if (servers.length > 0) this.#changed();
  }

  #changed(server?: McpServer): void {
    if (server?.state === "failed") this.#notify(`${server.name} is not available: ${server.problem}`);
    if (server?.state === "needs-login")
      this.#notify(`${server.problem} Log in with /mcp login ${server.name}.`);
    for (const listener of [...this.#listeners]) listener();
  }

  /** Each text once, however often it happens. */
  #notify(message: string): void {
    if (this.#named.has(message)) return;
    this.#named.add(message);
    this.#options.onNotice(message);
  }
}

function longerWait(seconds: number): number {
  return Math.max(30, Math.ceil(seconds) * 4);
}
