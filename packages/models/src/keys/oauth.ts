import { randomUUID } from "node:crypto";
import { BonsaiError } from "@bonsai-agent/messages";
import { sleep } from "@bonsai-agent/messages/host";
import type * as OAuth from "oauth4webapi";
import { isLoopback } from "../model.ts";
import { loginRefusal, openLoopback, pastedCode, refusedWith } from "./loopback.ts";
import type { LoginCallbacks, LoginCredentials, ProviderLogin } from "./provider-login.ts";

/** An OAuth 2 provider and this program's registration there. Needs `authorizeUrl`, `deviceUrl` or both. */
export interface OAuthLoginOptions {
  /** Shown to the user. */
  name: string;
  clientId: string;
  tokenUrl: string;
  /** For a login in the browser, with PKCE. */
  authorizeUrl?: string | undefined;
  /** For a login with a code that the user enters on any device. */
  deviceUrl?: string | undefined;
  /** A logout revokes the tokens there. */
  revokeUrl?: string | undefined;
  scopes?: readonly string[] | undefined;
  /** The registered address that the browser returns to. Default: any port, `/callback`, 127.0.0.1. */
  redirect?: { ports?: readonly number[]; path?: string; host?: "127.0.0.1" | "localhost" } | undefined;
  /** Additional parameters of the address that the browser opens. */
  parameters?: Readonly<Record<string, string>> | undefined;
}

/**
 * A login by OAuth 2: in the browser with PKCE, where the user can also paste the final address, or with a device code.
 * The user chooses if the provider has both.
 */
export function oauthLogin(options: OAuthLoginOptions): ProviderLogin {
  const { name, authorizeUrl, deviceUrl, revokeUrl } = options;
  if (authorizeUrl === undefined && deviceUrl === undefined)
    throw new BonsaiError({
      code: "login_options_invalid",
      message: `The login to ${name} has neither an authorizeUrl nor a deviceUrl.`,
      hint: "Pass one of them to oauthLogin, or both.",
    });
  const client = new OAuthClient(options);
  return {
    name,
    login: async (callbacks) => {
      const way = await chosenWay(options, callbacks);
      return way === "device" ? deviceLogin(client, callbacks) : browserLogin(client, callbacks);
    },
    refreshToken: (credentials, signal) => client.refresh(credentials, signal),
    getApiKey: ({ access }) => access,
    ...(revokeUrl && { revoke: (credentials, signal) => client.revoke(credentials, signal) }),
  };
}

async function chosenWay(
  { name, authorizeUrl, deviceUrl }: OAuthLoginOptions,
  { onSelect, signal }: LoginCallbacks,
): Promise<"browser" | "device"> {
  if (deviceUrl === undefined) return "browser";
  if (authorizeUrl === undefined) return "device";
  const chosen = await onSelect({
    message: `How do you want to log in to ${name}?`,
    options: [
      { id: "browser", label: "In the browser on this machine" },
      { id: "device", label: "With a code", description: "enter it in a browser on any machine" },
    ],
  });
  signal.throwIfAborted();
  return chosen === "device" ? "device" : "browser";
}

/** Takes the code from the browser or from the user's paste, whichever is first. */
async function browserLogin(client: OAuthClient, callbacks: LoginCallbacks): Promise<LoginCredentials> {
  const { signal } = callbacks;
  const oauth = await client.library();
  const [state, verifier] = [randomUUID(), oauth.generateRandomCodeVerifier()];
  const done = new AbortController();
  const both = AbortSignal.any([signal, done.signal]);
  const loopback = await openLoopback({ ...client.options.redirect, state, signal: both });
  try {
    const challenge = await oauth.calculatePKCECodeChallenge(verifier);
    const url = client.authorizeUrl({ state, challenge, redirectUri: loopback.redirectUri });
    callbacks.onAuth({ url, instructions: "Log in there. Bonsai continues automatically." });
    const code = await Promise.race([loopback.code(), pastedCode(callbacks, state, both)]);
    // After a pasted code, no browser is expected.
    loopback.close();
    callbacks.onProgress("Exchanging the code for a token…");
    return await client.exchange({ code, state, verifier, redirectUri: loopback.redirectUri }, signal);
  } finally {
    loopback.close();
    done.abort(new Error("The login is over."));
  }
}

