import type { ExtensionAPI, ExtensionTool, Theme } from "@bonsai-agent/extension";
import { piTheme } from "../context/pi-theme.ts";
import { overlay } from "../overlay.ts";

type Renderers = Pick<ExtensionAPI, "registerMessageRenderer" | "registerEntryRenderer" | "registerTool">;

/** Columns at either side of a message. */
const outputPad = 1;

/** Renderers get pi's theme and options. */
export function piRenderers(api: Renderers): Renderers {
  return {
    registerMessageRenderer: (customType, renderer) =>
      api.registerMessageRenderer(
        customType,
        typeof renderer !== "function"
          ? renderer
          : (message, options, theme) => {
              const more = { role: "custom", timestamp: 0, ...message };
              return renderer(more as never, { ...options, outputPad } as never, piTheme(theme));
            },
      ),
    registerEntryRenderer: (customType, renderer) =>
      api.registerEntryRenderer(
        customType,
        typeof renderer !== "function"
          ? renderer
          : (entry, options, theme) => renderer(entry as never, options, piTheme(theme)),
      ),
    registerTool: ((tool: ExtensionTool) => api.registerTool(withTheme(tool))) as Renderers["registerTool"],
  };
}

/** The tool's own renderers, with pi's theme. */
function withTheme(tool: ExtensionTool): ExtensionTool {
  const { renderCall, renderResult } = tool ?? {};
  const extra: Partial<ExtensionTool> = {};
  if (typeof renderCall === "function")
    extra.renderCall = (args, theme: Theme, context) =>
      renderCall.call(tool, args, piTheme(theme), { showImages: false, ...context } as typeof context);
  if (typeof renderResult === "function")
    extra.renderResult = (result, options, theme: Theme, context) =>
      renderResult.call(tool, result, options, piTheme(theme), {
        showImages: false,
        ...context,
      } as typeof context);
  return Object.keys(extra).length === 0 ? tool : (overlay(tool, extra) as ExtensionTool);
}
