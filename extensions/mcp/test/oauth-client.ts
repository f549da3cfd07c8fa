import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ExtensionContext } from "@bonsai-agent/extension";
import {
  type LoopbackReply,
  type LoopbackRequest,
  type OAuthServer,
  oauthServer,
} from "@bonsai-agent/testkit";
import type { OAuthSettings } from "../src/config.ts";
import { Logins } from "../src/logins.ts";
import { McpServer } from "../src/server.ts";

type Browse = (page: string) => Promise<unknown>;

interface ClientOptions {
  /** Default: the user agrees. */
  browse?: Browse;
  oauth?: OAuthSettings;
  headers?: Record<string, string>;
  ui?: Record<string, unknown>;
  hasUI?: boolean;
}

/** A process of its own, as far as logins go. */
interface LoginClient {
  server: McpServer;
  logins: Logins;
  notified: string[];
  ctx: Pick<ExtensionContext, "ui" | "hasUI" | "signal">;
}

/** An MCP server "notes" behind a login, the authorization server on the same port, and clients with one home. */
export class LoginScene implements AsyncDisposable {
  readonly home = mkdtempSync(join(tmpdir(), "mcp-oauth-"));
  /** Fields that replace those of the server's metadata. */
  readonly metadata: Record<string, unknown> = {};
  readonly tokenOptions: { expiresInSeconds?: number } = {};
  /** Replies to tool calls. Default: the text "noted". */
  reply: LoopbackReply | undefined;
  readonly #servers: McpServer[] = [];
  #remote: OAuthServer | undefined;

  static async open(): Promise<LoginScene> {
    const scene = new LoginScene();
    const options = { metadata: scene.metadata, api: (request: LoopbackRequest) => scene.#answer(request) };
    scene.#remote = await oauthServer(Object.assign(scene.tokenOptions, options));
    return scene;
  }

  get remote(): OAuthServer {
    return this.#remote!;
  }

  get url(): string {
    return `${this.remote.url}/mcp`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) await server.close();
    await this.remote.close();
    rmSync(this.home, { recursive: true, force: true });
  }

  /** The address that the login page leads the browser to. */
  async lastPage(page: string): Promise<string> {
    const response = await fetch(page, { redirect: "manual" });
    return response.headers.get("location") ?? "";
  }

  readonly agree: Browse = async (page) => fetch(await this.lastPage(page));

  client({
    browse = this.agree,
    oauth,
    headers = {},
    ui = {},
    hasUI = true,
  }: ClientOptions = {}): LoginClient {
    const openBrowser = async (page: string) => {
      void browse(page);
      return true;
    };
    const logins = new Logins({ home: () => this.home, openBrowser });
    const server = new McpServer({
      config: {
        name: "notes",
        file: join(this.home, "mcp.json"),
        isEnabled: true,
        hasRoots: true,
        timeoutMs: 10_000,
        type: "http",
        url: this.url,
        headers,
        ...(oauth && { oauth }),
      },
      hooks: { auth: (each) => logins.authOf(each) },
    });
    this.#servers.push(server);
    const notified: string[] = [];
    const dialogs = {
      notify: (text: string) => notified.push(text),
      input: (_title: string, _placeholder: string, { signal }: { signal?: AbortSignal } = {}) =>
        new Promise((resolve) => signal?.addEventListener("abort", () => resolve(undefined))),
      confirm: async () => true,
      ...ui,
    };
    return {
      server,
      logins,
      notified,
      ctx: { ui: dialogs as unknown as ExtensionContext["ui"], hasUI, signal: undefined },
    };
  }

  async loggedIn(options?: ClientOptions): Promise<LoginClient> {
    const made = this.client(options);
    await made.logins.logIn(made.server, made.ctx);
    return made;
  }

  failure(options?: ClientOptions): Promise<unknown> {
    return this.loggedIn(options).catch((error: unknown) => error);
  }

  /** Bodies of the requests at one endpoint. */
  bodies(path: string): Record<string, string>[] {
    return this.remote.requests
      .filter((request) => request.path === path)
      .map(
        ({ body }) =>
          (typeof body === "string" ? Object.fromEntries(new URLSearchParams(body)) : body) as never,
      );
  }

  get refreshes(): number {
    return this.bodies("/token").filter(({ grant_type }) => grant_type === "refresh_token").length;
  }

  get storedFiles(): string[] {
    return readdirSync(join(this.home, "mcp-logins")).filter((name) => name.endsWith(".json"));
  }

  #answer({ method, body }: LoopbackRequest): LoopbackReply {
    if (method !== "POST") return { status: 405 };
    const message = body as { id?: number; method: string };
    if (message.id === undefined) return { status: 202 };
    if (message.method === "tools/call" && this.reply !== undefined) return this.reply;
    const answer = { jsonrpc: "2.0", id: message.id, result: results[message.method] ?? {} };
    return { headers: { "content-type": "application/json" }, chunks: [JSON.stringify(answer)] };
  }
}

const results: Record<string, object> = {
  initialize: {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "notes", version: "1" },
  },
  "tools/list": { tools: [{ name: "note", inputSchema: { type: "object" } }] },
  "tools/call": { content: [{ type: "text", text: "noted" }] },
};

export function call({ server }: LoginClient) {
  return server.callTool("note", {}, { signal: new AbortController().signal });
}
