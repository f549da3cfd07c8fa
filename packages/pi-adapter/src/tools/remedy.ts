import type { ExtensionTool, ExtensionToolResult } from "@bonsai-agent/extension";
import { contentText } from "@bonsai-agent/messages";
import { overlay } from "../pi-extension.ts";

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
export function withRemedy(tool: ExtensionTool): ExtensionTool {
  if (typeof tool?.execute !== "function" || BUILT_IN.includes(tool.name)) return tool;
  const execute: ExtensionTool["execute"] = async (...call) => {
    try {
      return withRemedyText(await tool.execute(...call));
    } catch (error) {
      const { message = "" } = (error ?? {}) as Partial<Error>;
      throw needsPi(message) ? new Error(`${message}\n${REMEDY}`, { cause: error }) : error;
    }
  };
  return overlay(tool, { execute });
}

function withRemedyText<Result extends ExtensionToolResult>(result: Result): Result {
  if (result?.isError !== true || !needsPi(contentText(result.content))) return result;
  return { ...result, content: [...result.content, { type: "text", text: REMEDY }] };
}
