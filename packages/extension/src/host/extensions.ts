import type { Agent } from "@bonsai-agent/agent";
import type { BonsaiError } from "@bonsai-agent/messages";
import type {
  ArgumentCompletion,
  ExtensionCommandInfo,
  ExtensionFactory,
  FlagOptions,
  ShortcutInfo,
} from "../api/extension-api.ts";
import type { VirtualModules } from "../load/virtual-modules.ts";
import type { ExtensionRenderers } from "./extension-drawing.ts";
import type { ExtensionAdapter, ExtensionHost } from "./extension-host.ts";
import type { ExtensionOrigin, FoundExtension, FoundExtensions } from "./find-extensions.ts";

/** An extension that is no file: part of the program that embeds Bonsai. */
export interface InlineExtension {
  /** Stands in the place of a path, as `inline:NAME`. */
  name: string;
  factory: ExtensionFactory;
}

export interface LoadExtensionsOptions {
  host: ExtensionHost;
  /** Asked again at each reload, so that new files are found. */
  find: () => FoundExtensions;
  /** What extensions may import of the host. */
  modules: VirtualModules;
  /** Folder for texts of extensions that are kept between starts. Default: nothing is kept. */
  cacheFolder?: string;
  adapter?: ExtensionAdapter;
  /** Loaded before those that are found. */
  inline?: readonly InlineExtension[];
  /** Names of the front end's own commands, without the slash; no extension can take them. Default: none. */
  reservedCommands?: Iterable<string>;
}

export interface LoadedExtension extends Omit<FoundExtension, "origin"> {
  origin: ExtensionOrigin | "inline";
  /** Milliseconds that reading and starting it took. */
  loadMs: number;
}

/** An extension that could not be loaded; the others were. */
export interface FailedExtension {
  path: string;
  error: BonsaiError;
}

export interface ReloadOptions {
  /**
   * Aborted when extensions that hang in `session_start` are waited for no longer. Default: never, but half a minute is
   * all that they have.
   */
  signal?: AbortSignal;
}

/** What a reload came to. */
export interface ReloadReport {
  loaded: readonly LoadedExtension[];
  failed: readonly FailedExtension[];
  /** Milliseconds. */
  elapsedMs: number;
}

/** Owner of the extensions that are loaded: their order, and what they registered. */
export interface Extensions {
  /** In load order. */
  readonly loaded: readonly LoadedExtension[];
  /** Those that were found and could not be loaded. */
  readonly failed: readonly FailedExtension[];
  /** Of all extensions; the latest of a name. */
  readonly commands: readonly ExtensionCommandInfo[];
  /** By name, without dashes. */
  readonly flags: ReadonlyMap<string, FlagOptions>;
  /** By key, like `ctrl+shift+k`. */
  readonly shortcuts: ReadonlyMap<string, ShortcutInfo>;
  /** How extensions draw what stands in a chat; the same object at all times. */
  readonly renderers: ExtensionRenderers;
  /** Gives an agent the tools, and takes them out of the former; to be called for each new agent, before it starts. */
  attach(agent: Agent): void;
  /**
   * Runs `/name arguments` where an extension has that command, and resolves when its handler has ended.
   * @returns false where none has
   * @throws BonsaiError `extension_command_failed`
   */
  runCommand(text: string): Promise<boolean>;
  /** True where `text` is a command that an extension has. */
  hasCommand(text: string): boolean;
  /** What the command's arguments could go on with; none where it has nothing to say, or fails. */
  completeCommand(name: string, prefix: string): Promise<readonly ArgumentCompletion[]>;
  /** Runs what an extension put on a key. A handler that fails is a notice. @returns false where none has */
  runShortcut(key: string): Promise<boolean>;
  /**
   * Waits until the agent is idle, unloads all and loads what is found now, around `session_shutdown` and
   * `session_start` with reason "reload". A call while one is under way gets that one's report.
   * @throws BonsaiError `extension_waits_for_itself` for a handler or a tool that is waited for
   */
  reload(options?: ReloadOptions): Promise<ReloadReport>;
  /** Undoes everything that was registered. */
  unload(): void;
}
