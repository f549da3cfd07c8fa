import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { addUsage, emptyUsage, jsonText, type Usage } from "@bonsai-agent/messages";
import type { LifecycleEvents } from "../events/lifecycle-events.ts";
import type { ToolResult } from "../tool.ts";

/** What is shown of a sub-agent at work. */
export interface TaskUpdate {
  sessionFile: string | undefined;
  turns: number;
  usage: Usage;
  /** The call that is under way; absent while the model answers. */
  tool?: string | undefined;
}

export interface TaskProgressOptions {
  lifecycle: Lifecycle<LifecycleEvents>;
  sessionFile: string | undefined;
  onUpdate: (partial: ToolResult<TaskUpdate>) => void;
}

const TOOL_CHARACTERS = 80;

/** Follows a sub-agent: turns, tokens, and what it is doing. */
export class TaskProgress {
  readonly #options: TaskProgressOptions;
  #turns = 0;
  #usage = emptyUsage();

  constructor(options: TaskProgressOptions) {
    this.#options = options;
    const { lifecycle } = options;
    lifecycle.on("turn_start", () => {
      this.#turns += 1;
      this.#tell();
    });
    lifecycle.on("tool_execution_start", ({ toolName, args }) => this.#tell(callText(toolName, args)));
    lifecycle.on("turn_end", ({ message }) => {
      this.#usage = addUsage(this.#usage, message.usage);
    });
  }

  /** Requests to the model. */
  get turns(): number {
    return this.#turns;
  }

  #tell(tool?: string): void {
    const { sessionFile, onUpdate } = this.#options;
    const usage = this.#usage;
    const tokens = usage.totalTokens ?? 0;
    const text = `Turn ${this.#turns}, ${tokens.toLocaleString("en")} tokens: ${tool ?? "the model answers"}`;
    const details = { sessionFile, turns: this.#turns, usage, ...(tool === undefined ? {} : { tool }) };
    onUpdate({ content: [{ type: "text", text }], details });
  }
}

/** The tool and the first thing it was given: mostly a path or a command. */
function callText(toolName: string, args: Readonly<Record<string, unknown>>): string {
  const [first] = Object.values(args ?? {});
  if (first === undefined) return toolName;
  const said = typeof first === "string" ? first : jsonText(first);
  const characters = [...said.slice(0, 4 * TOOL_CHARACTERS).replaceAll(/\s+/g, " ")];
  const end = characters.length > TOOL_CHARACTERS ? "…" : "";
  return `${toolName} ${characters.slice(0, TOOL_CHARACTERS).join("")}${end}`;
}
