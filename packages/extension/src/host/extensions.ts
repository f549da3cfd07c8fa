import type { Agent, AgentNotice } from "@bonsai-agent/agent";
import { HandlerCalls } from "@bonsai-agent/agent/host";
import type { BonsaiError } from "@bonsai-agent/messages";
import type {
  ArgumentCompletion,
  ExtensionCommandInfo,
  FlagOptions,
  ShortcutInfo,
} from "../api/extension-api.ts";
import { type ExtensionRenderers, extensionRenderers } from "./extension-drawing.ts";
import { commandFailure, deadlockError, failureNotice, failureText } from "./extension-errors.ts";
import { commandIn, type ExtensionRegistry, extensionRegistry } from "./extension-registry.ts";
import { ExtensionScope } from "./extension-scope.ts";
import { type OpenedModels, openModels } from "./model-registry.ts";
import { commandInfo } from "./registering.ts";
import { deferDecisions, notifyShutdown, notifyStart, START_LIMIT_MS } from "./reload-events.ts";
import {
  apiOf,
  type ExtensionToStart,
  extensionsToStart,
  freeName,
  type LoadExtensionsOptions,
  type LoadedExtension,
  shownPath,
  startExtension,
} from "./start-extension.ts";

/** An extension that could not be loaded. */
export interface FailedExtension {
  path: string;
  error: BonsaiError;
}

export interface ReloadOptions {
  /** Ends the wait for handlers of `session_start`. Default: half a minute. */
  signal?: AbortSignal;
}

/** The result of a reload. */
export interface ReloadReport {
  loaded: readonly LoadedExtension[];
  failed: readonly FailedExtension[];
  /** Milliseconds. */
  elapsedMs: number;
}

/**
 * Loads extensions one after the other, in load order. If one fails, a notice says why, its registrations are undone, and
 * the others load. Never rejects because of an extension.
 */
export async function loadExtensions(options: LoadExtensionsOptions): Promise<Extensions> {
  const extensions = new Extensions(options, await openModels(options.host));
  await extensions.load();
  return extensions;
}

/** Owner of the loaded extensions, their order and their registrations. */
export class Extensions {
  readonly #options: LoadExtensionsOptions;
  readonly #models: OpenedModels;
  readonly #registry: ExtensionRegistry;
  #scopes: ExtensionScope[] = [];
  #loaded: LoadedExtension[] = [];
  #failed: FailedExtension[] = [];
  #unloadings = 0;
  #reloading: Promise<ReloadReport> | undefined;
  /** Calls that a reload waits for. */
  readonly #awaited = new HandlerCalls();
  /** Draws messages, entries and tools of extensions. The same object at all times. */
  readonly renderers: ExtensionRenderers;

