import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { environmentKeys, shortened } from "@bonsai-agent/extension";

/** Fields of every configured server. */
interface ConfiguredServer {
  /** Its key in the file: letters, digits, `_` and `-`. */
  name: string;
  file: string;
  isEnabled: boolean;
  /** Limit for silence during a request. Progress restarts it. */
  timeoutMs: number;
  /** Its purpose, from the file. */
  description?: string;
  /** Inserted variables that are keys. */
  keys?: readonly { name: string; value: string }[];
  /** False hides the project's folder from the server. */
  hasRoots: boolean;
}

export interface StdioServer extends ConfiguredServer {
  type: "stdio";
  command: string;
  args: readonly string[];
  /** Added to the few variables that every server gets. */
  env: Readonly<Record<string, string>>;
  cwd: string;
}

/** A server at an address. */
export interface HttpServer extends ConfiguredServer {
  type: "http";
  url: string;
  headers: Readonly<Record<string, string>>;
  /** True for the old transport with a stream of events. */
  isSse?: boolean;
  oauth?: OAuthSettings;
}

/** Settings of the login, from the file. */
export interface OAuthSettings {
  /** A client that the user registered. Without it, Bonsai registers itself. */
  clientId?: string;
  clientSecret?: string;
  /** Default: the scope that the server asks for. */
  scope?: string;
  scopes?: readonly string[];
  /** Bonsai's name for the authorization server. Default "Bonsai". */
  clientName?: string;
  callbackPort?: number;
  callbackUrl?: string;
}

export type ServerConfig = StdioServer | HttpServer;

/** The keys of a server, to be masked everywhere. */
export function serverKeys(config: ServerConfig): { name: string; value: string }[] {
  const { keys = [] } = config;
  if (config.type === "stdio") return [...environmentKeys(config.env), ...keys];
  // Without the scheme, such as Bearer.
  const ofHeaders = Object.entries(config.headers).map(([name, value]) => ({
    name,
    value: value.replace(/^\S+\s+/, ""),
  }));
  return [...ofHeaders, ...keys];
}

export interface McpConfig {
  /** A server of the project replaces the user's of the same name. */
  servers: readonly ServerConfig[];
  /** Problems of entries and files: each names file, key, value and allowed values. */
  problems: readonly string[];
}

export interface ReadConfigOptions {
  cwd: string;
  /** The folder of Bonsai's own files. */
  home: string;
  isProjectTrusted: boolean;
  env: NodeJS.ProcessEnv;
  /** The value of `--mcp-config`: a file like `mcp.json`, or its JSON. Its servers replace others of the same name. */
  given?: string;
}

const DEFAULT_TIMEOUT_MS = 60_000;
/** A timeout from here on is in milliseconds, as in Claude Code; below, in seconds, as in pi. */
const MIN_MILLISECONDS = 1_000;

/** Reads `mcp.json` of the user and `.mcp.json` of a trusted project. Never throws: unusable entries are problems. */
export function readConfig({ cwd, home, isProjectTrusted, env, given }: ReadConfigOptions): McpConfig {
  const problems: string[] = [];
  const userFile = join(home, "mcp.json");
  const projectFile = join(cwd, ".mcp.json");
  const ofUser = entriesOf(userFile, problems);
  const ofProject = isProjectTrusted ? entriesOf(projectFile, problems) : {};
  const servers = new Map<string, ServerConfig>();
  const read = (name: string, entry: unknown, file: string) => {
    try {
      servers.set(name, readServer(name, entry, { file, cwd, env }));
    } catch (error) {
      problems.push(`${file}: ${(error as Error).message}`);
    }
  };
  for (const [name, entry] of Object.entries(ofUser)) read(name, entry, userFile);
  for (const [name, entry] of Object.entries(ofProject)) {
    const ownEntry = ofUser[name];
    // An entry without a connection changes fields of the user's entry with the same name.
    const isPart =
      isObject(entry) && isObject(ownEntry) && !["command", "url", "type"].some((key) => key in entry);
    if (isPart) read(name, { ...ownEntry, ...entry }, userFile);
    else read(name, entry, projectFile);
  }
  if (given !== undefined) {
    const isJson = given.trimStart().startsWith("{");
    const file = isJson ? "--mcp-config" : resolve(cwd, inHome(given));
    if (!isJson && !existsSync(file)) problems.push(`--mcp-config: ${file} does not exist.`);
    const entries = isJson ? serversIn(given, file, problems) : entriesOf(file, problems);
    for (const [name, entry] of Object.entries(entries)) read(name, entry, file);
  }
  return { servers: [...servers.values()], problems };
}

