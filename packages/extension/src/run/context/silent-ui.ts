import type { AgentNotice } from "@bonsai-agent/agent";
import type { ExtensionUI, NotificationType } from "../../api/extension-ui.ts";
import type { ExtensionHost } from "../extension-host.ts";
import { plainTheme } from "../plain-theme.ts";

const levels: Readonly<Record<NotificationType, AgentNotice["level"]>> = {
  info: "info",
  warning: "warning",
  error: "warning",
};

/** Where nobody can be asked: each question is answered at once, and what is told becomes a notice. */
export function silentUi(host: Pick<ExtensionHost, "onNotice">, extensionPath: string): ExtensionUI {
  return {
    select: async () => undefined,
    confirm: async () => false,
    input: async () => undefined,
    editor: async () => undefined,
    notify(message, type = "info") {
      const notice: AgentNotice = {
        code: "extension_message",
        level: levels[type],
        message: `${extensionPath}: ${message}`,
      };
      host.onNotice(notice);
    },
    theme: plainTheme,
    custom: async () => undefined,
    setFooter() {},
    setHeader() {},
    setWorkingMessage() {},
    getToolsExpanded: () => false,
    setToolsExpanded() {},
    setStatus() {},
    setWidget() {},
    setTitle() {},
    setEditorText() {},
    getEditorText: () => "",
  };
}
