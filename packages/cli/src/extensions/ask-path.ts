import type { ConfirmPath } from "@bonsai-agent/agent";
import type { FrontEndUI } from "@bonsai-agent/extension";

/** Asks about paths beyond the project; undefined where nobody can be asked: then they are refused. */
export function askPath(ui: FrontEndUI | undefined): ConfirmPath | undefined {
  if (ui === undefined) return undefined;
  return ({ path, toolName, access, signal }) =>
    ui.confirm(
      access === "read" ? "Read beyond the project?" : "Change a file beyond the project?",
      `The tool ${toolName} wants to ${access === "read" ? "read" : "change"} ${path}.`,
      { signal },
    );
}
