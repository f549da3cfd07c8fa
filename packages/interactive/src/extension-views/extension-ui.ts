import type { AgentNotice } from "@bonsai-agent/agent";
import { printable } from "@bonsai-agent/app/terminal-text";
import type { FrontEndDrawing, FrontEndUI } from "@bonsai-agent/extension/host";
import { dialogs } from "../panels/ask.ts";
import type { Screen } from "../terminal/screen.ts";
import { stripTerminalSequences } from "../terminal/tui.ts";
import { TypingRest } from "../terminal/typed-input.ts";
import { customView } from "./custom-views.ts";
import { extensionTheme } from "./extension-theme.ts";
import { ExtensionLines, standingViews } from "./standing-views.ts";

interface ExtensionUiOptions {
  screen: Screen;
  notify: (message: string, level: AgentNotice["level"]) => void;
  /** Where the user types. */
  editor: { getText(): string; setText(text: string): void };
  chat: {
    readonly isExpanded: boolean;
    toggleExpanded(): void;
    /** An extension has appended it. */
    showEntry: FrontEndDrawing["showEntry"];
  };
  /** What extensions want to stand beside the spinner. */
  onWorkingMessage: (message: string | undefined) => void;
  /** Absolute; whose git branch a footer of an extension shows. */
  cwd: string;
  /** Nobody answers from then on: open questions are answered as if nobody had. */
  signal: AbortSignal;
}

interface ExtensionUi extends FrontEndUI {
  /** What extensions show beside the chat; the footer reads its statuses. */
  readonly extensionLines: ExtensionLines;
  /** Resolves once keys may be taken from the user who types. */
  untilRest(signal: AbortSignal): Promise<void>;
}

/** All that extensions ask and show; commands ask by it too. */
export function extensionUi(options: ExtensionUiOptions): ExtensionUi {
  const { screen, notify, editor, chat, cwd, signal, onWorkingMessage } = options;
  const rest = new TypingRest(screen);
  const untilRest = (end: AbortSignal) => rest.reached(end);
  const lines = new ExtensionLines(() => screen.redraw());
  return {
    theme: extensionTheme(screen.theme),
    extensionLines: lines,
    untilRest,
    ...dialogs({ screen, untilRest, signal }),
    custom: customView({ screen, notify, untilRest, signal }),
    ...standingViews({ screen, lines, cwd, notify }),
    notify: (message, type = "info") => notify(message, type === "info" ? "info" : "warning"),
    setTitle: (title) => screen.tui.terminal.setTitle(printable(title)),
    setEditorText(text) {
      editor.setText(text);
      screen.redraw();
    },
    getEditorText: () => editor.getText(),
    setWorkingMessage: (message) =>
      onWorkingMessage(message === undefined ? undefined : stripTerminalSequences(String(message))),
    getToolsExpanded: () => chat.isExpanded,
    setToolsExpanded(isExpanded) {
      if (chat.isExpanded !== isExpanded) chat.toggleExpanded();
    },
    showEntry: (entry) => chat.showEntry(entry),
  };
}
