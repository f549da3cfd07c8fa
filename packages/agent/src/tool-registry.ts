import { BonsaiError } from "@bonsai-agent/messages";
import type { ToolDeclaration } from "@bonsai-agent/models";
import type { Tool } from "./tool.ts";
import { readParameters } from "./tool-parameters.ts";

/** Owner of the tools an agent has, and of which of them the model is offered. */
export class ToolRegistry {
  readonly #tools = new Map<string, Tool>();
  #active: readonly string[] | undefined;

  /**
   * A later tool of the same name takes the place of the earlier; the function returned brings that one back.
   * @throws BonsaiError `tool_name_invalid`, `tool_parameters_invalid`.
   */
  register(tool: Tool): () => void {
    checkName(tool.name);
    readParameters(tool);
    const earlier = this.#tools.get(tool.name);
    this.#tools.set(tool.name, tool);
    return () => {
      if (this.#tools.get(tool.name) !== tool) return;
      if (earlier === undefined) this.#tools.delete(tool.name);
      else this.#tools.set(tool.name, earlier);
    };
  }

  get(name: string): Tool | undefined {
    return this.isActive(name) ? this.#tools.get(name) : undefined;
  }

  /** All tools, offered or not. */
  allTools(): readonly Tool[] {
    return [...this.#tools.values()];
  }

  /** Names of all tools, offered or not. */
  get names(): readonly string[] {
    return [...this.#tools.keys()];
  }

  /** Names of the tools that the model is offered. */
  get active(): readonly string[] {
    return this.names.filter((name) => this.isActive(name));
  }

  /** The tools that the model is offered. */
  activeTools(): readonly Tool[] {
    return this.active.map((name) => this.#tools.get(name)!);
  }

  /** Offers only these; undefined offers all, also those that come later. */
  setActive(names: readonly string[] | undefined): void {
    this.#active = names;
  }

  /** What `setActive` was last given. */
  get chosen(): readonly string[] | undefined {
    return this.#active;
  }

  isActive(name: string): boolean {
    return this.#active === undefined || this.#active.includes(name);
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
