import { BonsaiError } from "@bonsai-agent/extension";
import type { FetchLike, StoredOAuthTokens } from "@modelcontextprotocol/client";
import { plainLine } from "./foreign-text.ts";
import type { LoginStore, StoredLogin } from "./login-store.ts";
import type { ServerAuth } from "./server.ts";

function loginNeeded(server: string, need: string): BonsaiError {
  return new BonsaiError({
    code: "mcp_login_needed",
    message: `The MCP server ${server} needs ${need}.`,
    hint: `Log in with /mcp login ${server}.`,
  });
}

/** A server's refusal of a request: the access it asks for. */
export interface Challenge {
  scope?: string | undefined;
  resourceMetadataUrl?: URL | undefined;
}

/** Time for the answer of an authorization server. */
export const ANSWER_MS = 30_000;
/** A token that would expire within the time of a request is refreshed before it. */
const EARLY_MS = 60_000;

/**
 * The tokens of a login, for the SDK's transports. Refreshes a token shortly before it expires, and once if the server
 * refuses it. One of several processes refreshes, and the others use its token.
 *
 * The SDK could do this with an `OAuthClientProvider`, but it writes warnings to the terminal when a refresh fails,
 * registers a client before the user wants to log in, and has no lock between processes.
 */
export class OAuthAccess implements ServerAuth {
  readonly #server: string;
  readonly #store: LoginStore;
  #refreshing: Promise<string | undefined> | undefined;
  #used: string | undefined;
  /** The latest refusal. */
  challenge: Challenge = {};

  constructor(server: string, store: LoginStore) {
    this.#server = server;
    this.#store = store;
  }

  /** Returns undefined without a login. */
  async token(): Promise<string | undefined> {
    this.#used = await this.#validToken();
    return this.#used;
  }

  /** Called after a 401. Refreshes the token. @throws BonsaiError `mcp_login_needed` */
  async onUnauthorized({ response }: { response: Response }): Promise<void> {
    const { extractWWWAuthenticateParams } = await import("./sdk.ts");
    const { scope, resourceMetadataUrl } = extractWWWAuthenticateParams(response);
    this.challenge = { scope, resourceMetadataUrl };
    const used = this.#used;
    if (used === undefined) throw loginNeeded(this.#server, "a login");
    if ((await this.#refresh(used)) === undefined) throw loginNeeded(this.#server, "a new login");
  }

  /** Turns the SDK's errors about a login into `mcp_login_needed`. */
  explain(error: unknown): unknown {
    const { name, status, requiredScope, resourceMetadataUrl } = error as {
      name?: string;
      status?: number;
      requiredScope?: string;
      resourceMetadataUrl?: URL;
    };
    if (status === 401) return loginNeeded(this.#server, "a new login");
    if (name !== "InsufficientScopeError") return error;
    this.challenge = { scope: requiredScope, resourceMetadataUrl };
    const wanted = plainLine(requiredScope ?? "the server does not name them", 100);
    return loginNeeded(this.#server, `a login with more permissions (${wanted})`);
  }

  async #validToken(): Promise<string | undefined> {
    const login = await this.#store.read();
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
    const limit = AbortSignal.timeout(ANSWER_MS * 2);
    this.#refreshing ??= this.#store
      .locked(() => this.#refreshOnce(used), limit)
      .finally(() => {
        this.#refreshing = undefined;
      });
    return this.#refreshing;
  }

  async #refreshOnce(used: string): Promise<string | undefined> {
    const login = await this.#store.read();
    // Another process was faster, or the user has logged out.
    if (login === undefined || login.tokens.access_token !== used) return login?.tokens.access_token;
    if (login.tokens.refresh_token === undefined) return undefined;
    const tokens = await this.#askForTokens(login, login.tokens.refresh_token);
    if (tokens === undefined) await this.#store.remove();
    else await this.#store.write(login, tokens);
    return tokens?.access_token;
  }

  /** Undefined if the refresh is refused. @throws BonsaiError `mcp_refresh_failed` if it may work later */
  async #askForTokens(
    { discovery, client, tokens: { issuer } }: StoredLogin,
    refreshToken: string,
  ): Promise<StoredOAuthTokens | undefined> {
    const sdk = await import("./sdk.ts");
    try {
      const { authorizationServerUrl, authorizationServerMetadata: metadata, resourceMetadata } = discovery;
      const tokens = await sdk.refreshAuthorization(authorizationServerUrl, {
        ...(metadata && { metadata }),
        clientInformation: client,
        refreshToken,
        ...(resourceMetadata && { resource: resourceMetadata.resource }),
        fetchFn: fetchWithin(ANSWER_MS),
      });
      return { ...tokens, ...(issuer && { issuer }) };
    } catch (error) {
      if (error instanceof sdk.OAuthError && error.code !== sdk.OAuthErrorCode.ServerError) return undefined;
      throw new BonsaiError({
        code: "mcp_refresh_failed",
        message: `Cannot refresh the login for the MCP server ${this.#server}: ${plainLine((error as Error).message)}`,
        hint: `Try again later. If it keeps failing, log in again with /mcp login ${this.#server}.`,
        cause: error,
      });
    }
  }
}

/** Time to revoke a token: a logout waits no longer. */
const REVOKING_MS = 5_000;

/**
 * Revokes the tokens of a login, if the authorization server can. Never rejects.
 * @returns why they stay valid until they expire; undefined if they do not, or the server has no way to revoke them
 */
export async function revokeLogin({ discovery, client, tokens }: StoredLogin): Promise<string | undefined> {
  const { token_endpoint, revocation_endpoint } = (discovery.authorizationServerMetadata ?? {}) as Record<
    string,
    string | undefined
  >;
  const url = URL.parse(revocation_endpoint ?? "");
  if (url === null) return undefined;
  if (url.protocol !== "https:" && URL.parse(token_endpoint ?? "")?.origin !== url.origin)
    return "the server revokes tokens only over unencrypted http.";
  const { client_id, client_secret } = client;
  try {
    // The refresh token first: most servers revoke its access tokens with it.
    for (const token_type_hint of ["refresh_token", "access_token"] as const) {
      const token = tokens[token_type_hint];
      if (token === undefined) continue;
      const body = new URLSearchParams({ token, token_type_hint, client_id });
      if (client_secret !== undefined) body.set("client_secret", client_secret);
      const request = fetchWithin(REVOKING_MS);
      const response = await request(url, { method: "POST", body, redirect: "error" });
      await response.body?.cancel();
      if (!response.ok) return `the server did not revoke them (status ${response.status}).`;
    }
    return undefined;
  } catch (error) {
    return plainLine((error as Error).message);
  }
}

/** A `fetch` that waits at most this long for an answer. */
export function fetchWithin(timeoutMs: number, signal?: AbortSignal): FetchLike {
  return (address, init) => {
    const ends = [AbortSignal.timeout(timeoutMs), signal, init?.signal].filter((each) => each != null);
    return fetch(address, { ...init, signal: AbortSignal.any(ends) });
  };
}
