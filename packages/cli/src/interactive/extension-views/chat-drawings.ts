import type {
  Component,
  ExtensionMessage,
  Theme as ExtensionTheme,
  ExtensionToolResult,
  ToolRenderContext,
} from "@bonsai-agent/extension";
import type { DrawnComponent, ExtensionRenderers, ToolRenderer } from "@bonsai-agent/extension/host";
import type { CustomEntry } from "@bonsai-agent/session";
import type { Theme } from "../terminal/theme.ts";
import { extensionTheme } from "./extension-theme.ts";
import { drawnLines } from "./extension-tui.ts";

interface ChatDrawingsOptions {
  /** Asked anew each time: extensions come and go. */
  renderers: () => ExtensionRenderers | undefined;
  theme: Theme;
  /** Absolute; where tools work. */
  cwd: string;
  redraw: () => void;
}

/** How the chat is drawn where extensions draw it. Each gives undefined where none does: then it is drawn as ever. */
export class ChatDrawings {
  readonly #options: ChatDrawingsOptions;
  readonly #theme: ExtensionTheme;

  constructor(options: ChatDrawingsOptions) {
    this.#options = options;
    this.#theme = extensionTheme(options.theme);
  }

  message(note: object, expanded: boolean, width: number): string[] | undefined {
    const { customType } = note as { customType?: unknown };
    if (typeof customType !== "string") return undefined;
    const drawn = this.#options.renderers()?.message(note as ExtensionMessage, { expanded }, this.#theme);
    return chatLines(drawn, width);
  }

  hasEntry(customType: unknown): boolean {
    return typeof customType === "string" && this.#options.renderers()?.hasEntry(customType) === true;
  }

  entry(entry: CustomEntry, expanded: boolean, width: number): string[] | undefined {
    return chatLines(this.#options.renderers()?.entry(entry, { expanded }, this.#theme), width);
  }

  /** @param changed the block has to be drawn anew */
  tool(name: string, toolCallId: string, changed: () => void): ToolDrawing {
    const { renderers, cwd, redraw } = this.#options;
    const invalidate = () => {
      changed();
      redraw();
    };
    const renderer = () => renderers()?.tool(name);
    return new ToolDrawing({ renderer, toolCallId, cwd, invalidate, theme: this.#theme });
  }
}

interface ToolDrawingOptions {
  /** Of the tool as it is registered now; undefined where it leaves the drawing to the chat. */
  renderer: () => ToolRenderer | undefined;
  theme: ExtensionTheme;
  toolCallId: string;
  cwd: string;
  /** Has the call drawn anew. */
  invalidate: () => void;
}

/** Where a call stands. */
interface ToolCallNow {
  args: unknown;
  state: "waiting" | "running" | "done" | "failed";
  output: { content: unknown; details?: unknown } | undefined;
  expanded: boolean;
}

/** What a tool's renderers drew; undefined in the place of what they leave to the chat. */
export interface DrawnCall {
  /** True: the lines stand there alone, without mark and indent. */
  isAlone: boolean;
  call: string[] | undefined;
  result: string[] | undefined;
}

/** Columns that mark and indent take. */
const indent = 3;

/** Owner of what the renderers of one call keep from one drawing to the next. */
export class ToolDrawing {
  readonly #options: ToolDrawingOptions;
  readonly #state: Record<string, unknown> = {};
  #call: Component | undefined;
  #result: Component | undefined;

  constructor(options: ToolDrawingOptions) {
    this.#options = options;
  }

  /** Undefined where the tool leaves all of it to the chat. */
  draw(now: ToolCallNow, width: number): DrawnCall | undefined {
    const renderer = this.#options.renderer();
    if (renderer === undefined) return undefined;
    const { isAlone } = renderer;
    const columns = Math.max(1, isAlone ? width : width - indent);
    const call = this.#drawCall(renderer, now);
    const result = this.#drawResult(renderer, now);
    return { isAlone, call: chatLines(call, columns), result: chatLines(result, columns) };
  }

  #drawCall(renderer: ToolRenderer, now: ToolCallNow): DrawnComponent | undefined {
    const drawn = renderer.call(now.args, this.#options.theme, this.#context(now, this.#call));
    this.#call = drawn?.component;
    return drawn;
  }

  #drawResult(renderer: ToolRenderer, now: ToolCallNow): DrawnComponent | undefined {
    const { output, expanded } = now;
    if (output === undefined) return undefined;
    const drawn = renderer.result(
      { ...output, content: Array.isArray(output.content) ? output.content : [] } as ExtensionToolResult,
      { expanded, isPartial: isPartial(now) },
      this.#options.theme,
      this.#context(now, this.#result),
    );
    this.#result = drawn?.component;
    return drawn;
  }

  #context(now: ToolCallNow, lastComponent: Component | undefined): ToolRenderContext {
    const { toolCallId, cwd, invalidate } = this.#options;
    return {
      args: now.args,
      toolCallId,
      cwd,
      invalidate,
      lastComponent,
      state: this.#state,
      executionStarted: now.state !== "waiting",
      argsComplete: now.state !== "waiting",
      isPartial: isPartial(now),
      expanded: now.expanded,
      isError: now.state === "failed",
    };
  }
}

function isPartial({ state }: ToolCallNow): boolean {
  return state === "waiting" || state === "running";
}

/** Beyond it, nobody reads in a chat. */
const mostLines = 2_000;

/** Lines that fit; undefined where nothing was drawn. */
function chatLines(drawn: DrawnComponent | undefined, width: number): string[] | undefined {
  const lines = drawn?.render(width);
  if (lines === undefined) return undefined;
  const shown = drawnLines(lines.slice(0, mostLines), width);
  const left = lines.length - mostLines;
  return left > 0 ? [...shown, ...drawnLines([` … ${left} more lines`], width)] : shown;
}
