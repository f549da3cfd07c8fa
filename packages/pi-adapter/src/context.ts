import type {
  ExtensionAPI,
  ExtensionCommandContext,
  ExtensionContext,
  ExtensionUI,
} from "@bonsai-agent/extension";
import type {
  CompactOptions,
  ComponentKeybindings,
  CustomFactory,
  CustomOptions,
  ModelRegistry,
} from "@bonsai-agent/extension/host";
import { BonsaiError } from "@bonsai-agent/messages";
import { useContext } from "./context-in-use.ts";
import { promptOptions } from "./events.ts";
import { piModel } from "./models/model.ts";
import { piRegistry } from "./models/registry.ts";
import { overlay, type PiExtension, type PromptEvents, sendAsUser } from "./pi-extension.ts";
import { type PiTheme, piTheme, useTheme } from "./theme.ts";

/** A context with pi's names. Reads Bonsai's context at each use. */
export function piContext<Context extends ExtensionContext>(context: Context, pi: PiExtension): Context {
  const { api, isForPi } = pi;
  let ui: ExtensionUI | undefined;
  let registry: ModelRegistry | undefined;
  const asUser = sendAsUser(pi);
  useContext(context, pi.extension);
  return overlay(context, {
    get ui() {
      ui ??= piUi(context, pi);
      return ui;
    },
    get model() {
      const { model } = context;
      return model === undefined || !isForPi ? model : piModel(model);
    },
    get modelRegistry() {
      registry ??= isForPi ? piRegistry(context.modelRegistry) : context.modelRegistry;
      return registry;
    },
    scopedModels: [],
    compact: (options?: CompactOptions) => context.compact(piCompactOptions(options)),
    getSystemPromptOptions: () => promptOptions(context.cwd),
    // pi has these on the context of a new session.
    sendMessage: async (...args: Parameters<ExtensionAPI["sendMessage"]>) => api.sendMessage(...args),
    sendUserMessage: async (...args: Parameters<ReturnType<typeof sendAsUser>>) => asUser(...args),
    ...newSessionOf(context),
  }) as unknown as Context;
}

type NewSession = ExtensionCommandContext["newSession"];

/** Refuses `setup`: it writes to a session that is not open yet. */
function newSessionOf(context: ExtensionContext): { newSession?: NewSession } {
  if (!("newSession" in context)) return {};
  return {
    async newSession(options) {
      if (options === undefined || !("setup" in options))
        return (context as ExtensionCommandContext).newSession(options);
      throw new BonsaiError({
        code: "pi_method_missing",
        message: "Bonsai does not support the setup option of newSession.",
        hint: "Use withSession. Its context has sendMessage and sendUserMessage.",
      });
    },
  };
}

/** Adds pi's fields to the argument of `onComplete`. */
function piCompactOptions({ onComplete, ...options }: CompactOptions = {}): CompactOptions {
  if (onComplete === undefined) return options;
  return {
    ...options,
    onComplete(result) {
      const { outcome, compactionEntry: entry } = result;
      onComplete({
        ...result,
        summary: entry?.summary ?? "",
        firstKeptEntryId: entry?.firstKeptEntryId,
        tokensBefore: outcome.tokensBefore,
        estimatedTokensAfter: outcome.tokensAfter,
        details: entry?.details,
      } as typeof result);
    },
  };
}

type EditorFactory = Parameters<ExtensionUI["setEditorComponent"]>[0];
type DialogSettings = Parameters<ExtensionUI["select"]>[2];

/** The user interface with pi's names, theme and prompt events. */
export function piUi(ctx: ExtensionContext, { prompts }: Pick<PiExtension, "prompts">): ExtensionUI {
  const { ui } = ctx;
  const { custom, ...drawing } = drawingOf(ui);
  const ask = <Answer>(prompt: Parameters<PromptEvents["around"]>[0], work: () => Promise<Answer>) =>
    prompts.around(prompt, ctx, work);
  return overlay(ui, {
    ...drawing,
    getTheme(name: string) {
      const theme = ui.getTheme(name);
      return theme && piTheme(theme);
    },
    custom: <Value>(factory: CustomFactory<Value>, options?: CustomOptions) =>
      // Other modes show no component.
      ctx.mode === "tui" ? ask({ kind: "custom" }, () => custom(factory, options)) : custom(factory, options),
    select: (title: string, options: string[], settings?: DialogSettings) =>
      ask({ kind: "select", title }, () => ui.select(title, options, settings)),
    confirm: (title: string, message: string, settings?: DialogSettings) =>
      ask({ kind: "confirm", title }, () => ui.confirm(title, message, settings)),
    input: (title: string, placeholder?: string, settings?: DialogSettings) =>
      ask({ kind: "input", title }, () => ui.input(title, placeholder, settings)),
    editor: (title: string, prefill?: string) =>
      ask({ kind: "editor", title }, () => ui.editor(title, prefill)),
    pasteToEditor: (text: string) => ui.setEditorText(ui.getEditorText() + text),
  }) as unknown as ExtensionUI;
}

type Drawing = Pick<
  ExtensionUI,
  "custom" | "setWidget" | "setFooter" | "setHeader" | "setEditorComponent"
> & {
  theme: PiTheme;
  getEditorComponent(): EditorFactory;
};

/** The drawing methods, with pi's theme and pi's names of keys. */
function drawingOf(ui: ExtensionUI): Drawing {
  const theme = piTheme(ui.theme);
  useTheme(theme);
  let editor: EditorFactory;
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
    setEditorComponent(factory) {
      ui.setEditorComponent(
        typeof factory === "function"
          ? (tui, editorTheme, keybindings) => factory(tui, editorTheme, piKeybindings(keybindings))
          : factory,
      );
      editor = factory;
    },
    getEditorComponent: () => editor,
  };
}

/** Bonsai's actions by pi's names. Those of the terminal library are the same. */
const actions: Readonly<Record<string, string>> = {
  "app.interrupt": "interrupt",
  "app.clear": "clearOrQuit",
  "app.exit": "quit",
  "app.suspend": "suspend",
  "app.model.cycleForward": "nextModel",
  "app.model.cycleBackward": "previousModel",
  "app.thinking.cycle": "cycleThinking",
  "app.model.select": "pickModel",
  "app.tools.expand": "expand",
  "app.editor.external": "externalEditor",
  "app.message.followUp": "queueFollowUp",
  "app.message.dequeue": "takeBackQueued",
  "app.session.tree": "tree",
};

function piKeybindings(keybindings: ComponentKeybindings): ComponentKeybindings {
  return {
    matches: (data, action) => keybindings.matches(data, actions[action] ?? action),
    getKeys: (action) => keybindings.getKeys(actions[action] ?? action),
  };
}
