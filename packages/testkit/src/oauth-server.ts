import { createHash, randomUUID } from "node:crypto";
import { type LoopbackReply, type LoopbackRequest, loopbackServer, sseChunks } from "./loopback-server.ts";
import { wires } from "./model-wires.ts";

/** Endpoints that can fail. `api` is the guarded API. */
export type OAuthEndpoint = "authorize" | "token" | "device" | "revoke" | "register" | "metadata" | "api";

/**
 * One wrong answer of an endpoint. "hang" never answers, "drop" closes the connection, "slow" answers late; `{error}` is
 * an error of the protocol with status 400. The others change an answer of `token`, or the redirect of `authorize`.
 */
export type OAuthFault =
  | "hang"
  | "drop"
  | "slow"
  | "malformed"
  | "page"
  | "server-error"
  | "unauthorized"
  | "wrong-token-type"
  | "no-access-token"
  | "no-refresh-token"
  | "no-expiry"
  | "foreign-state"
  | "no-state"
  | { error: string; description?: string };

export interface OAuthServerOptions {
  /** Lifetime of an access token. Default 3,600. */
  expiresInSeconds?: number;
  /** A refresh token is good for one refresh; to use it again takes everything away that came of it. Default true. */
  rotates?: boolean;
  /** Between two polls for a device. Default a thousandth, so that no test waits. */
  intervalSeconds?: number;
  /** Milliseconds of "slow". Default 50. */
  slowMs?: number;
  /** Fields that replace those of the metadata. Undefined removes a field. */
  metadata?: Readonly<Record<string, unknown>>;
  /** Answers requests with a valid token. Default: a chat model in OpenAI's protocol. */
  api?: (request: LoopbackRequest) => LoopbackReply | Promise<LoopbackReply>;
}

/** An authorisation server with PKCE, device codes, refresh, revocation and registration, and something to guard. */
export interface OAuthServer {
  /** Its issuer; `/authorize`, `/token`, `/device`, `/revoke` and `/register` stand below it, and the API `/v1`. */
  url: string;
  /** Earlier requests, oldest first. */
  requests: readonly LoopbackRequest[];
  /** The next requests at this endpoint meet these, one each. */
  fail(endpoint: OAuthEndpoint, ...faults: readonly OAuthFault[]): void;
  /** How often an endpoint was asked. */
  count(endpoint: OAuthEndpoint): number;
  /** The user's word on a device's code. */
  decide(userCode: string, word: "allow" | "deny" | "expire"): void;
  /** No access token that was given is good any longer; refresh tokens stay. */
  expireAccess(): void;
  /** Nothing that was given is good any longer. */
  revokeAll(): void;
  /** Whether this access or refresh token is good. */
  isGood(token: string): boolean;
  close(): Promise<void>;
}

interface Grant {
  clientId: string;
  redirectUri: string;
  challenge: string | undefined;
}

interface DeviceGrant {
  userCode: string;
  word: "allow" | "deny" | "expire" | "pending";
}

/** Owner of codes, tokens and the faults that wait. */
class Authority {
  readonly grants = new Map<string, Grant>();
  readonly devices = new Map<string, DeviceGrant>();
  readonly access = new Set<string>();
  readonly refresh = new Map<string, { isUsed: boolean }>();
  readonly faults = new Map<OAuthEndpoint, OAuthFault[]>();
  readonly #options: OAuthServerOptions;

  constructor(options: OAuthServerOptions) {
    this.#options = options;
  }

