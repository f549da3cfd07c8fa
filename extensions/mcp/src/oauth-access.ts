import { BonsaiError } from "@bonsai-agent/extension";
import type { FetchLike, StoredOAuthTokens } from "@modelcontextprotocol/client";
import { plainLine } from "./foreign-text.ts";
import type { LoginStore, StoredLogin } from "./login-store.ts";
import type { ServerAuth } from "./server.ts";

/** The server refuses requests without a login, or the login allows too little. */
class LoginNeeded extends BonsaiError {
  constructor(server: string, what: string) {
    super({
      code: "mcp_login_needed",
      message: `The MCP server ${server} needs ${what}.`,
      hint: `Log in with /mcp login ${server}.`,
    });
  }
}

/** A server's refusal of a request: the access it asks for. */
export interface Challenge {
  scope?: string | undefined;
  resourceMetadataUrl?: URL | undefined;
}

interface OAuthAccessOptions {
  server: string;
  store: LoginStore;
  /** Milliseconds that an authorization server has for an answer. Default 30,000. */
  timeoutMs?: number;
}

/** A token that would expire within the time of a request is refreshed before it. */
const EARLY_MS = 60_000;

/**
 * The tokens of a login, for the SDK's transports. Owner of the time of a refresh: shortly before a token expires, and
 * once if the server refuses it. One of several processes refreshes, and the others use its token.
 */
export class OAuthAccess implements ServerAuth {
  readonly #options: OAuthAccessOptions;
  #refreshing: Promise<string | undefined> | undefined;
  #used: string | undefined;
  /** The latest refusal. */
  challenge: Challenge = {};

  constructor(options: OAuthAccessOptions) {
    this.#options = options;
  }

  /** Returns undefined without a login. */
  async token(): Promise<string | undefined> {
    this.#used = await this.#validToken();
    return this.#used;
  }

  /** Called after a 401. Refreshes the token. @throws LoginNeeded */
  async onUnauthorized({ response }: { response: Response }): Promise<void> {
    const { extractWWWAuthenticateParams } = await import("./sdk.ts");
    const { scope, resourceMetadataUrl } = extractWWWAuthenticateParams(response);
    this.challenge = { scope, resourceMetadataUrl };
    const used = this.#used;
    const fresh = used === undefined ? undefined : await this.#refresh(used);
    if (fresh === undefined)
      throw new LoginNeeded(this.#options.server, used === undefined ? "a login" : "a new login");
  }

  /** Turns the SDK's errors about a login into a LoginNeeded. */
  explain(error: unknown): unknown {
    const { name, status, requiredScope, resourceMetadataUrl } = error as {
      name?: string;
      status?: number;
      requiredScope?: string;
      resourceMetadataUrl?: URL;
    };
    const { server } = this.#options;
    if (status === 401) return new LoginNeeded(server, "a new login");
    if (name !== "InsufficientScopeError") return error;
    this.challenge = { scope: requiredScope, resourceMetadataUrl };
    const wanted = plainLine(requiredScope ?? "the server does not name them", 100);
    return new LoginNeeded(server, `a login with more permissions (${wanted})`);
  }

  async #validToken(): Promise<string | undefined> {
    const login = await this.#options.store.read();
    if (login === undefined) return undefined;
    const { tokens, expiresAt = Number.POSITIVE_INFINITY } = login;
    if (expiresAt - Date.now() > EARLY_MS || tokens.refresh_token === undefined) return tokens.access_token;
    try {
      return await this.#refresh(tokens.access_token);
    } catch (error) {
      // It is still valid, and the next request tries again.
      if (expiresAt > Date.now()) return tokens.access_token;
      throw error;
    }
  }

