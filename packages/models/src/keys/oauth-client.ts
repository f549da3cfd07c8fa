import { BonsaiError } from "@bonsai-agent/messages";
import type * as OAuth from "oauth4webapi";
import { refusal } from "./callback.ts";
import type { LoginCredentials } from "./provider-login.ts";

/** An OAuth 2 provider: where it is, and how this program is known there. At least one of `authorizeUrl` and `deviceUrl`. */
export interface OAuthLoginOptions {
  /** For people. */
  name: string;
  clientId: string;
  tokenUrl: string;
  /** For a login in the browser, with PKCE. */
  authorizeUrl?: string | undefined;
  /** For a login with a code that is typed on any device. */
  deviceUrl?: string | undefined;
  /** Tokens are taken back there at a logout. */
  revokeUrl?: string | undefined;
  scopes?: readonly string[] | undefined;
  /** Where the browser comes back to, as the provider has it registered. Default: any port, `/callback`, 127.0.0.1. */
  redirect?: { ports?: readonly number[]; path?: string; host?: "127.0.0.1" | "localhost" } | undefined;
  /** What the provider wants beside, in the address that the browser goes to. */
  parameters?: Readonly<Record<string, string>> | undefined;
}

/** A provider that has not answered a request by then does not answer it. */
const TIMEOUT_MS = 30_000;

interface Exchanged {
  code: string;
  state: string;
  verifier: string;
  redirectUri: string;
  signal: AbortSignal;
}

/** Speaks the protocol with one provider, through a library that is loaded when it is first asked. */
export class OAuthClient {
  readonly options: OAuthLoginOptions;
  readonly #server: OAuth.AuthorizationServer;
  readonly #client: OAuth.Client;

  constructor(options: OAuthLoginOptions) {
    this.options = options;
    const { tokenUrl, deviceUrl, revokeUrl } = options;
    this.#client = { client_id: options.clientId };
    this.#server = {
      issuer: new URL(tokenUrl).origin,
      token_endpoint: tokenUrl,
      ...(deviceUrl === undefined ? {} : { device_authorization_endpoint: deviceUrl }),
      ...(revokeUrl === undefined ? {} : { revocation_endpoint: revokeUrl }),
    };
  }

  library(): Promise<typeof OAuth> {
    return import("oauth4webapi");
  }

  authorizeUrl(parts: { state: string; challenge: string; redirectUri: string }): string {
    const { authorizeUrl = "", clientId, scopes = [], parameters } = this.options;
    const url = new URL(authorizeUrl);
    const asked = {
      response_type: "code",
      client_id: clientId,
      redirect_uri: parts.redirectUri,
      code_challenge: parts.challenge,
      code_challenge_method: "S256",
      state: parts.state,
      ...(scopes.length === 0 ? {} : { scope: scopes.join(" ") }),
      ...parameters,
    };
    for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
    return url.href;
  }

  async exchange({ code, state, verifier, redirectUri, signal }: Exchanged): Promise<LoginCredentials> {
    const oauth = await this.library();
    const given = oauth.validateAuthResponse(
      this.#server,
      this.#client,
      new URLSearchParams({ code, state }),
      state,
    );
    return this.#tokens(async () => {
      const response = await oauth.authorizationCodeGrantRequest(
        this.#server,
        this.#client,
        oauth.None(),
        given,
        redirectUri,
        verifier,
        this.#http(oauth, signal),
      );
      return oauth.processAuthorizationCodeResponse(this.#server, this.#client, response);
    });
  }

  async deviceCode(signal: AbortSignal): Promise<OAuth.DeviceAuthorizationResponse> {
    const oauth = await this.library();
    const { scopes = [] } = this.options;
    return spoken(this.options.name, async () => {
      const response = await oauth.deviceAuthorizationRequest(
        this.#server,
        this.#client,
        oauth.None(),
        scopes.length === 0 ? {} : { scope: scopes.join(" ") },
        this.#http(oauth, signal),
      );
      return oauth.processDeviceAuthorizationResponse(this.#server, this.#client, response);
    });
  }

  async pollOnce(deviceCode: string, signal: AbortSignal): Promise<LoginCredentials> {
    const oauth = await this.library();
    return this.#tokens(async () => {
      const response = await oauth.deviceCodeGrantRequest(
        this.#server,
        this.#client,
        oauth.None(),
        deviceCode,
        this.#http(oauth, signal),
      );
      return oauth.processDeviceCodeResponse(this.#server, this.#client, response);
    });
  }

  async refresh(credentials: LoginCredentials, signal: AbortSignal): Promise<LoginCredentials> {
    if (credentials.refresh === "") throw endless(this.options.name);
    const oauth = await this.library();
    const fresh = await this.#tokens(async () => {
      const response = await oauth.refreshTokenGrantRequest(
        this.#server,
        this.#client,
        oauth.None(),
        credentials.refresh,
        this.#http(oauth, signal),
      );
      return oauth.processRefreshTokenResponse(this.#server, this.#client, response);
    });
    // One that does not rotate its refresh tokens sends none.
    return fresh.refresh === "" ? { ...fresh, refresh: credentials.refresh } : fresh;
  }

  /** The refresh token is what gives others: with it, most providers take back all that came of it. */
  async revoke({ access, refresh }: LoginCredentials, signal: AbortSignal): Promise<void> {
    const oauth = await this.library();
    for (const token of refresh === "" ? [access] : [refresh, access]) {
      await spoken(this.options.name, async () => {
        const response = await oauth.revocationRequest(
          this.#server,
          this.#client,
          oauth.None(),
          token,
          this.#http(oauth, signal),
        );
        return oauth.processRevocationResponse(response);
      });
    }
  }

  async #tokens(ask: () => Promise<OAuth.TokenEndpointResponse>): Promise<LoginCredentials> {
    const { access_token, refresh_token = "", expires_in } = await spoken(this.options.name, ask);
    return {
      access: access_token,
      refresh: refresh_token,
      ...(expires_in === undefined ? {} : { expires: Date.now() + expires_in * 1000 }),
    };
  }

  /** Without TLS a server of this machine alone is spoken to. */
  #http(oauth: typeof OAuth, signal: AbortSignal): OAuth.HttpRequestOptions<"POST", URLSearchParams> {
    const { hostname } = new URL(this.options.tokenUrl);
    const isHere = hostname === "localhost" || hostname === "[::1]" || /^127\./.test(hostname);
    const ends = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    return { signal: ends, [oauth.allowInsecureRequests]: isHere };
  }
}

