import type { ExtensionTool, ExtensionToolResult, Theme } from "@bonsai-agent/extension";
import { contentText } from "@bonsai-agent/messages";
import { keyHint, keyText } from "../modules/drawing.ts";
import { overlay } from "../pi-extension.ts";
import { piTheme } from "../theme.ts";

/** Columns at either side of a message. */
export const outputPad = 1;

/** Adds pi 1.5's functions for names of keys to the options of a renderer. */
export function withHints<Options extends object>(options: Options): Options {
  return { ...options, keyText, keyHint };
}

/** A tool whose renderers get pi's theme and whose errors about missing packages of pi have a remedy. */
export function registeredTool(tool: ExtensionTool): ExtensionTool {
  const { renderCall, renderResult } = tool ?? {};
  const extra: Partial<ExtensionTool> = executing(tool);
  if (typeof renderCall === "function")
    extra.renderCall = (args, theme: Theme, context) =>
      renderCall.call(tool, args, piTheme(theme), withImages(context));
  if (typeof renderResult === "function")
    extra.renderResult = (result, options, theme: Theme, context) =>
      renderResult.call(tool, result, options, piTheme(theme), withImages(context));
  return Object.keys(extra).length === 0 ? tool : (overlay(tool, extra) as ExtensionTool);
}

function withImages<Context extends object>(context: Context): Context {
  return { showImages: false, outputPad, ...withHints(context) };
}

/** An error about a package of pi that is not on the disk. */
const NEEDS_PI = [
  /@(?:earendil-works|mariozechner)\/pi-/,
  /\b(?:requires?|needs?|cannot find|not found|missing)\b/i,
];

/** Tools whose errors can be about any project, for example about the source of an extension. */
const BUILT_IN = ["read", "bash", "edit", "write", "grep", "find", "ls"];

const needsPi = (text: string) => NEEDS_PI.every((pattern) => pattern.test(text));

const REMEDY =
  "Bonsai provides pi's packages to extensions in its own process, but a separate process cannot find their files. Repeat the call in the foreground (pi-subagents: async: false). The user can set asyncByDefault to false in the configuration of pi-subagents.";

/** Adds a remedy to errors of a tool that needs pi's packages as files, for example for a background process. */
function executing(tool: ExtensionTool): Pick<Partial<ExtensionTool>, "execute"> {
  if (typeof tool?.execute !== "function" || BUILT_IN.includes(tool.name)) return {};
  return {
    async execute(...call) {
      try {
        return withRemedy(await tool.execute(...call));
      } catch (error) {
        const { message = "" } = (error ?? {}) as Partial<Error>;
        throw needsPi(message) ? new Error(`${message}\n${REMEDY}`, { cause: error }) : error;
      }
    },
  };
}

function withRemedy<Result extends ExtensionToolResult>(result: Result): Result {
  if (result?.isError !== true || !needsPi(contentText(result.content))) return result;
  return { ...result, content: [...result.content, { type: "text", text: REMEDY }] };
}
