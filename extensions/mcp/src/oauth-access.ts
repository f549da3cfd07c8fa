import { BonsaiError } from "@bonsai-agent/extension";
import type { OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { plainLine } from "./foreign-text.ts";
import type { LoginStore, StoredLogin } from "./login-store.ts";

/** A server refuses whoever is not logged in, or what the login allows is not enough. */
class LoginNeeded extends BonsaiError {
  constructor(server: string, what: string) {
    super({
      code: "mcp_login_needed",
      message: `The MCP server ${server} needs ${what}.`,
      hint: `Log in with /mcp login ${server}.`,
    });
  }
}

/** What a server said when it refused. */
export interface Challenge {
  scope?: string;
  resourceMetadataUrl?: URL;
}

interface OAuthAccessOptions {
  server: string;
  /** The server's address. */
  url: string;
  store: LoginStore;
  fetch?: FetchLike;
  /** Milliseconds that an authorization server has for an answer. Default 30,000. */
  timeoutMs?: number;
}

/** Tokens that would end within the time of a request are refreshed before it. */
const earlyMs = 60_000;

/**
 * Requests to one server with the tokens of its login. Owner of when they are refreshed: shortly before they end, and once
 * when the server refuses them; of several processes one does it, and the others take what it got.
 */
export class OAuthAccess {
  readonly #options: OAuthAccessOptions;
  #refreshing: Promise<string | undefined> | undefined;
  /** Of the latest refusal. */
  challenge: Challenge = {};

  constructor(options: OAuthAccessOptions) {
    this.#options = options;
  }

  /** As `fetch`, for the transport of this server. @throws LoginNeeded */
  readonly fetch: FetchLike = async (address, init) => {
    const { server, url, fetch: request = fetch } = this.#options;
    const headers = new Headers(init?.headers);
    // A token belongs to its server; and what the user's file has as a header is the user's.
    if (headers.has("authorization") || new URL(address).origin !== new URL(url).origin)
      return request(address, init);
    const token = await this.#token();
    const first = await request(address, { ...init, headers: withToken(headers, token) });
    if (!(await this.#refuses(first))) return first;
    if (first.status === 403)
      throw new LoginNeeded(server, `a login with more permissions (${this.#wantedScope()})`);
    const fresh = token === undefined ? undefined : await this.#refresh(token);
    if (fresh === undefined) throw new LoginNeeded(server, token === undefined ? "a login" : "a new login");
    const second = await request(address, { ...init, headers: withToken(headers, fresh) });
    if (await this.#refuses(second)) throw new LoginNeeded(server, "a new login");
    return second;
  };

  /** True for an answer that wants a login; what it says of that is kept. */
  async #refuses(response: Response): Promise<boolean> {
    if (response.status !== 401 && response.status !== 403) return false;
    const { extractWWWAuthenticateParams } = await import("@modelcontextprotocol/sdk/client/auth.js");
    const { error, scope, resourceMetadataUrl } = extractWWWAuthenticateParams(response);
    if (response.status === 403 && error !== "insufficient_scope") return false;
    this.challenge = { ...(scope && { scope }), ...(resourceMetadataUrl && { resourceMetadataUrl }) };
    await response.body?.cancel();
    return true;
  }

  #wantedScope(): string {
    return plainLine(this.challenge.scope ?? "the server does not name them", 100);
  }

  /** Undefined where nobody is logged in. */
  async #token(): Promise<string | undefined> {
    const login = await this.#options.store.read();
    if (login === undefined) return undefined;
    const { tokens, expiresAt = Number.POSITIVE_INFINITY } = login;
    if (expiresAt - Date.now() > earlyMs || tokens.refresh_token === undefined) return tokens.access_token;
    try {
      return await this.#refresh(tokens.access_token);
    } catch (error) {
      // It holds still, and the next request tries again.
      if (expiresAt > Date.now()) return tokens.access_token;
      throw error;
    }
  }

  /** The token after the one that was used; undefined where a login is needed. Calls at one time share one refresh. */
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

  /** Undefined where the refresh is refused. @throws BonsaiError `mcp_refresh_failed` where it may work later */
  async #askForTokens(
    { discovery, client, tokens: { issuer } }: StoredLogin,
    refreshToken: string,
  ): Promise<OAuthTokens | undefined> {
    const { server, fetch: request = fetch, timeoutMs = 30_000 } = this.#options;
    const [{ refreshAuthorization }, { OAuthError, ServerError }] = await Promise.all([
      import("@modelcontextprotocol/sdk/client/auth.js"),
      import("@modelcontextprotocol/sdk/server/auth/errors.js"),
    ]);
    try {
      const { authorizationServerUrl, authorizationServerMetadata: metadata, resourceMetadata } = discovery;
      const tokens = await refreshAuthorization(authorizationServerUrl, {
        ...(metadata && { metadata }),
        clientInformation: client,
        refreshToken,
        ...(resourceMetadata && { resource: resourceMetadata.resource }),
        fetchFn: withTimeout(request, timeoutMs),
      });
      return { ...tokens, ...(issuer && { issuer }) };
    } catch (error) {
      if (error instanceof OAuthError && !(error instanceof ServerError)) return undefined;
      throw new BonsaiError({
        code: "mcp_refresh_failed",
        message: `Cannot refresh the login for the MCP server ${server}: ${plainLine((error as Error).message)}`,
        hint: `Try again later. If it keeps failing, log in again with /mcp login ${server}.`,
        cause: error,
      });
    }
  }
}

/** Milliseconds for taking a token back: nobody waits longer for a logout. */
const revokingMs = 5_000;

/**
 * Has the tokens of a login taken back where whoever gave them can do that. Never rejects.
 * @returns why they stay good until they end; undefined where they do not, or nobody says how
 */
export async function revokeLogin({ discovery, client, tokens }: StoredLogin): Promise<string | undefined> {
  const { token_endpoint: given, revocation_endpoint: taken } =
    (discovery.authorizationServerMetadata as Record<string, unknown> | undefined) ?? {};
  if (typeof taken !== "string" || !URL.canParse(taken)) return undefined;
  const { protocol, origin } = new URL(taken);
  const isSameOrigin = typeof given === "string" && URL.canParse(given) && new URL(given).origin === origin;
  if (protocol !== "https:" && !isSameOrigin) return "the server revokes tokens only over unencrypted http.";
  const request = withTimeout(fetch, revokingMs);
  // The refresh token first: most take back with it all that came of it.
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

function withToken(headers: Headers, token: string | undefined): Headers {
  const all = new Headers(headers);
  if (token !== undefined) all.set("authorization", `Bearer ${token}`);
  return all;
}

/** A login with tokens that were given right now. */
export function loginWith(
  login: Omit<StoredLogin, "tokens" | "expiresAt">,
  tokens: OAuthTokens,
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

/** No answer is waited for without an end. */
export function withTimeout(request: FetchLike, timeoutMs: number, signal?: AbortSignal): FetchLike {
  return (address, init) => {
    const ends = [AbortSignal.timeout(timeoutMs), signal, init?.signal].filter((each) => each != null);
    return request(address, { ...init, signal: AbortSignal.any(ends) });
  };
}
