import {
  BonsaiError,
  isRecord,
  type ToolCall,
  type ToolResultMessage,
  type Usage,
  type UserContent,
} from "@bonsai-agent/messages";
import { jsonDepthProblem } from "@bonsai-agent/messages/host";
import { userContentSchema } from "@bonsai-agent/messages/schemas";
import type { ToolDeclaration } from "@bonsai-agent/models";
import type { CallEffects } from "@bonsai-agent/session";
import { z } from "zod";
import { messageOf } from "../notice.ts";
import { providerSchema } from "./provider-schema.ts";

/**
 * The tools of an agent, and the names that the model may use.
 * Invariant: after removals in any order, the registry has the remaining tools, sorted by name. Their order is the same in
 * every process of a session, for the provider's cache.
 */
export class ToolRegistry {
  /** The latest tool of a name counts. */
  #registered: readonly { name: string; tool: Tool }[] = [];
  readonly #excluded: ReadonlySet<string>;
  #active: readonly string[] | undefined;

  /** @param excluded names of tools that the model may never use */
  constructor(excluded: readonly string[] = []) {
    this.#excluded = new Set(excluded);
  }

  /**
   * Registers a tool. It overrides an earlier one of the same name. Call the returned function to remove it.
   * @throws BonsaiError `tool_name_invalid`, `tool_parameters_invalid`.
   */
  register(tool: Tool): () => void {
    const { name } = tool;
    checkName(name);
    readParameters(tool);
    const own = { name, tool };
    this.#registered = [...this.#registered, own];
    return () => {
      this.#registered = this.#registered.filter((each) => each !== own);
    };
  }

  /** The tool of this name, if the model may use it. */
  get(name: string): Tool | undefined {
    return this.isActive(name) ? this.#latest().get(name) : undefined;
  }

  /** All tools, active or not, with their declarations. */
  allTools(): readonly { tool: Tool; declaration: ToolDeclaration }[] {
    return [...this.#latest().values()].map((tool) => ({ tool, declaration: declarationOf(tool) }));
  }

  /** Names of all tools, active or not. */
  get names(): readonly string[] {
    return [...this.#latest().keys()];
  }

  /** Names of the active tools. */
  get active(): readonly string[] {
    return this.names.filter((name) => this.isActive(name));
  }

  /** The tools in the model's requests. */
  activeTools(): readonly Tool[] {
    return [...this.#latest().values()].filter(({ name }) => this.isActive(name));
  }

  /** Activates only these; undefined activates all, later ones too. */
  setActive(names: readonly string[] | undefined): void {
    this.#active = names;
  }

  /** The latest argument of `setActive`. */
  get chosen(): readonly string[] | undefined {
    return this.#active;
  }

  /** True if the model may use a tool of this name. */
  isActive(name: string): boolean {
    return !this.#excluded.has(name) && (this.#active === undefined || this.#active.includes(name));
  }

  declarations(): ToolDeclaration[] {
    return this.activeTools().map(declarationOf);
  }

  /** The tools that count, by name. */
  #latest(): ReadonlyMap<string, Tool> {
    const latest = new Map(this.#registered.map(({ name, tool }) => [name, tool]));
    // The default order compares code units: it depends on no language.
    return new Map([...latest.keys()].sort().map((name) => [name, latest.get(name)!]));
  }
}

/** Each tool keeps one declaration: equal objects show that a request did not change. */
const declared = new WeakMap<Tool, ToolDeclaration>();

function declarationOf(tool: Tool): ToolDeclaration {
  const { name, description } = tool;
  const declaration = declared.get(tool) ?? { name, description, parameters: readParameters(tool).declared };
  declared.set(tool, declaration);
  return declaration;
}

function checkName(name: string): void {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(name)) return;
  throw new BonsaiError({
    code: "tool_name_invalid",
    message: `The tool name ${JSON.stringify(name)} is not allowed: use 1 to 64 letters, digits, _ and -.`,
    hint: "Rename the tool.",
  });
}

interface ReadParameters {
  /** Checks the arguments of a call. */
  schema: z.ZodType;
  /** The tool's own JSON Schema. */
  json: Readonly<Record<string, unknown>>;
  /** The JSON Schema for the model, which every provider accepts. */
  declared: Readonly<Record<string, unknown>>;
}

const known = new WeakMap<object, ReadParameters>();

/** @throws BonsaiError `tool_parameters_invalid` */
export function readParameters({
  name,
  parameters,
  checksArguments,
}: Pick<Tool, "name" | "parameters" | "checksArguments">): ReadParameters {
  const read = known.get(parameters);
  if (read !== undefined) return read;
  try {
    if (typeof parameters !== "object" || parameters === null)
      throw new TypeError(`they are ${String(parameters)}.`);
    const fresh = checked(
      "_zod" in parameters ? ofZod(parameters as z.ZodType) : ofJsonSchema(parameters, checksArguments),
    );
    known.set(parameters, fresh);
    return fresh;
  } catch (cause) {
    throw new BonsaiError({
      code: "tool_parameters_invalid",
      message: `Cannot read the parameters of the tool ${name}: ${messageOf(cause)}`,
      hint: "Give a zod 4 object, a TypeBox object, or the JSON Schema of an object.",
      cause,
    });
  }
}

function ofZod(schema: z.ZodType): Omit<ReadParameters, "declared"> {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io: "input" });
  return { schema, json };
}

