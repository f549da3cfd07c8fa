import { BonsaiError, bonsaiHome, type ExtensionContext } from "@bonsai-agent/extension";
import type { HttpServer } from "./config.ts";
import { LoginStore } from "./login-store.ts";
import { OAuthAccess, revokeLogin } from "./oauth-access.ts";
import type { McpServer, ServerAuth } from "./server.ts";

interface LoginsOptions {
  openBrowser: (url: string) => Promise<boolean>;
  /** Bonsai's own folder. Default: `bonsaiHome`. */
  home?: () => string;
}

/** Owner of the logins at servers with an address. */
export class Logins {
  readonly #options: LoginsOptions;
  readonly #accesses = new Map<string, { access: OAuthAccess; store: LoginStore }>();
  /** Logins under way, by server. */
  readonly #underWay = new Map<string, AbortController>();

  constructor(options: LoginsOptions) {
    this.#options = options;
  }

  /** The login for the server's transport. An `Authorization` header in its entry replaces it. */
  authOf({ config }: McpServer): ServerAuth | undefined {
    return hasLogin(config) ? this.#of(config).access : undefined;
  }

  /**
   * Logs the user in and reconnects the server.
   * @throws BonsaiError `mcp_login_needless`, `mcp_login_needs_user`, and those of `logIn`
   */
  async logIn(
    server: McpServer,
    { ui, hasUI, signal }: Pick<ExtensionContext, "ui" | "hasUI" | "signal">,
  ): Promise<void> {
    const { name, config } = server;
    if (!hasLogin(config)) throw needless(config);
    if (!hasUI) throw needsUser(name);
    const { logIn } = await import("./oauth-login.ts");
    const { access, store } = this.#of(config);
    // A new login replaces one under way.
    this.#underWay.get(name)?.abort();
    const own = new AbortController();
    this.#underWay.set(name, own);
    try {
      await logIn({
        server: config,
        store,
        challenge: access.challenge,
        ui,
        openBrowser: this.#options.openBrowser,
        signal: signal === undefined ? own.signal : AbortSignal.any([own.signal, signal]),
      });
    } finally {
      if (this.#underWay.get(name) === own) this.#underWay.delete(name);
    }
    await server.reconnect();
  }

  /** Removes the login and revokes its tokens. @returns `unrevoked`: why the tokens stay valid until they expire */
  async logOut(server: McpServer): Promise<{ wasIn: boolean; unrevoked?: string | undefined }> {
    const { config } = server;
    if (config.type !== "http") throw needless(config);
    const { store } = this.#of(config);
    const { login, wasIn } = await store.locked(async () => ({
      // A damaged login is removed too.
      login: await store.read().catch(() => undefined),
      wasIn: await store.remove(),
    }));
    const unrevoked = login && (await revokeLogin(login));
    if (wasIn) await server.reconnect();
    return { wasIn, unrevoked };
  }

  #of(config: HttpServer): { access: OAuthAccess; store: LoginStore } {
    const key = `${config.name}\n${config.url}`;
    const known = this.#accesses.get(key);
    if (known !== undefined) return known;
    const { home = bonsaiHome } = this.#options;
    const store = new LoginStore(home(), config);
    const made = { store, access: new OAuthAccess(config.name, store) };
    this.#accesses.set(key, made);
    return made;
  }
}

/** True for a server with logins: one at an address, without an `Authorization` header in its entry. */
export function hasLogin(config: McpServer["config"]): config is HttpServer {
  return config.type === "http" && !new Headers(config.headers).has("authorization");
}

function needless({ type, name, file }: McpServer["config"]): BonsaiError {
  const why =
    type === "http" ? "its entry already sets an Authorization header" : "it runs as a local program";
  return new BonsaiError({
    code: "mcp_login_needless",
    message: `The MCP server ${name} needs no login: ${why}.`,
    hint: `Check its entry in ${file}.`,
  });
}

function needsUser(name: string): BonsaiError {
  return new BonsaiError({
    code: "mcp_login_needs_user",
    message: `Logging in to the MCP server ${name} needs a terminal.`,
    hint: `Start bonsai without -p and run /mcp login ${name}. The login then works with -p too.`,
  });
}