/** The word of the protocol for why something was refused; undefined for any other failure. */
export function refusedWith(error: unknown): string | undefined {
  const { error: word } = (error ?? {}) as { error?: unknown };
  return typeof word === "string" ? word : undefined;
}

/** What the library throws, in our words; refusals of the protocol keep theirs. */
async function spoken<Value>(name: string, ask: () => Promise<Value>): Promise<Value> {
  try {
    return await ask();
  } catch (error) {
    const word = refusedWith(error);
    const { error_description: description } = error as { error_description?: string };
    if (word === "authorization_pending" || word === "slow_down") throw error;
    if (word !== undefined) throw refusal(word, description);
    if ((error as Error).name === "AbortError") throw error;
    throw unanswered(name, error);
  }
}

function unanswered(name: string, error: unknown): BonsaiError {
  const { message, cause, status = refusedStatus(error) } = error as Error & { status?: number };
  // A parser's message quotes what it read, and that may be a token.
  const inner = cause instanceof Error && !(cause instanceof SyntaxError) ? `: ${cause.message}` : "";
  const isLate = [error, cause].some((each) => each instanceof Error && each.name === "TimeoutError");
  const said = isLate
    ? `no answer within ${TIMEOUT_MS / 1000} s`
    : status === undefined
      ? `${message}${inner}`
      : `status ${status}`;
  return new BonsaiError({
    code: "login_unanswered",
    message: `The login server of ${name} failed (${said}).`,
    // The cause holds the whole answer, tokens included: it is kept nowhere.
    hint: "Try again later.",
  });
}

/** The library hands the answer itself out where its status says that there is none. */
function refusedStatus(error: unknown): number | undefined {
  const { cause } = error as { cause?: unknown };
  return cause instanceof Response && !cause.ok ? cause.status : undefined;
}

function endless(name: string): BonsaiError {
  return new BonsaiError({
    code: "login_expired",
    message: `${name} gave no refresh token`,
    hint: "Log in again with /login.",
  });
}
