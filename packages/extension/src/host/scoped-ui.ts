import type { Theme } from "../api/drawing.ts";
import type { CustomOptions, EditorComponent, ExtensionUI } from "../api/extension-ui.ts";
import { guardComponent, plainTheme } from "./extension-drawing.ts";
import { badArgument, failureText } from "./extension-errors.ts";
import type { DrawnComponent, ExtensionHost, FrontEndUI } from "./extension-host.ts";
import type { ExtensionRuntime } from "./extension-registry.ts";
import { runOf } from "./extension-scope.ts";

type UiOwner = Pick<ExtensionRuntime, "scope" | "registry" | "host">;

/**
 * The user interface of one extension. What it shows disappears when the extension is unloaded, and nothing is shown for it
 * after that. Returns the same object until the host's user interface changes.
 */
export function scopedUi(owner: UiOwner): () => ExtensionUI {
  let known: { ui: FrontEndUI | undefined; scoped: ExtensionUI } | undefined;
  return () => {
    const { ui } = owner.host;
    if (known === undefined || known.ui !== ui)
      known = { ui, scoped: makeScopedUi(ui ?? silentUi(owner), owner) };
    return known.scoped;
  };
}

/** Without a user: answers each question at once, and makes notifications notices. */
function silentUi({ scope, host }: UiOwner): FrontEndUI {
  return {
    select: async () => undefined,
    confirm: async () => false,
    input: async () => undefined,
    editor: async () => undefined,
    notify: (message, type = "info") =>
      host.onNotice({
        level: type === "info" ? "info" : "warning",
        /** An extension called `ctx.ui.notify` without a user interface. */
        code: "extension_message",
        message: `${scope.source}: ${message}`,
      }),
    setStatus() {},
    setWidget() {},
    setTitle() {},
    setEditorText() {},
    getEditorText: () => "",
  };
}

