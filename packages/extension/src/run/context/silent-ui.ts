import type { ExtensionUI } from "../../api/extension-ui.ts";
import type { ExtensionHost } from "../extension-host.ts";

/** Where nobody can be asked: each question is answered at once, and what is told becomes a notice. */
export function silentUi(host: Pick<ExtensionHost, "onNotice">, extensionPath: string): ExtensionUI {
  return {
    select: async () => undefined,
    confirm: async () => false,
    input: async () => undefined,
    editor: async () => undefined,
    notify(message, type = "info") {
      const level = type === "info" ? "info" : "warning";
      host.onNotice({ level, code: "extension_message", message: `${extensionPath}: ${message}` });
    },
    setStatus() {},
    setWidget() {},
    setTitle() {},
    setEditorText() {},
    getEditorText: () => "",
  };
}
