import type { AgentNotice } from "@bonsai-agent/agent";
import type { Theme } from "../api/drawing.ts";
import type { CustomOptions, EditorComponent, ExtensionUI, NotificationType } from "../api/extension-ui.ts";
import { drawnComponent, plainTheme } from "./extension-drawing.ts";
import { badArgument, failureText } from "./extension-errors.ts";
import type { DrawnComponent, FrontEndUI } from "./extension-host.ts";
import type { ExtensionRuntime } from "./extension-registry.ts";
import { runOf } from "./extension-scope.ts";

type UiOwner = Pick<ExtensionRuntime, "scope" | "registry" | "host">;

/**
 * The user interface of one extension: what it shows goes away with it, and nothing is shown for it after that. The same
 * object as long as the host's is the same; undefined where the host has none.
 */
export function scopedUi(owner: UiOwner): () => ExtensionUI | undefined {
  let known: { ui: FrontEndUI; scoped: ExtensionUI } | undefined;
  return () => {
    const { ui } = owner.host;
    if (ui === undefined) return undefined;
    if (known?.ui !== ui) known = { ui, scoped: makeScopedUi(ui, owner) };
    return known.scoped;
  };
}

/** Puts something on the screen, or undefined in its place; what is there when the extension is unloaded goes away. */
type Show = <Value>(key: string, value: Value | undefined, put: (value: Value | undefined) => void) => void;

function showFor({ scope, registry: { shownBy } }: UiOwner): Show {
  const kept = new Set<string>();
  return (key, value, put) => {
    if (scope.isUnloaded) return;
    put(value);
    if (value === undefined) shownBy.delete(key);
    else shownBy.set(key, scope);
    if (value === undefined || kept.has(key)) return;
    kept.add(key);
    scope.keep(() => {
      if (shownBy.get(key) !== scope) return;
      shownBy.delete(key);
      put(undefined);
    });
  };
}

function makeScopedUi(ui: FrontEndUI, owner: UiOwner): ExtensionUI {
  return {
    ...scopedDrawing(ui, owner),
    select: (...args) => ui.select(...args),
    confirm: (...args) => ui.confirm(...args),
    input: (...args) => ui.input(...args),
    editor: (...args) => ui.editor(...args),
    notify: (...args) => ui.notify(...args),
    setTitle: (title) => ui.setTitle(title),
    setEditorText: (text) => ui.setEditorText(text),
    getEditorText: () => ui.getEditorText(),
  };
}

type Typing = "setEditorComponent" | "addAutocompleteProvider" | "onTerminalInput";

/** Where and how the user types. */
function scopedTyping(ui: FrontEndUI, owner: UiOwner, show: Show): Pick<ExtensionUI, Typing> {
  const { scope } = owner;
  return {
    setEditorComponent(factory) {
      checkFunction(factory, "ctx.ui.setEditorComponent", owner, { isOptional: true });
      show("editor", factory, (shown) =>
        ui.setEditor?.(
          shown && {
            make: ({ tui, theme, keybindings }) =>
              checkedEditor(
                runOf(scope, () => shown(tui, theme, keybindings)),
                owner,
              ),
            onFailure: failing("The editor", owner),
          },
        ),
      );
    },
    addAutocompleteProvider(factory) {
      checkFunction(factory, "ctx.ui.addAutocompleteProvider", owner);
      if (scope.isUnloaded || ui.addAutocompleteProvider === undefined) return () => {};
      const make: typeof factory = (current) => runOf(scope, () => factory(current));
      return scope.keep(ui.addAutocompleteProvider(make, failing("The autocomplete provider", owner)));
    },
    onTerminalInput(handler) {
      checkFunction(handler, "ctx.ui.onTerminalInput", owner);
      if (scope.isUnloaded || ui.onTerminalInput === undefined) return () => {};
      const fail = failing("The ctx.ui.onTerminalInput handler", owner);
      const end = scope.keep(
        ui.onTerminalInput((data) => {
          try {
            return (runOf(scope, () => handler(data)) ?? undefined) as { consume?: boolean } | undefined;
          } catch (error) {
            end();
            fail(error);
            return undefined;
          }
        }),
      );
      return end;
    },
  };
}

