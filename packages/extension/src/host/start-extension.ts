import { homedir } from "node:os";
import { isAbsolute, sep } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import type { ExtensionAPI, ExtensionFactory } from "../api/extension-api.ts";
import type { ExtensionContext } from "../api/extension-context.ts";
import { importExtension, withinTime } from "../load/import-extension.ts";
import type { VirtualModules } from "../load/virtual-modules.ts";
import { commandFailure, extensionFailure, refusalNotice } from "./extension-errors.ts";
import type { AdaptedExtension, ExtensionAdapter, ExtensionHost } from "./extension-host.ts";
import { commandIn, type ExtensionRuntime } from "./extension-registry.ts";
import { type ExtensionScope, runOf } from "./extension-scope.ts";
import type { ExtensionOrigin, FoundExtension, FoundExtensions } from "./find-extensions.ts";
import { makeApi } from "./make-api.ts";
import { makeCommandContext, makeContext } from "./make-context.ts";
import { scopedUi } from "./scoped-ui.ts";

/** An extension without a file: part of the program that embeds Bonsai. */
export interface InlineExtension {
  /** Its path is `inline:NAME`. */
  name: string;
  factory: ExtensionFactory;
}

export interface LoadExtensionsOptions {
  host: ExtensionHost;
  /** Called at each load, so that a reload finds new files. */
  find: () => FoundExtensions;
  /** Host modules that extensions can import. */
  modules: VirtualModules;
  /** Folder for converted texts that are kept between starts. Default: nothing is kept. */
  cacheFolder?: string;
  adapter?: ExtensionAdapter;
  /** Loaded before the found extensions. */
  inline?: readonly InlineExtension[];
  /** Names of the front end's own commands, without the slash; no extension can take them. Default: none. */
  reservedCommands?: Iterable<string>;
}

export interface LoadedExtension extends Omit<FoundExtension, "origin"> {
  origin: ExtensionOrigin | "inline";
  /** Milliseconds to read and start it. */
  loadMs: number;
}

/** A found extension and its factory. */
export interface ExtensionToStart {
  found: Omit<LoadedExtension, "loadMs">;
  factory: () => Promise<ExtensionFactory>;
}

/** Finds the extensions to load now, in load order. Each problem is a notice. */
export function extensionsToStart(options: LoadExtensionsOptions): ExtensionToStart[] {
  const { host, find, modules, cacheFolder, inline = [] } = options;
  const reading = { modules, ...(cacheFolder === undefined ? {} : { cacheFolder }) };
  const { extensions, problems } = find();
  for (const { path, message, hint } of problems) {
    const what = message.includes(path) ? message : `${path}: ${message}`;
    host.onNotice({
      level: "warning",
      /** A configured path or package has no extension. */
      code: "extension_not_found",
      message: `${what} ${hint}`,
    });
  }
  return [
    ...inline.map(({ name, factory }) => ({
      found: { path: `inline:${name}`, origin: "inline" as const },
      factory: async () => factory,
    })),
    ...extensions.map((found) => ({
      found,
      factory: () => importExtension({ path: found.path, ...reading }),
    })),
  ];
}

/** Maximum delay of a start by an extension that never finishes loading. */
const FACTORY_LIMIT_MS = 10_000;

/** Reads an extension and runs its function. @throws BonsaiError with the place of the failure */
export async function startExtension(
  scope: ExtensionScope,
  { factory }: ExtensionToStart,
  api: ExtensionAPI,
): Promise<void> {
  const hung = () =>
    new BonsaiError({
      code: "extension_hung",
      message: `${scope.source} did not start within ${FACTORY_LIMIT_MS / 1_000} s.`,
      hint: "Move slow work into the extension's session_start handler. Do not await it in the exported function.",
    });
  try {
    const start = await runOf(scope, factory);
    await withinTime(async () => runOf(scope, () => start(api)), FACTORY_LIMIT_MS, hung);
    scope.start();
  } catch (error) {
    throw extensionFailure(scope, error);
  }
}

/** The API of an extension, changed by the adapter. */
export function apiOf(
  shared: Pick<ExtensionRuntime, "scope" | "registry" | "host" | "models" | "reload">,
  { adapter, modules }: Pick<LoadExtensionsOptions, "adapter" | "modules">,
): ExtensionAPI {
  const { scope, host } = shared;
  const extension: AdaptedExtension = {
    path: scope.path,
    name: scope.source,
    host,
    modules,
    keep: (undo) => scope.keep(undo),
    onNotice: (notice) => host.onNotice(notice),
    notifyRefused: (error) => host.onNotice(refusalNotice(scope, error)),
    runCommand(text) {
      const command = commandIn(shared.registry, text);
      if (command !== undefined) void runWhenFree(command, host);
      return command !== undefined;
    },
    confirmPath: async (request) => host.confirmPath?.(request),
  };
  const adapted = <Context extends ExtensionContext>(context: Context): Context =>
    adapter?.context?.(context, extension) ?? context;
  const runtime: ExtensionRuntime = {
    ...shared,
    ui: scopedUi(shared),
    context: (signal) => adapted(makeContext(runtime, signal)),
    commandContext: () => adapted(makeCommandContext(runtime)),
  };
  const api = makeApi(runtime);
  return adapter?.api?.(api, extension) ?? api;
}

async function runWhenFree(
  command: NonNullable<ReturnType<typeof commandIn>>,
  host: ExtensionHost,
): Promise<void> {
  const agent = host.agent();
  try {
    if (agent?.isWaitingForCaller === true) await agent.idle();
    await command.value.run(command.args);
  } catch (error) {
    const { message } = commandFailure(command, error);
    host.onNotice({ level: "warning", code: "extension_call_failed", message });
  }
}

/** A path for people: relative to the working folder or to the home folder. */
export function shownPath(path: string, cwd: string): string {
  if (!isAbsolute(path)) return path;
  if (path.startsWith(cwd + sep)) return path.slice(cwd.length + 1);
  const home = homedir();
  return path.startsWith(home + sep) ? `~${path.slice(home.length)}` : path;
}

/** Adds a number to a taken name: the lifecycle removes sources by name. */
export function freeName(name: string, taken: readonly string[]): string {
  let free = name;
  for (let count = 2; taken.includes(free); count += 1) free = `${name} (${count})`;
  return free;
}