function ofJsonSchema(parameters: object, isUnchecked = false): Omit<ReadParameters, "declared"> {
  if (Array.isArray(parameters)) throw new TypeError("they are an array.");
  if ("safeParse" in parameters) throw new TypeError("they are a schema from another zod version.");
  const json = JSON.parse(
    JSON.stringify(parameters, (key, value: unknown) => (MARK.test(key) ? undefined : value)),
  ) as Record<string, unknown>;
  return { schema: isUnchecked ? z.record(z.string(), z.unknown()) : z.fromJSONSchema(json as never), json };
}

/** Keys of TypeBox that no provider knows. */
const MARK = /^~(?:kind|optional|readonly|immutable|unsafe|refine|codec|base|guard|hint|standard)$/;

/** Providers accept only objects. */
function checked({ schema, json }: Omit<ReadParameters, "declared">): ReadParameters {
  const { type, properties } = json;
  if (![type ?? "object"].flat().includes("object"))
    throw new TypeError(`their type is ${JSON.stringify(type)}, not an object.`);
  if (!isRecord(properties ?? {}))
    throw new TypeError(`their properties are ${JSON.stringify(properties)}, not an object.`);
  return { schema, json, declared: providerSchema(json) };
}

/** A tool that the model can call. */
export interface Tool {
  /** Letters, digits, `_` and `-`; at most 64. */
  name: string;
  /** For people; default the name. */
  label?: string;
  /** For the model: purpose, limits, when to use it. */
  description: string;
  /** A zod object, a TypeBox object, or the JSON Schema of one. Other arguments make an error result, and the tool is not run. */
  parameters: z.ZodType | Readonly<Record<string, unknown>>;
  /**
   * True: the tool checks its arguments itself and gets any object. Its JSON Schema is only for the model and
   * may contain rules that cannot be checked here. Default false.
   */
  checksArguments?: boolean | undefined;
  /** One line in the system prompt while the tool is active. */
  promptSnippet?: string | undefined;
  /** Lines of advice in the system prompt while the tool is active. Equal lines appear once. */
  promptGuidelines?: readonly string[] | undefined;
  /** Repairs a copy of the arguments before the check. An error makes an error result. */
  prepareArguments?: ((args: unknown) => unknown) | undefined;
  /**
   * How a call may be repeated after a crash: "none", it changes nothing; "idempotent", a second call changes nothing
   * more; "once", only the model may repeat it, and it is told that the call may have run. Default "once".
   */
  effects?: CallEffects | undefined;
  /** "sequential": never at the same time as another call. Default "parallel". */
  executionMode?: "parallel" | "sequential";
  /** An error makes an error result with its message. Must end soon after the signal is aborted. */
  execute(call: ToolExecution): Promise<ToolResult>;
  /**
   * The state of a call that the end of the program interrupted, as text and details. Called when the session is opened
   * again. Default: nothing is known.
   */
  interrupted?: ((call: ToolCall) => Promise<InterruptedCall | undefined>) | undefined;
}

