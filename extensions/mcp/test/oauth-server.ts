import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What the server does otherwise than it should. */
export interface OAuthFaults {
  /** The user says no in the browser. */
  deniesLogin?: boolean;
  /** Refresh tokens are refused. */
  refusesRefresh?: boolean;
  /** Tokens are not taken back. */
  keepsTokens?: boolean;
  /** The token endpoint fails with 500. */
  breaksRefresh?: boolean;
  /** The resource metadata is of another resource. */
  otherResource?: string;
  /** The authorization server calls itself otherwise. */
  otherIssuer?: string;
  /** Where tokens are said to be given. */
  otherTokenEndpoint?: string;
  /** Clients cannot register themselves. */
  withoutRegistration?: boolean;
  /** Seconds that access tokens hold. */
  expiresIn?: number;
  /** Requests for metadata are never answered. */
  isSlow?: boolean;
  /** Calls are redirected to this address. */
  redirectsTo?: string;
  /** What a tool call wants more than the login has. */
  wantsScope?: string;
}

type Json = (status: number, value: object) => unknown;

/** An MCP server that wants a login, and the authorization server for it, on one port of the loopback device. */
export class OAuthMcpServer {
  readonly faults: OAuthFaults = {};
  /** Every request, as `METHOD /path`. */
  readonly log: string[] = [];
  /** Kinds of the tokens that were taken back. */
  readonly revoked: string[] = [];
  readonly tokenRequests: URLSearchParams[] = [];
  readonly registrations: Record<string, unknown>[] = [];
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  readonly #codes = new Map<string, { challenge: string; redirectUri: string }>();
  #valid = new Set<string>();
  #refresh = new Set<string>();

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `${this.origin}/mcp`;
  }

  /** Access tokens hold no longer. */
  expireAll(): void {
    this.#valid.clear();
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** What the browser does: it is sent to the address that the answer stands in. */
  async browse(page: string): Promise<string> {
    const response = await fetch(page, { redirect: "manual" });
    return response.headers.get("location") ?? "";
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, this.origin);
    this.log.push(`${request.method} ${url.pathname}`);
    const body = await bodyOf(request);
    const json = (status: number, value: object) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    if (this.faults.isSlow && url.pathname.startsWith("/.well-known/")) return;
    switch (url.pathname) {
      case "/.well-known/oauth-protected-resource/mcp":
        json(200, { resource: this.faults.otherResource ?? this.url, authorization_servers: [this.origin] });
        return;
      case "/.well-known/oauth-authorization-server":
        json(200, this.#metadata());
        return;
      case "/register": {
        const given = JSON.parse(body) as Record<string, unknown>;
        this.registrations.push(given);
        json(201, { ...given, client_id: randomUUID() });
        return;
      }
      case "/authorize":
        response.writeHead(302, { location: this.#authorize(url.searchParams) }).end();
        return;
      case "/token":
        this.#token(new URLSearchParams(body), json);
        return;
      case "/revoke":
        this.revoked.push(new URLSearchParams(body).get("token_type_hint") ?? "");
        response.writeHead(this.faults.keepsTokens ? 503 : 200).end();
        return;
      case "/mcp":
        this.#serve(request, body, response, json);
        return;
      default:
        json(404, {});
    }
  }

  #metadata(): object {
    const { otherIssuer, otherTokenEndpoint, withoutRegistration } = this.faults;
    return {
      issuer: otherIssuer ?? this.origin,
      authorization_endpoint: `${this.origin}/authorize`,
      token_endpoint: otherTokenEndpoint ?? `${this.origin}/token`,
      ...(withoutRegistration ? {} : { registration_endpoint: `${this.origin}/register` }),
      revocation_endpoint: `${this.origin}/revoke`,
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none", "client_secret_post"],
    };
  }

  #authorize(given: URLSearchParams): string {
    const back = new URL(given.get("redirect_uri")!);
    back.searchParams.set("state", given.get("state")!);
    if (this.faults.deniesLogin) back.searchParams.set("error", "access_denied");
    else {
      const code = randomUUID();
      this.#codes.set(code, {
        challenge: given.get("code_challenge")!,
        redirectUri: given.get("redirect_uri")!,
      });
      back.searchParams.set("code", code);
    }
    return back.href;
  }

  #token(given: URLSearchParams, json: Json): unknown {
    this.tokenRequests.push(given);
    if (given.get("grant_type") === "refresh_token") {
      if (this.faults.breaksRefresh) return json(500, {});
      if (this.faults.refusesRefresh || !this.#refresh.delete(given.get("refresh_token")!))
        return json(400, { error: "invalid_grant" });
      return this.#give(json);
    }
    const code = this.#codes.get(given.get("code")!);
    this.#codes.delete(given.get("code")!);
    const digest = createHash("sha256")
      .update(given.get("code_verifier") ?? "")
      .digest("base64url");
    if (code?.challenge !== digest || code.redirectUri !== given.get("redirect_uri"))
      return json(400, { error: "invalid_grant", error_description: "no such code" });
    return this.#give(json);
  }

  #give(json: Json): unknown {
    const [access, refresh] = [randomUUID(), randomUUID()];
    this.#valid.add(access);
    this.#refresh.add(refresh);
    return json(200, {
      access_token: access,
      refresh_token: refresh,
      token_type: "Bearer",
      expires_in: this.faults.expiresIn ?? 3_600,
    });
  }

  #serve({ headers, method }: IncomingMessage, body: string, response: ServerResponse, json: Json): unknown {
    const metadata = `resource_metadata="${this.origin}/.well-known/oauth-protected-resource/mcp"`;
    if (!this.#valid.has(headers.authorization?.replace(/^Bearer /, "") ?? "")) {
      return response.writeHead(401, { "www-authenticate": `Bearer ${metadata}, scope="notes"` }).end();
    }
    if (method !== "POST") return json(405, {});
    const message = JSON.parse(body) as { id?: number; method: string };
    if (message.id === undefined) return response.writeHead(202).end();
    if (message.method === "tools/call" && this.faults.redirectsTo !== undefined)
      return response.writeHead(307, { location: this.faults.redirectsTo }).end();
    if (message.method === "tools/call" && this.faults.wantsScope !== undefined) {
      const wanted = `Bearer error="insufficient_scope", scope="${this.faults.wantsScope}"`;
      return response.writeHead(403, { "www-authenticate": wanted }).end();
    }
    return json(200, { jsonrpc: "2.0", id: message.id, result: results[message.method] ?? {} });
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

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const part of request) body += part;
  return body;
}
