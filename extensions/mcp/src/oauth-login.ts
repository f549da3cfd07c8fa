import { randomBytes } from "node:crypto";
import { BonsaiError, type ExtensionContext } from "@bonsai-agent/extension";
import type { openLoopback } from "@bonsai-agent/extension/login";
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { plainLine } from "./foreign-text.ts";
import type { LoginStore } from "./login-store.ts";
import { type Challenge, loginWith, withTimeout } from "./oauth-access.ts";
import type { OAuthOptions } from "./oauth-options.ts";

type Loopback = Awaited<ReturnType<typeof openLoopback>>;

export interface LoginRequest {
  server: string;
  /** The server's address. */
  url: string;
  options: OAuthOptions;
  store: LoginStore;
  /** The latest refusal of the server. */
  challenge: Challenge;
  ui: ExtensionContext["ui"];
  /** Opens a page in the user's browser. Returns false if it cannot. */
  openBrowser: (url: string) => Promise<boolean>;
  signal?: AbortSignal | undefined;
  /** Milliseconds that an authorization server has for an answer. Default 30,000. */
  timeoutMs?: number;
}

/**
 * Logs the user in at a server: discovery, registration, browser, code, tokens. Stores nothing before all steps have
 * worked.
 * @throws BonsaiError `mcp_login_failed`, `mcp_login_cancelled`, `mcp_login_untrusted`, and those of the loopback
 */
export async function logIn(request: LoginRequest): Promise<void> {
  const [{ auth }, { openLoopback }] = await Promise.all([
    import("./sdk.ts"),
    import("@bonsai-agent/extension/login"),
  ]);
  const { server, url: serverUrl, options, challenge, signal, timeoutMs = 30_000 } = request;
  const client = new LoginClient(request);
  const loopback = await openLoopback({
    state: client.state(),
    ...options.callback,
    signal,
    // Known after the discovery, before the answer.
    get issuer() {
      return client.found?.authorizationServerMetadata?.issuer;
    },
  });
  client.loopback = loopback;
  const scope = options.scope ?? challenge.scope;
  const call = {
    serverUrl,
    ...(scope && { scope }),
    fetchFn: withTimeout(fetch, timeoutMs, signal),
  };
  const { resourceMetadataUrl } = challenge;
  try {
    await auth(client, { ...call, ...(resourceMetadataUrl && { resourceMetadataUrl }) });
    const authorizationCode = await client.answer();
    // The loopback has refused answers of other issuers.
    const iss = client.found?.authorizationServerMetadata?.issuer;
    await auth(client, { ...call, authorizationCode, ...(iss && { iss }) });
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof BonsaiError ? error : failed(server, error);
  } finally {
    loopback.close();
  }
}

function failed(server: string, error: unknown): BonsaiError {
  const { message, name } = error as Error;
  if (/^(IssuerMismatch|AuthorizationServerMismatch|InsecureTokenEndpoint)Error$/.test(name))
    return untrusted(server, plainLine(message.replace(/\.$/, ""), 400));
  const isLate = name === "TimeoutError";
  const why = isLate ? "its authorization server did not answer in time." : plainLine(message, 400);
  return new BonsaiError({
    code: "mcp_login_failed",
    message: `Login to the MCP server ${server} failed: ${why}`,
    hint: /dynamic client registration/i.test(message)
      ? "Register a client with the provider. Add its id as oauth.clientId (and oauth.callbackPort) to the server's entry in the file that /mcp shows."
      : `Nothing was stored. Try again with /mcp login ${server}.`,
    cause: error,
  });
}

/** One login under way, in the form that the SDK asks for. */
class LoginClient implements OAuthClientProvider {
  readonly #request: LoginRequest;
  readonly #state = randomBytes(24).toString("base64url");
  #verifier = "";
  #registered: StoredOAuthClientInformation | undefined;
  #page: URL | undefined;
  loopback: Loopback | undefined;
  found: OAuthDiscoveryState | undefined;
  /** Absent for a client that the user registered. */
  saveClientInformation?: (client: StoredOAuthClientInformation) => void;

  constructor(request: LoginRequest) {
    this.#request = request;
    const { clientId, clientSecret } = request.options;
    if (clientId === undefined)
      this.saveClientInformation = (client) => {
        this.#registered = client;
      };
    else this.#registered = { client_id: clientId, ...(clientSecret && { client_secret: clientSecret }) };
  }

  get redirectUrl(): string {
    return this.loopback!.redirectUri;
  }

  get clientMetadata() {
    const { options } = this.#request;
    return {
      client_name: options.clientName,
      redirect_uris: [this.redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: options.clientSecret === undefined ? "none" : "client_secret_post",
      ...(options.scope && { scope: options.scope }),
    };
  }

  state(): string {
    return this.#state;
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.#registered;
  }

  /** Returns no stored tokens, so that each login asks the user. */
  tokens(): undefined {}

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.found;
  }