async function deviceLogin(client: OAuthClient, callbacks: LoginCallbacks): Promise<LoginCredentials> {
  const { signal } = callbacks;
  const device = await client.deviceCode(signal);
  callbacks.onDeviceCode({
    userCode: device.user_code,
    verificationUri: device.verification_uri_complete ?? device.verification_uri,
    intervalSeconds: device.interval ?? 5,
    expiresInSeconds: device.expires_in,
  });
  return pollDevice({ client, device, signal });
}

const TIMEOUT_MS = 30_000;

type Library = typeof OAuth;
type HttpOptions = OAuth.HttpRequestOptions<"POST", URLSearchParams>;

/** Speaks OAuth 2 with one provider. Loads the protocol's library at the first request. */
export class OAuthClient {
  readonly options: OAuthLoginOptions;
  readonly #parties: readonly [OAuth.AuthorizationServer, OAuth.Client];

  constructor(options: OAuthLoginOptions) {
    this.options = options;
    const { tokenUrl, deviceUrl, revokeUrl, clientId } = options;
    const server = {
      issuer: new URL(tokenUrl).origin,
      token_endpoint: tokenUrl,
      ...(deviceUrl && { device_authorization_endpoint: deviceUrl }),
      ...(revokeUrl && { revocation_endpoint: revokeUrl }),
    };
    this.#parties = [server, { client_id: clientId }];
  }

  library(): Promise<Library> {
    return import("oauth4webapi");
  }

  authorizeUrl(parts: { state: string; challenge: string; redirectUri: string }): string {
    const { authorizeUrl = "", clientId, scopes = [], parameters } = this.options;
    const url = new URL(authorizeUrl);
    const query = {
      response_type: "code",
      client_id: clientId,
      redirect_uri: parts.redirectUri,
      code_challenge: parts.challenge,
      code_challenge_method: "S256",
      state: parts.state,
      ...(scopes.length > 0 && { scope: scopes.join(" ") }),
      ...parameters,
    };
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url.href;
  }

  async exchange(
    { code, state, verifier, redirectUri }: Record<"code" | "state" | "verifier" | "redirectUri", string>,
    signal: AbortSignal,
  ): Promise<LoginCredentials> {
    const tokens = await this.#request(signal, async (oauth, http) => {
      const given = new URLSearchParams({ code, state });
      const callback = oauth.validateAuthResponse(...this.#parties, given, state);
      const grant = [oauth.None(), callback, redirectUri, verifier, http] as const;
      return oauth.processAuthorizationCodeResponse(
        ...this.#parties,
        await oauth.authorizationCodeGrantRequest(...this.#parties, ...grant),
      );
    });
    return credentialsFrom(tokens);
  }

  deviceCode(signal: AbortSignal): Promise<OAuth.DeviceAuthorizationResponse> {
    const { scopes = [] } = this.options;
    const parameters: Record<string, string> = scopes.length === 0 ? {} : { scope: scopes.join(" ") };
    return this.#request(signal, async (oauth, http) =>
      oauth.processDeviceAuthorizationResponse(
        ...this.#parties,
        await oauth.deviceAuthorizationRequest(...this.#parties, oauth.None(), parameters, http),
      ),
    );
  }

  async pollOnce(deviceCode: string, signal: AbortSignal): Promise<LoginCredentials> {
    return credentialsFrom(
      await this.#request(signal, async (oauth, http) =>
        oauth.processDeviceCodeResponse(
          ...this.#parties,
          await oauth.deviceCodeGrantRequest(...this.#parties, oauth.None(), deviceCode, http),
        ),
      ),
    );
  }

  async refresh({ refresh }: LoginCredentials, signal: AbortSignal): Promise<LoginCredentials> {
    if (refresh === "")
      throw new BonsaiError({
        code: "login_expired",
        message: `${this.options.name} gave no refresh token`,
        hint: "Log in again with /login.",
      });
    const tokens = await this.#request(signal, async (oauth, http) =>
      oauth.processRefreshTokenResponse(
        ...this.#parties,
        await oauth.refreshTokenGrantRequest(...this.#parties, oauth.None(), refresh, http),
      ),
    );
    // A provider that does not rotate refresh tokens sends none.
    return credentialsFrom({ refresh_token: refresh, ...tokens });
  }

