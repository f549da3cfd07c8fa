import { shortened, tokenEstimator } from "@bonsai-agent/extension";
import type { Client } from "@modelcontextprotocol/client";
import { anyResult, messageOf } from "./faults.ts";
import { plainLine, plainText } from "./foreign-text.ts";

/** Tools, resources and prompts of a server. All texts are without control characters. */
export interface ServerLists {
  tools: readonly ListedTool[];
  resources: readonly ListedResource[];
  templates: readonly ListedTemplate[];
  prompts: readonly ListedPrompt[];
}

export interface ListedTool {
  /** The name on the server. */
  name: string;
  title?: string;
  description: string;
  inputSchema: Readonly<Record<string, unknown>>;
  /** An unchecked claim of the server. */
  isReadOnly: boolean;
  /** A second call changes nothing more. */
  isIdempotent: boolean;
  /** Estimated cost in each request. */
  tokens: number;
}

interface Described {
  name: string;
  description?: string;
}

export interface ListedResource extends Described {
  uri: string;
}

export interface ListedTemplate extends Described {
  uriTemplate: string;
}

export interface ListedPrompt extends Described {
  title?: string;
  arguments: readonly (Described & { required: boolean })[];
}

/** Pages and items of one list. */
const MAX_PAGES = 100;
const MAX_ITEMS = 2_000;
/** Size of one tool: a larger one leaves the model no room. */
const MAX_SCHEMA_CHARS = 64_000;
/** Providers accept few more. */
const MAX_SCHEMA_LEVELS = 64;
const MAX_DESCRIPTION_CHARS = 8_000;
/** Each call sends the name back. */
const MAX_NAME_CHARS = 256;
const MAX_URI_CHARS = 4_000;

export interface ListOptions {
  client: Client;
  timeoutMs: number;
  /** Called with each problem of a list or an item. */
  onProblem(problem: string): void;
}

/** Reads all lists that a server has. @throws Error if it does not list its tools */
export async function readLists(options: ListOptions): Promise<ServerLists> {
  const { client, onProblem } = options;
  const { tools, resources, prompts } = client.getServerCapabilities() ?? {};
  const orNone = (kind: "resources" | "prompts") =>
    allPages(kind, options).catch((error: unknown) => {
      onProblem(`Cannot list its ${kind}: ${plainLine(messageOf(error))}`);
      return [];
    });
  const [ofTools, ofResources, ofTemplates, ofPrompts] = await Promise.all([
    tools ? allPages("tools", options) : [],
    resources ? orNone("resources") : [],
    resources ? allPages("resourceTemplates", options).catch(() => []) : [],
    prompts ? orNone("prompts") : [],
  ]);
  return {
    tools: readTools(ofTools, onProblem),
    resources: ofResources.flatMap((item) => readResource(item, "uri")),
    templates: ofTemplates.flatMap((item) => readResource(item, "uriTemplate")),
    prompts: ofPrompts.flatMap(readPrompt),
  };
}

/** All pages of a list, unread. */
async function allPages(
  kind: "tools" | "resources" | "resourceTemplates" | "prompts",
  { client, timeoutMs, onProblem }: ListOptions,
): Promise<unknown[]> {
  // One limit for all pages: a slow server could use it up for each.
  const signal = AbortSignal.timeout(timeoutMs);
  const found: unknown[] = [];
  const seen = new Set<string>();
  const method = kind === "resourceTemplates" ? "resources/templates/list" : `${kind}/list`;
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const request = { method, params: cursor === undefined ? {} : { cursor } };
    const result = await client.request(request, anyResult, { timeout: timeoutMs, signal });
    const items = result[kind];
    if (Array.isArray(items)) found.push(...items.slice(0, MAX_ITEMS));
    else onProblem(`The server's list of ${kind} is not a list.`);
    const { nextCursor } = result;
    if (typeof nextCursor !== "string" || nextCursor === "") return found;
    if (seen.has(nextCursor) || found.length >= MAX_ITEMS) break;
    seen.add(nextCursor);
    cursor = nextCursor;
  }
  const used = found.slice(0, MAX_ITEMS);
  onProblem(`The server's list of ${kind} is too long. Using the first ${used.length}.`);
  return used;
}

