import { BonsaiError } from "@bonsai-agent/messages";
import type { ToolDeclaration } from "@bonsai-agent/models";
import { z } from "zod";
import { messageOf } from "./notice.ts";
import type { Tool } from "./tool.ts";

interface Registered {
  name: string;
  tool: Tool;
}

/**
 * Owner of the tools an agent has, and of which of them the model is offered.
 * Invariant: after any undoing, in whatever order, all is as if only what is left had ever been registered.
 */
export class ToolRegistry {
  /** In the order in which they came. */
  readonly #registered = new Set<Registered>();
  /** The latest of a name stands. */
  readonly #byName = new Map<string, readonly Registered[]>();
  #active: readonly string[] | undefined;

  /**
   * A later tool of the same name takes the place of the earlier; the function returned takes this one out.
   * @throws BonsaiError `tool_name_invalid`, `tool_parameters_invalid`.
   */
  register(tool: Tool): () => void {
    const { name } = tool;
    checkName(name);
    readParameters(tool);
    const own: Registered = { name, tool };
    this.#registered.add(own);
    this.#byName.set(name, [...(this.#byName.get(name) ?? []), own]);
    return () => {
      if (!this.#registered.delete(own)) return;
      const left = this.#byName.get(name)!.filter((each) => each !== own);
      if (left.length > 0) this.#byName.set(name, left);
      else this.#byName.delete(name);
    };
  }

  /** The tool of this name, where the model is offered it. */
  get(name: string): Tool | undefined {
    return this.isActive(name) ? this.#standing(name) : undefined;
  }

  /** All tools, offered or not. */
  allTools(): readonly Tool[] {
    return this.names.map((name) => this.#standing(name)!);
  }

  /** Names of all tools, offered or not. */
  get names(): readonly string[] {
    return [...new Set([...this.#registered].map(({ name }) => name))];
  }

  /** Names of the tools that the model is offered. */
  get active(): readonly string[] {
    return this.names.filter((name) => this.isActive(name));
  }

  /** The tools that the model is offered. */
  activeTools(): readonly Tool[] {
    return this.active.map((name) => this.#standing(name)!);
  }

  /** Offers only these; undefined offers all, also those that come later. */
  setActive(names: readonly string[] | undefined): void {
    this.#active = names;
  }

  /** What `setActive` was last given. */
  get chosen(): readonly string[] | undefined {
    return this.#active;
  }

  /** True where the model is, or would be, offered a tool of this name. */
  isActive(name: string): boolean {
    return this.#active === undefined || this.#active.includes(name);
  }

  #standing(name: string): Tool | undefined {
    return this.#byName.get(name)?.at(-1)?.tool;
  }

  /** As the model sees them, in the order of registration: a stable prefix for the provider's cache. */
  declarations(): ToolDeclaration[] {
    return this.activeTools().map(declarationOf);
  }
}

const declared = new WeakMap<Tool, ToolDeclaration>();

function declarationOf(tool: Tool): ToolDeclaration {
  const known = declared.get(tool);
  if (known !== undefined) return known;
  const { name, description } = tool;
  const declaration = { name, description, parameters: readParameters(tool).declared };
  declared.set(tool, declaration);
  return declaration;
}

function checkName(name: string): void {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(name)) return;
  throw new BonsaiError({
    code: "tool_name_invalid",
    message: `A tool is called ${JSON.stringify(name)}; allowed are 1 to 64 letters, digits, _ and -.`,
    hint: "Rename the tool.",
  });
}

/** A tool's parameters, in both of their uses. */
interface ReadParameters {
  /** Checks the arguments of a call. */
  schema: z.ZodType;
  /** As the model is given them: plain JSON Schema. */
  declared: Readonly<Record<string, unknown>>;
}

const known = new WeakMap<object, ReadParameters>();

/** @throws BonsaiError `tool_parameters_invalid` */
export function readParameters({ name, parameters }: Pick<Tool, "name" | "parameters">): ReadParameters {
  const read = typeof parameters === "object" && parameters !== null ? known.get(parameters) : undefined;
  if (read !== undefined) return read;
  try {
    const fresh = checked(isZod(parameters) ? ofZod(parameters) : ofJsonSchema(parameters));
    known.set(parameters, fresh);
    return fresh;
  } catch (cause) {
    throw new BonsaiError({
      code: "tool_parameters_invalid",
      message: `The parameters of the tool ${name} cannot be read: ${messageOf(cause)}`,
      hint: "Give a zod 4 object, a TypeBox object, or the JSON Schema of an object.",
      cause,
    });
  }
}

function ofZod(schema: z.ZodType): ReadParameters {
  const { $schema: _dialect, ...declared } = z.toJSONSchema(schema, { io: "input" });
  return { schema, declared };
}

function ofJsonSchema(parameters: unknown): ReadParameters {
  if (typeof parameters !== "object" || parameters === null || Array.isArray(parameters))
    throw new TypeError(`they are ${Array.isArray(parameters) ? "an array" : String(parameters)}.`);
  if ("safeParse" in parameters) throw new TypeError("they are a schema of another version of zod.");
  const declared = JSON.parse(JSON.stringify(parameters, withoutMarks)) as Record<string, unknown>;
  return { schema: z.fromJSONSchema(declared as never), declared };
}

/** TypeBox notes under such keys what its types are; no provider knows them. */
const MARK = /^~(?:kind|optional|readonly|immutable|unsafe|refine|codec|base|guard|hint|standard)$/;

function withoutMarks(key: string, value: unknown): unknown {
  return MARK.test(key) ? undefined : value;
}

/** Providers take objects alone. */
function checked({ schema, declared }: ReadParameters): ReadParameters {
  const { type, properties = {} } = declared;
  if (type !== undefined && type !== "object")
    throw new TypeError(`they are of the type ${JSON.stringify(type)}, not an object.`);
  if (typeof properties !== "object" || properties === null || Array.isArray(properties))
    throw new TypeError(`their properties are ${JSON.stringify(properties)}, not an object.`);
  const isBare = type === undefined && !("anyOf" in declared || "allOf" in declared || "oneOf" in declared);
  return { schema, declared: isBare && !("$ref" in declared) ? { type: "object", ...declared } : declared };
}

function isZod(parameters: unknown): parameters is z.ZodType {
  return typeof parameters === "object" && parameters !== null && "_zod" in parameters;
}