/** Shows a value; undefined removes it. Unloading the extension removes the value that it showed last. */
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
  const show = showFor(owner);
  return {
    ...scopedDrawing(ui, owner, show),
    ...scopedTyping(ui, owner, show),
    ...scopedLooks(ui, owner, show),
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

function scopedTyping(ui: FrontEndUI, owner: UiOwner, show: Show) {
  const { scope, host } = owner;
  return {
    setEditorComponent(factory) {
      if (factory != null) checkFunction(factory, "ctx.ui.setEditorComponent", owner);
      show("editor", factory ?? undefined, (shown) =>
        ui.setEditor?.(
          shown && {
            make: ({ tui, theme, keybindings }) =>
              checkedEditor(
                runOf(scope, () => shown(tui, theme, keybindings)),
                owner,
              ),
            onFailure: (error) => notifyFailure(host, `The editor of ${scope.source}`, error),
          },
        ),
      );
    },
    addAutocompleteProvider(factory) {
      checkFunction(factory, "ctx.ui.addAutocompleteProvider", owner);
      if (scope.isUnloaded || ui.addAutocompleteProvider === undefined) return () => {};
      const make: typeof factory = (current) => runOf(scope, () => factory(current));
      const fail = (error: unknown) =>
        notifyFailure(host, `The autocomplete provider of ${scope.source}`, error);
      return scope.keep(ui.addAutocompleteProvider(make, fail));
    },
    onTerminalInput(handler) {
      checkFunction(handler, "ctx.ui.onTerminalInput", owner);
      if (scope.isUnloaded || ui.onTerminalInput === undefined) return () => {};
      const end = scope.keep(
        ui.onTerminalInput((data) => {
          try {
            return (runOf(scope, () => handler(data)) ?? undefined) as { consume?: boolean } | undefined;
          } catch (error) {
            end();
            notifyFailure(host, `The ctx.ui.onTerminalInput handler of ${scope.source}`, error);
            return undefined;
          }
        }),
      );
      return end;
    },
  } satisfies Partial<ExtensionUI>;
}

const EDITOR_METHODS = ["render", "handleInput", "getText", "setText"] as const;

function checkedEditor(made: EditorComponent, { scope }: UiOwner): EditorComponent {
  if (EDITOR_METHODS.every((name) => typeof made?.[name] === "function")) return made;
  const wanted = `an editor (an object with ${EDITOR_METHODS.join(", ")})`;
  throw badArgument(scope, "ctx.ui.setEditorComponent", wanted, made);
}

function notifyFailure(host: ExtensionHost, what: string, error: unknown): void {
  host.onNotice({
    level: "warning",
    /** A component, editor, completion or key handler of an extension threw. It is removed. */
    code: "extension_component_failed",
    message: failureText(what, error),
  });
}

function checkFunction(given: unknown, call: string, { scope }: UiOwner): void {
  if (typeof given !== "function") throw badArgument(scope, call, "a function", given);
}

/** The looks of the program's own drawings. */
function scopedLooks(ui: FrontEndUI, { scope }: UiOwner, show: Show) {
  return {
    setWorkingMessage: (message) =>
      show("working message", message, (shown) => ui.setWorkingMessage?.(shown)),
    setWorkingIndicator: (indicator) =>
      show("working indicator", indicator, (shown) => ui.setWorkingIndicator?.(shown)),
    setWorkingVisible: (isVisible) =>
      show("working hidden", isVisible === false ? true : undefined, (isHidden) =>
        ui.setWorkingVisible?.(isHidden === undefined),
      ),
    setHiddenThinkingLabel: (label) =>
      show("thinking label", label, (shown) => ui.setHiddenThinkingLabel?.(shown)),
    setTheme(wanted) {
      if (scope.isUnloaded || ui.setTheme === undefined)
        return { success: false, error: "This mode has no screen." };
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
    getToolsExpanded: () => ui.getToolsExpanded?.() === true,
    setToolsExpanded(isExpanded) {
      if (!scope.isUnloaded) ui.setToolsExpanded?.(isExpanded === true);
    },
  } satisfies Partial<ExtensionUI>;
}

/** Front ends call these methods. */
function isDrawnTheme(given: Theme | null): boolean {
  return typeof given?.getFgAnsi === "function" && typeof given.getBgAnsi === "function";
}

function noTheme(wanted: unknown, ui: FrontEndUI): string {
  const names = ["auto", ...(ui.getAllThemes?.() ?? []).map(({ name }) => name)];
  const what = typeof wanted === "object" ? "The given value" : String(wanted);
  return `${what} is not a theme. Available themes: ${names.join(", ")}.`;
}

function scopedDrawing(ui: FrontEndUI, owner: UiOwner, show: Show) {
  const { scope, host } = owner;
  const theme = ui.theme ?? plainTheme;
  const drawn = (call: string, made: unknown, onFailure = () => {}): DrawnComponent =>
    guardComponent(made, scope, call, (error) => {
      notifyFailure(host, `The ${call} component of ${scope.source}`, error);
      onFailure();
    });
  const draw = (call: string, make: () => unknown) => drawn(call, runOf(scope, make));
  return {
    theme,
    custom: (factory, options = {}) =>
      untilUnloaded(owner, options, async (settings) =>
        ui.custom?.(async ({ tui, keybindings, done }) => {
          const component = await runOf(scope, () => factory(tui, theme, keybindings, done));
          // Not while a frame is being drawn.
          return drawn("ctx.ui.custom", component, () => queueMicrotask(() => done(undefined)));
        }, settings),
      ),
    setStatus: (key, text) => show(`status ${key}`, text, (shown) => ui.setStatus(key, shown)),
    setWidget(key, content, options) {
      if (typeof content === "function" && ui.showWidget === undefined) return;
      show(`widget ${key}`, content, (shown) => {
        if (typeof shown !== "function") return ui.setWidget(key, shown, options);
        ui.showWidget?.(key, (tui) => draw("ctx.ui.setWidget", () => shown(tui, theme)), options);
      });
    },
    setFooter: (factory) =>
      show("footer", factory, (shown) =>
        ui.setFooter?.(shown && ((tui, data) => draw("ctx.ui.setFooter", () => shown(tui, theme, data)))),
      ),
    setHeader: (factory) =>
      show("header", factory, (shown) =>
        ui.setHeader?.(shown && ((tui) => draw("ctx.ui.setHeader", () => shown(tui, theme)))),
      ),
  } satisfies Partial<ExtensionUI>;
}

/** Starts nothing for an unloaded extension, and ends the work with the extension. */
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
