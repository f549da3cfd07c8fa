import { BlockList, isIP } from "node:net";

/** The environment variables that name proxies, as curl and Node read them. */
const VARIABLES = {
  "https:": ["https_proxy", "all_proxy", "http_proxy"],
  "http:": ["http_proxy", "all_proxy"],
};

/** Has the type of `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The proxy of one connection. */
export interface ChosenProxy {
  /** The address with user and password. */
  address: string;
  /** The name of its environment variable, in capital or small letters. */
  variable: string;
}

/** True if a proxy is set for any address. */
export function hasProxy(env: Environment): boolean {
  const names = Object.values(VARIABLES).flat();
  return names.some((name) => readVariable(env, name) !== undefined);
}

/** Returns the proxy for an address; undefined for a direct connection. This machine never needs a proxy. */
export function proxyFor(url: URL, env: Environment): ChosenProxy | undefined {
  const names = VARIABLES[url.protocol as keyof typeof VARIABLES] ?? [];
  const found = names.map((name) => readVariable(env, name)).find((value) => value !== undefined);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  if (found === undefined || isThisMachine(host)) return undefined;
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  const [, exceptions = ""] = readVariable(env, "no_proxy") ?? [];
  if (exceptions.split(/[\s,]+/).some((entry) => isException(entry.toLowerCase(), host, port)))
    return undefined;
  const [variable, value] = found;
  return { variable, address: /^\w+:\/\//.test(value) ? value : `http://${value}` };
}

/** Prefers the name in small letters, because a CGI server sets HTTP_PROXY from a request header. */
function readVariable(env: Environment, name: string): [variable: string, value: string] | undefined {
  for (const variable of [name, name.toUpperCase()]) {
    const value = env[variable]?.trim();
    if (value) return [variable, value];
  }
  return undefined;
}

function isThisMachine(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "::1" || /^127\./.test(host);
}

/** An entry is `*`, a name with its subdomains, `*.name`, an address or a range of addresses; a port may follow. */
function isException(entry: string, host: string, port: string): boolean {
  if (entry.includes("/")) return isInRange(entry, host);
  const [, bracketed, plain, entryPort] = /^(?:\[(.+)\]|(.*?))(?::(\d+))?$/.exec(entry) ?? [];
  const isBareIp = isIP(entry) === 6;
  if (!isBareIp && entryPort !== undefined && entryPort !== port) return false;
  const name = isBareIp ? entry : (bracketed ?? plain ?? "");
  if (name === "*") return true;
  const domain = name.replace(/^\*?\./, "").replace(/\.$/, "");
  if (domain === "") return false;
  return (host === domain && !name.startsWith("*")) || host.endsWith(`.${domain}`);
}

function isInRange(entry: string, host: string): boolean {
  const [network = "", bits = ""] = entry.split("/");
  const family = isIP(network);
  if (family === 0 || family !== isIP(host)) return false;
  const type = family === 6 ? "ipv6" : "ipv4";
  const prefix = Number(bits);
  if (!/^\d+$/.test(bits) || prefix > (family === 6 ? 128 : 32)) return false;
  const range = new BlockList();
  range.addSubnet(network, prefix, type);
  return range.check(host, type);
}
