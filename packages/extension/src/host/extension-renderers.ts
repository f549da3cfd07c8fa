import type { AgentNotice } from "@bonsai-agent/agent";
import type { CustomEntry } from "@bonsai-agent/session";
import type {
  Component,
  ExtensionMessage,
  RenderOptions,
  Theme,
  ToolRenderContext,
  ToolRenderOptions,
} from "../api/drawing.ts";
import type { ExtensionToolResult } from "../api/extension-tool.ts";
import { type DrawnComponent, drawnComponent } from "./drawn-component.ts";
import { failureText } from "./extension-errors.ts";
import type { ExtensionRoom } from "./extension-registry.ts";
import { type ExtensionScope, runOf } from "./extension-scope.ts";

/** How a call of a tool is drawn; each gives undefined where the tool has nothing to say about it, or failed. */
export interface ToolRenderer {
  /** True where the renderers' lines stand alone. */
  readonly isAlone: boolean;
  call(args: unknown, theme: Theme, context: ToolRenderContext): DrawnComponent | undefined;
  result(
    result: ExtensionToolResult,
    options: ToolRenderOptions,
    theme: Theme,
    context: ToolRenderContext,
  ): DrawnComponent | undefined;
}

/** How extensions draw what stands in a chat. Nothing here throws; a renderer that fails is told of once. */
export interface ExtensionRenderers {
  message(message: ExtensionMessage, options: RenderOptions, theme: Theme): DrawnComponent | undefined;
  /** Whether entries of this type are drawn at all. */
  hasEntry(customType: string): boolean;
  entry(entry: CustomEntry, options: RenderOptions, theme: Theme): DrawnComponent | undefined;
  /** Undefined for a tool that leaves it to the front end. */
  tool(name: string): ToolRenderer | undefined;
}

interface Drawing {
  scope: ExtensionScope;
  /** The renderer as its author calls it; what failed is told once for each. */
  what: string;
  render: () => Component | undefined;
  /** Arguments that are still being written can be anything: that a renderer fails at them is not told. */
  isQuiet?: boolean;
}

type Room = Pick<ExtensionRoom, "messageRenderers" | "entryRenderers" | "tools">;

export function extensionRenderers(room: Room, onNotice: (notice: AgentNotice) => void): ExtensionRenderers {
  const told = new WeakMap<ExtensionScope, Set<string>>();
  const fail = ({ scope, what }: Drawing, error: unknown) => {
    const known = told.get(scope) ?? new Set();
    told.set(scope, known.add(what));
    const message = failureText(`${what} of ${scope.source}`, error);
    onNotice({ level: "warning", code: "extension_renderer_failed", message });
  };
  const tellOnce = (drawing: Drawing, error: unknown) => {
    if (drawing.isQuiet !== true && told.get(drawing.scope)?.has(drawing.what) !== true) fail(drawing, error);
  };
  const draw = (drawing: Drawing): DrawnComponent | undefined => {
    const { scope, what, render } = drawing;
    try {
      const made: unknown = runOf(scope, render);
      if (made === undefined || made === null) return undefined;
      return drawnComponent(made, { scope, call: what, onFailure: (error) => tellOnce(drawing, error) });
    } catch (error) {
      tellOnce(drawing, error);
      return undefined;
    }
  };
  return {
    message(message, options, theme) {
      const found = room.messageRenderers.get(message.customType)?.value;
      if (found === undefined) return undefined;
      const { renderer, scope } = found;
      const what = `The renderer of messages ${message.customType}`;
      return draw({ scope, what, render: () => renderer(message, options, theme) });
    },
    hasEntry: (customType) => room.entryRenderers.get(customType) !== undefined,
    entry(entry, options, theme) {
      const found = room.entryRenderers.get(entry.customType)?.value;
      if (found === undefined) return undefined;
      const { renderer, scope } = found;
      const what = `The renderer of entries ${entry.customType}`;
      return draw({ scope, what, render: () => renderer(entry, options, theme) });
    },
    tool(name) {
      const found = room.tools.get(name)?.value;
      if (found === undefined) return undefined;
      const { tool, scope } = found;
      if (tool.renderCall == null && tool.renderResult == null) return undefined;
      const of = (what: string, render: Drawing["render"], isQuiet = false) =>
        draw({ scope, what: `${what} of the tool ${name}`, render, isQuiet });
      return {
        isAlone: tool.renderShell === "self",
        call: (args, theme, context) =>
          of(
            "renderCall",
            () => tool.renderCall?.(args as never, theme, context as never),
            !context.argsComplete,
          ),
        result: (result, options, theme, context) =>
          of("renderResult", () => tool.renderResult?.(result, options, theme, context as never)),
      };
    },
  };
}
