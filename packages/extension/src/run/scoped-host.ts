import type { ExtensionUI } from "../api/extension-ui.ts";
import type { ExtensionHost } from "./extension-host.ts";
import type { FrontEndUI } from "./front-end-ui.ts";

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