/** Returns one tool per name. Unusable tools are problems. */
function readTools(items: readonly unknown[], onProblem: (problem: string) => void): ListedTool[] {
  const tools = new Map<string, ListedTool>();
  for (const item of items) {
    const tool = readTool(item);
    if (typeof tool === "string") onProblem(tool);
    else if (tools.has(tool.name))
      onProblem(`The server lists the tool ${plainLine(tool.name, 80)} twice. Using the first.`);
    else tools.set(tool.name, tool);
  }
  return [...tools.values()];
}

/** A tool, or its problem. */
function readTool(item: unknown): ListedTool | string {
  if (!isNamed(item)) return "Ignored a tool without a name.";
  const { name, title, description } = item;
  const ignored = `Ignored the tool ${plainLine(name, 80)}`;
  if (name.length > MAX_NAME_CHARS)
    return `${ignored}: its name has ${name.length} characters, more than ${MAX_NAME_CHARS}.`;
  const inputSchema = readSchema(item.inputSchema);
  if (typeof inputSchema === "string") return `${ignored}: ${inputSchema}.`;
  const annotations = isObject(item.annotations) ? item.annotations : {};
  const label = [title, annotations.title].find((each) => typeof each === "string" && each !== "");
  const text = typeof description === "string" ? plainText(description) : "";
  const declared = { name, description: shortened(text, MAX_DESCRIPTION_CHARS), inputSchema };
  return {
    ...declared,
    ...(typeof label === "string" && { title: plainLine(label, 80) }),
    isReadOnly: annotations.readOnlyHint === true,
    isIdempotent: annotations.idempotentHint === true,
    tokens: tokenEstimator.text(JSON.stringify(declared)),
  };
}

/** A schema that a model can be given, or its problem. */
function readSchema(given: unknown): Readonly<Record<string, unknown>> | string {
  // PHP writes an empty object as a list.
  const schema = Array.isArray(given) && given.length === 0 ? {} : (given ?? {});
  if (!isObject(schema)) return "its schema is not an object";
  const { $schema: _dialect, $id: _id, type = "object", properties, ...rest } = schema;
  if (![type].flat().includes("object"))
    return `its schema has type ${plainLine(JSON.stringify(type), 40)} instead of "object"`;
  const used = { type: "object", ...rest, ...(isObject(properties) && { properties }) };
  if (isDeeper(used, MAX_SCHEMA_LEVELS)) return "its schema is nested too deep";
  const text = JSON.stringify(used);
  if (text.length > MAX_SCHEMA_CHARS)
    return `its schema has ${Math.ceil(text.length / 1_000)} kB, more than ${MAX_SCHEMA_CHARS / 1_000} kB`;
  return JSON.parse(text, (_key, value) => (typeof value === "string" ? plainText(value) : value));
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

function readResource<Key extends "uri" | "uriTemplate">(
  item: unknown,
  key: Key,
): (Described & Record<Key, string>)[] {
  if (!isObject(item)) return [];
  const { [key]: address, name } = item;
  if (typeof address !== "string" || address === "" || address.length > MAX_URI_CHARS) return [];
  if (address !== plainText(address)) return [];
  const label = typeof name === "string" && name !== "" ? plainLine(name, 120) : address;
  return [{ ...descriptionOf(item), name: label, [key]: address } as Described & Record<Key, string>];
}

function readPrompt(item: unknown): ListedPrompt[] {
  if (!isNamed(item) || item.name.length > MAX_NAME_CHARS) return [];
  const { name, title, arguments: args } = item;
  const declared = (Array.isArray(args) ? args : []).filter(isNamed);
  return [
    {
      name,
      ...(typeof title === "string" && { title: plainLine(title, 80) }),
      ...descriptionOf(item),
      arguments: declared.map((each) => ({
        name: each.name,
        ...descriptionOf(each),
        required: each.required === true,
      })),
    },
  ];
}

function descriptionOf({ description }: Record<string, unknown>): { description?: string } {
  return typeof description === "string" ? { description: plainLine(description) } : {};
}

function isNamed(value: unknown): value is Record<string, unknown> & { name: string } {
  return isObject(value) && typeof value.name === "string" && value.name !== "";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