/** The state of an interrupted call. */
export interface InterruptedCall {
  text: string;
  details?: unknown;
}

/** A tool whose input is typed by its zod schema. */
interface ToolDefinition<Schema extends z.ZodType> extends Omit<Tool, "parameters" | "execute"> {
  /** A zod object, which gives `input` its type. */
  parameters: Schema;
  /** As `Tool.execute`. */
  execute(call: ToolExecution<z.output<Schema>>): Promise<ToolResult>;
}

/** Ties the type of a tool's input to its schema. */
export function defineTool<Schema extends z.ZodType>(tool: ToolDefinition<Schema>): Tool {
  return tool as Tool;
}

/** One call of a tool. */
export interface ToolExecution<Input = unknown> {
  /** The call's id. */
  toolCallId: string;
  /** The arguments, checked. */
  input: Input;
  /** Aborted when the user stops the work. */
  signal: AbortSignal;
  /** Shows an intermediate result. */
  onUpdate(partial: ToolResult): void;
}

/** Result of a call. */
export interface ToolResult<Details = unknown> {
  /** Shown to the model. */
  content: UserContent[];
  /** For people and programs: stored with the result, never sent. */
  details?: Details | undefined;
  /** Default false. */
  isError?: boolean | undefined;
  /** Usage of the tool's own model requests. */
  usage?: Usage | undefined;
  /** True: the model is not asked again, if all results of its answer say so. Default false. */
  terminate?: boolean | undefined;
}

const contents = z.array(userContentSchema);

/** Returns a tool's result, or an error for an invalid one. */
export function checkedResult(toolName: string, result: unknown): ToolResult {
  const { content } = (result ?? {}) as Partial<ToolResult>;
  if (contents.safeParse(content).success) return result as ToolResult;
  const found = Array.isArray(content)
    ? "a list with items other than texts and images"
    : `of type ${typeof content}`;
  return failed(`The tool ${toolName} returned an invalid result: its content is ${found}.`);
}

export function failed(text: string): ToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

/** Omits details that are nested too deeply: they cannot be stored, and the model does not see them. */
function storableResult(toolName: string, result: ToolResult): ToolResult {
  const ofContent = depthProblem(result.content);
  if (ofContent !== undefined) return failed(`Cannot store the result of the tool ${toolName}. ${ofContent}`);
  const ofDetails = depthProblem(result.details);
  return ofDetails === undefined ? result : { ...result, details: { unstorable: ofDetails } };
}

/** A circular value has no problem here: storing it makes its own error. */
function depthProblem(value: unknown): string | undefined {
  const problem = jsonDepthProblem(value);
  if (problem === undefined) return undefined;
  try {
    JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof RangeError)) return undefined;
  }
  return `It is ${problem}.`;
}

/** The result of a call that was never run. */
export function errorResult(call: ToolCall, text: string, timestamp: number): ToolResultMessage {
  return resultMessage(call, failed(text), timestamp);
}

export function resultMessage(call: ToolCall, result: ToolResult, timestamp: number): ToolResultMessage {
  const { content, details, isError = false, usage } = storableResult(call.name, result);
  return {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content,
    ...(details === undefined ? {} : { details }),
    ...(usage === undefined ? {} : { usage }),
    isError,
    timestamp,
  };
}