const editorMethods = ["render", "handleInput", "getText", "setText"] as const;

function checkedEditor(made: EditorComponent, { scope }: UiOwner): EditorComponent {
  if (editorMethods.every((name) => typeof made?.[name] === "function")) return made;
  const wanted = `an editor (an object with ${editorMethods.join(", ")})`;
  throw badArgument(scope, "ctx.ui.setEditorComponent", wanted, made);
}

/** What fails is a notice; whoever calls it has taken it away. */
function failing(what: string, { scope, host }: UiOwner): (error: unknown) => void {
  return (error) =>
    host.onNotice({
      level: "warning",
      /** A component, editor, completion or key handler of an extension threw. It is removed. */
      code: "extension_component_failed",
      message: failureText(`${what} of ${scope.source}`, error),
    });
}

function checkFunction(given: unknown, call: string, { scope }: UiOwner, { isOptional = false } = {}): void {
  if (typeof given !== "function" && !(isOptional && given == null))
    throw badArgument(scope, call, "a function", given);
}

const undrawn = { success: false, error: "This mode has no screen." };

type Looks =
  | "setWorkingIndicator"
  | "setWorkingVisible"
  | "setHiddenThinkingLabel"
  | "setTheme"
  | "getAllThemes"
  | "getTheme";

/** How what the program draws itself looks. */
function scopedLooks(ui: FrontEndUI, { scope }: UiOwner, show: Show): Pick<ExtensionUI, Looks> {
  return {
    setWorkingIndicator: (indicator) =>
      show("working indicator", indicator, (shown) => ui.setWorkingIndicator?.(shown)),
    setWorkingVisible: (isVisible) =>
      show("working hidden", isVisible === false ? true : undefined, (isHidden) =>
        ui.setWorkingVisible?.(isHidden === undefined),
      ),
    setHiddenThinkingLabel: (label) =>
      show("thinking label", label, (shown) => ui.setHiddenThinkingLabel?.(shown)),
    setTheme(wanted) {
      if (scope.isUnloaded || ui.setTheme === undefined) return undrawn;
      const isTheme = typeof wanted === "object" ? isDrawnTheme(wanted) : ui.hasTheme?.(String(wanted));
      if (isTheme !== true) return { success: false, error: noTheme(wanted, ui) };
      try {
        show("theme", wanted, (shown) => ui.setTheme?.(shown));
        return { success: true };
      } catch (error) {
        return { success: false, error: failureText("The theme", error) };
      }
    },
    getAllThemes: () => ui.getAllThemes?.() ?? [],
    getTheme: (name) => ui.getTheme?.(String(name)),
  };
}

/** The looks of it are asked for by these. */
function isDrawnTheme(given: Theme | null): boolean {
  return typeof given?.getFgAnsi === "function" && typeof given.getBgAnsi === "function";
}

function noTheme(wanted: unknown, ui: FrontEndUI): string {
  const names = ["auto", ...(ui.getAllThemes?.() ?? []).map(({ name }) => name)];
  const what = typeof wanted === "object" ? "The given value" : String(wanted);
  return `${what} is not a theme. Available themes: ${names.join(", ")}.`;
}

type ScopedDrawing = Omit<
  ExtensionUI,
  "select" | "confirm" | "input" | "editor" | "notify" | "setTitle" | "setEditorText" | "getEditorText"
>;

