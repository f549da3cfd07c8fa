import type { AgentNotice } from "@bonsai-agent/agent";
import type { FrontEndDrawing, FrontEndUI } from "@bonsai-agent/extension/host";
import { printable } from "../../views/terminal-text.ts";
import { dialogs } from "../panels/ask.ts";
import type { SpinnerLooks } from "../status/activity-line.ts";
import type { Screen } from "../terminal/screen.ts";
import type { ThemeControl } from "../terminal/theme-control.ts";
import { stripTerminalSequences } from "../terminal/tui.ts";
import { TypingRest } from "../terminal/typed-input.ts";
import { customView } from "./custom-views.ts";
import { colorsOf, extensionTheme, otherTheme } from "./extension-theme.ts";
import { drawnLines } from "./extension-tui.ts";
import { type EditorPlace, typingViews } from "./input-hooks.ts";
import { ExtensionLines, standingViews } from "./widgets.ts";

interface ExtensionUiOptions {
  screen: Screen;
  themes: ThemeControl;
  notify: (message: string, level: AgentNotice["level"]) => void;
  editor: EditorPlace;
  addAutocompleteProvider: FrontEndDrawing["addAutocompleteProvider"];
  chat: {
    readonly isExpanded: boolean;
    toggleExpanded(): void;
    setThinkingLabel(label: string | undefined): void;
    showEntry: FrontEndDrawing["showEntry"];
  };
  working: {
    setWorkingMessage(message: string | undefined): void;
    setWorkingIndicator(looks: SpinnerLooks | undefined): void;
    setWorkingVisible(isVisible: boolean): void;
  };
  /** Absolute. Its git branch is shown in footers of extensions. */
  cwd: string;
  signal: AbortSignal;
}

interface ExtensionUi extends FrontEndUI {
  readonly extensionLines: ExtensionLines;
  /** Resolves once keys may be taken from the user who types. */
  untilRest(signal: AbortSignal): Promise<void>;
}

/** The user interface for extensions. Commands use its dialogs too. */
export function extensionUi(options: ExtensionUiOptions): ExtensionUi {
  const { screen, themes, working, notify, editor, chat, cwd, signal } = options;
  const rest = new TypingRest(screen);
  const untilRest = (end: AbortSignal) => rest.reached(end);
  const lines = new ExtensionLines(() => screen.redraw());
  return {
    theme: extensionTheme(screen.theme),
    extensionLines: lines,
    untilRest,
    ...dialogs(screen, untilRest, signal),
    custom: customView(screen, notify, untilRest, signal),
    ...standingViews(screen, lines, cwd, notify),
    notify: (message, type = "info") => notify(message, type === "info" ? "info" : "warning"),
    setTitle: (title) => screen.tui.terminal.setTitle(printable(title)),
    setEditorText(text) {
      editor.setText(text);
      screen.redraw();
    },
    getEditorText: () => editor.getText(),
    ...typingViews(screen, editor, notify),
    addAutocompleteProvider: options.addAutocompleteProvider,
    setWorkingMessage: (message) =>
      working.setWorkingMessage(message === undefined ? undefined : stripTerminalSequences(String(message))),
    setWorkingIndicator(indicator) {
      const { frames, intervalMs } = indicator ?? {};
      working.setWorkingIndicator(
        indicator && {
          frames: frames?.map((frame) => drawnLines([String(frame)], MAX_SIGN_COLUMNS)[0] ?? ""),
          intervalMs: Number(intervalMs) || undefined,
        },
      );
    },
    setWorkingVisible: (isVisible) => working.setWorkingVisible(isVisible),
    setHiddenThinkingLabel: (label) => chat.setThinkingLabel(label),
    setTheme: (theme) => themes.setOfExtension(typeof theme === "object" ? colorsOf(theme) : theme),
    hasTheme: (name) => themes.has(name),
    getAllThemes: () => themes.all.map(({ name, path }) => ({ name, path })),
    getTheme(name) {
      const theme = themes.get(name);
      return theme && otherTheme(theme, screen.theme);
    },
    getToolsExpanded: () => chat.isExpanded,
    setToolsExpanded(isExpanded) {
      if (chat.isExpanded !== isExpanded) chat.toggleExpanded();
    },
    showEntry: (entry) => chat.showEntry(entry),
  };
}

/** A wider sign would push the activity away. */
const MAX_SIGN_COLUMNS = 20;
