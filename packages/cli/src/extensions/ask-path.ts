import type { ConfirmLongRun, ConfirmPath } from "@bonsai-agent/agent";
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

/** Asks whether a run that nobody said a word to may go on; undefined where nobody follows it: then it ends. */
export function askLongRun(ui: FrontEndUI | undefined): ConfirmLongRun | undefined {
  if (ui === undefined) return undefined;
  return ({ requests, signal }) => {
    const count = requests.toLocaleString("en");
    const message = `The model was asked ${count} times in a row without a word from you. Yes lets it go on for as many requests again.`;
    return ui.confirm("Go on?", message, { signal });
  };
}
