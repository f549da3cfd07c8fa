import type { CustomFactory, CustomOptions, ExtensionContext, ExtensionUI } from "@bonsai-agent/extension";
import type { Tell } from "../api/once-told.ts";
import type { PromptEvents, PromptKind } from "../events/prompt-events.ts";
import { overlay } from "../overlay.ts";
import { piKeybindings } from "./pi-keybindings.ts";
import { type PiTheme, piTheme } from "./pi-theme.ts";
import { useTheme } from "./theme-desk.ts";

/** pi's ways to draw on a terminal that Bonsai's does not have, and what they answer. */
const missing: Readonly<Record<string, unknown>> = {
  onTerminalInput: () => {},
  setWorkingVisible: undefined,
  setWorkingIndicator: undefined,
  setHiddenThinkingLabel: undefined,
  addAutocompleteProvider: undefined,
  setEditorComponent: undefined,
  getEditorComponent: undefined,
  getAllThemes: [],
  getTheme: undefined,
  setTheme: { success: false, error: "Themes of Bonsai are the user's: /settings." },
};

/** Asking does no harm. */
const isOnlyAsking = /^get/;

export interface PiUiOptions {
  prompts: PromptEvents;
  /** Where a terminal is drawn on, what has no effect there is said once. */
  tell: Tell;
}

/** The user interface with what extensions of pi call beside it. A front end that has one of these itself is asked. */
export function piUi(ctx: ExtensionContext, { prompts, tell }: PiUiOptions): ExtensionUI {
  const { ui } = ctx;
  const absent = Object.fromEntries(
    Object.entries(missing)
      .filter(([name]) => !(name in ui))
      .map(([name, answer]) => [
        name,
        () => {
          if (ctx.mode === "tui" && !isOnlyAsking.test(name))
            tell(name, `calls ctx.ui.${name}, which has no effect in Bonsai`);
          return answer;
        },
      ]),
  );
  const asking = <Answer>(kind: PromptKind, title: string | undefined, ask: () => Promise<Answer>) =>
    prompts.around({ kind, ...(title === undefined ? {} : { title }) }, ctx, ask);
  const { custom, ...drawn } = drawing(ui);
  return overlay(ui, {
    ...absent,
    ...drawn,
    custom: <Value>(factory: CustomFactory<Value>, options?: CustomOptions) =>
      // Elsewhere nobody is asked.
      ctx.mode === "tui"
        ? asking("custom", undefined, () => custom(factory, options))
        : custom(factory, options),
    select: (title: string, options: string[], settings?: Parameters<ExtensionUI["select"]>[2]) =>
      asking("select", title, () => ui.select(title, options, settings)),
    confirm: (title: string, message: string, settings?: Parameters<ExtensionUI["confirm"]>[2]) =>
      asking("confirm", title, () => ui.confirm(title, message, settings)),
    input: (title: string, placeholder?: string, settings?: Parameters<ExtensionUI["input"]>[2]) =>
      asking("input", title, () => ui.input(title, placeholder, settings)),
    editor: (title: string, prefill?: string) => asking("editor", title, () => ui.editor(title, prefill)),
    // What stands there was typed by the user.
    pasteToEditor: (text: string) => ui.setEditorText(ui.getEditorText() + text),
  }) as ExtensionUI;
}

type Drawing = Pick<ExtensionUI, "custom" | "setWidget" | "setFooter" | "setHeader"> & { theme: PiTheme };

/** What draws, with pi's theme and pi's names of the keys. */
function drawing(ui: ExtensionUI): Drawing {
  const theme = piTheme(ui.theme);
  useTheme(theme);
  return {
    theme,
    custom: <Value>(factory: CustomFactory<Value>, options?: CustomOptions) =>
      ui.custom<Value>(
        (tui, _theme, keybindings, done) => factory(tui, theme, piKeybindings(keybindings), done),
        options,
      ),
    setWidget: (key, content, options) =>
      ui.setWidget(key, typeof content === "function" ? (tui) => content(tui, theme) : content, options),
    setFooter: (factory) => ui.setFooter(factory && ((tui, _theme, data) => factory(tui, theme, data))),
    setHeader: (factory) => ui.setHeader(factory && ((tui) => factory(tui, theme))),
  };
}
