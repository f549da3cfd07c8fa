import type { AgentNotice } from "@bonsai-agent/agent";
import type { ExtensionUI, NotificationType } from "../api/extension-ui.ts";
import { type DrawnComponent, drawnComponent, plainTheme } from "./drawn-component.ts";
import { failureText } from "./extension-errors.ts";
import type { ExtensionHost, FrontEndDrawing, FrontEndUI } from "./extension-host.ts";
import { type ExtensionScope, runOf } from "./extension-scope.ts";

/** Who showed what last: an extension takes away only what is still its own. */
export type ShownBy = Map<string, ExtensionScope>;

interface ScopedUiOptions {
  scope: ExtensionScope;
  shownBy: ShownBy;
  onNotice: (notice: AgentNotice) => void;
}

/** The user interface of one extension: what it shows goes away with it, and nothing is shown for it after that. */
export function scopedUi(ui: FrontEndUI, { scope, shownBy, onNotice }: ScopedUiOptions): ExtensionUI {
  const kept = new Set<string>();
  const show = (key: string, isShown: boolean, takeAway: () => void) => {
    if (isShown) shownBy.set(key, scope);
    else shownBy.delete(key);
    if (!isShown || kept.has(key)) return;
    kept.add(key);
    scope.keep(() => {
      if (shownBy.get(key) !== scope) return;
      shownBy.delete(key);
      takeAway();
    });
  };
  const { showWidget, ...drawing } = scopedDrawing(ui, { scope, onNotice, show });
  return {
    ...drawing,
    select: (...args) => ui.select(...args),
    confirm: (...args) => ui.confirm(...args),
    input: (...args) => ui.input(...args),
    editor: (...args) => ui.editor(...args),
    notify: (...args) => ui.notify(...args),
    setStatus(key, text) {
      if (scope.isUnloaded) return;
      ui.setStatus(key, text);
      show(`status ${key}`, text !== undefined, () => ui.setStatus(key, undefined));
    },
    setWidget(key, content, options) {
      if (scope.isUnloaded) return;
      if (typeof content === "function") return showWidget(key, content, options);
      ui.setWidget(key, content, options);
      show(`widget ${key}`, content !== undefined, () => ui.setWidget(key, undefined, options));
    },
    setTitle: (title) => ui.setTitle(title),
    setEditorText: (text) => ui.setEditorText(text),
    getEditorText: () => ui.getEditorText(),
  };
}

interface ScopedDrawingOptions {
  scope: ExtensionScope;
  onNotice: (notice: AgentNotice) => void;
  /** Remembers that something of the extension is shown, or no longer is. */
  show: (key: string, isShown: boolean, takeAway: () => void) => void;
}

type ScopedDrawing = Pick<ExtensionUI, keyof FrontEndDrawing & keyof ExtensionUI> & {
  /** A widget that is a component. */
  showWidget(...args: Parameters<ExtensionUI["setWidget"]>): void;
};

/** What one extension draws. Nothing of its code can break the screen: what fails is told, and is gone. */
function scopedDrawing(ui: FrontEndUI, options: ScopedDrawingOptions): ScopedDrawing {
  const { scope, show } = options;
  const theme = ui.theme ?? plainTheme;
  const made = (call: string, make: () => unknown) => drawn(runOf(scope, make), { ...options, call });
  return {
    theme,
    custom: customOf(ui, options),
    showWidget(key, content, placed) {
      if (typeof content !== "function" || ui.showWidget === undefined) return;
      ui.showWidget(key, (tui) => made("ctx.ui.setWidget", () => content(tui, theme)), placed);
      show(`widget ${key}`, true, () => ui.setWidget(key, undefined, placed));
    },
    setFooter(factory) {
      if (scope.isUnloaded) return;
      ui.setFooter?.(factory && ((tui, data) => made("ctx.ui.setFooter", () => factory(tui, theme, data))));
      show("footer", factory !== undefined, () => ui.setFooter?.(undefined));
    },
    setHeader(factory) {
      if (scope.isUnloaded) return;
      ui.setHeader?.(factory && ((tui) => made("ctx.ui.setHeader", () => factory(tui, theme))));
      show("header", factory !== undefined, () => ui.setHeader?.(undefined));
    },
    setWorkingMessage(message) {
      if (scope.isUnloaded) return;
      ui.setWorkingMessage?.(message);
      show("working message", message !== undefined, () => ui.setWorkingMessage?.(undefined));
    },
    getToolsExpanded: () => ui.getToolsExpanded?.() === true,
    setToolsExpanded(isExpanded) {
      if (!scope.isUnloaded) ui.setToolsExpanded?.(isExpanded === true);
    },
  };
}

