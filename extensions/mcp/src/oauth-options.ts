import { BonsaiError } from "@bonsai-agent/extension";
import type { openLoopback } from "@bonsai-agent/extension/login";

/** What the file says of how to log in at a server. */
export interface OAuthOptions {
  /** A client that was registered by hand; without one, Bonsai registers itself. */
  clientId: string | undefined;
  clientSecret: string | undefined;
  /** Separated by spaces. Default: what the server asks for. */
  scope: string | undefined;
  /** What Bonsai calls itself where it registers. Default "Bonsai". */
  clientName: string;
  /** Where the browser brings the answer. */
  callback: Pick<Parameters<typeof openLoopback>[0], "path" | "ports" | "host">;
}

/**
 * Reads the field `oauth` of a server.
 * @throws BonsaiError `mcp_oauth_invalid`
 */
export function oauthOptions(server: string, given: Readonly<Record<string, unknown>> = {}): OAuthOptions {
  const text = (field: string): string | undefined => {
    const value = given[field];
    if (value === undefined || (typeof value === "string" && value !== "")) return value;
    throw wrong(server, field, value, "a string");
  };
  const { scopes, callbackPort } = given;
  if (scopes !== undefined && !(Array.isArray(scopes) && scopes.every((each) => typeof each === "string")))
    throw wrong(server, "scopes", scopes, "a list of strings");
  if (callbackPort !== undefined && !isPort(callbackPort))
    throw wrong(server, "callbackPort", callbackPort, "a number from 1 to 65535");
  return {
    clientId: text("clientId"),
    clientSecret: text("clientSecret"),
    scope: text("scope") ?? (scopes as string[] | undefined)?.join(" "),
    clientName: text("clientName") ?? "Bonsai",
    callback: callbackOf(server, text("callbackUrl"), callbackPort),
  };
}

function isPort(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) > 0 && (value as number) < 65_536;
}

function callbackOf(
  server: string,
  address: string | undefined,
  port: number | undefined,
): OAuthOptions["callback"] {
  const ports = port === undefined ? {} : { ports: [port] };
  if (address === undefined) return ports;
  const url = URL.parse(address);
  const host = url?.hostname;
  if (url?.protocol !== "http:" || (host !== "localhost" && host !== "127.0.0.1"))
    throw wrong(server, "callbackUrl", address, "an http:// URL on localhost or 127.0.0.1");
  return { host, path: url.pathname, ...(url.port === "" ? ports : { ports: [Number(url.port)] }) };
}

function wrong(server: string, field: string, value: unknown, allowed: string): BonsaiError {
  const shown = field === "clientSecret" ? typeof value : JSON.stringify(value);
  return new BonsaiError({
    code: "mcp_oauth_invalid",
    message: `mcpServers.${server}.oauth.${field} is ${shown}, but must be ${allowed}.`,
    hint: "Correct it in the file that /mcp shows for this server, then run /reload.",
  });
}
