import { type Agent, type LifecycleEvents, lifecycleEventRules } from "@bonsai-agent/agent";
import { HandlerCalls } from "@bonsai-agent/agent/host";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import type { BonsaiError } from "@bonsai-agent/messages";
import type {
  ArgumentCompletion,
  ExtensionCommandInfo,
  FlagOptions,
  ShortcutInfo,
} from "../api/extension-api.ts";
import { type ExtensionRenderers, extensionRenderers } from "./extension-drawing.ts";
import { commandFailure, failureNotice, failureText, waitsForItself } from "./extension-errors.ts";
import { commandIn, type ExtensionRegistry, extensionRegistry } from "./extension-registry.ts";
import { ExtensionScope } from "./extension-scope.ts";
import type {
  Extensions,
  FailedExtension,
  LoadExtensionsOptions,
  LoadedExtension,
  ReloadOptions,
  ReloadReport,
} from "./extensions.ts";
import { type OpenedModels, openModels } from "./model-registry.ts";
import { commandInfo } from "./registering.ts";
import {
  apiOf,
  type ExtensionToStart,
  extensionsToStart,
  freeName,
  shownPath,
  startExtension,
} from "./start-extension.ts";

/**
 * Loads extensions one after the other, in load order. One that fails is reported, what it had registered is undone,
 * and the others load. Never rejects for an extension's fault.
 */
export async function loadExtensions(options: LoadExtensionsOptions): Promise<Extensions> {
  const extensions = new RunningExtensions(options, await openModels(options.host));
  await extensions.load();
  return extensions;
}

/** Owner of the extensions that are loaded: their order, and their ends. */
class RunningExtensions implements Extensions {
  readonly #options: LoadExtensionsOptions;
  readonly #models: OpenedModels;
  readonly #registry: ExtensionRegistry;
  #scopes: ExtensionScope[] = [];
  #loaded: LoadedExtension[] = [];
  #failed: FailedExtension[] = [];
  #unloadings = 0;
  #reloading: Promise<ReloadReport> | undefined;
  /** For whom a reload waits. */
  readonly #awaited = new HandlerCalls();
  readonly renderers: ExtensionRenderers;

  constructor(options: LoadExtensionsOptions, models: OpenedModels) {
    const { host, reservedCommands } = options;
    this.#options = options;
    this.#models = models;
    this.#registry = extensionRegistry({ host, reservedCommands });
    this.renderers = extensionRenderers(this.#registry, (notice) => host.onNotice(notice));
  }

  get loaded(): readonly LoadedExtension[] {
    return this.#loaded;
  }

  get failed(): readonly FailedExtension[] {
    return this.#failed;
  }

  get commands(): readonly ExtensionCommandInfo[] {
    return this.#registry.commands.standing().map(commandInfo);
  }

  get flags(): ReadonlyMap<string, FlagOptions> {
    return new Map(this.#registry.flags.standing().map(({ name, value }) => [name, value]));
  }

  get shortcuts(): ReadonlyMap<string, ShortcutInfo> {
    const standing = this.#registry.shortcuts.standing();
    return new Map(standing.map(({ name, value, source }) => [name, { ...value.options, source }]));
  }

  attach(agent: Agent): void {
    this.#registry.tools.attach(agent);
  }

  hasCommand(text: string): boolean {
    return commandIn(this.#registry, text) !== undefined;
  }

  async runCommand(text: string): Promise<boolean> {
    const command = commandIn(this.#registry, text);
    if (command === undefined) return false;
    try {
      await command.value.run(command.args);
      return true;
    } catch (error) {
      throw commandFailure(command, error);
    }
  }

  async completeCommand(name: string, prefix: string): Promise<readonly ArgumentCompletion[]> {
    const command = this.#registry.commands.get(name);
    try {
      const offered: unknown = await command?.value.complete(prefix);
      return Array.isArray(offered) ? offered.filter(isCompletion) : [];
    } catch (error) {
      const message = failureText(`Completing /${name} of ${command?.source}`, error);
      this.#options.host.onNotice({
        level: "warning",
        /** The completion of a command's arguments threw. No completions are offered. */
        code: "extension_completion_failed",
        message,
      });
      return [];
    }
  }

  async runShortcut(key: string): Promise<boolean> {
    const shortcut = this.#registry.shortcuts.get(key);
    if (shortcut === undefined) return false;
    try {
      await shortcut.value.run();
    } catch (error) {
      const message = failureText(`The shortcut ${key} of ${shortcut.source}`, error);
      this.#options.host.onNotice({
        level: "warning",
        /** The shortcut of an extension threw. */
        code: "extension_shortcut_failed",
        message,
      });
    }
    return true;
  }

  /** Loads what is found; rejects with what finding throws. */
  load(): Promise<void> {
    return this.#startAll(extensionsToStart(this.#options));
  }

