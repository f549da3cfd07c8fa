import { type Agent, AwaitedCalls } from "@bonsai-agent/agent";
import type { BonsaiError } from "@bonsai-agent/messages";
import type { EntryRenderer, MessageRenderer } from "../api/drawing.ts";
import type { ArgumentCompletion, CommandInfo, FlagOptions, ShortcutOptions } from "../api/extension-api.ts";
import { commandFailure, failureNotice, failureText, waitsForItself } from "./extension-errors.ts";
import { providerRegistrar } from "./extension-providers.ts";
import {
  ExtensionEventBus,
  type ExtensionRoom,
  type Registered,
  type RegisteredCommand,
  type RegisteredShortcut,
} from "./extension-registry.ts";
import { type ExtensionRenderers, extensionRenderers } from "./extension-renderers.ts";
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
import { commandInfo, parsedCommand } from "./registering.ts";
import { ExtensionTools, type Registration, Registrations } from "./registrations.ts";
import { holdDecisions, tellOfReload, tellOfStart } from "./reload-events.ts";
import {
  type ExtensionToStart,
  extensionsToStart,
  freeName,
  type PlaceOptions,
  placeOf,
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
  readonly #room: ExtensionRoom;
  readonly #placing: PlaceOptions;
  #scopes: ExtensionScope[] = [];
  #loaded: LoadedExtension[] = [];
  #failed: FailedExtension[] = [];
  /** Counts unloadings. */
  #turn = 0;
  #reloading: Promise<ReloadReport> | undefined;
  /** For whom a reload waits. */
  readonly #ownWork = new AwaitedCalls();
  readonly renderers: ExtensionRenderers;

  constructor(options: LoadExtensionsOptions, models: OpenedModels) {
    const { host, adapter } = options;
    this.#options = options;
    this.#room = extensionRoom(options, models);
    this.renderers = extensionRenderers(this.#room, (notice) => host.onNotice(notice));
    this.#placing = { room: this.#room, host, models, adapter, reload: () => this.reload() };
  }

  get loaded(): readonly LoadedExtension[] {
    return this.#loaded;
  }

  get failed(): readonly FailedExtension[] {
    return this.#failed;
  }

  get commands(): readonly CommandInfo[] {
    return this.#room.commands.standing().map(commandInfo);
  }

  get flags(): ReadonlyMap<string, FlagOptions> {
    return new Map(this.#room.flags.standing().map(({ name, value }) => [name, value]));
  }

  get shortcuts(): ReadonlyMap<string, ShortcutOptions> {
    return new Map(this.#room.shortcuts.standing().map(({ name, value }) => [name, value.options]));
  }

  attach(agent: Agent): void {
    this.#room.tools.attach(agent);
  }

  hasCommand(text: string): boolean {
    return this.#command(text) !== undefined;
  }

  async runCommand(text: string): Promise<boolean> {
    const command = this.#command(text);
    if (command === undefined) return false;
    try {
      await command.value.run(command.args);
      return true;
    } catch (error) {
      throw commandFailure(command, error);
    }
  }

  async completeCommand(name: string, prefix: string): Promise<readonly ArgumentCompletion[]> {
    const command = this.#room.commands.get(name);
    try {
      const offered: unknown = await command?.value.complete(prefix);
      return Array.isArray(offered) ? offered.filter(isCompletion) : [];
    } catch (error) {
      const message = failureText(`Completing /${name} of ${command?.source}`, error);
      this.#options.host.onNotice({ level: "warning", code: "extension_completion_failed", message });
      return [];
    }
  }

  async runShortcut(key: string): Promise<boolean> {
    const shortcut = this.#room.shortcuts.get(key);
    if (shortcut === undefined) return false;
    try {
      await shortcut.value.run();
    } catch (error) {
      const message = failureText(`The key ${key} of ${shortcut.source}`, error);
      this.#options.host.onNotice({ level: "warning", code: "extension_shortcut_failed", message });
    }
    return true;
  }

  /** Loads what is found; rejects with what finding throws. */
  load(): Promise<void> {
    return this.#startAll(extensionsToStart(this.#options));
  }

  async reload({ signal }: ReloadOptions = {}): Promise<ReloadReport> {
    if (this.#ownWork.isInside || this.#options.host.agent()?.isWaitingForCaller === true)
      throw waitsForItself("reload");
    this.#reloading ??= this.#reload(signal).finally(() => {
      this.#reloading = undefined;
    });
    return this.#reloading;
  }

  unload(): void {
    this.#turn += 1;
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
    await this.#ownWork.run(() => tellOfReload(host.lifecycle));
    const open = holdDecisions(host.lifecycle);
    try {
      this.unload();
      await this.#ownWork.run(() => this.#startAll(found));
    } finally {
      open();
    }
    const elapsedMs = performance.now() - startedMs;
    await this.#ownWork.run(() => tellOfStart(host.lifecycle, signal));
    return { loaded: this.#loaded, failed: this.#failed, elapsedMs };
  }

  async #startAll(all: readonly ExtensionToStart[]): Promise<void> {
    const turn = this.#turn;
    // Whoever unloads in the meantime wants none of the others either.
    for (const each of all) if (this.#turn === turn) await this.#start(each);
  }

  async #start({ found, factory }: ExtensionToStart): Promise<void> {
    const { host } = this.#options;
    const startedMs = performance.now();
    const names = this.#scopes.map(({ source }) => source);
    const source = freeName(shownPath(found.path, host.cwd), names);
    const scope = new ExtensionScope({ path: found.path, source });
    this.#scopes.push(scope);
    host.lifecycle.addSource(scope.source);
    try {
      await startExtension({ scope, factory, api: placeOf(scope, this.#placing) });
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
      host.onNotice({ level: "warning", code: "extension_undo_failed", message });
    }
    host.lifecycle.removeSource(scope.source);
  }

  #command(text: string) {
    const { name, args } = parsedCommand(text) ?? {};
    const command = name === undefined ? undefined : this.#room.commands.get(name);
    return command && { ...command, args: args ?? "" };
  }
}

function isCompletion(offered: unknown): offered is ArgumentCompletion {
  const { value, label } = (offered ?? {}) as Partial<ArgumentCompletion>;
  return typeof value === "string" && typeof label === "string";
}

/** An empty room for the extensions of a host. */
function extensionRoom(
  { host, reservedCommands = [] }: Pick<LoadExtensionsOptions, "host" | "reservedCommands">,
  models: OpenedModels,
): ExtensionRoom {
  const onConflict = (what: string) => (earlier: Registration<unknown>, later: Registration<unknown>) =>
    host.onNotice({
      level: "warning",
      code: "extension_conflict",
      message: `${earlier.source} and ${later.source} both have the ${what} ${later.name}: that of ${later.source} stands.`,
    });
  return {
    tools: new ExtensionTools({ onConflict: onConflict("tool") }),
    commands: new Registrations<RegisteredCommand>({ onConflict: onConflict("command") }),
    flags: new Registrations<FlagOptions>({ onConflict: onConflict("flag") }),
    shortcuts: new Registrations<RegisteredShortcut>({ onConflict: onConflict("key") }),
    messageRenderers: new Registrations<Registered<MessageRenderer>>({
      onConflict: onConflict("renderer of messages"),
    }),
    entryRenderers: new Registrations<Registered<EntryRenderer>>({
      onConflict: onConflict("renderer of entries"),
    }),
    providers: providerRegistrar({ models }),
    bus: new ExtensionEventBus(({ source }, channel, error) =>
      host.onNotice({
        level: "warning",
        code: "extension_listener_failed",
        message: failureText(`${source} at a message on ${channel}`, error),
      }),
    ),
    shownBy: new Map(),
    reservedCommands: new Set(reservedCommands),
  };
}
