import type { ExtensionContext, ExtensionUI, WidgetOptions } from "@bonsai-agent/extension";
import type { PromptEvents, PromptKind } from "../events/prompt-events.ts";
import { overlay } from "../overlay.ts";
import { plainTheme } from "./plain-theme.ts";

const nothing = () => {};

/** pi's ways to draw on a terminal, as they answer where there is none to draw on. */
const drawing = {
  theme: plainTheme,
  custom: async () => undefined,
  onTerminalInput: () => nothing,
  setWorkingMessage: nothing,
  setWorkingVisible: nothing,
  setWorkingIndicator: nothing,
  setHiddenThinkingLabel: nothing,
  setFooter: nothing,
  setHeader: nothing,
  addAutocompleteProvider: nothing,
  setEditorComponent: nothing,
  getEditorComponent: () => undefined,
  getAllThemes: () => [],
  getTheme: () => undefined,
  setTheme: () => ({ success: false, error: "Bonsai has no themes." }),
  getToolsExpanded: () => false,
  setToolsExpanded: nothing,
};

/** The user interface with what extensions of pi call beside it. A front end that has one of these itself is asked. */
export function piUi(ctx: ExtensionContext, prompts: PromptEvents): ExtensionUI {
  const { ui } = ctx;
  const missing = Object.fromEntries(Object.entries(drawing).filter(([name]) => !(name in ui)));
  const asking = <Answer>(kind: PromptKind, title: string, ask: () => Promise<Answer>) =>
    prompts.around({ kind, title }, ctx, ask);
  return overlay(ui, {
    ...missing,
    select: (title: string, options: string[], settings?: Parameters<ExtensionUI["select"]>[2]) =>
      asking("select", title, () => ui.select(title, options, settings)),
    confirm: (title: string, message: string, settings?: Parameters<ExtensionUI["confirm"]>[2]) =>
      asking("confirm", title, () => ui.confirm(title, message, settings)),
    input: (title: string, placeholder?: string, settings?: Parameters<ExtensionUI["input"]>[2]) =>
      asking("input", title, () => ui.input(title, placeholder, settings)),
    editor: (title: string, prefill?: string) => asking("editor", title, () => ui.editor(title, prefill)),
    pasteToEditor: (text: string) => ui.setEditorText(text),
    setWidget: (key: string, content: unknown, options?: WidgetOptions) =>
      setWidget(ui, { key, content, options }),
  }) as ExtensionUI;
}

/** Lines are shown; a component, which only a terminal can draw, is left out. */
function setWidget(
  ui: ExtensionUI,
  { key, content, options }: { key: string; content: unknown; options: WidgetOptions | undefined },
): void {
  if (typeof content === "function") return;
  ui.setWidget(key, content as string[] | undefined, options);
}