  tokens(fault: OAuthFault | undefined): LoopbackReply {
    const [access, refresh] = [`access-${randomUUID()}`, `refresh-${randomUUID()}`];
    this.access.add(access);
    this.refresh.set(refresh, { isUsed: false });
    return json({
      ...(fault === "no-access-token" ? {} : { access_token: access }),
      token_type: fault === "wrong-token-type" ? "mac" : "Bearer",
      ...(fault === "no-expiry" ? {} : { expires_in: this.#options.expiresInSeconds ?? 3600 }),
      ...(fault === "no-refresh-token" ? {} : { refresh_token: refresh }),
    });
  }

  refreshed(token: string, fault: OAuthFault | undefined): LoopbackReply {
    const known = this.refresh.get(token);
    if (known === undefined) return refused("invalid_grant", "unknown refresh token");
    if (this.#options.rotates === false) return this.tokens(fault ?? "no-refresh-token");
    if (known.isUsed) {
      this.revokeAll();
      return refused("invalid_grant", "this refresh token was used before");
    }
    known.isUsed = true;
    return this.tokens(fault);
  }

  revokeAll(): void {
    this.access.clear();
    this.refresh.clear();
  }
}

/** A server of tokens on the loopback device that misbehaves as it is told. */
export async function oauthServer(options: OAuthServerOptions = {}): Promise<OAuthServer> {
  const authority = new Authority(options);
  const { api = chatModel } = options;
  const base: { url: string } = { url: "" };
  const handlers: Readonly<Record<OAuthEndpoint, Handler>> = {
    metadata: () => json({ ...metadata(base.url), ...options.metadata }),
    register: ({ body }) => json({ ...(body as object), client_id: `client-${randomUUID()}` }, 201),
    authorize: authorized,
    device: (_request, { devices }) => deviceCode(base.url, devices, options.intervalSeconds ?? 0.001),
    token: tokenGranted,
    revoke: ({ body }, { access, refresh }) => {
      const token = form(body).get("token") ?? "";
      access.delete(token);
      refresh.delete(token);
      return json({});
    },
    api: (request, { access }) => {
      const token = /^Bearer (.+)$/.exec(
        String(request.headers.authorization ?? request.headers["x-api-key"]),
      )?.[1];
      return token !== undefined && access.has(token) ? api(request) : unauthorized(base.url);
    },
  };
  const server = await loopbackServer(async (request) => {
    const endpoint = endpointOf(request);
    const fault = authority.faults.get(endpoint)?.shift();
    if (fault === "slow") await new Promise((resolve) => setTimeout(resolve, options.slowMs ?? 50));
    return faulty(endpoint, fault, base.url) ?? handlers[endpoint](request, authority, fault);
  });
  base.url = server.url;
  return {
    url: server.url,
    requests: server.requests,
    fail: (endpoint, ...faults) => {
      authority.faults.set(endpoint, [...(authority.faults.get(endpoint) ?? []), ...faults]);
    },
    count: (endpoint) => server.requests.filter((request) => endpointOf(request) === endpoint).length,
    decide: (userCode, word) => {
      for (const device of authority.devices.values()) if (device.userCode === userCode) device.word = word;
    },
    expireAccess: () => authority.access.clear(),
    revokeAll: () => authority.revokeAll(),
    isGood: (token) => authority.access.has(token) || authority.refresh.get(token)?.isUsed === false,
    close: () => server.close(),
  };
}

type Handler = (
  request: LoopbackRequest,
  authority: Authority,
  fault: OAuthFault | undefined,
) => LoopbackReply | Promise<LoopbackReply>;

function endpointOf({ path }: LoopbackRequest): OAuthEndpoint {
  const { pathname } = new URL(path, "http://localhost");
  if (pathname.startsWith("/.well-known/")) return "metadata";
  const name = pathname.slice(1);
  return /^(?:authorize|token|device|revoke|register)$/.test(name) ? (name as OAuthEndpoint) : "api";
}

/** Faults that are the same everywhere. A word of refusal goes to the browser's client by way of the browser. */
function faulty(
  endpoint: OAuthEndpoint,
  fault: OAuthFault | undefined,
  url: string,
): LoopbackReply | undefined {
  if (typeof fault === "object")
    return endpoint === "authorize" ? undefined : refused(fault.error, fault.description);
  switch (fault) {
    case "hang":
      return { end: "mute" };
    case "drop":
      return { end: "refuse" };
    case "malformed":
      return { headers: JSON_HEAD, chunks: ['{"access_token": "cut'] };
    case "page":
      return { headers: { "content-type": "text/html" }, chunks: ["<!doctype html><title>Sign in</title>"] };
    case "server-error":
      return { status: 503, headers: JSON_HEAD, chunks: ['{"message":"try again later"}'] };
    case "unauthorized":
      return unauthorized(url);
    default:
      return undefined;
  }
}

/** Opening this address allows the access, without a question. */
const authorized: Handler = ({ path }, { grants }, fault) => {
  const { searchParams: asked } = new URL(path, "http://localhost");
  const redirectUri = asked.get("redirect_uri") ?? "";
  const back = URL.parse(redirectUri);
  if (back === null || asked.get("response_type") !== "code") return refused("invalid_request");
  if (typeof fault === "object") {
    back.searchParams.set("error", fault.error);
    if (fault.description !== undefined) back.searchParams.set("error_description", fault.description);
  } else {
    const code = `code-${randomUUID()}`;
    const [clientId, challenge] = [asked.get("client_id") ?? "", asked.get("code_challenge") ?? undefined];
    grants.set(code, { clientId, redirectUri, challenge });
    back.searchParams.set("code", code);
  }
  const state = fault === "foreign-state" ? randomUUID() : asked.get("state");
  if (state !== null && fault !== "no-state") back.searchParams.set("state", state);
  return { status: 302, headers: { location: back.href } };
};

const tokenGranted: Handler = ({ body }, authority, fault) => {
  const given = form(body);
  switch (given.get("grant_type")) {
    case "authorization_code":
      return codeGranted(given, authority, fault);
    case "refresh_token":
      return authority.refreshed(given.get("refresh_token") ?? "", fault);
    case "urn:ietf:params:oauth:grant-type:device_code":
      return deviceGranted(given.get("device_code") ?? "", authority, fault);
    default:
      return refused("unsupported_grant_type");
  }
};

function codeGranted(
  given: URLSearchParams,
  authority: Authority,
  fault: OAuthFault | undefined,
): LoopbackReply {
  const code = given.get("code") ?? "";
  const grant = authority.grants.get(code);
  authority.grants.delete(code);
  if (grant === undefined) return refused("invalid_grant", "unknown or used code");
  const verifier = createHash("sha256")
    .update(given.get("code_verifier") ?? "")
    .digest("base64url");
  const isSame =
    grant.redirectUri === given.get("redirect_uri") &&
    grant.clientId === given.get("client_id") &&
    (grant.challenge === undefined || grant.challenge === verifier);
  return isSame ? authority.tokens(fault) : refused("invalid_grant", "the code is not of this client");
}

function deviceCode(url: string, devices: Map<string, DeviceGrant>, interval: number): LoopbackReply {
  const letters = randomUUID().toUpperCase();
  const userCode = `${letters.slice(0, 4)}-${letters.slice(4, 8)}`;
  const deviceCode = `device-${randomUUID()}`;
  devices.set(deviceCode, { userCode, word: "pending" });
  return json({
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: `${url}/activate`,
    verification_uri_complete: `${url}/activate?user_code=${userCode}`,
    expires_in: 600,
    interval,
  });
}

function deviceGranted(code: string, authority: Authority, fault: OAuthFault | undefined): LoopbackReply {
  const device = authority.devices.get(code);
  if (device === undefined) return refused("invalid_grant");
  const words = { pending: "authorization_pending", deny: "access_denied", expire: "expired_token" };
  if (device.word !== "allow") return refused(words[device.word]);
  authority.devices.delete(code);
  return authority.tokens(fault);
}

function form(body: unknown): URLSearchParams {
  return new URLSearchParams(typeof body === "string" ? body : (body as Record<string, string>));
}

const JSON_HEAD = { "content-type": "application/json", "cache-control": "no-store" };

function json(value: unknown, status = 200): LoopbackReply {
  return { status, headers: JSON_HEAD, chunks: [JSON.stringify(value)] };
}

function refused(error: string, description?: string): LoopbackReply {
  return json({ error, ...(description === undefined ? {} : { error_description: description }) }, 400);
}

function unauthorized(url: string): LoopbackReply {
  const challenge = `Bearer error="invalid_token", resource_metadata="${url}/.well-known/oauth-protected-resource"`;
  return {
    status: 401,
    headers: { ...JSON_HEAD, "www-authenticate": challenge },
    chunks: ['{"error":{"message":"The token is not good.","type":"authentication_error"}}'],
  };
}

function metadata(url: string): object {
  return {
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    device_authorization_endpoint: `${url}/device`,
    revocation_endpoint: `${url}/revoke`,
    registration_endpoint: `${url}/register`,
    response_types_supported: ["code"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    // As a resource, it names itself.
    resource: url,
    authorization_servers: [url],
  };
}

function chatModel(): LoopbackReply {
  const chunks = sseChunks(wires["openai-chat"].answer({ text: "You are logged in." }));
  return { headers: { "content-type": "text/event-stream" }, chunks };
}