function customOf(ui: FrontEndUI, options: ScopedDrawingOptions): ExtensionUI["custom"] {
  const { scope } = options;
  const theme = ui.theme ?? plainTheme;
  return (factory, settings = {}) =>
    untilUnloaded(scope, settings.signal, async (signal) =>
      ui.custom?.(
        async ({ tui, keybindings, done }) => {
          const made = await runOf(scope, () => factory(tui, theme, keybindings, done));
          // Not while a frame is being drawn.
          const onFailure = () => queueMicrotask(() => done(undefined));
          return drawn(made, { ...options, call: "ctx.ui.custom", onFailure });
        },
        { ...settings, signal },
      ),
    );
}

interface DrawnOptions extends Pick<ScopedDrawingOptions, "scope" | "onNotice"> {
  /** As its author calls it. */
  call: string;
  onFailure?: () => void;
}

/** @throws BonsaiError `extension_argument_invalid` for what is no component */
function drawn(made: unknown, { scope, call, onNotice, onFailure = () => {} }: DrawnOptions): DrawnComponent {
  return drawnComponent(made, {
    ...{ scope, call },
    onFailure(error) {
      const message = failureText(`The component of ${call} of ${scope.source}`, error);
      onNotice({ level: "warning", code: "extension_component_failed", message });
      onFailure();
    },
  });
}

/** Nothing is begun for an extension that is gone, and what goes on ends with it. */
async function untilUnloaded<Value>(
  scope: ExtensionScope,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Value | undefined>,
): Promise<Value | undefined> {
  if (scope.isUnloaded) return undefined;
  const unloaded = new AbortController();
  const release = scope.keep(() => unloaded.abort());
  try {
    return await work(AbortSignal.any([...(signal === undefined ? [] : [signal]), unloaded.signal]));
  } finally {
    release();
  }
}

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

/** The host as one extension sees it: with a user interface that is the extension's own. */
export interface ScopedHost extends Omit<ExtensionHost, "ui"> {
  readonly ui?: ExtensionUI | undefined;
}

/** @param scopedUi makes the user interface that remembers what it showed */
export function scopedHost(host: ExtensionHost, scopedUi: (ui: FrontEndUI) => ExtensionUI): ScopedHost {
  let known: { ui: FrontEndUI; scoped: ExtensionUI } | undefined;
  return {
    get mode() {
      return host.mode;
    },
    get cwd() {
      return host.cwd;
    },
    get lifecycle() {
      return host.lifecycle;
    },
    get ui() {
      const { ui } = host;
      if (ui === undefined) return undefined;
      if (known?.ui !== ui) known = { ui, scoped: scopedUi(ui) };
      return known.scoped;
    },
    get control() {
      return host.control;
    },
    session: () => host.session(),
    agent: () => host.agent(),
    model: () => host.model?.(),
    models: () => host.models(),
    shutdown: () => host.shutdown(),
    isProjectTrusted: () => host.isProjectTrusted(),
    flag: (name) => host.flag(name),
    onNotice: (notice) => host.onNotice(notice),
    onEntry: (entry) => host.onEntry?.(entry),
  };
}
