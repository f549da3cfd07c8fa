import { randomBytes } from "node:crypto";
import { BonsaiError, type ExtensionContext } from "@bonsai-agent/extension";
import type { openLoopback } from "@bonsai-agent/extension/login";
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import type { HttpServer, OAuthSettings } from "./config.ts";
import { plainLine } from "./foreign-text.ts";
import type { LoginStore } from "./login-store.ts";
import { ANSWER_MS, type Challenge, fetchWithin } from "./oauth-access.ts";

type LoopbackOptions = Parameters<typeof openLoopback>[0];
type Loopback = Awaited<ReturnType<typeof openLoopback>>;

export interface LoginRequest {
  server: Pick<HttpServer, "name" | "url" | "oauth">;
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
  const { server, challenge, signal, timeoutMs = ANSWER_MS } = request;
  const client = new LoginClient(request);
  client.loopback = await openLoopback({
    state: client.state(),
    ...callbackOf(server.oauth),
    signal,
    // Known after the discovery, before the answer.
    get issuer() {
      return client.issuer;
    },
  });
  const scope = scopeOf(server.oauth) ?? challenge.scope;
  const call = { serverUrl: server.url, ...(scope && { scope }), fetchFn: fetchWithin(timeoutMs, signal) };
  const { resourceMetadataUrl } = challenge;
  try {
    await auth(client, { ...call, ...(resourceMetadataUrl && { resourceMetadataUrl }) });
    const authorizationCode = await client.waitForCode();
    // The loopback has refused answers of other issuers.
    await auth(client, { ...call, authorizationCode, ...(client.issuer && { iss: client.issuer }) });
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof BonsaiError ? error : failed(server.name, error);
  } finally {
    client.loopback.close();
  }
}

function callbackOf({ callbackUrl = "", callbackPort }: OAuthSettings = {}): Partial<LoopbackOptions> {
  const url = URL.parse(callbackUrl);
  const port = url?.port ? Number(url.port) : callbackPort;
  return {
    ...(url && { host: url.hostname as "localhost", path: url.pathname }),
    ...(port !== undefined && { ports: [port] }),
  };
}

function scopeOf({ scope, scopes }: OAuthSettings = {}): string | undefined {
  return scope ?? scopes?.join(" ");
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
  #client: StoredOAuthClientInformation | undefined;
  #page: URL | undefined;
  #discovery: OAuthDiscoveryState | undefined;
  loopback: Loopback | undefined;
  /** Absent for a client that the user registered. */
  saveClientInformation?: (client: StoredOAuthClientInformation) => void;

  constructor(request: LoginRequest) {
    this.#request = request;
    const { clientId, clientSecret } = request.server.oauth ?? {};
    if (clientId === undefined)
      this.saveClientInformation = (client) => {
        this.#client = client;
      };
    else this.#client = { client_id: clientId, ...(clientSecret && { client_secret: clientSecret }) };
  }

  get issuer(): string | undefined {
    return this.#discovery?.authorizationServerMetadata?.issuer;
  }

  get redirectUrl(): string {
    return this.loopback!.redirectUri;
  }

  get clientMetadata() {
    const { oauth = {} } = this.#request.server;
    const scope = scopeOf(oauth);
    return {
      client_name: oauth.clientName ?? "Bonsai",
      redirect_uris: [this.redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: oauth.clientSecret === undefined ? "none" : "client_secret_post",
      ...(scope && { scope }),
    };
  }

  state(): string {
    return this.#state;
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.#client;
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
    return this.#discovery;
  }

  saveDiscoveryState(found: OAuthDiscoveryState): void {
    checkDiscovery(this.#request.server, found);
    this.#discovery = found;
  }

  redirectToAuthorization(page: URL): void {
    this.#page = page;
  }

  async saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    const { store, signal } = this.#request;
    const login = { discovery: this.#discovery!, client: this.#client! };
    await store.locked(() => store.write(login, tokens), signal);
  }

  /** The code from the browser, or from an address that the user pastes. */
  async waitForCode(): Promise<string> {
    const { server, ui, openBrowser, signal } = this.#request;
    const { href, hostname } = this.#page!;
    if (!(await mayOpen(this.#request, hostname))) throw cancelled(server.name);
    const code = this.loopback!.code();
    // The code may arrive before the question is on the screen.
    code.catch(() => {});
    const step = (await openBrowser(href)) ? "Continue in the browser" : "Open this page";
    ui.notify(`${step} to log in to ${server.name}: ${href}`);
    const arrived = new AbortController();
    const ends = [arrived.signal, ...(signal === undefined ? [] : [signal])];
    try {
      return await Promise.race([code, askForPaste(this.#request, this.redirectUrl, AbortSignal.any(ends))]);
    } finally {
      arrived.abort();
    }
  }
}

/** Asks the user if the login is on a host that is neither the server's nor within it, nor contains it. */
async function mayOpen({ server, ui, signal }: LoginRequest, host: string): Promise<boolean> {
  const own = new URL(server.url).hostname;
  if (host === own || host.endsWith(`.${own}`) || own.endsWith(`.${host}`)) return true;
  return ui.confirm(
    `Log in to MCP server ${server.name}`,
    `${own} uses ${host} for its login. The owner of that page sees everything you type there. Open it?`,
    { signal },
  );
}

/** Takes the final address of a browser on another machine. The loopback checks it and returns its code. */
async function askForPaste(
  { server, ui }: LoginRequest,
  redirectUrl: string,
  signal: AbortSignal,
): Promise<never> {
  let problem = "";
  for (;;) {
    const title = `Logging in to MCP server ${server.name}: continue in the browser.\n${problem}If the browser runs on another machine, paste the address of its last page here.`;
    const pasted = await ui.input(title, "http://127.0.0.1:…/callback?code=…", { signal });
    // The code has arrived and closed the dialog.
    if (signal.aborted) return new Promise<never>(() => {});
    if (pasted === undefined) throw cancelled(server.name);
    const { search = "" } = URL.parse(pasted.trim()) ?? {};
    const taken = await fetch(`${redirectUrl}${search}`, { signal }).catch(() => undefined);
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
function checkDiscovery({ name, url }: LoginRequest["server"], found: OAuthDiscoveryState): void {
  const { authorizationServerUrl, authorizationServerMetadata: metadata } = found;
  const isLocal = isLoopback(new URL(url).hostname);
  const unsafe = [
    authorizationServerUrl,
    metadata?.authorization_endpoint,
    metadata?.token_endpoint,
    metadata?.registration_endpoint,
  ].find((address) => {
    if (address === undefined) return false;
    const { protocol, hostname } = new URL(address);
    return protocol !== "https:" && !(protocol === "http:" && isLocal && isLoopback(hostname));
  });
  if (unsafe !== undefined) throw untrusted(name, `its login uses ${plainLine(unsafe)}, which is not https`);
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
