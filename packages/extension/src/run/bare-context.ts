import type { ExtensionCommandContext, ExtensionContext } from "../api/extension-context.ts";
import type { ExtensionUI } from "../api/extension-ui.ts";
import type { ExtensionHost } from "./extension-host.ts";

/** Stands in until contexts are built. */
export function bareContext(host: ExtensionHost, signal: AbortSignal | undefined): ExtensionContext {
  return {
    ui: host.ui ?? silent,
    mode: host.mode,
    hasUI: host.ui !== undefined,
    cwd: host.cwd,
    signal,
    model: host.agent()?.model ?? host.model?.(),
    thinkingLevel: host.agent()?.state.thinking,
    isIdle: () => !(host.agent()?.isBusy ?? false),
    isProjectTrusted: () => host.isProjectTrusted(),
    abort: () => void host.agent()?.abort(),
    shutdown: () => host.shutdown(),
  } as ExtensionContext;
}

export function bareCommandContext(
  host: ExtensionHost,
  reload: () => Promise<unknown>,
): ExtensionCommandContext {
  return {
    ...bareContext(host, undefined),
    waitForIdle: async () => host.agent()?.idle(),
    reload: async () => void (await reload()),
  } as ExtensionCommandContext;
}

const silent: ExtensionUI = {
  select: async () => undefined,
  confirm: async () => false,
  input: async () => undefined,
  editor: async () => undefined,
  notify: () => {},
  setStatus: () => {},
  setWidget: () => {},
  setTitle: () => {},
  setEditorText: () => {},
  getEditorText: () => "",
};