  /** Use {@link loadExtensions}. */
  constructor(options: LoadExtensionsOptions, models: OpenedModels) {
    const { host, reservedCommands } = options;
    this.#options = options;
    this.#models = models;
    this.#registry = extensionRegistry(host, reservedCommands);
    this.renderers = extensionRenderers(this.#registry, (notice) => host.onNotice(notice));
  }

  /** In load order. */
  get loaded(): readonly LoadedExtension[] {
    return this.#loaded;
  }

  /** Found, but could not be loaded. */
  get failed(): readonly FailedExtension[] {
    return this.#failed;
  }

  /** The commands of all extensions; the latest of a name. */
  get commands(): readonly ExtensionCommandInfo[] {
    return this.#registry.commands.standing().map(commandInfo);
  }

  /** By name, without dashes. */
  get flags(): ReadonlyMap<string, FlagOptions> {
    return new Map(this.#registry.flags.standing().map(({ name, value }) => [name, value]));
  }

  /** By key, like `ctrl+shift+k`. */
  get shortcuts(): ReadonlyMap<string, ShortcutInfo> {
    const standing = this.#registry.shortcuts.standing();
    return new Map(
      standing.map(({ name, value, scope }) => [name, { ...value.options, source: scope.source }]),
    );
  }

  /** Moves the tools to this agent. Call it for each new agent, before it starts. */
  attach(agent: Agent): void {
    this.#registry.tools.attach(agent);
  }

  /** True if `text` calls a command of an extension. */
  hasCommand(text: string): boolean {
    return commandIn(this.#registry, text) !== undefined;
  }

  /**
   * Runs `/name arguments` if an extension has that command, and resolves when its handler has ended.
   * @returns false if none has
   * @throws BonsaiError `extension_command_failed`
   */
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

  /** Completions of a command's arguments; none if the command offers none or fails. */
  async completeCommand(name: string, prefix: string): Promise<readonly ArgumentCompletion[]> {
    const command = this.#registry.commands.get(name);
    try {
      const offered: unknown = await command?.value.complete(prefix);
      return Array.isArray(offered) ? offered.filter(isCompletion) : [];
    } catch (error) {
      this.#notify({
        /** The completion of a command's arguments threw. No completions are offered. */
        code: "extension_completion_failed",
        message: failureText(`Completing /${name} of ${command?.scope.source}`, error),
      });
      return [];
    }
  }

  /** Runs an extension's shortcut. A handler that fails is a notice. @returns false if no extension has the key */
  async runShortcut(key: string): Promise<boolean> {
    const shortcut = this.#registry.shortcuts.get(key);
    if (shortcut === undefined) return false;
    try {
      await shortcut.value.run();
    } catch (error) {
      this.#notify({
        /** The shortcut of an extension threw. */
        code: "extension_shortcut_failed",
        message: failureText(`The shortcut ${key} of ${shortcut.scope.source}`, error),
      });
    }
    return true;
  }

  /** Loads the found extensions. Rejects with the error of `find`. */
  load(): Promise<void> {
    return this.#startAll(extensionsToStart(this.#options));
  }

  /**
   * Waits until the agent is idle, unloads all extensions and loads the ones found now, between `session_shutdown` and
   * `session_start` with reason "reload". A second call gets the report of the running reload.
   * @throws BonsaiError `extension_waits_for_itself` in a handler or tool that the agent waits for
   */
  async reload({ signal }: ReloadOptions = {}): Promise<ReloadReport> {
    if (this.#awaited.isInside || this.#options.host.agent()?.isWaitingForCaller === true)
      throw deadlockError("reload");
    this.#reloading ??= this.#reload(signal).finally(() => {
      this.#reloading = undefined;
    });
    return this.#reloading;
  }

  /** Undoes all registrations. */
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
    // First: if finding fails, the old extensions stay.
    const found = extensionsToStart(this.#options);
    await this.#awaited.run(() => notifyShutdown(host.lifecycle));
    const open = deferDecisions(host.lifecycle);
    try {
      this.unload();
      await this.#awaited.run(() => this.#startAll(found));
    } finally {
      open();
    }
    const elapsedMs = performance.now() - startedMs;
    await this.#awaited.run(async () => {
      await notifyStart(host.lifecycle, signal);
      await host.onReload?.(signal ?? AbortSignal.timeout(START_LIMIT_MS));
    });
    return { loaded: this.#loaded, failed: this.#failed, elapsedMs };
  }

  async #startAll(all: readonly ExtensionToStart[]): Promise<void> {
    const unloadings = this.#unloadings;
    // An `unload` in the meantime also stops the start of the others.
    for (const each of all) if (this.#unloadings === unloadings) await this.#start(each);
  }

  async #start(extension: ExtensionToStart): Promise<void> {
    const { found } = extension;
    const { host } = this.#options;
    const startedMs = performance.now();
    const names = this.#scopes.map(({ source }) => source);
    const scope = new ExtensionScope({
      path: found.path,
      source: freeName(shownPath(found.path, host.cwd), names),
    });
    this.#scopes.push(scope);
    host.lifecycle.addSource(scope.source);
    const shared = { scope, host, registry: this.#registry, models: this.#models };
    try {
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
    for (const error of scope.close())
      this.#notify({
        /** The cleanup of an extension threw while it was unloaded. */
        code: "extension_undo_failed",
        message: failureText(`Unloading ${scope.source}`, error),
      });
    this.#options.host.lifecycle.removeSource(scope.source);
  }

  #notify(notice: Pick<AgentNotice, "code" | "message">): void {
    this.#options.host.onNotice({ level: "warning", ...notice });
  }
}

function isCompletion(offered: unknown): offered is ArgumentCompletion {
  const { value, label } = (offered ?? {}) as Partial<ArgumentCompletion>;
  return typeof value === "string" && typeof label === "string";
}