  async reload({ signal }: ReloadOptions = {}): Promise<ReloadReport> {
    if (this.#awaited.isInside || this.#options.host.agent()?.isWaitingForCaller === true)
      throw waitsForItself("reload");
    this.#reloading ??= this.#reload(signal).finally(() => {
      this.#reloading = undefined;
    });
    return this.#reloading;
  }

  unload(): void {
    this.#unloadings += 1;
    const scopes = this.#scopes;
    this.#scopes = [];
    this.#loaded = [];
    this.#failed = [];
    for (const scope of scopes.toReversed()) this.#close(scope);
  }

  async #reload(signal: AbortSignal | undefined): Promise<ReloadReport> {
    const { host } = this.#options;
    await host.agent()?.idle();
    const startedMs = performance.now();
    // Before anything is undone: what cannot be found leaves all as it is.
    const found = extensionsToStart(this.#options);
    await this.#awaited.run(() => notifyShutdown(host.lifecycle));
    const open = holdDecisions(host.lifecycle);
    try {
      this.unload();
      await this.#awaited.run(() => this.#startAll(found));
    } finally {
      open();
    }
    const elapsedMs = performance.now() - startedMs;
    await this.#awaited.run(async () => {
      await notifyStart(host.lifecycle, signal);
      await host.onReload?.(signal ?? AbortSignal.timeout(startLimitMs));
    });
    return { loaded: this.#loaded, failed: this.#failed, elapsedMs };
  }

  async #startAll(all: readonly ExtensionToStart[]): Promise<void> {
    const unloadings = this.#unloadings;
    // Whoever unloads in the meantime wants none of the others either.
    for (const each of all) if (this.#unloadings === unloadings) await this.#start(each);
  }

  async #start(extension: ExtensionToStart): Promise<void> {
    const { found } = extension;
    const { host } = this.#options;
    const startedMs = performance.now();
    const names = this.#scopes.map(({ source }) => source);
    const source = freeName(shownPath(found.path, host.cwd), names);
    const scope = new ExtensionScope({ path: found.path, source });
    this.#scopes.push(scope);
    host.lifecycle.addSource(scope.source);
    try {
      const shared = { scope, host, registry: this.#registry, models: this.#models };
      await startExtension(
        scope,
        extension,
        apiOf({ ...shared, reload: () => this.reload() }, this.#options),
      );
      if (!scope.isUnloaded) this.#loaded.push({ ...found, loadMs: performance.now() - startedMs });
    } catch (error) {
      if (!scope.isUnloaded) this.#drop(scope, error as BonsaiError);
    }
  }

  #drop(scope: ExtensionScope, error: BonsaiError): void {
    this.#scopes = this.#scopes.filter((other) => other !== scope);
    this.#close(scope);
    this.#failed.push({ path: scope.path, error });
    this.#options.host.onNotice(failureNotice(scope.source, error));
  }

  #close(scope: ExtensionScope): void {
    const { host } = this.#options;
    for (const error of scope.close()) {
      const message = failureText(`Unloading ${scope.source}`, error);
      host.onNotice({
        level: "warning",
        /** The cleanup of an extension threw while it was unloaded. */
        code: "extension_undo_failed",
        message,
      });
    }
    host.lifecycle.removeSource(scope.source);
  }
}

function isCompletion(offered: unknown): offered is ArgumentCompletion {
  const { value, label } = (offered ?? {}) as Partial<ArgumentCompletion>;
  return typeof value === "string" && typeof label === "string";
}

/** As long as handlers have when an agent is closed. */
const shutdownLimitMs = 5_000;
/** As long as handlers have before they are named. */
const startLimitMs = 30_000;

/** Before extensions are unloaded; a handler that takes longer than five seconds is not waited for. */
async function notifyShutdown(lifecycle: Lifecycle<LifecycleEvents>): Promise<void> {
  const late = new AbortController();
  const timer = setTimeout(
    () => late.abort(new Error("The extensions are being reloaded.")),
    shutdownLimitMs,
  );
  try {
    const { signal } = late;
    await lifecycle.notify("session_shutdown", { type: "session_shutdown", reason: "reload" }, { signal });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * After extensions were loaded anew: waits until the signal is aborted; without one, half a minute, after which the
 * other handlers are called all the same.
 */
async function notifyStart(
  lifecycle: Lifecycle<LifecycleEvents>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const event = { type: "session_start" as const, reason: "reload" as const };
  if (signal !== undefined) return lifecycle.notify("session_start", event, { signal });
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, startLimitMs);
  try {
    await Promise.race([lifecycle.notify("session_start", event), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

const decideEvents = (Object.keys(lifecycleEventRules) as (keyof LifecycleEvents)[]).filter(
  (name): name is Parameters<Lifecycle<LifecycleEvents>["decide"]>[0] =>
    lifecycleEventRules[name].kind === "decide",
);

/**
 * Lets every event that asks extensions wait until the function returned is called, and then be asked of the extensions
 * of then: between unloading and loading, guards would be missing.
 */
function holdDecisions(lifecycle: Lifecycle<LifecycleEvents>): () => void {
  const opened = Promise.withResolvers<void>();
  const undos = decideEvents.map((name) => {
    const asked = async (payload: never, { signal }: { signal: AbortSignal }) => {
      await opened.promise;
      return (await lifecycle.decide(name, payload, { signal })).result;
    };
    return lifecycle.on(name, asked as never, { source: "reload" } as never);
  });
  return () => {
    for (const undo of undos) undo();
    lifecycle.removeSource("reload");
    opened.resolve();
  };
}