/** What stays on the screen until it is taken away. */
function scopedDrawing(ui: FrontEndUI, owner: UiOwner): ScopedDrawing {
  const { scope } = owner;
  const theme = ui.theme ?? plainTheme;
  const show = showFor(owner);
  const made = (call: string, make: () => unknown) => drawn(runOf(scope, make), call, owner);
  return {
    theme,
    ...scopedTyping(ui, owner, show),
    ...scopedLooks(ui, owner, show),
    custom: (factory, options = {}) =>
      untilUnloaded(owner, options, async (settings) =>
        ui.custom?.(async ({ tui, keybindings, done }) => {
          const component = await runOf(scope, () => factory(tui, theme, keybindings, done));
          // Not while a frame is being drawn.
          return drawn(component, "ctx.ui.custom", owner, () => queueMicrotask(() => done(undefined)));
        }, settings),
      ),
    setStatus: (key, text) => show(`status ${key}`, text, (shown) => ui.setStatus(key, shown)),
    setWidget(key, content, options) {
      if (typeof content === "function" && ui.showWidget === undefined) return;
      show(`widget ${key}`, content, (shown) => {
        if (typeof shown !== "function") return ui.setWidget(key, shown, options);
        ui.showWidget?.(key, (tui) => made("ctx.ui.setWidget", () => shown(tui, theme)), options);
      });
    },
    setFooter: (factory) =>
      show("footer", factory, (shown) =>
        ui.setFooter?.(shown && ((tui, data) => made("ctx.ui.setFooter", () => shown(tui, theme, data)))),
      ),
    setHeader: (factory) =>
      show("header", factory, (shown) =>
        ui.setHeader?.(shown && ((tui) => made("ctx.ui.setHeader", () => shown(tui, theme)))),
      ),
    setWorkingMessage: (message) =>
      show("working message", message, (shown) => ui.setWorkingMessage?.(shown)),
    getToolsExpanded: () => ui.getToolsExpanded?.() === true,
    setToolsExpanded(isExpanded) {
      if (!scope.isUnloaded) ui.setToolsExpanded?.(isExpanded === true);
    },
  };
}

/**
 * A component that cannot break the screen: where it fails, that is a notice, and it is gone.
 * @param call as its author calls it
 * @throws BonsaiError `extension_argument_invalid` for what is no component
 */
function drawn(made: unknown, call: string, { scope, host }: UiOwner, onFailure = () => {}): DrawnComponent {
  return drawnComponent(made, {
    scope,
    call,
    onFailure(error) {
      const message = failureText(`The ${call} component of ${scope.source}`, error);
      host.onNotice({ level: "warning", code: "extension_component_failed", message });
      onFailure();
    },
  });
}

/** Nothing is begun for an extension that is gone, and what goes on ends with it. */
async function untilUnloaded<Value>(
  { scope }: UiOwner,
  options: CustomOptions,
  work: (options: CustomOptions) => Promise<Value | undefined>,
): Promise<Value | undefined> {
  if (scope.isUnloaded) return undefined;
  const unloaded = new AbortController();
  const release = scope.keep(() => unloaded.abort());
  const signals = options.signal === undefined ? [] : [options.signal];
  try {
    return await work({ ...options, signal: AbortSignal.any([...signals, unloaded.signal]) });
  } finally {
    release();
  }
}

const levels: Readonly<Record<NotificationType, AgentNotice["level"]>> = {
  info: "info",
  warning: "warning",
  error: "warning",
};

/** Where nobody can be asked: each question is answered at once, and a notification becomes a notice. */
export function silentUi({ scope, host }: Pick<ExtensionRuntime, "scope" | "host">): ExtensionUI {
  return {
    select: async () => undefined,
    confirm: async () => false,
    input: async () => undefined,
    editor: async () => undefined,
    notify(message, type = "info") {
      const notice: AgentNotice = {
        /** An extension called `ctx.ui.notify` without a user interface. */
        code: "extension_message",
        level: levels[type],
        message: `${scope.source}: ${message}`,
      };
      host.onNotice(notice);
    },
    theme: plainTheme,
    custom: async () => undefined,
    setFooter() {},
    setHeader() {},
    setWorkingMessage() {},
    setWorkingIndicator() {},
    setWorkingVisible() {},
    setHiddenThinkingLabel() {},
    setEditorComponent() {},
    addAutocompleteProvider: () => () => {},
    onTerminalInput: () => () => {},
    setTheme: () => undrawn,
    getAllThemes: () => [],
    getTheme: () => undefined,
    getToolsExpanded: () => false,
    setToolsExpanded() {},
    setStatus() {},
    setWidget() {},
    setTitle() {},
    setEditorText() {},
    getEditorText: () => "",
  };
}
