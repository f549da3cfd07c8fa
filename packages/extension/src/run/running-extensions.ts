import type { Agent } from "@bonsai-agent/agent";
import type { ArgumentCompletion, CommandInfo } from "../api/command.ts";
import type { ExtensionContext } from "../api/extension-context.ts";
import type { FlagOptions } from "../api/flag.ts";
import type { ShortcutOptions } from "../api/shortcut.ts";
import { makeCommandContext } from "./context/make-command-context.ts";
import { makeContext } from "./context/make-context.ts";
import type { OpenedModels } from "./context/opened-models.ts";
import { extensionCommandError, extensionFailure, failureNotice } from "./extension-errors.ts";
import type { AdaptedExtension, ExtensionHost } from "./extension-host.ts";
import { extensionRoom } from "./extension-room.ts";
import type {
  Extensions,
  FailedExtension,
  LoadExtensionsOptions,
  LoadedExtension,
  ReloadReport,
} from "./extensions.ts";
import { type FactoryToRun, factoriesOf } from "./factories.ts";
import { makeApi } from "./make-api.ts";
import { commandInfo } from "./registering.ts";
import type { ExtensionPlace, ExtensionRoom } from "./room.ts";
import { ExtensionScope } from "./scope.ts";
import { scopedHost } from "./scoped-host.ts";
import { type ShownBy, scopedUi } from "./scoped-ui.ts";
import { shownPath } from "./shown-path.ts";
import { withTimeLimit } from "./time-limit.ts";

/** Owner of the extensions that are loaded: their order, and their ends. */
export class RunningExtensions implements Extensions {
  readonly #options: LoadExtensionsOptions;
  readonly #models: OpenedModels;
  readonly #room: ExtensionRoom;
  readonly #shownBy: ShownBy = new Map();
  #scopes: ExtensionScope[] = [];
  #loaded: LoadedExtension[] = [];
  #failed: FailedExtension[] = [];
  #agent: Agent | undefined;
  #reloading: Promise<ReloadReport> | undefined;

  constructor(options: LoadExtensionsOptions, models: OpenedModels) {
    this.#options = options;
    this.#models = models;
    this.#room = extensionRoom(options);
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

  async load(): Promise<void> {
    for (const each of factoriesOf(this.#options)) await this.#start(each);
  }

  attach(agent: Agent): void {
    this.#agent = agent;
    this.#room.tools.attach(agent);
  }

  hasCommand(text: string): boolean {
    return this.#room.commands.get(commandOf(text)?.name ?? "") !== undefined;
  }

  async runCommand(text: string): Promise<boolean> {
    const command = commandOf(text);
    const registered = this.#room.commands.get(command?.name ?? "");
    if (command === undefined || registered === undefined) return false;
    try {
      await registered.value.run(command.args);
    } catch (error) {
      throw extensionCommandError(registered, error);
    }
    return true;
  }

  async completeCommand(name: string, prefix: string): Promise<readonly ArgumentCompletion[]> {
    return (await this.#room.commands.get(name)?.value.options.getArgumentCompletions?.(prefix)) ?? [];
  }

  async runShortcut(key: string): Promise<boolean> {
    const shortcut = this.#room.shortcuts.get(key);
    await shortcut?.value.run();
    return shortcut !== undefined;
  }

  reload(): Promise<ReloadReport> {
    this.#reloading ??= this.#reload().finally(() => {
      this.#reloading = undefined;
    });
    return this.#reloading;
  }

  unload(): void {
    for (const scope of this.#scopes.toReversed()) this.#close(scope);
    this.#scopes = [];
    this.#loaded = [];
    this.#failed = [];
  }

  async #reload(): Promise<ReloadReport> {
    const { host } = this.#options;
    await host.agent()?.idle();
    const startedMs = performance.now();
    await host.lifecycle.notify("session_shutdown", { type: "session_shutdown", reason: "reload" });
    this.unload();
    this.#room.tools.attach(undefined);
    await this.load();
    this.#room.tools.attach(this.#agent);
    await host.lifecycle.notify("session_start", { type: "session_start", reason: "reload" });
    return { loaded: this.#loaded, failed: this.#failed, elapsedMs: performance.now() - startedMs };
  }

  async #start({ found, factory }: FactoryToRun): Promise<void> {
    const { host, adapter } = this.#options;
    const startedMs = performance.now();
    const scope = new ExtensionScope({ path: found.path, source: shownPath(found.path, host.cwd) });
    this.#scopes.push(scope);
    host.lifecycle.addSource(scope.source);
    try {
      const api = makeApi(this.#placeOf(scope));
      const run = await factory();
      await withTimeLimit(scope.source, async () =>
        run(adapter?.api?.(api, adaptedExtension(scope, host)) ?? api),
      );
      scope.start();
      this.#loaded.push({ ...found, loadMs: performance.now() - startedMs });
    } catch (error) {
      this.#close(scope);
      this.#scopes.splice(this.#scopes.indexOf(scope), 1);
      const failure = extensionFailure(scope, error);
      this.#failed.push({ path: found.path, error: failure });
      host.onNotice(failureNotice(scope, failure));
    }
  }

  #close(scope: ExtensionScope): void {
    scope.close();
    this.#options.host.lifecycle.removeSource(scope.source);
  }

  #placeOf(scope: ExtensionScope): ExtensionPlace {
    const { host, adapter } = this.#options;
    const own = scopedHost(host, (ui) => scopedUi(ui, scope, this.#shownBy));
    const extension = adaptedExtension(scope, host);
    const adapt = <Context extends ExtensionContext>(context: Context): Context =>
      adapter?.context?.(context, extension) ?? context;
    const extras = { extensionPath: scope.source, models: this.#models, adapt };
    const reload = () => this.reload();
    return {
      room: this.#room,
      scope,
      host: own,
      context: (signal) => adapt(makeContext(own, { ...extras, signal })),
      commandContext: () => adapt(makeCommandContext(own, { ...extras, reload })),
    };
  }
}

function adaptedExtension(scope: ExtensionScope, host: ExtensionHost): AdaptedExtension {
  const { path, source: name } = scope;
  return { path, name, keep: (undo) => scope.keep(undo), onNotice: (notice) => host.onNotice(notice) };
}

/** Undefined for a text that is no command. */
function commandOf(text: string): { name: string; args: string } | undefined {
  const match = /^\/(\S+)(?:\s+([\s\S]*))?$/.exec(text.trim());
  return match === null ? undefined : { name: match[1]!, args: (match[2] ?? "").trim() };
}
