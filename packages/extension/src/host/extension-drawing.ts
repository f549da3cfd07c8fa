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
import { badArgument, failureText } from "./extension-errors.ts";
import type { DrawnComponent } from "./extension-host.ts";
import type { ExtensionRegistry } from "./extension-registry.ts";
import { type ExtensionScope, runOf } from "./extension-scope.ts";

/** Draws a tool's call. Undefined if the tool draws nothing or fails. */
export interface ToolRenderer {
  /** True to draw the lines without a mark and an indent. */
  readonly isAlone: boolean;
  call(args: unknown, theme: Theme, context: ToolRenderContext): DrawnComponent | undefined;
  result(
    result: ExtensionToolResult,
    options: ToolRenderOptions,
    theme: Theme,
    context: ToolRenderContext,
  ): DrawnComponent | undefined;
}

/** Draws messages, entries and tool calls of extensions. Never throws; a failed renderer is one notice. */
export interface ExtensionRenderers {
  message(message: ExtensionMessage, options: RenderOptions, theme: Theme): DrawnComponent | undefined;
  /** True if entries of this type have a renderer. */
  hasEntry(customType: string): boolean;
  entry(entry: CustomEntry, options: RenderOptions, theme: Theme): DrawnComponent | undefined;
  /** Undefined if the front end draws the tool. */
  tool(name: string): ToolRenderer | undefined;
}

interface Drawing {
  scope: ExtensionScope;
  /** The renderer's name for its author. Each one fails with one notice. */
  what: string;
  render: () => Component | undefined;
  /** Hides failures while the model writes the arguments. */
  isQuiet?: boolean;
}

export function extensionRenderers(
  registry: ExtensionRegistry,
  onNotice: (notice: AgentNotice) => void,
): ExtensionRenderers {
  const failed = new WeakMap<ExtensionScope, Set<string>>();
  const fail = ({ scope, what, isQuiet }: Drawing, error: unknown) => {
    const known = failed.get(scope) ?? new Set();
    if (isQuiet === true || known.has(what)) return;
    failed.set(scope, known.add(what));
    onNotice({
      level: "warning",
      /** A renderer of an extension threw. Bonsai draws instead; one notice per renderer. */
      code: "extension_renderer_failed",
      message: failureText(`${what} of ${scope.source}`, error),
    });
  };
  const draw = (drawing: Drawing): DrawnComponent | undefined => {
    const { scope, what, render } = drawing;
    try {
      const made: unknown = runOf(scope, render);
      if (made === undefined || made === null) return undefined;
      return guardComponent(made, scope, what, (error) => fail(drawing, error));
    } catch (error) {
      fail(drawing, error);
      return undefined;
    }
  };
  return {
    message(message, options, theme) {
      const found = registry.messageRenderers.get(message.customType);
      const what = `The message renderer ${message.customType}`;
      return found && draw({ ...found, what, render: () => found.value(message, options, theme) });
    },
    hasEntry: (customType) => registry.entryRenderers.get(customType) !== undefined,
    entry(entry, options, theme) {
      const found = registry.entryRenderers.get(entry.customType);
      const what = `The entry renderer ${entry.customType}`;
      return found && draw({ ...found, what, render: () => found.value(entry, options, theme) });
    },
    tool(name) {
      const found = registry.tools.get(name);
      if (found === undefined) return undefined;
      const {
        scope,
        value: { tool },
      } = found;
      if (tool.renderCall == null && tool.renderResult == null) return undefined;
      return {
        isAlone: tool.renderShell === "self",
        call: (args, theme, context) =>
          draw({
            scope,
            what: `renderCall of the tool ${name}`,
            render: () => tool.renderCall?.(args as never, theme, context as never),
            isQuiet: !context.argsComplete,
          }),
        result: (result, options, theme, context) =>
          draw({
            scope,
            what: `renderResult of the tool ${name}`,
            render: () => tool.renderResult?.(result, options, theme, context as never),
          }),
      };
    },
  };
}

/**
 * Makes a component safe to call.
 * @param call the call that created the component, for error messages
 * @param onFailure called at most once
 * @throws BonsaiError `extension_argument_invalid` for another value
 */
export function guardComponent(
  made: unknown,
  scope: ExtensionScope,
  call: string,
  onFailure: (error: unknown) => void,
): DrawnComponent {
  if (typeof (made as Component | undefined)?.render !== "function")
    throw badArgument(scope, call, "a component (an object with render(width))", made);
  const component = made as Component & { focused?: boolean; wantsKeyRelease?: boolean };
  let hasFailed = false;
  const fail = (error: unknown) => {
    if (hasFailed) return;
    hasFailed = true;
    onFailure(error);
  };
  const safely = <Result>(work: () => Result): Result | undefined => {
    if (hasFailed || scope.isUnloaded) return undefined;
    try {
      return runOf(scope, work);
    } catch (error) {
      fail(error);
      return undefined;
    }
  };
  return {
    component,
    render: (width) => safely(() => linesOf(component.render(width))),
    handleInput(data) {
      const returned: unknown = safely(() => component.handleInput?.(data));
      if (returned instanceof Promise) returned.catch(fail);
    },
    invalidate: () => safely(() => component.invalidate?.()),
    dispose: () => safely(() => component.dispose?.()),
    get focused() {
      return component.focused === true;
    },
    set focused(isFocused) {
      if ("focused" in component) safely(() => (component.focused = isFocused));
    },
    get wantsKeyRelease() {
      return component.wantsKeyRelease === true;
    },
  };
}

/** JavaScript extensions can return other types. */
function linesOf(rendered: unknown): string[] {
  if (!Array.isArray(rendered))
    throw new TypeError(`render returned ${typeof rendered} instead of a list of lines`);
  const strange: unknown = rendered.find((line) => typeof line !== "string");
  if (strange !== undefined)
    throw new TypeError(`render returned a line of type ${typeof strange} instead of a string`);
  return rendered;
}

const same = (text: string) => text;

/** The theme without a screen: texts stay unchanged. */
export const plainTheme: Theme = {
  name: "",
  appearance: "dark",
  fg: (_color, text) => text,
  bg: (_color, text) => text,
  bold: same,
  italic: same,
  underline: same,
  inverse: same,
  strikethrough: same,
  getFgAnsi: () => "",
  getBgAnsi: () => "",
  getColorMode: () => "none",
};
