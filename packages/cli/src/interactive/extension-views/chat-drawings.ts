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
  renderers: () => ExtensionRenderers | undefined;
  theme: Theme;
  /** Absolute. */
  cwd: string;
  redraw: () => void;
}

/** Draws messages, entries and tool calls with the renderers of extensions. Returns undefined if no extension draws. */
export class ChatDrawings {
  readonly options: ChatDrawingsOptions;
  readonly theme: ExtensionTheme;

  constructor(options: ChatDrawingsOptions) {
    this.options = options;
    this.theme = extensionTheme(options.theme);
  }

  message(note: object, expanded: boolean, width: number): string[] | undefined {
    const { customType } = note as { customType?: unknown };
    if (typeof customType !== "string") return undefined;
    const drawn = this.options.renderers()?.message(note as ExtensionMessage, { expanded }, this.theme);
    return chatLines(drawn, width);
  }

  hasEntry(customType: unknown): boolean {
    return typeof customType === "string" && this.options.renderers()?.hasEntry(customType) === true;
  }

  entry(entry: CustomEntry, expanded: boolean, width: number): string[] | undefined {
    return chatLines(this.options.renderers()?.entry(entry, { expanded }, this.theme), width);
  }
}

interface ToolCallState {
  args: unknown;
  state: "waiting" | "running" | "done" | "failed";
  output: { content: unknown; details?: unknown } | undefined;
  expanded: boolean;
}

/** The lines of a tool's renderers; undefined for a part that the chat draws. */
export interface DrawnCall {
  /** True for lines without mark and indent. */
  isAlone: boolean;
  call: string[] | undefined;
  result: string[] | undefined;
}

interface ToolDrawingOptions {
  drawings: ChatDrawings;
  tool: string;
  toolCallId: string;
  /** Called if the block has to be drawn again. */
  onChange: () => void;
}

/** Columns of mark and indent. */
const indent = 3;

/** Owner of the state and the components of one call's renderers. */
export class ToolDrawing {
  readonly #options: ToolDrawingOptions;
  readonly #state: Record<string, unknown> = {};
  #call: Component | undefined;
  #result: Component | undefined;

  constructor(options: ToolDrawingOptions) {
    this.#options = options;
  }

  /** Returns undefined if the tool has no renderers. */
  draw(now: ToolCallState, width: number): DrawnCall | undefined {
    const { drawings, tool } = this.#options;
    const renderer = drawings.options.renderers()?.tool(tool);
    if (renderer === undefined) return undefined;
    const { isAlone } = renderer;
    const columns = Math.max(1, isAlone ? width : width - indent);
    const call = renderer.call(now.args, drawings.theme, this.#context(now, this.#call));
    this.#call = call?.component;
    const result = this.#drawResult(renderer, now);
    this.#result = result?.component;
    return { isAlone, call: chatLines(call, columns), result: chatLines(result, columns) };
  }

  #drawResult(renderer: ToolRenderer, now: ToolCallState): DrawnComponent | undefined {
    const { output, expanded } = now;
    if (output === undefined) return undefined;
    return renderer.result(
      { ...output, content: Array.isArray(output.content) ? output.content : [] } as ExtensionToolResult,
      { expanded, isPartial: isPartial(now) },
      this.#options.drawings.theme,
      this.#context(now, this.#result),
    );
  }

  #context(now: ToolCallState, lastComponent: Component | undefined): ToolRenderContext {
    const { drawings, toolCallId, onChange } = this.#options;
    const { cwd, redraw } = drawings.options;
    return {
      args: now.args,
      toolCallId,
      cwd,
      invalidate() {
        onChange();
        redraw();
      },
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

function isPartial({ state }: ToolCallState): boolean {
  return state === "waiting" || state === "running";
}

const MAX_LINES = 2_000;

function chatLines(drawn: DrawnComponent | undefined, width: number): string[] | undefined {
  const lines = drawn?.render(width);
  if (lines === undefined) return undefined;
  const shown = drawnLines(lines.slice(0, MAX_LINES), width);
  const left = lines.length - MAX_LINES;
  return left > 0 ? [...shown, ...drawnLines([` … ${left} more lines`], width)] : shown;
}
