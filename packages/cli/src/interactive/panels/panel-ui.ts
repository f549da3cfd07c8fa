import type { AgentNotice } from "@bonsai-agent/agent";
import type { ExtensionUI } from "@bonsai-agent/extension";
import type { Screen } from "../screen.ts";

export interface PanelUiOptions {
  screen: Screen;
  tell: (notice: Pick<AgentNotice, "level" | "message">) => void;
}

/** Dialogs in the place of the editor, for extensions and for commands. */
export function panelUi({ tell }: PanelUiOptions): ExtensionUI {
  return {
    select: async () => undefined,
    confirm: async () => false,
    input: async () => undefined,
    editor: async () => undefined,
    notify: (message, type) =>
      tell({ level: type === "info" || type === undefined ? "info" : "warning", message }),
    setStatus: () => {},
    setWidget: () => {},
    setTitle: () => {},
    setEditorText: () => {},
    getEditorText: () => "",
  };
}
