import type { Agent } from "@bonsai-agent/agent";
import type { BonsaiError } from "@bonsai-agent/messages";
import type { CommandInfo } from "../api/command.ts";
import type { FlagOptions } from "../api/flag.ts";
import type { ShortcutOptions } from "../api/shortcut.ts";
import type { FoundExtension, FoundExtensions } from "../load/found-extension.ts";
import type { VirtualModules } from "../load/virtual-modules.ts";
import type { ExtensionAdapter, ExtensionHost } from "./extension-host.ts";

export interface LoadExtensionsOptions {
  host: ExtensionHost;
  /** Asked again at each reload, so that new files are found. */
  find: () => FoundExtensions;
  modules: VirtualModules;
  adapter?: ExtensionAdapter;
}

export interface LoadedExtension extends FoundExtension {
  /** Milliseconds that reading and starting it took. */
  loadMs: number;
}

/** An extension that could not be loaded; the others were. */
export interface FailedExtension {
  path: string;
  error: BonsaiError;
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
  readonly loaded: readonly LoadedExtension[];
  readonly failed: readonly FailedExtension[];
  readonly commands: readonly CommandInfo[];
  readonly flags: ReadonlyMap<string, FlagOptions>;
  readonly shortcuts: ReadonlyMap<string, ShortcutOptions>;
  /** Gives an agent the tools; to be called for each new agent, before it starts. */
  attach(agent: Agent): void;
  /** Runs `/name arguments` where an extension has that command. @returns false where none has */
  runCommand(text: string): Promise<boolean>;
  /** True where `text` is a command that an extension has. */
  hasCommand(text: string): boolean;
  /** Unloads all and loads what is found now, around `session_shutdown` and `session_start` with reason "reload". */
  reload(): Promise<ReloadReport>;
  /** Undoes everything that was registered. */
  unload(): void;
}