  saveDiscoveryState(found: OAuthDiscoveryState): void {
    checkDiscovery(this.#request, found);
    this.found = found;
  }

  redirectToAuthorization(page: URL): void {
    this.#page = page;
  }

  async saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    const { store } = this.#request;
    const login = loginWith({ discovery: this.found!, client: this.#registered! }, tokens);
    await store.locked(() => store.write(login), this.#request.signal);
  }

  /** The code from the browser, or from an address that the user pastes. */
  async answer(): Promise<string> {
    const { server, ui, openBrowser, signal } = this.#request;
    const page = this.#page!;
    if (!(await this.#mayOpen(page))) throw cancelled(server);
    const loopback = this.loopback!;
    const code = loopback.code();
    // The code may arrive before the question is on the screen.
    code.catch(() => {});
    const isOpen = await openBrowser(page.href);
    ui.notify(
      isOpen
        ? `Continue in the browser to log in to ${server}: ${page.href}`
        : `Open this page to log in to ${server}: ${page.href}`,
    );
    const arrived = new AbortController();
    const ends = [arrived.signal, ...(signal === undefined ? [] : [signal])];
    const asking = askForPaste(this.#request, loopback, AbortSignal.any(ends));
    try {
      return await Promise.race([code, asking]);
    } finally {
      arrived.abort();
    }
  }

  /** Asks the user if the login is on another host than the server. */
  async #mayOpen(page: URL): Promise<boolean> {
    const { server, url, ui, signal } = this.#request;
    const own = new URL(url).hostname;
    if (isRelated(page.hostname, own)) return true;
    return ui.confirm(
      `Log in to MCP server ${server}`,
      `${own} uses ${page.hostname} for its login. The owner of that page sees everything you type there. Open it?`,
      { signal },
    );
  }
}

/** True for the same host, or a host within the other. */
function isRelated(one: string, other: string): boolean {
  return one === other || one.endsWith(`.${other}`) || other.endsWith(`.${one}`);
}

/** Takes the final address of a browser on another machine. The loopback checks it and returns its code. */
async function askForPaste(
  { server, ui }: LoginRequest,
  loopback: Loopback,
  signal: AbortSignal,
): Promise<never> {
  let problem = "";
  for (;;) {
    const title = `Logging in to MCP server ${server}: continue in the browser.\n${problem}If the browser runs on another machine, paste the address of its last page here.`;
    const pasted = await ui.input(title, "http://127.0.0.1:…/callback?code=…", { signal });
    // The code has arrived and closed the dialog.
    if (signal.aborted) return new Promise<never>(() => {});
    if (pasted === undefined) throw cancelled(server);
    const { search = "" } = URL.parse(pasted.trim()) ?? {};
    const taken = await fetch(`${loopback.redirectUri}${search}`, { signal }).catch(() => undefined);
    if (taken?.ok || signal.aborted) return new Promise<never>(() => {});
    problem = "That address does not belong to this login. ";
  }
}

function cancelled(server: string): BonsaiError {
  return new BonsaiError({
    code: "mcp_login_cancelled",
    message: `Cancelled the login to the MCP server ${server}. Nothing was stored.`,
    hint: `Start again with /mcp login ${server}.`,
  });
}

/**
 * Refuses a login over plain http, before the browser opens. The SDK compares the issuers.
 * @throws BonsaiError `mcp_login_untrusted`
 */
function checkDiscovery({ server, url }: LoginRequest, found: OAuthDiscoveryState): void {
  const { authorizationServerUrl, authorizationServerMetadata: metadata } = found;
  const addresses = [
    authorizationServerUrl,
    metadata?.authorization_endpoint,
    metadata?.token_endpoint,
    metadata?.registration_endpoint,
  ].filter((address) => address !== undefined);
  const isLocal = isLoopback(new URL(url).hostname);
  const unsafe = addresses.find((address) => !isSafe(new URL(address), isLocal));
  if (unsafe !== undefined)
    throw untrusted(server, `its login uses ${plainLine(unsafe)}, which is not https`);
}

function isSafe({ protocol, hostname }: URL, isLocal: boolean): boolean {
  return protocol === "https:" || (protocol === "http:" && isLocal && isLoopback(hostname));
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function untrusted(server: string, why: string): BonsaiError {
  return new BonsaiError({
    code: "mcp_login_untrusted",
    message: `Stopped the login to the MCP server ${server}: ${why}.`,
    hint: "Check the server's url in its file, or ask the owner of the server.",
  });
}
