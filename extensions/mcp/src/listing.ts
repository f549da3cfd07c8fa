import { shortened } from "@bonsai-agent/extension";
import type { Client } from "@modelcontextprotocol/client";
import { anyResult } from "./faults.ts";
import { plainLine, plainText } from "./foreign-text.ts";

/** A tool as its server describes it, without control characters. */
export interface ListedTool {
  /** The name on the server. */
  name: string;
  title?: string;
  description: string;
  inputSchema: Readonly<Record<string, unknown>>;
  outputSchema?: Readonly<Record<string, unknown>>;
  /** Unchecked claims of the server. */
  annotations: Readonly<Record<string, unknown>>;
}

export interface ListedResource {
  uri: string;
  name: string;
  description?: string;
  mimeType?: string;
}

export interface ListedTemplate extends Omit<ListedResource, "uri"> {
  uriTemplate: string;
}

export interface ListedPrompt {
  name: string;
  title?: string;
  description?: string;
  arguments: readonly { name: string; description?: string; required: boolean }[];
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

export interface ListOptions {
  client: Client;
  timeoutMs: number;
  /** Called with each problem of a list or an item. */
  onProblem(problem: string): void;
}

const lists = {
  tools: "tools/list",
  resources: "resources/list",
  resourceTemplates: "resources/templates/list",
  prompts: "prompts/list",
} as const;

/** All pages of a list, unread. */
async function allPages(
  kind: keyof typeof lists,
  { client, timeoutMs, onProblem }: ListOptions,
): Promise<unknown[]> {
  // One limit for all pages: a slow server could use it up for each.
  const signal = AbortSignal.timeout(timeoutMs);
  const found: unknown[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const request = { method: lists[kind], params: cursor === undefined ? {} : { cursor } };
    const result = await client.request(request, anyResult, {
      timeout: timeoutMs,
      signal,
    });
    const items = result[kind];
    if (Array.isArray(items)) found.push(...items.slice(0, MAX_ITEMS));
    else onProblem(`The server's list of ${kind} is not a list.`);
    const { nextCursor } = result;
    if (typeof nextCursor !== "string" || nextCursor === "") return found;
    if (seen.has(nextCursor) || found.length >= MAX_ITEMS) break;
    seen.add(nextCursor);
    cursor = nextCursor;
  }
  onProblem(
    `The server's list of ${kind} is too long. Using the first ${Math.min(found.length, MAX_ITEMS)}.`,
  );
  return found.slice(0, MAX_ITEMS);
}

/** Returns one tool per name. Unusable tools are problems. */
export async function listTools(options: ListOptions): Promise<ListedTool[]> {
  const tools = new Map<string, ListedTool>();
  for (const item of await allPages("tools", options)) {
    const read = toolOf(item);
    if (typeof read === "string") options.onProblem(read);
    else if (tools.has(read.name))
      options.onProblem(`The server lists the tool ${plainLine(read.name, 80)} twice. Using the first.`);
    else tools.set(read.name, read);
  }
  return [...tools.values()];
}

function toolOf(item: unknown): ListedTool | string {
  if (!isObject(item) || typeof item.name !== "string" || item.name === "")
    return "Ignored a tool without a name.";
  const { name, title, description, inputSchema, outputSchema, annotations } = item;
  const shownName = plainLine(name, 80);
  if (name.length > MAX_NAME_CHARS)
    return `Ignored the tool ${shownName}: its name has ${name.length} characters, more than ${MAX_NAME_CHARS}.`;
  const schema = soundSchema(inputSchema);
  if (typeof schema === "string") return `Ignored the tool ${shownName}: ${schema}.`;
  const titles = [title, isObject(annotations) ? annotations.title : undefined];
  const found = titles.find((each): each is string => typeof each === "string" && each !== "");
  return {
    name,
    ...(found !== undefined && { title: plainLine(found, 80) }),
    description: shortened(
      typeof description === "string" ? plainText(description) : "",
      MAX_DESCRIPTION_CHARS,
    ),
    inputSchema: schema,
    ...(isObject(outputSchema) && { outputSchema }),
    annotations: isObject(annotations) ? annotations : {},
  };
}

/** Returns a schema that a model can be given, or its problem. */
function soundSchema(schema: unknown): Readonly<Record<string, unknown>> | string {
  if (isNothing(schema)) return { type: "object" };
  if (!isObject(schema)) return "its schema is not an object";
  const { $schema: _dialect, $id: _id, ...rest } = schema;
  if (isNothing(rest.properties)) delete rest.properties;
  if (![rest.type ?? "object"].flat().includes("object"))
    return `its schema has type ${plainLine(JSON.stringify(rest.type) ?? "", 40)} instead of "object"`;
  if (rest.properties !== undefined && !isObject(rest.properties))
    return "the properties in its schema are not an object";
  if (isDeeper(rest, MAX_SCHEMA_LEVELS)) return "its schema is nested too deep";
  const text = JSON.stringify(rest);
  if (text.length > MAX_SCHEMA_CHARS)
    return `its schema has ${Math.ceil(text.length / 1_000)} kB, more than ${MAX_SCHEMA_CHARS / 1_000} kB`;
  const plain = JSON.parse(text, (_key, value) => (typeof value === "string" ? plainText(value) : value));
  return { ...plain, type: "object" };
}

/** PHP writes an empty object as a list. */
function isNothing(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

export async function listResources(options: ListOptions): Promise<ListedResource[]> {
  const items = await allPages("resources", options);
  return items.flatMap((item) => {
    const about = aboutOf(item, "uri");
    return about === undefined ? [] : [{ uri: about.key, ...about.rest }];
  });
}

export async function listTemplates(options: ListOptions): Promise<ListedTemplate[]> {
  const items = await allPages("resourceTemplates", options);
  return items.flatMap((item) => {
    const about = aboutOf(item, "uriTemplate");
    return about === undefined ? [] : [{ uriTemplate: about.key, ...about.rest }];
  });
}

function aboutOf(item: unknown, field: "uri" | "uriTemplate") {
  if (!isObject(item)) return undefined;
  const { [field]: key, name, description, mimeType } = item;
  if (typeof key !== "string" || key === "" || key.length > 4_000 || key !== plainText(key)) return undefined;
  const rest = {
    name: typeof name === "string" && name !== "" ? plainLine(name, 120) : key,
    ...(typeof description === "string" && { description: plainLine(description) }),
    ...(typeof mimeType === "string" && { mimeType: plainLine(mimeType, 80) }),
  };
  return { key, rest };
}

export async function listPrompts(options: ListOptions): Promise<ListedPrompt[]> {
  const items = await allPages("prompts", options);
  return items.flatMap((item) => {
    if (!isObject(item) || typeof item.name !== "string" || item.name === "") return [];
    const { name, title, description, arguments: args } = item;
    if (name.length > MAX_NAME_CHARS) return [];
    return [
      {
        name,
        ...(typeof title === "string" && { title: plainLine(title, 80) }),
        ...(typeof description === "string" && { description: plainLine(description) }),
        arguments: (Array.isArray(args) ? args : []).filter(isNamed).map((each) => ({
          name: each.name,
          ...(typeof each.description === "string" && { description: plainLine(each.description) }),
          required: each.required === true,
        })),
      },
    ];
  });
}

function isNamed(value: unknown): value is { name: string; description?: unknown; required?: unknown } {
  return isObject(value) && typeof value.name === "string" && value.name !== "";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
