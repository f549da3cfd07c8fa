import type { AgentNotice } from "@bonsai-agent/agent";
import type { EditorComponent, EditorMaker, FrontEndDrawing } from "@bonsai-agent/extension/host";
import type { Screen } from "../terminal/screen.ts";
import { isKeyRelease } from "../terminal/tui.ts";
import { extensionKeybindings, extensionTui } from "./extension-tui.ts";

export interface EditorPlace {
  getText(): string;
  setText(text: string): void;
  /** Replaces Bonsai's editor; undefined restores it. */
  takeEditor(taken: TakenEditor | undefined): void;
}

export interface TakenEditor {
  component: EditorComponent;
  onFailure: EditorMaker["onFailure"];
  /** Removes the component's own overlays. */
  leave: () => void;
}

/** Editors and input hooks of extensions. */
export function typingViews(
  screen: Screen,
  editor: EditorPlace,
  notify: (message: string, level: AgentNotice["level"]) => void,
): Pick<FrontEndDrawing, "setEditor" | "onTerminalInput"> {
  return {
    setEditor(maker) {
      if (maker === undefined) return editor.takeEditor(undefined);
      const { tui, leave } = extensionTui(screen, (message) => notify(message, "warning"));
      const component = maker.make({ tui, keybindings: extensionKeybindings, theme: screen.theme.editor });
      editor.takeEditor({ component, onFailure: maker.onFailure, leave });
    },
    onTerminalInput: (handler) =>
      screen.tui.addInputListener((data) => (isKeyRelease(data) ? undefined : taken(handler(data)))),
  };
}

function taken(answer: { consume?: boolean; data?: string } | undefined) {
  const { consume, data } = answer ?? {};
  return { consume: consume === true, ...(typeof data === "string" && { data }) };
}