type Entry = Record<string, unknown>;

function entriesOf(file: string, problems: string[]): Entry {
  let text: string;
  try {
    text = readFileSync(file, "utf8").replace(/^\uFEFF/, "");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT") problems.push(`Cannot read ${file}: ${message}`);
    return {};
  }
  return text.trim() === "" ? {} : serversIn(text, file, problems);
}

function serversIn(text: string, file: string, problems: string[]): Entry {
  try {
    const value: unknown = JSON.parse(text);
    const servers = isObject(value) ? (value.mcpServers ?? {}) : undefined;
    if (isObject(servers)) return servers;
    problems.push(
      isObject(value)
        ? `${file}: mcpServers is ${shown(servers)}, but must be an object of servers by name.`
        : `${file} is ${shown(value)}, but must be {"mcpServers": {…}}.`,
    );
  } catch (error) {
    problems.push(`${file} is not valid JSON: ${(error as Error).message}`);
  }
  return {};
}

function isObject(value: unknown): value is Entry {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  return shortened(JSON.stringify(value) ?? "nothing", 80);
}

type Check = readonly [isValid: (value: unknown) => boolean, allowed: string];
type Checks = Readonly<Record<string, Check>>;

const isText = (value: unknown) => typeof value === "string" && value !== "";
const TEXT: Check = [isText, "a string"];
const TEXTS: Check = [
  (value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
  "a list of strings",
];
const TEXT_MAP: Check = [
  (value) => isObject(value) && Object.values(value).every((each) => typeof each === "string"),
  "an object of strings",
];
const BOOLEAN: Check = [(value) => typeof value === "boolean", "true or false"];
const URL_CHECK: Check = [
  (value) => isText(value) && /^https?:$/.test(URL.parse(value as string)?.protocol ?? ""),
  "a URL that begins with http:// or https://",
];

/** Known fields of an entry. Other fields belong to other programs. */
const ENTRY_CHECKS: Checks = {
  type: [
    (value) => ["stdio", "http", "streamable-http", "sse"].includes(value as string),
    '"stdio", "http", "streamable-http" or "sse"',
  ],
  command: [isText, "the name or path of a program, with its arguments in args"],
  args: TEXTS,
  env: TEXT_MAP,
  cwd: [isText, "the path of a folder"],
  headers: TEXT_MAP,
  oauth: [isObject, "an object"],
  description: TEXT,
  roots: BOOLEAN,
  enabled: BOOLEAN,
  disabled: BOOLEAN,
  timeout: [
    (value) => typeof value === "number" && value > 0 && value <= 86_400_000,
    "a number: seconds if below 1000, otherwise milliseconds",
  ],
};

const OAUTH_CHECKS: Checks = {
  clientId: TEXT,
  clientSecret: TEXT,
  clientName: TEXT,
  scope: TEXT,
  scopes: TEXTS,
  callbackPort: [
    (value) => Number.isInteger(value) && (value as number) > 0 && (value as number) < 65_536,
    "a number from 1 to 65535",
  ],
  callbackUrl: [
    (value) => isText(value) && /^http:\/\/(?:localhost|127\.0\.0\.1)(?:[:/]|$)/.test(value as string),
    "an http:// URL on localhost or 127.0.0.1",
  ],
};

/** @throws Error with the problem */
function checkFields(key: string, fields: object, checks: Checks): void {
  for (const [field, [isValid, allowed]] of Object.entries(checks)) {
    const value = (fields as Entry)[field];
    if (value === undefined || isValid(value)) continue;
    const found = field === "clientSecret" ? `a ${typeof value}` : shown(value);
    throw new Error(`${key}.${field} is ${found}, but must be ${allowed}.`);
  }
}

interface Place {
  file: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
}

/** @throws Error with the problem of the entry */
function readServer(name: string, entry: unknown, { file, cwd, env }: Place): ServerConfig {
  const key = `mcpServers.${name}`;
  if (!/^[A-Za-z0-9_-]+$/.test(name))
    throw new Error(
      `mcpServers has a server named ${shown(name)}. Use only letters, digits, _ and - in names.`,
    );
  if (!isObject(entry))
    throw new Error(`${key} is ${shown(entry)}, but must be an object with command or url.`);
  checkFields(key, entry, ENTRY_CHECKS);
  if (entry.command === undefined && entry.url === undefined) throw new Error(`${key} needs command or url.`);
  const used: NodeJS.ProcessEnv = {};
  const fields = withVariables(entry, key, env, used) as Entry;
  const { type, command, description, timeout = DEFAULT_TIMEOUT_MS, roots = true } = fields;
  const { enabled = true, disabled = false } = fields;
  const timeoutMs = (timeout as number) * ((timeout as number) < MIN_MILLISECONDS ? 1_000 : 1);
  const keys = environmentKeys(used);
  const isProgram = type === undefined ? command !== undefined : type === "stdio";
  return {
    name,
    file,
    isEnabled: enabled === true && disabled !== true,
    timeoutMs: Math.ceil(timeoutMs),
    ...(typeof description === "string" && { description }),
    hasRoots: roots === true,
    ...(keys.length > 0 && { keys }),
    ...(isProgram ? programFields(key, fields, cwd) : addressFields(key, fields)),
  };
}

/** @throws Error with the problem */
function programFields(key: string, entry: Entry, cwd: string) {
  const { command, args = [], env = {}, cwd: own = "." } = entry as Partial<StdioServer>;
  if (command === undefined) throw new Error(`${key} has type "stdio" but no command.`);
  const folder = resolve(cwd, inHome(own));
  return { type: "stdio" as const, command: inHome(command), args: args.map(inHome), env, cwd: folder };
}

/** @throws Error with the problem */
function addressFields(key: string, entry: Entry) {
  const { url = "", headers = {}, oauth } = entry as Partial<HttpServer>;
  checkFields(key, { url }, { url: URL_CHECK });
  if (oauth !== undefined) checkFields(`${key}.oauth`, oauth, OAUTH_CHECKS);
  try {
    new Headers(headers);
  } catch (error) {
    // Does not show the value: a header has the key.
    throw new Error(`${key}.headers has an invalid name or value (${(error as Error).name}).`);
  }
  const isSse = entry.type === "sse";
  return { type: "http" as const, url, headers, ...(isSse && { isSse }), ...(oauth && { oauth }) };
}

function inHome(path: string): string {
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}

/**
 * Inserts `${NAME}` and `${NAME:-default}` into all texts of an entry. Adds the inserted variables to `used`.
 * @throws Error for a variable that is not set
 */
function withVariables(
  value: unknown,
  key: string,
  env: NodeJS.ProcessEnv,
  used: NodeJS.ProcessEnv,
): unknown {
  if (typeof value === "string")
    return value.replaceAll(variable, (_all, name: string, usual?: string) => {
      const set = env[name] || usual;
      if (set === undefined)
        throw new Error(
          `${key} uses the environment variable ${name}, which is not set. Set it, or add a default: \${${name}:-VALUE}.`,
        );
      used[name] = set;
      return set;
    });
  if (Array.isArray(value)) return value.map((each, at) => withVariables(each, `${key}.${at}`, env, used));
  if (!isObject(value)) return value;
  const fields = Object.entries(value).map(([field, inner]) => [
    field,
    withVariables(inner, `${key}.${field}`, env, used),
  ]);
  return Object.fromEntries(fields);
}

const variable = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;
