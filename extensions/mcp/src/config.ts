import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { environmentKeys, shortened } from "@bonsai-agent/extension";

/** Fields of every configured server. */
interface ConfiguredServer {
  /** Its key in the file: letters, digits, `_` and `-`. */
  name: string;
  /** The file that has it. */
  file: string;
  scope: "user" | "project";
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

/** A program that speaks over its standard input and output. */
export interface StdioServer extends ConfiguredServer {
  type: "stdio";
  command: string;
  args: readonly string[];
  /** Added to the few variables that every server gets. */
  env: Readonly<Record<string, string>>;
  /** Absolute. */
  cwd: string;
}

/** A server at an address. */
export interface HttpServer extends ConfiguredServer {
  type: "http";
  url: string;
  headers: Readonly<Record<string, string>>;
  /** True for the old transport with a stream of events. */
  isSse?: boolean;
  /** Settings of the login, from the file. */
  oauth?: Readonly<Record<string, unknown>>;
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
}

const DEFAULT_TIMEOUT_MS = 60_000;
/** A timeout from here on is in milliseconds, as in Claude Code; below, in seconds, as in pi. */
const MIN_MILLISECONDS = 1_000;

/** Reads `mcp.json` of the user and `.mcp.json` of a trusted project. Never throws: unusable entries are problems. */
export function readConfig({ cwd, home, isProjectTrusted, env }: ReadConfigOptions): McpConfig {
  const problems: string[] = [];
  const userFile = join(home, "mcp.json");
  const projectFile = join(cwd, ".mcp.json");
  const ofUser = entriesOf(userFile, problems);
  const ofProject = isProjectTrusted ? entriesOf(projectFile, problems) : {};
  const found = [
    ...Object.entries(ofUser).map(([name, entry]) => ({
      name,
      entry,
      file: userFile,
      scope: "user" as const,
    })),
    ...Object.entries(ofProject).map(([name, entry]) =>
      overlaid(name, entry, ofUser[name], { userFile, projectFile }),
    ),
  ];
  const servers = new Map<string, ServerConfig>();
  for (const each of found) {
    const read = serverOf({ ...each, cwd, env });
    if (typeof read === "string") problems.push(`${each.file}: ${read}`);
    else servers.set(each.name, read);
  }
  return { servers: [...servers.values()], problems };
}

type Entry = Record<string, unknown>;

interface FoundEntry {
  name: string;
  entry: unknown;
  file: string;
  scope: "user" | "project";
}

/** A project's entry without a connection changes fields of the user's entry with the same name. */
function overlaid(
  name: string,
  entry: unknown,
  ofUser: unknown,
  { userFile, projectFile }: { userFile: string; projectFile: string },
): FoundEntry {
  const isPart =
    isObject(entry) && isObject(ofUser) && !["command", "url", "type"].some((key) => key in entry);
  return isPart
    ? { name, entry: { ...ofUser, ...entry }, file: userFile, scope: "user" }
    : { name, entry, file: projectFile, scope: "project" };
}

/** Undefined without a file, or if it cannot be read. */
function textOf(file: string, onProblem: (problem: string) => void): string | undefined {
  try {
    return readFileSync(file, "utf8").replace(/^\uFEFF/, "");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") onProblem((error as Error).message);
    return undefined;
  }
}

function entriesOf(file: string, problems: string[]): Entry {
  const text = textOf(file, (problem) => problems.push(`Cannot read ${file}: ${problem}`));
  if (text === undefined || text.trim() === "") return {};
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

const isText = (value: unknown) => typeof value === "string" && value !== "";
const isTextMap = (value: unknown) =>
  isObject(value) && Object.values(value).every((each) => typeof each === "string");

/** Known fields of an entry. Other fields belong to other programs. */
const fields: Readonly<Record<string, readonly [check: (value: unknown) => boolean, allowed: string]>> = {
  type: [
    (value) => ["stdio", "http", "streamable-http", "sse"].includes(value as string),
    '"stdio", "http", "streamable-http" or "sse"',
  ],
  command: [isText, "the name or path of a program, with its arguments in args"],
  args: [
    (value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
    "a list of strings",
  ],
  env: [isTextMap, "an object of strings"],
  cwd: [isText, "the path of a folder"],
  url: [isText, "a URL that begins with http:// or https://"],
  headers: [isTextMap, "an object of strings"],
  oauth: [isObject, "an object"],
  description: [isText, "a string"],
  roots: [(value) => typeof value === "boolean", "true or false"],
  enabled: [(value) => typeof value === "boolean", "true or false"],
  disabled: [(value) => typeof value === "boolean", "true or false"],
  timeout: [
    (value) => typeof value === "number" && value > 0 && value <= 86_400_000,
    "a number: seconds if below 1000, otherwise milliseconds",
  ],
};

interface EntryToRead extends FoundEntry {
  cwd: string;
  env: NodeJS.ProcessEnv;
}

/** The server of an entry, or its problem. */
function serverOf(given: EntryToRead): ServerConfig | string {
  const { name, entry, cwd } = given;
  const key = `mcpServers.${name}`;
  if (!/^[A-Za-z0-9_-]+$/.test(name))
    return `mcpServers has a server named ${shown(name)}. Use only letters, digits, _ and - in names.`;
  if (!isObject(entry)) return `${key} is ${shown(entry)}, but must be an object with command or url.`;
  const wrong = wrongField(key, entry);
  if (wrong !== undefined) return wrong;
  try {
    const used: NodeJS.ProcessEnv = {};
    const expanded = withVariables(entry, key, given.env, used) as Entry;
    const server = isHttp(expanded) ? httpServer(given, expanded) : stdioServer(given, expanded, cwd);
    const keys = environmentKeys(used);
    return keys.length === 0 ? server : { ...server, keys };
  } catch (error) {
    return (error as Error).message;
  }
}

function wrongField(key: string, entry: Entry): string | undefined {
  for (const [field, [check, allowed]] of Object.entries(fields)) {
    const value = entry[field];
    if (value !== undefined && !check(value))
      return `${key}.${field} is ${shown(value)}, but must be ${allowed}.`;
  }
  if (entry.command === undefined && entry.url === undefined) return `${key} needs command or url.`;
  return undefined;
}

function isHttp({ type, command }: Entry): boolean {
  return type === undefined ? command === undefined : type !== "stdio";
}

function common({ name, file, scope }: EntryToRead, entry: Entry): ConfiguredServer {
  const { timeout, enabled = true, disabled = false, description, roots = true } = entry;
  const inMs =
    typeof timeout === "number"
      ? timeout < MIN_MILLISECONDS
        ? timeout * 1_000
        : timeout
      : DEFAULT_TIMEOUT_MS;
  return {
    name,
    file,
    scope,
    isEnabled: enabled === true && disabled !== true,
    timeoutMs: Math.ceil(inMs),
    ...(typeof description === "string" && { description }),
    hasRoots: roots === true,
  };
}

/** @throws Error with the problem */
function stdioServer(given: EntryToRead, entry: Entry, cwd: string): StdioServer {
  const { command, args = [], env = {}, cwd: own = "." } = entry as Partial<StdioServer>;
  if (command === undefined) throw new Error(`mcpServers.${given.name} has type "stdio" but no command.`);
  return {
    ...common(given, entry),
    type: "stdio",
    command: inHome(command),
    args: args.map(inHome),
    env,
    cwd: resolve(cwd, inHome(own)),
  };
}

/** @throws Error with the problem */
function httpServer(given: EntryToRead, entry: Entry): HttpServer {
  const { url = "", headers = {}, oauth } = entry as Partial<HttpServer>;
  const key = `mcpServers.${given.name}`;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new Error(`${key}.url is ${shown(url)}, but must be ${fields.url![1]}.`);
  try {
    new Headers(headers);
  } catch (error) {
    // Does not show the value: a header has the key.
    throw new Error(`${key}.headers has an invalid name or value (${(error as Error).name}).`);
  }
  const isSse = entry.type === "sse";
  return {
    ...common(given, entry),
    type: "http",
    url,
    headers,
    ...(isSse && { isSse }),
    ...(oauth && { oauth }),
  };
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
  if (typeof value === "string") {
    return value.replaceAll(
      /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g,
      (_all, name: string, usual?: string) => {
        const set = env[name] || usual;
        if (set !== undefined) {
          used[name] = set;
          return set;
        }
        throw new Error(
          `${key} uses the environment variable ${name}, which is not set. Set it, or add a default: \${${name}:-VALUE}.`,
        );
      },
    );
  }
  if (Array.isArray(value)) return value.map((each, at) => withVariables(each, `${key}.${at}`, env, used));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([field, inner]) => [
      field,
      withVariables(inner, `${key}.${field}`, env, used),
    ]),
  );
}