  /** Revokes the refresh token first: most providers revoke the tokens made with it too. */
  async revoke({ access, refresh }: LoginCredentials, signal: AbortSignal): Promise<void> {
    for (const token of refresh === "" ? [access] : [refresh, access])
      await this.#request(signal, async (oauth, http) =>
        oauth.processRevocationResponse(
          await oauth.revocationRequest(...this.#parties, oauth.None(), token, http),
        ),
      );
  }

  /** Allows requests without TLS to this machine only. */
  async #request<Value>(
    signal: AbortSignal,
    send: (oauth: Library, http: HttpOptions) => Promise<Value>,
  ): Promise<Value> {
    const { name, tokenUrl } = this.options;
    const oauth = await this.library();
    const ends = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    try {
      return await send(oauth, {
        signal: ends,
        [oauth.allowInsecureRequests]: isLoopback({ baseUrl: tokenUrl }),
      });
    } catch (error) {
      const word = refusedWith(error);
      const { error_description: description } = error as { error_description?: string };
      if (word === "authorization_pending" || word === "slow_down") throw error;
      if (word !== undefined) throw loginRefusal(word, description);
      if ((error as Error).name === "AbortError") throw error;
      throw unanswered(name, error);
    }
  }
}

function credentialsFrom(tokens: OAuth.TokenEndpointResponse): LoginCredentials {
  const { access_token, refresh_token = "", expires_in } = tokens;
  return {
    access: access_token,
    refresh: refresh_token,
    ...(expires_in !== undefined && { expires: Date.now() + expires_in * 1000 }),
  };
}

function unanswered(name: string, error: unknown): BonsaiError {
  const { message, cause, status = refusedStatus(error) } = error as Error & { status?: number };
  // A parser's message quotes the text, which may contain a token.
  const inner = cause instanceof Error && !(cause instanceof SyntaxError) ? `: ${cause.message}` : "";
  const isLate = [error, cause].some((each) => each instanceof Error && each.name === "TimeoutError");
  const reason = status === undefined ? `${message}${inner}` : `status ${status}`;
  return new BonsaiError({
    code: "login_unanswered",
    message: `The login server of ${name} failed (${isLate ? `no answer within ${TIMEOUT_MS / 1000} s` : reason}).`,
    // Without the cause: it contains the whole answer with its tokens.
    hint: "Try again later.",
  });
}

/** The library returns a response with an error status as the cause. */
function refusedStatus(error: unknown): number | undefined {
  const { cause } = error as { cause?: unknown };
  return cause instanceof Response && !cause.ok ? cause.status : undefined;
}

interface DevicePoll {
  client: OAuthClient;
  device: OAuth.DeviceAuthorizationResponse;
  signal: AbortSignal;
  /** Default: a timer. */
  wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** Added to the interval after `slow_down`, as the protocol demands. */
const SLOWER_SECONDS = 5;
const DEFAULT_INTERVAL_SECONDS = 5;
/** The provider may be unreachable for a moment while the user types. */
const MAX_FAILURES = 5;

/**
 * Polls until the user has entered the code or denied the login, or the code has expired.
 * @throws BonsaiError `login_denied`, `login_timeout`, `login_refused`, `login_unanswered`
 */
export async function pollDevice({
  client,
  device,
  signal,
  wait = sleep,
}: DevicePoll): Promise<LoginCredentials> {
  const endsMs = performance.now() + device.expires_in * 1000;
  let intervalSeconds = device.interval ?? DEFAULT_INTERVAL_SECONDS;
  let failures = 0;
  while (performance.now() < endsMs) {
    await wait(intervalSeconds * 1000, signal);
    signal.throwIfAborted();
    try {
      return await client.pollOnce(device.device_code, signal);
    } catch (error) {
      signal.throwIfAborted();
      const word = refusedWith(error);
      if (word === "slow_down") intervalSeconds += SLOWER_SECONDS;
      if (word === "slow_down" || word === "authorization_pending") continue;
      failures += 1;
      const { code, message } = error as BonsaiError;
      if (code === "login_refused" && /\bexpired_token\b/.test(message)) throw codeEnded();
      if (code !== "login_unanswered" || failures === MAX_FAILURES) throw error;
    }
  }
  throw codeEnded();
}

function codeEnded(): BonsaiError {
  return new BonsaiError({
    code: "login_timeout",
    message: "The login code expired before you entered it.",
    hint: "Start the login again and enter the new code.",
  });
}