  /** The token after the used one; undefined if a login is needed. Concurrent calls share one refresh. */
  #refresh(used: string): Promise<string | undefined> {
    this.#refreshing ??= this.#refreshOnce(used).finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  #refreshOnce(used: string): Promise<string | undefined> {
    const { store, timeoutMs = 30_000 } = this.#options;
    return store.locked(
      async () => {
        const login = await store.read();
        // Another process was faster, or the user has logged out.
        if (login === undefined || login.tokens.access_token !== used) return login?.tokens.access_token;
        if (login.tokens.refresh_token === undefined) return undefined;
        const tokens = await this.#askForTokens(login, login.tokens.refresh_token);
        if (tokens === undefined) await store.remove();
        else await store.write(loginWith(login, tokens));
        return tokens?.access_token;
      },
      AbortSignal.timeout(timeoutMs * 2),
    );
  }

  /** Undefined if the refresh is refused. @throws BonsaiError `mcp_refresh_failed` if it may work later */
  async #askForTokens(
    { discovery, client, tokens: { issuer } }: StoredLogin,
    refreshToken: string,
  ): Promise<StoredOAuthTokens | undefined> {
    const { server, timeoutMs = 30_000 } = this.#options;
    const sdk = await import("./sdk.ts");
    try {
      const { authorizationServerUrl, authorizationServerMetadata: metadata, resourceMetadata } = discovery;
      const tokens = await sdk.refreshAuthorization(authorizationServerUrl, {
        ...(metadata && { metadata }),
        clientInformation: client,
        refreshToken,
        ...(resourceMetadata && { resource: resourceMetadata.resource }),
        fetchFn: withTimeout(fetch, timeoutMs),
      });
      return { ...tokens, ...(issuer && { issuer }) };
    } catch (error) {
      if (error instanceof sdk.OAuthError && error.code !== sdk.OAuthErrorCode.ServerError) return undefined;
      throw new BonsaiError({
        code: "mcp_refresh_failed",
        message: `Cannot refresh the login for the MCP server ${server}: ${plainLine((error as Error).message)}`,
        hint: `Try again later. If it keeps failing, log in again with /mcp login ${server}.`,
        cause: error,
      });
    }
  }
}

/** Milliseconds for revoking a token: a logout waits no longer. */
const REVOKING_MS = 5_000;

/**
 * Revokes the tokens of a login, if the authorization server can. Never rejects.
 * @returns why they stay valid until they expire; undefined if they do not, or the server has no way to revoke them
 */
export async function revokeLogin({ discovery, client, tokens }: StoredLogin): Promise<string | undefined> {
  const { token_endpoint: given, revocation_endpoint: taken } =
    (discovery.authorizationServerMetadata as Record<string, unknown> | undefined) ?? {};
  if (typeof taken !== "string" || !URL.canParse(taken)) return undefined;
  const { protocol, origin } = new URL(taken);
  const isSameOrigin = typeof given === "string" && URL.canParse(given) && new URL(given).origin === origin;
  if (protocol !== "https:" && !isSameOrigin) return "the server revokes tokens only over unencrypted http.";
  const request = withTimeout(fetch, REVOKING_MS);
  // The refresh token first: most servers revoke its access tokens with it.
  const all = [
    ["refresh_token", tokens.refresh_token],
    ["access_token", tokens.access_token],
  ] as const;
  try {
    for (const [token_type_hint, token] of all) {
      if (token === undefined) continue;
      const { client_id, client_secret } = client;
      const body = new URLSearchParams({
        token,
        token_type_hint,
        client_id,
        ...(client_secret && { client_secret }),
      });
      const response = await request(taken, { method: "POST", body, redirect: "error" });
      await response.body?.cancel();
      if (!response.ok) return `the server did not revoke them (status ${response.status}).`;
    }
    return undefined;
  } catch (error) {
    return plainLine((error as Error).message);
  }
}

/** A login with new tokens. */
export function loginWith(
  login: Omit<StoredLogin, "tokens" | "expiresAt">,
  tokens: StoredOAuthTokens,
): StoredLogin {
  const { discovery, client } = login;
  const { expires_in: seconds } = tokens;
  return {
    discovery,
    client,
    tokens,
    ...(seconds !== undefined && { expiresAt: Date.now() + seconds * 1_000 }),
  };
}

/** Bounds the wait for an answer. */
export function withTimeout(request: FetchLike, timeoutMs: number, signal?: AbortSignal): FetchLike {
  return (address, init) => {
    const ends = [AbortSignal.timeout(timeoutMs), signal, init?.signal].filter((each) => each != null);
    return request(address, { ...init, signal: AbortSignal.any(ends) });
  };
}
